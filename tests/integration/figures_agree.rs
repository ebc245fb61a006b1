//! Every figure in JSON, CSV, text, Markdown and HTML of one run is the same number.
//!
//! A [`Source`] reads the figures that one output shows, under their names in [`FIGURES`]; `summary.json` is what they are held
//! against. A further output takes part by one more entry in [`SOURCES`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use shedcast::stats::text::{count, duration, percent, significant};

/// Overload with retries, refusals by both layers and two phases.
const SCENARIO: &str = r#"
name = "agree"
seed = 3
horizon = "20s"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 24
request_queue_limit = 6
[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.9
[workload]
arrivals = { process = "poisson", rate = [{ at = "0s", rate = 20 }, { at = "8s", rate = 60 }] }
input_tokens = { distribution = "lognormal", mean = 900, p99 = 3000 }
output_tokens = { distribution = "lognormal", mean = 120, p99 = 400 }
[slo]
ttft = "1s"
"#;

/// How a figure is written for people.
#[derive(Clone, Copy)]
enum Unit {
    Count,
    Share,
    Seconds,
    PerSecond,
    Mean,
}

impl Unit {
    fn written(self, value: f64) -> String {
        match self {
            Self::Count => count(value as u64),
            Self::Share => percent(value),
            Self::Seconds => duration(value * 1e9),
            Self::PerSecond => format!("{}/s", significant(value, 3)),
            Self::Mean => significant(value, 3),
        }
    }
}

/// Names of figures, their places in `summary.json`, and how they are written.
const FIGURES: &[(&str, &str, Unit)] = &[
    ("offered", "/total/requests/offered", Unit::Count),
    ("completed", "/total/requests/completed", Unit::Count),
    ("lost", "/total/requests/lost_to_overload", Unit::Count),
    ("attempts", "/total/attempts/started", Unit::Count),
    ("refused", "/total/attempts/refused", Unit::Count),
    ("in_system", "/total/attempts/in_system", Unit::Count),
    ("all_workers_busy", "/total/refused_by_reason/0/attempts", Unit::Count),
    ("worker_at_capacity", "/total/refused_by_reason/1/attempts", Unit::Count),
    ("rate_529", "/total/rate_529", Unit::Share),
    ("lost_share", "/total/lost_to_overload_share", Unit::Share),
    ("offered_rate", "/total/offered_rate", Unit::PerSecond),
    ("throughput", "/total/throughput", Unit::PerSecond),
    ("goodput", "/total/goodput", Unit::PerSecond),
    ("slo_share", "/total/slo/share", Unit::Share),
    ("ttft_mean", "/total/latency/ttft_s/mean", Unit::Seconds),
    ("ttft_p50", "/total/latency/ttft_s/p50", Unit::Seconds),
    ("ttft_p90", "/total/latency/ttft_s/p90", Unit::Seconds),
    ("ttft_p99", "/total/latency/ttft_s/p99", Unit::Seconds),
    ("tpot_mean", "/total/latency/tpot_s/mean", Unit::Seconds),
    ("tpot_p50", "/total/latency/tpot_s/p50", Unit::Seconds),
    ("tpot_p90", "/total/latency/tpot_s/p90", Unit::Seconds),
    ("tpot_p99", "/total/latency/tpot_s/p99", Unit::Seconds),
    ("e2e_mean", "/total/latency/e2e_s/mean", Unit::Seconds),
    ("e2e_p50", "/total/latency/e2e_s/p50", Unit::Seconds),
    ("e2e_p90", "/total/latency/e2e_s/p90", Unit::Seconds),
    ("e2e_p99", "/total/latency/e2e_s/p99", Unit::Seconds),
    ("wait_mean", "/total/latency/queue_wait_s/mean", Unit::Seconds),
    ("wait_p50", "/total/latency/queue_wait_s/p50", Unit::Seconds),
    ("wait_p90", "/total/latency/queue_wait_s/p90", Unit::Seconds),
    ("wait_p99", "/total/latency/queue_wait_s/p99", Unit::Seconds),
    ("slots_mean", "/total/occupancy/engine_slots/mean", Unit::Mean),
    ("slots_p50", "/total/occupancy/engine_slots/p50", Unit::Count),
    ("slots_p90", "/total/occupancy/engine_slots/p90", Unit::Count),
    ("slots_p99", "/total/occupancy/engine_slots/p99", Unit::Count),
    ("slots_max", "/total/occupancy/engine_slots/max", Unit::Count),
    ("queue_mean", "/total/occupancy/queue/mean", Unit::Mean),
    ("queue_p50", "/total/occupancy/queue/p50", Unit::Count),
    ("queue_p90", "/total/occupancy/queue/p90", Unit::Count),
    ("queue_p99", "/total/occupancy/queue/p99", Unit::Count),
    ("queue_max", "/total/occupancy/queue/max", Unit::Count),
    ("gauge_mean", "/total/occupancy/queue_gauge/mean", Unit::Mean),
    ("gauge_max", "/total/occupancy/queue_gauge/max", Unit::Count),
    ("full_share", "/total/occupancy/full_share", Unit::Share),
    ("phase_offered", "/phases/1/measures/offered_rate", Unit::PerSecond),
    ("phase_completed", "/phases/1/measures/throughput", Unit::PerSecond),
    ("phase_refused", "/phases/1/measures/rate_529", Unit::Share),
    ("phase_ttft_p99", "/phases/1/measures/latency/ttft_s/p99", Unit::Seconds),
];

/// A figure as an output shows it.
#[derive(Clone, Debug, PartialEq)]
enum Shown {
    /// All its digits.
    Exact(f64),
    /// As it is written for people.
    Text(String),
}

/// The results of a run: its directory, and that of a sweep whose only cell it is.
struct Results<'a> {
    run: &'a Path,
    sweep: &'a Path,
}

