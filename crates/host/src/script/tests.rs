//! Which rule is used, what it gives, and that its waits can be cut short.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bridle_loop::SessionId;
use bridle_sexp::{Value, read_one};

use super::{MAX_USED_RULES, ScriptStimulus, ScriptedThinker, UsedRules};
use crate::cancel::CancelFlag;
use crate::error::HostError;
use crate::io::{ThoughtChannel, ThoughtIo};

fn value(text: &str) -> Value {
    read_one(text).unwrap().root().to_value()
}

/// A turn to think about; its parts as text.
#[derive(Clone, Copy)]
struct Turn {
    session: &'static str,
    payload: &'static str,
    rejected: Option<&'static str>,
    result: Option<&'static str>,
    depth: u32,
}

fn prompt(payload: &'static str) -> Turn {
    Turn { session: "s", payload, rejected: None, result: None, depth: 0 }
}

/// What a script drafts, waited for here.
fn drafted(
    script: &ScriptedThinker,
    stimulus: ScriptStimulus<'_>,
    io: &ThoughtIo,
) -> Result<bridle_loop::Draft, bridle_loop::ThinkerFault> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(script.draft(stimulus, io))
}

/// Pieces as `~piece`, then proposals as `target payload`, or `!reason`, joined with ` / `.
fn think(script: &ScriptedThinker, turn: Turn) -> String {
    let session = SessionId::parse(turn.session).unwrap();
    let (payload, result) = (value(turn.payload), turn.result.map(value));
    let stimulus = ScriptStimulus {
        session: &session,
        payload: &payload,
        rejected: turn.rejected,
        result: result.as_ref(),
        depth: turn.depth,
    };
    let shown = Arc::new(Mutex::new(Vec::new()));
    let show = {
        let shown = Arc::clone(&shown);
        move |channel, text: &str| {
            let mark = if channel == ThoughtChannel::Text { "~" } else { "?" };
            shown.lock().unwrap().push(format!("{mark}{text}"));
        }
    };
    let draft = drafted(script, stimulus, &ThoughtIo::new(CancelFlag::new()).showing(show));
    let mut told = std::mem::take(&mut *shown.lock().unwrap());
    match draft {
        Ok(draft) => told.extend(draft.calls.into_iter().map(|proposal| {
            let target = proposal.target.map_or(String::new(), |name| format!("{name} "));
            let then = if proposal.then_think { " and think" } else { "" };
            format!("{target}{}{then}", proposal.payload)
        })),
        Err(fault) => {
            let retryable = if fault.retryable { " (retryable)" } else { "" };
            told.push(format!("!{}{retryable}", fault.reason));
        }
    }
    told.join(" / ")
}

fn check(script: &str, turn: Turn, expect: &str) {
    assert_eq!(think(&ScriptedThinker::parse(script).unwrap(), turn), expect, "{script}");
}

const HI: Turn = Turn {
    session: "s",
    payload: "(:sensor :user-prompt :text \"hi there\")",
    rejected: None,
    result: None,
    depth: 0,
};

