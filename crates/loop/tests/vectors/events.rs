//! Event lines: what they mean, and the session that they happen to.
//!
//! long: one table of verbs.

use std::sync::Arc;

use bridle_loop::{
    ActionHash, ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice, CallId,
    ConsultFinding, ConsultObjection, ConsultStage, ConsultantRef, Draft, EffectId, Event,
    ForkPoint, GuardPolicies, InstalledPolicies, KeywordName, ModelRef, Outcome, Proposal,
    ReflexAdvice, Seq, SessionId, SessionLimits, SessionStart, SessionState, Signal, SignalKind,
    SignalSender, ThinkerFault, TimerTick, TurnId, UnixMillis, WithdrawalReason, reader, step,
};
use bridle_sexp::{Progress, Reader, Value};

use crate::shown;

/// When every scenario begins, in milliseconds.
const BEGIN: i64 = 1_000_000;

/// A session that a scenario happens to.
pub(crate) struct Stage {
    pub(crate) state: SessionState,
    pub(crate) now: UnixMillis,
    has_begun: bool,
    /// The policies that were installed last.
    set: Option<Arc<GuardPolicies>>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let session = SessionId::parse("main").expect("a good name");
        Self {
            state: SessionState::new(session),
            now: UnixMillis(BEGIN),
            has_begun: false,
            set: None,
        }
    }

    /// Writes the state as text and goes on with what the text says.
    pub(crate) fn restart(&mut self) {
        let text = self.state.text();
        assert_eq!(text, self.state.to_value().to_string(), "the text of a state");
        let tree = reader().read_one(&text).expect("a readable state");
        let mut state = SessionState::from_value(&tree.root().to_value()).expect("a state");
        if let Some(set) = &self.set {
            state.supply(set);
        }
        assert_eq!(state.wants_policies(), None, "policies that are here");
        assert_eq!(state, self.state, "a state that was written and read");
        assert_eq!(state.to_value().to_string(), text, "its text");
        self.state = state;
    }

    /// Plays one event line and shows the effects.
    pub(crate) fn play(&mut self, line: &str) -> Result<Vec<String>, String> {
        let mut words = Words::new(line)?;
        self.now = self.now.after(words.later());
        let verb = words.symbol()?;
        if verb == "fork" {
            return self.fork(words.number()?);
        }
        if verb != "began" && !self.has_begun {
            self.begin(shown::first_limits(), None);
        }
        if verb == "began" {
            let limits = words.value().unwrap_or(Value::Nil);
            self.begin(shown::limits(&limits)?, None);
            return Ok(Vec::new());
        }
        let event = if verb == "policy" {
            self.policy(&words.symbol()?, words.rest())?
        } else {
            event(&verb, &mut words)?
        };
        words.end()?;
        let read = Event::from_value(event.kind(), &event.to_value());
        assert_eq!(read.as_ref(), Ok(&event), "an event that was written and read");
        let now = self.now;
        Ok(step(&mut self.state, now, event)
            .iter()
            .map(|effect| shown::effect(effect, now))
            .collect())
    }

    /// Installs the policies of a file beside the scenarios; further words are protected paths.
    fn policy(
        &mut self,
        name: &str,
        protected: impl Iterator<Item = Value>,
    ) -> Result<Event, String> {
        let path = format!("{}/../../vectors/scenario/{name}.org", env!("CARGO_MANIFEST_DIR"));
        let set = if name == "default" {
            GuardPolicies::built_in()
        } else {
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            Arc::new(GuardPolicies::from_org(&text).map_err(|bad| format!("{path}:\n{bad}"))?)
        };
        self.set = Some(set.clone());
        let protected = protected.filter_map(|path| path.as_str().map(Into::into)).collect();
        Ok(Event::PolicyInstalled(InstalledPolicies::new(set, protected)))
    }

    fn begin(&mut self, limits: SessionLimits, fork: Option<ForkPoint>) {
        self.has_begun = true;
        let began = SessionStart {
            owner: "uid:1000".into(),
            limits,
            version: bridle_loop::LOOP_VERSION,
            fork,
        };
        let effects = step(&mut self.state, self.now, Event::Began(began));
        assert_eq!(effects, [], "nothing follows from a beginning");
    }

    /// Goes on in a new session that continues this one.
    fn fork(&mut self, record: u64) -> Result<Vec<String>, String> {
        let fork = ForkPoint {
            session: self.state.session().clone(),
            record,
            state: self.state.to_value(),
        };
        let session = SessionId::parse("other").map_err(|error| error.to_string())?;
        self.state = SessionState::new(session);
        self.begin(shown::first_limits(), Some(fork));
        Ok(Vec::new())
    }
}

