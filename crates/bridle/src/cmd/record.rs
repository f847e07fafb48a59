//! `bridle log`, `sessions` and `replay`: the record, read from its file or handed out by a daemon.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bridle_history::head::{KeptHead, MAX_HEAD_FILE};
use bridle_history::list::{RecordFormat, write_record};
use bridle_history::mirror::RecordMirror;
use bridle_history::replay::{ReplayRange, ReplayReport};
use bridle_history::{
    ChainHead, HistoryError, RecordHistory, RecordSelection, SessionRow, StoreError,
};
use bridle_shell::client::{ClientOptions, DaemonTarget};
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, data_writer, local_minute};
use bridle_wire::seal::{KeyId, SigningKey};
use bridle_wire::time::rfc3339;

pub(super) use super::output::print;
use super::output::unwritten;
use super::read_key;
use super::remote_record::RemoteRecord;
use super::rethink;
use super::talk::settled_auth;
use crate::args::record as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::quoted;
use crate::settings::{GivenFlags, ResolvedSettings, StateDir};

/// Time between two looks at a record that is being followed: below what people notice, and one
/// small query each.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

/// Time between two words about long work.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Longest wait for an answer of a daemon about its record: verifying reads all of it.
const RECORD_TIMEOUT: Duration = Duration::from_secs(600);

/// Records asked for at a time.
const PAGE_RECORDS: usize = 512;

pub(crate) fn log(args: args::LogCommand) -> Result<BridleExit, CommandFailure> {
    match args.verb {
        None => list(&args.list),
        Some(args::LogVerb::Verify(args)) => verify(&args),
        Some(args::LogVerb::Head(args)) => head(&args),
        Some(args::LogVerb::Export(args)) => export(&args),
        Some(args::LogVerb::Mirror(args)) => mirror(&args),
    }
}

fn list(args: &args::LogListArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    if let Some(name) = &args.session {
        history.expect_session(name).map_err(|error| failure(&error))?;
    }
    let form = match args.output {
        args::RecordOutputArgs { json: true, .. } => RecordFormat::Json,
        args::RecordOutputArgs { lisp: true, .. } => RecordFormat::Lisp,
        _ => RecordFormat::Emacs,
    };
    let wanted = RecordSelection { session: args.session.as_deref().map(Into::into), to: None };
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut after = args.after;
    let mut out = data_writer();
    let mut line = String::new();
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PAGE_RECORDS).min(PAGE_RECORDS);
        let page = history.page(after, &wanted, most).map_err(|error| failure(&error))?;
        for record in &page {
            line.clear();
            write_record(record, form, &mut line);
            line.push('\n');
            out.write_all(line.as_bytes()).map_err(|error| unwritten(&error))?;
            after = record.number.0;
            left -= 1;
        }
        if page.is_empty() {
            out.flush().map_err(|error| unwritten(&error))?;
            if !args.follow {
                break;
            }
            std::thread::sleep(FOLLOW_INTERVAL);
        }
    }
    out.flush().map_err(|error| unwritten(&error))?;
    Ok(BridleExit::Ok)
}

fn verify(args: &args::VerifyArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    let kept = args.head.as_deref().map(kept_head).transpose()?;
    if let Some((kept, path)) = kept.as_ref().zip(args.key.as_deref()) {
        kept.check_signature(&key(path)?).map_err(|error| failure(&error))?;
    }
    let mut progress = ProgressLine::new("verified");
    let verified = history.verify(kept.as_ref(), &mut |done, all| progress.tell(done, all));
    progress.clear();
    let verified = verified.map_err(|error| failure(&error))?;
    let ChainHead { number, hash } = verified.head;
    let mut text = format!("{number} records, head {hash}\n");
    if verified.erased > 0 {
        text.push_str(&format!("{} of them are forgotten and cannot be read\n", verified.erased));
    }
    if verified.compacted > 0 {
        text.push_str(&format!("{} of them were compacted away\n", verified.compacted));
    }
    match (&kept, &args.key) {
        (Some(_), Some(_)) => text.push_str("the kept head is signed and is part of this chain\n"),
        (Some(kept), None) if kept.is_signed() => {
            text.push_str("the kept head is part of this chain; its signature was not checked\n");
        }
        (Some(_), None) => text.push_str("the kept head is part of this chain\n"),
        (None, _) => {}
    }
    print(&text)
}

