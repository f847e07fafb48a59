//! `bridle chat`: finds the daemon or starts it, finds the session, and hands the terminal over.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_chat::ChatError;
use bridle_chat::driver::{self, ChatOrder};
use bridle_chat::link::LinkRoute;
use bridle_chat::notebook::{ChatNotebook, FolderSession};
use bridle_chat::terminal;
use bridle_shell::ask::new_id;
use bridle_shell::client::{DaemonClient, DaemonTarget};
use bridle_shell::error::ErrorKind;
use bridle_shell::screen::neutral_line;

use super::launch::DaemonLaunch;
use super::record::state_dir;
use super::talk::{find, is_named};
use crate::args::PeerArgs;
use crate::args::chat::ChatArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::settings::GivenFlags;

/// Start of an address that leads to another host.
const SSH: &str = "ssh://";

/// Longest part of a folder's name in the name of a session, in letters.
const FOLDER_LETTERS: usize = 24;

/// Random letters at the end of the name of a session.
const NAME_LETTERS: usize = 4;

pub(crate) fn run(args: ChatArgs) -> Result<BridleExit, CommandFailure> {
    if !terminal::is_terminal() {
        return Err(failure(&ChatError::NoTerminal));
    }
    let folder = std::env::current_dir().map_err(|error| {
        CommandFailure::because(BridleExit::NoInput, "cannot find the folder", &error)
    })?;
    let state = state_dir(&GivenFlags::from(args.peer.file.clone()))?;
    let notebook = ChatNotebook::new(&state);
    let remote = args.place.as_deref().and_then(|place| place.strip_prefix(SSH));
    let (route, named) = match remote {
        Some(place) => {
            let place = SshPlace::read(place)?;
            (place.route(&args.remote), place.session.clone())
        }
        None => {
            let named = args.place.clone().or(args.session.clone());
            (LinkRoute::Targets(reach(args.peer, args.no_start)?), named)
        }
    };
    let last = match (&named, args.new || remote.is_some()) {
        (None, false) => last_of(&notebook, &folder),
        _ => None,
    };
    let greeting = last.as_ref().map(greeting);
    let session = named.or(last.map(|it| it.session)).unwrap_or_else(|| new_name(&folder));
    let order = ChatOrder {
        route,
        session,
        greeting,
        pick: args.pick,
        client: new_id(),
        folder,
        state,
        new_name,
    };
    driver::run(order).map_err(|error| failure(&error))?;
    Ok(BridleExit::Ok)
}

/// Finds the daemon, or starts it and says so.
pub(super) fn reach(peer: PeerArgs, no_start: bool) -> Result<Vec<DaemonTarget>, CommandFailure> {
    // A daemon that somebody named is somebody else's to start.
    let may_start = !no_start && !is_named(&peer);
    let file = peer.file.clone();
    let targets = find(peer)?;
    match DaemonClient::connect_any(&targets) {
        Ok(_) => Ok(targets),
        Err(error) if error.kind() == ErrorKind::Unavailable && may_start => {
            let launch = DaemonLaunch::of(&file)?;
            let log = launch.log();
            let line = format!("no daemon runs: starting one; its log is {}\n", log.display());
            // Whoever cannot be told has a daemon all the same.
            let _ = io::stderr().lock().write_all(line.as_bytes());
            launch.start().map_err(|why| CommandFailure::new(BridleExit::Unavailable, why))?;
            Ok(targets)
        }
        // It may come: the conversation says that it waits.
        Err(error) if error.kind() == ErrorKind::Unavailable && no_start => Ok(targets),
        Err(error) => Err(error.into()),
    }
}

/// The session that was used last in a folder.
fn last_of(notebook: &ChatNotebook, folder: &Path) -> Option<FolderSession> {
    let folder = folder.to_str()?;
    notebook.sessions().into_iter().find(|it| it.folder == folder && !it.title.is_empty())
}

