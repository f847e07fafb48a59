//! Tests of a skill, run: each call once in a live instance, and once more from the log of the first. The two must
//! agree, so that a turn that goes on after a restart ends like one that was never interrupted.

use std::sync::Arc;

use bridle_sexp::Value;

use crate::answer::shown;
use crate::fault::SkillFault;
use crate::request::SkillRequest;
use crate::run::{CallLog, RunProgress, SkillCall, SkillRun};
use crate::skill::Skill;
use crate::test_source::{SkillTest, TestExpectation, TestSubject};

/// Result of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    /// Name of the test.
    pub name: String,
    /// Line of the file.
    pub line: usize,
    /// Difference from what was expected; `None` for a test that passed.
    pub failure: Option<String>,
}

/// Runs all tests, in order.
pub fn test_skill(skill: &Arc<Skill>) -> Vec<TestReport> {
    let tests = skill.source().tests.iter();
    let report = |test: &SkillTest| TestReport {
        name: test.name.clone(),
        line: test.line,
        failure: run(skill, test).err(),
    };
    tests.map(report).collect()
}

/// End of a call of a test.
#[derive(Debug, Default, PartialEq)]
struct TestOutcome {
    result: Option<Result<Value, SkillFault>>,
    acts: Vec<Value>,
    saved: Option<Value>,
}

fn run(skill: &Arc<Skill>, test: &SkillTest) -> Result<(), String> {
    let call = match &test.subject {
        TestSubject::Form(source) => return form(skill, source, test),
        TestSubject::Call(call) => call,
    };
    let (outcome, log) = live(skill, call, test);
    check(&outcome, test)?;
    let again = SkillRun::replay(skill, call, &log);
    let again = again.map(|(_, progress)| progress);
    let is_same = match (&again, &outcome.result) {
        (Ok(RunProgress::Ends(value)), Some(Ok(first))) => value == first,
        (Err(fault), Some(Err(first))) => fault == first,
        _ => false,
    };
    if is_same {
        return Ok(());
    }
    Err(match again {
        Err(fault) => format!("run again with the same answers, it failed: {fault}"),
        Ok(progress) => format!("run again with the same answers, it came to {progress:?}"),
    })
}

fn form(skill: &Skill, source: &str, test: &SkillTest) -> Result<(), String> {
    let values = skill.evaluate(source);
    for expected in &test.expected {
        match (expected, &values) {
            (TestExpectation::Prints(text), Ok(values)) => {
                let printed = values.join(" ");
                if printed != *text {
                    return Err(format!("expected {text}, got {printed}"));
                }
            }
            (TestExpectation::Fails(text), Err(fault)) => {
                if !fault.message.contains(text.as_str()) {
                    return Err(format!("expected a failure with `{text}`, got: {fault}"));
                }
            }
            (TestExpectation::Fails(text), Ok(_)) => {
                return Err(format!("expected a failure with `{text}`, got none"));
            }
            (_, Err(fault)) => return Err(fault.to_string()),
            _ => return Err("a form is tested with :prints or :fails".to_owned()),
        }
    }
    Ok(())
}

/// Runs a call in a live instance, with the answers of the test.
fn live(skill: &Arc<Skill>, call: &SkillCall, test: &SkillTest) -> (TestOutcome, CallLog) {
    let mut outcome = TestOutcome::default();
    let (mut run, mut progress) = match SkillRun::start(skill, call) {
        Ok(begun) => begun,
        Err(fault) => {
            outcome.result = Some(Err(fault));
            return (outcome, Vec::new());
        }
    };
    let mut host = TestHost { test, acts: 0, randoms: 0, state: test.state.clone() };
    loop {
        match progress {
            RunProgress::Ends(value) => {
                outcome.result = Some(Ok(value));
                return (outcome, run.log().to_vec());
            }
            RunProgress::Asks(request) => {
                let answer = host.answer(skill, &request, &mut outcome);
                match run.answer(answer) {
                    Ok(next) => progress = next,
                    Err(fault) => {
                        outcome.result = Some(Err(fault));
                        return (outcome, run.log().to_vec());
                    }
                }
            }
        }
    }
}

