//! From what the engine has for a shell to the text of a frame.
//!
//! Called by `conversation` for everything that leaves a session. An event is recorded as canonical
//! text; what a shell sees of it is spliced from that text, piece by piece, and only for a shell
//! with another dialect are values made and printed. The shapes are in `docs/protocol.md`.

use std::fmt::Write as _;

use bridle_loop::SessionId;
use bridle_sexp::{Dialect, Node, Value};
use bridle_wire::OacpCode;
use bridle_wire::oacp::sanitize::HANDLES;
use bridle_wire::oacp::{ErrorReply, MessageId, OacpMessage, error_response, sanitize};

use crate::engine::{
    self, EventView, SessionStatus, ShownPiece, StreamEvent, StreamEventKind, request_id,
};

/// A shell, as far as its frames are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameReader<'s> {
    /// The session that it is attached to.
    pub(crate) session: &'s SessionId,
    /// The dialect it reads.
    pub(crate) dialect: Dialect,
}

impl FrameReader<'_> {
    /// The frame of a numbered event. Always one: what cannot be shown keeps its number.
    pub(crate) fn event(&self, event: &StreamEvent, view: EventView) -> String {
        let Some(body) = &event.body else { return self.bare(event, "erased", "") };
        let tree = match bridle_loop::reader().read_one(body) {
            Ok(tree) => tree,
            Err(error) => {
                tracing::error!(record = event.record, %error, "a record cannot be read");
                return self.bare(event, "unreadable", "");
            }
        };
        let mut frame = FrameWriter::new(self, event, body.len());
        match (event.kind, view) {
            (StreamEventKind::Signal, _) => frame.signal(tree.root(), view),
            (StreamEventKind::Say, _) => frame.say(tree.root(), view),
            (StreamEventKind::Act, EventView::Asked) => frame.request(tree.root()),
            (StreamEventKind::Act, _) => frame.asked(tree.root()),
            (StreamEventKind::Ask, EventView::Asked) => frame.question(tree.root()),
            (StreamEventKind::Ask, _) => frame.questioned(tree.root()),
            (StreamEventKind::Answered, _) => frame.answered(tree.root()),
            (StreamEventKind::Acted | StreamEventKind::Settled, _) => frame.outcome(tree.root()),
        }
        frame.out
    }

    /// Adds keys to the payload that a frame ends with, if that is a list.
    pub(crate) fn extended<'k>(
        &self,
        mut text: String,
        pairs: impl Iterator<Item = (&'k str, Value)>,
    ) -> String {
        if !text.ends_with("))") || text.ends_with("())") {
            return text;
        }
        text.truncate(text.len() - "))".len());
        for (key, value) in pairs {
            let _ = write!(text, " :{key} ");
            bridle_sexp::print(&value, self.dialect, &mut text);
        }
        text.push_str("))");
        text
    }

    /// The frame in the place of one of `bytes` that is over the shell's `:max-frame`: short,
    /// and with the same number.
    pub(crate) fn omitted(
        &self,
        event: &StreamEvent,
        view: EventView,
        bytes: usize,
        max_frame: usize,
    ) -> String {
        let body = event.body.as_deref().unwrap_or_default();
        if let (StreamEventKind::Say, EventView::Own, Ok(tree)) =
            (event.kind, view, bridle_loop::reader().read_one(body))
        {
            let code = OacpCode::FrameTooLarge;
            let text = format!("the answer has {bytes} bytes, and you take {max_frame}");
            let failure = error_response(None, &ErrorReply::because(code, text));
            let mut frame = FrameWriter::new(self, event, 0);
            frame.answer_head(tree.root());
            frame.value(&failure.payload.unwrap_or(Value::Nil));
            frame.out.push(')');
            return frame.out;
        }
        self.bare(event, "omitted", &format!(" :bytes {bytes} :max-frame {max_frame}"))
    }

    /// The answer of a shell that never gets to see what it is asked.
    pub(crate) fn cannot(&self, event: &StreamEvent) -> OacpMessage {
        let body = event.body.as_deref().unwrap_or_default();
        let effect = match bridle_loop::reader().read_one(body) {
            Ok(tree) => effect_of(tree.root()),
            Err(_) => 0,
        };
        let id = MessageId::Str(request_id(self.session, effect).into());
        let failure =
            ErrorReply::because(OacpCode::FrameTooLarge, "the request is over its `:max-frame`");
        error_response(Some(&id), &failure)
    }

    /// The receipt for a recorded message.
    pub(crate) fn receipt(&self, id: Option<&Value>, seq: u64) -> String {
        let mut out = String::from("(:type :STATUS");
        if let Some(id) = id {
            out.push_str(" :id ");
            bridle_sexp::print(id, self.dialect, &mut out);
        }
        let session = self.session;
        // Writing to a string cannot fail, here and below.
        let _ = write!(out, " :payload (:status :admitted :session \"{session}\" :seq {seq}))");
        out
    }

    /// Writes the status of the engine.
    pub(crate) fn status(&self, status: SessionStatus) -> String {
        let mut out = String::new();
        let (session, doing) = (self.session, status.doing.as_str());
        let _ = write!(out, "(:type :STATUS :meta (:session \"{session}\")");
        if let Some(reporter) = status.reporter {
            let _ = write!(out, " :{} :{doing}", reporter.as_str());
        }
        let _ = write!(out, " :payload (:status :{doing}");
        if let Some(turn) = status.turn {
            let _ = write!(out, " :turn {turn}");
        }
        out.push_str("))");
        out
    }

    /// Takes text back that was shown.
    pub(crate) fn voided(&self, turn: u64, thought: u64) -> String {
        let session = self.session;
        format!(
            "(:type :EVENT :meta (:session \"{session}\") \
             :payload (:action :voided :turn {turn} :thought {thought}))"
        )
    }

    /// Text of something in the making.
    pub(crate) fn delta(&self, piece: &ShownPiece) -> String {
        let mut out = String::new();
        let ShownPiece { turn, thought, channel, offset, text } = piece;
        let (session, channel) = (self.session, channel.as_str());
        let _ = write!(
            out,
            "(:type :EVENT :meta (:session \"{session}\") :payload (:action :delta :turn {turn} \
             :thought {thought} :channel :{channel} :offset {offset} :text "
        );
        bridle_sexp::print(&text.as_str().into(), self.dialect, &mut out);
        out.push_str("))");
        out
    }

    /// An event of which nothing but its number can be shown.
    fn bare(&self, event: &StreamEvent, action: &str, rest: &str) -> String {
        let (session, seq, at) = (self.session, event.seq, event.at);
        format!(
            "(:type :EVENT :meta (:session \"{session}\" :seq {seq} :at {at}) \
             :payload (:action :{action}{rest}))"
        )
    }
}

