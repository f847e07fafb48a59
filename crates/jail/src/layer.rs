//! The three layers and what each promises, as data: `doctor`, outcomes and questions print it, and
//! a run that demands a promise is refused where it is not held. `docs/sandbox.md` has the prose. One
//! function is long: it has an arm for each promise.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Strength of the jail, by how it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JailLayer {
    /// Namespaces and an overlay at the same path.
    Full,
    /// Landlock and seccomp alone; the stage is another folder.
    Copy,
    /// Daemon of root: an unused uid, and a copy that it owns.
    Root,
}

impl fmt::Display for JailLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JailLayer::Full => "full",
            JailLayer::Copy => "copy",
            JailLayer::Root => "root",
        })
    }
}

/// One thing that a jail may promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JailPromise {
    /// Contents of files outside the roots cannot be read.
    ReadsConfined,
    /// Files outside the roots cannot be written, made, deleted, renamed.
    WritesConfined,
    /// Names, modes and times of files outside the roots cannot be seen or changed.
    MetadataConfined,
    /// Writes under any name of the project reach the stage, never the project.
    WritesStaged,
    /// The project has its own path inside.
    PathsKept,
    /// Other processes cannot be seen, signalled, traced.
    ProcessesHidden,
    /// Signals reach nothing outside.
    SignalsConfined,
    /// No byte reaches the network unless granted.
    NetworkOff,
    /// Granted network is confined to hosts by name.
    HostsByName,
    /// Sockets of other programs on this machine cannot be reached.
    LocalSocketsClosed,
    /// Terminal of the user cannot be written to or typed into.
    TerminalClosed,
    /// Rarely used doors of the kernel are closed (tracing, keys, io_uring, mounts, modules).
    KernelDoorsClosed,
    /// No more rights by setuid programs or file capabilities.
    RightsFixed,
    /// All descendants end with the run, also those that left its process group.
    DescendantsEnd,
    /// The run ends when the daemon dies, however it dies.
    EndsWithDaemon,
    /// Number of processes is bounded.
    ProcessesBounded,
    /// Memory of one process is bounded.
    MemoryBounded,
    /// Memory of the whole run is bounded.
    MemoryBoundedTogether,
}

/// All promises, in the order in which they are printed.
pub(crate) const PROMISES: [JailPromise; 18] = [
    JailPromise::ReadsConfined,
    JailPromise::WritesConfined,
    JailPromise::MetadataConfined,
    JailPromise::WritesStaged,
    JailPromise::PathsKept,
    JailPromise::ProcessesHidden,
    JailPromise::SignalsConfined,
    JailPromise::NetworkOff,
    JailPromise::HostsByName,
    JailPromise::LocalSocketsClosed,
    JailPromise::TerminalClosed,
    JailPromise::KernelDoorsClosed,
    JailPromise::RightsFixed,
    JailPromise::DescendantsEnd,
    JailPromise::EndsWithDaemon,
    JailPromise::ProcessesBounded,
    JailPromise::MemoryBounded,
    JailPromise::MemoryBoundedTogether,
];

impl JailPromise {
    /// Sentence for people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            JailPromise::ReadsConfined => "files outside its folders cannot be read",
            JailPromise::WritesConfined => "files outside its folders cannot be changed",
            JailPromise::MetadataConfined => {
                "names, modes and times of other files cannot be seen or changed"
            }
            JailPromise::WritesStaged => {
                "changes to the project wait for approval, whatever path is used"
            }
            JailPromise::PathsKept => "the project has its usual path inside",
            JailPromise::ProcessesHidden => "other programs cannot be seen or traced",
            JailPromise::SignalsConfined => "other programs cannot be sent signals",
            JailPromise::NetworkOff => "the network is closed unless granted",
            JailPromise::HostsByName => "granted network reaches the granted hosts alone",
            JailPromise::LocalSocketsClosed => "sockets of other programs cannot be reached",
            JailPromise::TerminalClosed => "the terminal cannot be typed into",
            JailPromise::KernelDoorsClosed => "rarely used doors of the kernel are closed",
            JailPromise::RightsFixed => "no program gains rights",
            JailPromise::DescendantsEnd => "everything that was started ends with the run",
            JailPromise::EndsWithDaemon => "the run ends when the daemon dies",
            JailPromise::ProcessesBounded => "the number of processes is bounded",
            JailPromise::MemoryBounded => "the memory of each process is bounded",
            JailPromise::MemoryBoundedTogether => "the memory of the whole run is bounded",
        }
    }
}

impl fmt::Display for JailPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JailPromise::ReadsConfined => "reads-confined",
            JailPromise::WritesConfined => "writes-confined",
            JailPromise::MetadataConfined => "metadata-confined",
            JailPromise::WritesStaged => "writes-staged",
            JailPromise::PathsKept => "paths-kept",
            JailPromise::ProcessesHidden => "processes-hidden",
            JailPromise::SignalsConfined => "signals-confined",
            JailPromise::NetworkOff => "network-off",
            JailPromise::HostsByName => "hosts-by-name",
            JailPromise::LocalSocketsClosed => "local-sockets-closed",
            JailPromise::TerminalClosed => "terminal-closed",
            JailPromise::KernelDoorsClosed => "kernel-doors-closed",
            JailPromise::RightsFixed => "rights-fixed",
            JailPromise::DescendantsEnd => "descendants-end",
            JailPromise::EndsWithDaemon => "ends-with-daemon",
            JailPromise::ProcessesBounded => "processes-bounded",
            JailPromise::MemoryBounded => "memory-bounded",
            JailPromise::MemoryBoundedTogether => "memory-bounded-together",
        })
    }
}

