//! Examples: what a set must allow, ask for and refuse, run each time it is loaded.
//!
//! `(allow (:principal "owner" :target :emacs :action :complete :prefix "de"))`, `(ask ..)`,
//! `(refuse ..)`. The plist is the payload of an action, with some keys around it that say who asks
//! and what the circumstances are; with `:payload`, the payload stands apart. Called by `load`; an
//! example is judged as any proposal is. `bridle policy explain` describes a proposal in the same way.

use std::sync::Arc;

use bridle_sexp::{Comments, Place as TextPlace, Progress, Reader, Value};

use super::facts::{PolicyFacts, ProposalCircumstances, RequestedAction, SessionAccess};
use super::load::PolicyFault;
use super::sections::{PolicySection, SourceBlock};
use super::{GuardPolicies, PolicyFinding, PolicyVerdict};
use crate::action::{Action, RiskLevel};
use crate::budget::HourlyCounts;
use crate::effect::ProposalAuthor;
use crate::event::{ActuatorLocation, SignalSender};
use crate::ids::{KeywordName, SessionId, UnixMillis};
use crate::privacy::Privacy;
use crate::provenance::{ProposalOrigin, Provenance, TextSource, TracedKind, TracedValue};

/// The language of a source block of examples.
pub(super) const LANGUAGE: &str = "examples";

/// The most examples of a file: each is judged when it is loaded.
const MAX_EXAMPLES: usize = 4_096;

/// Time of examples that name none: noon, on a Monday.
const NOON_MINUTE: i64 = 720;
const MONDAY_WEEKDAY: i64 = 1;

/// Keys of an example that are about the circumstances. All others are the payload.
const CIRCUMSTANCE_KEYS: [&str; 17] = [
    "principal",
    "owner",
    "by",
    "target",
    "place",
    "protected",
    "session-owner",
    "session-hour",
    "asker-hour",
    "action-hour",
    "minute",
    "weekday",
    "now",
    "hash",
    "risk",
    "provenance",
    "label",
];

/// An example that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleResult {
    /// The line of the file where it begins, from 1.
    pub line: usize,
    /// The example as it is written.
    pub text: Box<str>,
    /// Expected verdict.
    pub expected: PolicyVerdict,
    /// Verdict of the policies.
    pub found: PolicyFinding,
}

impl ExampleResult {
    /// Whether what must come out came out.
    pub fn passed(&self) -> bool {
        self.found.word == self.expected
    }

    /// Fault of the example.
    pub(super) fn fault(&self) -> Option<PolicyFault> {
        if self.passed() {
            return None;
        }
        let because = match &self.found.fault {
            Some(fault) => fault.to_string(),
            None if self.found.policies.is_empty() => "nothing permits it".to_owned(),
            None => format!("by `{}`", self.found.policies.join("`, `")),
        };
        let (expected, got) = (as_example(self.expected), as_example(self.found.word));
        let what = format!("the example fails: expected `{expected}`, got `{got}` ({because})");
        Some(PolicyFault::new(self.line, what))
    }
}

/// Runs all examples of a file.
pub(super) fn run(
    set: &GuardPolicies,
    sections: &[PolicySection],
    faults: &mut Vec<PolicyFault>,
) -> Vec<ExampleResult> {
    let mut tried = Vec::new();
    let blocks = sections.iter().flat_map(|section| &section.blocks);
    for block in blocks.filter(|block| block.language == LANGUAGE) {
        if let Err(fault) = run_block(set, block, &mut tried, faults) {
            faults.push(fault);
        }
    }
    tried
}

