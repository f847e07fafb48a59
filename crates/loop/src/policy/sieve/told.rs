//! Facts by the names that policies have for them.
//!
//! Called by the sieve for each condition. Says what `world` tells Cedar: the tests compare both.

use crate::effect::By;
use crate::policy::facts::{Facts, Person, Resource};
use crate::policy::world::{self, Approved};

/// What is told with one question.
#[derive(Clone, Copy)]
pub(in crate::policy) struct Told<'f> {
    pub(in crate::policy) facts: &'f Facts,
    pub(in crate::policy) approved: Approved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Approved,
    Protected,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Risk,
    Name,
    By,
    Hash,
    File,
    Heading,
    Destination,
    Arguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Number {
    Now,
    Minute,
    Weekday,
    SessionHour,
    AskerHour,
    ActionHour,
}

/// Something that has a type and an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    Principal,
    Action,
    Resource,
    Asker,
    Session,
    /// Of the session.
    Owner,
    Target,
    /// This one, of this type.
    Literal(Box<str>, Box<str>),
}

impl Flag {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "approved" => Some(Flag::Approved),
            "protected" => Some(Flag::Protected),
            _ => None,
        }
    }
}

impl Text {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "risk" => Some(Text::Risk),
            "name" => Some(Text::Name),
            "by" => Some(Text::By),
            "hash" => Some(Text::Hash),
            "file" => Some(Text::File),
            "heading" => Some(Text::Heading),
            "destination" => Some(Text::Destination),
            "arguments" => Some(Text::Arguments),
            _ => None,
        }
    }
}

impl Number {
    pub(in crate::policy) const ALL: [Self; 6] = [
        Number::Now,
        Number::Minute,
        Number::Weekday,
        Number::SessionHour,
        Number::AskerHour,
        Number::ActionHour,
    ];

    /// Where it is among all.
    pub(super) fn place(self) -> usize {
        self as usize
    }

    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "now" => Some(Number::Now),
            "minute" => Some(Number::Minute),
            "weekday" => Some(Number::Weekday),
            "session_hour" => Some(Number::SessionHour),
            "asker_hour" => Some(Number::AskerHour),
            "action_hour" => Some(Number::ActionHour),
            _ => None,
        }
    }
}

impl Thing {
    pub(super) fn named(attribute: &str) -> Option<Self> {
        match attribute {
            "asker" => Some(Thing::Asker),
            "session" => Some(Thing::Session),
            "target" => Some(Thing::Target),
            _ => None,
        }
    }
}

impl<'f> Told<'f> {
    pub(super) fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Approved => self.approved == Approved::Yes,
            Flag::Protected => self.facts.protected,
        }
    }

    pub(super) fn text(&self, text: Text) -> &'f str {
        match text {
            Text::Risk => self.facts.risk.word(),
            Text::Name => self.facts.name.as_str(),
            Text::By => self.facts.by.word(),
            Text::Hash => self.facts.hash.as_str(),
            Text::File => &self.facts.edit.file,
            Text::Heading => &self.facts.edit.heading,
            Text::Destination => &self.facts.edit.destination,
            Text::Arguments => &self.facts.edit.arguments,
        }
    }

    pub(super) fn number(&self, number: Number) -> i64 {
        match number {
            Number::Now => self.facts.now,
            Number::Minute => self.facts.minute,
            Number::Weekday => self.facts.weekday,
            Number::SessionHour => self.facts.counts.session,
            Number::AskerHour => self.facts.counts.asker,
            Number::ActionHour => self.facts.counts.action,
        }
    }

    /// Its type and its id.
    pub(super) fn thing<'t>(&self, thing: &'t Thing) -> (&'t str, &'t str)
    where
        'f: 't,
    {
        let facts = self.facts;
        match thing {
            Thing::Principal => match facts.by {
                By::Asker => ("Person", &facts.asker.name),
                By::Thinker => ("Thinker", world::THINKER),
                By::Reflex => ("Reflex", world::REFLEX),
            },
            Thing::Action => ("Action", facts.kind),
            Thing::Resource => match &facts.resource {
                Resource::Actuator => ("Actuator", facts.target.as_str()),
                Resource::Session => ("Session", facts.session.as_str()),
                Resource::Path(path) => ("Path", path),
                Resource::Command { argv, .. } => ("Command", argv.first().map_or("", |it| it)),
                Resource::Host { host, .. } => ("Host", host),
                Resource::Money { currency, .. } => ("Money", currency),
            },
            Thing::Asker => ("Person", &facts.asker.name),
            Thing::Session => ("Session", facts.session.as_str()),
            Thing::Owner => ("Person", &facts.session_owner),
            Thing::Target => ("Actuator", facts.target.as_str()),
            Thing::Literal(kind, id) => (kind, id),
        }
    }

    /// Whether one thing is another or below it; nobody knows what is above a literal.
    pub(super) fn is_in(&self, one: &Thing, other: &Thing) -> Option<bool> {
        // What the scope of nearly every policy says.
        if let (Thing::Action, Thing::Literal(kind, above)) = (one, other) {
            let id = self.facts.kind;
            return Some(**kind == *"Action" && (**above == *id || **above == *world::group(id)));
        }
        let ((kind, id), above) = (self.thing(one), self.thing(other));
        if (kind, id) == above {
            return Some(true);
        }
        if matches!(one, Thing::Literal(..)) {
            return None;
        }
        Some(match (kind, above.0) {
            ("Person", "Group") if *id == *self.facts.asker.name => {
                self.facts.asker.groups().any(|group| group == above.1)
            }
            ("Person", "Group") => {
                let other = Person { name: id.into(), owner: false };
                other.groups().any(|group| group == above.1)
            }
            ("Path", "Folder") => world::folders(id).any(|folder| folder == above.1),
            ("Host", "Domain") => world::domains(id).any(|domain| domain == above.1),
            ("Action", "Action") => world::group(id) == above.1,
            _ => false,
        })
    }
}
