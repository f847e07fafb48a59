//! Facts in the terms of Cedar: entities, a request, a context.
//!
//! Called by the verdict, twice at most for each proposal. Entities are made anew each time: they
//! are few, and nothing of one proposal can stay behind for the next.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression,
};

use super::facts::{AskingPrincipal, PolicyFacts, PolicyResource, SessionAccess};
use crate::action::ChangeCounts;
use crate::effect::ProposalAuthor;
use crate::event::ActuatorLocation;
use crate::provenance::Provenance;

/// The group of actions that actuators carry out, and the one of access to sessions.
pub(super) const ACT: &str = "act";
pub(super) const ACCESS: &str = "access";

/// Ids of the authors that propose for somebody: there is one of each.
pub(super) const THINKER: &str = "thinker";
pub(super) const REFLEX: &str = "reflex";

/// Question that is asked: with or without somebody's yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalQuestion {
    No,
    Yes,
}

/// The types of the schema, parsed once for each set.
#[derive(Debug)]
pub(super) struct CedarTypes {
    group: EntityTypeName,
    person: EntityTypeName,
    thinker: EntityTypeName,
    reflex: EntityTypeName,
    folder: EntityTypeName,
    domain: EntityTypeName,
    session: EntityTypeName,
    actuator: EntityTypeName,
    path: EntityTypeName,
    command: EntityTypeName,
    host: EntityTypeName,
    money: EntityTypeName,
    action: EntityTypeName,
}

/// One proposal as Cedar sees it.
pub(super) struct CedarRequest {
    principal: EntityUid,
    action: EntityUid,
    resource: EntityUid,
    person: EntityUid,
    session: EntityUid,
    target: EntityUid,
    entities: Entities,
    /// The two questions, each made when it is first asked.
    now: Option<Request>,
    after: Option<Request>,
}

/// Reason why facts cannot be told to Cedar.
pub(super) type Untold = String;

impl CedarTypes {
    pub(super) fn new() -> Self {
        let named = |name| EntityTypeName::from_str(name).expect("a type's name is an identifier");
        Self {
            group: named("Group"),
            person: named("Person"),
            thinker: named("Thinker"),
            reflex: named("Reflex"),
            folder: named("Folder"),
            domain: named("Domain"),
            session: named("Session"),
            actuator: named("Actuator"),
            path: named("Path"),
            command: named("Command"),
            host: named("Host"),
            money: named("Money"),
            action: named("Action"),
        }
    }

    /// The entities of a proposal.
    pub(super) fn world(&self, facts: &PolicyFacts) -> Result<CedarRequest, Untold> {
        let person = uid(&self.person, &facts.asker.name);
        let session = uid(&self.session, facts.session.as_str());
        let target = uid(&self.actuator, facts.target.as_str());
        let action = uid(&self.action, facts.kind);
        let owner = uid(&self.person, &facts.session_owner);
        let mut entities = vec![
            Entity::new_no_attrs(
                action.clone(),
                HashSet::from([uid(&self.action, group(facts.kind))]),
            ),
            self.person(&facts.asker)?,
            entity(&session, [("owner", RestrictedExpression::new_entity_uid(owner.clone()))])?,
            entity(&target, [("place", string(place_word(facts.place)))])?,
        ];
        if owner != person {
            let owner = AskingPrincipal { name: facts.session_owner.clone(), owner: false };
            entities.push(self.person(&owner)?);
        }
        let principal = match facts.by {
            ProposalAuthor::Asker => person.clone(),
            ProposalAuthor::Thinker => uid(&self.thinker, THINKER),
            ProposalAuthor::Reflex => uid(&self.reflex, REFLEX),
        };
        let resource = match &facts.resource {
            PolicyResource::Actuator => target.clone(),
            PolicyResource::Session => session.clone(),
            other => {
                let thing = self.thing(other)?;
                let resource = thing.uid();
                entities.push(thing);
                resource
            }
        };
        let entities = Entities::from_entities(entities, None).map_err(|e| e.to_string())?;
        let (now, after) = (None, None);
        Ok(CedarRequest {
            principal,
            action,
            resource,
            person,
            session,
            target,
            entities,
            now,
            after,
        })
    }

