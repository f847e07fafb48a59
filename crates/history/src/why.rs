//! Why something happened: the decisions behind a record, the policies and facts they rest on, and who
//! answered where somebody was asked.
//!
//! Called by `bridle why`. Records are followed by their causes and by the effects they name; what is
//! not said in the record is not guessed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bridle_loop::{
    AnsweredBody, CheckResult, DEFAULT_POLICY, DecidedBody, GuardPolicies, IntentBody, OutcomeBody,
    PolicyBody, PolicyHash, PolicySourceBody, RecordKind,
};
use bridle_record::{Record, RecordFilter, RecordNumber};
use bridle_sexp::Value;

use super::policy_load::load_recorded;
use super::record_source::{kind_of, of_kinds};
use super::{HistoryError, PAGE_RECORDS, RecordHistory, record_body};

/// Most steps from a record to its cause that are followed: answers to answers end well before.
const MAX_CAUSE_STEPS: u32 = 16;

/// Most records after a signal that are searched for its consequences: a turn is far shorter.
const MAX_TURN_RECORDS: usize = 4_096;

/// Most forks back through which the policies of a session are looked for.
const MAX_FORKS: u32 = 16;

/// Explanation of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyReport {
    /// The record that was asked about.
    pub record: Record,
    /// The decisions behind it, in their order; none when nothing was decided.
    pub decisions: Vec<DecisionReport>,
    /// Answers of people, in their order.
    pub answers: Vec<AnswerReport>,
}

/// A question as it was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestion {
    /// Body of its record.
    pub body: Value,
    /// Owner of its session.
    pub owner: Box<str>,
    /// Time of the question, in milliseconds since 1970.
    pub at: i64,
}

/// One decision.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionReport {
    /// Number of its record.
    pub record: u64,
    /// Time of its record, in milliseconds since 1970.
    pub at: i64,
    /// Body of its record.
    pub body: Value,
    /// The hash of the policies that were in force.
    pub hash: String,
    /// The policies that determined it.
    pub policies: Vec<CitedPolicy>,
}

/// A policy that a decision names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedPolicy {
    /// Id by which the decision names it.
    pub id: Box<str>,
    /// Title, prose and text; nothing when the text of that set is not in the record.
    pub policy: Option<bridle_loop::PolicyEntry>,
}

/// Answer of a person to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerReport {
    /// Number of its record.
    pub record: u64,
    /// Time of its record, in milliseconds since 1970.
    pub at: i64,
    /// Principal that answered.
    pub principal: Box<str>,
    /// `allow` or `deny`.
    pub answer: Box<str>,
}

impl RecordHistory {
    /// Finds out why a record is there.
    ///
    /// # Errors
    /// [`bridle_record::StoreError::NoRecord`] inside [`HistoryError::Store`]; else what the store said.
    pub fn why(&self, number: u64) -> Result<WhyReport, HistoryError> {
        let record = self.source.record(RecordNumber(number))?;
        let record = record.ok_or(bridle_record::StoreError::NoRecord(RecordNumber(number)))?;
        let mut search =
            DecisionSearch { history: self, decisions: BTreeMap::new(), answers: BTreeMap::new() };
        search.follow(&record, MAX_CAUSE_STEPS)?;
        let DecisionSearch { decisions, answers, .. } = search;
        let mut sets = PolicySetsByHash { history: self, known: HashMap::new() };
        let decisions = decisions.into_values().map(|record| sets.decided(&record));
        let decisions = decisions.collect::<Result<_, _>>()?;
        let answers = answers.into_values().map(|record| answer(&record)).collect();
        Ok(WhyReport { record, decisions, answers })
    }
}

fn answer(record: &Record) -> AnswerReport {
    let body = value(record);
    let answer = AnsweredBody::read(&body).answer.unwrap_or_default();
    AnswerReport {
        record: record.number.0,
        at: record.at,
        principal: record.principal.clone(),
        answer: answer.into(),
    }
}