/// Host of a test: its answers are those of the test.
struct TestHost<'t> {
    test: &'t SkillTest,
    acts: usize,
    randoms: usize,
    state: Value,
}

impl TestHost<'_> {
    fn answer(
        &mut self,
        skill: &Skill,
        request: &SkillRequest,
        outcome: &mut TestOutcome,
    ) -> Value {
        match request {
            SkillRequest::Act { target, payload } => {
                let action = request.action().unwrap_or_default();
                if !skill.manifest().capabilities.allows(target, action) {
                    let reason = format!("the skill has no capability {target}/{action}");
                    return denied(&reason);
                }
                let order = [Value::keyword(target)].into_iter();
                let payload = payload.elements().unwrap_or_default().iter().cloned();
                outcome.acts.push(Value::list(order.chain(payload)));
                self.acts += 1;
                let given = self.test.results.get(self.acts - 1).cloned();
                given.unwrap_or_else(|| denied("the test has no result for this action"))
            }
            SkillRequest::Now => Value::int(self.test.now),
            SkillRequest::Random { limit } => {
                let given = self.test.random.get(self.randoms).copied().unwrap_or(0);
                self.randoms += 1;
                Value::int(given.rem_euclid((*limit).max(1)))
            }
            SkillRequest::State => self.state.clone(),
            SkillRequest::SaveState(value) => {
                self.state = value.clone();
                outcome.saved = Some(value.clone());
                Value::T
            }
        }
    }
}

fn denied(reason: &str) -> Value {
    Value::plist([("outcome", Value::keyword("denied")), ("reason", Value::str(reason))])
}

fn check(outcome: &TestOutcome, test: &SkillTest) -> Result<(), String> {
    let expects_failure =
        test.expected.iter().any(|expected| matches!(expected, TestExpectation::Fails(_)));
    let value = match &outcome.result {
        Some(Ok(value)) => Some(value),
        Some(Err(fault)) if !expects_failure => return Err(fault.to_string()),
        _ => None,
    };
    for expected in &test.expected {
        let met = match expected {
            TestExpectation::Answer(wanted) => value == Some(wanted),
            TestExpectation::Contains(part) => {
                value.is_some_and(|value| spoken(value).contains(part.as_str()))
            }
            TestExpectation::Acts(wanted) => *wanted == outcome.acts,
            TestExpectation::Saved(wanted) => outcome.saved.as_ref() == Some(wanted),
            TestExpectation::Fails(part) => match &outcome.result {
                Some(Err(fault)) => fault.message.contains(part.as_str()),
                _ => false,
            },
            TestExpectation::Prints(_) => return Err(":prints is for forms".to_owned()),
        };
        if !met {
            return Err(unmet(expected, outcome));
        }
    }
    Ok(())
}

fn unmet(expected: &TestExpectation, outcome: &TestOutcome) -> String {
    let got = match &outcome.result {
        Some(Ok(value)) => shown(value),
        Some(Err(fault)) => fault.to_string(),
        None => "nothing".to_owned(),
    };
    match expected {
        TestExpectation::Answer(wanted) => format!("expected {}, got {got}", shown(wanted)),
        TestExpectation::Contains(part) => format!("expected text with `{part}`, got {got}"),
        TestExpectation::Acts(wanted) => {
            let acts = Value::list(outcome.acts.iter().cloned());
            let wanted = Value::list(wanted.iter().cloned());
            format!("expected the actions {wanted}, got {acts}")
        }
        TestExpectation::Saved(wanted) => {
            let saved = outcome.saved.as_ref().map_or("nothing".to_owned(), shown);
            format!("expected to save {}, saved {saved}", shown(wanted))
        }
        TestExpectation::Fails(part) => format!("expected a failure with `{part}`, got {got}"),
        TestExpectation::Prints(text) => format!("expected {text}, got {got}"),
    }
}

/// The texts of an answer, or the answer printed.
fn spoken(value: &Value) -> String {
    match crate::answer::SkillAnswer::read(value) {
        Ok(answer) if !answer.text.is_empty() => {
            let actions = answer.actions.iter().map(|(_, payload)| payload.to_string());
            [answer.text].into_iter().chain(actions).collect::<Vec<_>>().join("\n")
        }
        _ => value.to_string(),
    }
}
