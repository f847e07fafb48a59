//! Grants: a permit for what somebody said yes to, exactly that or a wider scope of it, until a time.
//!
//! Made from the facts of a question, written as Cedar, and read back from the policy that is installed: the
//! sentence for people comes from what was read back, so it says what the policy does. Pure: whoever grants shows
//! the sentence, asks, and writes the file.

mod reach;
mod read;
mod sentence;

use std::sync::Arc;

use bridle_sexp::Value;

use self::reach::GrantReach;
use super::PolicyFacts;
use super::cedar_request::folders;
use super::edit_facts::WHOLE_FILE;
use super::facts::{PolicyResource, ProposalCircumstances, RequestedAction};
use crate::action::Action;
use crate::budget::HourlyCounts;
use crate::effect::{ApprovalRequest, ProposalAuthor};
use crate::event::{ActuatorLocation, SignalSender};
use crate::ids::{KeywordName, SessionId, UnixMillis};
use crate::plist_codec::PlistBuilder;
use crate::provenance::ProposalOrigin;

/// Action of the schema that puts what waits on a stage into its project.
const COMMIT: &str = "commit";

/// Scope of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantScope {
    /// Exactly what was asked for.
    Action,
    /// An edit with any arguments, at the same heading.
    Heading,
    /// An edit with any arguments, in the whole file.
    File,
    /// An edit with any arguments, in every file of its folder, and below it.
    Folder,
    /// A run of the same programs and subcommands with any arguments, in the same place.
    Command,
    /// A request to the same host, or any run in the project that reaches no other.
    Host,
}

/// Action that a grant permits, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantTerms {
    /// Action of the schema.
    action: Box<str>,
    place: GrantPlace,
    /// Actuator, where the hash of the action does not say it.
    target: Option<Box<str>>,
    /// Facts that must be just these, in the order of [`GrantText::ALL`].
    texts: Vec<(GrantText, Box<str>)>,
    /// Bounds of a run or of a request to a host.
    reach: Option<GrantReach>,
    /// Person whose sessions it is for.
    owner: Box<str>,
    /// End, in seconds since 1970.
    until: i64,
}

/// Resource of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GrantPlace {
    /// One thing, by its type and its id.
    One(Box<str>, Box<str>),
    /// Two files that are changed together.
    Both(Box<str>, Box<str>),
    /// Every file below a folder.
    Below(Box<str>),
    /// Anything: the reach bounds it.
    Any,
}

/// A fact that a grant compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GrantText {
    Name,
    File,
    Heading,
    Destination,
    Arguments,
    Hash,
}

impl GrantScope {
    /// All of them, the narrowest first.
    pub const ALL: [Self; 6] =
        [Self::Action, Self::Heading, Self::File, Self::Folder, Self::Command, Self::Host];

    /// The scope of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Heading => "heading",
            Self::File => "file",
            Self::Folder => "folder",
            Self::Command => "command",
            Self::Host => "host",
        }
    }
}

impl GrantText {
    const ALL: [Self; 6] =
        [Self::Name, Self::File, Self::Heading, Self::Destination, Self::Arguments, Self::Hash];

    /// Its attribute of the context.
    fn attribute(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::File => "file",
            Self::Heading => "heading",
            Self::Destination => "destination",
            Self::Arguments => "arguments",
            Self::Hash => "hash",
        }
    }

    fn of(self, facts: &PolicyFacts) -> &str {
        match self {
            Self::Name => facts.name.as_str(),
            Self::File => &facts.edit.file,
            Self::Heading => &facts.edit.heading,
            Self::Destination => &facts.edit.destination,
            Self::Arguments => &facts.edit.arguments,
            Self::Hash => facts.hash.as_str(),
        }
    }
}

