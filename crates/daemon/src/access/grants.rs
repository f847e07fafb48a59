//! Grants: a policy that allows what was asked for, or a wider scope of it, for a time.
//!
//! Made from the record of the question, told in a sentence and as a diff together with what it would have
//! matched, and written only after a yes. Nothing of what a model wrote can become Org or Cedar: it is quoted on one
//! line, and the new set must be the old one and a single permit. Called by the engine for `:grant`, and by
//! `bridle approve --always --preview` where no daemon runs.
//!
//! - `offer`: the scopes as they are offered
//! - `installed`: grants of the file of policies, listed and taken back

mod installed;
mod offer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bridle_history::why::AskedQuestion;
use bridle_history::{HistoryError, RecordHistory};
use bridle_loop::{
    DEFAULT_POLICY, EDITS, GrantScope, GrantTerms, GuardPolicies, InvalidPolicies, PREPARED,
    PolicyEntry, PolicyFacts, PolicyVerdict,
};
use bridle_org::{Document, Span};
use bridle_sexp::{Dialect, Value};
use bridle_wire::time::rfc3339;

pub use self::installed::{GrantEntry, list_grants, revoke_grants};
pub use self::offer::ScopeOffer;
use crate::access::policy_file::{self, PolicyFileError};
use crate::access::policy_load;

/// Longest text of what was asked for that is quoted in the prose, in bytes; the hash has all of it.
const MAX_QUOTED: usize = 512;

/// Digits of a hash in the id of a grant.
const SHORT_HASH: usize = 12;

/// Longest payload that becomes an example as it is, in bytes.
const MAX_EXAMPLE: usize = 4_096;

/// Of a longer one: bytes of a text, items of a list, levels.
const MAX_EXAMPLE_TEXT: usize = 256;
const MAX_EXAMPLE_ITEMS: usize = 32;
const MAX_EXAMPLE_DEPTH: usize = 4;

/// Longest time that a grant holds: a year. What should hold longer is a policy of its own.
const MAX_GRANT_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Question, and the way in which a grant is made of it.
#[derive(Debug, Clone, Copy)]
pub struct GrantRequest<'w> {
    /// The question, such as `work-7`.
    pub id: &'w str,
    /// Scope of the grant; `None` to have all of them offered and none chosen.
    pub scope: Option<GrantScope>,
    /// End of the grant, in seconds since 1970.
    pub until: i64,
    /// The file of policies.
    pub file: &'w Path,
    /// State folder of the record.
    pub state: &'w Path,
    /// Decisions of the past that each scope is tried on; 0 offers only the chosen scope, untried.
    pub rehearsed: usize,
}

/// A change of the file of policies, not yet made.
#[derive(Debug)]
pub struct PolicyPatch {
    /// The file.
    pub file: PathBuf,
    /// Scopes that were tried, the narrowest first.
    pub offers: Vec<ScopeOffer>,
    /// The chosen scope, if one was.
    pub chosen: Option<ChosenGrant>,
    /// The hash of what was asked for.
    pub hash: String,
    /// End of the grant, in seconds since 1970.
    pub until: i64,
    /// The file as it was; `None` when there is none yet.
    old: Option<String>,
}

/// The grant that a change adds.
#[derive(Debug)]
pub struct ChosenGrant {
    /// Its scope.
    pub scope: GrantScope,
    /// Id of its policy.
    pub id: String,
    /// Sentence about what it permits.
    pub sentence: String,
    /// The diff of the file.
    pub diff: String,
    new: String,
}

