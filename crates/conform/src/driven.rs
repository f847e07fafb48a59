//! A program under test: started for a case, driven by lines, ended with it.
//!
//! The kits for clients use it: the program reads what to do on standard input, a line each, and
//! says on standard output what it does. What lines there are is in `docs/conformance.md`.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridle_wire::openharness::MessageLimits;
use bridle_wire::openharness::json::JsonDocument;

use super::case::CheckFinding;
use super::notes::CaseNotes;

/// Bytes of a line: the largest text that a case makes, in the longest spelling.
const MAX_LINE: u64 = 16 << 20;

/// Lines that wait to be looked at; a program that says more waits.
const MAX_WAITING: usize = 1_024;

/// Bytes of standard error that are kept.
const MAX_STDERR: usize = 256 << 10;

/// Time that a program may take to end after its input has.
const PATIENCE: Duration = Duration::from_secs(3);

/// Options for starting a program.
#[derive(Debug, Clone)]
pub struct ProgramOptions {
    /// The program and its arguments; `{NAME}` stands for a value of the case.
    pub command: Vec<String>,
    /// Longest wait for anything.
    pub timeout: Duration,
}

/// Line that the program printed.
#[derive(Debug, Clone)]
pub struct ProgramLine {
    /// First word of the line.
    pub word: String,
    /// The text behind it, if it is one in JSON.
    pub text: Option<String>,
    /// The line as it came.
    pub raw: String,
    /// Moment at which it came.
    pub at: Instant,
}

impl ProgramLine {
    fn of(raw: &str) -> ProgramLine {
        let (word, rest) = raw.split_once(' ').unwrap_or((raw, ""));
        let limits = MessageLimits { bytes: usize::MAX, ..MessageLimits::default() };
        let document = JsonDocument::read(rest.as_bytes(), &limits);
        let text =
            document.ok().and_then(|it| it.root().as_str().map(std::borrow::Cow::into_owned));
        ProgramLine { word: word.to_owned(), text, raw: raw.to_owned(), at: Instant::now() }
    }

    /// Tells whether it is this word with this text.
    pub fn is(&self, word: &str, text: &str) -> bool {
        self.word == word && self.text.as_deref() == Some(text)
    }
}

/// A running program.
pub struct DrivenProgram {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// All that it said, in order.
    pub heard: Vec<ProgramLine>,
    stderr: Arc<Mutex<Vec<u8>>>,
    notes: Rc<RefCell<CaseNotes>>,
    timeout: Duration,
}

impl std::fmt::Debug for DrivenProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driven").field("heard", &self.heard.len()).finish_non_exhaustive()
    }
}

