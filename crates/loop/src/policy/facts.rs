//! What the policies are told about one proposal: a person, an action, a thing, and the facts around.
//!
//! Made from typed actions and from what the daemon and the state know. A key of a payload gets here
//! only as the typed argument that the actuator will use as well. Kept with the decision, so that
//! `why` can show what the policies saw.
//!
//! long: a list of facts.

use std::sync::Arc;

use bridle_sexp::Value;

use super::edit_facts::EditFacts;
use crate::action::{Action, CONTEXT, EffectFacts, ExecCommand, RiskLevel, StageOperation, TOOL};
use crate::action_spec::ToolName;
use crate::budget::HourlyCounts;
use crate::decide::ASKER;
use crate::effect::ProposalAuthor;
use crate::event::{ActuatorLocation, SignalSender};
use crate::hash::{ActionDigits, ActionHash};
use crate::ids::{KeywordName, SessionId, UnixMillis};
use crate::plist_codec::{
    FieldSink, PlistBuilder, UnreadableValue, element_text, flag, list, name, optional_name,
    required, text,
};

/// Everything that a policy may look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PolicyFacts {
    pub(super) by: ProposalAuthor,
    pub(super) asker: AskingPrincipal,
    pub(super) session: SessionId,
    pub(super) session_owner: Box<str>,
    /// The action of the schema.
    pub(super) kind: &'static str,
    pub(super) name: KeywordName,
    pub(super) risk: RiskLevel,
    pub(super) target: KeywordName,
    pub(super) place: ActuatorLocation,
    pub(super) resource: PolicyResource,
    pub(super) protected: bool,
    pub(super) edit: EditFacts,
    /// Of an effect on files, programs and hosts; empty elsewhere.
    pub(super) effect: Arc<EffectFacts>,
    /// Hosts that a run wants to reach, and names of secrets that a request sends.
    pub(super) reach: ReachFacts,
    /// Hash that a yes would be bound to; empty where nothing is done.
    pub(super) hash: ActionDigits,
    /// In seconds.
    pub(super) now: i64,
    pub(super) minute: i64,
    pub(super) weekday: i64,
    pub(super) counts: HourlyCounts,
}

/// Names of hosts, of secrets and of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReachFacts {
    pub(super) hosts: Vec<Box<str>>,
    pub(super) secrets: Vec<Box<str>>,
    /// Server and tool of a call.
    pub(super) tool: Option<ToolName>,
}

impl ReachFacts {
    fn of(action: &Action) -> Self {
        match action {
            Action::Exec(exec) => Self { hosts: exec.network.clone(), ..Self::default() },
            Action::Tool(call) => Self { tool: Some(call.name.clone()), ..Self::default() },
            Action::Http(request) => Self {
                hosts: vec![request.host.clone()],
                secrets: request.secrets.iter().map(|(_, secret)| secret.clone()).collect(),
                tool: None,
            },
            _ => Self::default(),
        }
    }
}

/// Asker of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AskingPrincipal {
    pub(super) name: Box<str>,
    pub(super) owner: bool,
}

/// Resource of an action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum PolicyResource {
    Actuator,
    Session,
    Path(Box<str>),
    Command { argv: Vec<Box<str>>, cwd: Option<Box<str>> },
    Host { host: Box<str>, port: u16 },
    Money { amount: i64, currency: Box<str> },
}

/// Access to a session as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAccess {
    /// Join it.
    Attach,
    /// See what happens in it.
    Observe,
    /// Say and ask something in it.
    Control,
    /// Answer its questions.
    Approve,
    /// Ask what the user's memory holds, from within it.
    Recall,
}

/// An action that somebody wants to be done, and where.
pub(crate) struct RequestedAction<'w> {
    pub(crate) action: &'w Action,
    pub(crate) target: &'w KeywordName,
    pub(crate) place: ActuatorLocation,
    pub(crate) payload: &'w Arc<Value>,
    pub(crate) protected: bool,
}

/// The circumstances of a proposal.
pub(crate) struct ProposalCircumstances<'a> {
    pub(crate) by: ProposalAuthor,
    pub(crate) asker: &'a SignalSender,
    pub(crate) session: &'a SessionId,
    pub(crate) session_owner: &'a str,
    pub(crate) now: UnixMillis,
    pub(crate) counts: HourlyCounts,
}

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MINUTES: i64 = 1_440;
const DAY_MS: i64 = DAY_MINUTES * MINUTE_MS;