/// Mechanisms that the probe found, each tried and not only looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// Version of Landlock; 0 is none.
    pub landlock_abi: u32,
    /// Filters of system calls can be installed.
    pub seccomp: bool,
    /// User, mount, pid, network and IPC namespaces can be made, and `/proc` mounted in them.
    pub namespaces: bool,
    /// Overlay mounts work inside them.
    pub overlay: bool,
    /// Folder of a cgroup (version 2) that this user may divide, with its memory controller.
    pub cgroup: bool,
    /// The prober is root.
    pub root: bool,
    /// Reasons of what is missing, a sentence each.
    pub reasons: Vec<String>,
}

/// One promise, and whether it is held here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseState {
    /// Promise in question.
    pub promise: JailPromise,
    /// Held by the layer in force.
    pub held: bool,
    /// Mechanism that holds it, or reason why it is not held.
    pub because: String,
}

/// Layer in force with its promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailCapabilities {
    /// Facts that the probe found.
    pub facts: KernelFacts,
    /// Layer in force; `None` lets no program run.
    pub layer: Option<JailLayer>,
    /// Every promise with its state.
    pub promises: Vec<PromiseState>,
}

/// Lowest version of Landlock that a layer is built on: it confines truncation.
pub(crate) const MIN_LANDLOCK_ABI: u32 = 3;

impl JailCapabilities {
    /// Chooses the layer that the facts allow.
    #[must_use]
    pub fn from_facts(facts: KernelFacts) -> JailCapabilities {
        let base = facts.landlock_abi >= MIN_LANDLOCK_ABI && facts.seccomp;
        let layer = match (base, facts.root, facts.namespaces && facts.overlay) {
            (false, _, _) => None,
            (true, true, _) => Some(JailLayer::Root),
            (true, false, true) => Some(JailLayer::Full),
            (true, false, false) => Some(JailLayer::Copy),
        };
        let promises = PROMISES
            .iter()
            .map(|&promise| {
                let (held, because) = judge(promise, layer, &facts);
                PromiseState { promise, held, because: because.to_owned() }
            })
            .collect();
        JailCapabilities { facts, layer, promises }
    }

    /// State of one promise.
    #[must_use]
    pub fn state(&self, promise: JailPromise) -> Option<&PromiseState> {
        self.promises.iter().find(|state| state.promise == promise)
    }

    /// Mechanisms whose lack leaves no layer, in words.
    #[must_use]
    pub fn missing(&self) -> String {
        let mut missing = Vec::new();
        if self.facts.landlock_abi < MIN_LANDLOCK_ABI {
            missing.push(format!(
                "Landlock (version {MIN_LANDLOCK_ABI} or later, got {})",
                self.facts.landlock_abi
            ));
        }
        if !self.facts.seccomp {
            missing.push("seccomp filters".to_owned());
        }
        missing.join(" and ")
    }
}

/// Whether a promise is held, and by what or why not.
fn judge(
    promise: JailPromise,
    layer: Option<JailLayer>,
    facts: &KernelFacts,
) -> (bool, &'static str) {
    let Some(layer) = layer else {
        return (false, "no program runs");
    };
    // A daemon of root makes the namespaces itself, and then gives its rights away.
    let apart = facts.namespaces && layer != JailLayer::Copy;
    let with_namespaces =
        |mechanism, reason| if apart { (true, mechanism) } else { (false, reason) };
    let scoped = facts.landlock_abi >= 6;
    match promise {
        JailPromise::ReadsConfined | JailPromise::WritesConfined => (true, "Landlock"),
        JailPromise::MetadataConfined => with_namespaces(
            "mount namespace: nothing else is there",
            "Landlock does not confine stat, chmod, chown and times",
        ),
        JailPromise::WritesStaged => match layer {
            JailLayer::Full => (true, "overlay at the same path"),
            JailLayer::Root if apart => (true, "copy at the same path"),
            _ => (true, "the project itself is not writable; a command that names its path fails"),
        },
        JailPromise::PathsKept => with_namespaces("mount namespace", "the stage is another folder"),
        JailPromise::ProcessesHidden => match layer {
            JailLayer::Root if !apart => (true, "another uid, and no tracing"),
            _ => with_namespaces("pid namespace", "programs of the same user are seen in /proc"),
        },
        JailPromise::SignalsConfined => match layer {
            JailLayer::Root => (true, "another uid"),
            _ if apart => (true, "pid namespace"),
            _ if scoped => (true, "Landlock"),
            _ => (false, "Landlock confines signals from version 6 on"),
        },
        JailPromise::NetworkOff => {
            (true, if apart { "network namespace" } else { "filter of system calls" })
        }
        JailPromise::HostsByName => with_namespaces(
            "network namespace with a proxy as its only door",
            "Landlock knows ports, not hosts",
        ),
        JailPromise::LocalSocketsClosed => (
            true,
            if apart { "namespaces, overlay over read folders" } else { "filter of system calls" },
        ),
        JailPromise::TerminalClosed => (true, "session of its own, filter of system calls"),
        JailPromise::KernelDoorsClosed => (true, "filter of system calls"),
        JailPromise::RightsFixed => (true, "no-new-privs"),
        JailPromise::DescendantsEnd => {
            if apart {
                (true, "pid namespace")
            } else {
                (true, "adopted by the supervisor, which ends them one by one")
            }
        }
        JailPromise::EndsWithDaemon => {
            if apart {
                (true, "pid namespace; ends even if the supervisor is killed")
            } else {
                (true, "supervisor at the daemon's line; not if it is killed at the same time")
            }
        }
        JailPromise::ProcessesBounded | JailPromise::MemoryBounded => (true, "rlimits"),
        JailPromise::MemoryBoundedTogether => {
            (false, "the memory controller of a cgroup is not used")
        }
    }
}
