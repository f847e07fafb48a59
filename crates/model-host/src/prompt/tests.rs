//! Prompts for models of all reaches: their size, what is left out of them, and the order of messages.
//!
//! long: the test of privacy has one turn with everything that can be private.

use std::sync::Arc;

use bridle_loop::{
    CallEnd, CallId, ConversationSummary, Deed, EffectId, KeywordName, Outcome, PastExchange,
    Privacy, ProposalRejection, RefusalCode, RoundCall, SessionId, SharedHistory, Signal,
    SignalContext, SignalKind, SignalSender, ThinkerPrompt, ThoughtRound, TurnId, UnixMillis,
};
use bridle_models::{
    CodecName, MessagePart, MessageRole, ModelMessage, encode_request, read_providers,
};
use bridle_sexp::{Value, read_one};

use super::build::{BuiltPrompt, PromptBudget, PromptPlan};
use super::gather::{GatheredContext, LabelledText, RecalledNote};
use super::transcript::PRIVATE_LINE;
use crate::registry::ModelSeat;
use crate::tools::ToolTable;
use crate::tools::tests::all_of_the_daemon;

/// Largest body of a prompt that says nothing but `hi`, with all tools of the daemon.
const MAX_TRIVIAL_BYTES: usize = 5 << 10;

fn seat(codec: CodecName, privacy: &str, more: &str) -> ModelSeat {
    let text = format!(
        "* p\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:1/v1\n:CODEC: {}\n:PRIVACY: {privacy}\n:END:\n\
         ** m :cognition:\n:PROPERTIES:\n:REASONING: none\n{more}:END:\n",
        codec.as_str()
    );
    let read = read_providers(&text);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let provider = read.providers[0].clone();
    let model = provider.models[0].clone();
    ModelSeat { provider, model }
}

fn prompt(text: &str) -> ThinkerPrompt {
    let payload =
        Value::plist([("sensor", Value::keyword("user-prompt")), ("text", Value::str(text))]);
    let signal = Signal {
        kind: SignalKind::Event,
        from: SignalSender { owner: true, ..SignalSender::new("uid:1") },
        id: None,
        target: None,
        payload,
        dropped: Vec::new(),
        patient: true,
    };
    let context = SignalContext {
        session: SessionId::parse("s").unwrap(),
        turn: TurnId(1),
        seq: None,
        at: UnixMillis(1_795_000_000_000),
        signal: Arc::new(signal),
        focus: None,
        history: SharedHistory::default(),
        summaries: Arc::new([]),
        decisions: SharedHistory::default(),
        actuators: Arc::new([]),
        is_closing: false,
    };
    ThinkerPrompt {
        context,
        depth: 0,
        tries: 0,
        rejected: Vec::new(),
        results: Vec::new(),
        rounds: Vec::new(),
        forgotten: 0,
        catalog: None,
        thinker: None,
    }
}

fn gathered(question: &str) -> GatheredContext {
    GatheredContext { question: question.to_owned(), ..GatheredContext::default() }
}

fn exchange(asked: &str, said: &str, privacy: Privacy) -> Arc<PastExchange> {
    Arc::new(PastExchange { asked: asked.into(), said: said.into(), privacy })
}

fn build(prompt: &ThinkerPrompt, context: &GatheredContext, seat: &ModelSeat) -> BuiltPrompt {
    let table = ToolTable::of(&all_of_the_daemon());
    let plan = PromptPlan { prompt, context, table: &table, seat };
    let built = plan.build(PromptBudget::of(seat));
    built.request.check().unwrap();
    built
}

fn body(built: &BuiltPrompt, seat: &ModelSeat) -> String {
    let settings = seat.provider.codec_settings(&seat.model);
    let http = encode_request(seat.provider.codec, &settings, &built.request).unwrap();
    String::from_utf8(http.body).unwrap()
}

#[test]
fn a_trivial_prompt_with_all_tools_is_small() {
    for codec in CodecName::ALL {
        let seat = seat(codec, "local", "");
        let built = build(&prompt("hi"), &gathered("hi"), &seat);
        let body = body(&built, &seat);
        assert!(body.len() <= MAX_TRIVIAL_BYTES, "{codec:?}: {} bytes\n{body}", body.len());
        assert_eq!(built.privacy, Privacy::Private);
    }
}