impl PolicyFacts {
    /// The facts about an action.
    pub(crate) fn of(around: &ProposalCircumstances<'_>, wanted: &RequestedAction<'_>) -> Self {
        let RequestedAction { action, target, place, payload, protected } = wanted;
        Self {
            kind: kind(action),
            name: action.name(),
            risk: action.risk(),
            target: (*target).clone(),
            place: *place,
            resource: resource(action),
            protected: *protected,
            edit: EditFacts::of(action, target, *place, payload),
            effect: Arc::new(action.effect_facts().cloned().unwrap_or_default()),
            reach: ReachFacts::of(action),
            hash: ActionDigits::of_action(target, *place, payload),
            ..Self::around(around)
        }
    }

    /// Facts of the same proposal about another file.
    pub(crate) fn about(&self, path: &str) -> Self {
        Self { resource: PolicyResource::Path(path.into()), ..self.clone() }
    }

    /// The facts about joining, seeing or steering a session.
    pub(crate) fn access(around: &ProposalCircumstances<'_>, access: SessionAccess) -> Self {
        let name = KeywordName::of_word(access.word());
        Self {
            kind: access.word(),
            name,
            resource: PolicyResource::Session,
            ..Self::around(around)
        }
    }

    /// The facts about asking a thinker.
    pub(crate) fn think(around: &ProposalCircumstances<'_>) -> Self {
        let name = KeywordName::of_word(THINK);
        Self { kind: THINK, name, resource: PolicyResource::Session, ..Self::around(around) }
    }

    /// The facts about answering a question: the risk and the name are those of what was asked for.
    pub(crate) fn approve(
        around: &ProposalCircumstances<'_>,
        wanted: &RequestedAction<'_>,
    ) -> Self {
        Self {
            kind: SessionAccess::Approve.word(),
            resource: PolicyResource::Session,
            edit: EditFacts::default(),
            effect: Arc::default(),
            reach: ReachFacts::default(),
            ..Self::of(around, wanted)
        }
    }

    fn around(around: &ProposalCircumstances<'_>) -> Self {
        let ProposalCircumstances { by, asker, session, session_owner, now, counts } = around;
        Self {
            by: *by,
            asker: AskingPrincipal { name: asker.principal.clone(), owner: asker.owner },
            session: (*session).clone(),
            session_owner: (*session_owner).into(),
            kind: OTHER,
            name: KeywordName::of_word(OTHER),
            risk: RiskLevel::Safe,
            target: KeywordName::of_word(SYSTEM),
            place: ActuatorLocation::Host,
            resource: PolicyResource::Actuator,
            protected: false,
            edit: EditFacts::default(),
            effect: Arc::default(),
            reach: ReachFacts::default(),
            hash: ActionDigits::default(),
            now: now.0.div_euclid(SECOND_MS),
            minute: now.0.div_euclid(MINUTE_MS).rem_euclid(DAY_MINUTES),
            // The first day of 1970 was a Thursday.
            weekday: now.0.div_euclid(DAY_MS).saturating_add(3).rem_euclid(7) + 1,
            counts: *counts,
        }
    }

    /// The facts of a decision of this session, from the time and the body of its record: what other
    /// policies would have been told.
    ///
    /// # Errors
    /// When the policies were not asked, or the body is not what this version writes.
    pub fn recorded(
        session: &SessionId,
        at: UnixMillis,
        decided: &Value,
    ) -> Result<Self, UnreadableValue> {
        Self::recorded_for(session, at, decided, |_| true)
    }