impl PolicyFacts {
    /// The grant of a scope for what these facts are about; nothing where there is no such scope.
    pub fn grant(&self, scope: GrantScope, until: i64) -> Option<GrantTerms> {
        if matches!(scope, GrantScope::Command | GrantScope::Host) {
            return self.reach_grant(scope, until);
        }
        let place = match (scope, &self.resource) {
            // The path of a commit is the folder of its project.
            (GrantScope::Folder, PolicyResource::Path(project)) if self.kind == COMMIT => {
                GrantPlace::One("Path".into(), project.clone())
            }
            (GrantScope::Folder, PolicyResource::Path(path)) if self.edit.elsewhere.is_none() => {
                let folder = folders(path).last().filter(|folder| *folder != "/")?;
                GrantPlace::Below(folder.into())
            }
            (GrantScope::Folder, _) => return None,
            (GrantScope::Heading | GrantScope::File, resource)
                if !matches!(resource, PolicyResource::Path(_)) =>
            {
                return None;
            }
            _ => self.grant_place(),
        };
        let named = self.grant_texts(scope)?;
        let texts = GrantText::ALL.into_iter().filter(|text| named.contains(text));
        let is_hashed = named == [GrantText::Hash];
        Some(GrantTerms {
            action: self.kind.into(),
            place,
            target: (!is_hashed).then(|| self.target.as_str().into()),
            texts: texts.map(|text| (text, text.of(self).into())).collect(),
            reach: None,
            owner: self.session_owner.clone(),
            until,
        })
    }

    /// The grant of a run or of a request, within bounds.
    fn reach_grant(&self, scope: GrantScope, until: i64) -> Option<GrantTerms> {
        let reach = GrantReach::of(self, scope)?;
        let (place, texts) = match &reach {
            GrantReach::Run(_) => (GrantPlace::Any, Vec::new()),
            GrantReach::Web { .. } => {
                (self.grant_place(), vec![(GrantText::Name, self.name.as_str().into())])
            }
        };
        Some(GrantTerms {
            action: self.kind.into(),
            place,
            target: Some(self.target.as_str().into()),
            texts,
            reach: Some(reach),
            owner: self.session_owner.clone(),
            until,
        })
    }

    /// Facts that a grant of a scope compares.
    fn grant_texts(&self, scope: GrantScope) -> Option<Vec<GrantText>> {
        use GrantText::{Arguments, Destination, File, Hash, Heading, Name};
        let is_edit = self.kind == "edit";
        let is_file = is_edit || matches!(self.kind, "read" | "write");
        // Where a subtree goes is part of every scope; nobody grants what nobody knows.
        let is_placed = self.edit.elsewhere.is_none() || !self.edit.destination.is_empty();
        match scope {
            GrantScope::Action if is_edit && !self.edit.arguments.is_empty() => {
                Some(vec![Name, File, Heading, Destination, Arguments])
            }
            GrantScope::Action => Some(vec![Hash]),
            GrantScope::Heading => {
                let has_heading = !["", WHOLE_FILE].contains(&&*self.edit.heading);
                let is_told = is_edit && has_heading && is_placed;
                is_told.then(|| vec![Name, File, Heading, Destination])
            }
            GrantScope::Folder if self.kind == COMMIT => Some(Vec::new()),
            GrantScope::File if is_edit => is_placed.then(|| vec![Name, File, Destination]),
            GrantScope::Folder if is_edit => is_placed.then(|| vec![Name, Destination]),
            GrantScope::File | GrantScope::Folder => is_file.then(Vec::new),
            GrantScope::Command | GrantScope::Host => None,
        }
    }

    fn grant_place(&self) -> GrantPlace {
        let one = |kind: &str, id: &str| GrantPlace::One(kind.into(), id.into());
        match &self.resource {
            PolicyResource::Path(path) => match &self.edit.elsewhere {
                Some(other) => GrantPlace::Both(self.edit.file.clone(), other.clone()),
                None => one("Path", path),
            },
            PolicyResource::Actuator => one("Actuator", self.target.as_str()),
            PolicyResource::Session => one("Session", self.session.as_str()),
            PolicyResource::Command { argv, .. } => {
                one("Command", argv.first().map_or("", |it| it))
            }
            PolicyResource::Host { host, .. } => one("Host", host),
            PolicyResource::Money { currency, .. } => one("Money", currency),
        }
    }
}

/// The scopes of a grant for a question of the guard, the narrowest first, each with what it would permit. The
/// question is the body of its record; one that cannot be read has no scope.
pub fn grant_scopes(ask: &Value) -> Vec<(GrantScope, String)> {
    let Some(facts) = asked_facts(ask) else { return Vec::new() };
    let terms = |scope| facts.grant(scope, i64::MAX).map(|terms| (scope, terms.outline()));
    GrantScope::ALL.into_iter().filter_map(terms).collect()
}

impl ApprovalRequest {
    /// Returns its scopes, as [`grant_scopes`] does.
    pub fn grant_scopes(&self) -> Vec<(GrantScope, String)> {
        grant_scopes(&self.put(PlistBuilder::new()).done())
    }
}

