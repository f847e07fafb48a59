//! Calls: requests, answers, second runs, limits.

use bridle_sexp::Value;
use bridle_skill::{
    RunProgress, SkillAnswer, SkillCall, SkillFaultKind, SkillJudgment, SkillRequest, SkillRun,
};

use crate::load;

fn value(text: &str) -> Value {
    bridle_sexp::read_one(text).unwrap().root().to_value()
}

fn think(context: &str) -> SkillCall {
    SkillCall::Think { context: value(context) }
}

const WATERS: &str = "(defskill sample
  (think (context)
    (let* ((now (bridle:now))
           (count (1+ (or (bridle:state) 0)))
           (outcome (bridle:act :garden :action :water :bed (getf context :text))))
      (bridle:save-state count)
      (unwind-protect
          (handler-case (list (bridle:result outcome) (format nil \"~a at ~a\" count now))
            (error (e) (format nil \"failed: ~a\" e)))
        (format t \"done\")))))";

#[test]
fn a_call_waits_for_its_host_and_goes_on() {
    let skill = load("", WATERS, "").unwrap();
    let (mut run, progress) = SkillRun::start(&skill, &think("(:text \"roses\")")).unwrap();
    assert_eq!(progress, RunProgress::Asks(SkillRequest::Now));
    assert_eq!(run.answer(Value::int(100)).unwrap(), RunProgress::Asks(SkillRequest::State));
    let progress = run.answer(Value::int(4)).unwrap();
    let payload = value("(:action :water :bed \"roses\")");
    assert_eq!(progress, RunProgress::Asks(SkillRequest::Act { target: "garden".into(), payload }));
    let progress = run.answer(value("(:outcome :done :value \"wet\")")).unwrap();
    assert_eq!(progress, RunProgress::Asks(SkillRequest::SaveState(Value::int(5))));
    let progress = run.answer(Value::T).unwrap();
    assert_eq!(progress, RunProgress::Ends(value("(\"wet\" \"5 at 100\")")));
    assert_eq!(run.take_output(), "done");
    // Once more, from the log, as after a restart: also from the middle.
    let log = run.log().to_vec();
    for known in 0..=log.len() {
        let (mut again, mut progress) =
            SkillRun::replay(&skill, &think("(:text \"roses\")"), &log[..known]).unwrap();
        for logged in &log[known..] {
            assert_eq!(progress, RunProgress::Asks(logged.request.clone()));
            progress = again.answer(logged.answer.clone()).unwrap();
        }
        assert_eq!(progress, RunProgress::Ends(value("(\"wet\" \"5 at 100\")")));
    }
    // Another prompt asks for something else than the log has.
    let fault = SkillRun::replay(&skill, &think("(:text \"oaks\")"), &log).map(drop).unwrap_err();
    assert_eq!(fault.kind, SkillFaultKind::Nondeterministic);
    assert!(fault.message.contains("roses") && fault.message.contains("oaks"), "{fault}");
}

#[test]
fn an_answer_that_failed_is_a_condition() {
    let skill = load("", WATERS, "").unwrap();
    let (mut run, _) = SkillRun::start(&skill, &think("(:text \"roses\")")).unwrap();
    run.answer(Value::int(100)).unwrap();
    run.answer(Value::Nil).unwrap();
    run.answer(value("(:outcome :denied :reason \"no water\")")).unwrap();
    let progress = run.answer(Value::T).unwrap();
    assert_eq!(progress, RunProgress::Ends(Value::str("failed: denied: no water")));
}

#[test]
fn garbage_is_collected_while_nothing_waits_and_what_waits_is_kept() {
    let program = "(defskill sample (think (context)
        (let ((kept (loop for i below 1000 collect (format nil \"~a\" i))))
          (dotimes (round 20)
            (bridle:act :log :action :log :text \"x\")
            (dotimes (i 20000) (list i i i)))
          (length (remove-if-not #'stringp kept)))))";
    let skill = load("", program, "").unwrap();
    let (mut run, mut progress) = SkillRun::start(&skill, &think("nil")).unwrap();
    while let RunProgress::Asks(_) = progress {
        progress = run.answer(value("(:outcome :done)")).unwrap();
    }
    assert_eq!(progress, RunProgress::Ends(Value::int(1000)));
}

#[test]
fn a_cleanup_of_a_failed_program_cannot_wait() {
    let program = "(defskill sample (think (c)
        (unwind-protect (error \"broken\") (bridle:now))))";
    let skill = load("", program, "").unwrap();
    let fault = SkillRun::start(&skill, &think("nil")).map(drop).unwrap_err();
    assert_eq!(fault.kind, SkillFaultKind::Run);
    // A cleanup on the way out of a block can.
    let program = "(defskill sample (think (c)
        (block out (unwind-protect (return-from out 1) (bridle:now)))))";
    let skill = load("", program, "").unwrap();
    let (mut run, _) = SkillRun::start(&skill, &think("nil")).unwrap();
    assert_eq!(run.answer(Value::int(3)).unwrap(), RunProgress::Ends(Value::int(1)));
}

#[test]
fn a_skill_that_never_ends_or_never_stops_asking_is_stopped() {
    for (program, kind) in [
        ("(loop)", SkillFaultKind::Limit),
        ("(loop (bridle:now))", SkillFaultKind::Limit),
        ("(labels ((f (x) (+ 1 (f x)))) (f 1))", SkillFaultKind::Limit),
        ("(let ((l nil)) (loop (push (make-string 1000) l)))", SkillFaultKind::Limit),
        ("(loop (print 'flood))", SkillFaultKind::Limit),
        ("(error \"x\")", SkillFaultKind::Run),
        ("(make-hash-table)", SkillFaultKind::Run),
    ] {
        let skill = load("", &format!("(defskill sample (think (c) {program}))"), "").unwrap();
        let mut fault = None;
        match SkillRun::start(&skill, &think("nil")) {
            Err(found) => fault = Some(found),
            Ok((mut run, mut progress)) => {
                while let RunProgress::Asks(_) = progress {
                    match run.answer(Value::int(1)) {
                        Ok(next) => progress = next,
                        Err(found) => {
                            fault = Some(found);
                            break;
                        }
                    }
                }
            }
        }
        let fault = fault.unwrap_or_else(|| panic!("{program} ended"));
        assert_eq!(fault.kind, kind, "{program}: {fault}");
    }
}

#[test]
fn calls_share_nothing_but_the_state() {
    let program = "(defvar *count* 0) (defskill sample (think (c) (incf *count*)))";
    let skill = load("", program, "").unwrap();
    for _ in 0..3 {
        let (_, progress) = SkillRun::start(&skill, &think("nil")).unwrap();
        assert_eq!(progress, RunProgress::Ends(Value::int(1)));
    }
}

#[test]
fn a_tool_checks_its_arguments() {
    let program = "(deftool add ((a integer) (b integer :optional 1) (how keyword :optional :plus :choices (:plus :minus)))
                     \"Adds.\" (if (eq how :plus) (+ a b) (- a b)))";
    let skill = load("", program, "").unwrap();
    let call = |arguments: &str| {
        let call = SkillCall::Tool { name: "add".into(), arguments: value(arguments) };
        SkillRun::start(&skill, &call).map(|(_, progress)| progress).map_err(|fault| fault.message)
    };
    assert_eq!(call("(:a 2)"), Ok(RunProgress::Ends(Value::int(3))));
    assert_eq!(call("(:a 2 :b 5 :how :minus)"), Ok(RunProgress::Ends(Value::int(-3))));
    for (arguments, part) in [
        ("nil", "argument a is missing"),
        ("(:a \"2\")", "expected integer"),
        ("(:a 2 :how :times)", "expected one of :PLUS, :MINUS"),
    ] {
        let message = call(arguments).unwrap_err();
        assert!(message.contains(part), "{arguments}: {message}");
    }
    let call = SkillCall::Tool { name: "none".into(), arguments: Value::Nil };
    assert!(SkillRun::start(&skill, &call).is_err());
}

#[test]
fn an_actuator_gets_action_and_context() {
    let program = "(defactuator garden (action context) \"Waters.\" (:actions (water (bed string)))
                     (list (getf action :bed) (getf context :session)))";
    let skill = load("", program, "").unwrap();
    let (action, context) = (value("(:action :water :bed \"roses\")"), value("(:session \"s\")"));
    let call = SkillCall::Act { actuator: "garden".into(), action, context };
    let (_, progress) = SkillRun::start(&skill, &call).unwrap();
    assert_eq!(progress, RunProgress::Ends(value("(\"roses\" \"s\")")));
}

#[test]
fn answers_are_text_and_actions_and_nothing_else() {
    let read = |text: &str| SkillAnswer::read(&value(text));
    assert_eq!(read("nil").unwrap(), SkillAnswer::default());
    assert_eq!(read("\"hi\"").unwrap().text, "hi");
    let answer =
        read("(\"a\" (:action :notify :text \"b\") (:target :log :action :log :text \"c\") \"d\")");
    let answer = answer.unwrap();
    assert_eq!(answer.text, "a\nd");
    assert_eq!(answer.actions[0], (None, value("(:action :notify :text \"b\")")));
    assert_eq!(answer.actions[1], (Some("log".into()), value("(:action :log :text \"c\")")));
    let answer = read("(:target :log :payload (:action :log))").unwrap();
    assert_eq!(answer.actions, [(Some("log".into()), value("(:action :log)"))]);
    for nonsense in ["5", "(:text \"x\")", "(1 2)", "x", "((:target :log))"] {
        assert_eq!(read(nonsense).unwrap_err().kind, SkillFaultKind::Answer, "{nonsense}");
    }
    let judged = |text: &str| SkillJudgment::read(&value(text)).ok();
    assert_eq!(judged("nil"), Some(SkillJudgment::Pass));
    assert_eq!(judged("(:veto \"no\")"), Some(SkillJudgment::Veto("no".into())));
    assert_eq!(judged("(:narrow (:a 1))"), Some(SkillJudgment::Narrow(value("(:a 1)"))));
    for nonsense in ["t", "5", "(:veto 5)", "(:narrow nil)", "\"ok\""] {
        assert_eq!(judged(nonsense), None, "{nonsense}");
    }
}
