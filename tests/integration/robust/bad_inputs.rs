//! A table of bad inputs: each ends with exit code 2 and a message that helps, without a panic, and leaves every file as it was.

use std::fmt::Write as _;

use super::bench::{Bench, GOOD};

/// What is tried: its name and the words after `shedcast`, with `''` for an empty one and `~` for a blank.
type Bad = (&'static str, &'static str);

/// Runs every line of the table; the answer is what is snapshotted.
fn told(bench: &Bench, table: &[Bad]) -> String {
    let before = bench.content();
    let mut all = String::new();
    for (name, words) in table {
        let word = |word: &str| if word == "''" { String::new() } else { word.replace('~', " ") };
        let words: Vec<String> = words.split_whitespace().map(word).collect();
        let output = bench.run(&words);
        let said = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(2), "{name}: {words:?}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
        assert!(said.starts_with("error: "), "{name}: {said}");
        assert!(output.stdout.is_empty(), "{name}: nothing goes to standard output");
        assert!(said.len() < 20_000, "{name}: a message of {} bytes", said.len());
        assert!(bench.content() == before, "{name}: it left something behind, or changed something");
        let _ = writeln!(all, "# {name}\n$ shedcast {}\n{}", words.join(" "), without_fingerprints(&said));
    }
    all
}

/// Fingerprints change with the version and with what a scenario holds.
fn without_fingerprints(text: &str) -> String {
    let is_one = |part: &&str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split('`').map(|part| if is_one(&part) { "FINGERPRINT" } else { part }).collect::<Vec<_>>().join("`")
}

/// `GOOD` with one line put in place of the one that begins with `key`.
fn with(key: &str, line: &str) -> String {
    GOOD.lines().map(|old| if old.starts_with(key) { line } else { old }).collect::<Vec<_>>().join("\n")
}

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

const BINARY: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe\x80\x81";

#[test]
fn scenario_files_that_are_none() {
    let bench = Bench::new();
    bench.write("empty.toml", "");
    bench.write("mark-only.toml", "\u{feff}");
    bench.write("blank.toml", "\n\n  \n");
    bench.write("binary.toml", BINARY);
    bench.write("utf16.toml", utf16(GOOD));
    bench.write("latin1.toml", [GOOD.as_bytes(), b"# caf\xe9\n"].concat());
    bench.write("cut.toml", &GOOD[..GOOD.len() - 80]);
    bench.write("zeros.toml", [0u8; 64]);
    bench.write("large.toml", "#".repeat(8 * 1024 * 1024 + 1));
    bench.write("json.toml", r#"{"fleet": {"workers": 2}}"#);
    bench.write("folder/x", "");
    bench.write("lists.toml", format!("x = {}", "[".repeat(200_000)));
    bench.write("closed-lists.toml", format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000)));
    bench.write("tables.toml", format!("x = {}", "{a=".repeat(100_000)));
    bench.write("dots.toml", format!("{}a = 1", "a.".repeat(100_000)));
    bench.write("headers.toml", format!("[{}a]", "a.".repeat(100_000)));
    bench.link("loop.toml", "loop.toml");
    bench.link("dangling.toml", "nowhere.toml");
    let mut table: Vec<Bad> = vec![
        ("no such file", "run gone.toml"),
        ("no name at all", "run ''"),
        ("empty", "run empty.toml"),
        ("only a byte order mark", "run mark-only.toml"),
        ("only blanks", "run blank.toml"),
        ("binary", "run binary.toml"),
        ("UTF-16", "run utf16.toml"),
        ("Latin-1", "run latin1.toml"),
        ("truncated", "run cut.toml"),
        ("zero bytes", "run zeros.toml"),
        ("huge", "run large.toml"),
        ("JSON", "run json.toml"),
        ("a directory", "run folder"),
        ("a path through a file", "run good.toml/x.toml"),
        ("a link to itself", "run loop.toml"),
        ("a link to nothing", "run dangling.toml"),
        ("lists in lists, open", "run lists.toml"),
        ("lists in lists, closed", "run closed-lists.toml"),
        ("tables in tables", "run tables.toml"),
        ("a key of 100,000 parts", "run dots.toml"),
        ("a header of 100,000 parts", "run headers.toml"),
        ("nothing on standard input", "run -"),
        ("check: two bad files, both told", "check --quiet empty.toml gone.toml"),
    ];
    if cfg!(target_os = "linux") {
        table.push(("an endless device", "run /dev/zero"));
        table.push(("what the system refuses to read", "run /proc/self/mem"));
    }
    insta::assert_snapshot!(told(&bench, &table));
}