fn kept_head(path: &Path) -> Result<KeptHead, CommandFailure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_HEAD_FILE).read_to_string(&mut text));
    read.map_err(|error| {
        CommandFailure::because(
            BridleExit::NoInput,
            format!("cannot read `{}`", path.display()),
            &error,
        )
        .hint("name a file with a line of: bridle log head")
    })?;
    KeptHead::parse(&text).map_err(|error| failure(&error))
}

fn key(path: &Path) -> Result<SigningKey, CommandFailure> {
    SigningKey::strong(KeyId::new("head"), &read_key(path)?).map_err(|error| {
        CommandFailure::because(
            BridleExit::Config,
            format!("cannot use key file `{}`", path.display()),
            &error,
        )
        .hint("make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY")
    })
}

fn head(args: &args::HeadArgs) -> Result<BridleExit, CommandFailure> {
    let key = args.sign.as_deref().map(key).transpose()?;
    let line = open(&args.state)?.head_line(key.as_ref()).map_err(|error| failure(&error))?;
    print(&format!("{line}\n"))
}

fn export(args: &args::ExportArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    let mut out = data_writer();
    history.export_org(args.session.as_deref(), &mut out).map_err(|error| failure(&error))?;
    Ok(BridleExit::Ok)
}

fn mirror(args: &args::MirrorArgs) -> Result<BridleExit, CommandFailure> {
    let history = open(&args.state)?;
    let mut mirror = RecordMirror::open(&args.file, &history).map_err(|error| failure(&error))?;
    loop {
        if mirror.catch_up(&history).map_err(|error| failure(&error))? > 0 {
            continue;
        }
        if args.once {
            return print(&format!("{} records in {}\n", mirror.last(), args.file.display()));
        }
        std::thread::sleep(FOLLOW_INTERVAL);
    }
}

pub(crate) fn sessions(args: &args::SessionsArgs) -> Result<BridleExit, CommandFailure> {
    let mut rows = open(&args.state)?.sessions().map_err(|error| failure(&error))?;
    rows.sort_by(|one, other| other.last_at.cmp(&one.last_at).then(one.name.cmp(&other.name)));
    let known = rows.len();
    rows.retain(|row| args.all || !(row.forgotten || is_unnamed(&row.name)));
    if args.json {
        return print(&rows.iter().map(session_json).collect::<String>());
    }
    let mut text = session_table(&rows);
    if known > rows.len() {
        text.push_str(&format!(
            "{} more, without a name or forgotten: `bridle sessions --all`\n",
            known - rows.len()
        ));
    }
    print(&text)
}

