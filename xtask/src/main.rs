//! The task runner: `cargo xtask VERB`. One file per verb; this one holds the table of verbs and the
//! dispatch. What CI runs, `cargo xtask ci` runs. Not part of the product: nothing depends on it.

mod acp;
mod bench;
mod chaos;
mod chat;
mod ci;
mod clients;
mod console;
mod crowd;
mod emacs;
mod fuzz;
mod jail;
mod layers;
mod memory;
mod metrics;
mod models;
mod peers;
mod privacy;
mod schema_diff;
mod schemathesis;
mod setup;
mod siege;
mod tidy;
mod tour;
mod turns;
mod vectors;

use std::process::ExitCode;

use anyhow::{Result, bail};
use console::VerbConsole;

/// One verb: its name, what `--help` says, and what it does.
struct TaskVerb {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String], &VerbConsole) -> Result<()>,
}

const VERBS: &[TaskVerb] = &[
    TaskVerb {
        name: "ci",
        summary: "everything that must hold before a change lands",
        help: ci::HELP,
        run: ci::run,
    },
    TaskVerb {
        name: "setup",
        summary: "install the peers and tools that ci needs",
        help: setup::HELP,
        run: setup::run,
    },
    TaskVerb {
        name: "tidy",
        summary: "house style: headers, lengths, links, vectors",
        help: tidy::HELP,
        run: tidy::run,
    },
    TaskVerb {
        name: "limits",
        summary: "write docs/limits-constants.md from the code",
        help: tidy::limits::HELP,
        run: tidy::limits::run,
    },
    TaskVerb {
        name: "jail",
        summary: "attempts to break out, programs over a stage, kills of a commit, a soak",
        help: jail::HELP,
        run: jail::run,
    },
    TaskVerb {
        name: "tour",
        summary: "docs/tour.md names files that a traced request passes",
        help: tour::HELP,
        run: tour::run,
    },
    TaskVerb {
        name: "layers",
        summary: "which crate may depend on which",
        help: layers::HELP,
        run: layers::run,
    },
    TaskVerb {
        name: "memory",
        summary: "an agent and a user edit the same files at the same time",
        help: memory::HELP,
        run: memory::run,
    },
    TaskVerb {
        name: "privacy",
        summary: "strangers ask for what is hidden, and for what is not there",
        help: privacy::HELP,
        run: privacy::run,
    },
    TaskVerb {
        name: "vectors",
        summary: "run the vectors in Rust, SBCL, Emacs and Python",
        help: vectors::HELP,
        run: vectors::run,
    },
    TaskVerb {
        name: "peers",
        summary: "record what real peers do with the vectors",
        help: peers::HELP,
        run: peers::run,
    },
    TaskVerb {
        name: "clients",
        summary: "test the Python and TypeScript clients, also against the daemon",
        help: clients::HELP,
        run: clients::run,
    },
    TaskVerb {
        name: "models",
        summary: "requests and answers of models, with real servers and the vendors' own clients",
        help: models::HELP,
        run: models::run,
    },
    TaskVerb {
        name: "acp",
        summary: "official client libraries drive the agent for editors; kills at random moments",
        help: acp::HELP,
        run: acp::run,
    },
    TaskVerb {
        name: "chat",
        summary: "the terminal chat in tmux, with kills at random moments; its speed; its recording",
        help: chat::HELP,
        run: chat::run,
    },
    TaskVerb {
        name: "emacs",
        summary: "lint and test the Emacs package, also against the daemon",
        help: emacs::HELP,
        run: emacs::run,
    },
    TaskVerb {
        name: "metrics",
        summary: "latency, fidelity and gaps of the Emacs shell",
        help: metrics::HELP,
        run: metrics::run,
    },
    TaskVerb {
        name: "bench",
        summary: "speed and memory, side by side with rivals",
        help: bench::HELP,
        run: bench::run,
    },
    TaskVerb {
        name: "chaos",
        summary: "kill, cut, tear and fill; then look what was lost",
        help: chaos::HELP,
        run: chaos::run,
    },
    TaskVerb {
        name: "approvals",
        summary: "kill the daemon around a question of the guard, and count what was done",
        help: chaos::approvals::HELP,
        run: chaos::approvals::run,
    },
    TaskVerb {
        name: "schema-diff",
        summary: "compare the OpenHarness reader with a published schema",
        help: schema_diff::HELP,
        run: schema_diff::run,
    },
    TaskVerb {
        name: "schemathesis",
        summary: "random requests against the OpenAPI document that the daemon serves",
        help: schemathesis::HELP,
        run: schemathesis::run,
    },
    TaskVerb {
        name: "crowd",
        summary: "hundreds of sessions that stream at once, and how soon others are answered",
        help: crowd::HELP,
        run: crowd::run,
    },
    TaskVerb {
        name: "turns",
        summary: "a turn of a thousand calls, and what short turns cost in many sessions",
        help: turns::HELP,
        run: turns::run,
    },
    TaskVerb {
        name: "siege",
        summary: "thousands of hostile connections of another user, and the owner is answered",
        help: siege::HELP,
        run: siege::run,
    },
    TaskVerb {
        name: "fuzz",
        summary: "run the fuzz targets for long",
        help: fuzz::HELP,
        run: fuzz::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let console = VerbConsole::terminal();
    match dispatch(&arguments, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console.error(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String], console: &VerbConsole) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        console.say(overview());
        return Ok(());
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        let text =
            rest.first().and_then(|name| find(name)).map_or_else(overview, |verb| verb.help.into());
        console.say(text);
        return Ok(());
    }
    let Some(verb) = find(name) else {
        bail!("no verb `{name}`\n\n{}", overview());
    };
    if rest.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h")) {
        // Its parts have a help each.
        let help = if verb.name == "peers" { peers::help(rest) } else { verb.help };
        console.say(help);
        return Ok(());
    }
    (verb.run)(rest, console)
}

fn find(name: &str) -> Option<&'static TaskVerb> {
    VERBS.iter().find(|verb| verb.name == name)
}

fn overview() -> String {
    let mut text = String::from("usage: cargo xtask VERB [ARGUMENTS]\n\n");
    for verb in VERBS {
        text.push_str(&format!("  {:12} {}\n", verb.name, verb.summary));
    }
    text.push_str("\n`cargo xtask VERB --help` says more.");
    text
}
