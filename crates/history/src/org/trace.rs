//! One session's records, sorted into the turns they belong to.
//!
//! A turn is found by its number, by the effect that a result names, or by the signal that an answer
//! names. A signal that makes no turn is a section of its own.

use bridle_loop::{
    AnsweredBody, CancelledBody, CompactedBody, DecidedBody, FinishBody, IntentBody, OutcomeBody,
    PromptBody, ProposalsBody, RecordKind, SayBody, SignalBody, TurnEnd, WithdrawnBody,
};
use bridle_record::{Record, RecordNumber};
use bridle_sexp::Value;
use bridle_wire::time::rfc3339;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::super::record_body;
use super::super::record_source::kind_of;
use super::text::{OrgDocument, title};

/// Approver where nobody had to be asked.
const APPROVED_BY_POLICY: &str = "policy";

/// Approver where somebody was asked, and the answer cannot be read any more.
const APPROVED_BY_FORGOTTEN: &str = "somebody whose answer is forgotten";

/// The session being written.
#[derive(Debug)]
pub(super) struct SessionTrace {
    ready: OrgDocument,
    open: BTreeMap<SectionKey, TraceSection>,
    turns: HashMap<u64, SectionKey>,
    effects: HashMap<u64, SectionKey>,
    /// The payloads that the last event proposed, and its number.
    proposed: (u64, Vec<Value>),
    /// The last answer to a question.
    answer: Option<GivenAnswer>,
}

/// An answer of somebody to a question of the guard.
#[derive(Debug)]
struct GivenAnswer {
    record: u64,
    at: i64,
    principal: Box<str>,
    shell: Option<String>,
}

/// Subject of a section: a signal by its number in the stream, or a turn that time began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum SectionKey {
    Signal(u64),
    Turn(u64),
}

#[derive(Debug)]
struct TraceSection {
    record: u64,
    at: i64,
    principal: Box<str>,
    seq: Option<u64>,
    /// Noun in its heading while it is no turn.
    noun: &'static str,
    title: String,
    turn: Option<u64>,
    /// Parts below it, each beginning with a heading.
    parts: Vec<OrgDocument>,
    /// Proposals that were allowed and not carried out yet: their parts, with action and target.
    allowed: Vec<(usize, String, String)>,
    /// Parts of the proposals that acts follow from, by effect.
    acts: HashMap<u64, usize>,
}

impl SessionTrace {
    pub(super) fn new(ready: OrgDocument) -> SessionTrace {
        let (open, turns, effects) = Default::default();
        SessionTrace { ready, open, turns, effects, proposed: (0, Vec::new()), answer: None }
    }

    /// The text that is finished.
    pub(super) fn ready(&mut self) -> String {
        self.ready.take()
    }

    /// The rest: turns that have not ended.
    pub(super) fn end(mut self) -> String {
        while let Some((_, section)) = self.open.pop_first() {
            self.write(section, "open");
        }
        self.ready.take()
    }