    fn person(&self, person: &AskingPrincipal) -> Result<Entity, Untold> {
        let groups = person.groups().map(|group| uid(&self.group, group)).collect();
        let kind = HashMap::from([("kind".to_owned(), string(person.kind()))]);
        Entity::new(uid(&self.person, &person.name), kind, groups).map_err(|e| e.to_string())
    }

    /// Entity of a resource that is neither an actuator nor a session.
    fn thing(&self, resource: &PolicyResource) -> Result<Entity, Untold> {
        match resource {
            PolicyResource::Path(path) => {
                let folders = folders(path).map(|folder| uid(&self.folder, folder)).collect();
                Ok(Entity::new_no_attrs(uid(&self.path, path), folders))
            }
            PolicyResource::Host { host, port } => {
                let domains = domains(host).map(|domain| uid(&self.domain, domain)).collect();
                let port = RestrictedExpression::new_long((*port).into());
                let attributes = HashMap::from([("port".to_owned(), port)]);
                Entity::new(uid(&self.host, host), attributes, domains).map_err(|e| e.to_string())
            }
            PolicyResource::Money { amount, currency } => {
                let amount = RestrictedExpression::new_long(*amount);
                entity(&uid(&self.money, currency), [("amount", amount)])
            }
            PolicyResource::Command { argv, cwd } => {
                let (program, arguments) = argv.split_first().ok_or("a command without program")?;
                let count = i64::try_from(arguments.len()).unwrap_or(i64::MAX);
                let arguments = arguments.iter().map(|argument| string(argument));
                entity(
                    &uid(&self.command, program),
                    [
                        ("arguments", RestrictedExpression::new_set(arguments)),
                        ("count", RestrictedExpression::new_long(count)),
                        ("folder", string(cwd.as_deref().unwrap_or_default())),
                    ],
                )
            }
            PolicyResource::Actuator | PolicyResource::Session => {
                Err("no thing of its own".to_owned())
            }
        }
    }
}

impl CedarRequest {
    /// One of the two questions, and the entities that it is about.
    pub(super) fn question(
        &mut self,
        facts: &PolicyFacts,
        approved: ApprovalQuestion,
    ) -> Result<(&Request, &Entities), Untold> {
        if self.made(approved).is_none() {
            let request = self.request(facts, approved)?;
            *self.made(approved) = Some(request);
        }
        let request = match approved {
            ApprovalQuestion::No => &self.now,
            ApprovalQuestion::Yes => &self.after,
        };
        let request = request.as_ref().ok_or("a question that was not made")?;
        Ok((request, &self.entities))
    }

    fn made(&mut self, approved: ApprovalQuestion) -> &mut Option<Request> {
        match approved {
            ApprovalQuestion::No => &mut self.now,
            ApprovalQuestion::Yes => &mut self.after,
        }
    }

    fn request(&self, facts: &PolicyFacts, approved: ApprovalQuestion) -> Result<Request, Untold> {
        let entity = |uid: &EntityUid| RestrictedExpression::new_entity_uid(uid.clone());
        let pairs = [
            ("approved", RestrictedExpression::new_bool(approved == ApprovalQuestion::Yes)),
            ("risk", string(facts.risk.word())),
            ("name", string(facts.name.as_str())),
            ("by", string(facts.by.word())),
            ("asker", entity(&self.person)),
            ("session", entity(&self.session)),
            ("target", entity(&self.target)),
            ("protected", RestrictedExpression::new_bool(facts.protected)),
            ("hash", string(facts.hash.as_str())),
            ("file", string(&facts.edit.file)),
            ("heading", string(&facts.edit.heading)),
            ("destination", string(&facts.edit.destination)),
            ("arguments", string(&facts.edit.arguments)),
            ("project", string(&facts.effect.project)),
            ("inside", RestrictedExpression::new_bool(facts.effect.inside)),
            ("staged", RestrictedExpression::new_bool(facts.effect.staged)),
            ("layer", string(&facts.effect.layer)),
            ("programs", strings(&facts.effect.programs)),
            ("commands", strings(&facts.effect.commands)),
            ("code", strings(&facts.effect.code)),
            ("keys", RestrictedExpression::new_bool(facts.effect.keys)),
            ("hosts", strings(&facts.reach.hosts)),
            ("secrets", strings(&facts.reach.secrets)),
            ("server", string(facts.reach.tool.as_ref().map_or("", |it| &it.server))),
            ("tool", string(facts.reach.tool.as_ref().map_or("", |it| &it.tool))),
            ("changes", changes(&facts.effect.changes)?),
            ("privacy", string(facts.origin.privacy.word())),
            ("remote", RestrictedExpression::new_bool(facts.reach.is_remote)),
            ("provenance", provenance(facts.origin.provenance.as_deref())?),
            ("now", RestrictedExpression::new_long(facts.now)),
            ("minute", RestrictedExpression::new_long(facts.minute)),
            ("weekday", RestrictedExpression::new_long(facts.weekday)),
            ("session_hour", RestrictedExpression::new_long(facts.counts.session)),
            ("asker_hour", RestrictedExpression::new_long(facts.counts.asker)),
            ("action_hour", RestrictedExpression::new_long(facts.counts.action)),
        ];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
        let context = Context::from_pairs(pairs).map_err(|error| error.to_string())?;
        Request::new(
            self.principal.clone(),
            self.action.clone(),
            self.resource.clone(),
            context,
            // The types hold by construction, and the tests check them against the schema.
            None,
        )
        .map_err(|error| error.to_string())
    }
}

