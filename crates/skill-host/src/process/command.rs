//! What is started for the language of a program, and what it is given first.

use std::ffi::OsString;

use bridle_skill::{ProcessProgram, SKILL_DEFINITIONS, SkillFault, SkillFaultKind};

/// Languages that SBCL runs.
const LISPS: [&str; 3] = ["lisp", "common-lisp", "bridle-lisp"];

/// Megabytes of the heap of SBCL.
const SBCL_HEAP: &str = "256MB";

/// Program to start.
pub(super) struct StartedCommand {
    pub(super) argv: Vec<OsString>,
    /// Text of the first frame, for a program that is given its own beginning.
    pub(super) runtime: Option<String>,
}

/// Command for a program.
///
/// # Errors
/// Nobody knows the language, and the file names no program.
pub(super) fn of(process: &ProcessProgram) -> Result<StartedCommand, SkillFault> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect();
    if !process.argv.is_empty() {
        let argv = process.argv.iter().map(OsString::from).collect();
        return Ok(StartedCommand { argv, runtime: None });
    }
    let language = process.language.as_str();
    if LISPS.contains(&language) {
        let argv = words(&[
            "sbcl",
            "--noinform",
            "--dynamic-space-size",
            SBCL_HEAP,
            "--no-sysinit",
            "--no-userinit",
            "--disable-debugger",
            "--eval",
            include_str!("boot.lisp").trim(),
        ]);
        let (head, service) = (include_str!("head.lisp"), include_str!("loop.lisp"));
        let runtime = Some(format!("{head}\n{SKILL_DEFINITIONS}\n{service}"));
        return Ok(StartedCommand { argv, runtime });
    }
    if matches!(language, "python" | "python3") {
        let argv = words(&["python3", "-I", "-S", "-c", include_str!("bridle.py")]);
        return Ok(StartedCommand { argv, runtime: None });
    }
    let reason = format!(
        "no program is known for the language `{language}`: name it, such as `:process /usr/bin/node`"
    );
    Err(SkillFault::new(SkillFaultKind::Program, reason))
}
