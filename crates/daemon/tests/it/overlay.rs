//! ASTs over real sockets: what is sent as `:ast` comes back byte for byte, whatever it is.

use bridle_sexp::{Dialect, Reader, Value, print};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::{
    CHECK, FrameClient, HEALTHY, assert_answered, assert_error,
};

/// Trees that are made up for one run.
const TREES: usize = 100;

const GET: &str =
    "(:type :REQUEST :id 9 :target :context :payload (:action :get-ast :file \"/a\"))";

/// Both shapes: as the first Emacs client sent it, and as org-element prints it with `:parent` cut.
const SHAPES: [&str; 2] = [
    "(:type org-data :properties nil :contents ((:type headline :properties (:raw-value \"Hello\" \
     :tags \"(project)\" :title \"(Hello)\" :TODO-STATE nil) :contents ((:type paragraph :properties \
     (:begin 9 :end 15) :contents (#(\"World \" 0 6 (:parent nil))))))))",
    "(org-data nil (headline (:raw-value \"Hello — λ 😀\" :begin 1 :level 1 :priority 65 :tags (\"a\" \
     #(\"b\" 0 1 (face (bold . t)))) :title (#(\"Hello\" 0 5 (:parent nil))) :parent nil) (section \
     (:begin 9 :parent nil) (paragraph (:post-affiliated 9) #(\"World\n\" 0 5 (:parent nil) 5 6 \
     (:parent nil invisible org-link)) (bold (:parent nil) \"x\")))))",
];

fn update(ast: &str) -> String {
    format!("(:type :EVENT :id 1 :payload (:sensor :buffer-update :file \"/a\" :ast {ast}))")
}

/// The text of the AST in an answer.
fn ast_of(answer: &str) -> &str {
    let head = "(:type :RESPONSE :id 9 :payload (:status :success :action :get-ast :file \"/a\" ";
    assert!(answer.starts_with(head), "{answer}");
    let (_, ast) = answer.split_once(" :ast ").expect("an AST");
    ast.strip_suffix("))").expect("the end of the answer")
}

async fn joined(daemon: &TestDaemon, hello: &str) -> FrameClient {
    let mut peer = daemon.peer().await;
    let hello = format!("(:type :EVENT :payload (:action :handshake :session \"s\" {hello}))");
    let welcome = peer.ask(&hello).await;
    assert!(welcome.contains(":status :success"), "{welcome}");
    peer
}

