//! News of changes in the folder: names of files, or that everything must be read again. On Linux inotify tells,
//! folder by folder, since only folders that are read are watched; where there is no inotify, or no room for so many
//! folders, the folder is polled every few seconds.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Quiet time behind a change before it is read: editors write in several steps.
const QUIET_WAIT: Duration = Duration::from_millis(10);

/// Longest time for which a change waits for quiet.
const MAX_QUIET_WAIT: Duration = Duration::from_millis(40);

/// Settings of the watch on the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchSettings {
    /// Most folders that the system is asked to tell about; with more, the folder is looked at again and again.
    pub folders: usize,
    /// Interval between two polls.
    pub every: Duration,
}

impl Default for WatchSettings {
    fn default() -> WatchSettings {
        WatchSettings { folders: 65_536, every: Duration::from_secs(5) }
    }
}

/// Changed files over which everything is looked at instead.
const MAX_CHANGED_FILES: usize = 4096;

/// The word to stop, which a thread that waits can hear.
pub(super) struct StopBell(OwnedFd, OwnedFd);

impl StopBell {
    pub(super) fn new() -> io::Result<StopBell> {
        let (hear, ring) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(StopBell(hear, ring))
    }

    /// Says it. It stays said.
    pub(super) fn ring(&self) {
        // A pipe that is full has been rung.
        let _ = rustix::io::write(&self.1, b"!");
    }

    /// Waits so long; tells whether it was said.
    pub(super) fn wait(&self, most: Duration) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        ready(&mut fds, Some(most)).is_some_and(|ready| ready[0])
    }

    /// Tells whether it was said.
    pub(super) fn is_rung(&self) -> bool {
        self.wait(Duration::ZERO)
    }
}

/// Waits for the first of these descriptors; `None` when none is ready within the time.
fn ready(fds: &mut [PollFd<'_>], most: Option<Duration>) -> Option<Vec<bool>> {
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    match poll(fds, most.as_ref()) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
    }
}

/// News from the watched folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WatchEvent {
    /// These files changed, came or went.
    Files(Vec<String>),
    /// Anything may have changed.
    Anything,
    /// Nothing, for as long as was asked.
    Nothing,
    /// The folder itself is gone, or is another.
    Gone,
    /// The word to stop.
    Stop,
}

