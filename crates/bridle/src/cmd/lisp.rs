//! `bridle lisp`: a program in the skill language, from a file, the command line or a session.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::Path;

use bridle_lisp::{Instance, InstanceLimits, LispError, LispErrorKind};

use crate::args::lisp as args;
use crate::exit::{BridleExit, CommandFailure};

/// Largest heap that may be asked for, in MiB: indices of values have 32 bits.
const MAX_HEAP_MIB: usize = 4096;

pub(crate) fn run(args: &args::Lisp) -> Result<BridleExit, CommandFailure> {
    let limits = InstanceLimits {
        fuel: args.fuel,
        heap_bytes: args.heap.clamp(1, MAX_HEAP_MIB) << 20,
        ..InstanceLimits::default()
    };
    let mut instance = Instance::new(limits);
    if args.repl {
        return repl(&mut instance);
    }
    let (text, name) = match (&args.file, &args.forms) {
        (Some(file), _) => (read(file)?, file.display().to_string()),
        (None, forms) => (forms.clone().unwrap_or_default(), "-e".to_owned()),
    };
    if let Err(error) = instance.check_names(&text, &name) {
        write(&mut io::stderr().lock(), &format!("{error}\n"))?;
        return Ok(exit_of(&error));
    }
    evaluate(&mut instance, &text, &name)
}

/// Evaluates a text, printing as it goes, and says how to leave.
fn evaluate(instance: &mut Instance, text: &str, name: &str) -> Result<BridleExit, CommandFailure> {
    let mut shown = Vec::new();
    let result = instance.evaluate(text, name, |values| shown.extend_from_slice(values));
    let output = instance.take_output();
    let is_open_line = !output.is_empty() && !output.ends_with('\n');
    let mut out = output;
    if is_open_line {
        out.push('\n');
    }
    for value in shown {
        out.push_str(&value);
        out.push('\n');
    }
    write(&mut io::stdout().lock(), &out)?;
    write(&mut io::stderr().lock(), &instance.take_error_output())?;
    match result {
        Ok(()) => Ok(BridleExit::Ok),
        Err(error) => {
            write(&mut io::stderr().lock(), &format!("{error}\n"))?;
            Ok(exit_of(&error))
        }
    }
}

fn exit_of(error: &LispError) -> BridleExit {
    match error.kind {
        LispErrorKind::Outside => BridleExit::OutsideSubset,
        LispErrorKind::Syntax | LispErrorKind::Incomplete => BridleExit::Data,
        _ => BridleExit::Answered,
    }
}

fn write(out: &mut impl io::Write, text: &str) -> Result<(), CommandFailure> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::because(BridleExit::Io, "cannot write", &error))
        }
        _ => Ok(()),
    }
}

fn read(file: &Path) -> Result<String, CommandFailure> {
    let mut bytes = Vec::new();
    let result = if file == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    let name = file.display();
    let failed = |error| {
        CommandFailure::because(BridleExit::NoInput, format!("cannot read `{name}`"), &error)
    };
    result.map_err(failed)?;
    let failed = |error| {
        CommandFailure::because(BridleExit::Data, format!("`{name}` is not UTF-8 text"), &error)
    };
    String::from_utf8(bytes).map_err(failed)
}

/// Forms from stdin, each answered; a form may go over several lines.
fn repl(instance: &mut Instance) -> Result<BridleExit, CommandFailure> {
    let is_terminal = io::stdin().is_terminal();
    let mut text = String::new();
    loop {
        if is_terminal {
            let prompt = if text.is_empty() { "> " } else { ". " };
            write(&mut io::stdout().lock(), prompt)?;
        }
        let count = io::stdin().lock().read_line(&mut text);
        let count = count
            .map_err(|error| CommandFailure::because(BridleExit::Io, "cannot read", &error))?;
        if count > 0 && is_incomplete(instance, &text) {
            continue;
        }
        evaluate(instance, &text, "repl")?;
        text.clear();
        if count == 0 {
            return Ok(BridleExit::Ok);
        }
    }
}

/// Whether more lines are needed to end a form.
fn is_incomplete(instance: &mut Instance, text: &str) -> bool {
    matches!(instance.check(text), Err(LispErrorKind::Incomplete))
}