/// Facts of a question, as far as a grant looks at them.
fn asked_facts(ask: &Value) -> Option<PolicyFacts> {
    let word = |key| ask.get(key).and_then(KeywordName::of);
    let payload = Arc::new(ask.get("payload")?.clone());
    let action = Action::from_payload(&payload).ok()?;
    let by = word("by")?;
    let place = match word("place")?.as_str() {
        "shell" => ActuatorLocation::Shell,
        _ => ActuatorLocation::Host,
    };
    let around = ProposalCircumstances {
        by: *ProposalAuthor::ALL.iter().find(|known| known.word() == by.as_str())?,
        asker: &SignalSender::new(""),
        session: &SessionId::parse("question").ok()?,
        session_owner: "",
        now: UnixMillis(0),
        counts: HourlyCounts::default(),
    };
    let target = word("target")?;
    let wanted = RequestedAction {
        action: &action,
        target: &target,
        place,
        payload: &payload,
        protected: false,
        origin: &ProposalOrigin::default(),
    };
    Some(PolicyFacts::of(&around, &wanted))
}

impl GrantTerms {
    /// Returns its end, in seconds since 1970.
    pub fn until(&self) -> i64 {
        self.until
    }

    /// Returns the person whose sessions it is for.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Host and port whose addresses it permits, whatever stands behind them.
    pub fn granted_host(&self) -> Option<(&str, u16)> {
        match (&self.place, &self.reach) {
            (GrantPlace::One(_, host), Some(GrantReach::Web { port })) => Some((host, *port)),
            _ => None,
        }
    }

    /// The permit.
    pub fn to_cedar(&self) -> String {
        let (scope, mut all) = match &self.place {
            GrantPlace::One(kind, id) => (format!("resource == {}", uid(kind, id)), Vec::new()),
            GrantPlace::Below(folder) => {
                (format!("resource in {}", uid("Folder", folder)), Vec::new())
            }
            GrantPlace::Both(one, other) => {
                let (one, other) = (uid("Path", one), uid("Path", other));
                let both = format!("(resource == {one} || resource == {other})");
                ("resource".to_owned(), vec![both])
            }
            GrantPlace::Any => ("resource".to_owned(), Vec::new()),
        };
        all.extend(
            self.target.iter().map(|it| format!("context.target == {}", uid("Actuator", it))),
        );
        all.extend(self.texts.iter().map(|(text, value)| {
            format!("context.{} == \"{}\"", text.attribute(), value.escape_default())
        }));
        all.extend(self.reach.iter().flat_map(GrantReach::conditions));
        all.push(format!("context.session.owner == {}", uid("Person", &self.owner)));
        all.push(format!("context.now < {}", self.until));
        format!(
            "permit (principal, action == {}, {scope})\nwhen {{\n    {}\n}};",
            uid("Action", &self.action),
            all.join(" &&\n    ")
        )
    }

    /// Whether it permits what these facts are about, as far as no forbid says otherwise.
    pub fn includes(&self, facts: &PolicyFacts) -> bool {
        let is_there = match (&self.place, &facts.resource) {
            (GrantPlace::Below(folder), PolicyResource::Path(path)) => {
                folders(path).any(|above| above == &**folder)
            }
            (GrantPlace::Both(one, other), PolicyResource::Path(path)) => {
                path == one || path == other
            }
            (GrantPlace::One(kind, id), resource) => {
                let there = match resource {
                    PolicyResource::Path(path) => GrantPlace::One("Path".into(), path.clone()),
                    _ => facts.grant_place(),
                };
                there == GrantPlace::One(kind.clone(), id.clone())
            }
            (GrantPlace::Any, _) => true,
            _ => false,
        };
        is_there
            && *facts.kind == *self.action
            && self.target.as_ref().is_none_or(|target| **target == *facts.target.as_str())
            && self.texts.iter().all(|(text, value)| text.of(facts) == &**value)
            && self.reach.as_ref().is_none_or(|reach| reach.includes(facts))
            && facts.session_owner == self.owner
            && facts.now < self.until
    }

    fn text(&self, wanted: GrantText) -> Option<&str> {
        self.texts.iter().find(|(text, _)| *text == wanted).map(|(_, value)| &**value)
    }
}

fn uid(kind: &str, id: &str) -> String {
    format!("{kind}::\"{}\"", id.escape_default())
}

#[cfg(test)]
mod tests;
