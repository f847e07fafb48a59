//! Room for the file descriptors of all connections, made before there are threads.
//!
//! Linux doubles the table of descriptors when it is full: at 256, at 512 and so on. In a process
//! with threads the one that asked for a descriptor then sleeps until every processor has let go
//! of the old table, 5 to 17 ms. Here that is the worker that accepts, and while no other worker
//! is awake nobody looks after the sockets, so everyone waits. Before the first thread the table
//! grows without a wait, and it never shrinks.

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::DaemonConfig;

/// Descriptors besides those of connections: listeners, the runtime's, the log, peers being refused.
const OTHER_DESCRIPTORS: usize = 64;

/// Most descriptors to make room for, 8 bytes each; who allows more connections than this waits
/// now and then.
const MAX_DESCRIPTORS: usize = 1 << 16;

/// Descriptors that connections never take: the record, the index, files that are edited, fetches.
const KEPT_FROM_CONNECTIONS: usize = 128;

/// Makes room for the descriptors of as many connections as `config` allows, and raises the number
/// of open files to what the system lets this process have.
///
/// To be called before the process has threads, the runtime's included; later it has the same
/// effect but waits as described above. A system that refuses costs others those waits and
/// nothing else, so this does not fail.
pub fn make_room(config: &DaemonConfig) {
    raise_open_files();
    let open_files = getrlimit(Resource::Nofile).current;
    let last = last_descriptor(config.limits.connections, open_files);
    if let Err(error) = occupy(last) {
        tracing::debug!(%error, last, "no room made for descriptors; the system makes it later");
    }
}

/// Raises the number of open files that this process may have to the most that the system allows it.
/// A system that refuses leaves it as it is: then there are places for fewer connections.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit { current: limit.maximum, ..limit };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, current = ?limit.current, "the number of open files is not raised");
    }
}

/// Returns how many connections have a descriptor where a process may have `open_files` of them.
pub(crate) fn most_connections(open_files: Option<u64>) -> usize {
    let Some(open_files) = open_files else { return usize::MAX };
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    open_files.saturating_sub(KEPT_FROM_CONNECTIONS).max(open_files / 2)
}

/// The highest descriptor to make room for; `open_files` is how many the process may have.
fn last_descriptor(connections: usize, open_files: Option<u64>) -> usize {
    let allowed =
        open_files.map_or(MAX_DESCRIPTORS, |open| usize::try_from(open).unwrap_or(MAX_DESCRIPTORS));
    connections
        .saturating_add(OTHER_DESCRIPTORS)
        .min(allowed)
        .min(MAX_DESCRIPTORS)
        .saturating_sub(1)
}

/// Opens a descriptor no lower than `lowest` and closes it: the table stays as large.
fn occupy(lowest: usize) -> Result<(), Errno> {
    let lowest = lowest.try_into().map_err(|_| Errno::INVAL)?;
    fcntl_dupfd_cloexec(std::io::stderr(), lowest).map(drop)
}

#[cfg(test)]
mod tests;