#[test]
fn scenarios_that_cannot_be() {
    let bench = Bench::new();
    let scenario = |name: &str, text: &str| bench.write(&format!("{name}.toml"), text);
    scenario("nan", &with("active", "active_decode_blocks_threshold = nan"));
    scenario("inf", &with("active", "active_decode_blocks_threshold = inf"));
    scenario("negative", &with("arrivals", "arrivals = { process = \"poisson\", rate = -3 }"));
    scenario("infinite-rate", &with("arrivals", "arrivals = { process = \"poisson\", rate = inf }"));
    scenario("zero", &with("engine_request_limit", "engine_request_limit = 0"));
    scenario("overflow", &with("workers", "workers = 99999999999999999999999999999999999999999999"));
    scenario("fraction", &with("workers", "workers = 2.5"));
    scenario("unit", &with("horizon", "horizon = \"5 parsecs\""));
    scenario("no-unit", &with("horizon", "horizon = 5"));
    scenario("long", &with("horizon", "horizon = \"999999999999999999999h\""));
    scenario("endless", &with("horizon", ""));
    scenario("workers", &with("workers", "workers = 65536"));
    scenario("ranks", &with("workers", "workers = 65535\ndata_parallel_size = 1024"));
    scenario("tokens", &with("input_tokens", "input_tokens = 4294967296"));
    scenario("key", &GOOD.replace("router_mode", "routermode"));
    scenario("table", &GOOD.replace("[frontend]", "[frontends]"));
    scenario("twice", &GOOD.replace("workers = 2", "workers = 2\nworkers = 3"));
    scenario("preset", &GOOD.replace("llama-3.1", "lama-3.1"));
    scenario("name", &with("name", "name = \"../../etc\""));
    scenario("control", &with("name", "name = \"a\\u0000b\""));
    scenario("date", &with("horizon", "horizon = 2026-01-01"));
    scenario("trace-gone", &with("arrivals", "trace = { path = \"gone.csv\" }"));
    scenario("trace-loop", &with("arrivals", "trace = { path = \"loop.csv\" }"));
    bench.link("loop.csv", "loop.csv");
    scenario("event", &format!("{GOOD}[[events]]\nat = \"1s\"\nworker_down = {{ worker = 9 }}\n"));
    scenario(
        "all",
        "horizon = -1\nseed = \"x\"\n[fleet]\nworkers = -1\nengine = 3\n[workload]\narrivals = 4\n[frontend]\nrouter_mode = \"kvv\"\n",
    );
    let class = |n: usize| {
        format!(
            "[[workload.classes]]\nclass = \"c{n}\"\narrivals = {{ process = \"poisson\", rate = 1 }}\ninput_tokens = 1\noutput_tokens = 1\n"
        )
    };
    let head = GOOD.split("[workload]").next().expect("its start");
    scenario("classes", &format!("{head}{}", (0..=1000).map(class).collect::<String>()));
    let phases = (1..=10_001).map(|n| format!("\"{n}us\"")).collect::<Vec<_>>().join(", ");
    scenario("phases", &format!("phases = [{phases}]\n{GOOD}"));
    let names = ["nan", "inf", "negative", "infinite-rate", "zero", "overflow", "fraction", "unit", "no-unit", "long", "endless"];
    let more = ["workers", "ranks", "tokens", "key", "table", "twice", "preset", "name", "control", "date"];
    let last = ["trace-gone", "trace-loop", "event", "all", "classes", "phases"];
    let lines: Vec<(&str, String)> =
        [&names[..], &more, &last].concat().iter().map(|name| (*name, format!("run {name}.toml"))).collect();
    let table: Vec<Bad> = lines.iter().map(|(name, words)| (*name, &*words.clone().leak())).collect();
    insta::assert_snapshot!(told(&bench, &table));
}

