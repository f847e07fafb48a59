//! The conversation as messages: exchanges before, and the rounds of this turn with the outcome of each call.
//!
//! What a model may not see is replaced by a line that says so; a long result is cut with a mark, and the call that
//! reads the rest is named.

use bridle_loop::{CallEnd, Deed, Outcome, Privacy, ProposalRejection, RoundCall, ThoughtRound};
use bridle_models::{
    MessagePart, MessageRole, ModelMessage, ResultPart, ToolCall, ToolOutcome, ToolResult,
};
use bridle_sexp::Value;

use super::build::PromptPlan;
use super::opaque::message_of;
use super::part::PromptPart;
use crate::citation::CitationBook;
use crate::tools::value_json::{OPEN_ANSWER, to_json};

/// Line in the place of what is private.
pub(super) const PRIVATE_LINE: &str = "[left out: private, and this model is elsewhere]";

/// Reason in a manifest.
pub(super) const PRIVATE_REASON: &str = "private, and the model is elsewhere";

/// Reason in a manifest.
pub(super) const NO_ROOM_REASON: &str = "no room in the model's context";

/// Collector of messages, of their parts, and of the links in them.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    pub(super) messages: Vec<ModelMessage>,
    pub(super) parts: Vec<PromptPart>,
    pub(super) book: CitationBook,
}

/// Bytes of results that are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultRoom {
    pub(super) newest: usize,
    pub(super) older: usize,
}

impl Transcript {
    /// Adds the exchanges before this turn, from one of them on.
    pub(super) fn add_history(&mut self, plan: &PromptPlan<'_>, first: usize) {
        self.add_summaries(plan);
        for (place, past) in plan.prompt.context.history.iter().enumerate() {
            let name = (place + 1).to_string();
            let bytes = past.asked.len() + past.said.len();
            if place < first {
                let part = PromptPart::left("history", bytes, past.privacy, NO_ROOM_REASON);
                self.parts.push(part.named(name));
            } else if plan.may_see(past.privacy) {
                let text = format!("{}\n{}", past.asked, past.said);
                let part = PromptPart::of(plan.codec(), "history", &text, past.privacy);
                self.parts.push(part.named(name));
                self.book.add_text(&past.said);
                let said = if past.said.is_empty() { "(no answer)" } else { &past.said };
                self.messages.push(ModelMessage::user(&*past.asked));
                self.messages.push(ModelMessage::assistant(said));
            } else {
                let part = PromptPart::left("history", bytes, past.privacy, PRIVATE_REASON);
                self.parts.push(part.named(name));
                self.messages.push(ModelMessage::user(PRIVATE_LINE));
                self.messages.push(ModelMessage::assistant(PRIVATE_LINE));
            }
        }
    }

    /// Adds what is kept of the exchanges before those, as far as the model may see it.
    fn add_summaries(&mut self, plan: &PromptPlan<'_>) {
        let mut told = String::new();
        for summary in plan.prompt.context.summaries.iter() {
            let name = summary.privacy.word();
            if plan.may_see(summary.privacy) {
                let part = PromptPart::of(plan.codec(), "summary", &summary.text, summary.privacy);
                self.parts.push(part.named(name));
                self.book.add_text(&summary.text);
                told.push_str(&summary.text);
            } else {
                let bytes = summary.text.len();
                let part = PromptPart::left("summary", bytes, summary.privacy, PRIVATE_REASON);
                self.parts.push(part.named(name));
                told.push_str(PRIVATE_LINE);
            }
            told.push('\n');
        }
        if !told.is_empty() {
            let text = format!("Before that, in short (asked => answered):\n{told}");
            self.messages.push(ModelMessage::user(text));
            self.messages.push(ModelMessage::assistant("Noted."));
        }
    }

