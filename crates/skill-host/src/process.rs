//! Programs of skills that run in processes: each call is a process of its own in a jail, which speaks frames on its
//! standard input and output.
//!
//! A call begins in a fresh process, so that it begins from the state that loading left, as in the daemon's own language; a
//! process that loops, floods or dies is the end of one call. A skill whose processes die one after the other is
//! started again only after a while. Without a jail nothing is started.
//!
//! In reading order:
//! - `channel`: frames to and from one process
//! - `command`: what is started for a language
//! - `supervise`: how often a program may be started again

mod channel;
mod command;
mod supervise;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bridle_jail::{ChildStdin, HelperProgram, Jail, JailCommand, JailSpec, ResourceLimits};
use bridle_sexp::Value;
use bridle_skill::{
    FaultPlace, LoadedProgram, ProcessProgram, ProgramCall, ProgramStep, SkillFault,
    SkillFaultKind, SkillProgram, SkillRuntime, SkillSource,
};

use self::channel::ProcessChannel;
use self::supervise::StartSupervisor;

/// Processes of skills that run at once; a call beyond them fails.
const MAX_PROCESSES: usize = 64;

/// Time for loading a program.
const LOAD_TIME: Duration = Duration::from_secs(20);

/// Time between two requests of a call.
const STEP_TIME: Duration = Duration::from_secs(10);

/// Time for which a call may wait for answers; then its process ends, and the call begins again from what it was
/// answered.
const WAIT_TIME: Duration = Duration::from_secs(30 * 86_400);

/// Bytes that a process may write in all.
const MAX_WRITTEN_BYTES: u64 = 64 << 20;

/// Starter of programs of skills in a jail.
pub struct SkillProcesses(Arc<ProcessRoom>);

struct ProcessRoom {
    helper: Option<HelperProgram>,
    /// Folder of the jail, which nobody else uses.
    scratch: PathBuf,
    jail: OnceLock<Result<Jail, String>>,
    running: AtomicUsize,
}

impl SkillProcesses {
    /// A starter whose jail is tried when the first program is started. Without a helper none is.
    pub fn new(helper: Option<HelperProgram>, scratch: PathBuf) -> Self {
        let (jail, running) = (OnceLock::new(), AtomicUsize::new(0));
        Self(Arc::new(ProcessRoom { helper, scratch, jail, running }))
    }

    /// Processes that run now.
    pub fn running(&self) -> usize {
        self.0.running.load(Ordering::Relaxed)
    }
}

impl SkillRuntime for SkillProcesses {
    fn load(
        &self,
        source: &Arc<SkillSource>,
        process: &ProcessProgram,
    ) -> Result<LoadedProgram, SkillFault> {
        let room = Arc::clone(&self.0);
        let (source, process) = (Arc::clone(source), process.clone());
        let program = ProcessSkill(Arc::new(SkillParts {
            room,
            source,
            process,
            starts: StartSupervisor::default(),
        }));
        let (_, parts) = program.0.started()?;
        let parts = parts.elements().unwrap_or_default().to_vec();
        Ok(LoadedProgram { program: Box::new(program), parts })
    }
}

impl ProcessRoom {
    fn jail(&self) -> Result<&Jail, SkillFault> {
        let opened = self.jail.get_or_init(|| {
            let helper = self.helper.clone().ok_or("this daemon was started without its helper")?;
            Jail::new(helper, &self.scratch).map_err(|error| error.to_string())
        });
        opened.as_ref().map_err(|reason| refused(reason))
    }
}

fn refused(reason: &dyn std::fmt::Display) -> SkillFault {
    let reason = format!("its program runs in a jail, and there is none: {reason}");
    SkillFault::new(SkillFaultKind::Program, reason)
}

/// Program of a skill.
struct ProcessSkill(Arc<SkillParts>);

struct SkillParts {
    room: Arc<ProcessRoom>,
    source: Arc<SkillSource>,
    process: ProcessProgram,
    starts: StartSupervisor,
}

impl SkillProgram for ProcessSkill {
    fn call(&self) -> Box<dyn ProgramCall> {
        let parts = Arc::clone(&self.0);
        Box::new(ProcessCall { parts, process: None, output: String::new() })
    }
}

/// A process that runs, and its place among those of the room.
struct RunningProcess {
    channel: ProcessChannel,
    _seat: ProcessSeat,
}

struct ProcessSeat(Arc<ProcessRoom>);

impl ProcessSeat {
    fn take(room: &Arc<ProcessRoom>) -> Result<Self, SkillFault> {
        if room.running.fetch_add(1, Ordering::Relaxed) >= MAX_PROCESSES {
            room.running.fetch_sub(1, Ordering::Relaxed);
            let reason = format!("{MAX_PROCESSES} processes of skills run already");
            return Err(SkillFault::new(SkillFaultKind::Limit, reason));
        }
        Ok(Self(Arc::clone(room)))
    }
}

