//! Shells with a hello: sessions, cursors, roles, receipts, repeats, deltas, sizes.

use bridle_sexp::Value;

use crate::shell::{Shell, assert_code, at, daemon, hello, number, prompt, scripted, text, value};
use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{CHECK, FrameClient, HEALTHY, assert_error};

const STATUS: &str = ":payload (:sensor :user-prompt :text \"status\")";

#[tokio::test]
async fn a_hello_gets_a_session_or_the_one_it_names() {
    let daemon = daemon().await;
    let fresh = Shell::attach(&daemon, ":shell :tui").await;
    let other = Shell::attach(&daemon, ":shell :tui").await;
    assert_ne!(fresh.session(), other.session());
    let named = Shell::attach(&daemon, ":session \"work\"").await;
    assert_eq!(named.session(), "work");
    assert_eq!(number(&named.welcome, "meta seq"), 0);
    assert!(at(&named.welcome, "payload role").is_keyword("controller"), "{}", named.welcome);
    assert!(at(&named.welcome, "payload state").is_keyword("idle"), "{}", named.welcome);
}

#[tokio::test]
async fn two_shells_see_each_other_and_not_themselves() {
    let daemon = daemon().await;
    let hello_a = ":session \"work\" :client \"a\" :shell :emacs :receipts t";
    let mut a = Shell::attach(&daemon, hello_a).await;
    let mut b = Shell::attach(&daemon, ":session \"work\" :client \"b\" :shell :tui").await;
    a.say(&prompt(7, "status")).await;

    let receipt = a.next().await;
    assert!(at(&receipt, "type").is_keyword("STATUS"), "{receipt}");
    assert_eq!(at(&receipt, "id").as_i64(), Some(7), "{receipt}");
    assert_eq!(text(&receipt, "payload session"), "work");
    let seq = number(&receipt, "payload seq");
    let answer = a.next().await;
    assert!(at(&answer, "type").is_keyword("RESPONSE"), "{answer}");
    assert_eq!(number(&answer, "meta answers"), seq, "{answer}");

    let heard = b.next().await;
    assert!(at(&heard, "type").is_keyword("EVENT"), "{heard}");
    assert!(at(&heard, "meta source").is_keyword("emacs"), "{heard}");
    assert_eq!(text(&heard, "meta client"), "a");
    assert_eq!(number(&heard, "meta seq"), seq);
    assert_eq!(text(&heard, "payload text"), "status");
    assert!(at(&heard, "meta own").is_nil() && at(&heard, "meta id").is_nil(), "{heard}");
    let echoed = b.next().await;
    assert!(at(&echoed, "type").is_keyword("EVENT"), "{echoed}");
    assert_eq!(at(&echoed, "meta seq"), at(&answer, "meta seq"));
    assert_eq!(at(&echoed, "payload"), at(&answer, "payload"));
}

#[tokio::test]
async fn a_repeat_gets_the_same_receipt_and_another_body_a_conflict() {
    let daemon = daemon().await;
    let fields = ":session \"work\" :client \"a\" :receipts t";
    let mut first = Shell::attach(&daemon, fields).await;
    first.say(&prompt(7, "status")).await;
    let receipt = first.next().await;
    first.response(7).await;
    drop(first);

    let mut again = Shell::attach(&daemon, fields).await;
    again.say(&prompt(7, "status")).await;
    assert_eq!(again.next().await, receipt);
    again.say(&prompt(7, "help")).await;
    assert_code(&again.response(7).await, "id-conflict");
    // Nothing is owed for a repeat: a hello is taken at once.
    again.say(&prompt(7, "status")).await;
    assert_eq!(again.next().await, receipt);
    again.say(&hello(fields)).await;
    assert_eq!(text(&again.next().await, "payload session"), "work");
    // Neither was done again: the next number is the next one.
    let answer = again.ask(8, STATUS).await;
    assert_eq!(number(&answer, "meta seq"), number(&receipt, "payload seq") + 3, "{answer}");
}

