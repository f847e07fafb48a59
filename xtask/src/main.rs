//! The task runner: `cargo xtask VERB`. One file per verb; this one holds the table of verbs and the
//! dispatch. What CI runs, `cargo xtask ci` runs. Not part of the product: nothing depends on it.

mod bench;
mod chaos;
mod ci;
mod clients;
mod console;
mod fuzz;
mod jail;
mod layers;
mod memory;
mod peers;
mod privacy;
mod schema_diff;
mod schemathesis;
mod setup;
mod siege;
mod tidy;
mod vectors;

use std::process::ExitCode;

use anyhow::{Result, bail};
use console::Console;

/// One verb: its name, what `--help` says, and what it does.
struct Verb {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String], &Console) -> Result<()>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "ci",
        summary: "everything that must hold before a change lands",
        help: ci::HELP,
        run: ci::run,
    },
    Verb {
        name: "setup",
        summary: "install the peers and tools that ci needs",
        help: setup::HELP,
        run: setup::run,
    },
    Verb {
        name: "tidy",
        summary: "house style: headers, lengths, links, vectors",
        help: tidy::HELP,
        run: tidy::run,
    },
    Verb {
        name: "jail",
        summary: "attempts to break out, programs over a stage, kills of a commit, a soak",
        help: jail::HELP,
        run: jail::run,
    },
    Verb {
        name: "layers",
        summary: "which crate may depend on which",
        help: layers::HELP,
        run: layers::run,
    },
    Verb {
        name: "memory",
        summary: "an agent and a user edit the same files at the same time",
        help: memory::HELP,
        run: memory::run,
    },
    Verb {
        name: "privacy",
        summary: "strangers ask for what is hidden, and for what is not there",
        help: privacy::HELP,
        run: privacy::run,
    },
    Verb {
        name: "vectors",
        summary: "run the vectors in Rust, SBCL, Emacs and Python",
        help: vectors::HELP,
        run: vectors::run,
    },
    Verb {
        name: "peers",
        summary: "record what real peers do with the vectors",
        help: peers::HELP,
        run: peers::run,
    },
    Verb {
        name: "clients",
        summary: "test the Python and TypeScript clients, also against the daemon",
        help: clients::HELP,
        run: clients::run,
    },
    Verb {
        name: "bench",
        summary: "speed and memory, side by side with rivals",
        help: bench::HELP,
        run: bench::run,
    },
    Verb {
        name: "chaos",
        summary: "kill, cut, tear and fill; then look what was lost",
        help: chaos::HELP,
        run: chaos::run,
    },
    Verb {
        name: "approvals",
        summary: "kill the daemon around a question of the guard, and count what was done",
        help: chaos::approvals::HELP,
        run: chaos::approvals::run,
    },
    Verb {
        name: "schema-diff",
        summary: "compare the OpenHarness reader with a published schema",
        help: schema_diff::HELP,
        run: schema_diff::run,
    },
    Verb {
        name: "schemathesis",
        summary: "random requests against the OpenAPI document that the daemon serves",
        help: schemathesis::HELP,
        run: schemathesis::run,
    },
    Verb {
        name: "siege",
        summary: "thousands of hostile connections of another user, and the owner is answered",
        help: siege::HELP,
        run: siege::run,
    },
    Verb {
        name: "fuzz",
        summary: "run the fuzz targets for long",
        help: fuzz::HELP,
        run: fuzz::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let console = Console::terminal();
    match dispatch(&arguments, &console) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            console.error(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String], console: &Console) -> Result<()> {
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

fn find(name: &str) -> Option<&'static Verb> {
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