impl Drop for ProcessSeat {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SkillParts {
    /// A process that has loaded the program, and the parts that it told.
    fn started(&self) -> Result<(RunningProcess, Value), SkillFault> {
        self.starts.permit()?;
        let begun = self.start();
        // A program that is wrong is no process that dies; one that could be loaded may still die in its call.
        if begun.as_ref().is_err_and(|fault| fault.kind == SkillFaultKind::Run) {
            self.starts.note(true);
        }
        begun
    }

    fn start(&self) -> Result<(RunningProcess, Value), SkillFault> {
        let seat = ProcessSeat::take(&self.room)?;
        let jail = self.room.jail()?;
        let started = command::of(&self.process)?;
        let mut spec = JailSpec::new(JailCommand::Argv(started.argv), "/");
        spec.stdin = ChildStdin::Open;
        spec.deadline = WAIT_TIME;
        spec.output_bytes = MAX_WRITTEN_BYTES;
        spec.limits = ResourceLimits {
            processes: 64,
            memory_bytes: 1 << 30,
            file_bytes: 1 << 20,
            open_files: 64,
            cpu_seconds: 600,
        };
        let child = jail.spawn(&spec, None).map_err(|error| refused(&error))?;
        let mut channel = ProcessChannel::new(child)?;
        if let Some(runtime) = started.runtime {
            channel.send_text(&runtime)?;
        }
        let load = Value::plist([
            ("do", Value::keyword("load")),
            ("id", Value::str(self.source.manifest.id.as_str())),
            ("text", Value::str(self.process.text.as_str())),
        ]);
        let told = channel.ask(&load, LOAD_TIME)?;
        if let Some(fault) = self.fault(&told, SkillFaultKind::Program) {
            return Err(fault);
        }
        let parts = told.get("done").cloned().ok_or_else(|| unheard(&told))?;
        Ok((RunningProcess { channel, _seat: seat }, parts))
    }

    /// The failure that a message tells.
    fn fault(&self, told: &Value, kind: SkillFaultKind) -> Option<SkillFault> {
        let message = told.get("failed")?.as_str().unwrap_or("it says no reason").to_owned();
        let is_limit = told.get("limit").is_some_and(|flag| !flag.is_nil());
        let kind = if is_limit { SkillFaultKind::Limit } else { kind };
        let line = told.get("line").and_then(Value::as_i64);
        let place = line.and_then(|line| usize::try_from(line).ok()).map(|line| {
            let form = self.source.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            let form = form.trim().chars().filter(|c| !c.is_control()).take(120).collect();
            FaultPlace { file: self.source.file.clone(), line, column: 1, form }
        });
        Some(SkillFault { kind, message, place })
    }
}

fn unheard(told: &Value) -> SkillFault {
    let shown: String = told.to_string().chars().take(200).collect();
    let reason =
        format!("the process said {shown}, expected (:done ..), (:waits ..) or (:failed ..)");
    SkillFault::new(SkillFaultKind::Run, reason)
}

/// One call in a process of its own.
struct ProcessCall {
    parts: Arc<SkillParts>,
    process: Option<RunningProcess>,
    output: String,
}

impl ProcessCall {
    fn ask(&mut self, message: &Value) -> Result<ProgramStep, SkillFault> {
        let gone = || SkillFault::new(SkillFaultKind::Run, "the process of the call has ended");
        let mut process = self.process.take().ok_or_else(gone)?;
        let told = process.channel.ask(message, STEP_TIME);
        let died = told.as_ref().is_err_and(|fault| fault.kind == SkillFaultKind::Run);
        self.parts.starts.note(died);
        let told = told?;
        self.output.push_str(told.get("output").and_then(Value::as_str).unwrap_or_default());
        self.output.truncate(self.output.floor_char_boundary(MAX_OUTPUT_BYTES));
        if let Some(fault) = self.parts.fault(&told, SkillFaultKind::Run) {
            return Err(fault);
        }
        if let Some(request) = told.get("waits") {
            self.process = Some(process);
            return Ok(ProgramStep::Waits(request.clone()));
        }
        told.get("done").cloned().map(ProgramStep::Done).ok_or_else(|| unheard(&told))
    }
}

/// Bytes that a call may print between two looks.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

impl ProgramCall for ProcessCall {
    fn begin(&mut self, arguments: [Value; 3]) -> Result<ProgramStep, SkillFault> {
        let (process, _) = self.parts.started()?;
        self.process = Some(process);
        let [kind, name, arguments] = arguments;
        let call = [
            ("do", Value::keyword("call")),
            ("kind", kind),
            ("name", name),
            ("arguments", arguments),
        ];
        self.ask(&Value::plist(call))
    }

    fn resume(&mut self, answer: Value) -> Result<ProgramStep, SkillFault> {
        self.ask(&Value::plist([("do", Value::keyword("resume")), ("answer", answer)]))
    }

    fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }
}