/// Reason why there is no grant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The record cannot be read.
    #[error("the record cannot be read")]
    History(#[from] HistoryError),
    /// No such question.
    #[error("no approval `{0}` in the record")]
    UnknownQuestion(String),
    /// A name in it cannot be written on one line.
    #[error("this action cannot be expressed as a grant")]
    Inexpressible,
    /// Action that cannot be described to the policies.
    #[error("this action cannot be judged: {0}")]
    Unjudged(String),
    /// The file of policies cannot be used.
    #[error("cannot read `{}`", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Reason.
        source: PolicyFileError,
    },
    /// The file of policies cannot be written.
    #[error("cannot write `{}`", file.display())]
    Unwritten {
        /// The file.
        file: PathBuf,
        /// Reason.
        source: PolicyFileError,
    },
    /// The policies have faults.
    #[error("the policy file has errors")]
    Policies(#[source] Box<InvalidPolicies>),
    /// Nothing is asked here.
    #[error("the policies already allow this without approval")]
    Allowed,
    /// The action has no such scope.
    #[error("this action has no scope `{}`", scope.word())]
    NoScope {
        /// The scope.
        scope: GrantScope,
        /// Scopes that it has.
        possible: Vec<&'static str>,
    },
    /// A forbid is in the way.
    #[error("a grant for this could never apply: {0}")]
    Overridden(String),
    /// The text would say more than its sentence.
    #[error("the change would add more than one permit, so it was not made")]
    NotSingle,
    /// No such grant in the file.
    #[error("no grant `{0}`")]
    UnknownGrant(String),
}

/// Reads a whole number of minutes, hours or days, such as `30m`, at most a year; the error says what is expected.
///
/// # Errors
///
/// The text is no such time.
pub fn grant_span(text: &str) -> Result<Duration, String> {
    let unit = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => 0,
    };
    let count = text.get(..text.len().saturating_sub(1)).and_then(|it| it.parse::<u64>().ok());
    let span = count.and_then(|count| count.checked_mul(unit)).map(Duration::from_secs);
    span.filter(|span| !span.is_zero() && *span <= MAX_GRANT_SPAN)
        .ok_or_else(|| "expected a time such as 30m, 12h or 7d, at most 365d".to_owned())
}

/// Makes the change.
///
/// # Errors
///
/// [`GrantError`] says why there is none; nothing was written.
pub fn prepare_grant(wish: &GrantRequest<'_>) -> Result<PolicyPatch, GrantError> {
    let history = RecordHistory::open(wish.state)?;
    let grant = asked(&history, wish)?;
    let old = match policy_file::read(wish.file) {
        Ok(text) => Some(text),
        Err(PolicyFileError::Missing) => None,
        Err(source) => {
            return Err(GrantError::Unreadable { file: wish.file.to_owned(), source });
        }
    };
    let before = old.as_deref().unwrap_or(DEFAULT_POLICY);
    let old_set = policy_load::load(before).map_err(not_good)?;
    let facts = grant.facts(wish.until - 1)?;
    let after = old_set.find(&grant.facts(wish.until)?).word;
    if after == PolicyVerdict::Allow {
        return Err(GrantError::Allowed);
    }
    let (mut offers, mut chosen, mut possible) = (Vec::new(), None, Vec::new());
    for scope in GrantScope::ALL {
        let Some(terms) = facts.grant(scope, wish.until) else { continue };
        possible.push(scope.word());
        if wish.rehearsed == 0 && wish.scope != Some(scope) {
            continue;
        }
        let (new, set) = grant.change(&terms, scope, before, &old_set, after)?;
        let rehearsed = match wish.rehearsed {
            0 => bridle_history::rehearse::RehearsalReport::default(),
            last => history.rehearse(&set, last)?,
        };
        let id = grant.id(scope);
        offers.push(ScopeOffer::new(scope, &id, &terms, &rehearsed));
        if wish.scope == Some(scope) {
            let diff = diff(wish.file, before, &new);
            chosen = Some(ChosenGrant { scope, id, sentence: terms.sentence(), diff, new });
        }
    }
    if let Some(scope) = wish.scope.filter(|_| chosen.is_none()) {
        return Err(GrantError::NoScope { scope, possible });
    }
    let (file, until) = (wish.file.to_owned(), wish.until);
    Ok(PolicyPatch { file, offers, chosen, hash: grant.hash, until, old })
}

/// The diff of what is put behind a text.
fn diff(file: &Path, before: &str, new: &str) -> String {
    let source = before.as_bytes();
    let name = file.display().to_string();
    let end = Span { start: source.len(), end: source.len() };
    let edit = Document::read(source).insert_after(end, &new.as_bytes()[source.len()..]);
    let edit = edit.expect("the end of a text is in it");
    String::from_utf8_lossy(&edit.diff(name.trim_start_matches('/'))).into_owned()
}

