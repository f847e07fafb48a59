//! What is cut out of which message, and what stands in its place.

use bridle_record::hash_text;
use bridle_sexp::{Dialect, Reader};
use bridle_wire::OacpCode;

use super::{MAX_SENT_FILES, file_bytes, read_message as read};
use crate::engine::SentFile;

/// Longest name of a buffer, as the engine takes it.
const MAX_PLACE_BYTES: usize = 4096;

const AST: &str =
    "(:type  headline :TITLE \"a\" :title 'x :parent nil :contents (#(\"b\" 0 1 (:p nil))))";

/// The payload and the AST of a message.
fn cut(text: &str) -> (String, Option<String>) {
    let tree = Reader::new().read_one(text).expect("a form");
    let (message, cut) = read(&tree, Dialect::Lisp).expect("a message");
    let payload = message.payload.expect("a payload").to_string();
    (payload, cut.ast.map(|ast| ast.text().to_owned()))
}

fn event(payload: &str) -> String {
    format!("(:type :EVENT :payload ({payload}))")
}

#[test]
fn an_ast_goes_as_it_is_and_its_hash_stays() {
    let update = format!(":sensor :buffer-update :ast {AST} :file \"a.org\" :note 5");
    let (payload, ast) = cut(&event(&update));
    assert_eq!(ast.as_deref(), Some(AST));
    let (hash, bytes) = (hash_text(AST), AST.len());
    let stands = format!(":overlay (:hash \"{hash}\" :bytes {bytes})");
    let expect = format!("(:sensor :buffer-update :file \"a.org\" :note 5 {stands})");
    assert_eq!(payload, expect);
}

#[test]
fn nobody_says_himself_what_stands_for_an_ast() {
    let forged = ":sensor :buffer-update :file \"a.org\" :overlay (:hash \"00\" :bytes 1)";
    assert_eq!(cut(&event(forged)), ("(:sensor :buffer-update :file \"a.org\")".to_owned(), None));
}

#[test]
fn only_the_first_ast_of_a_buffer_update_counts() {
    let check = |payload: &str, expect: Option<&str>| {
        assert_eq!(cut(&event(payload)).1.as_deref(), expect, "{payload}");
    };
    check(":SENSOR :Buffer-Update :FILE \"a\" :AST (x) :ast (y)", Some("(x)"));
    check(":sensor :buffer-update :file \"a\" :ast nil", None);
    check(":sensor :buffer-update :file \"a\" :ast ()", None);
    check(":sensor :user-command :command \"c\" :ast (x)", None);
    let command = cut(&event(":sensor :user-command :command \"c\" :ast (x)")).0;
    assert!(command.contains(":ast (x)"), "{command}");
}

#[test]
fn what_cannot_be_kept_is_refused_and_the_place_is_named() {
    let failure = |file: &str| {
        let text = event(&format!(":sensor :buffer-update :file \"{file}\" :ast (x)"));
        read(&Reader::new().read_one(&text).expect("a form"), Dialect::Lisp).err()
    };
    assert!(failure(&"f".repeat(MAX_PLACE_BYTES)).is_none());
    let refused = failure(&"f".repeat(MAX_PLACE_BYTES + 1)).expect("refused");
    assert_eq!((refused.code, refused.path.to_string()), (OacpCode::InvalidValue, path("file")));
}

fn path(key: &'static str) -> String {
    bridle_wire::oacp::MessagePath::of(&["payload", key]).to_string()
}

#[test]
fn files_go_and_what_is_known_of_them_stays() {
    let text = event(
        ":sensor :user-prompt :attachments ((:mime-type \"image/png\" :data \"Zm9v\" :ref \"x\" \
         :filename \"a.png\") (:uri \"asset:1\")) :text \"hi\"",
    );
    let tree = Reader::new().read_one(&text).expect("a form");
    let (message, cut) = read(&tree, Dialect::Lisp).expect("a message");
    let sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let expect = format!(
        "(:sensor :user-prompt :text \"hi\" :attachments ((:mime-type \"image/png\" :filename \
         \"a.png\" :sha256 \"{sha256}\" :bytes 3) (:uri \"asset:1\")))"
    );
    assert_eq!(message.payload.expect("a payload").to_string(), expect);
    assert_eq!(cut.files.iter().map(SentFile::len).collect::<Vec<_>>(), [3]);
    assert_eq!(file_bytes(&tree), "\"Zm9v\"".len());
}

#[test]
fn files_that_cannot_be_kept_are_refused() {
    let refusal = |attachments: &str| {
        let text =
            event(&format!(":sensor :user-prompt :text \"hi\" :attachments ({attachments})"));
        let tree = Reader::new().read_one(&text).expect("a form");
        read(&tree, Dialect::Lisp).err().map(|refused| refused.code)
    };
    assert_eq!(refusal("(:data \"Zm9v\")"), None);
    assert_eq!(refusal("(:data \"no base64!\")"), Some(OacpCode::InvalidValue));
    let many = |count| "(:data \"Zm9v\")".repeat(count);
    assert_eq!(refusal(&many(MAX_SENT_FILES)), None);
    assert_eq!(refusal(&many(MAX_SENT_FILES + 1)), Some(OacpCode::InvalidValue));
}