#[test]
fn faults_beyond_a_hundred_are_counted() {
    let bench = Bench::new();
    bench.write("many.toml", format!("{GOOD}{}", (0..150).map(|n| format!("nonsense{n} = 1\n")).collect::<String>()));
    let output = bench.run(&["run", "many.toml"]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), said.matches("error: ").count()), (Some(2), 101), "{said}");
    assert!(said.ends_with("error: ... and 50 more\n"), "{said}");
}

#[test]
fn options_that_cannot_be() {
    let bench = Bench::new();
    bench.write("many.toml", format!("{GOOD}[[events]]\nat = \"1s\"\n"));
    let table: &[Bad] = &[
        ("no scenario", "run"),
        ("an unknown command", "simulate good.toml"),
        ("an unknown option", "run good.toml --quick"),
        ("a seed below zero", "run good.toml --seed=-1"),
        ("a seed that is no whole number", "run good.toml --seed 1e3"),
        ("a seed beyond 64 bits", "run good.toml --seed 18446744073709551616"),
        ("a setting without a value", "run good.toml --set fleet.workers"),
        ("a setting without a path", "run good.toml --set =3"),
        ("a path with a hole", "run good.toml --set fleet..workers=3"),
        ("a path that is too deep", "run good.toml --set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1"),
        ("a path into a number", "run good.toml --set fleet.workers.count=3"),
        ("a path to an entry that is not there", "run many.toml --set events.7.at=1s"),
        ("a value that is no TOML", "run good.toml --set workload.arrivals={process="),
        ("a misspelt field", "run good.toml --set fleet.wrokers=3"),
        ("several at once", "run good.toml --set fleet.wrokers=3 --set horizon=never --set fleet.engine_request_limit=0"),
        ("a format of charts that nobody draws", "run good.toml --charts gif"),
        ("charts, and none", "run good.toml --charts svg --no-charts"),
        ("a format that nobody writes", "run good.toml --format xml"),
        ("an engine that does not exist", "run good.toml --engine quick"),
        ("a request by no number", "run good.toml --explain first"),
        ("a colour that is none", "run good.toml --color maybe"),
        ("no runs at a time", "sweep good.toml --jobs 0"),
        ("a shard that is none", "sweep good.toml --grid fleet.workers=1,2 --shard 3/2"),
        ("no replications", "sweep good.toml --grid fleet.workers=1,2 --replications 0"),
        ("a scheduler that nobody knows", "sweep good.toml --grid fleet.workers=1,2 --emit lsf"),
        ("a measure that does not exist", "sweep good.toml --grid fleet.workers=1,2 --best rate_530"),
        ("a target that is none", "sweep good.toml --grid fleet.workers=1,2 --target rate_529"),
        ("a target that is no number", "sweep good.toml --grid fleet.workers=1,2 --target rate_529<=nan"),
        ("a half width of nothing", "sweep good.toml --grid fleet.workers=1,2 --until-halfwidth rate_529=0"),
        ("a baseline outside the grid", "sweep good.toml --grid fleet.workers=1,2 --baseline fleet.workers=3"),
        ("nothing to sweep", "sweep good.toml"),
        ("an axis without values", "sweep good.toml --grid fleet.workers="),
        ("a range of no steps", "sweep good.toml --grid frontend.active_decode_blocks_threshold=0..1~step~0"),
        ("a range backwards", "sweep good.toml --grid fleet.workers=9..1~step~1"),
        ("a logarithmic range from zero", "sweep good.toml --grid fleet.workers=0..100~log~3"),
        ("pairs that do not pair", "sweep good.toml --grid fleet.workers:seed=1:2,3"),
        ("a field swept twice", "sweep good.toml --grid fleet.workers=1,2 --grid fleet=3"),
        ("a field that may not be swept", "sweep good.toml --grid seed=1,2"),
        (
            "more cells than can be",
            "sweep good.toml --grid fleet.workers=1..1000~step~1 --grid horizon=1s,2s --grid fleet.max_num_seqs=1..1000~step~1",
        ),
        ("a cell that cannot be", "sweep good.toml --grid fleet.workers=1,99999"),
        ("several faults of a grid at once", "sweep good.toml --grid fleet.workers --grid =3 --target nonsense"),
        ("no shard to merge", "merge"),
    ];
    insta::assert_snapshot!(told(&bench, table));
}

