//! Schedules of all sessions: how many an owner has, and a list of them.
//!
//! One per hub. Filled when a session's records are durable, and by every session that is loaded at the
//! start because time passes in it. A proposal that plans something is given what its session cannot know,
//! before it is recorded: how many schedules its owner has elsewhere, and an end if it has none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bridle_loop::{KeywordName, Privacy, Proposal, ScheduleFact, SessionId, SessionState};
use bridle_sexp::Value;

use crate::engine::home::time_zones::TimeZones;

/// Times that a schedule fires at most.
pub(in crate::engine) const MAX_SCHEDULE_RUNS: i64 = 1_000;

/// Times that a schedule of a cron expression fires at most: every hour for a year fits.
pub(in crate::engine) const MAX_CRON_RUNS: i64 = 10_000;

/// Longest time from the planning of a schedule to its end, in milliseconds: a yearly reminder fits.
pub(in crate::engine) const MAX_SCHEDULE_LIFE_MS: i64 = 366 * 24 * 60 * 60 * 1_000;

/// Schedules of one session.
pub(in crate::engine) const MAX_SCHEDULES_PER_SESSION: usize = 16;

/// Least time between two firings of a schedule, in milliseconds.
pub(in crate::engine) const MIN_SCHEDULE_INTERVAL_MS: i64 = 60_000;

/// Schedules in one list, the ones that are due first.
pub(in crate::engine) const MAX_LISTED: usize = 1_000;

/// Schedules of a daemon, by session.
#[derive(Debug, Default)]
pub(in crate::engine) struct ScheduleList {
    plans: Mutex<BTreeMap<SessionId, SessionSchedules>>,
    zones: TimeZones,
}

#[derive(Debug)]
struct SessionSchedules {
    owner: Box<str>,
    schedules: Vec<ScheduleFact>,
    /// Proposals that may add one and are not recorded yet.
    reserved: usize,
}

impl ScheduleList {
    /// Notes what a session has planned, as it is recorded.
    pub(in crate::engine) fn note(&self, state: &SessionState) {
        let schedules = state.schedules();
        let mut plans = self.lock();
        if schedules.len() == 0 {
            plans.remove(state.session());
            return;
        }
        let owner = state.owner().unwrap_or_default().into();
        let noted = SessionSchedules { owner, schedules: schedules.collect(), reserved: 0 };
        plans.insert(state.session().clone(), noted);
    }

    /// Drops a session that is forgotten.
    pub(in crate::engine) fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    /// Gives proposals that plan something what their session cannot know.
    pub(in crate::engine) fn inform(
        &self,
        state: &SessionState,
        at: i64,
        proposals: &mut [Proposal],
    ) {
        for Proposal { target, payload, .. } in proposals {
            self.inform_one(state, at, target.as_ref(), payload);
        }
    }

    /// Gives one payload that plans something what its session cannot know.
    pub(in crate::engine) fn inform_one(
        &self,
        state: &SessionState,
        at: i64,
        target: Option<&KeywordName>,
        payload: &mut Value,
    ) {
        let is_ours = target.is_none_or(|target| target.as_str() == "system");
        let says = |name| payload.get("action").is_some_and(|it| it.is_keyword(name));
        if is_ours && says("release") {
            *payload = with(payload, exchange_of(state, payload));
            return;
        }
        let plans =
            |payload: &Value| payload.get("action").is_some_and(|it| it.is_keyword("schedule"));
        if !is_ours || !plans(payload) {
            return;
        }
        let elsewhere = self.reserve(state);
        let mut facts =
            vec![("elsewhere", Value::int(i64::try_from(elsewhere).unwrap_or(i64::MAX)))];
        facts.extend(longest_of(payload, at).into_iter().map(|(key, it)| (key, Value::int(it))));
        if given(payload, "cron").is_some() {
            facts.extend(self.zones.facts(given(payload, "zone"), at, MAX_SCHEDULE_LIFE_MS));
        }
        *payload = with(payload, facts);
    }

    /// Counts the schedules of a session's owner in other sessions, and keeps a place for one more.
    fn reserve(&self, state: &SessionState) -> usize {
        let owner = state.owner().unwrap_or_default();
        let mut plans = self.lock();
        let others = plans.iter().filter(|(id, of)| *id != state.session() && *of.owner == *owner);
        let elsewhere = others.map(|(_, of)| of.schedules.len() + of.reserved).sum();
        let empty = || SessionSchedules { owner: owner.into(), schedules: Vec::new(), reserved: 0 };
        plans.entry(state.session().clone()).or_insert_with(empty).reserved += 1;
        elsewhere
    }

    /// Every schedule, each with its session and the owner of that.
    pub(in crate::engine) fn all(&self) -> Vec<(SessionId, Arc<str>, ScheduleFact)> {
        let mut all = Vec::new();
        for (session, of) in &*self.lock() {
            let owner: Arc<str> = of.owner.clone().into();
            let facts = of.schedules.iter();
            all.extend(facts.map(|fact| (session.clone(), Arc::clone(&owner), fact.clone())));
        }
        all
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, SessionSchedules>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the words of the secret exchange that a payload names by its number, whatever else it says they are: the
/// question to the owner shows what would be released. Nil where there is no such exchange.
fn exchange_of(state: &SessionState, payload: &Value) -> Vec<(&'static str, Value)> {
    let number = payload.get("exchange").and_then(Value::as_i64);
    let place = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    let found = place.and_then(|place| state.history().nth(place));
    let found = found.filter(|exchange| exchange.privacy == Privacy::Secret);
    let words = |text: Option<&str>| text.map_or(Value::Nil, Value::str);
    vec![
        ("asked", words(found.map(|exchange| &*exchange.asked))),
        ("said", words(found.map(|exchange| &*exchange.said))),
    ]
}

/// Returns the ends of a schedule that is planned at this time, where its payload has none or later ones. One that fires
/// once needs none, unless it fires too late: then its end comes before, and it is refused.
fn longest_of(payload: &Value, at: i64) -> Vec<(&'static str, i64)> {
    let given = |key| given(payload, key);
    let exceeds = |key, most| given(key).and_then(Value::as_i64).is_some_and(|it| it > most);
    let is_cron = given("cron").is_some();
    let repeats = given("every").is_some() || is_cron;
    let most = if is_cron { MAX_CRON_RUNS } else { MAX_SCHEDULE_RUNS };
    let last = at.saturating_add(MAX_SCHEDULE_LIFE_MS);
    let mut ends = Vec::new();
    if exceeds("times", most) || (repeats && given("times").is_none()) {
        ends.push(("times", most));
    }
    let lasts = repeats || exceeds("in", MAX_SCHEDULE_LIFE_MS);
    if exceeds("until", last) || (lasts && given("until").is_none()) {
        ends.push(("until", last));
    }
    ends
}

/// Value under a key, unless it is nil.
fn given<'v>(payload: &'v Value, key: &str) -> Option<&'v Value> {
    payload.get(key).filter(|it| !it.is_nil())
}

/// A plist with other values under these keys, whatever it had there.
fn with(payload: &Value, facts: Vec<(&str, Value)>) -> Value {
    let is_kept = |key: &Value| !facts.iter().any(|(name, _)| key.is_keyword(name));
    let pairs = payload.pairs().into_iter().flatten().filter(|(key, _)| is_kept(key));
    let mut all: Vec<Value> = pairs.flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
    for (key, value) in facts {
        all.extend([Value::keyword(key), value]);
    }
    Value::list(all)
}
