//! One session's records, sorted into the turns they belong to.
//!
//! A turn is found by its number, by the effect that a result names, or by the signal that an answer
//! names. A signal that makes no turn is a section of its own.

use std::collections::{BTreeMap, HashMap};

use bridle_record::{Record, RecordNumber};
use bridle_sexp::Value;
use bridle_wire::time::rfc3339;

use super::super::record_body;
use super::text::{OrgDocument, title};

/// Who approves where nobody had to be asked.
const POLICY: &str = "policy";

/// Who approves where somebody was asked, and the answer cannot be read any more.
const FORGOTTEN: &str = "somebody whose answer is forgotten";

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

/// What a section is about: a signal by its number in the stream, or a turn that time began.
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
    /// What it is called while it is no turn.
    noun: &'static str,
    title: String,
    turn: Option<u64>,
    /// What stands below it, each beginning with a heading.
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
        match &*record.kind {
            "signal" => self.signal(record, value),
            "consult" | "think" => self.asked(record, value),
            "consulted" | "drafted" => {
                self.asked_and_answered(record, value);
                self.thought(record, value);
            }
            "ask" => self.question(record, value),
            "answered" => self.answered(record, value),
            "compacted" => self.compacted(value),
            "decided" => self.decided(record, value),
            "act" => self.act(record, value),
            "acted" | "settled" => self.outcome(record, value),
            "say" => self.say(record, value),
            "cancelled" => self.cancelled(record, value),
            "withdrawn" => self.withdrawn(record, value),
            "finish" => self.finish(value),
            _ => {}
        }
    }

    fn signal(&mut self, record: &Record, value: Option<&Value>) {
        let seq = record.seq.unwrap_or_default();
        let payload = value.and_then(|value| value.get("payload"));
        let text = payload.and_then(text_in);
        let word = |key| payload.and_then(|it| it.get(key)).and_then(Value::as_keyword);
        let name = word("sensor").or_else(|| word("action")).unwrap_or("signal");
        let mut section = TraceSection::new(record, text.map_or_else(|| name.to_owned(), title));
        let doc = section.part("Input");
        match (payload, text) {
            (_, Some(text)) => doc.example(text),
            (Some(payload), None) => doc.form(payload),
            (None, None) => doc.paragraph("Forgotten."),
        }
        self.open.insert(SectionKey::Signal(seq), section);
    }

    fn asked(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let (turn, seq) = (number(value, "turn").unwrap_or_default(), number(value, "seq"));
        let key = seq.map_or(SectionKey::Turn(turn), SectionKey::Signal);
        self.turns.insert(turn, key);
        if let Some(effect) = number(value, "effect") {
            self.effects.insert(effect, key);
        }
        let section = self.open.entry(key).or_insert_with(|| {
            let mut section = TraceSection::new(record, "time".to_owned());
            section.part("Input").paragraph("Time passed: a schedule or the heartbeat.");
            section
        });
        section.turn = Some(turn);
        let doc = section.part(if &*record.kind == "think" { "Thought" } else { "Context" });
        doc.drawer(&about(record));
        let mut rows = Vec::new();
        for key in ["history", "decisions", "depth", "tries"] {
            rows.extend(number(value, key).map(|count| [key.to_owned(), count.to_string()]));
        }
        let focus = value.get("focus").is_some_and(|it| !it.is_nil());
        rows.push(["focus".to_owned(), if focus { "known" } else { "unknown" }.to_owned()]);
        doc.table(["known", "how much"], &rows);
        for key in ["rejected", "results"] {
            for one in value.get(key).and_then(Value::elements).unwrap_or_default() {
                doc.fixed(&format!("{key}: {one}"));
            }
        }
    }

    /// An answer that has its question in it, and what it proposes.
    fn asked_and_answered(&mut self, record: &Record, value: Option<&Value>) {
        if value.is_some_and(|value| value.get("turn").is_some()) {
            self.asked(record, value);
        }
        let proposals = value.and_then(|value| value.get("proposals")?.elements());
        let payload = |proposal: &Value| proposal.get("payload").cloned().unwrap_or(Value::Nil);
        let payloads = proposals.unwrap_or_default().iter().map(payload).collect();
        self.proposed = (record.number.0, payloads);
    }

    fn thought(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let Some(section) = self.by_effect(value) else { return };
        if let Some(fault) = value.get("fault").and_then(Value::as_str) {
            let doc = section.part("Fault");
            doc.drawer(&about(record));
            doc.example(fault);
        }
    }

    fn decided(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let payload = value.get("payload").or_else(|| self.proposal(record, value)).cloned();
        let word = |key| keyword(value, key);
        let mut properties = about(record).to_vec();
        properties.extend([
            ("BY", word("by")),
            ("VERDICT", word("verdict")),
            ("RULE", word("rule")),
        ]);
        properties.extend(self.approver(record, value));
        let Some(section) = self.by_turn(value) else { return };
        let (action, target) = (word("action"), word("target"));
        let title = format!("Proposal: {action} to {target}");
        if word("verdict") == "allow" {
            section.allowed.push((section.parts.len(), action, target));
        }
        let doc = section.part(&title);
        doc.drawer(&properties);
        if let Some(payload) = payload {
            doc.form(&payload);
        }
        if let Some(why) = value.get("explanation").and_then(Value::as_str) {
            doc.paragraph("Why it was proposed:");
            doc.fixed(why);
        }
        let checked = value.get("checked").and_then(Value::elements).unwrap_or_default();
        let name = |value: &Value| value.as_keyword().unwrap_or_default().to_owned();
        let rows: Vec<_> = checked.chunks_exact(2).map(|it| [name(&it[0]), name(&it[1])]).collect();
        doc.table(["rule", "result"], &rows);
        if let Some(reason) = value.get("reason").and_then(Value::as_str) {
            doc.paragraph("Reason:");
            doc.fixed(reason);
        }
        for dropped in value.get("dropped").and_then(Value::elements).unwrap_or_default() {
            doc.fixed(&format!("dropped: {dropped}"));
        }
    }

    /// The payload of the proposal that a decision names.
    fn proposal(&self, record: &Record, value: &Value) -> Option<&Value> {
        let (event, payloads) = &self.proposed;
        let place = usize::try_from(value.get("proposal")?.as_i64()?).ok()?;
        payloads.get(place).filter(|_| record.cause == Some(RecordNumber(*event)))
    }

    fn act(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let turn = number(value, "turn").unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        if let Some(effect) = number(value, "effect") {
            self.effects.insert(effect, key);
        }
        let Some(section) = self.open.get_mut(&key) else { return };
        let payload = value.get("payload");
        let action = payload.map(|it| keyword(it, "action")).unwrap_or_default();
        let target = keyword(value, "target");
        let title = format!("Act: {action} by {target}");
        let place = section.allowed.iter().position(|(_, of, to)| *of == action && *to == target);
        let proposal = place.map(|place| section.allowed.remove(place).0);
        let doc = section.below(proposal, &title);
        doc.drawer(&about(record));
        doc.form(payload.unwrap_or(value));
        if let (Some(effect), Some(proposal)) = (number(value, "effect"), proposal) {
            section.acts.insert(effect, proposal);
        }
    }

    /// A question of the guard, with what it asks.
    fn question(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let turn = number(value, "turn").unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        if let Some(effect) = number(value, "effect") {
            self.effects.insert(effect, key);
        }
        let Some(section) = self.open.get_mut(&key) else { return };
        let doc = section.part("Question");
        doc.drawer(&about(record));
        if let Some(text) = value.get("text").and_then(Value::as_str) {
            doc.fixed(text);
        }
    }

    /// Somebody's yes or no: who, when, from which shell, and whether it counts.
    fn answered(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let from = |key: &str| {
            let it = value.get("from")?.get(key)?;
            it.as_keyword().or(it.as_str()).map(str::to_owned)
        };
        let (shell, client) = (from("shell"), from("client"));
        let principal = record.principal.clone();
        let answer = keyword(value, "answer");
        let counts = value.get("counted").is_none_or(|it| !it.is_nil());
        let mut properties = about(record).to_vec();
        properties.push(("PRINCIPAL", principal.to_string()));
        properties.extend(shell.clone().map(|shell| ("SHELL", shell)));
        properties.extend(client.map(|client| ("CLIENT", client)));
        if let Some(section) = self.by_effect(value) {
            let doc = section.part(&format!("Answer: {answer} by {principal}"));
            doc.drawer(&properties);
            if !counts {
                doc.paragraph("It did not count.");
            }
        }
        self.answer =
            Some(GivenAnswer { record: record.number.0, at: record.at, principal, shell });
    }

    /// Who said yes to what was allowed, when and from where.
    fn approver(&self, record: &Record, value: &Value) -> Vec<(&'static str, String)> {
        if keyword(value, "verdict") != "allow" {
            return Vec::new();
        }
        if keyword(value, "rule") != "approval" {
            return vec![("APPROVER", POLICY.to_owned())];
        }
        let given = self.answer.as_ref().filter(|it| record.cause == Some(RecordNumber(it.record)));
        let Some(given) = given else { return vec![("APPROVER", FORGOTTEN.to_owned())] };
        let mut properties = vec![
            ("APPROVER", given.principal.to_string()),
            ("APPROVED", rfc3339(given.at)),
            ("ANSWER", given.record.to_string()),
        ];
        properties.extend(given.shell.clone().map(|shell| ("SHELL", shell)));
        properties
    }

    /// Records of the session that are gone.
    fn compacted(&mut self, value: Option<&Value>) {
        let number = |key| value.and_then(|value| number(value, key)).unwrap_or_default();
        let (from, to) = (number("from"), number("to"));
        self.ready.paragraph(&format!("Compacted: records {from} to {to} are gone."));
    }

    fn outcome(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let Some(section) = self.by_effect(value) else { return };
        let proposal = number(value, "effect").and_then(|effect| section.acts.remove(&effect));
        let doc = section.below(proposal, &format!("Outcome: {}", keyword(value, "outcome")));
        doc.drawer(&about(record));
        match (value.get("result"), value.get("reason").and_then(Value::as_str)) {
            (Some(result), _) => doc.form(result),
            (None, Some(reason)) => doc.example(reason),
            (None, None) => {}
        }
    }

    fn say(&mut self, record: &Record, value: Option<&Value>) {
        let answers = value.and_then(|value| number(value, "answers"));
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
        let payload = value.and_then(|value| value.get("payload"));
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
                    self.write(section, "answered");
                }
            }
        }
    }

    fn cancelled(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let Some(section) = self.by_turn(value) else { return };
        let doc = section.part("Given up");
        doc.drawer(&about(record));
        doc.example(value.get("reason").and_then(Value::as_str).unwrap_or_default());
    }

    fn withdrawn(&mut self, record: &Record, value: Option<&Value>) {
        let Some(value) = value else { return };
        let seq = number(value, "signal").unwrap_or_default();
        let Some(section) = self.open.get_mut(&SectionKey::Signal(seq)) else { return };
        let doc = section.part("Withdrawn");
        doc.drawer(&about(record));
        doc.example(&keyword(value, "how"));
    }

    fn finish(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return };
        let turn = number(value, "turn").unwrap_or_default();
        let Some(key) = self.key_of_turn(turn) else { return };
        self.turns.remove(&turn);
        self.effects.retain(|_, other| *other != key);
        if let Some(section) = self.open.remove(&key) {
            self.write(section, &keyword(value, "reason"));
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

    fn by_turn(&mut self, value: &Value) -> Option<&mut TraceSection> {
        let key = self.key_of_turn(number(value, "turn")?)?;
        self.open.get_mut(&key)
    }

    fn by_effect(&mut self, value: &Value) -> Option<&mut TraceSection> {
        let key = self.effects.get(&number(value, "effect")?)?;
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

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_i64().and_then(|number| u64::try_from(number).ok())
}

fn keyword(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_keyword).unwrap_or("nobody").to_owned()
}

/// What a person would call the text of a payload.
fn text_in(payload: &Value) -> Option<&str> {
    ["text", "message", "command"].into_iter().find_map(|key| payload.get(key)?.as_str())
}