#[test]
fn directories_that_cannot_take_results() {
    let bench = Bench::new();
    bench.write("file", "x");
    bench.write("thesis/thesis.tex", "x");
    bench.write("foreign/resolved.toml", "name = 3");
    bench.write("garbage/resolved.toml", BINARY);
    bench.write("other/resolved.toml", "name = \"other\"\n");
    bench.link("loop", "loop");
    bench.write("journal/sweep-journal.jsonl", "not a journal\n");
    bench.write("binary/sweep-journal.jsonl", BINARY);
    let long = "run good.toml --set horizon=1000h --out";
    let sweep = "sweep good.toml --set horizon=1000h --grid fleet.workers=1,2 --out";
    let mut lines = vec![
        ("a file", format!("{long} file")),
        ("below a file", format!("{long} file/out")),
        ("nothing", format!("{long} ''")),
        ("a link to itself", format!("{long} loop")),
        ("someone's work", format!("{long} thesis")),
        ("results of another scenario", format!("{long} other")),
        ("a scenario that is not ours", format!("{long} foreign")),
        ("a scenario that is no text", format!("{long} garbage")),
        ("a sweep into a file", format!("{sweep} file")),
        ("a sweep into nothing", format!("{sweep} ''")),
        ("a sweep over someone's work", format!("{sweep} thesis")),
        ("a sweep into a run", format!("{sweep} other")),
        ("a sweep goes on from what is no journal", format!("{sweep} journal --resume")),
        ("a sweep goes on from a binary", format!("{sweep} binary --resume")),
        ("a merge of nothing", "merge gone".to_owned()),
        ("a merge of a file", "merge file".to_owned()),
        ("a merge of a folder without a shard", "merge thesis".to_owned()),
    ];
    if cfg!(target_os = "linux") {
        lines.push(("a device", format!("{long} /dev/null")));
        lines.push(("a file system that takes nothing", format!("{long} /proc/shedcast")));
        lines.push(("a sweep where nothing can be written", format!("{sweep} /proc/shedcast")));
    }
    let table: Vec<Bad> = lines.iter().map(|(name, words)| (*name, &*words.clone().leak())).collect();
    insta::assert_snapshot!(told(&bench, &table));
}

#[test]
fn shards_that_cannot_be_merged() {
    let bench = Bench::new();
    for (shard, out) in [("1/2", "one"), ("2/2", "two"), ("1/3", "third")] {
        let words = [
            "sweep",
            "good.toml",
            "--grid",
            "fleet.workers=1,2,3",
            "--replications",
            "1",
            "--quiet",
            "--shard",
            shard,
            "--out",
            out,
        ];
        assert_eq!(bench.run(&words).status.code(), Some(0));
    }
    let words = [
        "sweep",
        "good.toml",
        "--grid",
        "fleet.workers=1,2,4",
        "--replications",
        "1",
        "--quiet",
        "--shard",
        "2/2",
        "--out",
        "alien",
    ];
    assert_eq!(bench.run(&words).status.code(), Some(0));
    let words = [
        "sweep",
        "good.toml",
        "--set",
        "name=renamed",
        "--grid",
        "fleet.workers=1",
        "--replications",
        "1",
        "--quiet",
        "--out",
        "renamed",
    ];
    assert_eq!(bench.run(&words).status.code(), Some(0));
    bench.write("thesis/thesis.tex", "x");
    let whole = std::fs::read_to_string(bench.path().join("two/sweep-shard.jsonl")).expect("the shard");
    let torn = |name: &str, text: &str| bench.write(&format!("{name}/sweep-shard.jsonl"), text);
    torn("torn", &whole[..whole.len() - 9]);
    torn("empty", "");
    torn("count", &whole.replace("\"shard\":[1,2]", "\"shard\":[1,999999999999999]"));
    torn("nothing", &whole.replace("\"values\":[[\"1\"],[\"2\"],[\"3\"]]", "\"values\":[]"));
    torn("version", &whole.replace("sweep-journal/1", "sweep-journal/0"));
    torn("broken", &format!("{}\nnonsense\n{}", whole.lines().next().expect("a header"), whole));
    bench.write("binary/sweep-shard.jsonl", BINARY);
    let table: &[Bad] = &[
        ("one is missing", "merge one --out m"),
        ("one twice", "merge one one --out m"),
        ("of another number of shards", "merge one third --out m"),
        ("of another sweep", "merge one alien --out m"),
        ("one is torn", "merge one torn --out m"),
        ("one is empty", "merge one empty --out m"),
        ("one is of another version", "merge one version --out m"),
        ("one says that it is of a billion", "merge one count --out m"),
        ("one has an axis of nothing", "merge one nothing --out m"),
        ("one has a line that is no record", "merge one broken --out m"),
        ("one is no text", "merge one binary --out m"),
        ("several at once", "merge one empty gone binary --out m"),
        ("into someone's work", "merge one two --out thesis"),
        ("over another sweep", "merge one two --out renamed"),
    ];
    insta::assert_snapshot!(told(&bench, table));
}

