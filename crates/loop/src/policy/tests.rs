//! Unit tests of loading, of examples and of verdicts.

use super::{DEFAULT_POLICY, GuardPolicies, PolicyVerdict, cedar_request};

/// A file of one policy.
fn file(id: &str, cedar: &str, examples: &str) -> String {
    format!(
        "* One\n:PROPERTIES:\n:CUSTOM_ID: {id}\n:END:\nWords.\n#+begin_src cedar\n{cedar}\n#+end_src\n\
         #+begin_src examples\n{examples}\n#+end_src\n"
    )
}

fn check_fault(text: &str, line: usize, part: &str) {
    let bad = GuardPolicies::from_org(text).expect_err("a bad file");
    let first = &bad.faults[0];
    assert_eq!(first.line, line, "{bad}");
    assert!(first.what.contains(part), "`{part}` in `{}`", first.what);
}

const PERMIT_ALL: &str = "permit (principal, action, resource);";

#[test]
fn the_default_set_loads_and_explains_itself() {
    // What is there without a file is not checked when it is loaded, but here.
    let checked = GuardPolicies::from_org(DEFAULT_POLICY).unwrap_or_else(|bad| panic!("{bad}"));
    let set = GuardPolicies::built_in();
    assert_eq!((set.hash(), set.policies()), (checked.hash(), checked.policies()));
    let ids: Vec<&str> = set.policies().iter().map(|policy| &*policy.id).collect();
    assert_eq!(
        ids,
        [
            "safe",
            "caution",
            "owner-undoes",
            "project-read",
            "stage-work",
            "commit-asks",
            "user-words",
            "provenance.1",
            "provenance.2",
            "secret-stays",
            "dangerous",
            "owner-asks",
            "sessions.1",
            "sessions.2",
            "recall",
            "local-tcp",
            "anonymous",
            "runaway",
            "built-in.protected",
            "built-in.administration",
            "built-in.approve",
        ]
    );
    let safe = &set.policies()[0];
    assert_eq!(&*safe.title, "Harmless things are done");
    assert!(safe.prose.starts_with("Showing text"), "{}", safe.prose);
    assert!(safe.text.starts_with("permit"), "{}", safe.text);
}

#[test]
fn the_example_of_the_manual_holds_beside_the_default_set() {
    let manual = include_str!("../../../../docs/policy.md");
    let (_, rest) = manual.split_once("````org\n").expect("an example");
    let (example, _) = rest.split_once("````").expect("its end");
    GuardPolicies::from_org(&format!("{DEFAULT_POLICY}\n{example}")).expect("a good file");
}

#[test]
fn a_file_that_permits_all_does_not_lift_what_is_built_in() {
    let examples = r#"
        (allow (:principal "x" :target :file :action :write :path "/a" :text "x"))
        (refuse (:principal "owner" :target :file :action :write :path "/a" :text "x" :protected t))
        (refuse (:principal "owner" :target :emacs :action :insert-at-end :text "x" :protected t))
        (refuse (:principal "owner" :target :exec :action :exec :argv ("x") :protected t))
        (ask (:principal "owner" :target :system :action :write :path "/a" :text "x" :protected t))
        (ask (:principal "owner" :by :thinker :target :system :action :forget :session "s"))
        (allow (:principal "x" :target :system :action :forget :session "s"))"#;
    GuardPolicies::from_org(&file("all", PERMIT_ALL, examples)).expect("a good file");
}

#[test]
fn faults_name_the_line_of_the_file() {
    let example = r#"(allow (:principal "x" :action :log :text "x"))"#;
    check_fault(&file("a", "permit (principal, action, resource)", example), 7, "unexpected end");
    check_fault(
        &file("a", "\n\npermit (principal, action, resource) when { context.nope };", example),
        9,
        "nope",
    );
    check_fault(
        &file("a", "permit (principal == ?principal, action, resource);", example),
        7,
        "template",
    );
    check_fault(&file("built-in.x", PERMIT_ALL, example), 1, "built-in.x");
    check_fault(&file("a b", PERMIT_ALL, example), 1, "a b");
    check_fault(&file("a", "// nothing", example), 7, "no policy");
    check_fault(
        &file(
            "a",
            PERMIT_ALL,
            &format!("{example}\n\n(refuse (:principal \"x\" :action :log :text \"x\"))"),
        ),
        12,
        "expected `refuse`, got `allow` (by `a`)",
    );
    check_fault(&file("a", PERMIT_ALL, "; only\n(allow (:principal \"x\""), 10, "without its last");
    check_fault(&file("a", PERMIT_ALL, "(allow (:action :log))"), 10, ":principal");
    check_fault(
        &file(
            "a",
            PERMIT_ALL,
            "(allow (:principal \"x\" :action :write :path \"/a/../b\" :text \"\"))",
        ),
        10,
        "absolute path",
    );
    check_fault(&file("a", PERMIT_ALL, "(perhaps ())"), 10, "perhaps");
    check_fault(
        "* One\n#+begin_src cedar\npermit (principal, action, resource);\n#+end_src\n",
        1,
        "examples",
    );
}

