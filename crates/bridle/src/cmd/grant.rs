//! `bridle approve --always`: a policy that allows what was asked for, or a wider scope of it, for a time.
//!
//! Made from the record of the question, shown in a sentence and as a diff together with what it would have
//! matched, and written only after a yes. Nothing of what a model wrote can become Org or Cedar: it is quoted on one
//! line, and the new set must be the old one and a single permit.

mod offer;

use std::path::{Path, PathBuf};

use bridle_daemon::{policy_file, policy_load};
use bridle_history::RecordHistory;
use bridle_history::why::AskedQuestion;
use bridle_loop::{
    DEFAULT_POLICY, EDITS, GrantScope, GrantTerms, GuardPolicies, InvalidPolicies, PREPARED,
    PolicyEntry, PolicyFacts, PolicyVerdict,
};
use bridle_org::{Document, Span};
use bridle_sexp::Value;
use bridle_wire::time::rfc3339;

use self::offer::ScopeOffer;
use super::policy::example_word;
use super::record::failure;
use super::why::one_line;
use crate::exit::{BridleExit, CommandFailure};

/// Decisions of the past that a grant is tried on.
const REHEARSED: usize = 100_000;

/// Longest text of what was asked for that is quoted in the prose, in bytes; the hash has all of it.
const MAX_QUOTED: usize = 512;

/// Digits of a hash in the id of a grant.
const SHORT_HASH: usize = 12;

/// Longest payload that becomes an example as it is, in bytes.
const MAX_EXAMPLE: usize = 4_096;

/// Request to allow something from now on.
pub(super) struct GrantRequest<'w> {
    /// The question.
    pub(super) id: &'w str,
    /// Scope of the grant.
    pub(super) scope: GrantScope,
    /// End of the grant, in seconds since 1970.
    pub(super) until: i64,
    /// The file of policies.
    pub(super) file: &'w Path,
    /// State folder of the record.
    pub(super) state: &'w Path,
}

/// A change of the file of policies, not yet made.
#[derive(Debug)]
pub(super) struct PolicyPatch {
    /// The file.
    pub(super) file: PathBuf,
    /// Every scope that there is, the narrowest first.
    pub(super) offers: Vec<ScopeOffer>,
    /// The chosen one, among them.
    pub(super) chosen: usize,
    /// The diff of the file.
    pub(super) diff: String,
    /// The hash of what was asked for.
    pub(super) hash: String,
    /// The file as it was; `None` when there is none yet.
    old: Option<String>,
    new: String,
}

/// Makes the change.
pub(super) fn prepare(wish: &GrantRequest<'_>) -> Result<PolicyPatch, CommandFailure> {
    let history = RecordHistory::open(wish.state).map_err(|error| failure(&error))?;
    let grant = asked(&history, wish)?;
    let old = match policy_file::read(wish.file) {
        Ok(text) => Some(text),
        Err(policy_file::PolicyFileError::Missing) => None,
        Err(error) => {
            let what = format!("cannot read `{}`", wish.file.display());
            return Err(CommandFailure::because(BridleExit::NoInput, what, &error)
                .hint("`bridle policy check` shows the error; nothing was written"));
        }
    };
    let before = old.as_deref().unwrap_or(DEFAULT_POLICY);
    let old_set = set(before)?;
    let facts = grant.facts(wish.until - 1)?;
    let after = old_set.find(&grant.facts(wish.until)?).word;
    if after == PolicyVerdict::Allow {
        return Err(CommandFailure::new(
            BridleExit::Usage,
            "the policies already allow this without approval",
        )
        .hint("approve without --always"));
    }
    let (mut offers, mut found) = (Vec::new(), None);
    for scope in GrantScope::ALL {
        let Some(terms) = facts.grant(scope, wish.until) else { continue };
        let (change, set) = grant.change(&terms, scope, before, &old_set, after)?;
        let rehearsed = history.rehearse(&set, REHEARSED).map_err(|error| failure(&error))?;
        offers.push(ScopeOffer::new(scope, &grant.id(scope), &terms, rehearsed));
        if scope == wish.scope {
            found = Some((change, offers.len() - 1));
        }
    }
    let Some((new, chosen)) = found else {
        let words: Vec<&str> = offers.iter().map(|offer| offer.scope.word()).collect();
        let what = format!("this action has no scope `{}`", wish.scope.word());
        return Err(CommandFailure::new(BridleExit::Usage, what)
            .hint(format!("possible: --scope {}", words.join(", --scope "))));
    };
    let source = before.as_bytes();
    let name = wish.file.display().to_string();
    let edit = Document::read(source)
        .insert_after(
            Span { start: source.len(), end: source.len() },
            &new.as_bytes()[source.len()..],
        )
        .expect("the end of a text is in it");
    let diff = String::from_utf8_lossy(&edit.diff(name.trim_start_matches('/'))).into_owned();
    Ok(PolicyPatch { file: wish.file.to_owned(), offers, chosen, diff, hash: grant.hash, old, new })
}

