//! Runs that go on (draft, 9.2; P15.7): questions for the user, their answers, and the token that
//! holds them together. For engines that offer `dev.bridle.feedback`, with an intent that makes them
//! ask (`--intent-approval`).
//!
//! long: each list of cases is one table.

use serde_json::{Value, json};

use super::answer::EnvelopeAnswer;
use super::{AskerIdentity, EngineUnderTest};
use crate::case::{CheckFinding, Checked, ConformanceCase, RequirementLevel};

const WHY: &str = "something dangerous is done without a yes, or twice, or for somebody else";

pub(super) fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let mut all = questions();
    all.extend(answers());
    all.extend(tokens());
    all.extend(guesses());
    all
}

fn case(
    id: &'static str,
    title: &'static str,
    check: fn(&mut EngineUnderTest) -> Checked,
) -> ConformanceCase<EngineUnderTest> {
    ConformanceCase::new(id, RequirementLevel::Profile("steps"), "P15.7", title, WHY, check)
}

/// A question that was asked.
struct EngineQuestion {
    session: String,
    answer: EnvelopeAnswer,
    directive: Value,
    continuation: Value,
}

/// Makes a request; its context has these fields besides the session.
fn body(peer: &mut EngineUnderTest, session: &str, capabilities: &Value, context: Value) -> String {
    let mut context = context;
    context["session_id"] = session.into();
    let id = peer.name();
    json!({
        "protocol_version": "1.0.0",
        "request_id": id,
        "capabilities": capabilities,
        "request": {"context": context},
    })
    .to_string()
}

fn able() -> Value {
    json!({"openharness.ui.approval": true, "dev.bridle.feedback": {"version": 1}})
}

fn intent(peer: &mut EngineUnderTest) -> Result<String, CheckFinding> {
    let document = peer.discovery()?;
    if document["capabilities"].get("dev.bridle.feedback").is_none() {
        return Err(CheckFinding::unoffered("discovery does not list `dev.bridle.feedback`"));
    }
    let none =
        || CheckFinding::unoffered("no intent that makes it ask was named: --intent-approval TEXT");
    peer.setup().approval.clone().ok_or_else(none)
}

/// Makes the engine ask.
fn question(peer: &mut EngineUnderTest) -> Result<EngineQuestion, CheckFinding> {
    let intent = intent(peer)?;
    let session = peer.name();
    let text = body(peer, &session, &able(), json!({"user_intent": intent}));
    let answer = peer.ask(&text)?;
    answer.is_served()?;
    let directive = answer.directive("request_approval").cloned();
    let missing =
        || CheckFinding::fault(format!("expected a `request_approval`, got {}", answer.brief()));
    let directive = directive.ok_or_else(missing)?;
    let continuation = answer.at("/response/continuation").clone();
    answer.has(
        continuation["continuation_token"].is_string(),
        "`response.continuation` with a token",
    )?;
    Ok(EngineQuestion { session, answer, directive, continuation })
}

impl EngineQuestion {
    fn name(&self) -> &str {
        self.directive["extensions"]["dev.bridle"]["directive_id"].as_str().unwrap_or_default()
    }

    /// The option of a kind.
    fn option(&self, kind: &str) -> String {
        let options = self.directive["payload"]["options"].as_array().cloned().unwrap_or_default();
        let option = options.iter().find(|it| it["kind"] == kind);
        option.and_then(|it| it["option_id"].as_str()).unwrap_or(kind).to_owned()
    }

    /// A result of its directive.
    fn result(&self, outcome: &str, by: &str, kind: &str) -> Value {
        let decision = json!({"by": by, "option_id": self.option(kind)});
        json!({"directive_id": self.name(), "outcome": outcome, "decision": decision})
    }

    fn yes(&self) -> Value {
        self.result("completed", "user", "allow_once")
    }

    /// A request that goes on with results.
    fn step(&self, peer: &mut EngineUnderTest, results: &[Value]) -> String {
        self.step_with(peer, &self.continuation, &self.session, results)
    }

