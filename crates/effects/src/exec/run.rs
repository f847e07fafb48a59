//! A run carried out: over the stage of its turn, or beside any with nothing to write; shown while it
//! goes, ended when it is called off.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bridle_host::ActIo;
use bridle_jail::{
    ChildStdin, HostRule, JailCommand, JailEnd, JailError, JailOutcome, JailSpec, JailedChild,
    NetworkGrant, Stage,
};
use bridle_loop::{ExecCommand, ExecRequest};
use bridle_sexp::Value;

use super::output::{RunOutput, ToldOutput};
use crate::error::EffectError;
use crate::payload::{count, label_of};
use crate::workspace::Workspace;

/// Time of a run that names none.
const DEFAULT_SECONDS: u64 = 120;

/// Bytes of output that are kept of one run.
const OUTPUT_BYTES: u64 = 4 << 20;

/// Interval at which a run is looked at for a cancel, and a busy stage is tried again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Carries a run out; the result has its end, its output and the layer that was in force.
pub(super) fn run(
    workspace: &Workspace,
    request: &ExecRequest,
    io: &ActIo,
) -> Result<Value, EffectError> {
    let folder = request.cwd.as_deref().map(PathBuf::from);
    let folder = folder.ok_or_else(|| EffectError::refused("nobody has looked at the folder"))?;
    let project = Some(Path::new(&*request.facts.project)).filter(|_| request.facts.staged);
    let stage = project
        .map(|project| workspace.stage(io.context.session.as_str(), io.context.turn.0, project));
    let stage = stage.transpose()?;
    let spec = spec(workspace, request, folder, project)?;
    let child = spawn(workspace, &spec, stage.as_ref(), io)?;
    let mut output = RunOutput::new(io);
    let ended =
        child.wait_showing(POLL_INTERVAL, || !io.is_canceled(), |piece| output.take(&piece))?;
    let told = output.told(workspace)?;
    let hidden = spec.hidden.iter().filter_map(|path| path.strip_prefix(project?).ok());
    let hidden: Vec<String> = hidden.map(|path| path.display().to_string()).collect();
    Ok(result(&ended, &told, request, &hidden))
}

fn spec(
    workspace: &Workspace,
    request: &ExecRequest,
    folder: PathBuf,
    project: Option<&Path>,
) -> Result<JailSpec, EffectError> {
    let command = match &request.command {
        ExecCommand::Argv(argv) => {
            JailCommand::Argv(argv.iter().map(|word| OsString::from(&**word)).collect())
        }
        ExecCommand::Script(text) => JailCommand::Script(text.to_string()),
    };
    let setup = workspace.setup();
    let mut spec = JailSpec::new(command, folder.clone());
    let variable = |(name, value): (&str, &str)| (OsString::from(name), OsString::from(value));
    let own = setup.variables.iter().map(|(name, value)| variable((name, value)));
    spec.env.extend(own);
    spec.env.extend(request.env.iter().map(|(name, value)| variable((name, value))));
    if let Some(text) = &request.stdin {
        spec.stdin = ChildStdin::Bytes(text.as_bytes().to_vec());
    }
    spec.read_roots = setup.read_roots.iter().filter(|root| root.exists()).cloned().collect();
    match project {
        Some(project) => spec.hidden = workspace.hidden(project, request.facts.keys),
        // Outside of the project: it was asked for, and nothing there can be changed.
        None => {
            spec.hidden = workspace.hidden(&folder, request.facts.keys);
            spec.read_roots.push(folder);
        }
    }
    let rules: Result<Vec<HostRule>, String> =
        request.network.iter().map(|host| HostRule::parse(host)).collect();
    let rules = rules.map_err(EffectError::Refused)?;
    if !rules.is_empty() {
        spec.network = NetworkGrant::Hosts(rules);
    }
    spec.deadline = Duration::from_secs(request.seconds.unwrap_or(DEFAULT_SECONDS));
    spec.output_bytes = OUTPUT_BYTES;
    Ok(spec)
}

/// Starts it; a stage that another run of the turn uses is waited for.
pub(crate) fn spawn(
    workspace: &Workspace,
    spec: &JailSpec,
    stage: Option<&Stage>,
    io: &ActIo,
) -> Result<JailedChild, EffectError> {
    loop {
        match workspace.jail()?.spawn(spec, stage) {
            Err(JailError::StageBusy(_)) if !io.is_canceled() => std::thread::sleep(POLL_INTERVAL),
            other => return Ok(other?),
        }
    }
}

fn result(
    ended: &JailOutcome,
    told: &ToldOutput,
    request: &ExecRequest,
    hidden: &[String],
) -> Value {
    let (how, code) = match ended.end {
        JailEnd::Exited(code) => ("exited", Some(code)),
        JailEnd::Signaled(signal) => ("signaled", Some(signal)),
        JailEnd::TimedOut => ("timed-out", None),
        JailEnd::Cancelled => ("cancelled", None),
    };
    let mut pairs = vec![("end", Value::keyword(how))];
    pairs.extend(code.map(|code| ("code", Value::int(code.into()))));
    pairs.push(("output", Value::str(told.text.as_str())));
    pairs.push(("bytes", count(ended.written.iter().sum::<u64>())));
    if ended.discarded > 0 {
        pairs.push(("discarded", count(ended.discarded)));
    }
    pairs.extend(label_of(Path::new("output"), &told.text));
    let file = told.file.as_ref().map(|file| ("output-file", Value::str(file.to_string_lossy())));
    pairs.extend(file);
    pairs.push(("layer", Value::str(ended.layer.to_string())));
    pairs.push(("staged", Value::bool(request.facts.staged)));
    if !hidden.is_empty() {
        pairs.push((
            "hidden",
            Value::list(hidden.iter().take(32).map(|it| Value::str(it.as_str()))),
        ));
    }
    if !ended.refused_hosts.is_empty() {
        let host = |it: &bridle_jail::HostRefusal| Value::str(format!("{}:{}", it.host, it.port));
        pairs.push(("refused-hosts", Value::list(ended.refused_hosts.iter().take(32).map(host))));
        let hint = "run it again with these under `:network`, and it is asked for";
        pairs.push(("hint", Value::str(hint)));
    }
    Value::plist(pairs)
}
