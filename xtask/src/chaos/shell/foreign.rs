//! A shell of a schedule that is a program in another language: one of the clients of `clients/`, told what
//! to say and telling what it hears, a line each. What it tells is judged by the same rules as what a shell
//! of ours hears. Its connections go through a [`LoopbackProxy`] that cuts them. Run by the conductor instead of
//! `ChaosShell::run`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use bridle_sexp::{Value, read_one};

use super::{BELL, ChaosShell, ScheduleBoard, ShellPart, ShellSaying, saying};
use crate::chaos::proxy::LoopbackProxy;
use crate::console::root;

/// Time that one look at the program's output may wait: short, for there are things to say too.
const LOOK: Duration = Duration::from_millis(4);

/// Lines that wait to be looked at; then the program waits.
const WAITING: usize = 1024;

/// Client that plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientLanguage {
    Python,
    TypeScript,
}

impl ClientLanguage {
    fn command(self) -> Command {
        let python = root().join("clients/python");
        match self {
            Self::Python => {
                let mut command = Command::new("python3");
                command.args(["-m", "tests.chaos"]).current_dir(&python);
                command.env("PYTHONPATH", python.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Self::TypeScript => {
                let mut command = Command::new("node");
                command.arg(root().join("clients/typescript/dist/e2e/chaos.js"));
                command
            }
        }
    }
}

/// The program, and both ends of the talk with it.
struct ForeignProgram {
    child: Child,
    says: ChildStdin,
    tells: Receiver<String>,
    errors: PathBuf,
}

impl Drop for ForeignProgram {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl ChaosShell {
    /// Lives as `run` does, by means of the client of `language`, its files in `folder`.
    pub(crate) fn run_foreign(
        mut self,
        language: ClientLanguage,
        folder: &Path,
        board: &Arc<ScheduleBoard>,
    ) -> Result<Self, String> {
        let name = format!("{} in {} ({language:?})", self.name, self.session);
        let told = |what: String| format!("{name}: {what}");
        let socket = folder.join(format!("{}.cut", self.name));
        let proxy = LoopbackProxy::start(&socket, self.road, self.cuts, self.random.split(), board)
            .map_err(|error| told(format!("no proxy: {error}")))?;
        let program = self.program(language, folder, &socket).map_err(&told)?;
        let played = self.play(program, board).map_err(&told);
        proxy.stop();
        played.map(|()| self)
    }

    fn program(
        &self,
        language: ClientLanguage,
        folder: &Path,
        socket: &Path,
    ) -> Result<ForeignProgram, String> {
        let errors = folder.join(format!("{}.err", self.name));
        let started = || {
            let mut command = language.command();
            command.arg(socket).args([&self.session, &self.client(), "chaos"]);
            if self.part == ShellPart::Ringer {
                command.arg(BELL);
            }
            let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
            command.stderr(File::create(&errors)?).spawn()
        };
        let mut child = started().map_err(|error| format!("cannot start it: {error}"))?;
        let says = child.stdin.take().ok_or("no way to talk to it")?;
        let stdout = child.stdout.take().ok_or("no way to hear it")?;
        let (told, tells) = mpsc::sync_channel(WAITING);
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // Nobody listens any more once the schedule is over.
            lines.map(|line| told.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Ok(ForeignProgram { child, says, tells, errors })
    }

    fn play(&mut self, mut program: ForeignProgram, board: &ScheduleBoard) -> Result<(), String> {
        while !board.stop.load(Ordering::Relaxed) {
            match program.tells.recv_timeout(LOOK) {
                Ok(line) => self.told(&line).map_err(|why| format!("{why}: {line}"))?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = fs::read_to_string(&program.errors).unwrap_or_default();
                    return Err(format!("it ended by itself\n{why}"));
                }
            }
            self.have_said(&mut program.says);
            if self.sayings.iter().all(ShellSaying::is_over) && self.notes.open.is_empty() {
                self.done.store(true, Ordering::Relaxed);
                if board.goal(&self.session).is_some_and(|goal| self.cursor() >= goal) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Hands the next thing to say over, every now and then. It is said again by the client itself.
    fn have_said(&mut self, says: &mut ChildStdin) {
        if !self.random.chance(30) {
            return;
        }
        if let Some(saying) = self.sayings.iter_mut().find(|saying| saying.is_new()) {
            let line = format!("{}\n", saying.say(1));
            // Whether it is gone shows in what it tells.
            drop(says.write_all(line.as_bytes()));
        }
    }

    /// Understands one line of the program.
    fn told(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').ok_or("not a line of ours")?;
        match word {
            "event" => {
                let (seq, message) = numbered(rest)?;
                self.numbered(seq, &message)
            }
            "receipt" => {
                let (seq, id) = numbered(rest)?;
                let message = Value::plist([("id", id)]);
                let saying = saying::find(&mut self.sayings, &message)
                    .ok_or("a receipt for nothing said")?;
                saying.admit(seq)?;
                self.notes.own.insert(seq);
                Ok(())
            }
            "ring" if self.notes.rings.insert(rest.to_owned()) => Ok(()),
            "ring" => Err("carried out twice".to_owned()),
            "refused" => Err("refused for good".to_owned()),
            _ => Err("not a line of ours".to_owned()),
        }
    }
}

/// `7 (form)`.
fn numbered(text: &str) -> Result<(u64, Value), String> {
    let (number, form) = text.split_once(' ').ok_or("a line without a form")?;
    let number = number.parse().map_err(|_| format!("`{number}`, expected a number"))?;
    let tree = read_one(form).map_err(|error| error.to_string())?;
    Ok((number, tree.root().to_value()))
}
