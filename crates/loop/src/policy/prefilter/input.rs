//! Facts by the names that policies have for them.
//!
//! Called by the sieve for each condition. Says what `world` tells Cedar: the tests compare both.

use crate::effect::ProposalAuthor;
use crate::policy::cedar_request::{self, ApprovalQuestion};
use crate::policy::facts::{AskingPrincipal, PolicyFacts, PolicyResource};

/// Facts of one question.
#[derive(Clone, Copy)]
pub(in crate::policy) struct PrefilterInput<'f> {
    pub(in crate::policy) facts: &'f PolicyFacts,
    pub(in crate::policy) approved: ApprovalQuestion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefilterFlag {
    Approved,
    Protected,
    Inside,
    Staged,
    Keys,
    Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefilterText {
    Risk,
    Name,
    By,
    Hash,
    File,
    Heading,
    Destination,
    Arguments,
    Project,
    Privacy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum PrefilterNumber {
    Now,
    Minute,
    Weekday,
    SessionHour,
    AskerHour,
    ActionHour,
}

/// Entity with a type and an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PrefilterEntity {
    Principal,
    Action,
    Resource,
    Asker,
    Session,
    /// Of the session.
    Owner,
    Target,
    /// Entity of this type and id.
    Literal(Box<str>, Box<str>),
}

impl PrefilterFlag {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "approved" => Some(PrefilterFlag::Approved),
            "protected" => Some(PrefilterFlag::Protected),
            "inside" => Some(PrefilterFlag::Inside),
            "staged" => Some(PrefilterFlag::Staged),
            "keys" => Some(PrefilterFlag::Keys),
            "remote" => Some(PrefilterFlag::Remote),
            _ => None,
        }
    }
}

impl PrefilterText {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "risk" => Some(PrefilterText::Risk),
            "name" => Some(PrefilterText::Name),
            "by" => Some(PrefilterText::By),
            "hash" => Some(PrefilterText::Hash),
            "file" => Some(PrefilterText::File),
            "heading" => Some(PrefilterText::Heading),
            "destination" => Some(PrefilterText::Destination),
            "arguments" => Some(PrefilterText::Arguments),
            "project" => Some(PrefilterText::Project),
            "privacy" => Some(PrefilterText::Privacy),
            _ => None,
        }
    }
}

impl PrefilterNumber {
    pub(in crate::policy) const ALL: [Self; 6] = [
        PrefilterNumber::Now,
        PrefilterNumber::Minute,
        PrefilterNumber::Weekday,
        PrefilterNumber::SessionHour,
        PrefilterNumber::AskerHour,
        PrefilterNumber::ActionHour,
    ];

    /// Index of the entity among all.
    pub(super) fn place(self) -> usize {
        self as usize
    }

    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "now" => Some(PrefilterNumber::Now),
            "minute" => Some(PrefilterNumber::Minute),
            "weekday" => Some(PrefilterNumber::Weekday),
            "session_hour" => Some(PrefilterNumber::SessionHour),
            "asker_hour" => Some(PrefilterNumber::AskerHour),
            "action_hour" => Some(PrefilterNumber::ActionHour),
            _ => None,
        }
    }
}

impl PrefilterEntity {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "asker" => Some(PrefilterEntity::Asker),
            "session" => Some(PrefilterEntity::Session),
            "target" => Some(PrefilterEntity::Target),
            _ => None,
        }
    }
}

impl<'f> PrefilterInput<'f> {
    pub(super) fn flag(&self, flag: PrefilterFlag) -> bool {
        match flag {
            PrefilterFlag::Approved => self.approved == ApprovalQuestion::Yes,
            PrefilterFlag::Protected => self.facts.protected,
            PrefilterFlag::Inside => self.facts.effect.inside,
            PrefilterFlag::Staged => self.facts.effect.staged,
            PrefilterFlag::Keys => self.facts.effect.keys,
            PrefilterFlag::Remote => self.facts.reach.is_remote,
        }
    }

