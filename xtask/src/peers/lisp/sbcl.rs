//! One long-lived SBCL that answers forms, a line for each.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::evaluate::without_addresses;
use crate::console::root;

/// Way in which SBCL evaluates forms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SbclMode {
    /// As a user's `sbcl` does: every form is compiled.
    Compile,
    /// Without compiling, which is quicker for forms that run once.
    Interpret,
}

/// A running SBCL; it ends when this is dropped.
pub(super) struct SbclProcess {
    mode: SbclMode,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl SbclProcess {
    pub(super) fn start(mode: SbclMode) -> Result<Self> {
        let word = if mode == SbclMode::Compile { "compile" } else { "interpret" };
        let mut child = Command::new("sbcl")
            .args(["--script", "peers/sbcl/lisp-forms.lisp", word])
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start sbcl")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("sbcl has no output")?;
        Ok(Self { mode, child, input, output: BufReader::new(output) })
    }

    pub(super) const fn mode(&self) -> SbclMode {
        self.mode
    }

    /// Answers of SBCL, one for each form; forms are single lines.
    ///
    /// # Errors
    /// SBCL ended before it had answered all of them.
    pub(super) fn answer(&mut self, forms: &[String]) -> Result<Vec<String>> {
        let answers = self.answer_some(forms)?;
        match forms.get(answers.len()) {
            Some(form) => bail!("sbcl ended at `{form}`"),
            None => Ok(answers),
        }
    }

    /// Answers up to the form at which SBCL ended, or of all forms.
    pub(super) fn answer_some(&mut self, forms: &[String]) -> Result<Vec<String>> {
        let Some(mut input) = self.input.take() else { bail!("sbcl has no input") };
        let text: String = forms.iter().flat_map(|form| [form.as_str(), "\n"]).collect();
        let output = &mut self.output;
        let (input, answers) = std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let written = input.write_all(text.as_bytes()).and_then(|()| input.flush());
                written.map(|()| input)
            });
            let mut answers = Vec::with_capacity(forms.len());
            let mut line = String::new();
            while answers.len() < forms.len() && output.read_line(&mut line).unwrap_or(0) > 0 {
                answers.push(without_addresses(line.trim_end_matches('\n')));
                line.clear();
            }
            (writer.join(), answers)
        });
        if answers.len() < forms.len() {
            return Ok(answers);
        }
        let Ok(input) = input else { bail!("the thread that writes to sbcl failed") };
        self.input = Some(input.context("cannot write to sbcl")?);
        Ok(answers)
    }
}

impl Drop for SbclProcess {
    fn drop(&mut self) {
        // The end of its input ends it; a form that hangs does not.
        drop(self.input.take());
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
