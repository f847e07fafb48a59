//! What a shell perceives: the sensors that the payload of an `:EVENT` may name.
//!
//! One table per sensor gives its struct, its check and its writer. A sensor that is not listed
//! here is no error: it is kept as [`Sensor::Other`], recorded, and offered to skills.

use bridle_sexp::Value;

use super::invalid::{Invalid, Path};
use super::shape::{Field, Shape, check_fields, check_shape, field, missing, record, shapes};
use super::view::{View, check_plist};

/// The key that names a sensor.
const SENSOR: &str = "sensor";

record! {
    /// The user says something; its three names mean the same.
    Prompt {
        /// What was said.
        text "text" must Text,
        /// What it is about, such as `:current-subtree`.
        context "context" may Any,
        /// The road it came on, such as `:telegram`.
        channel "channel" may Keyword,
        /// The conversation on that road.
        chat_id "chat-id" may Label,
        /// Who said it, as that road names people.
        sender "sender" may Text,
    }
}

record! {
    /// A buffer was changed or saved.
    BufferUpdate {
        /// The file behind the buffer.
        file "file" may Text,
        /// The buffer's name, for one without a file.
        buffer "buffer" may Text,
        /// What happened, such as `:saved`.
        state "state" may Keyword,
        /// The org-element tree; kept exactly, never looked into.
        ast "ast" may List,
        /// The whole text.
        text "text" may Text,
        /// What changed since the last update.
        changes "changes" may List,
    }
}

record! {
    /// The user's cursor is somewhere else.
    Focus {
        /// The buffer's name.
        buffer "buffer" may Text,
        /// The file behind it.
        file "file" may Text,
        /// Counted from 1.
        line "line" may Natural,
        /// Counted from 0.
        column "column" may Natural,
    }
}

record! {
    /// The element at point is another one.
    PointUpdate {
        /// The file behind the buffer.
        file "file" may Text,
        /// The org element at point; kept exactly.
        element "element" may List,
    }
}

record! {
    /// The user calls a command by name.
    UserCommand {
        /// The name of the command.
        command "command" must Name,
        /// The file it is about.
        file "file" may Text,
        /// The org-element tree it is about; kept exactly.
        ast "ast" may List,
    }
}

record! {
    /// A tool finished.
    ToolOutput {
        /// The tool.
        tool "tool" may Name,
        /// What it gave back.
        result "result" may Any,
    }
}

record! {
    /// A tool failed.
    ToolError {
        /// The tool.
        tool "tool" may Name,
        /// Why, for people.
        message "message" may Text,
    }
}

/// The name under which a prompt came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptName {
    /// `:user-prompt`, of version 0.3.
    UserPrompt,
    /// `:user-input`, of version 0.2.
    UserInput,
    /// `:chat-message`, used by chat gateways.
    ChatMessage,
}