#[tokio::test]
async fn without_a_client_name_there_are_no_repeats() {
    let daemon = daemon().await;
    let mut shell = Shell::attach(&daemon, ":session \"work\"").await;
    let first = shell.ask(1, STATUS).await;
    let second = shell.ask(1, STATUS).await;
    assert_eq!(number(&second, "meta seq"), number(&first, "meta seq") + 2);
}

#[tokio::test]
async fn a_cursor_brings_every_number_once_in_order() {
    let daemon = daemon().await;
    let fields = ":session \"work\" :client \"a\" :shell :emacs";
    let mut shell = Shell::attach(&daemon, fields).await;
    for id in 1..=100 {
        shell.ask(id, STATUS).await;
    }
    drop(shell);
    let mut back = Shell::attach(&daemon, &format!("{fields} :cursor 50")).await;
    assert_eq!(number(&back.welcome, "meta seq"), 200);
    for seq in 51..=200 {
        let frame = back.next().await;
        assert_eq!(number(&frame, "meta seq"), seq, "{frame}");
        if seq % 2 == 1 {
            assert!(matches!(at(&frame, "meta own"), Value::T), "{frame}");
            assert_eq!(number(&frame, "meta id"), (seq + 1) / 2, "{frame}");
        } else {
            assert!(at(&frame, "type").is_keyword("RESPONSE"), "{frame}");
            assert_eq!(number(&frame, "id"), seq / 2, "{frame}");
        }
    }
    let answer = back.ask(101, STATUS).await;
    assert_eq!(number(&answer, "meta seq"), 202, "{answer}");
}

#[tokio::test]
async fn a_connection_that_is_cut_gets_the_rest_behind_its_cursor() {
    let daemon = scripted("(default :delay 100 :say \"done\")").await;
    let fields = ":session \"work\" :client \"a\" :receipts t";
    let mut shell = Shell::attach(&daemon, fields).await;
    shell.say(&prompt(1, "go")).await;
    assert_eq!(number(&shell.next().await, "payload seq"), 1);
    drop(shell);
    let mut back = Shell::attach(&daemon, &format!("{fields} :cursor 1")).await;
    let answer = back.response(1).await;
    assert_eq!(number(&answer, "meta answers"), 1);
    assert_eq!(text(&answer, "payload text"), "done");
}

#[tokio::test]
async fn an_observer_hears_and_may_not_speak() {
    let daemon = daemon().await;
    let mut speaker = Shell::attach(&daemon, ":session \"work\"").await;
    let mut observer = Shell::attach(&daemon, ":session \"work\" :role :observer").await;
    assert!(at(&observer.welcome, "payload role").is_keyword("observer"));
    assert_code(&observer.ask(1, STATUS).await, "not-permitted");
    observer.say("(:type :RESPONSE :id \"work-1\" :payload (:status :success))").await;
    let refused = observer.next().await;
    assert!(at(&refused, "payload status").is_keyword("error"), "{refused}");
    speaker.ask(1, STATUS).await;
    assert_eq!(number(&observer.next().await, "meta seq"), 1);
    assert_eq!(number(&observer.next().await, "meta seq"), 2);
}

#[tokio::test]
async fn an_observer_makes_no_session() {
    let daemon = daemon().await;
    let mut peer = daemon.unix_peer().await;
    let answer = peer.ask(&hello(":session \"nowhere\" :role :observer")).await;
    assert_error(&answer, "unknown-session");
    assert_error(&peer.ask(&prompt(1, "hi")).await, "unknown-session");
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
    let answer = peer.ask(&hello(":session \"somewhere\"")).await;
    assert!(at(&value(&answer), "payload status").is_keyword("success"), "{answer}");
}

