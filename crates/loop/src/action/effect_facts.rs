//! Facts about effects on files, programs and hosts that the daemon finds out before they are judged.
//!
//! The daemon puts them under `:prepared` into the payload, in the place of whatever was said there, so a yes
//! is bound to them and every reader of the record sees what the policies saw.

use bridle_sexp::Value;

use super::argument::is_plain_path;
use super::memory::PREPARED;

/// Longest list of programs, commands or paths that is told to policies.
pub const MAX_TOLD: usize = 512;

/// Facts about one effect; empty where nobody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EffectFacts {
    /// Folder of the project; empty without one.
    pub project: Box<str>,
    /// Whether all that it names lies in the project.
    pub inside: bool,
    /// Whether its changes wait on a stage.
    pub staged: bool,
    /// Layer of the jail in force; empty where none is needed.
    pub layer: Box<str>,
    /// Names of the programs that are started.
    pub programs: Vec<Box<str>>,
    /// Programs with their first argument, such as `cargo test`.
    pub commands: Vec<Box<str>>,
    /// Reasons for which a name says too little: `interpreter`, `runs-command`, `dynamic` ..
    pub code: Vec<Box<str>>,
    /// Whether it reads what looks like a key.
    pub keys: bool,
    /// Files that it touches, links followed: absolute.
    pub paths: Vec<Box<str>>,
    /// Changes that would be committed.
    pub changes: ChangeCounts,
    /// Reason why it cannot be done.
    pub fault: Option<Box<str>>,
}

/// Facts about the changes of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeCounts {
    /// Changed paths.
    pub files: i64,
    /// Deleted ones among them.
    pub deletions: i64,
    /// Bytes of new contents.
    pub bytes: i64,
    /// Secrets in new contents.
    pub secrets: i64,
    /// Links that lead out of the project, and files with the rights of their owner.
    pub outside: i64,
    /// Paths below the project, as many as are told.
    pub paths: Vec<Box<str>>,
    /// Those that run later, outside of the jail.
    pub runs_later: Vec<Box<str>>,
}

impl EffectFacts {
    /// Reads what the daemon put into a payload.
    pub(super) fn of(payload: &Value) -> Self {
        let Some(prepared) = payload.get(PREPARED) else { return Self::default() };
        let said = |key| prepared.get(key).and_then(Value::as_str).unwrap_or_default();
        let flag = |key| prepared.get(key).is_some_and(|flag| !flag.is_nil());
        let fault = prepared.get("fault").and_then(Value::as_str).map(Box::from);
        let mut paths = texts(prepared, "paths");
        paths.retain(|path| is_plain_path(path));
        Self {
            project: said("project").into(),
            inside: flag("inside"),
            staged: flag("staged"),
            layer: said("layer").into(),
            programs: texts(prepared, "programs"),
            commands: texts(prepared, "commands"),
            code: texts(prepared, "code"),
            keys: flag("keys"),
            paths,
            changes: prepared.get("changes").map(ChangeCounts::of).unwrap_or_default(),
            fault,
        }
    }

    /// The plist that stands under `:prepared`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut pairs = Vec::new();
        let mut put = |key: &'static str, value: Value| pairs.push((key, value));
        for (key, text) in [("project", &self.project), ("layer", &self.layer)] {
            if !text.is_empty() {
                put(key, Value::str(&**text));
            }
        }
        for (key, flag) in [("inside", self.inside), ("staged", self.staged), ("keys", self.keys)] {
            if flag {
                put(key, Value::T);
            }
        }
        let lists = [
            ("programs", &self.programs),
            ("commands", &self.commands),
            ("code", &self.code),
            ("paths", &self.paths),
        ];
        for (key, list) in lists {
            if !list.is_empty() {
                put(key, Value::list(list.iter().take(MAX_TOLD).map(|text| Value::str(&**text))));
            }
        }
        if self.changes != ChangeCounts::default() {
            put("changes", self.changes.to_value());
        }
        if let Some(fault) = &self.fault {
            put("fault", Value::str(&**fault));
        }
        Value::plist(pairs)
    }
}

impl ChangeCounts {
    fn of(changes: &Value) -> Self {
        let number = |key| changes.get(key).and_then(Value::as_i64).unwrap_or_default();
        Self {
            files: number("files"),
            deletions: number("deletions"),
            bytes: number("bytes"),
            secrets: number("secrets"),
            outside: number("outside"),
            paths: texts(changes, "paths"),
            runs_later: texts(changes, "runs-later"),
        }
    }

    fn to_value(&self) -> Value {
        let mut pairs = Vec::new();
        let numbers = [
            ("files", self.files),
            ("deletions", self.deletions),
            ("bytes", self.bytes),
            ("secrets", self.secrets),
            ("outside", self.outside),
        ];
        pairs.extend(
            numbers.into_iter().filter(|it| it.1 != 0).map(|(key, it)| (key, Value::int(it))),
        );
        for (key, list) in [("paths", &self.paths), ("runs-later", &self.runs_later)] {
            if !list.is_empty() {
                let told = list.iter().take(MAX_TOLD).map(|text| Value::str(&**text));
                pairs.push((key, Value::list(told)));
            }
        }
        Value::plist(pairs)
    }
}

/// Strings of a list, at most so many that policies can be asked about them.
fn texts(value: &Value, key: &str) -> Vec<Box<str>> {
    let all = value.get(key).and_then(Value::elements).unwrap_or_default();
    all.iter().filter_map(Value::as_str).take(MAX_TOLD).map(Box::from).collect()
}
