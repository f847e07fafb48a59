//! `cargo xtask layers`: which crate may depend on which, checked from `cargo metadata`. The rules are
//! the table [`RULES`]; `docs/architecture.md` says why they are so. A crate without a row fails, so a
//! new crate states its rule on its first day. Dependencies of tests alone are judged by their own
//! column; what a crate pulls in through others counts as much as what it names. `layers/modules` does the same for
//! the top modules of the daemon, `layers/cycles` looks for cycles among modules, `layers/type_size` counts the
//! fields and methods of the daemon's types.

mod cycles;
mod modules;
mod source_paths;
mod type_size;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::console::{ProgramRun, VerbConsole};

pub(crate) const HELP: &str = "\
usage: cargo xtask layers

Checks the dependencies of every workspace crate, and of the daemon's modules, against the tables in
xtask/src/layers.rs and xtask/src/layers; finds cycles among modules, types of the daemon that have grown too
large, and commands without a daemon that name its runtime.";

/// Dependencies that one crate may have.
struct LayerRule {
    name: &'static str,
    /// Workspace crates it may use.
    rooms: &'static [&'static str],
    /// Workspace crates its tests may use besides.
    test_rooms: &'static [&'static str],
    outside: OutsideRule,
}

/// Dependencies from crates.io, direct or through others; those of tests excepted.
enum OutsideRule {
    /// Only these.
    Only(&'static [&'static str]),
    /// Anything but these.
    Without(&'static [&'static str]),
    /// Anything but the first, of which the second are let in again.
    WithoutBut(&'static [&'static str], &'static [&'static str]),
}

/// Crates that do IO or keep tasks: no place for them in a crate that is pure.
const RUNTIMES: &[&str] = &[
    "tokio",
    "tokio-util",
    "mio",
    "socket2",
    "rustix",
    "nix",
    "async-std",
    "smol",
    "futures-executor",
    "rand",
    "getrandom",
    "chrono",
    "time",
    "reqwest",
    "hyper",
    "clap",
];

/// Crates that the policy engine brings along and `RUNTIMES` has: `chrono` is built without its clock, to
/// calculate with dates that a policy names; `time` is named by the lock file and never built.
const CEDAR: &[&str] = &["chrono", "time"];

