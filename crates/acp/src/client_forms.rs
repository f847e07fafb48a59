//! What bridle's client says to the daemon for an editor: prompts, interrupts, verdicts, reports about buffers.
//! Each function returns the text of one message.

use bridle_sexp::Value;
use bridle_wire::oacp::{MessageType, OacpMessage, RequestTarget};

/// Text of the note that a session of an editor begins with; [`crate::session_directory`] reads its folder back.
pub(crate) const SESSION_NOTE: &str = "a session of an editor";

/// Largest text of a buffer that is handed over, in bytes; of a larger one the daemon hears only that it is
/// modified.
const MAX_BUFFER_BYTES: usize = 512 << 10;

/// Time that a grant holds which is made in an editor; an editor cannot ask for another.
pub(crate) const GRANT_SPAN: &str = "7d";

/// Prompt of the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UserPrompt {
    /// The text, links and embedded texts included.
    pub(crate) text: String,
    /// Folder of the session.
    pub(crate) folder: String,
    /// Model that it is for; the daemon chooses without one.
    pub(crate) model: Option<String>,
    /// Pictures: type, bytes in base64, place.
    pub(crate) images: Vec<PromptImage>,
}

/// Picture of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptImage {
    pub(crate) mime_type: String,
    /// The bytes in base64.
    pub(crate) data: String,
    pub(crate) uri: Option<String>,
}

pub(crate) fn prompt(id: &str, prompt: &UserPrompt) -> String {
    let mut payload = vec![
        ("sensor", Value::keyword("user-prompt")),
        ("text", Value::str(prompt.text.as_str())),
        ("context", Value::plist([("cwd", Value::str(prompt.folder.as_str()))])),
    ];
    payload.extend(prompt.model.as_deref().map(|model| ("model", Value::str(model))));
    if !prompt.images.is_empty() {
        payload.push(("attachments", Value::list(prompt.images.iter().map(image))));
    }
    write(OacpMessage::new(MessageType::Event).with_id(id).with_payload(Value::plist(payload)))
}

fn image(image: &PromptImage) -> Value {
    let mut pairs = vec![
        ("mime-type", Value::str(image.mime_type.as_str())),
        ("data", Value::str(image.data.as_str())),
    ];
    pairs.extend(image.uri.as_deref().map(|uri| ("uri", Value::str(uri))));
    Value::plist(pairs)
}

/// Writes the note that tells the record which folder a session is about.
pub(crate) fn session_note(id: &str, folder: &str) -> String {
    let payload = Value::plist([("text", Value::str(SESSION_NOTE)), ("cwd", Value::str(folder))]);
    write(OacpMessage::new(MessageType::Log).with_id(id).with_payload(payload))
}

pub(crate) fn interrupt(id: &str) -> String {
    let payload = Value::plist([("sensor", Value::keyword("interrupt"))]);
    write(OacpMessage::new(MessageType::Event).with_id(id).with_payload(payload))
}

/// Writes an answer to a question of the guard; the hash ties it to what was shown.
pub(crate) fn verdict(question: &str, option: &str, hash: Option<&str>) -> String {
    let mut pairs = vec![("verdict", Value::keyword(option))];
    pairs.extend(hash.map(|hash| ("hash", Value::str(hash))));
    let message = OacpMessage::new(MessageType::Response).with_id(question);
    write(message.with_payload(Value::plist(pairs)))
}

/// Writes a yes together with a grant of a scope; the hash ties it to what was shown.
pub(crate) fn grant(id: &str, question: &str, scope: &str, hash: Option<&str>) -> String {
    let mut pairs = vec![
        ("action", Value::keyword("grant")),
        ("approval", Value::str(question)),
        ("scope", Value::keyword(scope)),
        ("for", Value::str(GRANT_SPAN)),
    ];
    pairs.extend(hash.map(|hash| ("hash", Value::str(hash))));
    let mut message = OacpMessage::new(MessageType::Request).with_id(id);
    message.target = Some(RequestTarget::new("system"));
    write(message.with_payload(Value::plist(pairs)))
}

/// Writes the answer to a request that the engine made of this shell.
pub(crate) fn shell_response(request: &str, refusal: Option<&str>) -> String {
    let pairs = match refusal {
        None => vec![("status", Value::keyword("success"))],
        Some(reason) => {
            vec![("status", Value::keyword("error")), ("message", Value::str(reason))]
        }
    };
    let message = OacpMessage::new(MessageType::Response).with_id(request);
    write(message.with_payload(Value::plist(pairs)))
}

/// Writes the result of a request that the engine made of this shell.
pub(crate) fn shell_result(request: &str, text: &str) -> String {
    let result = Value::plist([("text", Value::str(text))]);
    let pairs = [("status", Value::keyword("success")), ("result", result)];
    write(
        OacpMessage::new(MessageType::Response).with_id(request).with_payload(Value::plist(pairs)),
    )
}

/// Writes that a buffer of the editor holds a text that is not saved.
pub(crate) fn unsaved_buffer(id: &str, file: &str, text: &str) -> String {
    let mut pairs = vec![
        ("sensor", Value::keyword("buffer-update")),
        ("file", Value::str(file)),
        ("state", Value::keyword("modified")),
    ];
    if text.len() <= MAX_BUFFER_BYTES {
        pairs.push(("text", Value::str(text)));
    }
    write(OacpMessage::new(MessageType::Event).with_id(id).with_payload(Value::plist(pairs)))
}

/// Writes that a buffer holds what is on disk.
pub(crate) fn saved_buffer(id: &str, file: &str) -> String {
    let payload = Value::plist([
        ("sensor", Value::keyword("buffer-update")),
        ("file", Value::str(file)),
        ("state", Value::keyword("saved")),
    ]);
    write(OacpMessage::new(MessageType::Event).with_id(id).with_payload(payload))
}

/// Writes the request for commands and models.
pub(crate) fn offers(id: &str) -> String {
    to_system(id, Value::plist([("action", Value::keyword("offers"))]))
}

/// Writes the request for what a session used so far.
pub(crate) fn usage(id: &str, session: &str) -> String {
    let pairs = [("action", Value::keyword("usage")), ("session", Value::str(session))];
    to_system(id, Value::plist(pairs))
}

fn to_system(id: &str, payload: Value) -> String {
    let mut message = OacpMessage::new(MessageType::Request).with_id(id);
    message.target = Some(RequestTarget::new("system"));
    write(message.with_payload(payload))
}

/// Writes the request for the sessions that this principal may see.
pub(crate) fn sessions() -> String {
    let mut message = OacpMessage::new(MessageType::Request).with_id(1);
    message.target = Some(RequestTarget::new("system"));
    write(message.with_payload(Value::plist([("action", Value::keyword("sessions"))])))
}

// By value: every caller has just made it.
#[allow(clippy::needless_pass_by_value)]
fn write(message: OacpMessage) -> String {
    let mut text = String::new();
    message.write(&mut text);
    text
}