    pub(super) fn text(&self, text: PrefilterText) -> &'f str {
        match text {
            PrefilterText::Risk => self.facts.risk.word(),
            PrefilterText::Name => self.facts.name.as_str(),
            PrefilterText::By => self.facts.by.word(),
            PrefilterText::Hash => self.facts.hash.as_str(),
            PrefilterText::File => &self.facts.edit.file,
            PrefilterText::Heading => &self.facts.edit.heading,
            PrefilterText::Destination => &self.facts.edit.destination,
            PrefilterText::Arguments => &self.facts.edit.arguments,
            PrefilterText::Project => &self.facts.effect.project,
            PrefilterText::Privacy => self.facts.origin.privacy.word(),
        }
    }

    pub(super) fn number(&self, number: PrefilterNumber) -> i64 {
        match number {
            PrefilterNumber::Now => self.facts.now,
            PrefilterNumber::Minute => self.facts.minute,
            PrefilterNumber::Weekday => self.facts.weekday,
            PrefilterNumber::SessionHour => self.facts.counts.session,
            PrefilterNumber::AskerHour => self.facts.counts.asker,
            PrefilterNumber::ActionHour => self.facts.counts.action,
        }
    }

    /// Its type and its id.
    pub(super) fn thing<'t>(&self, thing: &'t PrefilterEntity) -> (&'t str, &'t str)
    where
        'f: 't,
    {
        let facts = self.facts;
        match thing {
            PrefilterEntity::Principal => match facts.by {
                ProposalAuthor::Asker => ("Person", &facts.asker.name),
                ProposalAuthor::Thinker => ("Thinker", cedar_request::THINKER),
                ProposalAuthor::Reflex => ("Reflex", cedar_request::REFLEX),
            },
            PrefilterEntity::Action => ("Action", facts.kind),
            PrefilterEntity::Resource => match &facts.resource {
                PolicyResource::Actuator => ("Actuator", facts.target.as_str()),
                PolicyResource::Session => ("Session", facts.session.as_str()),
                PolicyResource::Path(path) => ("Path", path),
                PolicyResource::Command { argv, .. } => {
                    ("Command", argv.first().map_or("", |it| it))
                }
                PolicyResource::Host { host, .. } => ("Host", host),
                PolicyResource::Money { currency, .. } => ("Money", currency),
            },
            PrefilterEntity::Asker => ("Person", &facts.asker.name),
            PrefilterEntity::Session => ("Session", facts.session.as_str()),
            PrefilterEntity::Owner => ("Person", &facts.session_owner),
            PrefilterEntity::Target => ("Actuator", facts.target.as_str()),
            PrefilterEntity::Literal(kind, id) => (kind, id),
        }
    }

    /// Whether one thing is another or below it; nobody knows what is above a literal.
    pub(super) fn is_in(&self, one: &PrefilterEntity, other: &PrefilterEntity) -> Option<bool> {
        // What the scope of nearly every policy says.
        if let (PrefilterEntity::Action, PrefilterEntity::Literal(kind, above)) = (one, other) {
            let id = self.facts.kind;
            return Some(
                **kind == *"Action" && (**above == *id || **above == *cedar_request::group(id)),
            );
        }
        let ((kind, id), above) = (self.thing(one), self.thing(other));
        if (kind, id) == above {
            return Some(true);
        }
        if matches!(one, PrefilterEntity::Literal(..)) {
            return None;
        }
        Some(match (kind, above.0) {
            ("Person", "Group") if *id == *self.facts.asker.name => {
                self.facts.asker.groups().any(|group| group == above.1)
            }
            ("Person", "Group") => {
                let other = AskingPrincipal { name: id.into(), owner: false };
                other.groups().any(|group| group == above.1)
            }
            ("Path", "Folder") => cedar_request::folders(id).any(|folder| folder == above.1),
            ("Host", "Domain") => cedar_request::domains(id).any(|domain| domain == above.1),
            ("Action", "Action") => cedar_request::group(id) == above.1,
            _ => false,
        })
    }
}
