//! What one side asks of the other: the actions that a payload may name.
//!
//! Built like `sensor`: one table per action. An action that is not listed is kept as
//! [`Action::Other`]; whoever receives it answers `unsupported`. The handshake is in `hello`.

use bridle_sexp::Value;

use super::Target;
use super::hello;
use super::invalid::{Invalid, Path};
use super::shape::{Field, Shape, check_fields, check_shape, record};
use super::view::{View, check_plist};

/// The key that names an action.
const ACTION: &str = "action";

record! {
    /// Evaluate code at the target: Elisp in Emacs, Lisp in the daemon.
    Eval {
        /// The text of the code.
        code "code" must Text,
    }
}

record! {
    /// Show something to the user without taking the focus.
    Notify {
        /// What to show.
        text "text" must Text,
        /// How much it matters, such as `:warning`.
        level "level" may Keyword,
        /// Why it is shown.
        explanation "explanation" may Text,
    }
}

record! {
    /// Ask for completions, or give them.
    Complete {
        /// The text before point.
        prefix "prefix" must Text,
        /// The completions, when given.
        suggestions "suggestions" may Texts,
    }
}

record! {
    /// Append text to a buffer.
    InsertAtEnd {
        /// The text.
        text "text" must Text,
        /// The buffer's name.
        buffer "buffer" may Text,
    }
}

record! {
    /// Change the properties of an Org subtree.
    RefactorSubtree {
        /// The Org id of the heading.
        target_id "target-id" must Label,
        /// Pairs of name and value; kept exactly, dotted pairs included.
        properties "properties" may List,
    }
}

record! {
    /// Send a message to the outside, on the target `:delivery`.
    Deliver {
        /// The road, such as `:signal`.
        channel "channel" must Keyword,
        /// The address on that road.
        to "to" must Text,
        /// What to send.
        text "text" must Text,
    }
}

record! {
    /// Make a new project, on the target `:foundry`.
    Scaffold {
        /// The project's name.
        name "name" must Text,
        /// What kind of project.
        kind "type" may Name,
    }
}

record! {
    /// Write a new skill, on the target `:system`.
    CreateSkill {
        /// The name of the skill's file.
        filename "filename" must Text,
        /// Its text.
        content "content" must Text,
    }
}

record! {
    /// Answer an approval that the guard asked for.
    Approve {
        /// Which approval.
        approval "approval" must Label,
        /// The answer, such as `:allow` or `:deny`.
        verdict "verdict" may Keyword,
    }
}