/// The question that is named.
fn asked(history: &RecordHistory, wish: &GrantRequest<'_>) -> Result<GrantOffer, GrantError> {
    let named = wish.id.rsplit_once('-');
    let named = named.and_then(|(session, effect)| Some((session, effect.parse::<u64>().ok()?)));
    let unknown = || GrantError::UnknownQuestion(wish.id.to_owned());
    let (session, effect) = named.ok_or_else(unknown)?;
    let asked = match history.question(session, effect) {
        Err(HistoryError::UnknownSession { .. }) => return Err(unknown()),
        asked => asked?,
    };
    GrantOffer::of(&asked.ok_or_else(unknown)?, wish).ok_or(GrantError::Inexpressible)
}

fn not_good(bad: InvalidPolicies) -> GrantError {
    GrantError::Policies(Box::new(bad))
}

/// The word of an example for a verdict.
fn example_word(word: PolicyVerdict) -> &'static str {
    match word {
        PolicyVerdict::Deny => "refuse",
        other => other.word(),
    }
}

/// A value on one line, whatever its strings hold.
fn one_line(value: &Value) -> String {
    let mut out = String::new();
    bridle_sexp::print(value, Dialect::Emacs, &mut out);
    out
}

/// A payload without its diff, with the beginnings of its texts and lists: what policies look at stays.
fn shortened(value: &Value, depth: usize) -> Value {
    match value {
        Value::Str(text) if text.len() > MAX_EXAMPLE_TEXT => {
            Value::str(&text[..text.floor_char_boundary(MAX_EXAMPLE_TEXT)])
        }
        Value::List(_) if depth < MAX_EXAMPLE_DEPTH && value.pairs().is_some() => {
            let pairs = value.pairs().into_iter().flatten();
            let kept = pairs.filter(|(key, _)| !key.is_keyword("diff"));
            Value::list(kept.flat_map(|(key, it)| [key.clone(), shortened(it, depth + 1)]))
        }
        Value::List(items) if depth < MAX_EXAMPLE_DEPTH => {
            Value::list(items.iter().take(MAX_EXAMPLE_ITEMS).map(|it| shortened(it, depth + 1)))
        }
        other => other.clone(),
    }
}

/// Grant that is offered.
struct GrantOffer {
    question: String,
    until: i64,
    owner: String,
    asker: Value,
    by: String,
    target: String,
    place: String,
    payload: Value,
    hash: String,
    /// Time of the request, in milliseconds since 1970.
    at: i64,
}

impl GrantOffer {
    /// Reads a question; nothing if it is not one, or if a name in it cannot be written on one line.
    fn of(asked: &AskedQuestion, wish: &GrantRequest<'_>) -> Option<GrantOffer> {
        let AskedQuestion { body, owner, at } = asked;
        let word = |key| body.get(key).and_then(Value::as_keyword).map(str::to_owned);
        let hash = body.get("hash").and_then(Value::as_str)?;
        let asker = body.get("asker")?.clone();
        let principal = asker.get("principal").and_then(Value::as_str)?;
        let names = [owner, principal, wish.id];
        if names.iter().any(|name| name.chars().any(char::is_control)) || hash.len() < SHORT_HASH {
            return None;
        }
        Some(GrantOffer {
            question: wish.id.to_owned(),
            until: wish.until,
            owner: owner.to_string(),
            by: word("by")?,
            target: word("target")?,
            place: word("place")?,
            payload: body.get("payload")?.clone(),
            hash: hash.to_owned(),
            asker,
            at: *at,
        })
    }

    /// The id of its policy.
    fn id(&self, scope: GrantScope) -> String {
        let short = self.hash.get(..SHORT_HASH).unwrap_or_default();
        format!("grant-{short}-{}-{}", scope.word(), self.until)
    }

    fn facts(&self, now: i64) -> Result<PolicyFacts, GrantError> {
        PolicyFacts::described(&self.described(now)).map_err(GrantError::Unjudged)
    }