impl Results<'_> {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.run.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// What `report` prints of the run.
    fn report(&self, format: &str) -> String {
        let mut command = Command::new(cargo_bin!("shedcast"));
        command.env("COLUMNS", "160").args(["report", "--print-only", "--format", format]).arg(self.run);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).expect("UTF-8")
    }
}

type Figures = BTreeMap<String, Shown>;

/// An output: its name, how many figures of [`FIGURES`] it shows at least, and how they are read from it.
type Source = (&'static str, usize, fn(&Results<'_>) -> Figures);

/// Every output that takes part.
const SOURCES: &[Source] = &[
    ("the CSV files of the run", 15, csv_files),
    ("replications.csv of a sweep", 20, replications),
    ("the text", 35, text),
    ("the Markdown", 35, markdown),
    ("the page", 40, page),
];

/// The values of a column, where there are any.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines();
    let at = lines.next().expect("a header").split(',').position(|column| column == name).unwrap_or_else(|| panic!("{name}"));
    lines.filter_map(|line| line.split(',').nth(at).expect("as many fields as columns").parse().ok()).collect()
}

fn csv_files(results: &Results<'_>) -> Figures {
    let (series, requests) = (results.file("timeseries.csv"), results.file("requests.csv"));
    let sum = |name: &str| column(&series, name).iter().sum::<f64>();
    let mut figures: Figures = BTreeMap::new();
    let mut add = |name: &str, value: f64| figures.insert(name.to_owned(), Shown::Exact(value));
    for name in ["offered", "completed", "attempts", "refused", "all_workers_busy", "worker_at_capacity"] {
        add(name, sum(name));
    }
    assert_eq!(requests.lines().count() as f64 - 1.0, sum("attempts"), "a row per attempt that started");
    let open: Vec<&str> = requests.lines().filter(|line| line.contains(",in_system,")).collect();
    let end_at = requests.lines().next().expect("a header").split(',').position(|name| name == "end_s").expect("it is there");
    assert!(!open.is_empty() && open.iter().all(|line| line.split(',').nth(end_at) == Some("")), "{open:?}");
    assert!(requests.ends_with(&format!("{}\n", open.join("\n"))), "those in the system come last");
    assert!(column(&format!("request,rest\n{}", open.join("\n")), "request").is_sorted(), "by request");
    add("in_system", open.len() as f64);
    add("rate_529", sum("refused") / sum("attempts"));
    let end = column(&series, "end_s").last().copied().expect("there are rows");
    add("goodput", sum("good") / end);
    add("slo_share", sum("good") / sum("offered"));
    for (measure, of) in [("ttft_s", "ttft"), ("e2e_s", "e2e")] {
        // Without retries a request is an attempt.
        let completed = requests.lines().next().into_iter().chain(requests.lines().filter(|line| line.contains(",completed,")));
        let mut sorted = column(&completed.collect::<Vec<_>>().join("\n"), measure);
        sorted.sort_by(f64::total_cmp);
        for p in [50, 90, 99] {
            add(&format!("{of}_p{p}"), sorted[(sorted.len() * p).div_ceil(100) - 1]);
        }
    }
    add("queue_max", column(&series, "queue_max").into_iter().fold(0.0, f64::max));
    figures
}

