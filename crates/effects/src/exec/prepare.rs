//! Runs looked at before they are judged: the folder made whole, programs and commands named, and why
//! their names say too little.

use std::path::Path;

use bridle_jail::{
    CommandRisk, JailPromise, ScriptCommand, ScriptReading, ScriptWord, find_secrets, read_argv,
    read_script, variable_runs_code,
};
use bridle_loop::{Action, EffectFacts, ExecCommand, ExecRequest, PREPARED};
use bridle_sexp::Value;

use super::interactive;
use crate::key_files::names_key;
use crate::payload::{with, with_facts, with_fault};
use crate::place;
use crate::workspace::{Workspace, key_files, text};

/// The payload with its folder made whole and the facts put in.
pub(super) fn prepared(workspace: &Workspace, payload: &Value, session: &str) -> Value {
    let project = workspace.project_of(session);
    let said = payload.get("cwd").and_then(Value::as_str);
    let folder = match said {
        Some(said) => place::absolute(said, project.as_deref()),
        None => project.clone(),
    };
    let Some(folder) = folder.and_then(|folder| place::real_path(&folder)) else {
        return with_fault(payload, NO_FOLDER);
    };
    let mut payload = with(payload, "cwd", Value::str(folder.to_string_lossy()));
    if payload.get("argv").is_none()
        && payload.get("action").is_some_and(|it| it.is_keyword("exec"))
    {
        payload = command_as_script(payload);
    }
    let bare = with(&payload, PREPARED, Value::Nil);
    let Ok(Action::Exec(request)) = Action::from_payload(&bare) else { return payload };
    let facts = match workspace.layer() {
        Err(reason) => return with_fault(&payload, reason),
        Ok(layer) => EffectFacts {
            project: text(project.as_deref()),
            layer: layer.to_string().into(),
            ..EffectFacts::default()
        },
    };
    let facts = find_out(workspace, &request, facts, project.as_deref(), &folder);
    with_facts(&payload, &facts)
}

/// Files that keep nothing of what is written to them.
const SINKS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

const NO_FOLDER: &str = "this session has no project, and no folder was named: say `:cwd`, or give the session a project \
                         with `bridle project FOLDER`";

/// A single text under `:command` is a script: what several shells send.
fn command_as_script(payload: Value) -> Value {
    match payload.get("command").and_then(Value::as_str) {
        Some(text) if payload.get("script").is_none() => {
            let text = Value::str(text);
            with(&payload, "script", text)
        }
        _ => payload,
    }
}

fn find_out(
    workspace: &Workspace,
    request: &ExecRequest,
    mut facts: EffectFacts,
    project: Option<&Path>,
    folder: &Path,
) -> EffectFacts {
    let reading = match &request.command {
        ExecCommand::Argv(argv) => {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            read_argv(&argv)
        }
        ExecCommand::Script(script) => read_script(script).unwrap_or_else(|_| {
            facts.code.push("unread".into());
            ScriptReading::default()
        }),
    };
    describe(&reading, &mut facts);
    if request.env.iter().any(|(name, _)| variable_runs_code(name)) {
        add(&mut facts.code, code(&CommandRisk::VariableRunsCode(String::new())));
    }
    facts.inside = project.is_some_and(|project| folder.starts_with(project));
    facts.staged = facts.inside;
    if workspace.is_protected(folder) {
        facts.fault = Some("this folder is bridle's own: nothing runs there".into());
    }
    if !workspace.keeps(JailPromise::PathsKept)
        && project.is_some_and(|project| names_path(&reading, project))
    {
        // It would find the files as they are and could not write them.
        facts.inside = false;
    }
    facts.keys = words(&reading).any(names_key)
        || (facts.inside && project.is_some_and(|project| key_files(project).1));
    // What is sent with a key in it is asked for, whatever was granted.
    facts.keys |= !request.network.is_empty() && sends_secret(request);
    if !request.network.is_empty() && !workspace.keeps(JailPromise::HostsByName) {
        let fault = "the layer of the jail in force knows no hosts by name, so none can be granted";
        facts.fault = Some(fault.into());
    }
    let has_input = request.stdin.is_some() || reading.commands.len() > 1;
    for command in &reading.commands {
        let arguments: Vec<&str> =
            command.argv.iter().skip(1).filter_map(ScriptWord::text).collect();
        if let Some(program) = program(command)
            && let Some(hint) = interactive::hint(program, &arguments, has_input)
        {
            facts.fault = Some(hint.into());
        }
    }
    facts
}