#[tokio::test]
async fn a_session_of_another_principal_does_not_exist() {
    let daemon = daemon().await;
    let mut owner = Shell::attach(&daemon, ":session \"mine\"").await;
    owner.ask(1, STATUS).await;
    let mut stranger = daemon.peer().await;
    for fields in [":session \"mine\"", ":session \"mine\" :cursor 0 :role :observer"] {
        let answer = stranger.ask(&hello(fields)).await;
        assert_error(&answer, "unknown-session");
    }
    // The owner sees what strangers do.
    let mut stranger = daemon.peer().await;
    stranger.ask(&hello(":session \"theirs\"")).await;
    stranger.ask(&prompt(1, "status")).await;
    let mut watcher = Shell::attach(&daemon, ":session \"theirs\" :cursor 0").await;
    assert_eq!(number(&watcher.next().await, "meta seq"), 1);
}

#[tokio::test]
async fn a_name_that_is_none_is_refused_with_its_path() {
    let daemon = daemon().await;
    let mut peer = daemon.unix_peer().await;
    for name in ["a b", "../x", "\u{e9}", ""] {
        let answer = peer.ask(&hello(&format!(":session \"{name}\""))).await;
        assert_error(&answer, "invalid-value");
        assert!(answer.contains(":path (:payload :session)"), "{answer}");
        assert!(name.is_empty() || !answer.contains(name), "{answer}");
    }
}

#[tokio::test]
async fn a_second_hello_moves_to_another_session() {
    let daemon = scripted("(default :delay 100 :say \"done\")").await;
    let mut shell = Shell::attach(&daemon, ":session \"one\"").await;
    shell.say(&prompt(1, "go")).await;
    shell.say(&hello(":session \"two\"")).await;
    // What was asked in the first is answered first.
    assert_eq!(text(&shell.response(1).await, "meta session"), "one");
    let welcome = shell.next().await;
    assert_eq!(text(&welcome, "payload session"), "two");
    assert_eq!(text(&shell.ask(2, STATUS).await, "meta session"), "two");
}

#[tokio::test]
async fn an_interrupt_gives_the_turn_up() {
    let daemon = scripted("(default :delay 60000 :say \"never\")").await;
    let mut shell = Shell::attach(&daemon, ":session \"work\"").await;
    shell.say(&prompt(1, "go")).await;
    let status = shell.of_type("STATUS").await;
    assert!(at(&status, "payload status").is_keyword("thinking"), "{status}");
    shell.say("(:type :EVENT :id 2 :payload (:sensor :interrupt))").await;
    let mut answers = [shell.next().await, shell.next().await];
    answers.sort_by_key(|answer| number(answer, "id"));
    assert_code(&answers[0], "cancelled");
    assert!(at(&answers[1], "payload status").is_keyword("success"), "{}", answers[1]);
    let status = shell.of_type("STATUS").await;
    assert!(at(&status, "payload status").is_keyword("idle"), "{status}");
}

#[tokio::test]
async fn deltas_come_before_the_answer_and_have_no_number() {
    let rules = "(default :stream (\"one \" \"two \" \"three\") :pace 300)";
    let daemon = scripted(rules).await;
    let mut shell = Shell::attach(&daemon, ":session \"work\" :render-rate 60").await;
    shell.say(&prompt(1, "go")).await;
    let mut streamed = String::new();
    let answer = loop {
        let frame = shell.any().await;
        if at(&frame, "payload action").is_keyword("delta") {
            assert!(at(&frame, "meta seq").is_nil(), "{frame}");
            streamed.push_str(&text(&frame, "payload text"));
        } else if at(&frame, "type").is_keyword("RESPONSE") {
            break frame;
        }
    };
    assert_eq!(text(&answer, "payload text"), "one two three");
    assert!(!streamed.is_empty() && "one two three".starts_with(&streamed), "{streamed}");
    // A client without hello sees none of it.
    let mut plain = daemon.peer().await;
    let answer = value(&plain.ask(&prompt(1, "go")).await);
    assert_eq!(text(&answer, "payload text"), "one two three");
}