    /// Describes the request as an example writes it: at the time of day at which it was made.
    fn described(&self, now: i64) -> String {
        let text = |key| self.asker.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_owner = self.asker.get("owner").is_some_and(|owner| !owner.is_nil());
        let payload = self.payload.to_string();
        let is_plain = payload.len() <= MAX_EXAMPLE
            && !payload.chars().any(char::is_control)
            && !self.is_edit();
        // The hash of what is written in full is computed, and must come out the same.
        let what = if is_plain {
            format!(":payload {payload}")
        } else {
            format!(":hash \"{}\" :payload {}", self.hash, self.stand_in())
        };
        let minutes = self.at.div_euclid(60_000);
        // The first day of 1970 was a Thursday.
        let weekday = minutes.div_euclid(1_440).saturating_add(3).rem_euclid(7) + 1;
        format!(
            "(:principal {}{} :by :{} :session-owner {} :target :{} :place :{} :minute {} :weekday {weekday} \
             :now {now} {what})",
            Value::str(text("principal")),
            if is_owner { " :owner t" } else { "" },
            self.by,
            Value::str(self.owner.as_str()),
            self.target,
            self.place,
            minutes.rem_euclid(1_440),
        )
    }

    fn is_edit(&self) -> bool {
        EDITS.contains(&self.action())
    }

    /// A payload of the same kind and place, for one that does not fit on a line: the hash says which
    /// it is.
    fn stand_in(&self) -> String {
        match self.action() {
            "eval" => "(:action :eval :code \"..\")".to_owned(),
            "insert-at-end" => "(:action :insert-at-end :text \"..\")".to_owned(),
            "refactor-subtree" => "(:action :refactor-subtree :target-id \"..\")".to_owned(),
            _ if self.is_edit() => one_line(&self.without_sight()),
            _ => one_line(&shortened(&self.payload, 0)),
        }
    }

    fn action(&self) -> &str {
        self.payload.get("action").and_then(Value::as_keyword).unwrap_or_default()
    }

    /// An edit with the places that the daemon found, and without the rest of what it found: files and diff
    /// are others the next time.
    fn without_sight(&self) -> Value {
        let is_found = |key: &Value| key.as_keyword().is_some_and(|key| key == PREPARED);
        let pairs = self.payload.pairs().into_iter().flatten().filter(|(key, _)| !is_found(key));
        let told = pairs.flat_map(|(key, value)| [key.clone(), value.clone()]);
        let found = self.payload.get(PREPARED);
        let place = |key: &'static str| Some((key, found?.get(key)?.clone()));
        let places = ["heading", "destination", "item"].into_iter().filter_map(place);
        let places = Value::plist(places);
        Value::list(told.chain([Value::keyword(PREPARED), places]))
    }

    /// The text of the file with the grant, and its set: the old one and this permit, which does what it is
    /// for.
    fn change(
        &self,
        terms: &GrantTerms,
        scope: GrantScope,
        before: &str,
        old: &GuardPolicies,
        after: PolicyVerdict,
    ) -> Result<(String, GuardPolicies), GrantError> {
        let source = before.as_bytes();
        let end = Span { start: source.len(), end: source.len() };
        let document = Document::read(source);
        let edit = document.insert_after(end, self.org(terms, scope, after).as_bytes());
        let edit = edit.expect("the end of a text is in it");
        let new = String::from_utf8(edit.apply()).expect("text put behind text is text");
        let (set, tried) = policy_load::load_tried(&new).map_err(not_good)?;
        self.check_applies(&set)?;
        if let Some(bad) = InvalidPolicies::of_failed(&tried) {
            return Err(not_good(bad));
        }
        self.check_single(terms, scope, old, &set)?;
        Ok((new, set))
    }