    pub(super) fn take(&mut self, record: &Record) {
        let value = record.body.text().map(record_body::value);
        let value = value.as_ref();
        let Some(kind) = kind_of(record) else { return };
        match kind {
            RecordKind::Signal => self.signal(record, value.map(SignalBody::read)),
            RecordKind::Consult => self.asked(record, "Context", value.map(PromptBody::read)),
            RecordKind::Think => self.asked(record, "Thought", value.map(PromptBody::read)),
            RecordKind::Consulted | RecordKind::Drafted => {
                self.asked_and_answered(record, value);
                self.thought(record, value.map(ProposalsBody::read));
            }
            RecordKind::Ask => self.question(record, value.map(IntentBody::read)),
            RecordKind::Answered => self.answered(record, value.map(AnsweredBody::read)),
            RecordKind::Compacted => self.compacted(value.map(CompactedBody::read)),
            RecordKind::Decided => self.decided(record, value.map(DecidedBody::read)),
            RecordKind::Act => self.act(record, value),
            RecordKind::Acted | RecordKind::Settled => {
                self.outcome(record, value.map(OutcomeBody::read));
            }
            RecordKind::Say => self.say(record, value.map(SayBody::read)),
            RecordKind::Cancelled => self.cancelled(record, value.map(CancelledBody::read)),
            RecordKind::Withdrawn => self.withdrawn(record, value.map(WithdrawnBody::read)),
            RecordKind::Finish => self.finish(value),
            // No part of a turn, or said with another record of it.
            RecordKind::Began
            | RecordKind::Registered
            | RecordKind::ConsultantsChanged
            | RecordKind::Upgraded
            | RecordKind::Stop
            | RecordKind::PolicyInstalled
            | RecordKind::Counted
            | RecordKind::Tick
            | RecordKind::Started
            | RecordKind::Shown
            | RecordKind::Mark
            | RecordKind::DaemonUp
            | RecordKind::DaemonDown
            | RecordKind::Policy
            | RecordKind::PolicyRefused
            | RecordKind::Refused
            | RecordKind::Catalog
            | RecordKind::Log
            | RecordKind::Forgot
            | RecordKind::Compaction
            | RecordKind::Repaired => {}
        }
    }

    fn signal(&mut self, record: &Record, body: Option<SignalBody<'_>>) {
        let seq = record.seq.unwrap_or_default();
        let payload = body.and_then(|body| body.payload);
        let text = payload.and_then(text_in);
        let word = |key| payload.and_then(|it| it.get(key)).and_then(Value::as_keyword);
        let name = word("sensor").or_else(|| word("action")).unwrap_or(RecordKind::Signal.word());
        let mut section = TraceSection::new(record, text.map_or_else(|| name.to_owned(), title));
        let doc = section.part("Input");
        match (payload, text) {
            (_, Some(text)) => doc.example(text),
            (Some(payload), None) => doc.form(payload),
            (None, None) => doc.paragraph("Forgotten."),
        }
        self.open.insert(SectionKey::Signal(seq), section);
    }

    /// Begins the part of a turn in which thinkers are asked.
    fn asked(&mut self, record: &Record, part: &str, body: Option<PromptBody<'_>>) {
        let Some(body) = body else { return };
        let turn = body.turn.unwrap_or_default();
        let key = body.seq.map_or(SectionKey::Turn(turn), SectionKey::Signal);
        self.turns.insert(turn, key);
        if let Some(effect) = body.effect {
            self.effects.insert(effect, key);
        }
        let section = self.open.entry(key).or_insert_with(|| {
            let mut section = TraceSection::new(record, "time".to_owned());
            section.part("Input").paragraph("Time passed: a schedule or the heartbeat.");
            section
        });
        section.turn = Some(turn);
        let doc = section.part(part);
        doc.drawer(&about(record));
        let mut rows = Vec::new();
        for key in PromptBody::COUNTS {
            rows.extend(body.count(key).map(|count| [key.to_owned(), count.to_string()]));
        }
        let focus = if body.has_focus { "known" } else { "unknown" };
        rows.push(["focus".to_owned(), focus.to_owned()]);
        doc.table(["known", "how much"], &rows);
        for (key, one) in body.rounds() {
            doc.fixed(&format!("{key}: {one}"));
        }
    }

    /// An answer that has its question in it, and what it proposes.
    fn asked_and_answered(&mut self, record: &Record, value: Option<&Value>) {
        if let Some(prompt) = value.map(PromptBody::read).filter(|prompt| prompt.turn.is_some()) {
            self.asked(record, "Context", Some(prompt));
        }
        let payloads = value.map(ProposalsBody::read).into_iter();
        let payloads = payloads.flat_map(|body| body.payloads());
        let payloads = payloads.map(|payload| payload.map_or(Value::Nil, Cow::into_owned));
        self.proposed = (record.number.0, payloads.collect());
    }