fn replications(results: &Results<'_>) -> Figures {
    let csv = fs::read_to_string(results.sweep.join("replications.csv")).expect("the sweep has it");
    let names = [
        ("rate_529", "rate_529"),
        ("lost_to_overload_share", "lost_share"),
        ("slo_share", "slo_share"),
        ("offered_rate", "offered_rate"),
        ("throughput", "throughput"),
        ("goodput", "goodput"),
        ("slots_mean", "slots_mean"),
        ("slots_p99", "slots_p99"),
        ("queue_mean", "queue_mean"),
        ("queue_p99", "queue_p99"),
        ("queue_full_share", "full_share"),
    ];
    let mut figures: Figures =
        names.into_iter().map(|(column_name, name)| (name.to_owned(), Shown::Exact(column(&csv, column_name)[0]))).collect();
    for (of, name) in [("ttft", "ttft"), ("tpot", "tpot"), ("e2e", "e2e"), ("queue_wait", "wait")] {
        for part in ["mean", "p50", "p90", "p99"] {
            figures.insert(format!("{name}_{part}"), Shown::Exact(column(&csv, &format!("{of}_{part}"))[0]));
        }
    }
    figures
}

/// A table for people: what its rows are, the names of its columns, its rows with their names first.
struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The figures that tables show.
fn of_tables(tables: &[Table]) -> Figures {
    let mut figures = Figures::new();
    let rows = [
        ("completed requests", "time to first token", "ttft"),
        ("completed requests", "time per output token", "tpot"),
        ("completed requests", "end to end", "e2e"),
        ("completed requests", "wait for a slot", "wait"),
        ("requests in the fleet", "engine slots", "slots"),
        ("requests in the fleet", "queue (", "queue"),
        ("requests in the fleet", "queue as the gauge", "gauge"),
        ("phases", "60/s", "phase"),
    ];
    for (title, row, name) in rows {
        let table = tables.iter().find(|t| t.title == title).unwrap_or_else(|| panic!("there is no table `{title}`"));
        let row = table.rows.iter().find(|cells| cells[0].starts_with(row)).unwrap_or_else(|| panic!("`{row}` in `{title}`"));
        assert_eq!(row.len(), table.columns.len() + 1, "{row:?}");
        for (column, cell) in table.columns.iter().zip(&row[1..]) {
            figures.insert(format!("{name}_{}", column.replace("p99 ttft", "ttft_p99")), Shown::Text(cell.clone()));
        }
    }
    figures
}

