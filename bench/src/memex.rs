//! What an index of a large Memex costs: `bridle-bench memex`. A folder of 20,000 Org files is made, indexed, opened
//! again, changed and asked; beside it `grep -r` looks for the same words. While it is indexed, commits to a record
//! are timed, as they are without; then the same through a daemon, `memex/served.rs`.

mod served;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bridle_memex::{
    DateSpan, FocusRequest, MemexCatalog, MemexFolder, MemexIndex, MemexQuery, OutlineRequest,
    PrivateAccess, QueryMode, ReadRules, SearchText, WallMinute,
};
use bridle_record::{NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions};

use crate::Options;
use crate::report::{Cell, Table, Verdict};
use crate::stats::quantile;
use served::Served;

/// Files, headings of each, and bytes of text under each heading: 100 MiB and 200,000 headings.
const FILES: usize = 20_000;
const HEADINGS: usize = 10;
const TEXT_BYTES: usize = 475;

/// Files of a quick run.
const QUICK_FILES: usize = 1_000;

/// Targets, in seconds, milliseconds and MiB.
const INDEX_SECONDS: f64 = 15.0;
const REOPEN_SECONDS: f64 = 0.2;
const VISIBLE_MS: f64 = 50.0;
const QUERY_MS: f64 = 20.0;
const RSS_MIB: f64 = 150.0;

/// Time for which commits are timed without indexing; with it, they are for as long as it takes.
const QUIET: Duration = Duration::from_secs(10);

/// Factor by which a commit may take longer with it.
const COMMIT_RATIO: f64 = 1.2;

/// Makes the folder and measures everything in turn.
pub fn run(options: &Options, tables: &mut Vec<Table>, verdicts: &mut Vec<Verdict>) -> Result<()> {
    let files = if options.quick { QUICK_FILES } else { FILES };
    let (folder, state) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let bytes = make(folder.path(), files)?;
    let memex = Arc::new(MemexFolder::open(folder.path(), ReadRules::default())?);
    let begun = Instant::now();
    let quiet = commits(state.path(), || begun.elapsed() >= QUIET)?;

    reset_peak();
    let begun = Instant::now();
    let mut index = MemexIndex::open(state.path(), &memex)?;
    let changes = index.sync(&memex, &memex.scan(), &mut |_| true)?;
    let indexed = begun.elapsed().as_secs_f64();
    let rss = peak_mib()?;
    ensure!(changes.added == files, "{changes:?}");
    drop(index);

    let begun = Instant::now();
    let mut index = MemexIndex::open(state.path(), &memex)?;
    let changes = index.sync(&memex, &memex.scan(), &mut |_| true)?;
    let reopened = begun.elapsed().as_secs_f64();
    ensure!(changes.read == 0, "{changes:?}");

    let visible = changed(&memex, &mut index, state.path())?;
    let (queries, grep) = asked(&memex, state.path(), folder.path(), files)?;
    let busy = while_indexing(&memex, state.path())?;

    let size = bytes as f64 / f64::from(1 << 20);
    let measured = Measured { indexed, reopened, visible, queries, grep, rss, quiet, busy };
    tables.push(measured.table(format!("Memex of {files} files, {size:.0} MiB")));
    tables.push(measured.questions());
    verdicts.extend(measured.verdicts());
    let served = Served::measure(options, folder.path(), files)?;
    tables.push(served.table());
    verdicts.extend(served.verdicts());
    Ok(())
}

/// Kinds of questions, in the order in which they are asked.
const KINDS: [&str; 17] = [
    "a tag",
    "an inherited tag, something left to do",
    "a tag and a keyword",
    "a priority, something left to do",
    "a property",
    "a day, with repeaters and warnings",
    "a word, ranked, with snippets",
    "two words, ranked, with snippets",
    "a word and a tag, ranked, with snippets",
    "a day and a keyword",
    "the outline, one level",
    "a focus of 2,000 tokens",
    "the beginning of a word, ranked, with snippets",
    "the letter that all words begin with, ranked, with snippets",
    "a phrase, ranked, with snippets",
    "a word without another, ranked, with snippets",
    "a question of eight words, with snippets",
];