    fn step_with(
        &self,
        peer: &mut EngineUnderTest,
        continuation: &Value,
        session: &str,
        results: &[Value],
    ) -> String {
        let extensions = json!({"dev.bridle": {"directive_results": results}});
        body(
            peer,
            session,
            &able(),
            json!({"continuation": continuation, "extensions": extensions}),
        )
    }

    /// Checks that the question still waits: a yes now goes on.
    fn still_open(&self, peer: &mut EngineUnderTest) -> Checked {
        let text = self.step(peer, &[self.yes()]);
        peer.ask(&text)?.is_served()
    }
}

fn questions() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("T-01", "what needs a yes is a `request_approval` with a continuation", |peer| {
            question(peer).map(drop)
        }),
        case("T-02", "a question has a name, words and options of known kinds", |peer| {
            let asked = question(peer)?;
            let payload = &asked.directive["payload"];
            let text = |key: &str| payload[key].as_str().is_some_and(|it| !it.is_empty());
            let kinds = ["allow_once", "allow_always", "reject_once", "reject_always"];
            let good = |it: &Value| {
                it["option_id"].is_string()
                    && it["label"].is_string()
                    && it["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))
            };
            let options = payload["options"].as_array();
            let fits = options.is_some_and(|list| !list.is_empty() && list.iter().all(good));
            let holds = text("approval_id") && text("message") && fits;
            asked.answer.has(holds, "`approval_id`, `message` and `options` with known kinds")
        }),
        case("T-03", "a question can be refused as well as allowed", |peer| {
            let asked = question(peer)?;
            let options =
                asked.directive["payload"]["options"].as_array().cloned().unwrap_or_default();
            let has = |prefix: &str| {
                options
                    .iter()
                    .any(|it| it["kind"].as_str().is_some_and(|kind| kind.starts_with(prefix)))
            };
            asked.answer.has(has("allow") && has("reject"), "an option to allow and one to reject")
        }),
        case("T-04", "a question has a directive name, and its result is required", |peer| {
            let asked = question(peer)?;
            let ours = &asked.directive["extensions"]["dev.bridle"];
            let holds = !asked.name().is_empty() && ours["result"] == "required";
            asked.answer.has(holds, "`directive_id`, and `result` to be `required`")
        }),
        case("T-05", "a continuation is also under `extensions`", |peer| {
            let asked = question(peer)?;
            let mirror = asked.answer.at("/response/extensions/dev.bridle/continuation");
            asked.answer.has(*mirror == asked.continuation, "the same in `extensions.dev.bridle`")
        }),
        case("T-06", "a shell that cannot ask is told in words", |peer| {
            without(peer, &json!({"dev.bridle.feedback": {"version": 1}}))
        }),
        case("T-07", "a shell that cannot report is told in words", |peer| {
            without(peer, &json!({"openharness.ui.approval": true}))
        }),
    ]
}

fn without(peer: &mut EngineUnderTest, capabilities: &Value) -> Checked {
    let intent = intent(peer)?;
    let session = peer.name();
    let text = body(peer, &session, capabilities, json!({"user_intent": intent}));
    let answer = peer.ask(&text)?;
    let is_told = answer.directive("request_approval").is_none()
        && (answer.directive("render_message").is_some() || !answer.is_success());
    answer.has(is_told, "a `render_message`, and no `request_approval`")
}

