//! The grid of a sweep: axes of values, cells in a defined order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::{Fault, Faults, Item, Place, Section, SetOption};

use super::range::{MAX_VALUES, Refusal, parse_range};

/// Most cells of a sweep.
pub const MAX_CELLS: u64 = 100_000;
/// Most axes.
const MAX_AXES: usize = 16;
/// What may not be swept, and why.
const FIXED: [(&str, &str); 7] = [
    ("seed", "ask for `replications` instead: each has random numbers of its own"),
    ("name", "it changes no result"),
    ("description", "it changes no result"),
    ("output", "it changes no result"),
    ("$schema", "it changes no result"),
    ("sweep", "a sweep cannot sweep itself"),
    ("plan", "a plan is no part of a sweep"),
];

/// One axis: a field and its values, or several fields that change together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// Paths of the fields, `fleet.workers`.
    pub paths: Vec<String>,
    /// Values as TOML: one per path, for each place along the axis.
    pub values: Vec<Vec<String>>,
    /// Where it was given (`--grid`, `[sweep]`), for messages.
    pub origin: String,
}

impl Axis {
    /// The paths with `:` between them.
    pub fn name(&self) -> String {
        self.paths.join(":")
    }

    /// The value at `place` for people: texts without quotes.
    pub fn label(&self, place: usize) -> String {
        self.values[place].iter().map(|value| plain(value)).collect::<Vec<_>>().join(":")
    }

    /// The value at `place` of the axis' first path as a number; durations in seconds.
    pub fn number(&self, place: usize) -> Option<f64> {
        let text = plain(&self.values[place][0]);
        let span = || text.parse::<crate::units::Span>().ok().map(crate::units::Span::as_secs_f64);
        text.parse::<f64>().ok().filter(|x| x.is_finite()).or_else(span)
    }

    /// Whether all its values are durations.
    pub fn is_span(&self) -> bool {
        self.values.iter().all(|value| plain(&value[0]).parse::<crate::units::Span>().is_ok())
    }

    /// Whether it is the rate of arrivals.
    pub fn is_rate(&self) -> bool {
        self.paths[0].starts_with("workload") && (self.paths[0].ends_with(".rate") || self.paths[0].ends_with("rate_scale"))
    }
}

/// A TOML value without the quotes of a text.
pub fn plain(value: &str) -> String {
    let inner = |quote| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

/// Axes; the first changes slowest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// The axes.
    pub axes: Vec<Axis>,
}

impl Grid {
    /// How many cells there are.
    pub fn cells(&self) -> u64 {
        self.axes.iter().fold(1, |product: u64, axis| product.saturating_mul(axis.values.len() as u64))
    }

