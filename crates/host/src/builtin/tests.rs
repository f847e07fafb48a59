//! What the builtin thinker understands, and what it answers to whom.

use std::sync::Arc;
use std::time::Duration;

use bridle_loop::{
    Asker, By, Code, Context, Name, Past, Rule, Ruling, SessionId, Signal, SignalKind, Time,
    TurnId, Verdict,
};
use bridle_sexp::{Value, read_one};

use super::{
    Elapsed, MAX_DECISIONS_SHOWN, MAX_SESSIONS_SHOWN, Others, Said, Slash, Word, answer, consult,
};
use crate::facts::{Facts, SessionFact, SessionList, StatusFact, Whose};

/// A daemon with these sessions, each with its owner.
struct Daemon(Vec<(&'static str, String)>);

impl Facts for Daemon {
    fn sessions(&self, whose: Whose<'_>, limit: usize) -> SessionList {
        let is_seen = |owner: &str| match whose {
            Whose::Everybodys => true,
            Whose::Of(principal) => principal == owner,
        };
        let seen: Vec<SessionFact> = self
            .0
            .iter()
            .filter(|(owner, _)| is_seen(owner))
            .map(|(_, name)| SessionFact {
                session: SessionId::parse(name).unwrap(),
                head: 12,
                shells: 1,
                busy: name == "s",
            })
            .collect();
        SessionList { total: seen.len(), shown: seen.into_iter().take(limit).collect() }
    }

    fn status(&self) -> StatusFact {
        StatusFact {
            version: "0.1.0".into(),
            uptime: Duration::from_secs(3_700),
            sessions: self.0.len(),
            busy: 1,
            shells: 2,
            record: 345,
            trouble: Some("the disk is full".into()),
        }
    }
}

fn daemon() -> Daemon {
    Daemon(vec![("uid:1", "s".into()), ("tcp", "guest".into()), ("uid:1", "work.long".into())])
}

fn context(payload: &str) -> Context {
    let signal = Signal {
        kind: SignalKind::Event,
        from: Asker { owner: true, ..Asker::new("uid:1") },
        id: None,
        target: None,
        payload: read_one(payload).unwrap().root().to_value(),
        dropped: Vec::new(),
        patient: true,
    };
    Context {
        session: SessionId::parse("s").unwrap(),
        turn: TurnId(1),
        seq: None,
        at: Time(0),
        signal: Arc::new(signal),
        focus: None,
        history: Past::default(),
        decisions: Past::default(),
        actuators: Arc::new([]),
    }
}

fn from_guest(context: &Context) -> Context {
    let signal = Signal { from: Asker::new("tcp"), ..(*context.signal).clone() };
    Context { signal: Arc::new(signal), ..context.clone() }
}

fn text_of(context: &Context) -> Option<String> {
    let advice = consult(context, &daemon());
    assert!(!advice.think);
    let payload = &advice.proposals.first()?.payload;
    assert!(payload.get("action").unwrap().is_keyword("message"));
    payload.get("text").and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn words_in_any_case_with_blanks_and_slashes() {
    use Slash::{With, Without};
    for (payload, expect) in [
        ("(:sensor :user-prompt :text \"help\")", Said::Word(Word::Help, Without)),
        ("(:SENSOR :USER-INPUT :TEXT \" /HELP\n\")", Said::Word(Word::Help, With)),
        ("(:sensor :chat-message :text \"?\")", Said::Word(Word::Help, Without)),
        ("(:sensor :user-prompt :text \"Status\")", Said::Word(Word::Status, Without)),
        ("(:sensor :user-prompt :text \"/sessions\")", Said::Word(Word::Sessions, With)),
        ("(:sensor :user-prompt :text \"why?\")", Said::Word(Word::Why, Without)),
        ("(:sensor :user-command :command :why)", Said::Word(Word::Why, Without)),
        ("(:sensor :user-command :command STATUS)", Said::Word(Word::Status, Without)),
        ("(:sensor :user-command :command \"/help\")", Said::Word(Word::Help, With)),
        ("(:sensor :user-command :command :other)", Said::Prose),
        ("(:sensor :user-command)", Said::Prose),
        ("(:sensor :user-prompt :text \"//help\")", Said::Prose),
        ("(:sensor :user-prompt :text \"help me\")", Said::Prose),
        ("(:sensor :user-prompt :text \"\")", Said::Prose),
        ("(:sensor :user-prompt :text 7)", Said::Prose),
        ("(:sensor :user-prompt)", Said::Prose),
        ("(:sensor :heartbeat :text \"help\")", Said::Nothing),
        ("(:sensor \"user-prompt\" :text \"help\")", Said::Nothing),
        ("(:text \"help\")", Said::Nothing),
        ("nil", Said::Nothing),
    ] {
        assert_eq!(Said::of(&read_one(payload).unwrap().root().to_value()), expect, "{payload}");
    }
    let long = Value::plist([
        ("sensor", Value::keyword("user-prompt")),
        ("text", Value::str(format!("help{}", "x".repeat(1 << 20)))),
    ]);
    assert_eq!(Said::of(&long), Said::Prose);
}

#[test]
fn help_names_every_word_and_the_session() {
    let text = text_of(&context("(:sensor :user-prompt :text \"help\")")).unwrap();
    for part in ["help", "status", "sessions", "why", "tail --session s", "log --session s"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(text.contains("--thinker script:FILE"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    let context = context("(:sensor :user-prompt :text \"/help\")");
    let text = answer(Word::Help, &context, &daemon(), Others::Script);
    assert!(text.contains("/status") && text.contains("script"), "{text}");
}

#[test]
fn prose_is_declined_with_a_way_on() {
    let text = text_of(&context("(:sensor :user-prompt :text \"write a poem\")")).unwrap();
    assert!(text.contains("no model") && text.contains("help"), "{text}");
}

#[test]
fn what_is_no_prompt_gets_no_answer() {
    assert_eq!(text_of(&context("(:sensor :heartbeat :unix-time 1)")), None);
}

#[test]
fn status_says_what_is_wrong() {
    let text = text_of(&context("(:sensor :user-prompt :text \"status\")")).unwrap();
    assert_eq!(
        text,
        "bridle 0.1.0, up for 1 h 1 min\n\
         sessions  3, of them busy 1\n\
         shells    2 attached\n\
         record    345 entries\n\
         thinker   builtin, no model\n\
         trouble   the disk is full"
    );
}

#[test]
fn sessions_are_shown_to_those_who_may_see_them() {
    let context = context("(:sensor :user-prompt :text \"sessions\")");
    assert_eq!(
        text_of(&context).unwrap(),
        "3 sessions, the latest first:\n\
         \x20 s          busy, 12 events, 1 attached  <- here\n\
         \x20 guest      idle, 12 events, 1 attached\n\
         \x20 work.long  idle, 12 events, 1 attached"
    );
    assert_eq!(
        text_of(&from_guest(&context)).unwrap(),
        "1 session:\n  guest  idle, 12 events, 1 attached"
    );
    let empty = answer(Word::Sessions, &context, &Daemon(Vec::new()), Others::None);
    assert_eq!(empty, "There are no sessions that you may see.");
}

#[test]
fn a_long_list_of_sessions_is_cut_and_counted() {
    let sessions = (0..MAX_SESSIONS_SHOWN + 5).map(|n| ("uid:1", format!("s{n}"))).collect();
    let context = context("(:sensor :user-prompt :text \"sessions\")");
    let text = answer(Word::Sessions, &context, &Daemon(sessions), Others::None);
    assert_eq!(text.lines().count(), MAX_SESSIONS_SHOWN + 2);
    assert!(text.ends_with("and 5 more: `bridle sessions` lists them all."), "{text}");
}

fn ruling(turn: u64, by: By, action: &str, verdict: Verdict) -> Arc<Ruling> {
    Arc::new(Ruling {
        turn: TurnId(turn),
        by,
        target: Some(Name::new("emacs")),
        action: Some(Name::new(action)),
        rule: Rule::Policy,
        policies: vec!["default".into()],
        verdict,
        reason: "nothing allows it".into(),
    })
}

#[test]
fn why_tells_of_decisions_but_not_of_its_own_answers() {
    let mut context = context("(:sensor :user-prompt :text \"why\")");
    let text = text_of(&context).unwrap();
    assert!(text.starts_with("Nothing was decided in this session yet"), "{text}");
    let rulings = [
        ruling(1, By::Thinker, "eval", Verdict::Deny(Code::Refused)),
        ruling(2, By::Asker, "message", Verdict::Allow),
        ruling(3, By::Reflex, "message", Verdict::Allow),
    ];
    context.decisions = rulings.into_iter().collect();
    let text = text_of(&context).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Decided last, the latest first:",
            "  turn 2: you asked for `message` for `emacs`: allowed by the rule `default`, nothing allows it",
            "  turn 1: the thinker proposed `eval` for `emacs`: refused by the rule `default`, nothing allows it",
        ]
    );
    let many = vec![ruling(1, By::Thinker, "eval", Verdict::Allow); 16];
    context.decisions = many.into_iter().collect();
    assert_eq!(text_of(&context).unwrap().lines().count(), MAX_DECISIONS_SHOWN + 2);
}

#[test]
fn times_as_people_say_them() {
    for (seconds, expect) in [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min 0 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h 0 min"),
        (86_399, "23 h 59 min"),
        (90_000, "1 d 1 h"),
    ] {
        assert_eq!(Elapsed(Duration::from_secs(seconds)).to_string(), expect);
    }
}