fn event(verb: &str, words: &mut Words) -> Result<Event, String> {
    let effect = |words: &mut Words| words.number().map(EffectId);
    let outcome = |words: &mut Words, outcome| Ok(Event::Acted { effect: effect(words)?, outcome });
    match verb {
        "reach" => Ok(Event::Registered(
            words.rest().map(|value| actuator(&value)).collect::<Result<_, _>>()?,
        )),
        "advice" => {
            let effect = effect(words)?;
            let (think, standing) = (words.take("think"), words.take("standing"));
            let thinker =
                if words.take("thinker") { KeywordName::of(&words.value()?) } else { None };
            let findings = findings(words)?;
            let proposals = proposals(words)?;
            let advice = ReflexAdvice { proposals, think, standing, thinker, findings };
            Ok(Event::Consulted { effect, advice })
        }
        "consultants" => Ok(Event::ConsultantsChanged(
            words.rest().map(|value| consultant(&value)).collect::<Result<_, _>>()?,
        )),
        "draft" => {
            let effect = effect(words)?;
            let text = if words.take("text") { words.text()? } else { Box::default() };
            let model = if words.take("model") { Some(words.text()?) } else { None };
            let model = model.map(|name| ModelRef { name, ..ModelRef::default() });
            let draft = Draft { text, model, ..Draft::of_calls(proposals(words)?) };
            Ok(Event::Drafted { effect, draft: Ok(draft) })
        }
        "fault" => {
            let (effect, reason) = (effect(words)?, words.text()?);
            let fault = ThinkerFault { reason, retryable: words.take("retryable") };
            Ok(Event::Drafted { effect, draft: Err(fault) })
        }
        "done" => {
            let effect = effect(words)?;
            Ok(Event::Acted { effect, outcome: Outcome::Done(words.value()?) })
        }
        "done-large" => {
            let (effect, bytes) = (effect(words)?, words.number()?);
            let text = "x".repeat(usize::try_from(bytes).map_err(|error| error.to_string())?);
            let result = [("exit", Value::int(0)), ("output", Value::from(text))];
            Ok(Event::Acted { effect, outcome: Outcome::Done(Value::plist(result)) })
        }
        "denied" => {
            let effect = effect(words)?;
            Ok(Event::Acted { effect, outcome: Outcome::Denied(words.text()?) })
        }
        "failed" => {
            let effect = effect(words)?;
            Ok(Event::Acted { effect, outcome: Outcome::Failed(words.text()?) })
        }
        "expired" => outcome(words, Outcome::Expired),
        "superseded" => outcome(words, Outcome::Superseded),
        "unknown-outcome" => outcome(words, Outcome::UnknownOutcome),
        "deadline" => Ok(Event::Tick(TimerTick::Deadline)),
        "heartbeat" => Ok(Event::Tick(TimerTick::Heartbeat)),
        "cancel" => {
            let turn = TurnId(words.number()?);
            Ok(Event::Cancelled { turn, reason: words.text()? })
        }
        "withdrawn" => {
            let (seq, how) = (Seq(words.number()?), words.symbol()?);
            let how = match how.as_str() {
                "cancelled" => WithdrawalReason::Cancelled,
                "expired" => WithdrawalReason::Expired,
                _ => return Err("`cancelled` or `expired` after the number of a signal".into()),
            };
            Ok(Event::Withdrawn { seq, how })
        }
        who => signal(who, words),
    }
}