#[tokio::test]
async fn an_emacs_shell_reads_and_writes_the_escapes_of_emacs() {
    let daemon = scripted("(rule :when \"*\" :say \"got $1\")").await;
    let mut emacs = Shell::attach(&daemon, ":session \"work\" :dialect :emacs").await;
    let mut lisp = Shell::attach(&daemon, ":session \"work\"").await;
    emacs.say("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"a\\nb\"))").await;
    let raw = next_raw(&mut emacs.peer).await;
    assert!(raw.contains(":text \"got a\\nb\""), "{raw}");
    assert_eq!(text(&lisp.next().await, "payload text"), "a\nb");
    assert_eq!(text(&lisp.next().await, "payload text"), "got a\nb");
}

/// The next frame that is no status, as text.
async fn next_raw(peer: &mut FrameClient) -> String {
    loop {
        let text = peer.frame().await.unwrap();
        if !text.starts_with("(:type :STATUS ") {
            return text;
        }
    }
}

#[tokio::test]
async fn what_does_not_fit_keeps_its_number() {
    let daemon = scripted("(rule :when \"*\" :say \"$1\")").await;
    let mut speaker = Shell::attach(&daemon, ":session \"work\"").await;
    let mut small = Shell::attach(&daemon, ":session \"work\" :max-frame 1024").await;
    let fields = ":session \"work\" :max-frame 1024 :capabilities (:parts)";
    let mut parts = Shell::attach(&daemon, fields).await;
    let long = "x".repeat(3000);
    speaker.say(&prompt(1, &long)).await;
    speaker.response(1).await;
    for seq in 1..=2 {
        let frame = small.next().await;
        assert!(at(&frame, "payload action").is_keyword("omitted"), "{frame}");
        assert_eq!(number(&frame, "meta seq"), seq);
        assert!(number(&frame, "payload bytes") > 3000, "{frame}");
        let frame = value(&joined(&mut parts.peer).await);
        assert_eq!(number(&frame, "meta seq"), seq);
        assert_eq!(text(&frame, "payload text"), long);
    }
    // Its own answer is an error under its own id.
    small.say(&prompt(9, &long)).await;
    let answer = small.response(9).await;
    assert_code(&answer, "frame-too-large");
    assert_eq!(number(&answer, "meta seq"), 4, "{answer}");
}

/// The next message that comes in parts, put together.
async fn joined(peer: &mut FrameClient) -> String {
    let mut whole = String::new();
    loop {
        let part = value(&next_raw(peer).await);
        whole.push_str(&text(&part, "data"));
        if at(&part, "part n") == at(&part, "part of") {
            return whole;
        }
    }
}

#[tokio::test]
async fn a_shell_that_ends_its_sending_is_still_answered() {
    let daemon = scripted("(default :delay 100 :say \"done\")").await;
    let mut shell = Shell::attach(&daemon, ":session \"work\"").await;
    shell.say(&prompt(1, "go")).await;
    shell.peer.end().await;
    assert_eq!(text(&shell.response(1).await, "payload text"), "done");
    shell.peer.rest().await;
}

#[tokio::test]
async fn a_shell_that_does_not_read_costs_its_output_and_no_more() {
    const LIMIT: usize = 64 << 10;
    let daemon = TestDaemon::with(|config, dir| {
        config.unix = Some(dir.join("socket"));
        config.limits.output = LIMIT;
    })
    .await;
    let mut shell = Shell::attach(&daemon, ":session \"work\"").await;
    let text = "x".repeat(32 << 10);
    for id in 1..=100 {
        let log = format!("(:type :LOG :id {id} :payload (:text \"{text}\"))");
        shell.say(&log).await;
        shell.response(id).await;
    }
    drop(shell);
    let mut slow = Shell::attach(&daemon, ":session \"work\" :cursor 0").await;
    // Everybody else is served meanwhile, and the daemon holds one window and one event.
    for _ in 0..20 {
        daemon.assert_alive().await;
        let held = daemon.metric("bridle_in_flight_bytes").await;
        assert!(held <= (LIMIT + (40 << 10)) as u64, "{held} bytes held");
    }
    for seq in 1..=200 {
        assert_eq!(number(&slow.next().await, "meta seq"), seq);
    }
}