/// Whether the daemon made the name up: for a connection without a hello, or a request over HTTP
/// without a session.
fn is_unnamed(name: &str) -> bool {
    let is_made_up = |rest: &str, digits: usize| {
        rest.len() == digits && rest.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    name.strip_prefix("oh-").is_some_and(|rest| is_made_up(rest, 32))
        || name.strip_prefix('s').is_some_and(|rest| is_made_up(rest, 16))
}

fn session_json(row: &SessionRow) -> String {
    format!(
        "{{\"session\":{},\"owner\":{},\"created\":{},\"last\":{},\"seq\":{},\"records\":{},\
         \"forgotten\":{}}}\n",
        quoted(&row.name),
        quoted(&row.owner),
        quoted(&rfc3339(row.created)),
        quoted(&rfc3339(row.last_at)),
        row.head_seq,
        row.records,
        row.forgotten
    )
}

fn session_table(rows: &[SessionRow]) -> String {
    let mut table = TextTable::new([
        TableColumn::text("SESSION").shrinks(),
        TableColumn::text("OWNER").shrinks().optional(),
        TableColumn::number("EVENTS"),
        TableColumn::number("RECORDS").optional(),
        TableColumn::text("BEGAN").optional(),
        TableColumn::text("LAST USED"),
    ]);
    for row in rows {
        let last = if row.forgotten { "forgotten".to_owned() } else { local_minute(row.last_at) };
        table.push_row([
            &*row.name,
            &*row.owner,
            &row.head_seq.to_string(),
            &row.records.to_string(),
            &local_minute(row.created),
            &last,
        ]);
    }
    table.render(
        OutputScreen::of_stdout(),
        "no named sessions yet: `bridle ask --session desk help` starts one",
    )
}

pub(crate) fn replay(args: &args::ReplayArgs) -> Result<BridleExit, CommandFailure> {
    if let Some(model) = &args.with_model {
        return rethink::run(args, model);
    }
    let history = open(&args.state)?;
    if let Some(name) = &args.session {
        history.expect_session(name).map_err(|error| failure(&error))?;
    }
    let session = args.session.as_deref().map(Into::into);
    let range = ReplayRange { from: args.from, to: args.to, session };
    let mut progress = ProgressLine::new("replayed");
    let replayed = history.replay(&range, &mut |done, all| progress.tell(done, all));
    progress.clear();
    let replayed = replayed.map_err(|error| failure(&error))?;
    print(&if args.json { replay_json(&replayed) } else { replay_text(&replayed) })?;
    Ok(if replayed.difference.is_some() { BridleExit::Answered } else { BridleExit::Ok })
}

fn replay_text(replayed: &ReplayReport) -> String {
    let ReplayReport { sessions, erased, events, effects, states, differing, difference } =
        replayed;
    let count = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let mut text = format!(
        "same: {}, {}, {}, {}\n",
        count(*sessions, "session"),
        count(*events, "event"),
        count(*effects, "effect"),
        count(*states, "state")
    );
    if *erased > 0 {
        text.push_str(&format!("skipped, erased: {}\n", count(*erased, "session")));
    }
    if !differing.is_empty() {
        let kinds: Vec<String> = differing.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        text.push_str(&format!("older version, other text: {}\n", kinds.join(", ")));
    }
    if let Some(it) = difference {
        text.push_str(&format!(
            "differs: record {} of session {}\n  expected {}\n  got      {}\n",
            it.record, it.session, it.expected, it.got
        ));
    }
    text
}

fn replay_json(replayed: &ReplayReport) -> String {
    let ReplayReport { sessions, erased, events, effects, states, differing, difference } =
        replayed;
    let kinds: Vec<String> =
        differing.iter().map(|(kind, n)| format!("{}:{n}", quoted(kind))).collect();
    let differing = kinds.join(",");
    let difference = difference.as_ref().map_or("null".to_owned(), |it| {
        format!(
            "{{\"record\":{},\"session\":{},\"expected\":{},\"got\":{}}}",
            it.record,
            quoted(&it.session),
            quoted(&it.expected),
            quoted(&it.got)
        )
    });
    format!(
        "{{\"sessions\":{sessions},\"skipped-erased\":{erased},\"events\":{events},\
         \"effects\":{effects},\"states\":{states},\"differing\":{{{differing}}},\"difference\":{difference}}}\n"
    )
}

/// Opens the record of a state directory, or that of a daemon.
pub(super) fn open(place: &args::RecordPlace) -> Result<RecordHistory, CommandFailure> {
    let Some(addr) = &place.addr else { return open_file(&place.dir) };
    let settings = ResolvedSettings::resolve(place.dir.given())?;
    let auth = settled_auth(&settings, addr)?;
    let options = ClientOptions { auth, timeout: RECORD_TIMEOUT };
    let remote = RemoteRecord::connect(&[DaemonTarget { addr: addr.clone(), options }])?;
    Ok(RecordHistory::of(Box::new(remote), Path::new(&addr.to_string())))
}

/// Opens the record of a state directory.
pub(super) fn open_file(state: &StateDir) -> Result<RecordHistory, CommandFailure> {
    RecordHistory::open(&state_dir(state.given())?).map_err(|error| failure(&error))
}

/// The state directory that the settings name.
pub(super) fn state_dir(given: &GivenFlags) -> Result<PathBuf, CommandFailure> {
    ResolvedSettings::resolve(given)?.state()
}

/// Explains why history could not be read, with the way out.
pub(super) fn failure(error: &HistoryError) -> CommandFailure {
    let (exit, hint) = match error {
        HistoryError::NoRecord { .. } => (
            BridleExit::NoInput,
            "no record there yet: run `bridle up`, or name another directory with --state DIR",
        ),
        HistoryError::UnknownSession { .. } | HistoryError::Store(StoreError::NoSession(_)) => {
            (BridleExit::NoInput, "`bridle sessions` lists sessions")
        }
        HistoryError::Store(StoreError::NoRecord(_)) => {
            (BridleExit::NoInput, "`bridle log` lists records")
        }
        HistoryError::Store(StoreError::Broken(broken)) => {
            return CommandFailure::bare(BridleExit::Data, broken);
        }
        HistoryError::Store(StoreError::Damaged(_) | StoreError::Foreign { .. }) => (
            BridleExit::Data,
            "restore a backup, or salvage it: `bridle record repair --dry-run` shows what can be kept",
        ),
        HistoryError::Store(StoreError::Behind { .. } | StoreError::RepairInterrupted) => (
            BridleExit::Data,
            "restore record.db from a backup, or continue with what is there: `bridle record repair`",
        ),
        HistoryError::Store(StoreError::Busy | StoreError::Full) => {
            (BridleExit::Temporary, "try again in a moment, and check the free disk space")
        }
        HistoryError::Store(StoreError::Io { source, .. })
            if source.kind() == io::ErrorKind::NotConnected =>
        {
            (BridleExit::Temporary, "name a daemon that hands its record to you with --addr")
        }
        HistoryError::Store(_) => {
            (BridleExit::Io, "check the owner of the state directory and its files")
        }
        HistoryError::Output(error) => return unwritten(error),
        HistoryError::BadHead { .. } => (BridleExit::Data, "use the whole line, unchanged"),
        HistoryError::HeadNotSigned => {
            (BridleExit::Data, "name the key that signed it: --key FILE")
        }
        HistoryError::Mirror { .. } => (BridleExit::CannotCreate, "name a file you can write to"),
        HistoryError::NotAMirror { .. } => {
            (BridleExit::Data, "the file is unchanged; name another one, or move this one away")
        }
        HistoryError::MirrorTaken { .. } => {
            (BridleExit::Temporary, "stop the other one, or name another file")
        }
        _ => (BridleExit::Software, "the log of `bridle up` may say more"),
    };
    let failure = match std::error::Error::source(error) {
        Some(cause) => CommandFailure::because(exit, error, cause),
        None => CommandFailure::new(exit, error),
    };
    failure.hint(hint)
}

/// Words about long work, on a terminal only.
struct ProgressLine {
    verb: &'static str,
    last: Instant,
    shown: bool,
    wanted: bool,
}

impl ProgressLine {
    fn new(verb: &'static str) -> ProgressLine {
        ProgressLine {
            verb,
            last: Instant::now(),
            shown: false,
            wanted: io::stderr().is_terminal(),
        }
    }

    fn tell(&mut self, done: u64, all: u64) {
        if !self.wanted || self.last.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        // When stderr is gone, nobody needs to be told.
        let _ = write!(io::stderr().lock(), "\r{} {done} of {all} records", self.verb);
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}