/// Sentence about a session that is gone on with.
fn greeting(last: &FolderSession) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let age = bridle_chat::conversation::age_words(now.saturating_sub(last.at));
    format!("{} · {age} · Alt-N begins a new one", neutral_line(&last.title))
}

/// A name that no session has: of the folder, and some random letters.
fn new_name(folder: &Path) -> String {
    let base = folder.file_name().and_then(|name| name.to_str()).unwrap_or("chat");
    let plain = base.chars().filter(|it| it.is_ascii_alphanumeric() || "-_".contains(*it));
    let base: String = plain.take(FOLDER_LETTERS).collect::<String>().to_ascii_lowercase();
    let base = if base.is_empty() { "chat" } else { &base };
    format!("{base}-{}", &new_id()[..NAME_LETTERS])
}

/// Place on another host.
#[derive(Debug, PartialEq, Eq)]
struct SshPlace {
    host: String,
    port: Option<u16>,
    session: Option<String>,
}

impl SshPlace {
    fn read(text: &str) -> Result<SshPlace, CommandFailure> {
        let wrong = || {
            CommandFailure::new(BridleExit::Usage, format!("cannot read `{SSH}{text}`"))
                .hint("write ssh://[USER@]HOST[:PORT][/SESSION]")
        };
        let (place, session) = text.split_once('/').unwrap_or((text, ""));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| wrong())?)),
            None => (place, None),
        };
        // What begins with a dash would be a flag of ssh.
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "@._-".contains(it);
        if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
            return Err(wrong());
        }
        let session = (!session.is_empty()).then(|| session.to_owned());
        Ok(SshPlace { host: host.to_owned(), port, session })
    }

    /// Commands whose standard streams lead there: the first may ask for a password, later ones may not.
    fn route(&self, remote: &str) -> LinkRoute {
        let command = |more: &[&str]| {
            let mut words = vec!["ssh".to_owned(), "-T".to_owned()];
            words.extend(more.iter().map(|&it| it.to_owned()));
            if let Some(port) = self.port {
                words.extend(["-p".to_owned(), port.to_string()]);
            }
            words.extend(["--".to_owned(), self.host.clone(), remote.to_owned()]);
            words
        };
        LinkRoute::Program { first: command(&[]), again: command(&["-o", "BatchMode=yes"]) }
    }
}

fn failure(error: &ChatError) -> CommandFailure {
    let (exit, hint) = match error {
        ChatError::NoTerminal => {
            (BridleExit::Usage, "in a pipe use `bridle ask`, for example: echo hello | bridle ask")
        }
        ChatError::Unreached(_) => {
            (BridleExit::Unavailable, "try it by hand: ssh HOST bridle health")
        }
        _ => (BridleExit::Io, "another terminal may do; `reset` repairs this one"),
    };
    CommandFailure::new(exit, error).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bridle_chat::link::LinkRoute;

    use super::{SshPlace, new_name};

    #[test]
    fn a_place_elsewhere_has_host_port_and_session() {
        let read = |text: &str| SshPlace::read(text).ok();
        let place = read("me@host.example:2222/work").expect("a place");
        assert_eq!((&*place.host, place.port), ("me@host.example", Some(2222)));
        assert_eq!(place.session.as_deref(), Some("work"));
        assert_eq!(read("host/").expect("a place").session, None);
        for wrong in ["", "-oProxyCommand=x", "a b", "host:x", "h$(id)", "/work", "h;id"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let LinkRoute::Program { first, again } = place.route("bridle relay") else {
            unreachable!("a program")
        };
        assert_eq!(first.join(" "), "ssh -T -p 2222 -- me@host.example bridle relay");
        assert!(again.contains(&"BatchMode=yes".to_owned()));
    }

    #[test]
    fn new_sessions_are_named_after_their_folder() {
        let name = new_name(Path::new("/srv/me/My Notes (2026)"));
        assert_eq!(name.rsplit_once('-').expect("a dash").0, "mynotes2026");
        assert!(new_name(Path::new("/")).starts_with("chat-"));
        assert_ne!(new_name(Path::new("/x")), new_name(Path::new("/x")));
    }
}