/// The next answer to `GET`, whatever else comes.
async fn answer(peer: &mut FrameClient) -> String {
    loop {
        let frame = peer.frame().await.expect("an answer");
        if frame.starts_with("(:type :RESPONSE :id 9 ") {
            return frame;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_shapes_come_back_as_they_were_with_and_without_a_hello() {
    let daemon = TestDaemon::start().await;
    let mut plain = daemon.peer().await;
    let mut emacs = joined(&daemon, ":dialect :emacs :length :bytes").await;
    for shape in SHAPES {
        assert_answered(&plain.ask(&update(shape)).await, "1");
        assert_eq!(ast_of(&plain.ask(GET).await), shape);
        // Nobody waits for the first answer.
        emacs.say(&update(shape)).await;
        emacs.say(GET).await;
        assert_eq!(ast_of(&answer(&mut emacs).await), shape);
    }
    assert_answered(&plain.ask(&update("(x)").replace(":file", ":state :saved :file")).await, "1");
    assert_error(&plain.ask(GET).await, "invalid-value");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ast_survives_the_daemon() {
    let daemon = TestDaemon::start().await;
    let mut peer = joined(&daemon, "").await;
    peer.say(&update(SHAPES[1])).await;
    peer.say(GET).await;
    assert_eq!(ast_of(&answer(&mut peer).await), SHAPES[1]);
    let (end, dir) = daemon.begin_stop();
    end.await.unwrap().unwrap();
    let daemon = TestDaemon::again(dir, |_, _| {}).await;
    let mut peer = joined(&daemon, "").await;
    peer.say(GET).await;
    assert_eq!(ast_of(&answer(&mut peer).await), SHAPES[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_fit_comes_in_parts_or_says_so() {
    let daemon = TestDaemon::start().await;
    let ast = format!("(org-data nil {})", "(bold nil \"\\\"x\\\" 😀\") ".repeat(500));
    let mut peer = daemon.peer().await;
    assert!(peer.ask(&hello(":max-frame 1024")).await.contains(":status :success"));
    peer.say(&update(&ast)).await;
    peer.say(GET).await;
    assert_error(&answer(&mut peer).await, "frame-too-large");
    let mut peer = joined(&daemon, ":max-frame 2048 :capabilities (:parts)").await;
    peer.say(GET).await;
    let mut whole = String::new();
    while !whole.ends_with("))") {
        let frame = peer.frame().await.expect("a part");
        let tree = Reader::new().read_one(&frame).expect("a form");
        if let Some(data) = tree.root().get("data") {
            whole.push_str(&data.as_str().expect("text"));
        }
    }
    assert_eq!(ast_of(&whole), ast);
}

fn hello(rest: &str) -> String {
    format!("(:type :EVENT :payload (:action :handshake :session \"s\" {rest}))")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_asts_are_answered_and_nothing_of_them_is_kept() {
    let daemon = TestDaemon::start().await;
    let mut peer = daemon.peer().await;
    let deep = |depth: usize| format!("{}{}", "(".repeat(depth), ")".repeat(depth));
    let refused = [
        ("#1=(a #1#)".to_owned(), "syntax"),
        ("(a #1#)".to_owned(), "syntax"),
        ("(a #.(kill-emacs))".to_owned(), "syntax"),
        ("(a #<buffer x>)".to_owned(), "syntax"),
        ("(a ;comment\n)".to_owned(), "syntax"),
        (deep(100_000), "syntax"),
        (deep(511), "syntax"),
        (format!("({})", "9".repeat(5000)), "syntax"),
        ("\"text\"".to_owned(), "wrong-type"),
        ("#(\"text\" 0 4 (a b))".to_owned(), "wrong-type"),
        ("5".to_owned(), "wrong-type"),
    ];
    for (ast, code) in &refused {
        assert_error(&peer.ask(&update(ast)).await, code);
        assert_error(&peer.ask(GET).await, "invalid-value");
    }
    // Odd, and nobody's business.
    let odd = [
        "(#(\"text\" 0 99 (a)))".to_owned(),
        "(#(\"text\" 4 0 nil))".to_owned(),
        "(#(\"\"))".to_owned(),
        "(a . (b . (c . d)))".to_owned(),
        "(:key :key nil NIL () [] #())".to_owned(),
        "(:ast (:ast (:reply-stream 1 :socket 2)) :approved t)".to_owned(),
        "(\"))) :ast (\")".to_owned(),
        deep(400),
    ];
    for ast in &odd {
        assert_answered(&peer.ask(&update(ast)).await, "1");
        assert_eq!(ast_of(&peer.ask(GET).await), ast);
    }
    assert_eq!(peer.ask(CHECK).await, HEALTHY);
}

fn tree() -> impl Strategy<Value = Value> {
    let text = || ".{0,8}".prop_map(|text: String| text);
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<i64>().prop_map(Value::int),
        (-1e9..1e9_f64).prop_map(Value::float),
        text().prop_map(Value::str),
        "[a-z][a-zA-Z0-9-]{0,6}".prop_map(|name| Value::keyword(&name)),
        text().prop_filter("a name", |name| !name.is_empty()).prop_map(|name| Value::symbol(&name)),
    ];
    let node = leaf.prop_recursive(6, 60, 6, move |inner| {
        let many = prop::collection::vec(inner.clone(), 0..6);
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => many.clone().prop_map(Value::list),
            1 => (some, inner.clone()).prop_map(|(items, tail)| Value::dotted(items, tail)),
            1 => many.prop_map(Value::vector),
            1 => (text(), inner).prop_map(|(text, property)| Value::Propertized {
                text: text.into(),
                runs: vec![Value::int(0), Value::int(1), Value::list([Value::keyword("p"), property])],
            }),
        ]
    });
    prop::collection::vec(node, 1..4).prop_map(Value::list)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_tree_comes_back_as_the_same_text_and_means_the_same_in_the_other_dialect() {
    let daemon = TestDaemon::start().await;
    let mut lisp = joined(&daemon, ":length :bytes").await;
    let mut emacs = joined(&daemon, ":dialect :emacs :length :bytes").await;
    let (mut runner, trees) = (TestRunner::deterministic(), tree());
    for _ in 0..TREES {
        let value = trees.new_tree(&mut runner).expect("a tree").current();
        for dialect in [Dialect::Lisp, Dialect::Emacs] {
            let mut text = String::new();
            print(&value, dialect, &mut text);
            let (own, other, others) = match dialect {
                Dialect::Lisp => (&mut lisp, &mut emacs, Dialect::Emacs),
                Dialect::Emacs => (&mut emacs, &mut lisp, Dialect::Lisp),
            };
            own.say(&update(&text)).await;
            own.say(GET).await;
            assert_eq!(ast_of(&answer(own).await), text);
            other.say(GET).await;
            let told = answer(other).await;
            let read = Reader::new().dialect(others).read_one(ast_of(&told)).expect("a form");
            assert_eq!(read.root().to_value(), value, "{text}");
        }
    }
}
