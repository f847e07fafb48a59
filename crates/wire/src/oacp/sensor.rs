//! What a shell perceives: the sensors that the payload of an `:EVENT` may name.
//!
//! One table per sensor gives its struct, its check and its writer. A sensor that is not listed
//! here is no error: it is kept as [`OacpSensor::Other`], recorded, and offered to skills.

use bridle_sexp::Value;

use super::invalid::{InvalidMessage, MessagePath};
use super::shape::{
    FieldRow, FieldShape, check_fields, check_shape, field, missing, record, shapes,
};
use super::view::{MessageView, check_plist};

/// The key that names a sensor.
const SENSOR: &str = "sensor";

record! {
    /// The user says something; its three names mean the same.
    Prompt {
        /// Text of the prompt.
        text "text" must Text,
        /// Subject of the prompt, such as `:current-subtree`.
        context "context" may Any,
        /// The road it came on, such as `:telegram`.
        channel "channel" may Keyword,
        /// The conversation on that road.
        chat_id "chat-id" may Label,
        /// Sender, as that channel names people.
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
        /// State of the file, such as `:saved`.
        state "state" may Keyword,
        /// The org-element tree; kept exactly, never looked into.
        ast "ast" may List,
        /// The whole text.
        text "text" may Text,
        /// Changes since the last update.
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
        /// Result of the action.
        result "result" may Any,
    }
}