/// The figures that sentences name: each behind the words that stand before it.
fn of_sentences(said: &str) -> Figures {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let before = |words: &str| -> String {
        let at = said.find(words).unwrap_or_else(|| panic!("`{words}` is not said: {said}"));
        let share = if said[..at].ends_with(" %") { " %" } else { "" };
        let number = said[..at].trim_end_matches(share);
        let from = number.rfind(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).map_or(0, |at| at + 1);
        format!("{}{share}", &number[from..])
    };
    let after = |words: &str| -> String {
        let from = said.find(words).unwrap_or_else(|| panic!("`{words}` is not said: {said}")) + words.len();
        said[from..].trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect()
    };
    let named = [
        ("offered", before(" offered =")),
        ("completed", before(" completed + ")),
        ("lost", before(" lost to overload")),
        ("refused", before(" refused + ")),
        ("attempts", before(" started =")),
        ("rate_529", before(&format!(" of {} attempts (529)", before(" started =")))),
        ("lost_share", before(" of requests lost to it")),
        ("all_workers_busy", after("all_workers_busy")),
        ("worker_at_capacity", after("worker_at_capacity")),
        ("offered_rate", before("/s offered, ") + "/s"),
        ("goodput", before("/s within ttft") + "/s"),
        ("slo_share", before(" of offered (")),
    ];
    let mut figures: Figures = named.into_iter().map(|(name, text)| (name.to_owned(), Shown::Text(text))).collect();
    // `a worker was full (N + Q) for 3.9 % of the time`
    let full = said.split("full (N + Q) for ").nth(1).and_then(|rest| rest.split(" of the time").next()).expect("said");
    figures.insert("full_share".to_owned(), Shown::Text(full.to_owned()));
    figures
}

fn text(results: &Results<'_>) -> Figures {
    let text = results.report("table");
    // Columns are ten characters wide, counted from the right, and end with their text.
    let cells = |line: &str, most: usize| -> Vec<String> {
        let (mut cells, mut rest) = (Vec::new(), line);
        while cells.len() < most && rest.len() > 10 && !rest.ends_with(' ') {
            let (left, cell) = rest.split_at(rest.len() - 10);
            cells.insert(0, cell.trim().to_owned());
            rest = left;
        }
        cells.insert(0, rest.trim().to_owned());
        cells
    };
    let mut tables: Vec<Table> = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut lines = paragraph.lines();
        let mut head = cells(lines.next().unwrap_or_default(), 9);
        if ["requests in the fleet", "completed requests", "phases"].contains(&head[0].as_str()) {
            let rows = lines.filter(|line| line.len() > 70).map(|line| cells(line, head.len() - 1)).collect();
            tables.push(Table { title: head.remove(0), columns: head, rows });
        }
    }
    let mut figures = of_tables(&tables);
    figures.extend(of_sentences(&text));
    figures
}

fn markdown(results: &Results<'_>) -> Figures {
    let text = results.report("markdown").replace('\\', "");
    let cells = |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect() };
    let mut tables: Vec<Table> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (line.starts_with('|'), inside) {
            (true, false) => {
                let mut head = cells(line);
                tables.push(Table { title: head.remove(0), columns: head, rows: Vec::new() });
            }
            (true, true) => tables.last_mut().expect("begun").rows.push(cells(line)),
            (false, _) => {}
        }
        inside = line.starts_with('|');
    }
    let mut figures = of_tables(&tables);
    figures.extend(of_sentences(&text));
    figures
}

/// The text of HTML: no tags, blanks as blanks.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("\u{a0}", " "), ("&amp;", "&")];
    named.into_iter().fold(text, |text, (name, c)| text.replace(name, c)).trim().to_owned()
}

/// What stands between `from` and `to`, each time.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
    text.split(from).skip(1).map(|rest| rest.split(to).next().expect("a part")).collect()
}