/// What a shell perceives.
#[derive(Clone, Debug, PartialEq)]
pub enum Sensor<'m> {
    /// `:user-prompt`, `:user-input` or `:chat-message`.
    Prompt(PromptName, Prompt<'m>),
    /// `:buffer-update`
    BufferUpdate(BufferUpdate<'m>),
    /// `:focus`
    Focus(Focus<'m>),
    /// `:point-update`
    PointUpdate(PointUpdate<'m>),
    /// `:user-command`
    UserCommand(UserCommand<'m>),
    /// `:interrupt`: stop the current turn of this session.
    Interrupt,
    /// `:heartbeat`, with the time if it was sent.
    Heartbeat(Option<u64>),
    /// `:tool-output`
    ToolOutput(ToolOutput<'m>),
    /// `:tool-error`
    ToolError(ToolError<'m>),
    /// A sensor that this version does not know: its payload as it came.
    Other(&'m Value),
}

impl<'m> Sensor<'m> {
    /// Reads the payload of an `:EVENT` that has a `:sensor`.
    ///
    /// # Errors
    /// When the sensor is absent or no keyword, or a field of a known sensor has another type.
    pub fn from_payload(payload: &'m Value) -> Result<Self, Invalid> {
        check_plist(payload, &Path::of(&["payload"]))?;
        let Some(known) = check(payload)? else { return Ok(Sensor::Other(payload)) };
        let read = match known {
            Known::Prompt(name) => Prompt::read(payload).map(|p| Sensor::Prompt(name, p)),
            Known::BufferUpdate => BufferUpdate::read(payload).map(Sensor::BufferUpdate),
            Known::Focus => Focus::read(payload).map(Sensor::Focus),
            Known::PointUpdate => PointUpdate::read(payload).map(Sensor::PointUpdate),
            Known::UserCommand => UserCommand::read(payload).map(Sensor::UserCommand),
            Known::Interrupt => Some(Sensor::Interrupt),
            Known::Heartbeat => {
                Some(Sensor::Heartbeat(field::<shapes::Natural>(payload, "unix-time")))
            }
            Known::ToolOutput => ToolOutput::read(payload).map(Sensor::ToolOutput),
            Known::ToolError => ToolError::read(payload).map(Sensor::ToolError),
        };
        Ok(read.unwrap_or(Sensor::Other(payload)))
    }

    /// Returns the payload: `:sensor` first, then the fields in the order of the table.
    pub fn to_payload(&self) -> Value {
        let known = match self {
            Sensor::Prompt(name, _) => Known::Prompt(*name),
            Sensor::BufferUpdate(_) => Known::BufferUpdate,
            Sensor::Focus(_) => Known::Focus,
            Sensor::PointUpdate(_) => Known::PointUpdate,
            Sensor::UserCommand(_) => Known::UserCommand,
            Sensor::Interrupt => Known::Interrupt,
            Sensor::Heartbeat(_) => Known::Heartbeat,
            Sensor::ToolOutput(_) => Known::ToolOutput,
            Sensor::ToolError(_) => Known::ToolError,
            Sensor::Other(payload) => return Value::clone(payload),
        };
        let mut out = vec![Value::keyword(SENSOR), Value::keyword(known.name())];
        match self {
            Sensor::Prompt(_, fields) => fields.push(&mut out),
            Sensor::BufferUpdate(fields) => fields.push(&mut out),
            Sensor::Focus(fields) => fields.push(&mut out),
            Sensor::PointUpdate(fields) => fields.push(&mut out),
            Sensor::UserCommand(fields) => fields.push(&mut out),
            Sensor::ToolOutput(fields) => fields.push(&mut out),
            Sensor::ToolError(fields) => fields.push(&mut out),
            Sensor::Heartbeat(Some(time)) => {
                out.push(Value::keyword("unix-time"));
                out.push(<shapes::Natural as super::shape::Shaped>::write(time));
            }
            Sensor::Heartbeat(None) | Sensor::Interrupt | Sensor::Other(_) => {}
        }
        Value::list(out)
    }
}

/// The sensors that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Prompt(PromptName),
    BufferUpdate,
    Focus,
    PointUpdate,
    UserCommand,
    Interrupt,
    Heartbeat,
    ToolOutput,
    ToolError,
}

impl Known {
    const ALL: [Known; 11] = [
        Known::Prompt(PromptName::UserPrompt),
        Known::Prompt(PromptName::UserInput),
        Known::Prompt(PromptName::ChatMessage),
        Known::BufferUpdate,
        Known::Focus,
        Known::PointUpdate,
        Known::UserCommand,
        Known::Interrupt,
        Known::Heartbeat,
        Known::ToolOutput,
        Known::ToolError,
    ];

    const fn name(self) -> &'static str {
        match self {
            Known::Prompt(PromptName::UserPrompt) => "user-prompt",
            Known::Prompt(PromptName::UserInput) => "user-input",
            Known::Prompt(PromptName::ChatMessage) => "chat-message",
            Known::BufferUpdate => "buffer-update",
            Known::Focus => "focus",
            Known::PointUpdate => "point-update",
            Known::UserCommand => "user-command",
            Known::Interrupt => "interrupt",
            Known::Heartbeat => "heartbeat",
            Known::ToolOutput => "tool-output",
            Known::ToolError => "tool-error",
        }
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Known::Prompt(_) => Prompt::FIELDS,
            Known::BufferUpdate => BufferUpdate::FIELDS,
            Known::Focus => Focus::FIELDS,
            Known::PointUpdate => PointUpdate::FIELDS,
            Known::UserCommand => UserCommand::FIELDS,
            Known::Interrupt => &[],
            Known::Heartbeat => &[Field("unix-time", super::shape::Need::May, Shape::Natural)],
            Known::ToolOutput => ToolOutput::FIELDS,
            Known::ToolError => ToolError::FIELDS,
        }
    }
}

/// Checks the sensor of a payload that is a plist; returns it if it has a table.
pub(crate) fn check<V: View>(payload: V) -> Result<Option<Known>, Invalid> {
    let path = Path::of(&["payload"]);
    let Some(sensor) = payload.get_some(SENSOR) else {
        return Err(missing(payload, &path.key(SENSOR)));
    };
    check_shape(sensor, Shape::Keyword, &path.key(SENSOR))?;
    let known = Known::ALL.into_iter().find(|known| sensor.is_keyword(known.name()));
    if let Some(known) = known {
        check_fields(payload, known.fields(), &path)?;
        let file_or_buffer = matches!(known, Known::BufferUpdate | Known::Focus);
        if file_or_buffer
            && payload.get_some("file").is_none()
            && payload.get_some("buffer").is_none()
        {
            return Err(missing(payload, &path.key("file")));
        }
    }
    Ok(known)
}
