//! Bounds of a grant for runs and requests: programs with their subcommands in a folder, and hosts.
//!
//! Compared are the facts that the daemon found out by reading the command, so a grant holds whatever stands around
//! a program: variables, folders of the system, `cd`, pipes, quotes. What cannot be known before it runs has a code
//! and is in no such grant.

use super::GrantScope;
use crate::policy::PolicyFacts;
use crate::policy::facts::PolicyResource;

/// Most commands and hosts of one grant: nobody reads a longer sentence.
const MAX_NAMED: usize = 16;

/// The only code of a command that a grant may cover: its hosts are named, too.
pub(super) const REMOTE: &str = "remote";

/// Bounds of a run or of a request to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GrantReach {
    /// Runs of programs.
    Run(RunBounds),
    /// Requests to a port of the host that the grant is about, without secrets.
    Web {
        /// The port.
        port: u16,
    },
}

/// Bounds of a run. None covers what looks like a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunBounds {
    /// Programs with their first argument; `None` for whatever runs on the stage.
    pub(super) commands: Option<Vec<Box<str>>>,
    /// Hosts that it may reach.
    pub(super) hosts: Vec<Box<str>>,
    pub(super) place: RunPlace,
}

/// Place of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunPlace {
    /// Anywhere in this project.
    Project(Box<str>),
    /// Just this folder, outside of a project.
    Folder(Box<str>),
}

impl GrantReach {
    /// The bounds of a scope for what is asked; `None` where it has no such scope.
    pub(super) fn of(facts: &PolicyFacts, scope: GrantScope) -> Option<Self> {
        let effect = &facts.effect;
        if effect.keys || effect.fault.is_some() {
            return None;
        }
        match (facts.kind, &facts.resource) {
            ("exec", PolicyResource::Command { cwd, .. }) => {
                let mut hosts = facts.reach.hosts.clone();
                hosts.sort_unstable();
                hosts.dedup();
                let mut commands = effect.commands.clone();
                commands.sort_unstable();
                let is_short = commands.len() <= MAX_NAMED && hosts.len() <= MAX_NAMED;
                if !is_short || commands.is_empty() {
                    return None;
                }
                let place = match effect.inside {
                    true => RunPlace::Project(effect.project.clone()),
                    false => RunPlace::Folder(cwd.clone()?),
                };
                let is_plain = effect.code.iter().all(|code| &**code == REMOTE);
                let commands = match scope {
                    GrantScope::Command if is_plain => Some(commands),
                    GrantScope::Host if effect.staged && effect.inside && !hosts.is_empty() => None,
                    _ => return None,
                };
                Some(Self::Run(RunBounds { commands, hosts, place }))
            }
            ("net", PolicyResource::Host { port, .. }) => {
                let only_reads = matches!(facts.name.as_str(), "get" | "head");
                let is_bare = facts.reach.secrets.is_empty();
                (scope == GrantScope::Host && only_reads && is_bare)
                    .then_some(Self::Web { port: *port })
            }
            _ => None,
        }
    }

    /// Conditions of the permit.
    pub(super) fn conditions(&self) -> Vec<String> {
        let mut all = Vec::new();
        match self {
            Self::Web { port } => {
                all.push(format!("resource.port == {port}"));
                all.push("context.secrets.isEmpty()".to_owned());
            }
            Self::Run(run) => {
                all.push("!context.commands.isEmpty()".to_owned());
                if let Some(commands) = &run.commands {
                    all.push(format!("{}.containsAll(context.commands)", set(commands)));
                    all.push(format!("[\"{REMOTE}\"].containsAll(context.code)"));
                } else {
                    all.push("context.staged".to_owned());
                }
                all.push(match run.hosts.is_empty() {
                    true => "context.hosts.isEmpty()".to_owned(),
                    false => format!("{}.containsAll(context.hosts)", set(&run.hosts)),
                });
                match &run.place {
                    RunPlace::Project(project) => {
                        all.push("context.inside".to_owned());
                        all.push(format!("context.project == {}", quoted(project)));
                    }
                    RunPlace::Folder(folder) => {
                        all.push(format!("resource.folder == {}", quoted(folder)));
                    }
                }
            }
        }
        all.push("!context.keys".to_owned());
        all
    }

    /// Whether facts are within the bounds.
    pub(super) fn includes(&self, facts: &PolicyFacts) -> bool {
        let effect = &facts.effect;
        let is_within = match (self, &facts.resource) {
            (Self::Web { port }, PolicyResource::Host { port: there, .. }) => {
                port == there && facts.reach.secrets.is_empty()
            }
            (Self::Run(run), PolicyResource::Command { cwd, .. }) => {
                let is_named = match &run.commands {
                    Some(known) => {
                        effect.commands.iter().all(|it| known.contains(it))
                            && effect.code.iter().all(|code| &**code == REMOTE)
                    }
                    None => effect.staged,
                };
                let is_there = match &run.place {
                    RunPlace::Project(project) => effect.inside && effect.project == *project,
                    RunPlace::Folder(folder) => cwd.as_deref().unwrap_or_default() == &**folder,
                };
                let is_reached = facts.reach.hosts.iter().all(|host| run.hosts.contains(host));
                !effect.commands.is_empty() && is_named && is_there && is_reached
            }
            _ => false,
        };
        is_within && !effect.keys
    }

    /// Says the bounds, as the end of a sentence.
    pub(super) fn outline(&self) -> String {
        match self {
            Self::Web { port } => format!(", port {port}: any address there, without secrets"),
            Self::Run(run) => {
                let place = match &run.place {
                    RunPlace::Project(project) => format!(" in the project {project:?}"),
                    RunPlace::Folder(folder) => format!(" in the folder {folder:?}"),
                };
                let hosts = match run.hosts.is_empty() {
                    true => ", without network".to_owned(),
                    false => format!(", with no host but {}", listed(&run.hosts)),
                };
                format!("{place}{hosts}, and without files that look like keys")
            }
        }
    }

    /// Says what is run; `None` for a request.
    pub(super) fn what(&self) -> Option<String> {
        match self {
            Self::Web { .. } => None,
            Self::Run(RunBounds { commands: Some(commands), .. }) => {
                Some(format!("to run nothing but {}, with any arguments", listed(commands)))
            }
            Self::Run(_) => Some("to run any program on the stage".to_owned()),
        }
    }
}

fn set(all: &[Box<str>]) -> String {
    let all: Vec<String> = all.iter().map(|one| quoted(one)).collect();
    format!("[{}]", all.join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

fn listed(all: &[Box<str>]) -> String {
    let all: Vec<String> = all.iter().map(|one| format!("{one:?}")).collect();
    all.join(" and ")
}