/// `WHO says PAYLOAD`, `WHO asks [:TARGET] PAYLOAD`, `WHO logs PAYLOAD`, each with `#ID` before
/// the payload if it has an id.
fn signal(who: &str, words: &mut Words) -> Result<Event, String> {
    let from = asker(who).ok_or_else(|| format!("`{who}` is neither an event nor somebody"))?;
    let (kind, patient) = match words.symbol()?.as_str() {
        "says" => (SignalKind::Event, true),
        "asks" => (SignalKind::Request, true),
        "says-now" => (SignalKind::Event, false),
        "asks-now" => (SignalKind::Request, false),
        "logs" => (SignalKind::Log, true),
        "allows" => return answered(from, ApprovalChoice::Allow, words),
        "denies" => return answered(from, ApprovalChoice::Deny, words),
        other => return Err(format!("`{other}` is nothing that somebody does")),
    };
    let mut target = None;
    let mut id = None;
    let payload = loop {
        match words.value()? {
            Value::Keyword(name) => target = Some(KeywordName::new(&name.name())),
            number @ Value::Int(_) => id = Some(number),
            payload => break payload,
        }
    };
    let dropped = Vec::new();
    Ok(Event::Signal(Arc::new(Signal { kind, from, id, target, payload, dropped, patient })))
}

/// `WHO allows APPROVAL` or `WHO denies APPROVAL`, with `id ID`, `always MS` and `hash "DIGITS"`
/// after it.
fn answered(
    from: SignalSender,
    answer: ApprovalChoice,
    words: &mut Words,
) -> Result<Event, String> {
    let approval = EffectId(words.number()?);
    let mut answered =
        ApprovalAnswer { approval, hash: None, answer, from, id: None, always: None };
    while words.has_more() {
        if words.take("id") {
            answered.id = Some(words.value()?);
        } else if words.take("always") {
            answered.always = words.value()?.as_i64();
        } else if words.take("hash") {
            let hash = ActionHash::parse(&words.text()?).ok_or("a hash is 64 hex digits")?;
            answered.hash = Some(hash);
        } else {
            return Err("`id`, `always` or `hash` after an answer".into());
        }
    }
    Ok(Event::Answered(answered))
}

/// The people of the scenarios.
fn asker(who: &str) -> Option<SignalSender> {
    let owner = SignalSender { owner: true, ..SignalSender::new("uid:1000") };
    let shell = |name: &str, client: &str| SignalSender {
        client: Some(client.into()),
        shell: Some(KeywordName::new(name)),
        ..owner.clone()
    };
    Some(match who {
        "netcat" => owner,
        "emacs" => shell("emacs", "e1"),
        "cli" => shell("cli", "c1"),
        "tui" => shell("tui", "t1"),
        "stranger" => SignalSender::new("tcp"),
        "nobody" => SignalSender::new("anonymous"),
        "visitor" => SignalSender::new("uid:1001"),
        _ => return None,
    })
}

/// `(:emacs :shell)` or `(:log :host :log)`: name, place, actions.
fn actuator(value: &Value) -> Result<ActuatorRef, String> {
    let names: Option<Vec<KeywordName>> =
        value.elements().unwrap_or(&[]).iter().map(KeywordName::of).collect();
    let names = names.ok_or("an actuator is a list of keywords")?;
    let [name, place, actions @ ..] = &names[..] else { return Err("a name and a place".into()) };
    let place = match place.as_str() {
        "shell" => ActuatorLocation::Shell,
        "host" => ActuatorLocation::Host,
        other => return Err(format!("`{other}` is no place")),
    };
    Ok(ActuatorRef { name: name.clone(), place, actions: actions.to_vec(), specs: None })
}

/// `(:scribe :perceive)` or `(:warden guard :judge)`: name and stages.
fn consultant(value: &Value) -> Result<ConsultantRef, String> {
    let [name, rest @ ..] = value.elements().unwrap_or(&[]) else {
        return Err("a name and stages".into());
    };
    let name = KeywordName::of(name).ok_or("the name of a consultant is a keyword")?;
    let is_guard = rest.iter().any(|word| word.as_keyword().is_none());
    let words = rest.iter().filter_map(KeywordName::of);
    let stages: Option<Vec<_>> = words.map(|word| ConsultStage::parse(word.as_str())).collect();
    Ok(ConsultantRef { name, stages: stages.ok_or("a stage")?, is_guard })
}