/// The group that an action of the schema is in.
pub(super) fn group(kind: &str) -> &'static str {
    let is_access = SessionAccess::ALL.iter().any(|access| access.word() == kind);
    if is_access { ACCESS } else { ACT }
}

/// Whether this names a group of actions.
pub(super) fn is_group(id: &str) -> bool {
    [ACT, ACCESS].contains(&id)
}

/// Every folder above a path, the root included.
pub(super) fn folders(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.match_indices('/').map(|(at, _)| at);
    slashes.map(|at| if at == 0 { "/" } else { &path[..at] })
}

/// The host's own name as a domain, and every domain above it. An address is in none.
pub(super) fn domains(host: &str) -> impl Iterator<Item = &str> {
    let name = host.parse::<std::net::IpAddr>().is_err().then_some(host);
    name.into_iter().flat_map(|name| {
        let above = name.match_indices('.').map(move |(at, _)| &name[at + 1..]);
        std::iter::once(name).chain(above)
    })
}

fn place_word(place: ActuatorLocation) -> &'static str {
    match place {
        ActuatorLocation::Shell => "shell",
        ActuatorLocation::Host => "host",
    }
}

fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}

fn string(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

fn strings(texts: &[Box<str>]) -> RestrictedExpression {
    RestrictedExpression::new_set(texts.iter().map(|text| string(text)))
}

/// Nothing is known where nobody looked: all of it is empty.
fn provenance(known: Option<&Provenance>) -> Result<RestrictedExpression, Untold> {
    let set = |texts: Vec<&str>| RestrictedExpression::new_set(texts.into_iter().map(string));
    let flag = RestrictedExpression::new_bool;
    let values = known.map(|it| it.values.iter().map(|value| &*value.text).collect());
    let untrusted = known.map(|it| it.untrusted().map(|value| &*value.text).collect());
    let is_trusted = known.is_some_and(|it| !it.is_cut && it.untrusted().next().is_none());
    let pairs = [
        ("known", flag(known.is_some())),
        ("user", flag(known.is_some_and(Provenance::is_of_user))),
        ("trusted", flag(is_trusted)),
        ("values", set(values.unwrap_or_default())),
        ("untrusted", set(untrusted.unwrap_or_default())),
        ("sources", set(known.map(Provenance::untrusted_sources).unwrap_or_default())),
    ];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
    RestrictedExpression::new_record(pairs).map_err(|error| error.to_string())
}

fn changes(counts: &ChangeCounts) -> Result<RestrictedExpression, Untold> {
    let long = RestrictedExpression::new_long;
    let pairs = [
        ("files", long(counts.files)),
        ("deletions", long(counts.deletions)),
        ("bytes", long(counts.bytes)),
        ("secrets", long(counts.secrets)),
        ("outside", long(counts.outside)),
        ("paths", strings(&counts.paths)),
        ("runs_later", strings(&counts.runs_later)),
    ];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
    RestrictedExpression::new_record(pairs).map_err(|error| error.to_string())
}

fn entity<const N: usize>(
    uid: &EntityUid,
    attributes: [(&str, RestrictedExpression); N],
) -> Result<Entity, Untold> {
    let attributes = attributes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Entity::new(uid.clone(), attributes, HashSet::new()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
