//! Effect lines and state lines: how what comes out is shown.

use bridle_loop::{
    CallEnd, ConsultSubject, Decision, DecisionRule, Effect, KeywordName, Outcome, RoundCall,
    SessionLimits, ThinkerPrompt, UnixMillis, Verdict,
};
use bridle_sexp::Value;

use crate::events::Stage;

/// An effect as a line.
pub(crate) fn effect(effect: &Effect, now: UnixMillis) -> String {
    match effect {
        Effect::Consult { id, subject: ConsultSubject::Signal, .. } => format!("consult {}", id.0),
        Effect::Consult { id, subject, .. } => {
            let about = match subject {
                ConsultSubject::Proposals { proposals, .. } => {
                    format!(" about {}", proposals.len())
                }
                _ => String::new(),
            };
            format!("consult {} before {}{about}", id.0, subject.stage().word())
        }
        Effect::Think { id, prompt } => format!("think {}{}", id.0, thought(prompt)),
        Effect::Decided(decision) => decided(decision),
        Effect::Act { id, seq, order, deadline, .. } => format!(
            "act {} seq {} to {} within {} {}",
            id.0,
            seq.0,
            order.target().to_value(),
            deadline.0 - now.0,
            order.payload()
        ),
        Effect::Ask { id, seq, question } => {
            let who = question.who.join(" ");
            let who = if who.is_empty() { "nobody" } else { &who };
            let within = question.expires.0 - now.0;
            let (id, seq, text) = (id.0, seq.0, Value::str(&*question.text));
            format!("question {id} seq {seq} for {who} within {within} {text}")
        }
        Effect::Settled { id, seq, outcome } => {
            format!("settled {} seq {} {}", id.0, seq.0, outcome.word())
        }
        Effect::Stop { id } => format!("stop {}", id.0),
        Effect::Say(said) => {
            let answers = said.answers.map(|seq| format!(" answers {}", seq.0));
            let id = said.to.as_ref().and_then(|to| to.id.as_ref()).map(|id| format!(" id {id}"));
            let (answers, id) = (answers.unwrap_or_default(), id.unwrap_or_default());
            format!("say seq {}{answers}{id} {}", said.seq.0, said.payload)
        }
        Effect::Finish { turn, reason } => format!("finish {} {}", turn.0, reason.word()),
    }
}

/// The limits of the first sessions with some of them changed. A scenario names those that came later.
pub(crate) fn limits(changes: &Value) -> Result<SessionLimits, String> {
    let mut pairs = Vec::new();
    let first = first_limits().to_value();
    for (key, value) in first.pairs().into_iter().flatten() {
        let changed = changes.get(key.as_keyword().unwrap_or_default());
        pairs.extend([key.clone(), changed.unwrap_or(value).clone()]);
    }
    for (key, value) in changes.pairs().into_iter().flatten() {
        if first.get(key.as_keyword().unwrap_or_default()).is_none() {
            pairs.extend([key.clone(), value.clone()]);
        }
    }
    SessionLimits::from_value(&Value::list(pairs)).map_err(|error| error.to_string())
}

/// The limits of sessions before turns ran side by side: their records hold these.
pub(crate) fn first_limits() -> SessionLimits {
    SessionLimits {
        depth: 10,
        acts: 32,
        request_deadline_ms: 5 * 60 * 1_000,
        turn_deadline_ms: 10 * 60 * 1_000,
        side_turns: 0,
        parked_turns: 0,
        host_act_ms: 0,
        vetoes_in_row: 0,
        budget_asks: 0,
        stop_grace_ms: 0,
        ..SessionLimits::default()
    }
}

/// What holds of the state, in the words of the question.
pub(crate) fn state(question: &str, stage: &Stage) -> Result<String, String> {
    let state = &stage.state;
    let word = question.split(' ').next().unwrap_or_default();
    Ok(match word {
        "idle" | "busy" => if state.is_idle() { "idle" } else { "busy" }.into(),
        "wakes" => match state.next_deadline() {
            Some(time) => format!("wakes {}", time.0 - stage.now.0),
            None => "wakes never".into(),
        },
        "awaits" => {
            let ids = state.outstanding().into_iter().map(|(id, _)| id.0.to_string());
            let ids: Vec<String> = ids.collect();
            format!("awaits {}", if ids.is_empty() { "nothing".into() } else { ids.join(" ") })
        }
        "remembers" => {
            let state = state.to_value();
            let history = state.get("history").and_then(Value::elements).unwrap_or(&[]);
            let asked = history.iter().filter_map(|exchange| exchange.get("asked"));
            let asked: Vec<String> = asked.map(Value::to_string).collect();
            format!(
                "remembers {}",
                if asked.is_empty() { "nothing".into() } else { asked.join(" ") }
            )
        }
        other => return Err(format!("`{other}` is no question")),
    })
}

/// Depth and tries when they are not 0, then what was vetoed and how acts ended.
fn thought(prompt: &ThinkerPrompt) -> String {
    let mut line = String::new();
    if prompt.depth > 0 {
        line.push_str(&format!(" depth {}", prompt.depth));
    }
    if prompt.tries > 0 {
        line.push_str(&format!(" tries {}", prompt.tries));
    }
    for rejection in &prompt.rejected {
        line.push_str(&format!(" rejected {}", Value::str(&*rejection.reason)));
    }
    for deed in &prompt.results {
        let result = match &deed.outcome {
            Outcome::Done(result) => format!(" {result}"),
            _ => String::new(),
        };
        line.push_str(&format!(" outcome {}{result}", deed.outcome.word()));
    }
    let calls = prompt.rounds.iter().flat_map(|round| &round.calls);
    calls.filter_map(call).for_each(|shown| line.push_str(&shown));
    line
}

/// The name of a call, and how it ended.
fn call(call: &RoundCall) -> Option<String> {
    let name = Value::str(call.call.as_ref()?.as_str());
    Some(match &call.end {
        CallEnd::Open => format!(" call {name} open"),
        CallEnd::Said => format!(" call {name} said"),
        CallEnd::Rejected(rejection) => {
            format!(" call {name} rejected {}", rejection.code.word())
        }
        CallEnd::Deed(deed) => match &deed.stored {
            Some(stored) => {
                let (word, seq) = (deed.outcome.word(), stored.seq.0);
                format!(" call {name} {word} stored seq {seq} bytes {}", stored.bytes)
            }
            None => format!(" call {name} {}", deed.outcome.word()),
        },
    })
}

fn decided(decision: &Decision) -> String {
    let ruling = &decision.ruling;
    let name =
        |name: Option<&KeywordName>| name.map_or("nil".into(), |name| name.to_value().to_string());
    let rule = match ruling.rule {
        DecisionRule::Policy if ruling.policies.is_empty() => "default".into(),
        DecisionRule::Policy => ruling.policies.join(" "),
        rule => rule.word().into(),
    };
    let mut line = match ruling.verdict {
        Verdict::Allow => format!("allow {rule}"),
        Verdict::Ask => format!("ask {rule}"),
        Verdict::Deny(code) => format!("deny {rule} {}", code.word()),
    };
    line.push_str(&format!(
        " by {} {} to {}",
        ruling.by.word(),
        name(ruling.action.as_ref()),
        name(ruling.target.as_ref())
    ));
    if !decision.dropped.is_empty() {
        line.push_str(&format!(" dropped {}", decision.dropped.join(" ")));
    }
    line
}