#[test]
fn traces_that_cannot_be_read() {
    let bench = Bench::new();
    let good = "timestamp,input_tokens,output_tokens\n";
    let own = "--columns arrival=t,arrival_unit=s,input_tokens=i,output_tokens=o";
    bench.write("empty.csv", "");
    bench.write("header.csv", "arrival_ns,input_tokens,output_tokens\n");
    bench.write("binary.csv", BINARY);
    bench.write("utf16.csv", utf16(good));
    bench.write("latin1.csv", b"t,i,o\n1,2,3\n2,\xe9,3\n");
    bench.write("unknown.csv", "a,b,c\n1,2,3\n");
    bench.write("quote.csv", "\"a,b,c\n1,2,3\n");
    bench.write("array.json", "[{\"timestamp\": 1}]\n");
    bench.write("broken.jsonl", "{\"timestamp\": 1,\n");
    bench.write("number.jsonl", "3\n");
    bench.write("deep.jsonl", "{\"a\":".repeat(100_000));
    bench.write("own.csv", "t,i,o\n1,2,3\n");
    for (name, row) in [("nan", "nan,2,3"), ("inf", "inf,2,3"), ("late", "1e300,2,3"), ("text", "1,many,3"), ("short", "1,2")] {
        bench.write(&format!("{name}.csv"), format!("t,i,o\n{row}\n"));
    }
    bench.write("large.csv", format!("t,i,o\n1,{},3\n", "9".repeat(400)));
    let rows = format!("t,i,o\n{}", (0..500).map(|n| format!("{n},2,3\n")).collect::<String>());
    bench.write_gzip("cut.csv.gz", &rows, |bytes| bytes.truncate(bytes.len() - 12));
    bench.write_gzip("garbled.csv.gz", &rows, |bytes| bytes[20..].fill(0xa5));
    bench.write("folder/x", "");
    bench.link("loop.csv", "loop.csv");
    bench
        .write("closed.toml", GOOD.replace("arrivals =", "# ").replace("[workload]", "[clients]\nmax_in_flight = 3\n[workload]"));
    let mut lines = vec![
        ("no such file", "trace inspect gone.csv".to_owned()),
        ("empty", "trace inspect empty.csv".to_owned()),
        ("only a header", "trace fit header.csv".to_owned()),
        ("binary", "trace inspect binary.csv".to_owned()),
        ("UTF-16", "trace inspect utf16.csv".to_owned()),
        ("Latin-1", format!("trace inspect latin1.csv {own}")),
        ("unknown columns", "trace inspect unknown.csv".to_owned()),
        ("a quote that does not close", "trace inspect quote.csv".to_owned()),
        ("a JSON array", "trace inspect array.json".to_owned()),
        ("JSON cut short", "trace inspect broken.jsonl".to_owned()),
        ("JSON that is no object", "trace inspect number.jsonl".to_owned()),
        ("JSON in JSON", "trace inspect deep.jsonl".to_owned()),
        ("an arrival that is no number", format!("trace convert nan.csv out.csv {own}")),
        ("an arrival that never comes", format!("trace convert inf.csv out.csv {own}")),
        ("an arrival beyond the clock", format!("trace convert late.csv out.csv {own}")),
        ("tokens that are no number", format!("trace convert text.csv out.csv {own}")),
        ("a row that is too short", format!("trace convert short.csv out.csv {own}")),
        ("tokens beyond any count", format!("trace convert large.csv out.csv {own}")),
        ("gzip cut short", format!("trace inspect cut.csv.gz {own}")),
        ("gzip garbled", format!("trace inspect garbled.csv.gz {own}")),
        ("a folder that is no ServeGen pool", "trace inspect folder".to_owned()),
        ("a link to itself", "trace inspect loop.csv".to_owned()),
        ("nothing on standard input", "trace inspect -".to_owned()),
        ("a format that nobody reads", "trace inspect own.csv --format excel".to_owned()),
        ("a format of another syntax", "trace inspect own.csv --format mooncake".to_owned()),
        ("a unit that is none", "trace inspect own.csv --time-unit h".to_owned()),
        ("columns that are none", "trace inspect own.csv --columns arrival".to_owned()),
        (
            "a column that is not there",
            "trace inspect own.csv --columns arrival=x,arrival_unit=s,input_tokens=i,output_tokens=o".to_owned(),
        ),
        ("no rows", format!("trace inspect own.csv {own} --max-rows 0")),
        ("a rate of nothing", format!("trace convert own.csv out.csv {own} --rate-scale 0")),
        ("a rate that is no number", format!("trace convert own.csv out.csv {own} --rate-scale nan")),
        ("a window backwards", format!("trace convert own.csv out.csv {own} --window-start 9s --window-end 1s")),
        ("several at once", format!("trace convert own.csv out.csv {own} --rate-scale=-1 --max-gap soon --prefix-reuse all")),
        ("it repeats for ever", format!("trace convert own.csv out.csv {own} --repeat")),
        ("a horizon that is none", format!("trace convert own.csv out.csv {own} --horizon later")),
        ("a closed loop", "trace convert closed.toml out.csv".to_owned()),
        ("a chart of an unknown kind", format!("trace inspect own.csv {own} --chart out.gif")),
        ("a chart into a folder that is not there", format!("trace inspect own.csv {own} --chart gone/out.svg")),
        ("into a folder", format!("trace convert own.csv folder {own}")),
        ("no pieces", format!("trace fit own.csv {own} --pieces 0")),
    ];
    if cfg!(target_os = "linux") {
        lines.push(("an endless device", "trace inspect /dev/zero".to_owned()));
        lines.push(("what the system refuses to read", "trace inspect /proc/self/mem".to_owned()));
        lines.push(("a full device", format!("trace convert own.csv /dev/full {own}")));
    }
    let table: Vec<Bad> = lines.iter().map(|(name, words)| (*name, &*words.clone().leak())).collect();
    insta::assert_snapshot!(told(&bench, &table));
}