/// Questions of each kind.
const ROUNDS: usize = 200;

/// Measurements: seconds, milliseconds in order, MiB.
struct Measured {
    indexed: f64,
    reopened: f64,
    visible: Vec<f64>,
    /// For each of [`KINDS`].
    queries: Vec<Vec<f64>>,
    grep: Vec<f64>,
    rss: f64,
    quiet: Vec<f64>,
    busy: Vec<f64>,
}

impl Measured {
    fn table(&self, title: String) -> Table {
        let mut table = Table::new(title, ["what", "figure"]);
        let rows = [
            ("indexed, s", self.indexed, 2),
            ("opened again, s", self.reopened, 3),
            ("changed file visible, ms, median", quantile(&self.visible, 0.5), 2),
            ("changed file visible, ms, p99", quantile(&self.visible, 0.99), 2),
            ("question of any kind, ms, median", quantile(&self.all(), 0.5), 3),
            ("question of any kind, ms, p99", quantile(&self.all(), 0.99), 2),
            ("grep -r for one word, ms, median", quantile(&self.grep, 0.5), 1),
            ("largest memory while indexing, MiB", self.rss, 0),
            ("commit of the record, ms, median, quiet", quantile(&self.quiet, 0.5), 3),
            ("commit of the record, ms, median, while indexing", quantile(&self.busy, 0.5), 3),
            ("commit of the record, ms, p99, quiet", quantile(&self.quiet, 0.99), 3),
            ("commit of the record, ms, p99, while indexing", quantile(&self.busy, 0.99), 3),
        ];
        for (what, figure, digits) in rows {
            table.push(vec![Cell::text(what), Cell::Number(figure, digits)]);
        }
        table
    }

    /// Table of the time for each kind of question.
    fn questions(&self) -> Table {
        let mut table =
            Table::new("Questions to the Memex", ["question", "median, ms", "p99, ms", "most, ms"]);
        for (kind, samples) in KINDS.iter().zip(&self.queries) {
            table.push(vec![
                Cell::text(*kind),
                Cell::Number(quantile(samples, 0.5), 2),
                Cell::Number(quantile(samples, 0.99), 2),
                Cell::Number(quantile(samples, 1.0), 2),
            ]);
        }
        table
    }

    /// All questions, in order.
    fn all(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.queries.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// The slowest hundredth of the slowest kind.
    fn worst_kind(&self) -> f64 {
        self.queries.iter().map(|samples| quantile(samples, 0.99)).fold(0.0, f64::max)
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let ratio = quantile(&self.busy, 0.5) / quantile(&self.quiet, 0.5);
        let all = [
            ("memex indexed, s", INDEX_SECONDS, self.indexed),
            ("memex opened again, s", REOPEN_SECONDS, self.reopened),
            ("changed file visible, ms, p99", VISIBLE_MS, quantile(&self.visible, 0.99)),
            ("question to the memex, ms, p99 of the slowest kind", QUERY_MS, self.worst_kind()),
            ("memory while indexing, MiB", RSS_MIB, self.rss),
            ("commit while indexing, median, times quiet", COMMIT_RATIO, ratio),
        ];
        all.into_iter().map(Verdict::at_most).collect()
    }
}

/// Numbers that look like chance and are the same each time.
struct NoteDice(u64);

impl NoteDice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).unwrap_or(0)
    }

    /// A word of a language in which few words are frequent and many are rare.
    fn word(&mut self) -> String {
        let most = 1 << (2 + self.roll(14));
        format!("w{}", self.roll(most))
    }
}