fn run_block(
    set: &GuardPolicies,
    block: &SourceBlock,
    tried: &mut Vec<ExampleResult>,
    faults: &mut Vec<PolicyFault>,
) -> Result<(), PolicyFault> {
    let line_of = |offset: usize| block.line + TextPlace::of(&block.text, offset).line - 1;
    let mut at = 0;
    loop {
        let rest = &block.text[at..];
        if is_blank(rest) {
            return Ok(());
        }
        let reader = Reader::new().comments(Comments::Skip);
        let tree = match reader.read(rest) {
            Ok(Progress::Done(tree)) => tree,
            Ok(Progress::Incomplete) => {
                return Err(PolicyFault::new(line_of(at), "an example without its last `)`"));
            }
            Err(error) => {
                let line = line_of(at + error.place().offset);
                return Err(PolicyFault::new(line, error.reason()));
            }
        };
        let line = line_of(at + tree.root().span().start);
        if tried.len() == MAX_EXAMPLES {
            let what = format!("more than {MAX_EXAMPLES} examples in a file");
            return Err(PolicyFault::new(line, what));
        }
        let text = tree.root().source().into();
        match check(set, &tree.root().to_value()) {
            Ok((expected, found)) => tried.push(ExampleResult { line, text, expected, found }),
            Err(what) => faults.push(PolicyFault::new(line, what)),
        }
        at += tree.consumed();
    }
}

/// Judges one example.
fn check(set: &GuardPolicies, example: &Value) -> Result<(PolicyVerdict, PolicyFinding), String> {
    let [word, proposal] = example.elements().unwrap_or(&[]) else {
        return Err("an example, expected `(allow|ask|refuse (..))`".to_owned());
    };
    let expected = match word.as_symbol() {
        Some("allow") => PolicyVerdict::Allow,
        Some("ask") => PolicyVerdict::Ask,
        Some("refuse") => PolicyVerdict::Deny,
        _ => return Err(format!("`{word}`, expected `allow`, `ask` or `refuse`")),
    };
    Ok((expected, set.find(&facts(proposal)?)))
}

impl PolicyFacts {
    /// The facts that a text describes, as an example does: `(:principal S :action K ..)`.
    ///
    /// # Errors
    /// A fault of the example, for people.
    pub fn described(text: &str) -> Result<PolicyFacts, String> {
        let tree = Reader::new().comments(Comments::Skip).read_one(text);
        let tree = tree.map_err(|error| error.to_string())?;
        facts(&tree.root().to_value())
    }
}

fn as_example(word: PolicyVerdict) -> &'static str {
    match word {
        PolicyVerdict::Deny => "refuse",
        other => other.word(),
    }
}

/// The facts that an example states.
fn facts(example: &Value) -> Result<PolicyFacts, String> {
    let principal = example.get("principal").and_then(Value::as_str);
    let principal = principal.ok_or("an example without `:principal`, expected a string")?;
    let asker = SignalSender {
        owner: principal == "owner" || example.get("owner").is_some_and(|owner| !owner.is_nil()),
        ..SignalSender::new(principal)
    };
    let number = |key: &'static str, default: i64| match example.get(key) {
        None => Ok(default),
        Some(number) => number.as_i64().ok_or(format!("`:{key}` of an example, expected a number")),
    };
    let counts = HourlyCounts {
        session: number("session-hour", 0)?,
        asker: number("asker-hour", 0)?,
        action: number("action-hour", 0)?,
    };
    let session = SessionId::parse("example").expect("a session's name");
    let session_owner = example.get("session-owner").and_then(Value::as_str).unwrap_or(principal);
    let around = ProposalCircumstances {
        by: by(example)?,
        asker: &asker,
        session: &session,
        session_owner,
        now: UnixMillis(0),
        counts,
    };
    let facts = match access(example) {
        Some(access) => {
            PolicyFacts { risk: risk(example)?, ..PolicyFacts::access(&around, access) }
        }
        None if is_think(example) => PolicyFacts::think(&around),
        None => act(example, &around)?,
    };
    let hash = match example.get("hash") {
        None => facts.hash,
        Some(hash) => hash.as_str().ok_or("`:hash` of an example, expected a string")?.into(),
    };
    Ok(PolicyFacts {
        hash,
        now: number("now", 0)?,
        minute: number("minute", NOON_MINUTE)?,
        weekday: number("weekday", MONDAY_WEEKDAY)?,
        ..facts
    })
}

