//! Prefixes of commands are taken off (`env A=1 nice timeout 5 git ..`), and commands that stand in
//! options or arguments (`sh -c`, `find -exec`) are read as commands of their own.

use super::classify::{self, Wrapping};
use super::word::merge;
use super::{
    CommandRisk, MAX_COMMANDS, MAX_DEPTH, ScriptCommand, ScriptReading, ScriptWord, read_nested,
};

/// Folders of the system's programs: there a name means what it says.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Adds a command, and the commands in it.
pub(super) fn push_command(
    reading: &mut ScriptReading,
    mut argv: Vec<ScriptWord>,
    mut variables: Vec<String>,
    folder: &ScriptWord,
    depth: usize,
) {
    let (wrappers, mut risks) = strip_wrappers(&mut argv, &mut variables);
    let name = name_with_risks(&argv, &wrappers, &mut risks);
    let inner = name.as_deref().map(|name| classify::inner_commands(base_name(name), &argv));
    if reading.commands.len() >= MAX_COMMANDS {
        reading.dynamic.push("more commands than are read".into());
        return;
    }
    let command =
        ScriptCommand { program: name, argv, wrappers, folder: folder.clone(), variables, risks };
    reading.commands.push(command);
    push_inner(reading, inner.unwrap_or_default(), folder, depth);
}

/// Takes prefixes off; returns them with the risks that they and their variables are.
fn strip_wrappers(
    argv: &mut Vec<ScriptWord>,
    variables: &mut Vec<String>,
) -> (Vec<String>, Vec<CommandRisk>) {
    let mut wrappers = Vec::new();
    let mut risks = Vec::new();
    while let Some(name) = argv.first().and_then(ScriptWord::text).map(system_name) {
        let Some(wrapping) = classify::wrapping(&name) else { break };
        let inner = take_off(&wrapping, argv, variables);
        if wrapping.gains_rights {
            add(&mut risks, CommandRisk::GainsRights);
        }
        match inner {
            Some(inner) if !inner.is_empty() => {
                wrappers.push(name);
                *argv = inner;
            }
            Some(_) => break,
            None => {
                add(&mut risks, CommandRisk::NotUnderstood);
                break;
            }
        }
    }
    risks.extend(
        variables
            .iter()
            .filter(|it| classify::runs_code(it))
            .map(|it| CommandRisk::VariableRunsCode(it.clone())),
    );
    (wrappers, risks)
}

/// Name of the program, and the risks of it and of its arguments.
fn name_with_risks(
    argv: &[ScriptWord],
    wrappers: &[String],
    risks: &mut Vec<CommandRisk>,
) -> Option<String> {
    let name = match argv.first() {
        Some(ScriptWord::Static(text)) => Some(system_name(text)),
        _ => {
            add(risks, CommandRisk::DynamicProgram);
            None
        }
    };
    if name.as_ref().is_some_and(|name| name.contains('/')) {
        add(risks, CommandRisk::UnusualPath);
    }
    if let Some(name) = &name {
        let is_fed_by_xargs = wrappers.iter().any(|it| classify::FEEDING.contains(&it.as_str()));
        if is_fed_by_xargs {
            add(risks, CommandRisk::RunsCommand("arguments from its input".into()));
        }
        for risk in classify::risks(base_name(name), argv) {
            add(risks, risk);
        }
    }
    name
}

/// Reads the commands that stand in another one.
fn push_inner(
    reading: &mut ScriptReading,
    inner: Vec<classify::InnerCommand>,
    folder: &ScriptWord,
    depth: usize,
) {
    if depth >= MAX_DEPTH {
        if !inner.is_empty() {
            reading.dynamic.push("commands in commands, deeper than is read".into());
        }
        return;
    }
    for found in inner {
        match found {
            classify::InnerCommand::Argv(words) => {
                push_command(reading, words, Vec::new(), folder, depth + 1);
            }
            classify::InnerCommand::Script(ScriptWord::Static(text)) => {
                match read_nested(&text, depth + 1) {
                    Ok(inner) => merge(reading, inner),
                    Err(error) => reading.dynamic.push(error.to_string()),
                }
            }
            classify::InnerCommand::Script(ScriptWord::Dynamic(_)) => {
                reading.dynamic.push("a script that is only known when it runs".into());
            }
        }
    }
}

fn add(risks: &mut Vec<CommandRisk>, risk: CommandRisk) {
    if !risks.contains(&risk) {
        risks.push(risk);
    }
}

/// Name without the folder, if that is one of the system's.
fn system_name(text: &str) -> String {
    let rest = SYSTEM_FOLDERS.iter().find_map(|folder| text.strip_prefix(folder));
    rest.filter(|rest| !rest.is_empty() && !rest.contains('/')).unwrap_or(text).to_owned()
}

fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// What stands behind a prefix and its options; `None` when an option is not understood.
fn take_off(
    wrapping: &Wrapping,
    argv: &[ScriptWord],
    variables: &mut Vec<String>,
) -> Option<Vec<ScriptWord>> {
    let mut rest = &argv[1..];
    let mut positional = wrapping.positional;
    while let Some(first) = rest.first() {
        let text = first.text()?;
        if text == "--" {
            rest = &rest[1..];
            break;
        }
        if wrapping.takes_assignments && text.contains('=') && !text.starts_with('-') {
            variables.extend(text.split('=').next().map(str::to_owned));
            rest = &rest[1..];
            continue;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        let takes_value = wrapping.with_value.contains(&text);
        let has_value = wrapping.with_value.iter().any(|option| {
            let is_long = option.starts_with("--");
            (is_long && text.starts_with(&format!("{option}=")))
                || (!is_long && text.len() > 2 && text.starts_with(option))
        });
        let is_known = takes_value || has_value || wrapping.flags.contains(&text);
        if !is_known {
            return None;
        }
        rest = rest.get(if takes_value { 2 } else { 1 }..)?;
    }
    while wrapping.takes_assignments
        && let Some(text) = rest.first().and_then(ScriptWord::text)
        && text.contains('=')
    {
        variables.extend(text.split('=').next().map(str::to_owned));
        rest = &rest[1..];
    }
    while positional > 0 && !rest.is_empty() {
        rest = &rest[1..];
        positional -= 1;
    }
    Some(rest.to_vec())
}