impl DrivenProgram {
    /// Starts a program; `values` are its environment, and stand in its arguments.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(
        program: &ProgramOptions,
        values: &[(&str, String)],
        notes: Rc<RefCell<CaseNotes>>,
    ) -> Result<DrivenProgram, CheckFinding> {
        let fill = |argument: &String| {
            values.iter().fold(argument.clone(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
        };
        let words: Vec<String> = program.command.iter().map(fill).collect();
        let (name, arguments) =
            words.split_first().ok_or_else(|| CheckFinding::fault("no command"))?;
        let mut command = Command::new(name);
        command.args(arguments).envs(values.iter().map(|(name, value)| (*name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what it starts ends with it.
        let spawned = command.process_group(0).spawn();
        let mut child = spawned
            .map_err(|error| CheckFinding::fault(format!("cannot start `{name}`: {error}")))?;
        notes.borrow_mut().noted(&format!("started {}", words.join(" ")));
        let stderr = Arc::default();
        if let Some(pipe) = child.stderr.take() {
            keep(pipe, Arc::clone(&stderr));
        }
        let (sender, lines) = sync_channel(MAX_WAITING);
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut pipe = BufReader::new(pipe);
                while let Some(line) = read_line(&mut pipe) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let stdin = child.stdin.take();
        let timeout = program.timeout;
        Ok(DrivenProgram { child, stdin, lines, heard: Vec::new(), stderr, notes, timeout })
    }

    /// Tells the program something to do.
    ///
    /// # Errors
    /// The program has ended.
    pub fn say(&mut self, line: &str) -> Result<(), CheckFinding> {
        self.notes.borrow_mut().noted(&format!("told it: {line}"));
        let stdin = self.stdin.as_mut();
        let said =
            stdin.is_some_and(|pipe| writeln!(pipe, "{line}").is_ok() && pipe.flush().is_ok());
        if said { Ok(()) } else { Err(self.ended("to be told what to do")) }
    }

    /// The next line.
    ///
    /// # Errors
    /// None comes in time, or the program has ended.
    pub fn hear(&mut self, expected: &str) -> Result<ProgramLine, CheckFinding> {
        match self.lines.recv_timeout(self.timeout) {
            Ok(raw) => {
                self.notes.borrow_mut().noted(&format!("it said: {raw}"));
                let line = ProgramLine::of(&raw);
                self.heard.push(line.clone());
                Ok(line)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let seconds = self.timeout.as_secs_f32();
                Err(CheckFinding::fault(format!(
                    "expected {expected}, heard nothing for {seconds} s"
                )))
            }
            Err(_) => Err(self.ended(expected)),
        }
    }

    /// The next line, or `None` if none comes within this time.
    ///
    /// # Errors
    /// The program has ended.
    pub fn hear_within(&mut self, wait: Duration) -> Result<Option<String>, CheckFinding> {
        match self.lines.recv_timeout(wait) {
            Ok(raw) => {
                self.notes.borrow_mut().came(raw.as_bytes());
                Ok(Some(raw))
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(_) => Err(self.ended("it to go on")),
        }
    }

    /// Waits for a line with this word, and returns it.
    ///
    /// # Errors
    /// The line does not come in time.
    pub fn until(&mut self, word: &str) -> Result<ProgramLine, CheckFinding> {
        self.until_any(&[word])
    }

    /// Waits for a line with one of these words.
    ///
    /// # Errors
    /// None comes in time.
    pub fn until_any(&mut self, words: &[&str]) -> Result<ProgramLine, CheckFinding> {
        let until = Instant::now() + self.timeout;
        let expected = format!("`{}`", words.join("` or `"));
        while Instant::now() < until {
            let line = self.hear(&expected)?;
            if words.contains(&line.word.as_str()) {
                return Ok(line);
            }
        }
        Err(CheckFinding::fault(format!("expected {expected}, heard other lines only")))
    }

    /// Ends its input.
    pub fn close(&mut self) {
        self.notes.borrow_mut().noted("closed its input");
        self.stdin = None;
    }

    /// Everything that it said so far: on standard output as people would read it, and on standard
    /// error.
    pub fn said(&self) -> String {
        let mut all = String::new();
        for line in &self.heard {
            all.push_str(&line.raw);
            all.push('\n');
            all.push_str(line.text.as_deref().unwrap_or_default());
            all.push('\n');
        }
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        all + &String::from_utf8_lossy(&stderr)
    }

    /// Number of lines with this word and text.
    pub fn count(&self, word: &str, text: &str) -> usize {
        self.heard.iter().filter(|line| line.is(word, text)).count()
    }

    /// Index of the first line with this word and text, among all lines.
    pub fn place(&self, word: &str, text: &str) -> Option<usize> {
        self.heard.iter().position(|line| line.is(word, text))
    }

    fn ended(&mut self, expected: &str) -> CheckFinding {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        self.notes.borrow_mut().noted(&format!("stderr: {}", String::from_utf8_lossy(&stderr)));
        CheckFinding::fault(format!("expected {expected}, and the program has ended"))
    }
}

impl Drop for DrivenProgram {
    fn drop(&mut self) {
        self.stdin = None;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // There is no way to wait for a process and a clock at once without a signal.
            std::thread::sleep(Duration::from_millis(5));
        }
        let group = format!("-{}", self.child.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
        if killed.is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn read_line(pipe: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = pipe.take(MAX_LINE).read_until(b'\n', &mut line);
    if !matches!(read, Ok(1..)) {
        return None;
    }
    Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned())
}

fn keep(mut pipe: impl Read + Send + 'static, kept: Arc<Mutex<Vec<u8>>>) {
    std::thread::spawn(move || {
        let mut chunk = [0; 4_096];
        while let Ok(count @ 1..) = pipe.read(&mut chunk) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MAX_STDERR.saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(&chunk[..room]);
        }
    });
}