    /// Facts for policies that may not name the hash of an action: it is empty for those.
    pub(super) fn recorded_for(
        session: &SessionId,
        at: UnixMillis,
        decided: &Value,
        names_hash: impl Fn(&str) -> bool,
    ) -> Result<Self, UnreadableValue> {
        let facts = required(decided, "facts")?;
        let kind = name(facts, "kind")?;
        let known = ACTS.into_iter().chain(SessionAccess::ALL.map(SessionAccess::word));
        let kind = known.into_iter().find(|known| *known == kind.as_str());
        let kind = kind.ok_or(UnreadableValue::new("kind", "an action of the schema"))?;
        let target = optional_name(decided, "target")?.unwrap_or_else(|| KeywordName::new(SYSTEM));
        let place = ActuatorLocation::from_value(facts)?;
        let mut edit = EditFacts::default();
        let (mut effect, mut reach) = (Arc::default(), ReachFacts::default());
        let (resource, hash) = if is_said_as_proposed(decided, kind) && !names_hash(kind) {
            (PolicyResource::Actuator, ActionDigits::default())
        } else if !is_act(kind) {
            let hash = required(decided, "payload")?.get("hash").and_then(Value::as_str);
            (PolicyResource::Session, hash.unwrap_or_default().into())
        } else {
            let payload = required(decided, "payload")?;
            let action = Action::from_payload(payload)
                .and_then(|action| action.placed(payload, &target, place));
            let action =
                action.map_err(|_| UnreadableValue::new("payload", "the payload of an action"))?;
            effect = Arc::new(action.effect_facts().cloned().unwrap_or_default());
            reach = ReachFacts::of(&action);
            edit = EditFacts::of(&action, &target, place, payload);
            let hash = match names_hash(kind) {
                true => ActionHash::of_action(&target, place, payload).to_string().as_str().into(),
                false => ActionDigits::default(),
            };
            (resource(&action), hash)
        };
        let number =
            |key| required(facts, key)?.as_i64().ok_or(UnreadableValue::new(key, "a number"));
        let groups = list(facts, "groups", element_text)?;
        Ok(Self {
            by: ProposalAuthor::from_value(decided)?,
            asker: AskingPrincipal {
                name: text(facts, "asker")?,
                owner: groups.iter().any(|group| &**group == OWNER),
            },
            session: session.clone(),
            session_owner: text(facts, "session-owner")?,
            kind,
            name: name(facts, "name")?,
            risk: RiskLevel::from_value(facts)?,
            target,
            place,
            resource,
            protected: flag(facts, "protected")?,
            edit,
            effect,
            reach,
            hash,
            now: at.0.div_euclid(SECOND_MS),
            minute: number("minute")?,
            weekday: number("weekday")?,
            counts: HourlyCounts {
                session: number("session-hour")?,
                asker: number("asker-hour")?,
                action: number("action-hour")?,
            },
        })
    }

    /// Asker.
    pub(crate) fn asker(&self) -> &str {
        &self.asker.name
    }

    /// Whether it is an act that budgets count, once it is allowed.
    pub(crate) fn is_counted(&self) -> bool {
        is_counted(self.kind, &self.target)
    }

    /// Principal whose budget a recorded decision counts against, if it allowed something.
    pub(crate) fn counted_for(decided: &Value) -> Option<Box<str>> {
        let facts = decided.get("facts")?;
        let (kind, target) = (name(facts, "kind").ok()?, name(decided, "target").ok()?);
        let is_allowed = decided.get("verdict").is_some_and(|verdict| verdict.is_keyword("allow"));
        let counts = is_allowed && is_counted(kind.as_str(), &target);
        counts.then(|| text(facts, "asker").ok()).flatten()
    }

    /// The facts as a plist, for the record.
    pub fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_str("asker", &self.asker.name)
            .put_texts("groups", self.asker.groups())
            .put_str("session-owner", &self.session_owner)
            .put_word("kind", self.kind)
            .put_word("name", self.name.as_str())
            .put_word("risk", self.risk.word())
            .put_word("place", self.place.word())
            .put_flag("protected", self.protected)
            .put_int("minute", self.minute)
            .put_int("weekday", self.weekday)
            .put_int("session-hour", self.counts.session)
            .put_int("asker-hour", self.counts.asker)
            .put_int("action-hour", self.counts.action)
    }
}