    /// The heading that is added. What the old set says when the time is over is its second example.
    fn org(&self, terms: &GrantTerms, scope: GrantScope, after: PolicyVerdict) -> String {
        let until = rfc3339(self.until.saturating_mul(1_000));
        let mut quoted = one_line(&self.without_sight());
        if !self.is_edit() {
            quoted = one_line(&self.payload);
        }
        quoted.truncate(quoted.floor_char_boundary(MAX_QUOTED));
        format!(
            "\n* Granted until {until}: {action} by {target}\n:PROPERTIES:\n:CUSTOM_ID: {id}\n:END:\n\n\
             {sentence}\n\nAsked for as {question}, in a session of {owner}:\n\n: {quoted}\n\n\
             #+begin_src cedar\n{cedar}\n#+end_src\n\n\
             #+begin_src examples\n(allow {before})\n({word} {later})\n#+end_src\n",
            action = self.action(),
            target = self.target,
            id = self.id(scope),
            sentence = terms.sentence(),
            question = self.question,
            owner = self.owner,
            cedar = terms.to_cedar(),
            before = self.described(self.until - 1),
            word = example_word(after),
            later = self.described(self.until),
        )
    }

    /// Refuses a grant that a forbid overrides: it would stand in the file and do nothing.
    fn check_applies(&self, set: &GuardPolicies) -> Result<(), GrantError> {
        let found = set.find_unapproved(&self.facts(self.until - 1)?);
        if found.word == PolicyVerdict::Allow {
            return Ok(());
        }
        let why = match &found.fault {
            Some(fault) => format!("the policies cannot be evaluated: {fault}"),
            None => format!("`{}` requires approval each time", found.policies.join("`, `")),
        };
        Err(GrantError::Overridden(why))
    }

    /// The new set is the old one and this grant, as its sentence says it.
    fn check_single(
        &self,
        terms: &GrantTerms,
        scope: GrantScope,
        old: &GuardPolicies,
        new: &GuardPolicies,
    ) -> Result<(), GrantError> {
        let is_known = |policy: &&PolicyEntry| {
            old.policies().iter().any(|it| it.id == policy.id && it.text == policy.text)
        };
        let (kept, added): (Vec<&PolicyEntry>, Vec<&PolicyEntry>) =
            new.policies().iter().partition(is_known);
        let is_one = kept.len() == old.policies().len()
            && matches!(&added[..], [one] if *one.id == *self.id(scope)
                && GrantTerms::of_policy(one).as_ref() == Some(terms));
        if is_one {
            return Ok(());
        }
        Err(GrantError::NotSingle)
    }
}

impl PolicyPatch {
    /// Writes the file: all of it or nothing, and never over what somebody changed meanwhile.
    ///
    /// # Errors
    ///
    /// [`GrantError::Unwritten`]; the file is as it was.
    pub fn write(&self) -> Result<(), GrantError> {
        let Some(chosen) = &self.chosen else { return Ok(()) };
        policy_file::replace(&self.file, self.old.as_deref(), &chosen.new)
            .map_err(|source| GrantError::Unwritten { file: self.file.clone(), source })
    }

    /// Returns what a shell is told of it, without status and action.
    pub fn to_pairs(&self) -> Vec<(&'static str, Value)> {
        let mut pairs = vec![
            ("file", Value::str(self.file.display().to_string())),
            ("hash", Value::str(self.hash.as_str())),
            ("until", Value::int(self.until)),
            ("scopes", Value::list(self.offers.iter().map(ScopeOffer::to_value))),
        ];
        if let Some(chosen) = &self.chosen {
            pairs.extend([
                ("chosen", Value::keyword(chosen.scope.word())),
                ("grant", Value::str(chosen.id.as_str())),
                ("sentence", Value::str(chosen.sentence.as_str())),
                ("diff", Value::str(chosen.diff.as_str())),
            ]);
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::grant_span;

    #[test]
    fn a_time_has_a_unit_and_an_end() {
        assert_eq!(grant_span("30m"), Ok(Duration::from_secs(1_800)));
        assert_eq!(grant_span("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(grant_span("365d"), Ok(Duration::from_secs(31_536_000)));
        for bad in ["", "7", "d", "0d", "366d", "-1d", "1.5h", "99999999999999999999d", "7é", "é"]
        {
            assert!(grant_span(bad).is_err(), "{bad}");
        }
    }
}