record! {
    /// A tool failed.
    ToolError {
        /// The tool.
        tool "tool" may Name,
        /// Reason, for people.
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

/// Perception of a shell.
#[derive(Clone, Debug, PartialEq)]
pub enum OacpSensor<'m> {
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

impl<'m> OacpSensor<'m> {
    /// Reads the payload of an `:EVENT` that has a `:sensor`.
    ///
    /// # Errors
    /// When the sensor is absent or no keyword, or a field of a known sensor has another type.
    pub fn from_payload(payload: &'m Value) -> Result<Self, InvalidMessage> {
        check_plist(payload, &MessagePath::of(&["payload"]))?;
        let Some(known) = check(payload)? else { return Ok(OacpSensor::Other(payload)) };
        let read = match known {
            KnownSensor::Prompt(name) => Prompt::read(payload).map(|p| OacpSensor::Prompt(name, p)),
            KnownSensor::BufferUpdate => BufferUpdate::read(payload).map(OacpSensor::BufferUpdate),
            KnownSensor::Focus => Focus::read(payload).map(OacpSensor::Focus),
            KnownSensor::PointUpdate => PointUpdate::read(payload).map(OacpSensor::PointUpdate),
            KnownSensor::UserCommand => UserCommand::read(payload).map(OacpSensor::UserCommand),
            KnownSensor::Interrupt => Some(OacpSensor::Interrupt),
            KnownSensor::Heartbeat => {
                Some(OacpSensor::Heartbeat(field::<shapes::Natural>(payload, "unix-time")))
            }
            KnownSensor::ToolOutput => ToolOutput::read(payload).map(OacpSensor::ToolOutput),
            KnownSensor::ToolError => ToolError::read(payload).map(OacpSensor::ToolError),
        };
        Ok(read.unwrap_or(OacpSensor::Other(payload)))
    }

    /// Returns the payload: `:sensor` first, then the fields in the order of the table.
    pub fn to_payload(&self) -> Value {
        let known = match self {
            OacpSensor::Prompt(name, _) => KnownSensor::Prompt(*name),
            OacpSensor::BufferUpdate(_) => KnownSensor::BufferUpdate,
            OacpSensor::Focus(_) => KnownSensor::Focus,
            OacpSensor::PointUpdate(_) => KnownSensor::PointUpdate,
            OacpSensor::UserCommand(_) => KnownSensor::UserCommand,
            OacpSensor::Interrupt => KnownSensor::Interrupt,
            OacpSensor::Heartbeat(_) => KnownSensor::Heartbeat,
            OacpSensor::ToolOutput(_) => KnownSensor::ToolOutput,
            OacpSensor::ToolError(_) => KnownSensor::ToolError,
            OacpSensor::Other(payload) => return Value::clone(payload),
        };
        let mut out = vec![Value::keyword(SENSOR), Value::keyword(known.name())];
        match self {
            OacpSensor::Prompt(_, fields) => fields.push(&mut out),
            OacpSensor::BufferUpdate(fields) => fields.push(&mut out),
            OacpSensor::Focus(fields) => fields.push(&mut out),
            OacpSensor::PointUpdate(fields) => fields.push(&mut out),
            OacpSensor::UserCommand(fields) => fields.push(&mut out),
            OacpSensor::ToolOutput(fields) => fields.push(&mut out),
            OacpSensor::ToolError(fields) => fields.push(&mut out),
            OacpSensor::Heartbeat(Some(time)) => {
                out.push(Value::keyword("unix-time"));
                out.push(<shapes::Natural as super::shape::ShapedValue>::write(time));
            }
            OacpSensor::Heartbeat(None) | OacpSensor::Interrupt | OacpSensor::Other(_) => {}
        }
        Value::list(out)
    }
}

/// The sensors that have a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownSensor {
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

impl KnownSensor {
    const ALL: [KnownSensor; 11] = [
        KnownSensor::Prompt(PromptName::UserPrompt),
        KnownSensor::Prompt(PromptName::UserInput),
        KnownSensor::Prompt(PromptName::ChatMessage),
        KnownSensor::BufferUpdate,
        KnownSensor::Focus,
        KnownSensor::PointUpdate,
        KnownSensor::UserCommand,
        KnownSensor::Interrupt,
        KnownSensor::Heartbeat,
        KnownSensor::ToolOutput,
        KnownSensor::ToolError,
    ];

    const fn name(self) -> &'static str {
        match self {
            KnownSensor::Prompt(PromptName::UserPrompt) => "user-prompt",
            KnownSensor::Prompt(PromptName::UserInput) => "user-input",
            KnownSensor::Prompt(PromptName::ChatMessage) => "chat-message",
            KnownSensor::BufferUpdate => "buffer-update",
            KnownSensor::Focus => "focus",
            KnownSensor::PointUpdate => "point-update",
            KnownSensor::UserCommand => "user-command",
            KnownSensor::Interrupt => "interrupt",
            KnownSensor::Heartbeat => "heartbeat",
            KnownSensor::ToolOutput => "tool-output",
            KnownSensor::ToolError => "tool-error",
        }
    }

    const fn fields(self) -> &'static [FieldRow] {
        match self {
            KnownSensor::Prompt(_) => Prompt::FIELDS,
            KnownSensor::BufferUpdate => BufferUpdate::FIELDS,
            KnownSensor::Focus => Focus::FIELDS,
            KnownSensor::PointUpdate => PointUpdate::FIELDS,
            KnownSensor::UserCommand => UserCommand::FIELDS,
            KnownSensor::Interrupt => &[],
            KnownSensor::Heartbeat => {
                &[FieldRow("unix-time", super::shape::FieldNeed::May, FieldShape::Natural)]
            }
            KnownSensor::ToolOutput => ToolOutput::FIELDS,
            KnownSensor::ToolError => ToolError::FIELDS,
        }
    }
}

/// Checks the sensor of a payload that is a plist; returns it if it has a table.
pub(crate) fn check<V: MessageView>(payload: V) -> Result<Option<KnownSensor>, InvalidMessage> {
    let path = MessagePath::of(&["payload"]);
    let Some(sensor) = payload.get_some(SENSOR) else {
        return Err(missing(payload, &path.key(SENSOR)));
    };
    check_shape(sensor, FieldShape::Keyword, &path.key(SENSOR))?;
    let known = KnownSensor::ALL.into_iter().find(|known| sensor.is_keyword(known.name()));
    if let Some(known) = known {
        check_fields(payload, known.fields(), &path)?;
        let file_or_buffer = matches!(known, KnownSensor::BufferUpdate | KnownSensor::Focus);
        if file_or_buffer
            && payload.get_some("file").is_none()
            && payload.get_some("buffer").is_none()
        {
            return Err(missing(payload, &path.key("file")));
        }
    }
    Ok(known)
}