    fn thought(&mut self, record: &Record, body: Option<ProposalsBody<'_>>) {
        let Some(body) = body else { return };
        let Some(section) = self.by_effect(body.effect) else { return };
        if let Some(fault) = body.fault {
            let doc = section.part("Fault");
            doc.drawer(&about(record));
            doc.example(fault);
        }
    }

    fn decided(&mut self, record: &Record, body: Option<DecidedBody<'_>>) {
        let Some(body) = body else { return };
        let payload = body.payload.or_else(|| self.proposal(record, &body)).cloned();
        let mut properties = about(record).to_vec();
        properties.extend([
            ("BY", shown_word(body.by)),
            ("VERDICT", shown_word(body.verdict)),
            ("RULE", shown_word(body.rule)),
        ]);
        properties.extend(self.approver(record, &body));
        let Some(section) = self.by_turn(body.turn) else { return };
        let (action, target) = (shown_word(body.action), shown_word(body.target));
        let title = format!("Proposal: {action} to {target}");
        if body.is_allowed() {
            section.allowed.push((section.parts.len(), action, target));
        }
        let doc = section.part(&title);
        doc.drawer(&properties);
        if let Some(payload) = payload {
            doc.form(&payload);
        }
        if let Some(why) = body.explanation {
            doc.paragraph("Why it was proposed:");
            doc.fixed(why);
        }
        let rows: Vec<_> = body.checked().map(|pair| pair.map(str::to_owned)).collect();
        doc.table(["rule", "result"], &rows);
        if let Some(reason) = body.reason {
            doc.paragraph("Reason:");
            doc.fixed(reason);
        }
        for dropped in body.dropped() {
            doc.fixed(&format!("dropped: {dropped}"));
        }
    }

    /// The payload of the proposal that a decision names.
    fn proposal(&self, record: &Record, decided: &DecidedBody<'_>) -> Option<&Value> {
        let (event, payloads) = &self.proposed;
        payloads.get(decided.proposal?).filter(|_| record.cause == Some(RecordNumber(*event)))
    }

    fn act(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let body = IntentBody::read(value);
        let turn = body.turn.unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        if let Some(effect) = body.effect {
            self.effects.insert(effect, key);
        }
        let Some(section) = self.open.get_mut(&key) else { return };
        let action = body.payload.map(|_| shown_word(body.action())).unwrap_or_default();
        let target = shown_word(body.target);
        let title = format!("Act: {action} by {target}");
        let place = section.allowed.iter().position(|(_, of, to)| *of == action && *to == target);
        let proposal = place.map(|place| section.allowed.remove(place).0);
        let doc = section.below(proposal, &title);
        doc.drawer(&about(record));
        doc.form(body.payload.unwrap_or(value));
        if let (Some(effect), Some(proposal)) = (body.effect, proposal) {
            section.acts.insert(effect, proposal);
        }
    }

    /// A question of the guard, with what it asks.
    fn question(&mut self, record: &Record, body: Option<IntentBody<'_>>) {
        let Some(body) = body else { return };
        let turn = body.turn.unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        if let Some(effect) = body.effect {
            self.effects.insert(effect, key);
        }
        let Some(section) = self.open.get_mut(&key) else { return };
        let doc = section.part("Question");
        doc.drawer(&about(record));
        if let Some(text) = body.question {
            doc.fixed(text);
        }
    }

    /// Answer of a person: principal, time, shell, and whether it counts.
    fn answered(&mut self, record: &Record, body: Option<AnsweredBody<'_>>) {
        let Some(body) = body else { return };
        let shell = body.shell.map(str::to_owned);
        let client = body.client.map(str::to_owned);
        let principal = record.principal.clone();
        let answer = shown_word(body.answer);
        let mut properties = about(record).to_vec();
        properties.push(("PRINCIPAL", principal.to_string()));
        properties.extend(shell.clone().map(|shell| ("SHELL", shell)));
        properties.extend(client.map(|client| ("CLIENT", client)));
        if let Some(section) = self.by_effect(body.effect) {
            let doc = section.part(&format!("Answer: {answer} by {principal}"));
            doc.drawer(&properties);
            if !body.counts {
                doc.paragraph("It did not count.");
            }
        }
        self.answer =
            Some(GivenAnswer { record: record.number.0, at: record.at, principal, shell });
    }

