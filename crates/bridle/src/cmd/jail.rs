//! `bridle sandbox`: what the jail promises here, and what a command would start and be judged by.
//! Works without a daemon. The helper itself, `bridle __jail`, is entered in `main`, before anything
//! else: it must have one thread.

use std::io::Write as _;

use bridle_jail::{
    HelperProgram, Jail, JailCapabilities, JailError, ScriptReading, ScriptWord, read_argv,
    read_script,
};
use bridle_shell::screen::neutral_block;

use crate::args::jail as args;
use crate::exit::{BridleExit, CommandFailure};

/// First argument of the helper.
pub(crate) const HELPER_VERB: &str = "__jail";

pub(crate) fn run(verb: &args::Sandbox) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::Sandbox::Explain(explain) => self::explain(explain),
    }
}

/// Tries what the jail can do on this system.
pub(super) fn probed() -> Result<JailCapabilities, JailError> {
    let scratch = std::env::temp_dir().join(format!("bridle-sandbox-{}", std::process::id()));
    let probed = Jail::new(HelperProgram::own(), &scratch);
    // Empty again by now; what cannot be removed harms nobody.
    let _ = std::fs::remove_dir(&scratch);
    probed.map(|jail| jail.capabilities().clone())
}

fn explain(explain: &args::Explain) -> Result<BridleExit, CommandFailure> {
    let capabilities = probed().map_err(|error| {
        CommandFailure::because(BridleExit::Unavailable, "cannot try the jail", &error)
    })?;
    let mut out = String::new();
    match capabilities.layer {
        Some(layer) => out.push_str(&format!("layer {layer}\n")),
        None => out.push_str(&format!("no layer: this system lacks {}\n", capabilities.missing())),
    }
    for state in &capabilities.promises {
        let mark = if state.held { "held" } else { "NOT " };
        out.push_str(&format!("  {mark}  {} ({})\n", state.promise.sentence(), state.because));
    }
    for reason in &capabilities.facts.reasons {
        out.push_str(&format!("  why   {reason}\n"));
    }
    let reading = match (&explain.script, explain.command.is_empty()) {
        (Some(text), _) => {
            Some(read_script(text).map_err(|error| CommandFailure::new(BridleExit::Data, &error))?)
        }
        (None, false) => Some(read_argv(&explain.command)),
        (None, true) => None,
    };
    if let Some(reading) = reading {
        describe(&reading, &mut out);
    }
    match std::io::stdout().lock().write_all(neutral_block(&out).as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::because(BridleExit::Io, "cannot write", &error))
        }
        _ => Ok(BridleExit::Ok),
    }
}

fn describe(reading: &ScriptReading, out: &mut String) {
    for command in &reading.commands {
        let words: Vec<&str> = command.argv.iter().map(shown).collect();
        out.push_str(&format!("starts  {}\n", words.join(" ")));
        if !command.wrappers.is_empty() {
            out.push_str(&format!("  through {}\n", command.wrappers.join(", ")));
        }
        if !shown(&command.folder).is_empty() {
            out.push_str(&format!("  in {}\n", shown(&command.folder)));
        }
        for risk in &command.risks {
            out.push_str(&format!("  note: {risk:?}\n"));
        }
    }
    for (what, words) in [("writes", &reading.written), ("reads", &reading.read)] {
        for word in words {
            out.push_str(&format!("{what}  {}\n", shown(word)));
        }
    }
    for reason in &reading.dynamic {
        out.push_str(&format!("dynamic: {reason}\n"));
    }
    let end = if reading.is_plain() {
        "a grant for program and subcommand may cover it"
    } else {
        "it is granted exactly as it is, or asked about"
    };
    out.push_str(&format!("{end}\n"));
}

fn shown(word: &ScriptWord) -> &str {
    match word {
        ScriptWord::Static(text) | ScriptWord::Dynamic(text) => text,
    }
}
