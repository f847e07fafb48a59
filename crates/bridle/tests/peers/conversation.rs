//! The messages of the protocol documents that a client can send, in four scripts, and what must be true of
//! the answers. Which answer the daemon gives is the daemon's affair; that there is one for each message, and
//! that it belongs to it, is tested here.

use bridle_sexp::Value;

/// One text for each width of a character in UTF-8: one, two, three and four bytes.
pub(crate) const TEXTS: [&str; 4] = ["plain text", "سلام يا عالم", "你好,世界", "😀 👩\u{200d}🚀"];

/// A message and what its answer must repeat.
pub(crate) struct Sent {
    pub(crate) form: String,
    id: Option<Value>,
    health: bool,
}

/// Every message of a client with `text` in its free places and, where it carries an id, in the id: so the
/// answer has characters of the same width.
pub(crate) fn messages(text: &str) -> Vec<Sent> {
    let mut sent = Vec::new();
    let mut with_id = |n: usize, kind: &str, rest: &str| {
        let id = format!("{text} {n}");
        let form = format!("(:type {kind} :id \"{id}\" {rest})").replace("TEXT", text);
        sent.push(Sent { form, id: Some(Value::str(id.as_str())), health: false });
    };
    with_id(
        1,
        ":EVENT",
        r#":payload (:sensor :buffer-update :file "notes/TEXT.org" :state :saved)"#,
    );
    with_id(
        2,
        ":EVENT",
        r#":payload (:sensor :user-prompt :text "TEXT" :context :current-subtree)"#,
    );
    with_id(3, ":EVENT", r#":payload (:sensor :focus :buffer "TEXT" :line 42 :column 0)"#);
    with_id(4, ":EVENT", r#":meta (:source :tui) :payload (:sensor :user-input :text "TEXT")"#);
    with_id(5, ":REQUEST", r#":payload (:action :eval :code "(org-todo \"TEXT\")")"#);
    with_id(6, ":REQUEST", r#":payload (:action :message :text "TEXT" :level :warning)"#);
    with_id(
        7,
        ":REQUEST",
        r#":payload (:action :complete :prefix "TEXT" :suggestions ("a" "TEXT"))"#,
    );
    with_id(
        8,
        ":REQUEST",
        r#":target :delivery :payload (:channel :signal :to "+1" :text "TEXT")"#,
    );
    with_id(9, ":RESPONSE", r#":payload (:status :success :text "TEXT")"#);
    with_id(10, ":LOG", r#":payload (:level :info :text "TEXT")"#);
    let without_id = [
        r#"(:type :EVENT :payload (:sensor :user-prompt :text "TEXT"))"#,
        r#"(:type :REQUEST :target :delivery :payload (:channel :signal :to "+1" :text "TEXT"))"#,
        r#"(:type :REQUEST :target :foundry :payload (:action :scaffold :name "TEXT" :type "Lisp"))"#,
        r#"(:type :REQUEST :target :system :payload (:action :create-skill :filename "a.org" :content "TEXT"))"#,
        r#"(:TYPE :STATUS :SCRIBE :IDLE)"#,
    ];
    for form in without_id {
        sent.push(Sent { form: form.replace("TEXT", text), id: None, health: false });
    }
    sent.push(Sent { form: "(:type :health-check)".to_owned(), id: None, health: true });
    sent
}

/// The messages of all `texts`, one after another.
pub(crate) fn conversation(texts: &[&str]) -> Vec<Sent> {
    texts.iter().flat_map(|text| messages(text)).collect()
}

/// The forms of `sent`, one a line: what the peers read on stdin.
pub(crate) fn script(sent: &[Sent]) -> Vec<u8> {
    sent.iter().map(|sent| sent.form.clone() + "\n").collect::<String>().into_bytes()
}

/// Checks a hello and one answer for each of `sent`, in the order sent; health may overtake the others.
///
/// # Panics
///
/// When an answer is missing, is one too many, or belongs to another message.
pub(crate) fn check(who: &str, sent: &[Sent], received: &[Value]) {
    let (hello, answers) = received.split_first().expect("the daemon says hello");
    check_hello(who, hello);
    assert_eq!(answers.len(), sent.len(), "{who}: one answer for each frame");
    let is_health =
        |answer: &&Value| answer.get("type").is_some_and(|kind| kind.is_keyword("health-response"));
    let (healthy, others): (Vec<&Value>, Vec<&Value>) = answers.iter().partition(is_health);
    let checks = sent.iter().filter(|sent| sent.health).count();
    assert_eq!(healthy.len(), checks, "{who}: one answer for each check");
    let asked = sent.iter().filter(|sent| !sent.health);
    for (n, (sent, answer)) in asked.zip(others).enumerate() {
        let fits = answer.get("type").is_some_and(|kind| kind.is_keyword("response"));
        assert!(fits, "{who}: answer {n} to `{}` is not a response: {answer}", sent.form);
        if let Some(id) = &sent.id {
            assert_eq!(
                answer.get("id"),
                Some(id),
                "{who}: answer {n} to `{}`: {answer}",
                sent.form
            );
        }
        if sent.form.contains(":REQUEST") {
            let assigned = answer.get("id").is_some_and(|id| !id.is_nil());
            assert!(assigned, "{who}: no id in the answer to `{}`: {answer}", sent.form);
        }
        check_payload(who, sent, answer);
    }
}

fn check_hello(who: &str, hello: &Value) {
    let payload = hello.get("payload").unwrap_or_else(|| panic!("{who}: no hello: {hello}"));
    assert!(
        payload.get("action").is_some_and(|action| action.is_keyword("handshake")),
        "{who}: {hello}"
    );
}

/// Codes that a well-formed message may be refused with: nothing here carries it out, it answers a question that
/// nobody asked, it is for somebody who is not there, or nothing allows it.
const HONEST_REFUSALS: [&str; 4] = ["unsupported", "unknown-id", "unknown-target", "refused"];

/// A message of the documents may be refused honestly, but it is never malformed.
fn check_payload(who: &str, sent: &Sent, answer: &Value) {
    let payload = answer.get("payload").unwrap_or_else(|| panic!("{who}: no payload: {answer}"));
    assert!(payload.get("status").is_some(), "{who}: no status: {answer}");
    if let Some(code) = payload.get("code") {
        // Nobody waits for the completions of a prefix that was typed on.
        let is_completion = sent.form.contains(":action :complete");
        let honest = HONEST_REFUSALS.iter().any(|honest| code.is_keyword(honest))
            || is_completion && code.is_keyword("cancelled");
        assert!(honest, "{who}: `{}` was refused: {answer}", sent.form);
    }
}
