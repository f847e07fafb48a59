//! What a run leaves behind: the sessions that a kit made at one's own daemon are forgotten when it
//! is over. A daemon of others keeps them; their names begin with `kit-`.

use std::collections::BTreeSet;

use bridle_sexp::{Value, read_one};
use bridle_shell::DaemonAddress;
use bridle_shell::client::{ANSWER_TIMEOUT, ClientAuth, ClientOptions, DaemonClient, DaemonTarget};
use bridle_shell::system::{self, SystemRequest};

use crate::settings::{GivenFlags, ResolvedSettings};

/// Asks for all sessions that the user may see.
const SESSIONS: &str = "(:type :REQUEST :id 1 :target :system :payload (:action :sessions))";

/// Finds the daemon that lets its user forget sessions: on a Unix socket, the one that is
/// checked or that of the settings. Nowhere, if there is none.
fn own_daemon(checked: Option<&DaemonAddress>) -> Vec<DaemonTarget> {
    let socket = match checked {
        Some(DaemonAddress::Unix(path)) => Some(path.clone()),
        _ => {
            let settings = ResolvedSettings::resolve(&GivenFlags::default()).ok();
            settings.and_then(|settings| settings.path("unix").map(std::path::Path::to_path_buf))
        }
    };
    let options = ClientOptions { timeout: ANSWER_TIMEOUT, auth: ClientAuth::None };
    socket
        .map(|path| DaemonTarget { addr: DaemonAddress::Unix(path), options })
        .into_iter()
        .collect()
}

/// Sessions of one run, and the daemon that can forget them.
#[derive(Debug, Default)]
pub(super) struct RunSessions {
    own: Vec<DaemonTarget>,
    /// Prefix of the session names that the kit chose in this run, and in no other.
    prefix: String,
    heard: BTreeSet<String>,
}

impl RunSessions {
    /// The sessions of a run whose names have this in them.
    pub(super) fn of(nonce: &str, checked: Option<&DaemonAddress>) -> RunSessions {
        let prefix = format!("kit-{nonce}-");
        RunSessions { own: own_daemon(checked), prefix, heard: BTreeSet::new() }
    }

    /// Adds what was heard of in a case.
    pub(super) fn hear<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        if !self.own.is_empty() {
            self.heard.extend(names.map(str::to_owned));
        }
    }

    /// Has them forgotten. A session that the daemon does not have was made elsewhere; one that it
    /// keeps stays, and the report is not about it.
    pub(super) fn forget(self) {
        let is_ours = |name: &String| self.heard.contains(name) || name.starts_with(&self.prefix);
        // On one connection, so that the asking itself makes one session and not one for each.
        let Ok(mut client) = DaemonClient::connect_any(&self.own) else { return };
        for session in listed(&mut client).into_iter().filter(is_ours) {
            if system::ask_on(&mut client, &SystemRequest::ForgetSession(session)).is_err() {
                return;
            }
        }
    }
}

/// The names of the sessions of one's own daemon; none, if it does not answer.
fn listed(client: &mut DaemonClient) -> Vec<String> {
    let Ok(answer) = client.request(SESSIONS) else { return Vec::new() };
    let Ok(tree) = read_one(&answer) else { return Vec::new() };
    let payload = tree.root().get("payload").map_or(Value::Nil, |it| it.to_value());
    let rows = payload.get("sessions").and_then(Value::elements).unwrap_or_default().iter();
    rows.filter_map(|row| row.get("session")?.as_str().map(str::to_owned)).collect()
}