fn answers() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("T-10", "a yes goes on, and the question is not asked again", |peer| {
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.yes()]);
            let answer = peer.ask(&text)?;
            answer.is_served()?;
            let again = answer.directives().iter().any(|it| {
                it["payload"]["approval_id"] == asked.directive["payload"]["approval_id"]
            });
            answer.has(!again, "no more of the question")
        }),
        case("T-11", "a no goes on, and the question is not asked again", |peer| {
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.result("rejected", "user", "reject_once")]);
            let answer = peer.ask(&text)?;
            answer.is_served()?;
            answer.has(answer.directive("request_approval").is_none(), "no more of the question")
        }),
        case("T-12", "no result at all asks again", |peer| again(peer, |_| Vec::new())),
        case("T-13", "a rule of the shell is no yes", |peer| {
            again(peer, |asked| vec![asked.result("completed", "policy", "allow_once")])
        }),
        case("T-14", "an unknown decider is no yes", |peer| {
            again(peer, |asked| vec![asked.result("completed", "somebody", "allow_once")])
        }),
        case("T-15", "an unknown option is no yes", |peer| {
            again(peer, |asked| {
                let decision = json!({"by": "user", "option_id": "allow_everything"});
                vec![
                    json!({"directive_id": asked.name(), "outcome": "completed", "decision": decision}),
                ]
            })
        }),
        case("T-16", "an unknown outcome is no yes", |peer| {
            again(peer, |asked| vec![asked.result("perhaps", "user", "allow_once")])
        }),
        case("T-17", "a result without a decision is no yes", |peer| {
            again(peer, |asked| vec![json!({"directive_id": asked.name(), "outcome": "completed"})])
        }),
        case("T-18", "results of other directives are ignored", |peer| {
            again(peer, |_| {
                vec![
                    json!({"directive_id": "none-of-ours", "outcome": "completed", "decision": {"by": "user", "option_id": "allow_once"}}),
                ]
            })
        }),
        case("T-19", "a no beside a yes wins", |peer| {
            let no = |asked: &EngineQuestion| vec![asked.result("rejected", "user", "reject_once")];
            let both = |asked: &EngineQuestion| vec![asked.yes(), no(asked).remove(0)];
            let denied = told(peer, no)?;
            let answer = told(peer, both)?;
            let (words, wanted) = (words(&answer), words(&denied));
            answer.has(words == wanted, &format!("the words after a no, {wanted:?}"))
        }),
        case("T-20", "a yes with another payload is `invalid_request`", |peer| {
            let asked = question(peer)?;
            let mut yes = asked.yes();
            yes["decision"]["edited_payload"] = json!({"target": "everything"});
            let text = asked.step(peer, &[yes]);
            peer.ask(&text)?.is_refused_as(&["invalid_request"])
        }),
    ]
}

/// Asks, answers so, and takes what comes.
fn told(
    peer: &mut EngineUnderTest,
    results: impl Fn(&EngineQuestion) -> Vec<Value>,
) -> Result<EnvelopeAnswer, CheckFinding> {
    let asked = question(peer)?;
    let text = asked.step(peer, &results(&asked));
    let answer = peer.ask(&text)?;
    answer.is_served()?;
    Ok(answer)
}

/// Texts that a shell would show of an answer.
fn words(answer: &EnvelopeAnswer) -> Vec<&Value> {
    answer.directives().iter().map(|it| &it["payload"]["text"]).collect()
}

/// Checks that a result which is no answer makes the engine ask again, with a token of its own.
fn again(peer: &mut EngineUnderTest, results: fn(&EngineQuestion) -> Vec<Value>) -> Checked {
    let asked = question(peer)?;
    let text = asked.step(peer, &results(&asked));
    let answer = peer.ask(&text)?;
    answer.is_served()?;
    answer.has(answer.directive("request_approval").is_some(), "the question again")?;
    let token = answer.at("/response/continuation/continuation_token");
    let old = &asked.continuation["continuation_token"];
    answer.has(token.is_string() && token != old, "a new continuation")
}

