//! What one side asks of the other: the actions that a payload may name.
//!
//! Built like `sensor`: one table per action. An action that is not listed is kept as
//! [`OacpAction::Other`]; whoever receives it answers `unsupported`. The handshake is in `hello`.

use bridle_sexp::Value;

use super::RequestTarget;
use super::hello;
use super::invalid::{InvalidMessage, MessagePath};
use super::shape::{FieldRow, FieldShape, check_fields, check_shape, record};
use super::view::{MessageView, check_plist};

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
        /// Text to show.
        text "text" must Text,
        /// Importance, such as `:warning`.
        level "level" may Keyword,
        /// Reason why it is shown.
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
        /// Text to send.
        text "text" must Text,
    }
}

record! {
    /// Make a new project, on the target `:foundry`.
    Scaffold {
        /// The project's name.
        name "name" must Text,
        /// Kind of the project.
        kind "type" may Name,
    }
}

record! {
    /// Write a new skill, on the target `:system`.
    CreateSkill {
        /// The name of the skill's file.
        filename "filename" must Text,
        /// Text of the skill.
        content "content" must Text,
    }
}

record! {
    /// Answer an approval that the guard asked for.
    Approve {
        /// Name of the approval.
        approval "approval" must Label,
        /// The answer, such as `:allow` or `:deny`.
        verdict "verdict" may Keyword,
    }
}

/// Action that one side asks of the other.
#[derive(Clone, Debug, PartialEq)]
pub enum OacpAction<'m> {
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

impl<'m> OacpAction<'m> {
    /// Reads a payload; `target` is the envelope's, since a delivery names no action.
    ///
    /// # Errors
    /// When the action is no keyword, or a field of a known action has another type.
    pub fn from_payload(
        target: Option<&RequestTarget>,
        payload: &'m Value,
    ) -> Result<Self, InvalidMessage> {
        check_plist(payload, &MessagePath::of(&["payload"]))?;
        let Some(known) = check(target, payload)? else { return Ok(OacpAction::Other(payload)) };
        let read = match known {
            KnownAction::Eval => Eval::read(payload).map(OacpAction::Eval),
            KnownAction::Notify => Notify::read(payload).map(OacpAction::Notify),
            KnownAction::Complete => Complete::read(payload).map(OacpAction::Complete),
            KnownAction::InsertAtEnd => InsertAtEnd::read(payload).map(OacpAction::InsertAtEnd),
            KnownAction::RefactorSubtree => {
                RefactorSubtree::read(payload).map(OacpAction::RefactorSubtree)
            }
            KnownAction::Deliver => Deliver::read(payload).map(OacpAction::Deliver),
            KnownAction::Scaffold => Scaffold::read(payload).map(OacpAction::Scaffold),
            KnownAction::CreateSkill => CreateSkill::read(payload).map(OacpAction::CreateSkill),
            KnownAction::Approve => Approve::read(payload).map(OacpAction::Approve),
            KnownAction::Handshake => Some(OacpAction::Handshake(payload)),
        };
        Ok(read.unwrap_or(OacpAction::Other(payload)))
    }

    /// Returns the payload: `:action` first, then the fields in the order of the table.
    pub fn to_payload(&self) -> Value {
        match self {
            OacpAction::Eval(fields) => named(KnownAction::Eval, |out| fields.push(out)),
            OacpAction::Notify(fields) => named(KnownAction::Notify, |out| fields.push(out)),
            OacpAction::Complete(fields) => named(KnownAction::Complete, |out| fields.push(out)),
            OacpAction::InsertAtEnd(fields) => {
                named(KnownAction::InsertAtEnd, |out| fields.push(out))
            }
            OacpAction::RefactorSubtree(fields) => {
                named(KnownAction::RefactorSubtree, |out| fields.push(out))
            }
            OacpAction::Deliver(fields) => named(KnownAction::Deliver, |out| fields.push(out)),
            OacpAction::Scaffold(fields) => named(KnownAction::Scaffold, |out| fields.push(out)),
            OacpAction::CreateSkill(fields) => {
                named(KnownAction::CreateSkill, |out| fields.push(out))
            }
            OacpAction::Approve(fields) => named(KnownAction::Approve, |out| fields.push(out)),
            OacpAction::Handshake(payload) | OacpAction::Other(payload) => Value::clone(payload),
        }
    }
}

fn named(known: KnownAction, push: impl FnOnce(&mut Vec<Value>)) -> Value {
    let mut out = Vec::new();
    if let Some(name) = known.name() {
        out.extend([Value::keyword(ACTION), Value::keyword(name)]);
    }
    push(&mut out);
    Value::list(out)
}

/// The actions that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownAction {
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

impl KnownAction {
    const ALL: [KnownAction; 10] = [
        KnownAction::Eval,
        KnownAction::Notify,
        KnownAction::Complete,
        KnownAction::InsertAtEnd,
        KnownAction::RefactorSubtree,
        KnownAction::Deliver,
        KnownAction::Scaffold,
        KnownAction::CreateSkill,
        KnownAction::Approve,
        KnownAction::Handshake,
    ];

    /// `None` for a delivery: its target says it all.
    const fn name(self) -> Option<&'static str> {
        Some(match self {
            KnownAction::Eval => "eval",
            KnownAction::Notify => "message",
            KnownAction::Complete => "complete",
            KnownAction::InsertAtEnd => "insert-at-end",
            KnownAction::RefactorSubtree => "refactor-subtree",
            KnownAction::Deliver => return None,
            KnownAction::Scaffold => "scaffold",
            KnownAction::CreateSkill => "create-skill",
            KnownAction::Approve => "approve",
            KnownAction::Handshake => "handshake",
        })
    }

    const fn fields(self) -> &'static [FieldRow] {
        match self {
            KnownAction::Eval => Eval::FIELDS,
            KnownAction::Notify => Notify::FIELDS,
            KnownAction::Complete => Complete::FIELDS,
            KnownAction::InsertAtEnd => InsertAtEnd::FIELDS,
            KnownAction::RefactorSubtree => RefactorSubtree::FIELDS,
            KnownAction::Deliver => Deliver::FIELDS,
            KnownAction::Scaffold => Scaffold::FIELDS,
            KnownAction::CreateSkill => CreateSkill::FIELDS,
            KnownAction::Approve => Approve::FIELDS,
            KnownAction::Handshake => &[],
        }
    }
}

/// Checks the action of a payload that is a plist; returns it if it has a table.
pub(crate) fn check<V: MessageView>(
    target: Option<&RequestTarget>,
    payload: V,
) -> Result<Option<KnownAction>, InvalidMessage> {
    let path = MessagePath::of(&["payload"]);
    let known = match payload.get_some(ACTION) {
        Some(action) => {
            check_shape(action, FieldShape::Keyword, &path.key(ACTION))?;
            KnownAction::ALL
                .into_iter()
                .find(|known| known.name().is_some_and(|name| action.is_keyword(name)))
        }
        None => target.filter(|target| target.is("delivery")).map(|_| KnownAction::Deliver),
    };
    if let Some(known) = known {
        check_fields(payload, known.fields(), &path)?;
        if known == KnownAction::Handshake {
            hello::check(payload, &path)?;
        }
    }
    Ok(known)
}