    /// Properties of the yes to what was allowed: principal, time and shell.
    fn approver(&self, record: &Record, decided: &DecidedBody<'_>) -> Vec<(&'static str, String)> {
        if !decided.is_allowed() {
            return Vec::new();
        }
        if !decided.is_by_approval() {
            return vec![("APPROVER", APPROVED_BY_POLICY.to_owned())];
        }
        let given = self.answer.as_ref().filter(|it| record.cause == Some(RecordNumber(it.record)));
        let Some(given) = given else {
            return vec![("APPROVER", APPROVED_BY_FORGOTTEN.to_owned())];
        };
        let mut properties = vec![
            ("APPROVER", given.principal.to_string()),
            ("APPROVED", rfc3339(given.at)),
            ("ANSWER", given.record.to_string()),
        ];
        properties.extend(given.shell.clone().map(|shell| ("SHELL", shell)));
        properties
    }

    /// Records of the session that are gone.
    fn compacted(&mut self, body: Option<CompactedBody<'_>>) {
        let from = body.and_then(|body| body.from).unwrap_or_default();
        let to = body.and_then(|body| body.to).unwrap_or_default();
        self.ready.paragraph(&format!("Compacted: records {from} to {to} are gone."));
    }

    fn outcome(&mut self, record: &Record, body: Option<OutcomeBody<'_>>) {
        let Some(body) = body else { return };
        let Some(section) = self.by_effect(body.effect) else { return };
        let proposal = body.effect.and_then(|effect| section.acts.remove(&effect));
        let doc = section.below(proposal, &format!("Outcome: {}", shown_word(body.outcome)));
        doc.drawer(&about(record));
        match (body.result, body.reason) {
            (Some(result), _) => doc.form(result),
            (None, Some(reason)) => doc.example(reason),
            (None, None) => {}
        }
    }

    fn say(&mut self, record: &Record, body: Option<SayBody<'_>>) {
        let answers = body.and_then(|body| body.answers);
        // What answers nobody belongs to the turn that time began, if there is one.
        let by_time = || self.open.last_key_value().map(|(key, _)| *key);
        let key = answers.map(SectionKey::Signal).or_else(by_time);
        let key = key.filter(|key| answers.is_some() || matches!(key, SectionKey::Turn(_)));
        let mut alone = TraceSection::new(record, "unasked".to_owned());
        let known = key.and_then(|key| self.open.get_mut(&key));
        let is_known = known.is_some();
        let section = known.unwrap_or(&mut alone);
        let doc = section.part("Answer");
        doc.drawer(&about(record));
        let payload = body.and_then(|body| body.payload);
        match (payload, payload.and_then(text_in)) {
            (_, Some(text)) => doc.example(text),
            (Some(payload), None) => doc.form(payload),
            (None, None) => doc.paragraph("Forgotten."),
        }
        let has_turn = section.turn.is_some();
        match key.filter(|_| is_known) {
            None => {
                alone.noun = "Said";
                self.write(alone, "said");
            }
            Some(_) if has_turn => {}
            Some(key) => {
                if let Some(section) = self.open.remove(&key) {
                    self.write(section, TurnEnd::Answered.word());
                }
            }
        }
    }

    fn cancelled(&mut self, record: &Record, body: Option<CancelledBody<'_>>) {
        let Some(body) = body else { return };
        let Some(section) = self.by_turn(body.turn) else { return };
        let doc = section.part("Given up");
        doc.drawer(&about(record));
        doc.example(body.reason.unwrap_or_default());
    }