fn act(example: &Value, around: &ProposalCircumstances<'_>) -> Result<PolicyFacts, String> {
    let payload = Arc::new(payload(example));
    let place = match example.get("place").and_then(KeywordName::of) {
        Some(place) if place.as_str() == "shell" => ActuatorLocation::Shell,
        _ => ActuatorLocation::Host,
    };
    let target = match example.get("target") {
        None => KeywordName::new("system"),
        Some(target) => {
            KeywordName::of(target).ok_or("`:target` of an example, expected a keyword")?
        }
    };
    let action =
        Action::from_payload(&payload).and_then(|action| action.placed(&payload, &target, place));
    let action = action.map_err(|fault| fault.to_string())?;
    let protected = example.get("protected").is_some_and(|flag| !flag.is_nil());
    let origin = origin(example)?;
    let wanted = RequestedAction {
        action: &action,
        target: &target,
        place,
        payload: &payload,
        protected,
        origin: &origin,
    };
    Ok(PolicyFacts::of(around, &wanted))
}

/// Origin of an example: `:provenance (("VALUE" :user :web) ..)` and `:label :secret`; unknown unless it is said.
fn origin(example: &Value) -> Result<ProposalOrigin, String> {
    let fault = "`:provenance` of an example, expected a list of `(\"VALUE\" SOURCE ..)`";
    let value = |said: &Value| {
        let (text, sources) = said.elements()?.split_first()?;
        let source = |word: &Value| {
            TextSource::ALL.into_iter().find(|source| word.is_keyword(source.word()))
        };
        let sources = sources.iter().map(source).collect::<Option<_>>()?;
        Some(TracedValue { kind: TracedKind::Word, text: text.as_str()?.into(), sources })
    };
    let provenance = match example.get("provenance") {
        None => None,
        Some(said) => {
            let values: Option<Vec<_>> = said.elements().ok_or(fault)?.iter().map(value).collect();
            Some(Arc::new(Provenance { values: values.ok_or(fault)?, is_cut: false }))
        }
    };
    let privacy = match example.get("label") {
        None => Privacy::default(),
        Some(label) => Privacy::ALL
            .into_iter()
            .find(|one| label.is_keyword(one.word()))
            .ok_or("`:label` of an example, expected `:public`, `:private` or `:secret`")?,
    };
    Ok(ProposalOrigin { provenance, privacy })
}

/// Payload of an example: the one it gives, or all of it but the circumstances.
fn payload(example: &Value) -> Value {
    if let Some(payload) = example.get("payload") {
        return payload.clone();
    }
    let pairs = example.elements().unwrap_or_default().chunks(2);
    let is_around = |key: &Value| CIRCUMSTANCE_KEYS.iter().any(|around| key.is_keyword(around));
    let own = pairs.filter(|pair| !pair.first().is_some_and(is_around));
    Value::list(own.flatten().cloned())
}

fn is_think(example: &Value) -> bool {
    example.get("action").is_some_and(|action| action.is_keyword("think"))
}

fn access(example: &Value) -> Option<SessionAccess> {
    let name = example.get("action").and_then(KeywordName::of)?;
    SessionAccess::ALL.into_iter().find(|access| access.word() == name.as_str())
}

fn by(example: &Value) -> Result<ProposalAuthor, String> {
    let Some(by) = example.get("by") else { return Ok(ProposalAuthor::Asker) };
    let name = KeywordName::of(by);
    let known = ProposalAuthor::ALL
        .iter()
        .find(|known| name.as_ref().is_some_and(|by| by.as_str() == known.word()));
    known.copied().ok_or_else(|| format!("`:by {by}`, expected `:asker`, `:reflex` or `:thinker`"))
}

fn risk(example: &Value) -> Result<RiskLevel, String> {
    let Some(risk) = example.get("risk") else { return Ok(RiskLevel::Safe) };
    let name = KeywordName::of(risk);
    let known = RiskLevel::ALL
        .into_iter()
        .find(|one| name.as_ref().is_some_and(|name| name.as_str() == one.word()));
    known.ok_or_else(|| format!("`:risk {risk}`, expected `:safe`, `:caution` or `:dangerous`"))
}

/// Whether nothing is left but space and comments to the end of their lines.
fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim_start).all(|line| line.is_empty() || line.starts_with(';'))
}
