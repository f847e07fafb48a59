//! ASTs of unsaved buffers: kept exactly, by whom they are seen, when they go.
//!
//! Tests whose names begin with `m` and a number show what went wrong before bridle: text beyond Latin-1
//! broke the update (m1), nodes without an id became one (m2), a node was not found by its file and never
//! went (m3), every movement of the cursor copied everything (m4), the past grew for ever (m6), two
//! writers at once spoiled each other's (m7).

use std::path::Path;
use std::sync::Arc;

use bridle_memex::{BufferTextStore, NewBufferText};
use bridle_sexp::{Dialect, Value};

use super::rig::{self, Rig, Shell, observer, owner, stranger};
use crate::access::principal::Principal;
use crate::engine::error::EngineErrorCode;
use crate::engine::{DaemonQuery, QueryAnswer, QueryAsker, StreamEventKind};

const ORG: &str = "/m/a.org";

/// An AST whose text a printer would write otherwise.
const AST: &str = "( :type  headline\n :TITLE \"a\" :title 'x :n 1.50 :parent NIL :contents ((:type \
                   paragraph :contents (#(\"World \" 0 6 (:parent nil))))) )";

fn update(id: i64, rest: &str) -> String {
    let payload = format!(":sensor :buffer-update :file \"{ORG}\" {rest}");
    format!("(:type :EVENT :id {id} :payload ({payload}))")
}

fn put(id: i64, ast: &str) -> String {
    update(id, &format!(":state :modified :ast {ast}"))
}

/// The text of the AST in the answer to `:get-ast`.
async fn get_as(
    rig: &Rig,
    who: Principal,
    own: Option<&Shell>,
    payload: &str,
) -> Result<String, EngineErrorCode> {
    let text = format!("(:type :REQUEST :id 9 :target :context :payload {payload})");
    let query = rig::query(&text);
    let DaemonQuery::Context(asked) = query.map_err(|failure| failure.code)? else {
        panic!("not about the context")
    };
    let own = own.map(|shell| shell.0.session().clone());
    let from = QueryAsker { who, own, dialect: Dialect::Lisp };
    match crate::engine::inform(Arc::clone(&rig.hub), from, asked)
        .await
        .map_err(|failure| failure.code)?
    {
        QueryAnswer::Text(text) => {
            let (_, ast) = text.split_once(" :ast ").expect("an AST");
            Ok(ast.strip_suffix(')').expect("the end of the payload").to_owned())
        }
        QueryAnswer::Value(value) => Ok(value.to_string()),
    }
}

async fn get(rig: &Rig, shell: &Shell) -> Result<String, EngineErrorCode> {
    get_as(rig, owner(), Some(shell), &format!("(:action :get-ast :file \"{ORG}\")")).await
}