fn page(results: &Results<'_>) -> Figures {
    let page = results.file("report.html");
    let mut tables = Vec::new();
    for table in between(&page, "<table", "</table>") {
        let mut rows = between(table, "<tr>", "</tr>").into_iter().map(|row| -> Vec<String> {
            row.split("</t")
                .map(|cell| plain(&format!("{cell}>")))
                .map(|c| c.trim_end_matches('>').to_owned())
                .collect::<Vec<_>>()
        });
        let mut clean = rows.by_ref().map(|mut row| {
            row.pop();
            row.iter().map(|cell| cell.trim_start_matches(['h', 'd', '>']).to_owned()).collect::<Vec<_>>()
        });
        if let Some(mut head) = clean.next().filter(|head| !head.is_empty()) {
            let title = head.remove(0);
            tables.push(Table { title, columns: head, rows: clean.collect() });
        }
    }
    let mut figures = of_tables(&tables);
    // The table behind the chart of latencies has other rows than the summary, but its percentiles are the same figures.
    let behind = tables.iter().find(|table| table.title == "quantile").expect("the numbers behind the latencies");
    for (column, name) in behind.columns.iter().zip(["ttft", "tpot", "e2e"]) {
        for row in behind.rows.iter().filter(|row| ["p50", "p90", "p99"].contains(&row[0].as_str())) {
            let place = behind.columns.iter().position(|c| c == column).expect("it is there") + 1;
            let shown = figures.insert(format!("{name}_{}", row[0]), Shown::Text(row[place].clone()));
            assert_eq!(shown, Some(Shown::Text(row[place].clone())), "{name} {}", row[0]);
        }
    }
    let main = page.split("<main>").nth(1).expect("the page has a main part");
    let facts = between(main, "id=\"s-figures\"", "</section>").concat();
    figures.extend(of_sentences(&plain(&facts.replace("</d", " </d"))));
    let labels = [
        ("Attempts refused (529)", "rate_529"),
        ("Requests lost to overload", "lost_share"),
        ("Goodput", "goodput"),
        ("Time to first token, p99", "ttft_p99"),
        ("Queue, at most", "queue_max"),
    ];
    for tile in between(&page, "<span class=\"label\">", "</li>") {
        let label = plain(tile.split("</span>").next().expect("a label"));
        let value = plain(between(tile, "<span class=\"value\">", "</span>")[0]);
        if let Some((_, name)) = labels.iter().find(|(of, _)| *of == label) {
            let shown = figures.insert((*name).to_owned(), Shown::Text(value.clone()));
            assert_eq!(shown, Some(Shown::Text(value)), "the tile `{label}` and the table");
        }
    }
    figures
}

#[test]
fn every_output_of_a_run_shows_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (run, sweep) = (folder.path().join("run"), folder.path().join("sweep"));
    fs::write(folder.path().join("agree.toml"), SCENARIO).expect("the scenario is written");
    let shedcast = |words: &[&str]| {
        let mut command = Command::new(cargo_bin!("shedcast"));
        command.current_dir(folder.path()).args(words).assert().success();
    };
    shedcast(&["run", "agree.toml", "--out", "run", "--requests-csv", "--quiet"]);
    let grid = "fleet.request_queue_limit=6";
    shedcast(&["sweep", "agree.toml", "--out", "sweep", "--grid", grid, "--replications", "1", "--no-charts", "--quiet"]);
    let results = Results { run: &run, sweep: &sweep };
    let summary: serde_json::Value = serde_json::from_str(&results.file("summary.json")).expect("JSON");
    for (source, least, read) in SOURCES {
        let shown = read(&results);
        let mut compared = 0;
        for (name, pointer, unit) in FIGURES {
            let Some(shown) = shown.get(*name) else { continue };
            let value = summary.pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{pointer}"));
            match shown {
                Shown::Exact(other) => assert_eq!(*other, value, "{source}: {name}"),
                Shown::Text(text) => assert_eq!(*text, unit.written(value), "{source}: {name}"),
            }
            compared += 1;
        }
        assert!(compared >= *least, "{source} shows only {compared} of the figures: {:?}", shown.keys().collect::<Vec<_>>());
    }
}