/// Whether the command, its variables or its input have something that looks like a secret.
fn sends_secret(request: &ExecRequest) -> bool {
    let argv = request.argv();
    let variables = request.env.iter().map(|(name, value)| format!("{name}={value}"));
    let texts = argv.iter().chain(&request.stdin).map(ToString::to_string).chain(variables);
    let mut texts = texts;
    texts.any(|text| !find_secrets(Path::new("command"), text.as_bytes()).is_empty())
}

fn program(command: &ScriptCommand) -> Option<&str> {
    command.program.as_deref().or_else(|| command.argv.first()?.text())
}

/// Names programs and commands, and why these names say too little.
fn describe(reading: &ScriptReading, facts: &mut EffectFacts) {
    for command in reading.commands.iter().filter(|command| !only_goes_below(command)) {
        if let Some(program) = program(command) {
            let verb = command.argv.iter().skip(1).filter_map(ScriptWord::text);
            let verb = verb.into_iter().find(|word| !word.starts_with('-'));
            let named = verb.map_or(program.to_owned(), |verb| format!("{program} {verb}"));
            add(&mut facts.programs, program);
            add(&mut facts.commands, &named);
        }
        for risk in &command.risks {
            add(&mut facts.code, code(risk));
        }
        if !command.is_plain() && command.risks.is_empty() {
            add(&mut facts.code, "dynamic");
        }
    }
    let is_kept = |word: &ScriptWord| !word.text().is_some_and(|path| SINKS.contains(&path));
    if reading.written.iter().any(is_kept) {
        add(&mut facts.code, "writes");
    }
    if !reading.dynamic.is_empty() {
        add(&mut facts.code, "dynamic");
    }
}

/// Whether a command is a `cd` into a folder below: where the others run is followed, and it does nothing else.
fn only_goes_below(command: &ScriptCommand) -> bool {
    let words: Option<Vec<&str>> = command.argv.iter().map(ScriptWord::text).collect();
    match words.as_deref() {
        Some(["cd", folder]) => {
            let is_below = !folder.starts_with(['/', '~', '-']) && !folder.is_empty();
            is_below && folder.split('/').all(|part| part != "..") && command.is_plain()
        }
        _ => false,
    }
}

fn add(list: &mut Vec<Box<str>>, word: &str) {
    if !list.iter().any(|known| &**known == word) {
        list.push(word.into());
    }
}

fn code(risk: &CommandRisk) -> &'static str {
    match risk {
        CommandRisk::DynamicProgram => "dynamic",
        CommandRisk::Interpreter => "interpreter",
        CommandRisk::RunsCommand(_) => "runs-command",
        CommandRisk::RunsProjectCode => "project-code",
        CommandRisk::Remote => "remote",
        CommandRisk::GainsRights => "gains-rights",
        CommandRisk::VariableRunsCode(_) => "variable",
        CommandRisk::UnusualPath => "unusual-path",
        CommandRisk::NotUnderstood => "unread",
    }
}

/// All words that are known beforehand.
fn words(reading: &ScriptReading) -> impl Iterator<Item = &str> {
    let of_commands = reading.commands.iter().flat_map(|command| &command.argv);
    of_commands.chain(&reading.written).chain(&reading.read).filter_map(ScriptWord::text)
}

/// Whether a word names the project by its own path.
fn names_path(reading: &ScriptReading, project: &Path) -> bool {
    let project = project.to_string_lossy();
    words(reading).any(|word| word.contains(&*project))
}

#[cfg(test)]
mod tests;