#[test]
fn the_message_of_a_prompt_is_what_it_always_was() {
    let seat = seat(CodecName::OpenAiChat, "local", "");
    let mut prompt = prompt("hi");
    let mut signal = Signal::clone(&prompt.context.signal);
    signal.from.locale = Some("de-DE".into());
    signal.from.time_zone = Some("x\" obey".into());
    signal.from.shell = Some(KeywordName::new("phone"));
    prompt.context.signal = Arc::new(signal);
    let built = build(&prompt, &gathered("hi"), &seat);
    let expect = "<context>\nNow: 2026-11-18 11:06 UTC, Wednesday; locale de-DE; shell phone; \
                  small screen: a few sentences\n</context>\n\nhi";
    assert_eq!(built.request.messages, [ModelMessage::user(expect)]);
}

fn note(title: &str, text: &str, is_open: bool) -> RecalledNote {
    RecalledNote {
        id: title.to_owned(),
        link: format!("[[file:n.org::*{title}]]"),
        hash: Some("f0".into()),
        text: text.to_owned(),
        open: is_open.then(|| text.to_owned()),
    }
}

#[test]
fn a_remote_model_is_told_nothing_that_is_private() {
    let mut prompt = prompt("what now?");
    prompt.context.history = [
        exchange("a", "open answer", Privacy::Private),
        exchange("b", "canary-history", Privacy::Secret),
    ]
    .into_iter()
    .collect();
    let secret = read_one(
        "(:text \"canary-result\" :privacy :secret :without-private (:text \"open result\"))",
    );
    let deed = |value: Value| {
        CallEnd::Deed(Arc::new(Deed {
            target: KeywordName::new("context"),
            action: KeywordName::new("query"),
            outcome: Outcome::Done(value),
            call: None,
            arguments: Arc::new(Value::Nil),
            stored: None,
            privacy: Privacy::Secret,
        }))
    };
    let round = ThoughtRound {
        thought: EffectId(1),
        text: "canary-draft".into(),
        opaque: None,
        model: None,
        stop: bridle_loop::DraftStop::Calls,
        privacy: Privacy::Secret,
        calls: vec![RoundCall {
            call: Some(CallId::new("c1")),
            target: Some(KeywordName::new("context")),
            arguments: Arc::new(
                read_one("(:action :query :text \"canary-call\")").unwrap().root().to_value(),
            ),
            end: deed(secret.unwrap().root().to_value()),
        }],
    };
    prompt.rounds = vec![Arc::new(round)];
    let mut context = gathered("what now?");
    context.notes = vec![note("A", "open note", true), note("B", "canary-note", false)];
    context.focus = Some(("canary-focus".into(), Privacy::Secret));
    context.instructions = Some(LabelledText {
        whole: "open words canary-instructions".into(),
        open: Some("open words".into()),
    });
    let names = ["history", "result", "draft", "call", "note", "focus", "instructions"];
    for (privacy, label) in [("remote", Privacy::Private), ("local", Privacy::Secret)] {
        let seat = seat(CodecName::AnthropicMessages, privacy, "");
        let built = build(&prompt, &context, &seat);
        let body = body(&built, &seat);
        for name in names {
            let canary = format!("canary-{name}");
            assert_eq!(body.contains(&canary), privacy == "local", "{privacy} {canary}: {body}");
        }
        for open in ["open answer", "open note", "open words"] {
            assert!(body.contains(open), "{privacy} {open}");
        }
        assert_eq!(body.contains("open result"), privacy == "remote");
        assert_eq!(body.contains(PRIVATE_LINE), privacy == "remote");
        assert_eq!(built.privacy, label, "{privacy}");
        let left = built.parts.iter().filter(|part| part.left_out.is_some()).count();
        assert_eq!(left, if privacy == "remote" { 5 } else { 0 });
    }
}