#[test]
fn control_events_that_cannot_be_replayed() {
    let bench = Bench::new();
    let file = |name: &str, text: &str| bench.write(&format!("{name}.jsonl"), text);
    file("empty", "");
    file("number", "3\n");
    file("broken", "{\"op\": \"request\"\n");
    file("no-op", "{\"at\": 1}\n");
    file("unknown-op", "{\"op\": \"reqest\"}\n");
    file("unknown-field", "{\"op\": \"request\", \"wroker\": 1}\n");
    file("backwards", "{\"at\": 2, \"op\": \"advance\", \"ms\": 1}\n{\"at\": 1, \"op\": \"request\"}\n");
    file("negative", "{\"at\": -1, \"op\": \"request\"}\n");
    file("nan", "{\"at\": NaN, \"op\": \"request\"}\n");
    file("late", "{\"at\": 1e300, \"op\": \"request\"}\n");
    file("type", "{\"at\": 1, \"op\": \"worker_load\", \"worker\": \"seven\", \"rank\": 0, \"kv_used_blocks\": 1}\n");
    file(
        "overflow",
        "{\"at\": 1, \"op\": \"worker_load\", \"worker\": 1, \"rank\": 0, \"kv_used_blocks\": 18446744073709551616}\n",
    );
    file("kind", "{\"steps_\": []}\n");
    file("steps", "{\"steps\": 3}\n");
    file("deep", &"{\"steps\":[".repeat(100_000));
    file("several", "3\n{\"op\": \"reqest\"}\n{\"op\": \"request\"}\n[]\n");
    bench.write("binary.jsonl", BINARY);
    bench.write("utf16.jsonl", utf16("{\"op\": \"request\"}"));
    bench.write("folder/x", "");
    bench.link("loop.jsonl", "loop.jsonl");
    let names = [
        "gone",
        "empty",
        "number",
        "broken",
        "no-op",
        "unknown-op",
        "unknown-field",
        "backwards",
        "negative",
        "nan",
        "late",
        "type",
        "overflow",
        "kind",
        "steps",
        "deep",
        "several",
        "binary",
        "utf16",
        "loop",
    ];
    let mut lines: Vec<(&str, String)> = names.iter().map(|name| (*name, format!("replay {name}.jsonl"))).collect();
    lines.push(("a folder", "replay folder".to_owned()));
    lines.push(("nothing on standard input", "replay -".to_owned()));
    lines.push(("several files", "replay gone.jsonl number.jsonl kind.jsonl".to_owned()));
    lines.push(("state and verify", "replay number.jsonl --state --verify".to_owned()));
    if cfg!(target_os = "linux") {
        lines.push(("an endless device", "replay /dev/zero".to_owned()));
    }
    let table: Vec<Bad> = lines.iter().map(|(name, words)| (*name, &*words.clone().leak())).collect();
    insta::assert_snapshot!(told(&bench, &table));
}