/// Decisions and answers that were found, by their numbers.
struct DecisionSearch<'h> {
    history: &'h RecordHistory,
    decisions: BTreeMap<u64, Record>,
    answers: BTreeMap<u64, Record>,
}

impl DecisionSearch<'_> {
    fn follow(&mut self, record: &Record, steps: u32) -> Result<(), HistoryError> {
        let Some(steps) = steps.checked_sub(1) else { return Ok(()) };
        let Some(kind) = kind_of(record) else { return Ok(()) };
        match kind {
            RecordKind::Decided => {
                self.decisions.insert(record.number.0, record.clone());
                if DecidedBody::read(&value(record)).is_by_approval() {
                    self.follow_cause(record, steps)?;
                }
            }
            RecordKind::Act => self.intent(record, CheckResult::Allow, steps)?,
            RecordKind::Ask => self.intent(record, CheckResult::Ask, steps)?,
            RecordKind::Started | RecordKind::Shown | RecordKind::Acted => {
                self.follow_origin(record, steps)?;
            }
            RecordKind::Settled => {
                self.follow_origin(record, steps)?;
                self.follow_answer(record)?;
            }
            RecordKind::Answered => self.answered(record, steps)?,
            RecordKind::Say | RecordKind::Finish | RecordKind::Mark => {
                let Some(cause) = record.cause else { return Ok(()) };
                if self.children(record, cause)? == 0 {
                    self.follow_cause(record, steps)?;
                }
            }
            RecordKind::Signal
            | RecordKind::Consult
            | RecordKind::Consulted
            | RecordKind::Think
            | RecordKind::Drafted => self.turn(record)?,
            // Nothing was decided for these.
            RecordKind::Began
            | RecordKind::Registered
            | RecordKind::ConsultantsChanged
            | RecordKind::Upgraded
            | RecordKind::Stop
            | RecordKind::PolicyInstalled
            | RecordKind::Counted
            | RecordKind::Tick
            | RecordKind::Cancelled
            | RecordKind::Withdrawn
            | RecordKind::DaemonUp
            | RecordKind::DaemonDown
            | RecordKind::Policy
            | RecordKind::PolicyRefused
            | RecordKind::Refused
            | RecordKind::Catalog
            | RecordKind::Log
            | RecordKind::Forgot
            | RecordKind::Compacted
            | RecordKind::Compaction
            | RecordKind::Repaired => {}
        }
        Ok(())
    }

    fn follow_origin(&mut self, record: &Record, steps: u32) -> Result<(), HistoryError> {
        match self.origin(record)? {
            Some(origin) => self.follow(&origin, steps),
            None => Ok(()),
        }
    }

    fn follow_cause(&mut self, record: &Record, steps: u32) -> Result<(), HistoryError> {
        let Some(cause) = record.cause else { return Ok(()) };
        match self.history.source.record(cause)? {
            Some(cause) => self.follow(&cause, steps),
            None => Ok(()),
        }
    }

    /// Notes the answer that a record follows from, if it does.
    fn follow_answer(&mut self, record: &Record) -> Result<(), HistoryError> {
        let cause = record.cause.map(|cause| self.history.source.record(cause)).transpose()?;
        if let Some(cause) =
            cause.flatten().filter(|cause| kind_of(cause) == Some(RecordKind::Answered))
        {
            self.answers.insert(cause.number.0, cause);
        }
        Ok(())
    }

    /// The decision that an order or a question comes from: of the same event, about the same payload.
    fn intent(
        &mut self,
        record: &Record,
        verdict: CheckResult,
        steps: u32,
    ) -> Result<(), HistoryError> {
        let Some(cause) = record.cause else { return Ok(()) };
        let event = self.history.source.record(cause)?;
        let is_answer = |event: &Record| kind_of(event) == Some(RecordKind::Answered);
        if let Some(event) = event.filter(is_answer) {
            return self.follow(&event, steps);
        }
        let intent = value(record);
        let intent = IntentBody::read(&intent);
        let kinds = [RecordKind::Decided];
        let between = self.history.of_session(&record.session, cause.0, record.number.0, &kinds)?;
        let is_it = |decided: &&Record| {
            let body = value(decided);
            let body = DecidedBody::read(&body);
            body.has_verdict(verdict)
                && body.payload == intent.payload
                && body.target == intent.target
        };
        if let Some(decided) = between.iter().rev().find(is_it) {
            self.decisions.insert(decided.number.0, decided.clone());
        }
        Ok(())
    }

    /// The order or the question whose outcome a record is.
    fn origin(&self, record: &Record) -> Result<Option<Record>, HistoryError> {
        let kinds = [RecordKind::Act, RecordKind::Ask];
        let effect = OutcomeBody::read(&value(record)).effect;
        let is_it = |it: &Record| {
            let is_intent = kind_of(it).is_some_and(|kind| kinds.contains(&kind));
            is_intent && IntentBody::read(&value(it)).effect == effect
        };
        if let Some(cause) = record.cause
            && let Some(cause) = self.history.source.record(cause)?.filter(|cause| is_it(cause))
        {
            return Ok(Some(cause));
        }
        let intents = self.history.of_session(&record.session, 0, record.number.0, &kinds)?;
        Ok(intents.into_iter().rev().find(is_it))
    }

    /// The question that was answered, and what the answer led to.
    fn answered(&mut self, record: &Record, steps: u32) -> Result<(), HistoryError> {
        self.answers.insert(record.number.0, record.clone());
        self.children(record, record.number)?;
        match self.origin(record)? {
            Some(question) => self.follow(&question, steps),
            None => Ok(()),
        }
    }

    /// Decisions that an event led to directly; how many.
    fn children(&mut self, record: &Record, event: RecordNumber) -> Result<usize, HistoryError> {
        let after = self.history.next_of_session(&record.session, event.0, MAX_TURN_RECORDS)?;
        let own = after.into_iter().take_while(|it| it.cause.is_some_and(|cause| cause >= event));
        let decided =
            own.filter(|it| kind_of(it) == Some(RecordKind::Decided) && it.cause == Some(event));
        let found: Vec<Record> = decided.collect();
        let count = found.len();
        self.decisions.extend(found.into_iter().map(|it| (it.number.0, it)));
        Ok(count)
    }

    /// Everything that followed from a signal, to the end of its turn.
    fn turn(&mut self, record: &Record) -> Result<(), HistoryError> {
        let mut family = BTreeSet::from([record.number]);
        for it in
            self.history.next_of_session(&record.session, record.number.0, MAX_TURN_RECORDS)?
        {
            if !it.cause.is_some_and(|cause| family.contains(&cause)) {
                continue;
            }
            family.insert(it.number);
            match kind_of(&it) {
                Some(RecordKind::Decided) => drop(self.decisions.insert(it.number.0, it)),
                Some(RecordKind::Answered) => drop(self.answers.insert(it.number.0, it)),
                Some(RecordKind::Finish) => break,
                _ => {}
            }
        }
        Ok(())
    }
}

