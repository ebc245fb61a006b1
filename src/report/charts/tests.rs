//! What holds for every figure, tried on all sample data.

use super::data::*;
use super::font::{Weight, width};
use super::samples;
use super::scene::{Anchor, Figure, Rect, Shape, Text};
use super::sheet::Sheet;
use super::{busy, heat_map, latency, load_curve, loads, multiples, occupancy, overview, pareto, refusals, sweep_line, updates};

fn texts(figure: &Figure) -> Vec<&Text> {
    figure.scene.shapes.iter().filter_map(|shape| if let Shape::Text(text) = shape { Some(text) } else { None }).collect()
}

/// What a text covers, with the slack for another font taken off again at its height, where all fonts agree.
fn covered(text: &Text) -> Rect {
    let w = width(&text.text, text.size, text.weight);
    let x = match text.anchor {
        Anchor::Start => text.at.0,
        Anchor::Middle => text.at.0 - w / 2.0,
        Anchor::End => text.at.0 - w,
    };
    Rect { x, y: text.at.1 - text.size * 0.74, w, h: text.size * 0.86 }
}

#[test]
fn no_text_lies_on_another_or_leaves_the_page() {
    let mut faults = Vec::new();
    for (name, figure) in [Sheet::Wide, Sheet::Narrow].into_iter().flat_map(samples::all_on) {
        let texts = texts(&figure);
        for (i, a) in texts.iter().enumerate() {
            let rect = covered(a);
            let inside = rect.x >= 0.0 && rect.y >= 0.0 && rect.right() <= figure.width + 0.5 && rect.bottom() <= figure.height;
            if !inside {
                faults.push(format!("{name}, {} wide: `{}` leaves the page: {rect:?}", figure.width, a.text));
            }
            let on = texts[..i].iter().filter(|b| rect.overlaps(covered(b)));
            faults.extend(on.map(|b| format!("{name}, {} wide: `{}` lies on `{}`", figure.width, a.text, b.text)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_figure_draws_finite_shapes_within_its_page() {
    for (name, figure) in [Sheet::Wide, Sheet::Narrow].into_iter().flat_map(samples::all_on) {
        for shape in &figure.scene.shapes {
            let points: Vec<_> = match shape {
                Shape::Lines { paths, .. } => paths.iter().flatten().copied().collect(),
                Shape::Fill { polygons, .. } => polygons.iter().flatten().copied().collect(),
                Shape::Text(text) => vec![text.at],
            };
            let slack = 8.0;
            let fits = |(x, y): (f64, f64)| {
                (-slack..=figure.width + slack).contains(&x) && (-slack..=figure.height + slack).contains(&y)
            };
            assert!(points.iter().all(|p| fits(*p)), "{name}: {shape:?}");
        }
    }
}

#[test]
fn figures_are_small_carry_their_title_and_repeat_byte_for_byte() {
    for ((name, figure), (_, again)) in samples::all().into_iter().zip(samples::all()) {
        let svg = figure.to_svg();
        assert_eq!(svg, again.to_svg(), "{name}");
        assert!(svg.len() < 450_000, "{name} has {} bytes", svg.len());
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{name}");
        assert!(svg.contains("<title>") && svg.contains("<desc>") && svg.contains("role=\"img\""), "{name}");
        assert!(figure.width == Sheet::Wide.width() && figure.height < 1600.0, "{name}: {} high", figure.height);
    }
}

#[test]
fn png_has_the_size_asked_for_and_repeats_byte_for_byte() {
    for (name, figure) in samples::all().into_iter().step_by(7) {
        let bytes = figure.to_png(0.5).unwrap();
        assert_eq!(bytes, figure.to_png(0.5).unwrap(), "{name}");
        let info = png::Decoder::new(bytes.as_slice()).read_info().unwrap();
        assert_eq!(
            (info.info().width, info.info().height),
            ((figure.width / 2.0).ceil() as u32, (figure.height / 2.0).ceil() as u32),
            "{name}"
        );
    }
}

#[test]
fn curves_of_one_panel_differ_in_dash_as_well_as_in_colour() {
    let dashes: Vec<_> = (0..6).map(|i| super::style::curve(i).dash).collect();
    for (i, dash) in dashes.iter().enumerate() {
        assert!(!dashes[..i].contains(dash), "curve {i}");
    }
}

fn say_no_data(figure: &Figure) -> bool {
    texts(figure).iter().any(|text| text.text == "no data")
}

#[test]
fn empty_data_say_no_data() {
    let slots =
        OccupancyData { heading: Heading::default(), time: TimeFrame::default(), occupancy: Occupancy::Workers(Vec::new()) };
    let map = HeatMapData {
        heading: Heading::default(),
        x_label: String::new(),
        x_values: Vec::new(),
        y_label: String::new(),
        y_values: Vec::new(),
        measure: Quantity::default(),
        values: Vec::new(),
        target: None,
        best: Some((3, 3)),
    };
    let figures = [
        overview(&OverviewData::default()),
        refusals(&RefusalsData::default()),
        occupancy(&slots),
        loads(&LoadsData::default()),
        busy(&BusyData::default()),
        updates(&UpdatesData::default()),
        latency(&LatencyData::default()),
        sweep_line(&SweepData::default()),
        load_curve(&LoadCurveData::default()),
        multiples(&MultiplesData::default()),
        heat_map(&map),
        pareto(&ParetoData::default()),
    ];
    for (i, figure) in figures.iter().enumerate() {
        assert!(say_no_data(figure), "figure {i}");
        figure.to_png(1.0).unwrap();
    }
}

#[test]
fn values_that_are_not_finite_never_reach_a_drawing() {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 0.0, 5e-324];
    let mut points = Vec::new();
    for x in bad {
        points.extend(bad.map(|y| SweepPoint { x, mean: y, low: bad[3], high: y }));
    }
    for log in [false, true] {
        let quantity = Quantity { log, unit: Unit::Seconds, ..Quantity::default() };
        let series = vec![SweepSeries { name: "x".into(), points: points.clone() }];
        let target = Some(Target { value: f64::NAN, sense: Sense::AtMost, label: "t".into() });
        let panel = SweepPanel { measure: quantity.clone(), series, target, interval: String::new() };
        let sweep = sweep_line(&SweepData { heading: Heading::default(), x: quantity.clone(), panel });
        let scatter = points.iter().map(|p| ParetoPoint { x: p.x, y: p.mean, label: "p".into(), on_front: true, chosen: false });
        let front = pareto(&ParetoData { x: quantity.clone(), y: quantity, points: scatter.collect(), ..ParetoData::default() });
        for figure in [sweep, front] {
            for shape in &figure.scene.shapes {
                if let Shape::Lines { paths, .. } = shape {
                    assert!(paths.iter().flatten().all(|(x, y)| x.is_finite() && y.is_finite()));
                }
            }
        }
    }
}

#[test]
fn a_band_has_a_gap_wherever_one_of_its_sides_has() {
    let side = |values: [f64; 5]| values.iter().enumerate().map(|(i, v)| [i as f64, *v]).collect::<Vec<Sample>>();
    let (low, high) = (side([1.0, f64::NAN, 1.0, 1.0, 1.0]), side([2.0, 2.0, 2.0, f64::NAN, 2.0]));
    let load = Spread::Band(Band { mean: high.clone(), low, high });
    let decode = Some(LoadPanel { load, thresholds: Vec::new() });
    let time = TimeFrame { start: 0.0, end: 5.0, marks: Vec::new() };
    let figure = loads(&LoadsData { heading: Heading::default(), time, loads: Loads { decode, prefill: None } });
    let areas = figure.scene.shapes.iter().find_map(|shape| match shape {
        Shape::Fill { polygons, opacity, .. } if *opacity < 1.0 && polygons.len() > 1 => Some(polygons.len()),
        _ => None,
    });
    assert_eq!(areas, Some(3));
}

#[test]
fn names_in_other_scripts_are_drawn_without_a_crash() {
    let heading = Heading { title: "東京 \u{202e}rtl\u{0} 🚀 ".repeat(30), ..Heading::default() };
    let figure = refusals(&RefusalsData { heading, ..RefusalsData::default() });
    assert!(!figure.to_svg().contains('\u{0}'));
    figure.to_png(1.0).unwrap();
    assert!(texts(&figure).iter().all(|t| t.weight == Weight::Regular || covered(t).right() <= Sheet::Wide.width()));
}

#[test]
fn a_hundred_thousand_posts_leave_a_small_file() {
    let marks =
        (0..100_000).map(|i| Mark { at: f64::from(i) * 0.006, kind: MarkKind::Post, label: format!("post {i}") }).collect();
    let refusals_of = Refusals { bins: vec![0.0], reasons: vec![Reason { name: "all_workers_busy".into(), shares: vec![0.5] }] };
    let time = TimeFrame { start: 0.0, end: 600.0, marks };
    let svg = refusals(&RefusalsData { heading: Heading::default(), time, refusals: refusals_of }).to_svg();
    assert!(svg.len() < 60_000, "{} bytes", svg.len());
    assert!(svg.contains("100000 times"));
}

/// Draws all samples into the directory named by `SHEDCAST_CHART_GALLERY`, to be looked at.
#[test]
fn the_gallery_is_written_where_asked() {
    let Some(directory) = std::env::var_os("SHEDCAST_CHART_GALLERY").map(std::path::PathBuf::from) else {
        eprintln!("skipped: SHEDCAST_CHART_GALLERY is not set");
        return;
    };
    std::fs::create_dir_all(&directory).unwrap();
    for (name, figure) in samples::all() {
        std::fs::write(directory.join(format!("{name}.svg")), figure.to_svg()).unwrap();
        std::fs::write(directory.join(format!("{name}.png")), figure.to_png(1.0).unwrap()).unwrap();
    }
    for (name, figure) in samples::all_on(Sheet::Narrow) {
        std::fs::write(directory.join(format!("{name}-narrow.png")), figure.to_png(1.0).unwrap()).unwrap();
    }
    std::fs::write(directory.join("dark.css"), super::dark_css("svg")).unwrap();
}
