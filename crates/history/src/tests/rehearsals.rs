//! Rehearsals: however many threads judge, each decision is judged once and told in its place.

use bridle_loop::{GuardPolicies, PolicyVerdict};
use bridle_record::{ForgetRequest, NewRecord, RecordAppend, RecordCause, RecordNumber};

use super::{Fixture, RecordHistory, START};

/// A decision about reading a file that was asked about.
fn decided(number: usize) -> String {
    format!(
        "(:turn 1 :by :thinker :target :file :action :read :verdict :ask :payload (:action :read \
         :path \"/srv/{number}\") :checked (:policy :ask) :facts (:asker \"uid:7\" :groups \
         (\"owner\") :session-owner \"uid:7\" :kind :read :name :read :risk :caution :place :host \
         :minute 1 :weekday 1 :session-hour {number} :asker-hour 0 :action-hour 0))"
    )
}

fn set(condition: &str) -> GuardPolicies {
    let org = format!(
        "* One\n#+begin_src cedar\npermit (principal, action, resource) when {{ {condition} }};\n\
         #+end_src\n#+begin_src examples\n#+end_src\n"
    );
    GuardPolicies::from_org(&org).unwrap()
}

/// More than the threads are handed at once, several times over.
const DECISIONS: usize = 1_500;

fn written() -> (Fixture, RecordHistory) {
    let mut fixture = Fixture::new();
    fixture.begin("s");
    let bodies: Vec<String> = (0..DECISIONS).map(decided).collect();
    let drafts: Vec<_> = bodies.iter().map(|body| ("decided", None, body.as_str())).collect();
    fixture.write("s", &drafts);
    fixture.write("s", &[("decided", None, "(:facts (:kind :nope) :checked (:policy :ask))")]);
    fixture.write("s", &[("decided", None, "(:verdict :deny :checked (:size :deny))")]);
    fixture.write("s", &[("decided", None, "no form (")]);
    let history = fixture.history();
    (fixture, history)
}

#[test]
fn every_decision_is_judged_once_and_told_in_order() {
    let (_fixture, history) = written();
    let rehearsed = history.rehearse(&set("context.session_hour >= 100"), usize::MAX).unwrap();
    assert_eq!(rehearsed.decisions, DECISIONS as u64);
    assert_eq!(rehearsed.unreadable, 2, "another version's, and damage");
    assert_eq!(
        rehearsed.counts(),
        [
            (PolicyVerdict::Ask, PolicyVerdict::Allow, DECISIONS as u64 - 100),
            (PolicyVerdict::Ask, PolicyVerdict::Deny, 100)
        ]
    );
    let records: Vec<u64> = rehearsed.changed.iter().map(|changed| changed.record).collect();
    assert!(records.is_sorted_by(|one, next| one < next), "each once, in order");
    let denied = rehearsed.changed.iter().take_while(|changed| changed.now == PolicyVerdict::Deny);
    assert_eq!(denied.count(), 100, "the first hundred");
    assert_eq!(&*rehearsed.changed[0].action, "read");
    assert_eq!(&*rehearsed.changed[0].target, "file");
}

#[test]
fn what_a_policy_names_by_its_hash_is_found_in_the_record() {
    let (_fixture, history) = written();
    let all = history.rehearse(&set("context.hash != \"\" && context.approved"), 10).unwrap();
    // The last ten records; three of them are no decisions of the policies.
    assert_eq!((all.decisions, all.changed.len()), (7, 0));
    let none = history.rehearse(&set("context.hash == \"ab\""), 10).unwrap();
    assert_eq!((none.decisions, none.changed.len()), (7, 7));
}

/// A session in which something was said as it was proposed.
fn said(text: &str) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.begin("s");
    let advice = format!("(:effect 1 :proposals ((:payload (:action :message :text {text:?}))))");
    let decided = "(:turn 1 :by :reflex :target :asker :action :message :verdict :allow :proposal 0 \
                   :checked (:policy :allow) :facts (:asker \"uid:7\" :groups (\"owner\") \
                   :session-owner \"uid:7\" :kind :message :name :message :risk :safe :place :shell \
                   :minute 1 :weekday 1 :session-hour 0 :asker-hour 0 :action-hour 0))";
    let draft = |kind, body: &str| NewRecord::new("s", kind, START, "uid:7", body);
    let drafts = vec![
        draft("consulted", &advice),
        draft("decided", decided).caused_by(RecordCause::Earlier(0)),
    ];
    fixture.commit(RecordAppend { drafts, ..RecordAppend::default() });
    fixture
}

#[test]
fn what_was_said_is_judged_without_its_text_unless_its_hash_is_named() {
    let fixture = said("hello");
    let history = fixture.history();
    let judged = |condition: &str| {
        let rehearsed = history.rehearse(&set(condition), 10).unwrap();
        (rehearsed.decisions, rehearsed.unreadable, rehearsed.changed.len())
    };
    assert_eq!(judged("context.minute == 1"), (1, 0, 0));
    assert_eq!(judged("context.minute == 2"), (1, 0, 1));
    let text = "(:target :asker :place :shell :payload (:action :message :text \"hello\"))";
    let hash = bridle_loop::ActionHash::of(text);
    assert_eq!(judged(&format!("context.hash == \"{hash}\"")), (1, 0, 0));
    assert_eq!(judged("context.hash == \"ab\""), (1, 0, 1));
}

#[test]
fn what_was_said_and_is_forgotten_cannot_be_judged_by_its_hash() {
    let mut fixture = said("hello");
    let by = ForgetRequest { principal: "uid:7".into(), at: START };
    fixture.store.forget_record(RecordNumber(1), None, &by).unwrap();
    let history = fixture.history();
    let by_hash = history.rehearse(&set("context.hash == \"ab\""), 10).unwrap();
    assert_eq!((by_hash.decisions, by_hash.unreadable), (0, 1));
    let by_time = history.rehearse(&set("context.minute == 1"), 10).unwrap();
    assert_eq!((by_time.decisions, by_time.unreadable), (1, 0));
}