#[test]
fn the_first_rule_that_fits() {
    let script = r#"(default :say "?")
                    (rule :when "hi *" :say "first $1")
                    (rule :when "hi there" :say "second")"#;
    check(script, HI, r#"(:action :message :text "first there")"#);
    let other = prompt("(:sensor :chat-message :text \"ho\")");
    check(script, other, r#"(:action :message :text "?")"#);
}

#[test]
fn text_alone_fits_prompts_alone() {
    let script = r#"(rule :when "hi *" :say "x")"#;
    for payload in ["(:sensor :heartbeat :text \"hi there\")", "(:text \"hi there\")", "nil"] {
        check(script, prompt(payload), "");
    }
    for payload in [
        "(:sensor :user-prompt :text \"ho\")",
        "(:sensor :user-prompt)",
        "(:sensor :user-prompt :text 7)",
        "(:sensor :user-command :command \"hi there\")",
    ] {
        let expect = "!no rule of the script fits, expected one, or a `(default ..)`";
        check(script, prompt(payload), expect);
    }
    let upper = prompt("(:SENSOR :USER-INPUT :TEXT \"hi there\")");
    check(script, upper, r#"(:action :message :text "x")"#);
}

#[test]
fn the_default_is_for_persons() {
    let script = r#"(rule :when (:sensor :beep) :say "boop") (default :say "?")"#;
    check(script, HI, r#"(:action :message :text "?")"#);
    check(script, prompt("(:sensor :user-command)"), r#"(:action :message :text "?")"#);
    check(script, prompt("(:sensor :beep)"), r#"(:action :message :text "boop")"#);
    check(script, prompt("(:sensor :heartbeat)"), "");
}

#[test]
fn proposals_with_all_their_parts() {
    check(
        r#"(rule :when (:sensor * :text "hi *")
                 :say "$1 $2"
                 :propose ((:target :EMACS :action :eval :code "(f \"$2\")" :sensor $1 :then-think t)
                           (:action :complete :prefix $2)))"#,
        HI,
        r#"(:action :message :text ":user-prompt there") / emacs (:action :eval :code "(f \"there\")" :sensor :user-prompt) and think / (:action :complete :prefix "there")"#,
    );
    check("(default :propose nil)", HI, "");
    check(
        "(default :then-think t :propose ((:action :a) (:action :b)))",
        HI,
        "(:action :a) and think / (:action :b) and think",
    );
}

#[test]
fn explanations_name_the_rule_unless_given() {
    let script = "; a line\n\n(rule :when \"hi *\" :explanation \"for $1\" :propose ((:action :a) (:action :b :explanation \"own\")))\n(default :say \"x\")";
    let script = ScriptedThinker::parse(script).unwrap();
    let explanations = |text: &str| -> Vec<String> {
        let payload = value(text);
        let session = SessionId::parse("s").unwrap();
        let stimulus = ScriptStimulus {
            session: &session,
            payload: &payload,
            rejected: None,
            result: None,
            depth: 0,
        };
        let draft = drafted(&script, stimulus, &ThoughtIo::new(CancelFlag::new())).unwrap();
        draft.calls.into_iter().filter_map(|p| p.explanation).map(String::from).collect()
    };
    assert_eq!(explanations(HI.payload), ["for there", "own"]);
    assert_eq!(explanations("(:sensor :user-input)"), ["rule at line 4 of the script"]);
}

#[test]
fn streams_and_errors() {
    check(
        r#"(rule :when "hi *" :stream ("to " "$1" "$" "1") :pace 1)"#,
        HI,
        r#"~to  / ~there / ~$ / ~1 / (:action :message :text "to there$1")"#,
    );
    check(
        r#"(default :stream ("a") :say "b" :delay 1)"#,
        HI,
        r#"~a / (:action :message :text "b")"#,
    );
    check(r#"(rule :when "hi *" :error "no $1")"#, HI, "!no there");
    check(r#"(default :stream ("a") :error "x" :retryable t)"#, HI, "~a / !x (retryable)");
}

#[test]
fn refusals_results_and_depth() {
    let script = r#"(rule :rejected "*risk*" :say "less: $1|$2")
                    (rule :rejected t :say "other")
                    (rule :result (:outcome :done :value *) :depth (2 3) :say "deep $1")
                    (rule :result (:outcome :done :value *) :say "got $1")
                    (rule :when "hi *" :result t :say "any")
                    (default :say "first")"#;
    let message = |text: &str| format!("(:action :message :text \"{text}\")");
    let done = HI.with_result("(:action :log :outcome :done :value 7)");
    check(script, HI, &message("first"));
    check(script, Turn { rejected: Some("a risk of fire"), ..HI }, &message("less: a | of fire"));
    check(script, Turn { rejected: Some("no"), ..HI }, &message("other"));
    check(script, done, &message("got 7"));
    check(script, Turn { depth: 2, ..done }, &message("deep 7"));
    check(script, Turn { depth: 4, ..done }, &message("got 7"));
    check(script, HI.with_result("(:action :log :outcome :failed)"), &message("any"));
    check(script, Turn { rejected: Some("no"), ..done }, &message("other"));
}

#[test]
fn after_both_a_refusal_and_a_result_the_order_of_rules_decides() {
    let done = HI.with_result("(:outcome :done)");
    let both = Turn { rejected: Some("no"), ..done };
    let message = |text: &str| format!("(:action :message :text \"{text}\")");
    let script = r#"(rule :result t :rejected nil :say "result alone")
                    (rule :rejected t :result nil :say "refusal alone")
                    (rule :result t :say "result")
                    (rule :rejected t :say "refusal")"#;
    check(script, done, &message("result alone"));
    check(script, Turn { rejected: Some("no"), ..HI }, &message("refusal alone"));
    check(script, both, &message("result"));
    check(r#"(rule :rejected nil :say "first draft")"#, HI, &message("first draft"));
}

#[test]
fn without_a_rule_a_refusal_is_told_and_a_result_ends_the_turn() {
    let script = r#"(default :say "first")"#;
    let refused = Turn { rejected: Some("too hot"), ..HI };
    check(script, refused, r#"(:action :message :text "What I proposed was refused: too hot")"#);
    check(script, HI.with_result("(:outcome :done)"), "");
}

#[test]
fn once_is_once_a_session() {
    let script =
        ScriptedThinker::parse(r#"(rule :once t :say "once") (default :say "again")"#).unwrap();
    let (once, again) =
        ["once", "again"].map(|text| format!("(:action :message :text \"{text}\")")).into();
    assert_eq!(think(&script, HI), once);
    assert_eq!(think(&script, HI), again);
    assert_eq!(think(&script, Turn { session: "other", ..HI }), once);
    assert_eq!(think(&script, Turn { session: "other", ..HI }), again);
}

#[test]
fn memory_of_once_is_bounded() {
    let mut used = UsedRules::default();
    let session = |n: usize| SessionId::parse(&format!("s{n}")).unwrap();
    for n in 0..MAX_USED_RULES {
        assert!(used.insert(&session(n), 0));
    }
    assert!(!used.insert(&session(0), 0));
    assert!(used.insert(&session(MAX_USED_RULES), 0));
    assert_eq!(used.uses.len(), MAX_USED_RULES);
    assert_eq!(used.order.len(), MAX_USED_RULES);
    assert!(used.insert(&session(0), 0), "the oldest was forgotten");
}

#[test]
fn a_draft_that_would_grow_too_long_fails() {
    let many = "$1".repeat(40);
    let script =
        ScriptedThinker::parse(&format!("(rule :when (:text *) :say \"{many}\")")).unwrap();
    let text = "x".repeat(30_000);
    let payload = Value::plist([("text", Value::str(text))]);
    let session = SessionId::parse("s").unwrap();
    let stimulus = ScriptStimulus {
        session: &session,
        payload: &payload,
        rejected: None,
        result: None,
        depth: 0,
    };
    let fault = drafted(&script, stimulus, &ThoughtIo::new(CancelFlag::new())).unwrap_err();
    assert_eq!(
        &*fault.reason,
        "rule at line 1 of the script: captures make the draft longer than 1048576 bytes"
    );
}

/// The script waits ten minutes: only the word to stop ends these tests.
#[test]
fn a_wait_is_cut_short() {
    for script in
        [r#"(default :delay 600000 :say "late")"#, r#"(default :stream ("a" "b") :pace 300000)"#]
    {
        let script = ScriptedThinker::parse(script).unwrap();
        let cancel = CancelFlag::new();
        let (sender, receiver) = mpsc::channel();
        let thinker = {
            let cancel = cancel.clone();
            thread::spawn(move || {
                let session = SessionId::parse("s").unwrap();
                let stimulus = ScriptStimulus {
                    session: &session,
                    payload: &value(HI.payload),
                    rejected: None,
                    result: None,
                    depth: 0,
                };
                sender.send("begun".to_owned()).unwrap();
                let told = move |_, text: &str| sender.send(text.to_owned()).unwrap();
                drafted(&script, stimulus, &ThoughtIo::new(cancel).showing(told))
            })
        };
        assert_eq!(receiver.recv().unwrap(), "begun");
        // Long enough for the stream's first piece to come, if there is one; either is good.
        let _ = receiver.recv_timeout(Duration::from_millis(20));
        cancel.cancel();
        let fault = thinker.join().unwrap().unwrap_err();
        assert_eq!((&*fault.reason, fault.retryable), ("canceled", false));
        assert!(receiver.try_iter().all(|piece| piece != "b"));
    }
}

#[test]
fn a_draft_nobody_wants_any_more_uses_up_no_rule() {
    let script = ScriptedThinker::parse(r#"(rule :once t :say "once")"#).unwrap();
    let session = SessionId::parse("s").unwrap();
    let payload = value(HI.payload);
    let stimulus = ScriptStimulus {
        session: &session,
        payload: &payload,
        rejected: None,
        result: None,
        depth: 0,
    };
    let cancel = CancelFlag::new();
    cancel.cancel();
    let fault = drafted(&script, stimulus, &ThoughtIo::new(cancel)).unwrap_err();
    assert_eq!(&*fault.reason, "canceled");
    assert_eq!(think(&script, HI), r#"(:action :message :text "once")"#);
}

#[test]
fn files() {
    let directory = tempfile::tempdir().unwrap();
    let open = |name: &str, bytes: Option<&[u8]>| -> Result<ScriptedThinker, HostError> {
        let path = directory.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        ScriptedThinker::open(&path)
    };
    assert!(open("good", Some(b"(default :say \"x\")")).is_ok());
    let path = |name: &str| directory.path().join(name).display().to_string();
    for (name, bytes, expect) in [
        (
            "bad",
            Some(&b"(default\n  :say 7)"[..]),
            format!("{}:2:8: expected a string, got `7`", path("bad")),
        ),
        ("missing", None, format!("cannot read the script `{}`", path("missing"))),
        (
            "latin",
            Some(b"(default :say \"\xe4\")"),
            format!("the script `{}` is not UTF-8 text", path("latin")),
        ),
    ] {
        assert_eq!(open(name, bytes).unwrap_err().to_string(), expect);
    }
    let most = crate::error::MAX_SCRIPT_BYTES;
    let mut long = b"(default :say \"x\")".to_vec();
    long.resize(most, b' ');
    assert!(open("long", Some(&long)).is_ok());
    long.push(0xC3);
    let error = open("longer", Some(&long)).unwrap_err().to_string();
    assert!(error.ends_with("is too long, expected at most 1048576 bytes"), "{error}");
    assert!(open(".", None).is_err(), "a directory");
}

#[test]
fn the_manual_knows_every_limit() {
    use super::{pattern, read, template};
    let manual = include_str!("../../../../docs/scripted.md");
    let delay = usize::try_from(read::MAX_DELAY_MS).unwrap();
    for (name, limit) in [
        ("MAX_SCRIPT_BYTES", crate::error::MAX_SCRIPT_BYTES),
        ("MAX_RULES", read::MAX_RULES),
        ("MAX_SCRIPT_DEPTH", read::MAX_SCRIPT_DEPTH),
        ("MAX_WILDCARDS", pattern::MAX_WILDCARDS),
        ("MAX_PROPOSALS", read::MAX_PROPOSALS),
        ("MAX_PIECES", read::MAX_PIECES),
        ("MAX_DELAY_MS", delay),
        ("MAX_MATCHED_TEXT", pattern::MAX_MATCHED_TEXT),
        ("MAX_MATCHED_KEYS", pattern::MAX_MATCHED_KEYS),
        ("MAX_EXPANDED", template::MAX_EXPANDED),
        ("MAX_CAPTURED_DEPTH", template::MAX_CAPTURED_DEPTH),
        ("MAX_USED_RULES", MAX_USED_RULES),
    ] {
        let shown = match limit {
            0..1_000 => limit.to_string(),
            _ if limit.is_multiple_of(1 << 20) => format!("{} MiB", limit >> 20),
            _ if name.ends_with("TEXT") => format!("{} KiB", limit >> 10),
            _ => format!("{},{:03}", limit / 1_000, limit % 1_000),
        };
        assert!(manual.contains(&format!("| `{name}` | {shown}")), "{name}: {shown}");
    }
}

impl Turn {
    fn with_result(self, result: &'static str) -> Self {
        Self { result: Some(result), ..self }
    }
}