/// One frame being written.
struct FrameWriter<'s> {
    reader: &'s FrameReader<'s>,
    event: &'s StreamEvent,
    out: String,
}

impl<'s> FrameWriter<'s> {
    /// Envelopes are below this many bytes, but for an id or a client's name.
    const ENVELOPE_BYTES: usize = 192;

    fn new(reader: &'s FrameReader<'s>, event: &'s StreamEvent, body: usize) -> FrameWriter<'s> {
        FrameWriter {
            reader,
            event,
            out: String::with_capacity(body + FrameWriter::ENVELOPE_BYTES),
        }
    }

    /// Writes a message of a shell.
    fn signal(&mut self, body: Node<'_>, view: EventView) {
        let is = |word| body.get("kind").is_some_and(|kind| kind.is_keyword(word));
        let from = body.get("from");
        let sender = |key| from.and_then(|from| from.get(key));
        self.out.push_str(if is("log") { "(:type :LOG :meta (" } else { "(:type :EVENT :meta (" });
        if let Some(shell) = sender("shell") {
            self.pair(":source ", shell);
            self.out.push(' ');
        }
        self.number();
        if is("request") {
            self.out.push_str(" :type :REQUEST");
        }
        self.pair_if(" :target ", body.get("target"));
        self.pair_if(" :client ", sender("client"));
        if view == EventView::Own {
            self.pair_if(" :id ", body.get("id"));
            self.out.push_str(" :own t");
        }
        self.out.push_str(") :payload ");
        let missing = if is("log") { None } else { Some("request") };
        self.payload(body.get("payload"), missing);
        self.out.push(')');
    }

    /// Writes words of the engine.
    fn say(&mut self, body: Node<'_>, view: EventView) {
        if view == EventView::Own && body.get("answers").is_some() {
            self.answer_head(body);
            self.payload(body.get("payload"), None);
        } else {
            self.out.push_str("(:type :EVENT :meta (");
            self.number();
            self.pair_if(" :answers ", body.get("answers"));
            self.out.push_str(") :payload ");
            self.payload(body.get("payload"), Some("answer"));
        }
        self.out.push(')');
    }

    /// An answer up to its payload.
    fn answer_head(&mut self, body: Node<'_>) {
        self.out.push_str("(:type :RESPONSE :id ");
        match body.get("id") {
            Some(id) => self.node(id),
            None => self.out.push_str("nil"),
        }
        self.out.push_str(" :meta (");
        self.number();
        self.pair_if(" :answers ", body.get("answers"));
        self.out.push_str(") :payload ");
    }

    /// A request to the shell that reads this.
    fn request(&mut self, body: Node<'_>) {
        let id = self.effect(body);
        let _ = write!(self.out, "(:type :REQUEST :id \"{id}\"");
        self.pair_if(" :target ", body.get("target"));
        self.out.push_str(" :meta (");
        self.number();
        self.pair_if(" :deadline ", body.get("deadline"));
        self.out.push_str(") :payload ");
        self.payload(body.get("payload"), None);
        self.out.push(')');
    }

    /// A request to somebody else.
    fn asked(&mut self, body: Node<'_>) {
        self.out.push_str("(:type :EVENT :meta (");
        self.number();
        let id = self.effect(body);
        let _ = write!(self.out, ") :payload (:action :asked :effect \"{id}\"");
        self.pair_if(" :target ", body.get("target"));
        self.pair_if(" :deadline ", body.get("deadline"));
        self.out.push_str(" :request ");
        self.payload(body.get("payload"), None);
        self.out.push_str("))");
    }

    /// A question of the guard to a shell that may answer it.
    fn question(&mut self, body: Node<'_>) {
        let id = self.effect(body);
        let _ = write!(self.out, "(:type :REQUEST :id \"{id}\" :target :approval :meta (");
        self.number();
        self.pair_if(" :deadline ", body.get("expires"));
        let _ = write!(self.out, ") :payload (:action :approve :approval \"{id}\"");
        self.about(body);
        self.out.push_str(" :options (:allow :deny)");
        let scopes = bridle_loop::grant_scopes(&body.to_value());
        if !scopes.is_empty() {
            self.out.push_str(" :scopes ");
            self.value(&engine::written_scopes(scopes));
        }
        self.out.push_str("))");
    }

    /// Writes a question of the guard for shells that may not answer it.
    fn questioned(&mut self, body: Node<'_>) {
        self.out.push_str("(:type :EVENT :meta (");
        self.number();
        let id = self.effect(body);
        let _ = write!(self.out, ") :payload (:action :asked :approval \"{id}\"");
        self.pair_if(" :deadline ", body.get("expires"));
        self.about(body);
        self.out.push_str("))");
    }

    /// Writes the subject of a question.
    fn about(&mut self, body: Node<'_>) {
        self.pair_if(" :question ", body.get("question"));
        self.pair_if(" :risk ", body.get("risk"));
        self.pair_if(" :target ", body.get("target"));
        self.pair_if(" :hash ", body.get("hash"));
        self.out.push_str(" :wanted ");
        self.payload(body.get("payload"), None);
    }

    /// Writes an answer to a question, and that it counts for nothing if it does not.
    fn answered(&mut self, body: Node<'_>) {
        self.out.push_str("(:type :EVENT :meta (");
        self.number();
        let id = self.effect(body);
        let _ = write!(self.out, ") :payload (:action :answered :approval \"{id}\"");
        self.pair_if(" :answer ", body.get("answer"));
        self.pair_if(" :by ", body.get("from").and_then(|from| from.get("principal")));
        self.pair_if(" :counted ", body.get("counted"));
        self.out.push_str("))");
    }

    /// Writes the outcome of a request.
    fn outcome(&mut self, body: Node<'_>) {
        self.out.push_str("(:type :EVENT :meta (");
        self.number();
        let id = self.effect(body);
        let _ = write!(self.out, ") :payload (:action :outcome :effect \"{id}\"");
        self.pair_if(" :outcome ", body.get("outcome"));
        self.pair_if(" :result ", body.get("result"));
        self.pair_if(" :reason ", body.get("reason"));
        self.out.push_str("))");
    }

    /// Session, number and time.
    fn number(&mut self) {
        let (session, StreamEvent { seq, at, .. }) = (self.reader.session, self.event);
        let _ = write!(self.out, ":session \"{session}\" :seq {seq} :at {at}");
    }

    /// The id under which shells know the effect that a body names.
    fn effect(&self, body: Node<'_>) -> String {
        request_id(self.reader.session, effect_of(body))
    }

    fn pair_if(&mut self, key: &str, value: Option<Node<'_>>) {
        if let Some(value) = value {
            self.pair(key, value);
        }
    }

    fn pair(&mut self, key: &str, value: Node<'_>) {
        self.out.push_str(key);
        self.node(value);
    }

    /// A payload; with the action `missing` if it is an event's and has neither sensor nor
    /// action, without which it would be no event.
    fn payload(&mut self, payload: Option<Node<'_>>, missing: Option<&str>) {
        let Some(payload) = payload else { return self.out.push_str("nil") };
        let start = self.out.len();
        self.node(payload);
        let named = payload.get("action").or_else(|| payload.get("sensor"));
        if let (Some(action), None) = (missing, named) {
            let rest = self.out.split_off(start);
            let inside = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let _ = write!(self.out, "(:action :{action}");
            if let Some(inside) = inside {
                let _ = write!(self.out, " {inside}");
            }
            self.out.push(')');
        }
    }

    /// A piece of the body, without what may not leave.
    fn node(&mut self, node: Node<'_>) {
        let is_handle = |node: Node<'_>| HANDLES.iter().any(|name| node.is_keyword(name));
        if node.descendants().any(is_handle) {
            return self.value(&sanitize(&node.to_value()));
        }
        match self.reader.dialect {
            // Bodies are canonical text of this dialect.
            Dialect::Lisp => self.out.push_str(node.source()),
            Dialect::Emacs => self.value(&node.to_value()),
        }
    }

    fn value(&mut self, value: &Value) {
        bridle_sexp::print(value, self.reader.dialect, &mut self.out);
    }
}

/// The effect that a body is about.
fn effect_of(body: Node<'_>) -> u64 {
    body.get("effect").and_then(|effect| effect.as_i64()).unwrap_or_default().unsigned_abs()
}

#[cfg(test)]
mod tests;