const RULES: &[LayerRule] = &[
    LayerRule {
        name: "bridle-sexp",
        rooms: &[],
        test_rooms: &[],
        outside: OutsideRule::Only(&["memchr"]),
    },
    LayerRule {
        name: "bridle-wire",
        rooms: &["bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(RUNTIMES),
    },
    LayerRule {
        name: "bridle-record",
        rooms: &["bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["tokio", "tokio-util", "mio", "clap", "anyhow"]),
    },
    LayerRule {
        name: "bridle-memex",
        // The record for its hashes and the databases beside it; the loop and the host for the actuator.
        rooms: &["bridle-host", "bridle-loop", "bridle-org", "bridle-record", "bridle-sexp"],
        test_rooms: &[],
        // The host's futures need a runtime; nothing here makes or names one.
        outside: OutsideRule::Without(&["clap", "anyhow"]),
    },
    LayerRule {
        name: "bridle-loop",
        rooms: &["bridle-org", "bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::WithoutBut(RUNTIMES, CEDAR),
    },
    LayerRule {
        name: "bridle-org",
        rooms: &["bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Only(&["memchr"]),
    },
    LayerRule {
        name: "bridle-lisp",
        rooms: &["bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(RUNTIMES),
    },
    LayerRule {
        // Text in, values out: files, the clock and the effects are the host's.
        name: "bridle-skill",
        rooms: &["bridle-lisp", "bridle-org", "bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(RUNTIMES),
    },
    LayerRule {
        // Skills of a home: files, threads, processes in the jail; no protocol.
        name: "bridle-skill-host",
        rooms: &["bridle-host", "bridle-jail", "bridle-loop", "bridle-sexp", "bridle-skill"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["clap", "toml", "anyhow"]),
    },
    LayerRule {
        // Bytes in, bytes out: who sends them, with which key, is the host's.
        name: "bridle-models",
        rooms: &["bridle-org", "bridle-sexp"],
        test_rooms: &["bridle-skill"],
        outside: OutsideRule::Without(RUNTIMES),
    },
    LayerRule {
        // May use tokio, never the wire.
        name: "bridle-host",
        rooms: &["bridle-loop", "bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["clap", "toml", "anyhow"]),
    },
    LayerRule {
        // The jail carries out, the loop has decided; no record, no daemon.
        name: "bridle-effects",
        rooms: &["bridle-host", "bridle-jail", "bridle-loop", "bridle-sexp"],
        test_rooms: &[],
        // The host's futures need a runtime; nothing here makes one.
        outside: OutsideRule::Without(&["axum", "clap", "toml", "anyhow"]),
    },
    LayerRule {
        // Sockets, keys and clocks for models; knows neither the wire nor the record.
        name: "bridle-inference",
        rooms: &["bridle-host", "bridle-loop", "bridle-models", "bridle-org", "bridle-sexp"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["axum", "clap", "toml", "anyhow"]),
    },
    LayerRule {
        // The thinker behind which the models are: prompts, tools, providers in force; no wire, no daemon.
        name: "bridle-model-host",
        rooms: &[
            "bridle-host",
            "bridle-inference",
            "bridle-loop",
            "bridle-memex",
            "bridle-models",
            "bridle-org",
            "bridle-sexp",
        ],
        test_rooms: &[],
        outside: OutsideRule::Without(&["axum", "clap", "toml", "anyhow"]),
    },
    LayerRule {
        // Reads the record while a daemon may write it; nothing in it waits.
        name: "bridle-history",
        rooms: &["bridle-loop", "bridle-record", "bridle-sexp", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&[
            "tokio",
            "tokio-util",
            "mio",
            "axum",
            "clap",
            "toml",
            "anyhow",
        ]),
    },
    LayerRule {
        name: "bridle-daemon",
        rooms: &[
            "bridle-effects",
            "bridle-history",
            "bridle-host",
            "bridle-jail",
            "bridle-loop",
            "bridle-inference",
            "bridle-memex",
            "bridle-model-host",
            "bridle-org",
            "bridle-record",
            "bridle-sexp",
            "bridle-skill-host",
            "bridle-wire",
        ],
        test_rooms: &["bridle-test-support"],
        outside: OutsideRule::Without(&["clap", "toml", "anyhow"]),
    },
    LayerRule {
        // A face like the others: it knows the protocol and blocks.
        name: "bridle-acp",
        rooms: &["bridle-sexp", "bridle-shell", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["tokio", "tokio-util", "mio", "clap", "toml", "anyhow"]),
    },
    LayerRule {
        // The terminal: what it knows of the engine comes over the wire.
        name: "bridle-chat",
        rooms: &["bridle-sexp", "bridle-shell", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["tokio", "tokio-util", "clap", "toml", "anyhow"]),
    },
    LayerRule {
        name: "bridle-shell",
        rooms: &["bridle-sexp", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["tokio", "tokio-util", "mio", "anyhow"]),
    },
    LayerRule {
        name: "bridle-conform",
        // Of the shell: its address and its socket, nothing that reads or writes a message.
        rooms: &["bridle-sexp", "bridle-shell", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["tokio", "tokio-util", "mio", "anyhow"]),
    },
    LayerRule {
        // Threads may block; what it knows of the product is nothing.
        name: "bridle-jail",
        rooms: &[],
        test_rooms: &[],
        outside: OutsideRule::Without(&[
            "tokio",
            "tokio-util",
            "mio",
            "axum",
            "clap",
            "toml",
            "anyhow",
        ]),
    },
    LayerRule {
        name: "bridle",
        // The language of policies is the loop's; the file that a grant is written to is Org.
        rooms: &[
            "bridle-acp",
            "bridle-chat",
            "bridle-conform",
            "bridle-daemon",
            "bridle-history",
            "bridle-jail",
            "bridle-lisp",
            "bridle-loop",
            // The commands of the memory, which need no daemon; tests write the records that the others read.
            "bridle-memex",
            // Providers are added and tried out without a daemon.
            "bridle-inference",
            "bridle-model-host",
            "bridle-models",
            "bridle-org",
            "bridle-record",
            "bridle-sexp",
            "bridle-shell",
            // `skill check` and `skill test` need no daemon.
            "bridle-skill",
            "bridle-skill-host",
            "bridle-wire",
        ],
        test_rooms: &["bridle-test-support"],
        outside: OutsideRule::Without(&[]),
    },
    LayerRule {
        // For tests alone: starts daemons and drives them.
        name: "bridle-test-support",
        rooms: &["bridle-daemon", "bridle-history", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&["clap", "toml", "anyhow"]),
    },
    LayerRule {
        name: "xtask",
        rooms: &["bridle-lisp", "bridle-models", "bridle-org", "bridle-sexp", "bridle-wire"],
        test_rooms: &[],
        outside: OutsideRule::Without(&[]),
    },
];

pub(crate) fn run(arguments: &[String], console: &VerbConsole) -> Result<()> {
    if !arguments.is_empty() {
        bail!("unexpected arguments `{}`\n\n{HELP}", arguments.join(" "));
    }
    let text = ProgramRun::cargo(["metadata", "--format-version", "1", "--locked"]).stdout()?;
    let metadata = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let graph = DependencyGraph::from_metadata(&metadata)?;
    let mut violations = check(&graph);
    let (module_edges, forbidden) = modules::check_daemon(crate::console::root())?;
    violations.extend(forbidden);
    let (folders, found) = cycles::check_crates()?;
    violations.extend(found);
    let (types, found) = type_size::check_daemon()?;
    violations.extend(found);
    violations.extend(modules::check_commands(crate::console::root())?);
    if violations.is_empty() {
        console.say(format!(
            "layers: {} crates and {module_edges} module edges of the daemon, all allowed; no unknown cycle in \
             {folders} folders; {types} types of the daemon",
            graph.members.len()
        ));
        return Ok(());
    }
    bail!("layers: {} findings\n  {}", violations.len(), violations.join("\n  "))
}

/// Dependencies of the workspace, by package id.
struct DependencyGraph {
    members: BTreeSet<String>,
    names: BTreeMap<String, String>,
    /// Normal and build dependencies.
    normal: BTreeMap<String, BTreeSet<String>>,
    /// Dependencies of tests alone.
    dev: BTreeMap<String, BTreeSet<String>>,
}

impl DependencyGraph {
    fn from_metadata(metadata: &Value) -> Result<Self> {
        let mut graph = Self {
            members: strings(&metadata["workspace_members"])?.collect(),
            names: BTreeMap::new(),
            normal: BTreeMap::new(),
            dev: BTreeMap::new(),
        };
        for package in array(&metadata["packages"])? {
            graph.names.insert(text(&package["id"])?, text(&package["name"])?);
        }
        for node in array(&metadata["resolve"]["nodes"])? {
            let id = text(&node["id"])?;
            for dependency in array(&node["deps"])? {
                let target = text(&dependency["pkg"])?;
                for kind in array(&dependency["dep_kinds"])? {
                    let edges =
                        if kind["kind"] == "dev" { &mut graph.dev } else { &mut graph.normal };
                    edges.entry(id.clone()).or_default().insert(target.clone());
                }
            }
        }
        Ok(graph)
    }

    fn name<'g>(&'g self, id: &'g str) -> &'g str {
        self.names.get(id).map_or(id, String::as_str)
    }

    fn direct<'g>(
        edges: &'g BTreeMap<String, BTreeSet<String>>,
        id: &str,
    ) -> impl Iterator<Item = &'g String> {
        edges.get(id).into_iter().flatten()
    }

    /// Everything `id` pulls in from outside the workspace, by whatever road, with one such road.
    fn outside(&self, id: &str) -> BTreeMap<String, String> {
        let mut roads = BTreeMap::new();
        let mut open: Vec<(&String, String)> =
            Self::direct(&self.normal, id).map(|next| (next, self.name(id).to_owned())).collect();
        while let Some((next, road)) = open.pop() {
            if roads.contains_key(next) {
                continue;
            }
            let road = format!("{road} -> {}", self.name(next));
            roads.insert(next.clone(), road.clone());
            open.extend(Self::direct(&self.normal, next).map(|after| (after, road.clone())));
        }
        roads.retain(|id, _| !self.members.contains(id));
        roads
    }
}

/// Every edge that no rule allows, as a sentence.
fn check(graph: &DependencyGraph) -> Vec<String> {
    let mut violations = Vec::new();
    for id in &graph.members {
        let name = graph.name(id);
        let Some(rule) = RULES.iter().find(|rule| rule.name == name) else {
            violations.push(format!("`{name}` has no rule: add a row to xtask/src/layers.rs"));
            continue;
        };
        for next in
            DependencyGraph::direct(&graph.normal, id).filter(|next| graph.members.contains(*next))
        {
            let next = graph.name(next);
            if !rule.rooms.contains(&next) {
                violations.push(format!("`{name}` may not use `{next}`"));
            }
        }
        for next in
            DependencyGraph::direct(&graph.dev, id).filter(|next| graph.members.contains(*next))
        {
            let next = graph.name(next);
            if next != name && !rule.rooms.contains(&next) && !rule.test_rooms.contains(&next) {
                violations.push(format!("tests of `{name}` may not use `{next}`"));
            }
        }
        for (next, road) in graph.outside(id) {
            let next = graph.name(&next);
            let allowed = match rule.outside {
                OutsideRule::Only(list) => list.contains(&next),
                OutsideRule::Without(list) => !list.contains(&next),
                OutsideRule::WithoutBut(list, but) => !list.contains(&next) || but.contains(&next),
            };
            if !allowed {
                violations.push(format!("`{name}` may not pull in `{next}`: {road}"));
            }
        }
    }
    violations
}

fn array(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("cargo metadata: expected an array")
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("cargo metadata: expected a string")
}

fn strings(value: &Value) -> Result<impl Iterator<Item = String>> {
    Ok(array(value)?.iter().filter_map(Value::as_str).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{DependencyGraph, Value, check};

    /// `(from, to, kind)`; packages named `bridle*` or `xtask` are members.
    fn violations(edges: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let mut names: Vec<&str> = edges.iter().flat_map(|edge| [edge.0, edge.1]).collect();
        names.sort_unstable();
        names.dedup();
        let members: Vec<&&str> =
            names.iter().filter(|name| name.starts_with("bridle") || **name == "xtask").collect();
        let packages: Vec<Value> =
            names.iter().map(|name| json!({"id": name, "name": name})).collect();
        let nodes: Vec<Value> = names
            .iter()
            .map(|name| {
                let deps: Vec<Value> = edges
                    .iter()
                    .filter(|edge| edge.0 == *name)
                    .map(|edge| json!({"pkg": edge.1, "dep_kinds": [{"kind": edge.2}]}))
                    .collect();
                json!({"id": name, "deps": deps})
            })
            .collect();
        let metadata = json!({
            "workspace_members": members, "packages": packages, "resolve": {"nodes": nodes},
        });
        check(&DependencyGraph::from_metadata(&metadata).unwrap())
    }

    #[test]
    fn edges_of_the_table_pass() {
        let edges = [
            ("bridle-sexp", "memchr", None),
            ("bridle-wire", "bridle-sexp", None),
            ("bridle-wire", "hmac", None),
            ("bridle-daemon", "bridle-wire", None),
            ("bridle-daemon", "tokio", None),
            ("bridle", "bridle-daemon", None),
        ];
        assert_eq!(violations(&edges), Vec::<String>::new());
    }

    #[test]
    fn a_face_may_not_know_the_daemon() {
        let found = violations(&[("bridle-shell", "bridle-daemon", None)]);
        assert_eq!(found, ["`bridle-shell` may not use `bridle-daemon`"]);
    }

    #[test]
    fn a_runtime_is_found_behind_another_crate() {
        let found = violations(&[("bridle-wire", "handy", None), ("handy", "tokio", None)]);
        assert_eq!(found, ["`bridle-wire` may not pull in `tokio`: bridle-wire -> handy -> tokio"]);
    }

    #[test]
    fn the_data_language_takes_nothing_but_memchr() {
        let found = violations(&[("bridle-sexp", "serde", None)]);
        assert_eq!(found, ["`bridle-sexp` may not pull in `serde`: bridle-sexp -> serde"]);
    }

    #[test]
    fn what_the_policy_engine_brings_is_for_the_loop_alone() {
        let edges = |name| [(name, "engine", None), ("engine", "chrono", None)];
        assert_eq!(violations(&edges("bridle-loop")), Vec::<String>::new());
        let found = violations(&edges("bridle-wire"));
        assert_eq!(
            found,
            ["`bridle-wire` may not pull in `chrono`: bridle-wire -> engine -> chrono"]
        );
        let found = violations(&[("bridle-loop", "engine", None), ("engine", "getrandom", None)]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn tests_are_judged_apart() {
        assert_eq!(violations(&[("bridle-sexp", "proptest", Some("dev"))]), Vec::<String>::new());
        let found = violations(&[("bridle-sexp", "bridle-wire", Some("dev"))]);
        assert_eq!(found, ["tests of `bridle-sexp` may not use `bridle-wire`"]);
    }

    #[test]
    fn a_build_script_counts_as_the_crate() {
        let found = violations(&[("bridle-sexp", "cc", Some("build"))]);
        assert_eq!(found, ["`bridle-sexp` may not pull in `cc`: bridle-sexp -> cc"]);
    }

    #[test]
    fn a_crate_without_a_rule_fails() {
        let found = violations(&[("bridle-new", "memchr", None)]);
        assert_eq!(found, ["`bridle-new` has no rule: add a row to xtask/src/layers.rs"]);
    }
}