    /// The place of a cell along each axis.
    pub fn places(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut places: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let place = rest % axis.values.len();
                rest /= axis.values.len();
                place
            })
            .collect();
        places.reverse();
        places
    }

    /// The cell at the given places.
    pub fn cell_at(&self, places: &[usize]) -> usize {
        self.axes.iter().zip(places).fold(0, |cell, (axis, place)| cell * axis.values.len() + place)
    }

    /// Path and value (as TOML) of every field of a cell.
    pub fn settings(&self, cell: usize) -> Vec<(&str, &str)> {
        let places = self.places(cell);
        self.axes
            .iter()
            .zip(places)
            .flat_map(|(axis, place)| axis.paths.iter().map(String::as_str).zip(axis.values[place].iter().map(String::as_str)))
            .collect()
    }

    /// The cell as options that change a document.
    pub fn options(&self, cell: usize) -> Vec<SetOption> {
        let places = self.places(cell);
        let of = |(axis, place): (&Axis, usize)| -> Vec<SetOption> {
            axis.paths
                .iter()
                .zip(&axis.values[place])
                .map(|(path, value)| SetOption::new(axis.origin.clone(), path, value))
                .collect()
        };
        self.axes.iter().zip(places).flat_map(of).collect()
    }

    /// The cell in words: `fleet.workers = 4, frontend.router_mode = kv`.
    pub fn describe(&self, cell: usize) -> String {
        let settings = self.settings(cell);
        settings.iter().map(|(path, value)| format!("{path} = {}", plain(value))).collect::<Vec<_>>().join(", ")
    }

    /// Adds an axis, in place of one of the same paths.
    fn put(&mut self, axis: Axis) {
        match self.axes.iter_mut().find(|old| old.paths == axis.paths) {
            Some(old) => *old = axis,
            None => self.axes.push(axis),
        }
    }

    /// Adds the axes of `[sweep]`: `grid`, then `paired`.
    pub(in crate::experiment) fn read(&mut self, section: &mut Section<'_>) {
        if let Some(grid) = section.table("grid") {
            self.read_table(&grid, "");
        }
        for paired in section.tables("paired") {
            let mut columns = Vec::new();
            flatten(&paired, "", &mut columns);
            self.pair(&paired, columns);
        }
    }

    fn read_table(&mut self, table: &Section<'_>, prefix: &str) {
        let mut columns = Vec::new();
        flatten(table, prefix, &mut columns);
        for (path, item) in columns {
            if let Some(values) = values_of(&item) {
                let values = values.into_iter().map(|value| vec![value]).collect();
                self.axes.push(Axis { paths: vec![path], values, origin: "[sweep]".to_owned() });
            }
        }
    }

    fn pair(&mut self, section: &Section<'_>, columns: Vec<(String, Item<'_>)>) {
        let (paths, items): (Vec<String>, Vec<Item<'_>>) = columns.into_iter().unzip();
        let lists: Option<Vec<Vec<String>>> = items.iter().map(values_of).collect();
        let Some(lists) = lists else { return };
        if lists.len() < 2 {
            section.fault(None, "paired axes need at least two paths", Some("put a single path under `[sweep.grid]`".to_owned()));
            return;
        }
        let count = lists[0].len();
        if let Some(at) = lists.iter().position(|list| list.len() != count) {
            let message =
                format!("`{}` has {} values, but `{}` has {count}: paired axes go in step", paths[at], lists[at].len(), paths[0]);
            return items[at].fault(message, Some("give each path of a pair the same number of values".to_owned()));
        }
        let values = (0..count).map(|place| lists.iter().map(|list| list[place].clone()).collect()).collect();
        self.axes.push(Axis { paths, values, origin: "[sweep]".to_owned() });
    }

    /// Adds `path=values` of a `--grid`, replacing an axis of the file on the same path.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add_option(&mut self, text: &str) -> Result<(), Faults> {
        let axis = parse_option(text).map_err(|(message, hint)| fault(format!("--grid {text}"), text, message, Some(hint)))?;
        if self.axes.iter().any(|old| old.origin == axis.origin && old.paths == axis.paths) {
            let hint = "give all its values in one `--grid`".to_owned();
            return Err(fault(format!("--grid {text}"), text, format!("`{}` is swept twice", axis.name()), Some(hint)));
        }
        self.put(axis);
        Ok(())
    }

    /// What makes the grid as a whole impossible.
    ///
    /// # Errors
    /// No axis, too many axes or cells, a path swept twice or one that may not be swept.
    pub fn check(&self, place: &Place) -> Result<(), Faults> {
        let mut faults = Faults::default();
        let mut push = |path: &str, message: String, hint: &str| {
            faults.push(Fault { place: place.clone(), path: path.to_owned(), message, hint: Some(hint.to_owned()) });
        };
        if self.axes.is_empty() {
            push("sweep", "there is nothing to sweep".to_owned(), "add a table `[sweep.grid]`, or `--grid fleet.workers=2,4,8`");
        }
        if self.axes.len() > MAX_AXES {
            push("sweep.grid", format!("{} axes: at most {MAX_AXES} are possible", self.axes.len()), "pair some of them");
        }
        if self.cells() > MAX_CELLS {
            let message = format!("the grid has {} cells: at most {MAX_CELLS} are possible", self.cells());
            push("sweep.grid", message, "take fewer values, or several sweeps");
        }
        let paths: Vec<&str> = self.axes.iter().flat_map(|axis| axis.paths.iter().map(String::as_str)).collect();
        for (n, path) in paths.iter().enumerate() {
            let inside = |outer: &str| path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if let Some(other) =
                paths.iter().enumerate().find(|(m, other)| *m != n && inside(other) && (*m < n || **other != *path))
            {
                let message = if other.1 == path {
                    format!("`{path}` is swept twice")
                } else {
                    format!("`{path}` lies inside `{}`, which is swept too", other.1)
                };
                push(path, message, "a field belongs to one axis");
            }
            if let Some((_, why)) = FIXED.iter().find(|(fixed, _)| inside(fixed)) {
                push(path, format!("`{path}` cannot be swept"), why);
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

fn fault(place: String, path: &str, message: String, hint: Option<String>) -> Faults {
    let mut faults = Faults::default();
    let path = path.split('=').next().unwrap_or_default().to_owned();
    faults.push(Fault { place: Place::Option { text: place }, path, message, hint });
    faults
}

/// All values below a table with their paths: `"fleet.workers" = ...` and `fleet.workers = ...` are the same.
pub(in crate::experiment) fn flatten<'c>(table: &Section<'c>, prefix: &str, found: &mut Vec<(String, Item<'c>)>) {
    for (key, item) in table.entries() {
        let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        if item.is_table() {
            if let Some(inner) = item.table() {
                flatten(&inner, &path, found);
            }
        } else {
            found.push((path, item));
        }
    }
}

/// The values of an axis in a file: a list, or the text of a range.
fn values_of(item: &Item<'_>) -> Option<Vec<String>> {
    if item.is_list() {
        return Some(item.filled_list(MAX_VALUES)?.iter().map(Item::to_toml).collect());
    }
    let text = if item.is_any_text() { item.text(200)? } else { "" };
    if !text.contains("..") {
        let hint = "a range is a text such as `\"0.5..0.95 step 0.05\"`, `\"1..64 log 7\"` or `\"10..100 linear 10\"`";
        item.mistake("a list of values or a range", Some(hint.to_owned()));
        return None;
    }
    parse_range(text).map_err(|(message, hint)| item.fault(format!("`{}`: {message}", item.path()), Some(hint))).ok()
}

/// `path=v1,v2`, `path=lo..hi step s`, or `p1:p2=a1:a2,b1:b2`.
fn parse_option(text: &str) -> Result<Axis, Refusal> {
    let example = || "expected `path=v1,v2,...` or `path=lo..hi step s`".to_owned();
    let (path, values) = text.split_once('=').ok_or_else(|| (format!("`{text}` has no `=`"), example()))?;
    let paths: Vec<String> = path.split(':').map(|part| part.trim().to_owned()).collect();
    if paths.iter().any(|path| !is_path(path)) {
        return Err((format!("`{path}` is no path of a field"), example()));
    }
    let values = values.trim();
    if values.is_empty() {
        return Err((format!("`{path}` has no values"), example()));
    }
    if values.contains("..") && !values.starts_with(['[', '{', '"', '\'']) {
        if paths.len() > 1 {
            return Err(("paired axes cannot be ranges".to_owned(), "list their values: `a:b=1:10,2:20`".to_owned()));
        }
        let values = parse_range(values)?.into_iter().map(|value| vec![value]).collect();
        return Ok(Axis { paths, values, origin: "--grid".to_owned() });
    }
    let rows: Vec<Vec<String>> =
        split(values, ',').iter().map(|row| if paths.len() > 1 { split(row, ':') } else { vec![row.clone()] }).collect();
    if rows.iter().flatten().any(String::is_empty) {
        return Err((format!("`{values}` has an empty value"), example()));
    }
    if let Some(row) = rows.iter().find(|row| row.len() != paths.len()) {
        return Err((
            format!("`{}` is not one value for each of {} paths", row.join(":"), paths.len()),
            "write pairs as `a:b=1:10,2:20`".to_owned(),
        ));
    }
    Ok(Axis { paths, values: rows, origin: "--grid".to_owned() })
}

fn is_path(path: &str) -> bool {
    !path.is_empty() && path.split('.').all(|part| !part.is_empty() && !part.contains(char::is_whitespace))
}

/// Splits at `separator` outside quotes and brackets.
fn split(text: &str, separator: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0i32, None);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            (c, None) if c == separator && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is always a part").push(c);
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(options: &[&str]) -> Grid {
        let mut grid = Grid::default();
        options.iter().for_each(|text| grid.add_option(text).unwrap());
        grid
    }

    #[test]
    fn the_first_axis_changes_slowest() {
        let grid = grid(&["a=1,2", "b.c=x,y,z"]);
        let cells: Vec<String> = (0..6).map(|cell| grid.describe(cell)).collect();
        assert_eq!(
            cells.join("; "),
            "a = 1, b.c = x; a = 1, b.c = y; a = 1, b.c = z; a = 2, b.c = x; a = 2, b.c = y; a = 2, b.c = z"
        );
        assert!((0..6).all(|cell| grid.cell_at(&grid.places(cell)) == cell));
    }

    #[test]
    fn options_take_lists_ranges_pairs_and_nested_values() {
        let grid = grid(&["a=0.1..0.3 step 0.1", "b:c=1:10,2:20", "d=[1, 2],\"x,y\""]);
        assert_eq!(grid.axes[0].values, [["0.1"], ["0.2"], ["0.3"]]);
        assert_eq!(grid.axes[1].values, [["1", "10"], ["2", "20"]]);
        assert_eq!(grid.axes[2].values, [["[1, 2]"], ["\"x,y\""]]);
        assert_eq!((grid.cells(), grid.axes[1].name(), grid.axes[1].label(1)), (12, "b:c".to_owned(), "2:20".to_owned()));
    }
}