#[test]
fn what_would_be_read_over_is_a_fault() {
    let cedar = "#+begin_src cedar\nforbid (principal, action, resource);\n";
    check_fault(&format!("{cedar}#+end_src\n"), 1, "before the first heading");
    check_fault(&format!("* One\nWords.\n  {cedar}"), 3, "without `#+end_src`");
    check_fault(&format!("* One\n{cedar}* Two\n"), 2, "without `#+end_src`");
}

#[test]
fn a_heading_marked_as_comment_is_off_with_all_below_it() {
    let on = file("a", PERMIT_ALL, "");
    let off = file("b", "forbid (principal, action, resource);", "(allow ())");
    let text = format!("{on}* COMMENT Off\n*{off}");
    let set = GuardPolicies::from_org(&text).expect("a good file");
    let ids: Vec<&str> = set.policies().iter().map(|policy| &*policy.id).collect();
    assert_eq!(ids[..2], ["a", "built-in.protected"]);
}

#[test]
fn types_are_checked_strictly() {
    let example = r#"(refuse (:principal "x" :action :log :text "x"))"#;
    for cedar in [
        r#"permit (principal, action, resource) when { context.risk == 3 };"#,
        r#"permit (principal, action == Action::"delete", resource);"#,
        r#"permit (principal is Robot, action, resource);"#,
        r#"permit (principal, action == Action::"log", resource) when { resource.port == 80 };"#,
        r#"forbid (principal, action, resource) when { context.minute };"#,
    ] {
        let loaded = GuardPolicies::from_org(&file("a", cedar, example));
        assert!(loaded.is_err(), "{cedar}");
    }
}

#[test]
fn folders_and_domains_are_whole_names() {
    let folders: Vec<&str> = cedar_request::folders("/a/b/c.org").collect();
    assert_eq!(folders, ["/", "/a", "/a/b"]);
    let domains: Vec<&str> = cedar_request::domains("api.evil.org").collect();
    assert_eq!(domains, ["api.evil.org", "evil.org", "org"]);
    assert_eq!(cedar_request::domains("127.0.0.1").count(), 0);
    let cedar = r#"
        permit (principal, action == Action::"net", resource in Domain::"openai.com");
        permit (principal, action == Action::"read", resource in Folder::"/srv/me");
        permit (principal, action == Action::"exec", resource == Command::"git")
        when { resource.arguments.contains("status") && resource.count == 1 };"#;
    let examples = r#"
        (allow (:principal "x" :action :net :host "openai.com"))
        (allow (:principal "x" :action :net :host "api.openai.com"))
        (refuse (:principal "x" :action :net :host "openai.com.evil.net"))
        (refuse (:principal "x" :action :net :host "notopenai.com"))
        (allow (:principal "x" :action :read :path "/srv/me/a/b"))
        (refuse (:principal "x" :action :read :path "/srv/mean"))
        (refuse (:principal "x" :action :read :path "/srv/me"))
        (allow (:principal "x" :action :exec :argv ("git" "status")))
        (refuse (:principal "x" :action :exec :argv ("git" "status" "--help")))
        (refuse (:principal "x" :action :exec :argv ("git status")))"#;
    GuardPolicies::from_org(&file("a", cedar, examples)).expect("a good file");
}

#[test]
fn an_error_while_asking_is_a_denial() {
    // Sums can be too large: the one fault that types do not rule out.
    let cedar = format!(
        "{PERMIT_ALL}\nforbid (principal, action, resource) when {{ context.session_hour + 1 < 0 }};"
    );
    let examples = format!(
        r#"(allow (:principal "x" :action :log :text "x"))
           (refuse (:principal "x" :action :log :text "x" :session-hour {}))"#,
        i64::MAX
    );
    GuardPolicies::from_org(&file("a", &cedar, &examples)).expect("a good file");
}

#[test]
fn words_are_what_the_record_says() {
    assert_eq!(
        [PolicyVerdict::Allow, PolicyVerdict::Ask, PolicyVerdict::Deny].map(PolicyVerdict::word),
        ["allow", "ask", "deny"]
    );
}