/// Objections: `veto :BY "REASON"`, `ask :BY "REASON"` or `withhold :BY :TARGET "REASON"`, each with `at PLACE`
/// before the reason if it is about one proposal.
fn findings(words: &mut Words) -> Result<Vec<ConsultFinding>, String> {
    let mut all = Vec::new();
    loop {
        let kind = if words.take("veto") {
            ConsultObjection::Veto
        } else if words.take("ask") {
            ConsultObjection::Ask
        } else if words.take("withhold") {
            ConsultObjection::Withhold(KeywordName::new(""))
        } else {
            return Ok(all);
        };
        let name = |words: &mut Words| {
            KeywordName::of(&words.value()?).ok_or_else(|| "a keyword".to_owned())
        };
        let by = name(words)?;
        let objection = match kind {
            ConsultObjection::Withhold(_) => ConsultObjection::Withhold(name(words)?),
            other => other,
        };
        let place = if words.take("at") { Some(words.number()?) } else { None };
        let proposal = place.map(|place| usize::try_from(place).expect("places are small"));
        all.push(ConsultFinding { by, proposal, objection, reason: words.text()? });
    }
}

/// Payloads, each with `to :TARGET` before it and `because "..."`, `as "CALL"` and `then-think` after it.
fn proposals(words: &mut Words) -> Result<Vec<Proposal>, String> {
    let mut proposals: Vec<Proposal> = Vec::new();
    let mut target = None;
    while words.has_more() {
        if words.take("to") {
            let name = words.value()?;
            target = Some(KeywordName::of(&name).ok_or("a target is a keyword")?);
        } else if words.take("because") {
            let reason = words.text()?;
            proposals.last_mut().ok_or("`because` of what?")?.explanation = Some(reason);
        } else if words.take("as") {
            let name = words.text()?;
            proposals.last_mut().ok_or("`as` of what?")?.call = Some(CallId::new(&name));
        } else if words.take("then-think") {
            proposals.last_mut().ok_or("`then-think` of what?")?.then_think = true;
        } else {
            let payload = words.value()?;
            let target = target.take();
            proposals.push(Proposal::new(target, payload));
        }
    }
    Ok(proposals)
}

/// The forms of a line.
pub(crate) struct Words(std::vec::IntoIter<Value>);

impl Words {
    pub(crate) fn new(mut line: &str) -> Result<Self, String> {
        let mut forms = Vec::new();
        while !line.trim_start().is_empty() {
            match Reader::new().read(line).map_err(|error| error.to_string())? {
                Progress::Done(tree) => {
                    forms.push(tree.root().to_value());
                    line = &line[tree.consumed()..];
                }
                _ => return Err(format!("`{line}` is no whole form")),
            }
        }
        Ok(Self(forms.into_iter()))
    }

    fn has_more(&self) -> bool {
        !self.0.as_slice().is_empty()
    }

    fn peek_symbol(&self) -> Option<String> {
        match self.0.as_slice().first() {
            Some(Value::Symbol(symbol)) => Some(symbol.name().into_owned()),
            _ => None,
        }
    }

    /// The `+MILLISECONDS` that a line may begin with.
    fn later(&mut self) -> i64 {
        match self.0.as_slice().first() {
            Some(Value::Int(number)) => {
                let later = *number;
                self.skip();
                later
            }
            _ => 0,
        }
    }

    fn skip(&mut self) {
        self.0.next();
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek_symbol().is_some_and(|symbol| symbol == word);
        if is_next {
            self.skip();
        }
        is_next
    }

    fn value(&mut self) -> Result<Value, String> {
        self.0.next().ok_or_else(|| "the line ends too early".into())
    }

    fn symbol(&mut self) -> Result<String, String> {
        match self.value()? {
            Value::Symbol(symbol) => Ok(symbol.name().into_owned()),
            other => Err(format!("`{other}`, expected a word")),
        }
    }

    fn number(&mut self) -> Result<u64, String> {
        let value = self.value()?;
        let number = value.as_i64().and_then(|number| u64::try_from(number).ok());
        number.ok_or_else(|| format!("`{value}`, expected a number"))
    }

    fn text(&mut self) -> Result<Box<str>, String> {
        match self.value()? {
            Value::Str(text) => Ok(text),
            other => Err(format!("`{other}`, expected a string")),
        }
    }

    fn rest(&mut self) -> impl Iterator<Item = Value> {
        self.0.by_ref()
    }

    fn end(&mut self) -> Result<(), String> {
        match self.0.next() {
            Some(extra) => Err(format!("`{extra}` is too much")),
            None => Ok(()),
        }
    }
}
