//! Questions to the Memex for commands that work with and without a daemon: the daemon answers where one runs, else
//! the index on the disk, brought up to date first.

use std::io::Write as _;
use std::time::Duration;

use bridle_daemon::lock::StateLock;
use bridle_memex::survey;
use bridle_memex::{MemexQuestion, MemexRefusal, OfflineMemex, WallMinute};
use bridle_record::StoreError;
use bridle_sexp::Value;
use bridle_shell::ShellError;
use bridle_shell::client::DaemonTarget;
use bridle_shell::screen::local_minute;
use bridle_shell::system::{SystemReply, ask_context};

use super::session::refused;
use super::talk::{find_by, is_named};
use crate::args::PeerArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::{GivenFlags, ResolvedSettings};

/// Looks at an index that is being made, and the pause between two.
const INDEX_LOOKS: u32 = 40;
const INDEX_LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Origin of answers.
pub(super) enum MemexSource {
    /// A daemon.
    Daemon(Vec<DaemonTarget>),
    /// The index on the disk.
    Index(Box<OfflineMemex>),
}

impl MemexSource {
    /// Finds out whether a daemon answers; only where none was named the index may take its place.
    pub(super) fn open(
        peer: PeerArgs,
        state: Option<String>,
    ) -> Result<MemexSource, CommandFailure> {
        let (is_elsewhere, is_offline) = (is_named(&peer), state.is_some());
        let given = GivenFlags::with_state(peer.file.clone(), state);
        let settings = ResolvedSettings::resolve(&given)?;
        let targets = find_by(peer, &settings)?;
        if !is_offline {
            match bridle_shell::client::DaemonClient::connect_any(&targets) {
                Ok(_) => {
                    wait_for_index(&targets)?;
                    return Ok(MemexSource::Daemon(targets));
                }
                Err(ShellError::Connect { .. }) if !is_elsewhere => {}
                Err(error) => return Err(error.into()),
            }
        }
        offline(&settings).map(|memex| MemexSource::Index(Box::new(memex)))
    }

    /// Asks, and gives the payload of the answer.
    pub(super) fn ask(&self, payload: Value) -> Result<Value, CommandFailure> {
        match self {
            MemexSource::Daemon(targets) => match ask_context(targets, payload)? {
                SystemReply::Done(told) => Ok(told),
                SystemReply::Not(answer) => match answer.code.as_str() {
                    "invalid-value" | "missing-key" | "wrong-type" => {
                        Err(CommandFailure::new(BridleExit::Data, &answer.message)
                            .hint("the command's --help has examples"))
                    }
                    _ => Err(refused(&answer)),
                },
            },
            MemexSource::Index(memex) => {
                let question = MemexQuestion::of(&payload).map_err(|it| not_answered(&it))?;
                memex.answer(&question, wall_now()).map_err(|it| not_answered(&it))
            }
        }
    }
}

/// Waits a moment for a daemon that has just begun to read the folder; says so where it takes longer.
pub(super) fn wait_for_index(targets: &[DaemonTarget]) -> Result<(), CommandFailure> {
    let status = || Value::plist([("action", Value::keyword("memex-status"))]);
    for _ in 0..INDEX_LOOKS {
        let SystemReply::Done(told) = ask_context(targets, status())? else { return Ok(()) };
        let state = told.get("state").and_then(Value::as_keyword).unwrap_or_default();
        if !matches!(state, "starting" | "indexing") {
            return Ok(());
        }
        std::thread::sleep(INDEX_LOOK_PAUSE);
    }
    let line = "the index is still being made; the answer may lack something\n";
    // When stderr is gone, the answer still goes out.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
    Ok(())
}

/// The present by the clock on the wall.
pub(super) fn wall_now() -> WallMinute {
    // The text has minutes and no zone, so it can be read.
    WallMinute::parse(&local_minute(now_ms())).unwrap_or(WallMinute(now_ms().div_euclid(60_000)))
}

/// The present, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// Opens the index, after reading what changed since a daemon did.
fn offline(settings: &ResolvedSettings) -> Result<OfflineMemex, CommandFailure> {
    let Some(folder) = settings.path("memex") else {
        return Err(CommandFailure::new(BridleExit::NoInput, "no Org folder is chosen")
            .hint("choose one: bridle setup"));
    };
    let (rules, state) = (settings.memex_rules()?.rules, settings.state()?);
    let opened = match StateLock::take(&state) {
        Ok(_lock) => survey::index(folder, &rules, &state, |_| ()).map(drop),
        // A daemon has it and keeps the index up to date, though it does not answer here.
        Err(_) => Ok(()),
    };
    let memex = opened.and_then(|()| OfflineMemex::open(folder, &rules, &state));
    let memex = memex.map_err(|error| unreadable(&error))?;
    // When stderr is gone, the answer still goes out.
    let _ = writeln!(std::io::stderr().lock(), "no daemon runs; read from your files");
    Ok(memex)
}

fn unreadable(error: &StoreError) -> CommandFailure {
    CommandFailure::because(BridleExit::Io, "cannot read the Org folder", error)
        .hint("check the folder: bridle doctor")
}

fn not_answered(refusal: &MemexRefusal) -> CommandFailure {
    let exit = match refusal {
        MemexRefusal::Field { .. } | MemexRefusal::Invalid(_) => BridleExit::Data,
        MemexRefusal::NotFound(_) | MemexRefusal::NoMemex => BridleExit::NoInput,
        MemexRefusal::Unavailable(_) | MemexRefusal::Internal => BridleExit::Io,
    };
    let what = match refusal {
        MemexRefusal::Field { key, .. } => format!("--{key}: {refusal}"),
        _ => refusal.to_string(),
    };
    CommandFailure::new(exit, what).hint("the command's --help has examples")
}
