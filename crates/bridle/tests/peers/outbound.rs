//! bridle's own client at a Lisp server that counts characters or bytes: the other direction of `inbound`.

use bridle_sexp::Value;

use crate::support::{self, Server};

#[test]
fn health_is_asked_of_a_lisp_server() {
    for dialect in ["002", "003"] {
        let server = Server::sbcl(dialect);
        let mut command = support::bridle();
        command.args(["health", "--addr", &server.address()]);
        let printed = support::finish(command, b"");
        let printed = String::from_utf8_lossy(&printed).to_lowercase();
        assert!(printed.contains("healthy"), "{dialect}: {printed}");
    }
}

#[test]
fn a_message_is_sent_to_a_lisp_server_and_its_answer_printed() {
    for dialect in ["002", "003"] {
        let server = Server::sbcl(dialect);
        let form = "(:type :EVENT :id \"你好\" :payload (:sensor :user-prompt :text \"سلام 😀\"))";
        let mut command = support::bridle();
        command.args(["send", "--addr", &server.address(), form]);
        let answers = support::forms(&support::finish(command, b""));
        assert_eq!(answers.len(), 1, "{dialect}: {answers:?}");
        assert_eq!(answers[0].get("id").and_then(Value::as_str), Some("你好"), "{dialect}");
        let text = answers[0].get("payload").and_then(|payload| payload.get("text"));
        let text = text.and_then(Value::as_str).unwrap_or_default();
        assert!(text.contains("سلام 😀"), "{dialect}: {}", answers[0]);
    }
}

#[test]
fn signed_questions_are_answered_by_a_lisp_server() {
    let server = Server::sbcl_signed("000");
    let key = support::key_file();
    let mut command = support::bridle();
    command.args(["health", "--addr", &server.address(), "--hmac", "v1", "--key-file"]);
    command.arg(key.path());
    let printed = String::from_utf8_lossy(&support::finish(command, b"")).to_lowercase();
    assert!(printed.contains("healthy"), "{printed}");
}
