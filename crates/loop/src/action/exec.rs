//! Action of `:exec`: a program with its arguments, or a script, in the jail.

use bridle_sexp::Value;

use super::InvalidAction;
use super::argument::{is_host, path};
use super::effect_facts::EffectFacts;

/// The most arguments of a program, itself included: each is a fact for the policies.
const MAX_ARGUMENTS: usize = 256;

/// Longest script, in bytes.
const MAX_SCRIPT_BYTES: usize = 64 << 10;

/// Most variables, and most hosts, of one run.
const MAX_VARIABLES: usize = 64;
const MAX_HOSTS: usize = 32;

/// Longest time of a run, in seconds.
const MAX_SECONDS: i64 = 24 * 3600;

/// Run of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecRequest {
    /// Program to run.
    pub command: ExecCommand,
    /// Working directory: absolute, without `.` and `..`.
    pub cwd: Option<Box<str>>,
    /// Variables, beside the clean ones.
    pub env: Vec<(Box<str>, Box<str>)>,
    /// Text for its standard input.
    pub stdin: Option<Box<str>>,
    /// Longest time by the clock, in seconds.
    pub seconds: Option<u64>,
    /// Hosts that it wants to reach, as `HOST`, `*.HOST`, with `:PORT` or without.
    pub network: Vec<Box<str>>,
    /// Facts that the daemon found out.
    pub facts: EffectFacts,
}

/// Command of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecCommand {
    /// The program and its arguments, without a shell around them.
    Argv(Vec<Box<str>>),
    /// Text for `/bin/sh`, exactly as it is judged.
    Script(Box<str>),
}

impl ExecRequest {
    /// Reads `:argv ("program" "argument" ..)` or `:script "text"`, and what is around it.
    pub(super) fn from_payload(payload: &Value) -> Result<Self, InvalidAction> {
        let script = payload.get("script").filter(|script| !script.is_nil());
        let argv = payload.get("argv").filter(|argv| !argv.is_nil());
        let command = match (argv, script) {
            (Some(_), Some(_)) => {
                return Err(fault("script", "either `:argv` or `:script`"));
            }
            (_, None) => ExecCommand::Argv(words(payload)?),
            (None, Some(script)) => {
                let is_good = |text: &&str| {
                    !text.trim().is_empty()
                        && text.len() <= MAX_SCRIPT_BYTES
                        && !text.contains('\0')
                };
                let text = script.as_str().filter(is_good);
                let text = text.ok_or(fault("script", "a string of at most 64 KiB"))?;
                ExecCommand::Script(text.into())
            }
        };
        let cwd = payload.get("cwd").map(|_| path(payload, "exec", "cwd")).transpose()?;
        let stdin = match payload.get("stdin").filter(|stdin| !stdin.is_nil()) {
            None => None,
            Some(stdin) => Some(stdin.as_str().ok_or(fault("stdin", "a string"))?.into()),
        };
        let seconds = match payload.get("seconds").filter(|seconds| !seconds.is_nil()) {
            None => None,
            Some(seconds) => {
                let seconds = seconds.as_i64().filter(|it| (1..=MAX_SECONDS).contains(it));
                let seconds = seconds.and_then(|it| u64::try_from(it).ok());
                Some(seconds.ok_or(fault("seconds", "1 to 86400"))?)
            }
        };
        Ok(Self {
            command,
            cwd,
            env: variables(payload)
                .ok_or_else(|| fault("env", "a list of at most 64 strings `NAME=VALUE`"))?,
            stdin,
            seconds,
            network: hosts(payload)?,
            facts: EffectFacts::of(payload),
        })
    }

    /// Program and arguments; a script as what `/bin/sh` gets.
    pub fn argv(&self) -> Vec<Box<str>> {
        match &self.command {
            ExecCommand::Argv(argv) => argv.clone(),
            ExecCommand::Script(text) => vec!["/bin/sh".into(), "-c".into(), text.clone()],
        }
    }
}

fn fault(key: &'static str, expected: &'static str) -> InvalidAction {
    InvalidAction::Argument { action: "exec", key, expected }
}

fn words(payload: &Value) -> Result<Vec<Box<str>>, InvalidAction> {
    let fault = fault("argv", "a list of 1 to 256 strings, the program first");
    let words = payload.get("argv").and_then(Value::elements).unwrap_or(&[]);
    if words.is_empty() || words.len() > MAX_ARGUMENTS {
        return Err(fault);
    }
    let word = |word: &Value| word.as_str().filter(|word| !word.contains('\0')).map(Into::into);
    let argv: Option<Vec<Box<str>>> = words.iter().map(word).collect();
    let argv = argv.filter(|argv| argv.first().is_some_and(|program| !program.is_empty()));
    argv.ok_or(fault)
}

/// `:env ("NAME=VALUE" ..)`.
fn variables(payload: &Value) -> Option<Vec<(Box<str>, Box<str>)>> {
    let pair = |value: &Value| {
        let (name, value) = value.as_str()?.split_once('=')?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.as_bytes()[0].is_ascii_digit();
        (is_name && !value.contains('\0')).then(|| (name.into(), value.into()))
    };
    list(payload, "env", MAX_VARIABLES, pair)
}

/// `:network ("HOST" ..)`.
fn hosts(payload: &Value) -> Result<Vec<Box<str>>, InvalidAction> {
    let fault =
        || fault("network", "a list of at most 32 hosts, as `HOST`, `*.HOST` or `HOST:PORT`");
    let host = |value: &Value| {
        let text = value.as_str()?;
        let name = text.strip_prefix("*.").unwrap_or(text);
        let name = name.strip_suffix("+private").unwrap_or(name);
        let (name, port) = name.split_once(':').unwrap_or((name, "443"));
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        (is_host(name) && is_port).then(|| Box::from(text))
    };
    list(payload, "network", MAX_HOSTS, host).ok_or_else(fault)
}

/// The elements of a list, or of none; `None` if one of them is not good.
fn list<T>(
    payload: &Value,
    key: &str,
    most: usize,
    read: impl Fn(&Value) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(value) = payload.get(key).filter(|value| !value.is_nil()) else {
        return Some(Vec::new());
    };
    let elements = value.elements().filter(|all| all.len() <= most)?;
    elements.iter().map(read).collect()
}