fn rows(rig: &Rig) -> usize {
    BufferTextStore::open(rig.path()).expect("the overlays").rows().expect("read").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ast_comes_back_as_it_was_after_a_restart_and_to_who_joins() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(&put(1, AST));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok(AST), "though nobody waited");
    let watcher = rig.join("work", observer).await;
    assert_eq!(get(&rig, &watcher).await.as_deref(), Ok(AST));
    drop((shell, watcher));
    let rig = rig.restart().await;
    let shell = rig.join("work", |want| want.cursor = Some(0)).await;
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok(AST));
    let said = shell.body(StreamEventKind::Signal).await;
    let payload = said.get("payload").expect("a payload");
    assert_eq!(payload.get("ast"), None, "{payload}");
    let bytes = payload.get("overlay").and_then(|it| it.get("bytes")).and_then(Value::as_i64);
    assert_eq!(bytes, i64::try_from(AST.len()).ok(), "{payload}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m3_an_ast_goes_when_its_buffer_is_saved_closed_or_reverted() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    for (n, state) in ["saved", "CLOSED", "reverted", "unmodified"].into_iter().enumerate() {
        let id = 2 * i64::try_from(n).expect("small");
        shell.send(&put(id, "(a)"));
        assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(a)"), "{state}");
        shell.send(&update(id + 1, &format!(":state :{state} :ast (b)")));
        assert_eq!(get(&rig, &shell).await, Err(EngineErrorCode::InvalidValue), "{state}");
    }
    let rig = rig.restart().await;
    let shell = rig.join("work", |_| {}).await;
    assert_eq!(get(&rig, &shell).await, Err(EngineErrorCode::InvalidValue));
    assert_eq!(rows(&rig), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m3_a_buffer_is_found_by_its_file_or_its_name_and_by_no_other() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(&put(1, "(file)"));
    shell.send(
        "(:type :EVENT :id 2 :payload (:sensor :buffer-update :buffer \"*x*\" :ast (buffer)))",
    );
    let get = async |key: &str, name: &str| {
        let payload = format!("(:action :get-ast :{key} \"{name}\")");
        get_as(&rig, owner(), Some(&shell), &payload).await
    };
    assert_eq!(get("file", "/m/./x/../a.org").await.as_deref(), Ok("(file)"));
    assert_eq!(get("buffer", "*x*").await.as_deref(), Ok("(buffer)"));
    assert_eq!(get("file", "*x*").await, Err(EngineErrorCode::InvalidValue));
    assert_eq!(get("file", "/m/b.org").await, Err(EngineErrorCode::InvalidValue));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_elses_session_is_looked_into() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(&put(1, AST));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok(AST));
    let theirs = rig.try_join(stranger(), "theirs", |_| {}).await.expect("attached");
    let named = format!("(:action :get-ast :file \"{ORG}\" :session \"work\")");
    let own = format!("(:action :get-ast :file \"{ORG}\")");
    let asked = get_as(&rig, stranger(), Some(&theirs), &named).await;
    assert_eq!(asked, Err(EngineErrorCode::UnknownSession));
    let absent = named.replace("\"work\"", "\"none\"");
    assert_eq!(get_as(&rig, stranger(), Some(&theirs), &absent).await, asked, "as if not there");
    assert_eq!(
        get_as(&rig, stranger(), Some(&theirs), &own).await,
        Err(EngineErrorCode::InvalidValue)
    );
    let modified = format!("(:action :modified :file \"{ORG}\")");
    let told = get_as(&rig, stranger(), Some(&theirs), &modified).await.expect("told");
    assert!(told.contains(":modified nil"), "{told}");
    assert_eq!(get_as(&rig, owner(), None, &named).await.as_deref(), Ok(AST));
    assert_eq!(get_as(&rig, owner(), None, &own).await, Err(EngineErrorCode::InvalidValue));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_modified_until_it_is_saved() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    let who = async |rig: &Rig| {
        let payload = format!("(:action :modified :file \"{ORG}\")");
        let shell = rig.join("asking", |_| {}).await;
        get_as(rig, owner(), Some(&shell), &payload).await.expect("told")
    };
    assert!(who(&rig).await.contains(":modified nil"));
    shell.send(&update(1, ":state :modified"));
    let barrier = get(&rig, &shell).await;
    assert_eq!(barrier, Err(EngineErrorCode::InvalidValue), "modified, and no AST");
    let rig = rig.restart().await;
    let told = who(&rig).await;
    assert!(told.contains(":modified t :session \"work\" :by \"uid:1000\" :at "), "{told}");
    let found = rig.hub.home.buffers.modified("uid:1000", Path::new(ORG), rig.hub.home.now());
    assert_eq!(found.map(|found| found.by).as_deref(), Some("uid:1000"));
    let shell = rig.join("work", |_| {}).await;
    shell.send(&update(2, ":state :saved"));
    let _ = get(&rig, &shell).await;
    assert!(who(&rig).await.contains(":modified nil"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_comes_again_does_not_bring_an_old_ast_back() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |want| want.client = Some("6f1c".into())).await;
    shell.send(&put(1, "(old)"));
    shell.send(&put(2, "(new)"));
    shell.send(&put(1, "(old)"));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(new)"));
    shell.send(&put(1, "(forged)"));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(new)"), "one id, one AST");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_never_recorded_is_dropped_at_the_start() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(&put(1, "(a)"));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(a)"));
    drop(shell);
    let facts = format!(
        "(:file \"{ORG}\" :owner \"uid:1000\" :by \"uid:1000\" :at 5 :what :ast :dialect :lisp \
         :hash \"{}\" :bytes 3)",
        bridle_record::hash_text("(b)")
    );
    let new = |session, seq| NewBufferText { session, seq, facts: &facts, content: "(b)" };
    let mut texts = BufferTextStore::open(rig.path()).expect("the overlays");
    texts.put(&[new("work", 99), new("no-such", 1)]).expect("put");
    drop(texts);
    let rig = rig.restart().await;
    let shell = rig.join("work", |_| {}).await;
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(a)"));
    assert_eq!(rows(&rig), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forgotten_takes_its_ast_along() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    shell.send(&put(1, "(a)"));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(a)"));
    let other = rig.join("other", |_| {}).await;
    let forget = |what: &str| {
        let payload = format!("(:action :forget {what})");
        format!("(:type :REQUEST :id 1 :target :system :payload {payload})")
    };
    let record = shell.event().await.record;
    other.send(&forget(&format!(":record {record}")));
    other.body(StreamEventKind::Acted).await;
    assert_eq!(get(&rig, &shell).await, Err(EngineErrorCode::InvalidValue));
    assert_eq!(rows(&rig), 0);
    shell.send(&put(2, "(b)"));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(b)"));
    other.send(&forget(":session \"work\""));
    other.body(StreamEventKind::Acted).await;
    assert_eq!(rows(&rig), 0);
    let named = format!("(:action :get-ast :file \"{ORG}\" :session \"work\")");
    assert_eq!(get_as(&rig, owner(), None, &named).await, Err(EngineErrorCode::InvalidValue));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m1_text_of_every_script_comes_back() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    let texts =
        ["رتّب هذه المهام", "请整理这个子树", "👩🏽‍💻 e\u{301}\u{202e}", "\u{0}\u{7f}\u{10ffff}"];
    for (n, text) in texts.into_iter().enumerate() {
        let ast = format!("(headline (:title \"{text}\" :ID nil) #(\"{text}\" 0 1 (:parent nil)))");
        shell.send(&put(i64::try_from(n).expect("small"), &ast));
        assert_eq!(get(&rig, &shell).await.as_deref(), Ok(&*ast));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m2_nodes_without_an_id_stay_as_many_as_they_are() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    let node = "(:type headline :properties (:title \"same\") :contents nil)";
    let ast = format!("(:type org-data :properties nil :contents ({node} {node} {node}))");
    shell.send(&put(1, &ast));
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok(&*ast));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m4_m6_a_cursor_moves_and_a_buffer_changes_at_the_cost_of_one_ast() {
    let rig = Rig::start().await;
    let shell = rig.join("work", |_| {}).await;
    for id in 0..40 {
        shell.send(&put(2 * id, &format!("(a {id})")));
        shell.send(&format!(
            "(:type :EVENT :id {} :payload (:sensor :focus :file \"{ORG}\" :line {id}))",
            2 * id + 1
        ));
        // As many as may wait are never reached.
        if id % 8 == 0 {
            assert_eq!(get(&rig, &shell).await.as_deref(), Ok(&*format!("(a {id})")));
        }
    }
    assert_eq!(get(&rig, &shell).await.as_deref(), Ok("(a 39)"));
    drop(shell);
    let rig = rig.restart().await;
    assert_eq!(rows(&rig), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn m7_shells_that_write_at_once_leave_one_whole_ast_each() {
    let rig = Rig::start().await;
    let shells = [rig.join("a", |_| {}).await, rig.join("b", |_| {}).await];
    let same = rig.join("a", |_| {}).await;
    let body = "(x \"y\") ".repeat(500);
    for id in 0..20 {
        shells[0].send(&put(id, &format!("(a {id} {body})")));
        shells[1].send(&put(id, &format!("(b {id} {body})")));
        same.send(&put(100 + id, &format!("(c {id} {body})")));
    }
    let last = get(&rig, &shells[0]).await.expect("an AST");
    let [a, c] = ["a", "c"].map(|name| format!("({name} 19 {body})"));
    assert!(last == a || last == c, "{last:.20}");
    assert_eq!(get(&rig, &shells[1]).await, Ok(format!("(b 19 {body})")));
    drop((shells, same));
    let rig = rig.restart().await;
    assert_eq!(rows(&rig), 2);
}
