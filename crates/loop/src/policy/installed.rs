//! The policies that a session is judged by, known by their hash.
//!
//! An event brings them, the state keeps them; the text of both names only the hash. Whoever reads a
//! state or an event back supplies the set again. Until then everything is denied.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{DEFAULT_POLICY, GuardPolicies};
use crate::action::{Action, ExecCommand};
use crate::hash::PolicyHash;
use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, element_text, list, text};

/// A set of policies and the files that it must not be changed through.
#[derive(Clone, Debug)]
pub struct InstalledPolicies {
    hash: PolicyHash,
    engine: Box<str>,
    protected: Arc<[Box<str>]>,
    set: Option<Arc<GuardPolicies>>,
}

impl InstalledPolicies {
    /// Installs a set; `protected` are absolute paths of the files and folders of policies, skills,
    /// configuration and state.
    pub fn new(set: Arc<GuardPolicies>, protected: Vec<Box<str>>) -> Self {
        let engine = GuardPolicies::engine().into();
        Self { hash: set.hash(), engine, protected: protected.into(), set: Some(set) }
    }

    /// The hash of the set's text.
    pub fn hash(&self) -> PolicyHash {
        self.hash
    }

    /// The version of the engine that it was installed under.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// The hash of the set, if it is not here.
    pub fn wanted(&self) -> Option<PolicyHash> {
        self.set().is_none().then_some(self.hash)
    }

    /// Takes the set, if it is the one.
    pub fn supply(&mut self, set: &Arc<GuardPolicies>) {
        if self.hash == set.hash() {
            self.set = Some(set.clone());
        }
    }

    /// The set, if it is here.
    pub fn set(&self) -> Option<&GuardPolicies> {
        let is_built_in = || self.hash == PolicyHash::of(DEFAULT_POLICY);
        self.set.as_deref().or_else(|| is_built_in().then(GuardPolicies::default_set))
    }

    /// Whether an action names a protected file, as far as its arguments tell. What they do not
    /// tell is hidden from programs by their sandbox.
    pub(crate) fn protects(&self, action: &Action) -> bool {
        let is_below = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let touches = |path: &str| self.protected.iter().any(|folder| is_below(path, folder));
        match action {
            Action::File(file) => {
                touches(&file.path)
                    || file.elsewhere().is_some_and(touches)
                    // A link may lead there: the daemon has followed it.
                    || file.facts.paths.iter().any(|path| touches(path))
            }
            Action::Stage(stage) => stage.facts.paths.iter().any(|path| touches(path)),
            Action::Edit(edit) if touches(&edit.path) => true,
            Action::Edit(edit) if edit.elsewhere().is_some_and(touches) => true,
            // A link may lead there: the daemon has followed it.
            Action::Edit(_) | Action::Undo(_) => {
                let prepared = action.prepared().map(|prepared| &*prepared.paths);
                prepared.unwrap_or_default().iter().any(|path| touches(path))
            }
            // A program that is given a folder may reach what is below it.
            Action::Exec(exec) => {
                let words = match &exec.command {
                    ExecCommand::Argv(argv) => &argv[..],
                    // What a script names is hidden from it.
                    ExecCommand::Script(_) => &[],
                };
                words.iter().chain(&exec.cwd).any(|word| {
                    touches(word) || self.protected.iter().any(|path| is_below(path, word))
                })
            }
            Action::InsertAtEnd { buffer: Some(buffer), .. } => {
                touches(buffer) || self.protected.iter().any(|path| is_buffer_of(buffer, path))
            }
            _ => false,
        }
    }

    /// As a plist.
    pub(crate) fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_str("hash", &self.hash.to_string())
            .put_str("engine", &self.engine)
            .put_texts("protected", self.protected.iter().map(|path| &**path))
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            hash: PolicyHash::from_value(value, "hash")?,
            engine: text(value, "engine")?,
            protected: list(value, "protected", element_text)?.into(),
            set: None,
        })
    }
}

/// Whether the set itself is here makes no difference: the hash says which it is.
impl PartialEq for InstalledPolicies {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |one: &Arc<[Box<str>]>, other| Arc::ptr_eq(one, other) || one == other;
        self.hash == other.hash
            && self.engine == other.engine
            && is_same(&self.protected, &other.protected)
    }
}

/// Whether an editor would give this name to the buffer of a file: its last name, with a number or
/// a folder in angle brackets after it.
fn is_buffer_of(buffer: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    buffer.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('<'))
}