impl AskingPrincipal {
    /// Kind of the principal.
    pub(super) fn kind(&self) -> &'static str {
        match self.name.split(':').next().unwrap_or_default() {
            "uid" => "uid",
            "key" => "key",
            "token" => "token",
            "stdio" => "stdio",
            // One standing: a program of the user's, without a secret.
            "tcp" | "local-tcp" | "local-http" => "local-tcp",
            "anonymous" => "anonymous",
            "schedule" | "heartbeat" => "time",
            _ => OTHER,
        }
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &'static str> + use<> {
        let kind = self.kind();
        let named = ["local-tcp", "anonymous", "time"].into_iter().find(|group| *group == kind);
        self.owner.then_some(OWNER).into_iter().chain(named)
    }
}

impl SessionAccess {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Attach, Self::Observe, Self::Control, Self::Approve, Self::Recall];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            SessionAccess::Attach => "attach",
            SessionAccess::Observe => "observe",
            SessionAccess::Control => "control",
            SessionAccess::Approve => "approve",
            SessionAccess::Recall => "recall",
        }
    }
}

const OWNER: &str = "owner";
const SYSTEM: &str = "system";
pub(super) const OTHER: &str = "other";
const THINK: &str = "think";
pub(super) const MESSAGE: &str = "message";

/// The actions of the schema that are done by an actuator.
pub(super) const ACTS: [&str; 25] = [
    MESSAGE,
    "notify",
    "complete",
    "eval",
    "log",
    "insert-at-end",
    "refactor-subtree",
    "schedule",
    "unschedule",
    "forget",
    "fork",
    "read",
    "write",
    "exec",
    "net",
    "commit",
    "spend",
    "tally",
    "edit",
    "undo",
    "snapshot",
    CONTEXT,
    TOOL,
    THINK,
    OTHER,
];

/// Whether it is done by an actuator, and may need a yes. Access and thought are granted or not.
pub(super) fn is_act(kind: &str) -> bool {
    kind != THINK && SessionAccess::ALL.iter().all(|access| access.word() != kind)
}

/// Whether a recorded decision let something be said as it was proposed, and names the proposal.
fn is_said_as_proposed(decided: &Value, kind: &str) -> bool {
    kind == MESSAGE && decided.get("payload").is_none() && decided.get("proposal").is_some()
}

/// Whether budgets count an action: what is said to the asker is no act.
fn is_counted(kind: &str, target: &KeywordName) -> bool {
    is_act(kind) && !(kind == MESSAGE && target.as_str() == ASKER)
}

/// The action of the schema; what the schema does not know is `other`.
pub(crate) fn kind(action: &Action) -> &'static str {
    // Edits are one action of the schema, what takes them back another; the name tells which.
    match action {
        Action::Edit(_) => return "edit",
        Action::Undo(_) => return "undo",
        Action::File(file) => return if file.is_change() { "write" } else { "read" },
        Action::Http(_) => return "net",
        Action::Context(_) => return CONTEXT,
        // Whoever may plan may have a plan wait.
        Action::PauseSchedule { .. } => return "schedule",
        Action::Stage(stage) => {
            let is_commit = matches!(stage.operation, StageOperation::Commit { .. });
            return if is_commit { "commit" } else { OTHER };
        }
        _ => {}
    }
    let name = action.name();
    let known = |kind: &&&str| **kind == name.as_str() && !matches!(action, Action::Other(_));
    ACTS.iter().find(known).copied().unwrap_or(OTHER)
}

fn resource(action: &Action) -> PolicyResource {
    match action {
        Action::File(file) => PolicyResource::Path(file.path.clone()),
        Action::Stage(stage) if matches!(stage.operation, StageOperation::Commit { .. }) => {
            PolicyResource::Path(stage.facts.project.clone())
        }
        Action::Edit(edit) => PolicyResource::Path(edit.path.clone()),
        Action::Exec(exec) => PolicyResource::Command {
            argv: match &exec.command {
                ExecCommand::Argv(argv) => argv.clone(),
                ExecCommand::Script(text) => vec!["script".into(), text.clone()],
            },
            cwd: exec.cwd.clone(),
        },
        Action::Http(request) => {
            PolicyResource::Host { host: request.host.clone(), port: request.port }
        }
        Action::Net { host, port } => PolicyResource::Host { host: host.clone(), port: *port },
        Action::Spend { amount, currency } => {
            PolicyResource::Money { amount: *amount, currency: currency.clone() }
        }
        _ => PolicyResource::Actuator,
    }
}