fn tokens() -> Vec<ConformanceCase<EngineUnderTest>> {
    vec![
        case("T-30", "the same step again gets the same answer", |peer| {
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.yes()]);
            let (one, other) = (peer.ask(&text)?, peer.ask(&text)?);
            one.is_served()?;
            other.has(one.comparable() == other.comparable(), "the same answer as before")
        }),
        case("T-31", "a token is good once", |peer| {
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.yes()]);
            peer.ask(&text)?.is_served()?;
            let text = asked.step(peer, &[asked.result("rejected", "user", "reject_once")]);
            peer.ask(&text)?.is_refused_as(&["continuation_consumed"])
        }),
        case("T-32", "a token with its first letter changed is `continuation_invalid`", |peer| {
            changed(peer, |_| 0)
        }),
        case(
            "T-33",
            "a token with a letter in the middle changed is `continuation_invalid`",
            |peer| changed(peer, |length| length / 2),
        ),
        case("T-34", "a token with its last letter changed is `continuation_invalid`", |peer| {
            changed(peer, |length| length - 1)
        }),
        case("T-35", "a token that is cut is `continuation_invalid`", |peer| {
            let asked = question(peer)?;
            let mut token =
                asked.continuation["continuation_token"].as_str().unwrap_or_default().to_owned();
            token.pop();
            refused(peer, &asked, &token)
        }),
        case("T-36", "a token is no way into another session", |peer| {
            let asked = question(peer)?;
            let other = peer.name();
            let text = asked.step_with(peer, &asked.continuation, &other, &[asked.yes()]);
            peer.ask(&text)?.is_refused_as(&["continuation_mismatch", "continuation_invalid"])?;
            asked.still_open(peer)
        }),
        case("T-37", "a token of one principal is none of another", |peer| {
            peer.needs_second()?;
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.yes()]);
            let answer = peer.ask_as(AskerIdentity::Second, &text)?;
            answer.is_refused_as(&[
                "continuation_mismatch",
                "continuation_invalid",
                "forbidden",
            ])?;
            asked.still_open(peer)
        }),
        case("T-38", "a token is no way into another conversation", |peer| {
            let asked = question(peer)?;
            let text = asked.step(peer, &[asked.yes()]);
            let text =
                text.replace("\"session_id\":", "\"conversation_id\":\"tab\",\"session_id\":");
            peer.ask(&text)?.is_refused_as(&["continuation_mismatch", "continuation_invalid"])?;
            asked.still_open(peer)
        }),
    ]
}

fn changed(peer: &mut EngineUnderTest, place: fn(usize) -> usize) -> Checked {
    let asked = question(peer)?;
    let token = asked.continuation["continuation_token"].as_str().unwrap_or_default();
    let mut letters: Vec<char> = token.chars().collect();
    let at = place(letters.len().max(1));
    if let Some(letter) = letters.get_mut(at) {
        *letter = if *letter == 'a' { 'b' } else { 'a' };
    }
    let spoiled: String = letters.into_iter().collect();
    refused(peer, &asked, &spoiled)
}

fn refused(peer: &mut EngineUnderTest, asked: &EngineQuestion, token: &str) -> Checked {
    let continuation = json!({"continuation_token": token});
    let text = asked.step_with(peer, &continuation, &asked.session, &[asked.yes()]);
    peer.ask(&text)?.is_refused_as(&["continuation_invalid"])?;
    asked.still_open(peer)
}

fn guesses() -> Vec<ConformanceCase<EngineUnderTest>> {
    let case = |id, title, context: fn() -> Value| {
        ConformanceCase::new(
            id,
            RequirementLevel::Profile("steps"),
            "P15.7",
            title,
            WHY,
            move |peer: &mut EngineUnderTest| {
                peer.needs_code("continuation_invalid")?;
                let session = peer.name();
                let text = body(peer, &session, &able(), context());
                peer.ask(&text)?.is_refused_as(&["continuation_invalid"])
            },
        )
    };
    vec![
        case(
            "T-40",
            "a token that was never issued is `continuation_invalid`",
            || json!({"continuation": {"continuation_token": "0123456789abcdef"}}),
        ),
        case(
            "T-41",
            "a token of no letters that mean anything is `continuation_invalid`",
            || json!({"user_intent": "go on", "continuation": {"continuation_token": "-"}}),
        ),
        case("T-42", "a result for a question that is not there is `continuation_invalid`", || {
            let result = json!({"directive_id": "nobody-asked-9", "outcome": "completed", "decision": {"by": "user", "option_id": "allow_once"}});
            json!({"extensions": {"dev.bridle": {"directive_results": [result]}}})
        }),
    ]
}