impl RecordHistory {
    /// Records of the same session between two numbers, both excluded, of some kinds.
    fn of_session(
        &self,
        session: &str,
        after: u64,
        before: u64,
        kinds: &[RecordKind],
    ) -> Result<Vec<Record>, HistoryError> {
        let filter = RecordFilter {
            session: Some(session.into()),
            to: Some(RecordNumber(before.saturating_sub(1))),
            ..of_kinds(kinds.iter().copied())
        };
        let (mut all, mut after) = (Vec::new(), after);
        loop {
            let page = self.source.records(RecordNumber(after), &filter, PAGE_RECORDS)?;
            let Some(last) = page.last() else { return Ok(all) };
            after = last.number.0;
            all.extend(page);
        }
    }

    /// Finds the question of this number in a session: its body, and the session's owner.
    ///
    /// # Errors
    /// [`HistoryError::UnknownSession`]; else what the store said.
    pub fn question(
        &self,
        session: &str,
        effect: u64,
    ) -> Result<Option<AskedQuestion>, HistoryError> {
        let Some(row) = self.source.session(session)? else {
            return Err(HistoryError::UnknownSession { name: session.into() });
        };
        let asked = self.of_session(session, 0, u64::MAX, &[RecordKind::Ask])?;
        let bodies = asked.iter().rev().map(|record| (value(record), record.at));
        let mut named = bodies.filter(|(body, _)| IntentBody::read(body).effect == Some(effect));
        Ok(named.next().map(|(body, at)| AskedQuestion { body, owner: row.owner, at }))
    }