/// Changes that are gathered until there is quiet.
#[derive(Default)]
struct GatheredChanges {
    files: BTreeSet<String>,
    anything: bool,
    gone: bool,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl GatheredChanges {
    fn note(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Returns the wait for more news; `None` when there is none yet.
    fn wait(&self) -> Option<Duration> {
        let (first, last) = (self.first?, self.last?);
        let until = (last + QUIET_WAIT).min(first + MAX_QUIET_WAIT);
        Some(until.saturating_duration_since(Instant::now()))
    }

    fn into_event(self) -> WatchEvent {
        match self {
            GatheredChanges { gone: true, .. } => WatchEvent::Gone,
            GatheredChanges { anything: true, .. } => WatchEvent::Anything,
            GatheredChanges { files, .. } if files.len() > MAX_CHANGED_FILES => {
                WatchEvent::Anything
            }
            GatheredChanges { files, .. } => WatchEvent::Files(files.into_iter().collect()),
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use self::inotify::FolderWatch;

#[cfg(not(target_os = "linux"))]
pub(super) use self::polled::PolledFolderWatch as FolderWatch;

#[cfg(target_os = "linux")]
mod inotify {
    //! The system tells.

    use std::collections::{HashMap, HashSet};
    use std::ffi::{CStr, OsString};
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

    use super::io;
    use super::{
        Duration, GatheredChanges, Instant, OwnedFd, PollFd, PollFlags, StopBell, WatchEvent,
        WatchSettings, ready,
    };

    /// Bytes of events that are taken at once.
    const BUFFER_BYTES: usize = 16 << 10;

    /// The file of patterns: what it says changes everything.
    const IGNORE_FILE: &str = ".bridleignore";

    /// The folders that are watched.
    pub(in super::super) struct FolderWatch {
        events: OwnedFd,
        /// Their paths from the top, by number.
        folders: HashMap<i32, String>,
        paths: HashSet<String>,
        /// The folder above the top, and the name of the top in it.
        above: Option<(i32, OsString)>,
        watching: WatchSettings,
        /// Whether the system had no room for all of them.
        pub(in super::super) is_polling: bool,
        /// Time of the last full scan, if the folder is polled.
        polled: Instant,
    }

    impl FolderWatch {
        /// Watches the place of the top: while somebody holds it open, the system does not tell that it went.
        pub(in super::super) fn new(
            root: &Path,
            watching: WatchSettings,
        ) -> io::Result<FolderWatch> {
            let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let (folders, paths) = (HashMap::new(), HashSet::new());
            let mut watch = FolderWatch {
                events,
                folders,
                paths,
                above: None,
                watching,
                is_polling: false,
                polled: Instant::now(),
            };
            let (Some(above), Some(name)) = (root.parent(), root.file_name()) else {
                return Ok(watch);
            };
            let flags = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR;
            match inotify::add_watch(&watch.events, above, flags) {
                Ok(number) => watch.above = Some((number, name.to_owned())),
                Err(_) => watch.is_polling = true,
            }
            Ok(watch)
        }

        /// Whether an event is about the top in the folder above it.
        fn is_top(&self, number: i32, name: Option<&CStr>) -> bool {
            let above = self.above.as_ref().filter(|(above, _)| *above == number);
            above.zip(name).is_some_and(|((_, top), name)| top.as_bytes() == name.to_bytes())
        }

        /// Watches the folders of a list that are not watched yet; tells whether there were any.
        pub(in super::super) fn add(&mut self, root: &Path, folders: &[String]) -> bool {
            let flags = WatchFlags::CLOSE_WRITE
                | WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW
                | WatchFlags::EXCL_UNLINK;
            let mut is_new = false;
            for folder in folders {
                if self.paths.contains(folder) {
                    continue;
                }
                if self.folders.len() >= self.watching.folders {
                    self.is_polling = true;
                    break;
                }
                match inotify::add_watch(&self.events, root.join(folder), flags) {
                    Ok(number) => {
                        is_new = true;
                        self.folders.insert(number, folder.clone());
                        self.paths.insert(folder.clone());
                    }
                    // A folder that is gone again is no reason to poll.
                    Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                    Err(_) => self.is_polling = true,
                }
            }
            is_new
        }

        /// Waits for changes, or for so long.
        pub(in super::super) fn wait(
            &mut self,
            bell: &StopBell,
            most: Option<Duration>,
        ) -> WatchEvent {
            let most = match self.is_polling {
                true => {
                    let left = self.watching.every.saturating_sub(self.polled.elapsed());
                    Some(most.map_or(left, |most| most.min(left)))
                }
                false => most,
            };
            let mut gathered = GatheredChanges::default();
            loop {
                let quiet = gathered.wait();
                if quiet == Some(Duration::ZERO) {
                    return gathered.into_event();
                }
                let mut fds =
                    [PollFd::new(&bell.0, PollFlags::IN), PollFd::new(&self.events, PollFlags::IN)];
                match (ready(&mut fds, quiet.or(most)).as_deref(), quiet) {
                    (Some([true, _]), _) => return WatchEvent::Stop,
                    (Some(_), _) => self.take(&mut gathered),
                    (None, Some(_)) => return gathered.into_event(),
                    (None, None)
                        if self.is_polling && self.polled.elapsed() >= self.watching.every =>
                    {
                        self.polled = Instant::now();
                        return WatchEvent::Anything;
                    }
                    (None, None) => return WatchEvent::Nothing,
                }
            }
        }

        /// Takes the events that there are.
        fn take(&mut self, gathered: &mut GatheredChanges) {
            let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
            let mut reader = inotify::Reader::new(&self.events, &mut buffer);
            let mut lost = Vec::new();
            while let Ok(event) = reader.next() {
                let (flags, name) = (event.events(), event.file_name());
                if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                    gathered.anything = true;
                    gathered.note();
                    continue;
                }
                if self.is_top(event.wd(), name) {
                    gathered.gone = true;
                    gathered.note();
                    continue;
                }
                let Some(folder) = self.folders.get(&event.wd()) else { continue };
                let is_self = flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF);
                if is_self || flags.contains(ReadFlags::IGNORED) {
                    gathered.gone |= folder.is_empty();
                    gathered.anything = true;
                    gathered.note();
                    lost.push(event.wd());
                    continue;
                }
                let Some(Ok(name)) = name.map(|name| name.to_str()) else { continue };
                if name == IGNORE_FILE && folder.is_empty() {
                    gathered.anything = true;
                    gathered.note();
                } else if !name.starts_with('.') {
                    let is_folder = flags.contains(ReadFlags::ISDIR);
                    // What is inside of a folder that came or went is only known by looking.
                    gathered.anything |= is_folder && !flags.contains(ReadFlags::ATTRIB);
                    if !is_folder {
                        gathered.files.insert(match folder.as_str() {
                            "" => name.to_owned(),
                            folder => format!("{folder}/{name}"),
                        });
                    }
                    gathered.note();
                }
            }
            for number in lost {
                // The system counts on: a folder that comes back gets another number.
                let _ = inotify::remove_watch(&self.events, number);
                if let Some(path) = self.folders.remove(&number) {
                    self.paths.remove(&path);
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod polled {
    //! The folder is looked at again and again.

    use std::io;
    use std::path::Path;

    use super::{Duration, Instant, StopBell, WatchEvent, WatchSettings};

    /// Nothing is watched.
    pub(in super::super) struct PolledFolderWatch {
        watching: WatchSettings,
        pub(in super::super) is_polling: bool,
        polled: Instant,
    }

    impl PolledFolderWatch {
        pub(in super::super) fn new(
            _: &Path,
            watching: WatchSettings,
        ) -> io::Result<PolledFolderWatch> {
            Ok(PolledFolderWatch { watching, is_polling: true, polled: Instant::now() })
        }

        pub(in super::super) fn add(&mut self, _: &Path, _: &[String]) -> bool {
            false
        }

        pub(in super::super) fn wait(
            &mut self,
            bell: &StopBell,
            most: Option<Duration>,
        ) -> WatchEvent {
            let left = self.watching.every.saturating_sub(self.polled.elapsed());
            if bell.wait(most.map_or(left, |most| most.min(left))) {
                return WatchEvent::Stop;
            }
            if self.polled.elapsed() < self.watching.every {
                return WatchEvent::Nothing;
            }
            self.polled = Instant::now();
            WatchEvent::Anything
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