/// The question that is named.
fn asked(history: &RecordHistory, wish: &GrantRequest<'_>) -> Result<GrantOffer, CommandFailure> {
    let named = wish.id.rsplit_once('-');
    let named = named.and_then(|(session, effect)| Some((session, effect.parse::<u64>().ok()?)));
    let unknown = || {
        CommandFailure::new(BridleExit::NoInput, format!("no approval `{}` in the record", wish.id))
            .hint("`bridle approvals` lists pending approvals")
    };
    let (session, effect) = named.ok_or_else(unknown)?;
    let asked = history.question(session, effect).map_err(|error| failure(&error))?;
    GrantOffer::of(&asked.ok_or_else(unknown)?, wish).ok_or_else(|| {
        CommandFailure::new(BridleExit::Data, "this action cannot be expressed as a grant")
            .hint("approve without --always, or write a policy by hand: docs/policy.md")
    })
}

fn set(text: &str) -> Result<GuardPolicies, CommandFailure> {
    policy_load::load(text).map_err(|bad| not_good(&bad))
}

fn not_good(bad: &InvalidPolicies) -> CommandFailure {
    CommandFailure::because(BridleExit::Data, "the policy file has errors", bad)
        .hint("`bridle policy check` lists them; nothing was written")
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

    fn facts(&self, now: i64) -> Result<PolicyFacts, CommandFailure> {
        PolicyFacts::described(&self.described(now)).map_err(|why| {
            CommandFailure::new(BridleExit::Data, format!("this action cannot be judged: {why}"))
                .hint("approve without --always, or write a policy by hand: docs/policy.md")
        })
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
        let plain = |key| {
            let value = self.payload.get(key).map(ToString::to_string).unwrap_or_default();
            if value.chars().any(char::is_control) { "\"/\"".to_owned() } else { value }
        };
        match self.action() {
            "eval" => "(:action :eval :code \"..\")".to_owned(),
            "insert-at-end" => "(:action :insert-at-end :text \"..\")".to_owned(),
            "refactor-subtree" => "(:action :refactor-subtree :target-id \"..\")".to_owned(),
            "write" => format!("(:action :write :path {} :text \"..\")", plain("path")),
            _ if self.is_edit() => one_line(&self.without_sight()),
            other => format!("(:action :{other})"),
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
    ) -> Result<(String, GuardPolicies), CommandFailure> {
        let source = before.as_bytes();
        let end = Span { start: source.len(), end: source.len() };
        let document = Document::read(source);
        let edit = document.insert_after(end, self.org(terms, scope, after).as_bytes());
        let edit = edit.expect("the end of a text is in it");
        let new = String::from_utf8(edit.apply()).expect("text put behind text is text");
        let (set, tried) = policy_load::load_tried(&new).map_err(|bad| not_good(&bad))?;
        self.check_applies(&set)?;
        if let Some(bad) = InvalidPolicies::of_failed(&tried) {
            return Err(not_good(&bad));
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
    fn check_applies(&self, set: &GuardPolicies) -> Result<(), CommandFailure> {
        let found = set.find_unapproved(&self.facts(self.until - 1)?);
        if found.word == PolicyVerdict::Allow {
            return Ok(());
        }
        let why = match &found.fault {
            Some(fault) => format!("the policies cannot be evaluated: {fault}"),
            None => format!("`{}` requires approval each time", found.policies.join("`, `")),
        };
        Err(CommandFailure::new(
            BridleExit::Usage,
            format!("a grant for this could never apply: {why}"),
        )
        .hint("a forbid wins over every permit; approve without --always"))
    }

    /// The new set is the old one and this grant, as its sentence says it.
    fn check_single(
        &self,
        terms: &GrantTerms,
        scope: GrantScope,
        old: &GuardPolicies,
        new: &GuardPolicies,
    ) -> Result<(), CommandFailure> {
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
        Err(CommandFailure::new(
            BridleExit::Software,
            "the change would add more than one permit, so it was not made",
        )
        .hint("approve without --always, and report this with the approval"))
    }
}

impl PolicyPatch {
    /// Writes the file: all of it or nothing, and never over what somebody changed meanwhile.
    pub(super) fn write(&self) -> Result<(), CommandFailure> {
        let name = self.file.display();
        let put = policy_file::replace(&self.file, self.old.as_deref(), &self.new);
        put.map_err(|error| match error {
            policy_file::PolicyFileError::Changed => {
                let what = format!("`{name}` changed in the meantime; the grant was not written");
                CommandFailure::new(BridleExit::Temporary, what)
                    .hint("the action was approved; write the grant by hand if you still want it")
            }
            error => CommandFailure::because(
                BridleExit::CannotCreate,
                format!("cannot write `{name}`"),
                &error,
            )
            .hint("the file is unchanged; the action was approved"),
        })
    }
}