    /// The next records of the same session.
    fn next_of_session(
        &self,
        session: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<Record>, HistoryError> {
        let filter = RecordFilter { session: Some(session.into()), ..RecordFilter::default() };
        Ok(self.source.records(RecordNumber(after), &filter, most)?)
    }

    /// The text of the policies of a hash: what is built in, or what was recorded when it was installed.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn policy_text(&self, hash: &str) -> Result<Option<String>, HistoryError> {
        if PolicyHash::of(DEFAULT_POLICY).to_string() == hash {
            return Ok(Some(DEFAULT_POLICY.to_owned()));
        }
        let filter =
            RecordFilter { session: Some(Box::default()), ..of_kinds([RecordKind::Policy]) };
        let mut after = RecordNumber(0);
        loop {
            let page = self.source.records(after, &filter, PAGE_RECORDS)?;
            let Some(last) = page.last() else { return Ok(None) };
            after = last.number;
            for body in page.iter().map(value) {
                let body = PolicyBody::read(&body);
                if body.hash == Some(hash) {
                    return Ok(body.text.map(str::to_owned));
                }
            }
        }
    }
}

/// Sets of policies by their hashes, read as they are needed.
struct PolicySetsByHash<'h> {
    history: &'h RecordHistory,
    known: HashMap<String, Option<Arc<GuardPolicies>>>,
}

impl PolicySetsByHash<'_> {
    fn decided(&mut self, record: &Record) -> Result<DecisionReport, HistoryError> {
        let body = self.history.with_proposed_payload(record, value(record))?;
        let hash = self.hash_at(record)?;
        let set = self.set(&hash)?;
        let cited = DecidedBody::read(&body).policies().map(|id| {
            let all = set.iter().flat_map(|set| set.policies());
            let policy = all.clone().find(|policy| &*policy.id == id).cloned();
            CitedPolicy { id: id.into(), policy }
        });
        let policies = cited.collect();
        Ok(DecisionReport { record: record.number.0, at: record.at, body, hash, policies })
    }

    /// The hash of the policies that a session had when it decided.
    fn hash_at(&self, record: &Record) -> Result<String, HistoryError> {
        let (mut session, mut before) = (record.session.clone(), record.number.0);
        for _ in 0..MAX_FORKS {
            let kinds = [RecordKind::Began, RecordKind::PolicyInstalled];
            let events = self.history.of_session(&session, 0, before, &kinds)?;
            let Some(last) = events.last() else { break };
            let body = value(last);
            let body = PolicySourceBody::read(&body);
            if let Some(hash) = body.hash {
                return Ok(hash.to_owned());
            }
            // A session that goes on from another one has its policies.
            let Some((from, point)) = body.fork else { break };
            session = from.into();
            before = point.saturating_add(1);
        }
        Ok(PolicyHash::of(DEFAULT_POLICY).to_string())
    }

    fn set(&mut self, hash: &str) -> Result<Option<Arc<GuardPolicies>>, HistoryError> {
        if let Some(known) = self.known.get(hash) {
            return Ok(known.clone());
        }
        let text = self.history.policy_text(hash)?;
        let set = text.and_then(|text| load_recorded(&text).ok()).map(Arc::new);
        self.known.insert(hash.to_owned(), set.clone());
        Ok(set)
    }
}

/// The body of a record; nothing of what was forgotten.
fn value(record: &Record) -> Value {
    record.body.text().map_or(Value::Nil, record_body::value)
}