    fn withdrawn(&mut self, record: &Record, body: Option<WithdrawnBody<'_>>) {
        let Some(body) = body else { return };
        let seq = body.signal.unwrap_or_default();
        let Some(section) = self.open.get_mut(&SectionKey::Signal(seq)) else { return };
        let doc = section.part("Withdrawn");
        doc.drawer(&about(record));
        doc.example(&shown_word(body.reason));
    }

    fn finish(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return };
        let (turn, end) = FinishBody::turn_end(value);
        let turn = turn.unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        self.turns.remove(&turn);
        self.effects.retain(|_, other| *other != key);
        if let Some(section) = self.open.remove(&key) {
            self.write(section, &shown_word(end));
        }
    }

    /// A turn that no consultation named is that of the oldest signal which has none: they wait in
    /// line.
    fn key_of_turn(&mut self, turn: u64) -> Option<SectionKey> {
        if let Some(key) = self.turns.get(&turn) {
            return Some(*key);
        }
        let (key, section) = self.open.iter_mut().find(|(_, section)| section.turn.is_none())?;
        section.turn = Some(turn);
        self.turns.insert(turn, *key);
        Some(*key)
    }

    fn by_turn(&mut self, turn: Option<u64>) -> Option<&mut TraceSection> {
        let key = self.key_of_turn(turn?)?;
        self.open.get_mut(&key)
    }

    fn by_effect(&mut self, effect: Option<u64>) -> Option<&mut TraceSection> {
        let key = self.effects.get(&effect?)?;
        self.open.get_mut(key)
    }

    fn write(&mut self, mut section: TraceSection, outcome: &str) {
        let title = match section.turn {
            Some(turn) => format!("Turn {turn}: {}", section.title),
            None => format!("{}: {}", section.noun, section.title),
        };
        self.ready.heading(2, &title);
        let mut properties = vec![
            ("RECORD", section.record.to_string()),
            ("TIME", rfc3339(section.at)),
            ("PRINCIPAL", section.principal.to_string()),
        ];
        properties.extend(section.seq.map(|seq| ("SEQ", seq.to_string())));
        properties.push(("OUTCOME", outcome.to_owned()));
        self.ready.drawer(&properties);
        section.parts.iter_mut().for_each(|part| self.ready.append(part));
    }
}

impl TraceSection {
    fn new(record: &Record, title: String) -> TraceSection {
        TraceSection {
            record: record.number.0,
            at: record.at,
            principal: record.principal.clone(),
            seq: record.seq,
            noun: "Signal",
            title,
            turn: None,
            parts: Vec::new(),
            allowed: Vec::new(),
            acts: HashMap::new(),
        }
    }

    /// Begins the next part.
    fn part(&mut self, title: &str) -> &mut OrgDocument {
        let mut doc = OrgDocument::default();
        doc.heading(3, title);
        let at = self.parts.len();
        self.parts.push(doc);
        &mut self.parts[at]
    }

    /// Goes on below a proposal; without one, begins the next part.
    fn below(&mut self, proposal: Option<usize>, title: &str) -> &mut OrgDocument {
        match proposal.filter(|at| *at < self.parts.len()) {
            None => self.part(title),
            Some(at) => {
                self.parts[at].heading(4, title);
                &mut self.parts[at]
            }
        }
    }
}

/// The properties that every part has.
fn about(record: &Record) -> [(&'static str, String); 2] {
    [("RECORD", record.number.to_string()), ("TIME", rfc3339(record.at))]
}

/// A word of a body, for people; `nobody` where it cannot be read any more.
fn shown_word(word: Option<&str>) -> String {
    word.unwrap_or("nobody").to_owned()
}

/// Text of a payload, as a person would call it.
fn text_in(payload: &Value) -> Option<&str> {
    ["text", "message", "command"].into_iter().find_map(|key| payload.get(key)?.as_str())
}