/// Writes the files; returns their bytes.
fn make(folder: &Path, files: usize) -> Result<u64> {
    let mut dice = NoteDice(7);
    let mut bytes = 0;
    for n in 0..files {
        let part = folder.join(format!("{:02}", n % 100));
        if n < 100 {
            fs::create_dir(&part)?;
        }
        let mut text = format!("#+TITLE: File {n}\n#+FILETAGS: :f{}:\n", n % 50);
        for h in 0..HEADINGS {
            let stars = "*".repeat(1 + h % 3);
            let todo = ["", "TODO ", "DONE ", "TODO [#A] "][dice.roll(4)];
            text.push_str(&format!(
                "{stars} {todo}{} {} :t{}:\n",
                dice.word(),
                dice.word(),
                dice.roll(200)
            ));
            if h % 3 == 0 {
                let (month, day) = (1 + dice.roll(12), 1 + dice.roll(28));
                let again = if dice.roll(10) == 0 { " +1w" } else { "" };
                text.push_str(&format!("SCHEDULED: <2026-{month:02}-{day:02}{again}>\n"));
            }
            if h % 4 == 0 {
                text.push_str(&format!(
                    ":PROPERTIES:\n:ID: id-{n}-{h}\n:KIND: k{}\n:END:\n",
                    dice.roll(100)
                ));
            }
            let end = text.len() + TEXT_BYTES;
            while text.len() < end {
                text.push_str(&dice.word());
                text.push(if dice.roll(12) == 0 { '\n' } else { ' ' });
            }
            text.push('\n');
        }
        bytes += text.len() as u64;
        fs::write(part.join(format!("{n}.org")), text)?;
    }
    Ok(bytes)
}

/// Milliseconds from a file that is written to an answer that has it, without the time that the daemon waits for
/// quiet, 10 ms.
fn changed(memex: &Arc<MemexFolder>, index: &mut MemexIndex, state: &Path) -> Result<Vec<f64>> {
    let catalog = MemexCatalog::open(state, Arc::clone(memex))?;
    let mut samples = Vec::new();
    for n in 0..200 {
        let path = format!("{:02}/{n}.org", n % 100);
        let whole = memex.root().join(&path);
        let text = fs::read_to_string(&whole)? + &format!("* Fresh{n} heading\nfreshword{n}\n");
        fs::write(&whole, text)?;
        let begun = Instant::now();
        index.update(memex, &[path])?;
        let query = MemexQuery { text: Some(format!("freshword{n}")), ..MemexQuery::default() };
        let page = catalog.query(&query, PrivateAccess::Owner, SearchText::Snippets)?;
        samples.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure!(page.hits.len() == 1, "a change is not seen");
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples)
}

/// Milliseconds of questions of every kind, and of `grep` for a word.
fn asked(
    memex: &Arc<MemexFolder>,
    state: &Path,
    folder: &Path,
    files: usize,
) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
    let catalog = MemexCatalog::open(state, Arc::clone(memex))?;
    let mut dice = NoteDice(11);
    let mut samples = vec![Vec::new(); KINDS.len()];
    for round in 0..ROUNDS * KINDS.len() {
        let kind = round % KINDS.len();
        let query = question(kind, &mut dice)?;
        let outline = OutlineRequest { depth: Some(1), ..OutlineRequest::default() };
        let focus = FocusRequest { at: format!("id-{}-0", dice.roll(files)), budget: 2000 };
        let begun = Instant::now();
        match kind {
            10 => drop(catalog.outline(&outline, PrivateAccess::Owner)?),
            11 => drop(catalog.focus(&focus, PrivateAccess::Owner)?),
            _ => drop(catalog.query(&query, PrivateAccess::Owner, SearchText::Snippets)?),
        }
        samples[kind].push(begun.elapsed().as_secs_f64() * 1e3);
    }
    samples.iter_mut().for_each(|samples| samples.sort_by(f64::total_cmp));
    let mut grep = Vec::new();
    for _ in 0..5 {
        let word = format!("w{}", dice.roll(60_000));
        let begun = Instant::now();
        Command::new("grep").args(["-rlw", &word]).arg(folder).stdout(Stdio::null()).status()?;
        grep.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    grep.sort_by(f64::total_cmp);
    Ok((samples, grep))
}