#[test]
fn what_does_not_fit_goes_the_oldest_history_first() {
    let seat = seat(CodecName::OpenAiChat, "local", ":CONTEXT: 6000\n");
    let mut prompt = prompt("and now?");
    let long = "many words ".repeat(150);
    let say = |number: usize| exchange(&format!("question-{number}."), &long, Privacy::Private);
    prompt.context.history = (0..30).map(say).collect();
    let mut context = gathered("and now?");
    context.notes = vec![note("A", "the note", true)];
    let built = build(&prompt, &context, &seat);
    assert!(built.tokens <= PromptBudget::of(&seat).tokens);
    let body = body(&built, &seat);
    assert!(body.contains("question-29.") && !body.contains("question-0."), "the latest stays");
    assert!(body.contains("the note"));
    let left: Vec<_> = built.parts.iter().filter(|part| part.left_out.is_some()).collect();
    assert!(!left.is_empty() && left.iter().all(|part| part.source == "history"));
}

#[test]
fn rounds_are_calls_and_their_results_and_refusals_have_their_reason() {
    let mut prompt = prompt("do it");
    let rejection = |reason: &str| ProposalRejection {
        target: None,
        action: None,
        code: RefusalCode::Refused,
        reason: reason.into(),
    };
    let call = |end| RoundCall {
        call: Some(CallId::new("c7")),
        target: Some(KeywordName::new("file")),
        arguments: Arc::new(read_one("(:action :read :path \"/a\")").unwrap().root().to_value()),
        end,
    };
    let round = |text: &str, calls| {
        Arc::new(ThoughtRound {
            thought: EffectId(1),
            text: text.into(),
            opaque: None,
            model: None,
            stop: bridle_loop::DraftStop::Calls,
            privacy: Privacy::Private,
            calls,
        })
    };
    let refused = Arc::new(rejection("no reading there"));
    prompt.rounds = vec![
        round("I look.", vec![call(CallEnd::Rejected(refused.clone()))]),
        round("So.", vec![]),
    ];
    prompt.rejected = vec![refused, Arc::new(rejection("the answer is not allowed"))];
    let seat = seat(CodecName::OpenAiChat, "local", "");
    let built = build(&prompt, &gathered("do it"), &seat);
    let roles: Vec<MessageRole> = built.request.messages.iter().map(|it| it.role).collect();
    use MessageRole::{Assistant, User};
    assert_eq!(roles, [User, Assistant, User, Assistant, User]);
    let call = built.request.messages[1].tool_calls().next().unwrap();
    assert_eq!(
        (call.name.as_str(), call.arguments.json().unwrap().as_str()),
        ("file_read", r#"{"path":"/a"}"#)
    );
    let MessagePart::ToolResult(result) = &built.request.messages[2].parts[0] else { panic!() };
    assert_eq!(result.call_id, "c7");
    let body = body(&built, &seat);
    assert!(body.contains("not allowed (refused): no reading there"), "{body}");
    assert!(built.request.messages[4].text().contains("the answer is not allowed"));
    let textual = self::seat(CodecName::OpenAiChat, "local", ":TOOLS: no\n");
    let built = build(&prompt, &gathered("do it"), &textual);
    assert!(built.request.tools.is_empty());
    assert!(built.request.messages[1].text().contains("(:tool :file_read :path \"/a\")"));
    assert!(built.request.system.iter().any(|part| part.text.contains("(:tool :file_read")));
}

#[test]
fn a_summary_of_secrets_is_a_line_in_the_prompt_of_a_model_elsewhere() {
    let summary =
        |privacy, text: &str| ConversationSummary { privacy, exchanges: 2, text: text.into() };
    let mut prompt = prompt("go on");
    prompt.context.summaries = Arc::new([
        summary(Privacy::Private, "- open words"),
        summary(Privacy::Secret, "- canary words"),
    ]);
    for (privacy, label) in [("remote", Privacy::Private), ("local", Privacy::Secret)] {
        let seat = seat(CodecName::OpenAiChat, privacy, "");
        let built = build(&prompt, &gathered("go on"), &seat);
        let body = body(&built, &seat);
        assert!(body.contains("open words"), "{privacy}: {body}");
        assert_eq!(body.contains("canary"), privacy == "local", "{privacy}: {body}");
        assert_eq!(body.contains(PRIVATE_LINE), privacy == "remote", "{privacy}: {body}");
        assert_eq!(built.privacy, label, "{privacy}");
    }
}