#[test]
fn measurements_that_cannot_be_used() {
    let bench = Bench::new();
    bench.write("empty.csv", "");
    bench.write("header.csv", "input_toks,output_toks,queued_ts,first_token_ts,last_token_ts\n");
    bench.write("letters.csv", "input_toks,output_toks,queued_ts,first_token_ts,last_token_ts\n1,2,a,b,c\n");
    bench.write("few.csv", "input_toks,output_toks,queued_ts,first_token_ts,last_token_ts\n1,2,1,2,3\n");
    bench.write("other.csv", "a,b\n1,2\n");
    bench.write("list.json", "[]");
    bench.write("broken.json", "{\"prefill_isl\": [1, 2");
    bench.write("zero.json", "{\"prefill_isl\":[0],\"prefill_ttft_ms\":[1],\"decode_points\":[],\"max_kv_tokens\":1e300}");
    bench.write("binary.jsonl", BINARY);
    bench.write("utf16.csv", utf16("t,running,waiting\n"));
    bench.write("prefill.npz", b"PK\x03\x04");
    bench.write("decode.npz", BINARY);
    bench.write("folder/x", "");
    bench.write("late.prom", "dynamo_engine_request 1\n");
    bench.write("words.prom", "dynamo_engine_request one 1000\n");
    bench.write("times.csv", "time,dynamo_engine_request\nsoon,1\n");
    let mut table: Vec<Bad> = vec![
        ("no log", "calibrate gone.jsonl"),
        ("an empty log", "calibrate empty.csv"),
        ("a header alone", "calibrate header.csv --from log"),
        ("times that are none", "calibrate letters.csv --from log"),
        ("too few requests", "calibrate few.csv --from log --kv-blocks 100"),
        ("other columns", "calibrate other.csv --from log"),
        ("a table of something else", "calibrate other.csv --from table --kv-blocks 100"),
        ("a column that is no key", "calibrate few.csv --from log --columns wait=a"),
        ("another kind of JSON", "calibrate list.json --from profile"),
        ("broken JSON", "calibrate broken.json --from profile"),
        ("a profile of nothing", "calibrate zero.json --from profile"),
        ("a binary log", "calibrate binary.jsonl --from log"),
        ("another encoding", "calibrate utf16.csv --from log"),
        ("archives that are none", "calibrate prefill.npz decode.npz"),
        ("a folder of something else", "calibrate folder"),
        ("no counters", "verify --against gone.prom good.toml"),
        ("counters without an end in time", "verify --against late.prom good.toml"),
        ("counters of words", "verify --against words.prom good.toml"),
        ("times of words", "verify --against times.csv good.toml"),
        ("binary counters", "verify --against binary.jsonl good.toml"),
        ("no scenario", "verify --against times.csv gone.toml"),
        ("a tolerance that is none", "verify --against times.csv good.toml --tolerance 20"),
        ("a window of nothing", "verify --against times.csv good.toml --window 0s"),
        ("recordings that are none", "verify folder"),
    ];
    if cfg!(target_os = "linux") {
        table.push(("an endless log", "calibrate /dev/zero --from log"));
        table.push(("an endless profile", "calibrate /dev/zero --from table"));
        table.push(("endless counters", "verify --against /dev/zero good.toml"));
    }
    insta::assert_snapshot!(told(&bench, &table));
}