/// A question of a kind, with other words each time.
fn question(kind: usize, dice: &mut NoteDice) -> Result<MemexQuery> {
    let tags = vec![format!("t{}", dice.roll(200))];
    let day = format!("2026-{:02}-{:02}", 1 + dice.roll(12), 1 + dice.roll(28));
    let day = WallMinute::parse(&day).context("a day")?;
    let dates =
        Some(DateSpan { from: day, to: day.end_of_day(), kinds: Vec::new(), warnings: true });
    let text = Some(dice.word());
    let todo = vec!["TODO".to_owned()];
    let any = MemexQuery::default();
    Ok(match kind {
        0 => MemexQuery { tags, ..any },
        1 => MemexQuery { tags: vec![format!("f{}", dice.roll(50))], done: Some(false), ..any },
        2 => MemexQuery { todo, tags, ..any },
        3 => MemexQuery { priority: Some("A".into()), done: Some(false), ..any },
        4 => MemexQuery {
            properties: vec![("KIND".into(), Some(format!("k{}", dice.roll(100))))],
            ..any
        },
        5 => MemexQuery { dates, ..any },
        6 => MemexQuery { text, ..any },
        7 => MemexQuery { text: Some(format!("{} {}", dice.word(), dice.word())), ..any },
        8 => MemexQuery { text, tags, ..any },
        9 => MemexQuery { dates, todo, ..any },
        12 => MemexQuery { text: text.map(|word| beginning(&word, dice)), ..any },
        13 => MemexQuery { text: Some("w*".into()), ..any },
        16 => {
            let words: Vec<String> = (0..8).map(|_| dice.word()).collect();
            let mode = QueryMode::Question { now: Some(day) };
            MemexQuery { text: Some(words.join(" ") + "?"), mode, ..any }
        }
        14 => MemexQuery { text: Some(format!("\"{} {}\"", dice.word(), dice.word())), ..any },
        _ => MemexQuery { text: Some(format!("{} -{}", dice.word(), dice.word())), ..any },
    })
}

/// The first letters of a word, one of them to all.
fn beginning(word: &str, dice: &mut NoteDice) -> String {
    format!("{}*", &word[..=dice.roll(word.len())])
}

/// Milliseconds of commits to a record, one after the other with pauses, as people cause them.
fn commits(state: &Path, is_over: impl Fn() -> bool) -> Result<Vec<f64>> {
    let directory = tempfile::tempdir_in(state)?;
    let mut store = RecordStore::open(directory.path(), &StoreOptions::default())?;
    let mut samples = Vec::new();
    for n in 0.. {
        if is_over() {
            break;
        }
        let at: i64 = n;
        let session = (n == 0).then(|| NewSessionRow { name: "s".into(), owner: "o".into(), at });
        let draft = NewRecord::new("s", "signal", at, "o", "x".repeat(512));
        let append = RecordAppend { session, drafts: vec![draft], ..RecordAppend::default() };
        let begun = Instant::now();
        store.commit(&[append])?;
        samples.push(begun.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(10));
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples)
}

/// Measures questions while a thread of the librarian's priority makes the index anew.
fn while_indexing(memex: &Arc<MemexFolder>, state: &Path) -> Result<Vec<f64>> {
    let directory = tempfile::tempdir_in(state)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let indexing = scope.spawn(|| -> Result<()> {
            bridle_memex::step_back();
            let mut index = MemexIndex::open(directory.path(), memex)?;
            let made = index.sync(memex, &memex.scan(), &mut |_| true);
            over.store(true, Ordering::Relaxed);
            made?;
            Ok(())
        });
        let samples = commits(state, || over.load(Ordering::Relaxed));
        indexing.join().map_err(|_| anyhow::anyhow!("indexing broke off"))??;
        samples
    })
}

/// Forgets how much memory this process had at most.
fn reset_peak() {
    // Where it cannot be done, the figure is too large, never too small.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn peak_mib() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib / 1024.0)
}
