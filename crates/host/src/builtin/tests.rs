//! What the builtin thinker understands, and what it answers to whom.

use std::sync::Arc;
use std::time::Duration;

use bridle_loop::{
    DecisionRule, KeywordName, ProposalAuthor, RefusalCode, RememberedRuling, SessionId,
    SharedHistory, Signal, SignalContext, SignalKind, SignalSender, TurnId, UnixMillis, Verdict,
};
use bridle_sexp::{Value, read_one};

use super::{
    BuiltinCommand, BuiltinInput, BuiltinThinker, CommandSpelling, ElapsedTime,
    MAX_DECISIONS_SHOWN, MAX_SESSIONS_SHOWN, ProseAnswerer, answer,
};
use crate::facts::{DaemonFacts, SessionFact, SessionList, SessionVisibility, StatusFact};
use crate::thinker::Thinker as _;

/// A daemon with these sessions, each with its owner.
struct Daemon(Vec<(&'static str, String)>);

impl DaemonFacts for Daemon {
    fn sessions(&self, whose: SessionVisibility<'_>, limit: usize) -> SessionList {
        let is_seen = |owner: &str| match whose {
            SessionVisibility::Everybodys => true,
            SessionVisibility::Of(principal) => principal == owner,
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

fn context(payload: &str) -> SignalContext {
    let signal = Signal {
        kind: SignalKind::Event,
        from: SignalSender { owner: true, ..SignalSender::new("uid:1") },
        id: None,
        target: None,
        payload: read_one(payload).unwrap().root().to_value(),
        dropped: Vec::new(),
        patient: true,
    };
    SignalContext {
        session: SessionId::parse("s").unwrap(),
        turn: TurnId(1),
        seq: None,
        at: UnixMillis(0),
        signal: Arc::new(signal),
        focus: None,
        history: SharedHistory::default(),
        summaries: Arc::new([]),
        decisions: SharedHistory::default(),
        actuators: Arc::new([]),
        is_closing: false,
    }
}

fn from_guest(context: &SignalContext) -> SignalContext {
    let signal = Signal { from: SignalSender::new("tcp"), ..(*context.signal).clone() };
    SignalContext { signal: Arc::new(signal), ..context.clone() }
}

fn text_of(context: &SignalContext) -> Option<String> {
    let advice = BuiltinThinker.consult(context, &daemon());
    assert!(!advice.think);
    let payload = &advice.proposals.first()?.payload;
    assert!(payload.get("action").unwrap().is_keyword("message"));
    payload.get("text").and_then(Value::as_str).map(str::to_owned)
}

#[test]
fn words_in_any_case_with_blanks_and_slashes() {
    use CommandSpelling::{With, Without};
    for (payload, expect) in [
        (
            "(:sensor :user-prompt :text \"help\")",
            BuiltinInput::Word(BuiltinCommand::Help, Without),
        ),
        (
            "(:SENSOR :USER-INPUT :TEXT \" /HELP\n\")",
            BuiltinInput::Word(BuiltinCommand::Help, With),
        ),
        ("(:sensor :chat-message :text \"?\")", BuiltinInput::Word(BuiltinCommand::Help, Without)),
        (
            "(:sensor :user-prompt :text \"Status\")",
            BuiltinInput::Word(BuiltinCommand::Status, Without),
        ),
        (
            "(:sensor :user-prompt :text \"/sessions\")",
            BuiltinInput::Word(BuiltinCommand::Sessions, With),
        ),
        ("(:sensor :user-prompt :text \"why?\")", BuiltinInput::Word(BuiltinCommand::Why, Without)),
        ("(:sensor :user-command :command :why)", BuiltinInput::Word(BuiltinCommand::Why, Without)),
        (
            "(:sensor :user-command :command STATUS)",
            BuiltinInput::Word(BuiltinCommand::Status, Without),
        ),
        (
            "(:sensor :user-command :command \"/help\")",
            BuiltinInput::Word(BuiltinCommand::Help, With),
        ),
        ("(:sensor :user-command :command :other)", BuiltinInput::Prose),
        ("(:sensor :user-command)", BuiltinInput::Prose),
        ("(:sensor :user-prompt :text \"//help\")", BuiltinInput::Prose),
        ("(:sensor :user-prompt :text \"help me\")", BuiltinInput::Prose),
        ("(:sensor :user-prompt :text \"\")", BuiltinInput::Prose),
        ("(:sensor :user-prompt :text 7)", BuiltinInput::Prose),
        ("(:sensor :user-prompt)", BuiltinInput::Prose),
        ("(:sensor :heartbeat :text \"help\")", BuiltinInput::Nothing),
        ("(:sensor \"user-prompt\" :text \"help\")", BuiltinInput::Nothing),
        ("(:text \"help\")", BuiltinInput::Nothing),
        ("nil", BuiltinInput::Nothing),
    ] {
        assert_eq!(
            BuiltinInput::of(&read_one(payload).unwrap().root().to_value()),
            expect,
            "{payload}"
        );
    }
    let long = Value::plist([
        ("sensor", Value::keyword("user-prompt")),
        ("text", Value::str(format!("help{}", "x".repeat(1 << 20)))),
    ]);
    assert_eq!(BuiltinInput::of(&long), BuiltinInput::Prose);
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
    let text = answer(BuiltinCommand::Help, &context, &daemon(), ProseAnswerer::Script);
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
    let empty =
        answer(BuiltinCommand::Sessions, &context, &Daemon(Vec::new()), ProseAnswerer::None);
    assert_eq!(empty, "There are no sessions that you may see.");
}

#[test]
fn a_long_list_of_sessions_is_cut_and_counted() {
    let sessions = (0..MAX_SESSIONS_SHOWN + 5).map(|n| ("uid:1", format!("s{n}"))).collect();
    let context = context("(:sensor :user-prompt :text \"sessions\")");
    let text = answer(BuiltinCommand::Sessions, &context, &Daemon(sessions), ProseAnswerer::None);
    assert_eq!(text.lines().count(), MAX_SESSIONS_SHOWN + 2);
    assert!(text.ends_with("and 5 more: `bridle sessions` lists them all."), "{text}");
}

fn ruling(turn: u64, by: ProposalAuthor, action: &str, verdict: Verdict) -> Arc<RememberedRuling> {
    Arc::new(RememberedRuling {
        turn: TurnId(turn),
        by,
        model: None,
        target: Some(KeywordName::new("emacs")),
        action: Some(KeywordName::new(action)),
        rule: DecisionRule::Policy,
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
        ruling(1, ProposalAuthor::Thinker, "eval", Verdict::Deny(RefusalCode::Refused)),
        ruling(2, ProposalAuthor::Asker, "message", Verdict::Allow),
        ruling(3, ProposalAuthor::Reflex, "message", Verdict::Allow),
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
    let many = vec![ruling(1, ProposalAuthor::Thinker, "eval", Verdict::Allow); 16];
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
        assert_eq!(ElapsedTime(Duration::from_secs(seconds)).to_string(), expect);
    }
}