    /// Adds the rounds of this turn, each answered.
    pub(super) fn add_rounds(&mut self, plan: &PromptPlan<'_>, room: ResultRoom) {
        let rounds = &plan.prompt.rounds;
        for (number, round) in rounds.iter().enumerate() {
            let is_last = number + 1 == rounds.len();
            let bytes = if is_last { room.newest } else { room.older };
            let is_empty = round.text.is_empty() && round.calls.is_empty();
            if is_empty && round.opaque.is_none() {
                continue;
            }
            let message = self.said(plan, round, number);
            let ids: Vec<String> = message.tool_calls().map(|call| call.id.clone()).collect();
            let names: Vec<String> = message.tool_calls().map(|call| call.name.clone()).collect();
            let mut answers = Vec::new();
            for (place, call) in round.calls.iter().enumerate() {
                let (text, outcome) = self.outcome(plan, call, (number, place), bytes);
                let name = names.get(place).cloned().unwrap_or_default();
                answers.push(match ids.get(place) {
                    Some(id) => MessagePart::ToolResult(ToolResult {
                        call_id: id.clone(),
                        name,
                        content: vec![ResultPart::Text(text)],
                        outcome,
                    }),
                    None => MessagePart::Text(format!("Result: {text}")),
                });
            }
            let told = if is_last { self.rejections(plan) } else { None };
            if answers.is_empty() {
                let text = told.unwrap_or_else(|| "Go on.".to_owned());
                answers.push(MessagePart::Text(text));
            } else {
                answers.extend(told.map(MessagePart::Text));
            }
            self.messages.push(message);
            self.messages.push(ModelMessage::of(MessageRole::User, answers));
        }
    }

    /// The model's own message of a round.
    fn said(&mut self, plan: &PromptPlan<'_>, round: &ThoughtRound, number: usize) -> ModelMessage {
        let name = format!("{}", number + 1);
        if !plan.may_see(round.privacy) {
            let left = PromptPart::left("draft", round.text.len(), round.privacy, PRIVATE_REASON);
            self.parts.push(left.named(name));
            return self.rebuilt(plan, round, number, true);
        }
        let part = PromptPart::of(plan.codec(), "draft", &round.text, round.privacy);
        self.parts.push(part.named(name));
        self.book.add_text(&round.text);
        let kept = round.opaque.as_ref().filter(|_| plan.seat.model.takes_tools);
        let whole = kept.and_then(|kept| message_of(plan.codec(), &plan.seat.model.name, kept));
        match whole.filter(|message| message.tool_calls().count() == round.calls.len()) {
            Some(message) => message,
            None => self.rebuilt(plan, round, number, false),
        }
    }

    /// A message from the text and the calls of a round.
    fn rebuilt(
        &self,
        plan: &PromptPlan<'_>,
        round: &ThoughtRound,
        number: usize,
        is_hidden: bool,
    ) -> ModelMessage {
        let mut parts = Vec::new();
        let text = if is_hidden { PRIVATE_LINE } else { &round.text };
        let mut text = text.to_owned();
        for (place, call) in round.calls.iter().enumerate() {
            let id = match &call.call {
                Some(id) if !id.as_str().is_empty() => id.as_str().to_owned(),
                _ => format!("round-{number}-{place}"),
            };
            let mut past = plan.table.past_call(call, id);
            if is_hidden {
                past.arguments = bridle_models::ToolArguments::read("{}");
            }
            match plan.seat.model.takes_tools {
                true => parts.push(MessagePart::ToolCall(past)),
                false => text.push_str(&as_text(&past, call, is_hidden)),
            }
        }
        if text.is_empty() && parts.is_empty() {
            text.push_str("(nothing)");
        }
        if !text.is_empty() {
            parts.insert(0, MessagePart::Text(text));
        }
        ModelMessage::of(MessageRole::Assistant, parts)
    }

    /// The text that answers a call, and whether it worked.
    fn outcome(
        &mut self,
        plan: &PromptPlan<'_>,
        call: &RoundCall,
        place: (usize, usize),
        room: usize,
    ) -> (String, ToolOutcome) {
        match &call.end {
            CallEnd::Open => ("not finished yet".to_owned(), ToolOutcome::Failure),
            CallEnd::Said => ("shown to the user".to_owned(), ToolOutcome::Success),
            // A reason may quote what the call was about, such as the headings that come nearest.
            CallEnd::Rejected(rejection) if !plan.may_see(label_at(plan, place)) => {
                let left = PromptPart::left("result", 0, label_at(plan, place), PRIVATE_REASON);
                self.parts.push(left.named("refusal"));
                let code = rejection.code.word();
                (format!("not allowed ({code}): {PRIVATE_LINE}"), ToolOutcome::Failure)
            }
            CallEnd::Rejected(rejection) => {
                let label = label_at(plan, place);
                let text = refused(rejection);
                if label != Privacy::default() {
                    self.parts.push(PromptPart::of(plan.codec(), "result", &text, label));
                }
                (text, ToolOutcome::Failure)
            }
            CallEnd::Deed(deed) => self.deed(plan, deed, place, room),
        }
    }