#[tokio::test]
async fn answers_are_its_own_however_far_behind_the_shell_is() {
    let daemon = daemon().await;
    let mut shell = Shell::attach(&daemon, ":session \"work\"").await;
    // Far more than is kept in memory, and one event too large to be kept at all.
    let large = "x".repeat(300 << 10);
    shell.say(&format!("(:type :LOG :id 1 :payload (:text \"{large}\"))")).await;
    for id in 2..=200 {
        // In steps: more than 64 at once would be refused.
        shell.say(&format!("(:type :LOG :id {id} :payload (:text \"x\"))")).await;
        if id % 50 == 0 {
            daemon.assert_alive().await;
            let mut watcher = Shell::attach(&daemon, ":session \"work\" :cursor 0").await;
            while number(&watcher.next().await, "meta seq") < 2 * id {}
        }
    }
    for id in 1..=200 {
        let answer = shell.next().await;
        assert!(at(&answer, "type").is_keyword("RESPONSE"), "{answer}");
        assert_eq!(number(&answer, "id"), id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_events_keep_their_place_among_small_ones() {
    let daemon = daemon().await;
    let mut speaker = Shell::attach(&daemon, ":session \"work\"").await;
    let mut emacs = Shell::attach(&daemon, ":session \"work\" :dialect :emacs").await;
    let mut lisp = Shell::attach(&daemon, ":session \"work\"").await;
    let large = "\n(x)".repeat(100_000);
    for id in 1..=10 {
        let text = if id % 3 == 0 { &large } else { "small" };
        speaker.say(&format!("(:type :LOG :id {id} :payload (:text \"{text}\"))")).await;
        speaker.response(id).await;
    }
    for seq in 1..=20 {
        let frame = lisp.next().await;
        assert_eq!(number(&frame, "meta seq"), seq);
        if seq == 5 {
            assert_eq!(text(&frame, "payload text"), large);
        }
        let raw = next_raw(&mut emacs.peer).await;
        assert!(raw.contains(&format!(":seq {seq} ")), "{seq}");
        assert!(!raw.contains('\n'), "{seq}");
    }
}

#[tokio::test]
async fn an_answer_says_what_it_followed_from_to_whoever_asked_for_that() {
    let daemon = daemon().await;
    let keys = ":session \"work\" :client \"a\" :capabilities (:gate-trace :rule-count :foveal-id)";
    let mut curious = Shell::attach(&daemon, keys).await;
    let mut plain = Shell::attach(&daemon, ":session \"work\" :client \"b\"").await;
    let place = "(:type :EVENT :id 1 :payload (:sensor :focus :file \"/notes/a.org\" :line 3))";
    curious.say(place).await;
    let noted = curious.next().await;
    assert_eq!(at(&noted, "payload gate-trace"), &Value::Nil, "{noted}");
    assert_eq!(number(&noted, "payload rule-count"), 0, "{noted}");
    curious.say(&prompt(2, "status")).await;
    let answer = curious.next().await;
    assert!(at(&answer, "type").is_keyword("RESPONSE"), "{answer}");
    assert!(text(&answer, "payload text").contains("bridle"), "{answer}");
    assert_eq!(text(&answer, "payload foveal-id"), "/notes/a.org", "{answer}");
    let gates = at(&answer, "payload gate-trace").elements().expect("gates").to_vec();
    let count = i64::try_from(gates.len()).expect("a small number");
    assert_eq!(number(&answer, "payload rule-count"), count, "{answer}");
    let last = gates.last().expect("a gate");
    assert!(
        at(last, "gate").is_keyword("policy") && at(last, "result").is_keyword("allow"),
        "{last}"
    );
    // Whoever did not ask for it has the answer alone, as the record has it.
    loop {
        let heard = plain.next().await;
        assert!(at(&heard, "payload gate-trace").is_nil(), "{heard}");
        if at(&heard, "meta seq") == at(&answer, "meta seq") {
            break;
        }
    }
}