/// What one side asks of the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'m> {
    /// `:eval`
    Eval(Eval<'m>),
    /// `:message`
    Notify(Notify<'m>),
    /// `:complete`
    Complete(Complete<'m>),
    /// `:insert-at-end`
    InsertAtEnd(InsertAtEnd<'m>),
    /// `:refactor-subtree`
    RefactorSubtree(RefactorSubtree<'m>),
    /// No `:action`, but the target `:delivery`.
    Deliver(Deliver<'m>),
    /// `:scaffold`
    Scaffold(Scaffold<'m>),
    /// `:create-skill`
    CreateSkill(CreateSkill<'m>),
    /// `:approve`
    Approve(Approve<'m>),
    /// `:handshake`; [`hello`] reads its fields.
    Handshake(&'m Value),
    /// An action that this version does not know, or none: the payload as it came.
    Other(&'m Value),
}

impl<'m> Action<'m> {
    /// Reads a payload; `target` is the envelope's, since a delivery names no action.
    ///
    /// # Errors
    /// When the action is no keyword, or a field of a known action has another type.
    pub fn from_payload(target: Option<&Target>, payload: &'m Value) -> Result<Self, Invalid> {
        check_plist(payload, &Path::of(&["payload"]))?;
        let Some(known) = check(target, payload)? else { return Ok(Action::Other(payload)) };
        let read = match known {
            Known::Eval => Eval::read(payload).map(Action::Eval),
            Known::Notify => Notify::read(payload).map(Action::Notify),
            Known::Complete => Complete::read(payload).map(Action::Complete),
            Known::InsertAtEnd => InsertAtEnd::read(payload).map(Action::InsertAtEnd),
            Known::RefactorSubtree => RefactorSubtree::read(payload).map(Action::RefactorSubtree),
            Known::Deliver => Deliver::read(payload).map(Action::Deliver),
            Known::Scaffold => Scaffold::read(payload).map(Action::Scaffold),
            Known::CreateSkill => CreateSkill::read(payload).map(Action::CreateSkill),
            Known::Approve => Approve::read(payload).map(Action::Approve),
            Known::Handshake => Some(Action::Handshake(payload)),
        };
        Ok(read.unwrap_or(Action::Other(payload)))
    }

    /// Returns the payload: `:action` first, then the fields in the order of the table.
    pub fn to_payload(&self) -> Value {
        match self {
            Action::Eval(fields) => named(Known::Eval, |out| fields.push(out)),
            Action::Notify(fields) => named(Known::Notify, |out| fields.push(out)),
            Action::Complete(fields) => named(Known::Complete, |out| fields.push(out)),
            Action::InsertAtEnd(fields) => named(Known::InsertAtEnd, |out| fields.push(out)),
            Action::RefactorSubtree(fields) => {
                named(Known::RefactorSubtree, |out| fields.push(out))
            }
            Action::Deliver(fields) => named(Known::Deliver, |out| fields.push(out)),
            Action::Scaffold(fields) => named(Known::Scaffold, |out| fields.push(out)),
            Action::CreateSkill(fields) => named(Known::CreateSkill, |out| fields.push(out)),
            Action::Approve(fields) => named(Known::Approve, |out| fields.push(out)),
            Action::Handshake(payload) | Action::Other(payload) => Value::clone(payload),
        }
    }
}

fn named(known: Known, push: impl FnOnce(&mut Vec<Value>)) -> Value {
    let mut out = Vec::new();
    if let Some(name) = known.name() {
        out.extend([Value::keyword(ACTION), Value::keyword(name)]);
    }
    push(&mut out);
    Value::list(out)
}

/// The actions that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Eval,
    Notify,
    Complete,
    InsertAtEnd,
    RefactorSubtree,
    Deliver,
    Scaffold,
    CreateSkill,
    Approve,
    Handshake,
}

impl Known {
    const ALL: [Known; 10] = [
        Known::Eval,
        Known::Notify,
        Known::Complete,
        Known::InsertAtEnd,
        Known::RefactorSubtree,
        Known::Deliver,
        Known::Scaffold,
        Known::CreateSkill,
        Known::Approve,
        Known::Handshake,
    ];

    /// `None` for a delivery: its target says it all.
    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Known::Eval => "eval",
            Known::Notify => "message",
            Known::Complete => "complete",
            Known::InsertAtEnd => "insert-at-end",
            Known::RefactorSubtree => "refactor-subtree",
            Known::Deliver => return None,
            Known::Scaffold => "scaffold",
            Known::CreateSkill => "create-skill",
            Known::Approve => "approve",
            Known::Handshake => "handshake",
        })
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Known::Eval => Eval::FIELDS,
            Known::Notify => Notify::FIELDS,
            Known::Complete => Complete::FIELDS,
            Known::InsertAtEnd => InsertAtEnd::FIELDS,
            Known::RefactorSubtree => RefactorSubtree::FIELDS,
            Known::Deliver => Deliver::FIELDS,
            Known::Scaffold => Scaffold::FIELDS,
            Known::CreateSkill => CreateSkill::FIELDS,
            Known::Approve => Approve::FIELDS,
            Known::Handshake => &[],
        }
    }
}

/// Checks the action of a payload that is a plist; returns it if it has a table.
pub(crate) fn check<V: View>(
    target: Option<&Target>,
    payload: V,
) -> Result<Option<Known>, Invalid> {
    let path = Path::of(&["payload"]);
    let known = match payload.get_some(ACTION) {
        Some(action) => {
            check_shape(action, Shape::Keyword, &path.key(ACTION))?;
            Known::ALL
                .into_iter()
                .find(|known| known.name().is_some_and(|name| action.is_keyword(name)))
        }
        None => target.filter(|target| target.is("delivery")).map(|_| Known::Deliver),
    };
    if let Some(known) = known {
        check_fields(payload, known.fields(), &path)?;
        if known == Known::Handshake {
            hello::check(payload, &path)?;
        }
    }
    Ok(known)
}