    fn deed(
        &mut self,
        plan: &PromptPlan<'_>,
        deed: &Deed,
        place: (usize, usize),
        room: usize,
    ) -> (String, ToolOutcome) {
        let source = "result";
        let name = format!("{} of {}", deed.action, deed.target);
        let failed = |why: String| (why, ToolOutcome::Failure);
        let label = deed.privacy.max(label_at(plan, place));
        let value = match &deed.outcome {
            Outcome::Done(value) => plan.context.results.get(&place).unwrap_or(value),
            Outcome::Denied(why) | Outcome::Failed(why) => {
                let how = match &deed.outcome {
                    Outcome::Denied(_) => "refused",
                    _ => "failed",
                };
                if !plan.may_see(label) {
                    self.parts.push(PromptPart::left(source, why.len(), label, PRIVATE_REASON));
                    return failed(format!("{how}: {PRIVATE_LINE}"));
                }
                if label != Privacy::default() {
                    self.parts.push(PromptPart::of(plan.codec(), source, why, label).named(name));
                }
                return failed(format!("{how}: {why}"));
            }
            Outcome::Expired => return failed("nobody answered in time".to_owned()),
            Outcome::Superseded => return failed("a later request took its place".to_owned()),
            Outcome::UnknownOutcome => {
                return failed("begun, and nobody knows how it ended: look first".to_owned());
            }
        };
        let open = value.get(OPEN_ANSWER).filter(|_| !plan.may_see(label));
        let (value, privacy) = match (open, plan.may_see(label)) {
            (Some(open), _) => {
                let part = PromptPart::left(source, 0, label, PRIVATE_REASON);
                self.parts.push(part.named(name.clone()));
                (open, Privacy::default())
            }
            (None, true) => (value, label),
            (None, false) => {
                let part = PromptPart::left(source, 0, label, PRIVATE_REASON);
                self.parts.push(part.named(name));
                return (PRIVATE_LINE.to_owned(), ToolOutcome::Success);
            }
        };
        self.book.add_value(value);
        let whole = if value.is_nil() { "done".to_owned() } else { to_json(value) };
        let mut text = cut(&whole, room, deed);
        if open.is_some() {
            text.push('\n');
            text.push_str(PRIVATE_LINE);
        }
        self.book.add_text(&text);
        let part = PromptPart::of(plan.codec(), source, &text, privacy);
        self.parts.push(part.named(name));
        (text, ToolOutcome::Success)
    }

    /// Refusals that answer no call: of the answer itself.
    pub(super) fn rejections(&mut self, plan: &PromptPlan<'_>) -> Option<String> {
        let of_calls =
            |rejection: &ProposalRejection| {
                plan.prompt.rounds.iter().flat_map(|round| &round.calls).any(
                    |call| matches!(&call.end, CallEnd::Rejected(known) if **known == *rejection),
                )
            };
        let others = plan.prompt.rejected.iter().filter(|rejection| !of_calls(rejection));
        let lines: Vec<String> = others.map(|rejection| refused(rejection)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// The label of what a call brought back, as far as its target makes one.
fn label_at(plan: &PromptPlan<'_>, place: (usize, usize)) -> Privacy {
    plan.context.labels.get(&place).copied().unwrap_or_default()
}

/// A call as a line of text.
fn as_text(past: &ToolCall, call: &RoundCall, is_hidden: bool) -> String {
    let pairs = call.arguments.elements().unwrap_or_default().chunks_exact(2);
    let is_told = |pair: &&[Value]| !is_hidden && !pair[0].is_keyword("action");
    let told: Vec<String> =
        pairs.filter(is_told).map(|pair| format!(" {} {}", pair[0], pair[1])).collect();
    format!("\n(:tool :{}{})", past.name, told.concat())
}

fn refused(rejection: &ProposalRejection) -> String {
    format!("not allowed ({}): {}", rejection.code.word(), rejection.reason)
}

/// The beginning of a result, with a mark where it is cut.
fn cut(text: &str, room: usize, deed: &Deed) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(room);
    let more = match &deed.stored {
        Some(stored) => format!("; context_look get-result, seq {}, has all of it", stored.seq.0),
        None => String::new(),
    };
    format!("{}\n[cut: {end} of {} bytes{more}]", &text[..end], text.len())
}
