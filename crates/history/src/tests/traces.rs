//! The thought trace as text; that Emacs reads it as meant is shown beside the binary.

use bridle_record::{NewRecord, RecordAppend, RecordCause};

use super::{Fixture, START};

const SIGNAL: &str = "(:kind :event :from (:principal \"uid:7\") \
                      :payload (:sensor :user-prompt :text \"help\n* me\"))";

fn export(fixture: &Fixture, session: Option<&str>) -> String {
    let mut out = Vec::new();
    fixture.history().export_org(session, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn decided(what: &str) -> String {
    format!(
        "(:turn 1 :by :reflex :target :asker :action :message :rule :safe :verdict :allow \
         :reason \"it is harmless\" {what} :checked (:well-formed :pass :safe :allow))"
    )
}

#[test]
fn a_question_stands_in_its_answer_and_what_was_said_in_its_proposal() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    fixture.write("a", &[("signal", Some(1), SIGNAL)]);
    let advice = "(:effect 1 :turn 1 :seq 1 :history 2 :decisions 0 :proposals \
                  ((:payload (:action :message :text \"no\")) (:payload (:action :message :text \"hi\"))))";
    let draft = |kind, cause, body: &str| {
        NewRecord::new("a", kind, START, "uid:7", body).caused_by(RecordCause::Earlier(cause))
    };
    let drafts = vec![
        NewRecord::new("a", "consulted", START, "uid:7", advice),
        draft("decided", 0, &decided(":proposal 1")),
        draft("decided", 1, &decided(":proposal 1")),
        draft("finish", 0, "(:turn 1 :reason :answered)"),
    ];
    fixture.commit(RecordAppend { drafts, ..RecordAppend::default() });
    let text = export(&fixture, Some("a"));
    let context = "*** Context\n:PROPERTIES:\n:RECORD: 2\n:TIME: 1970-01-01T00:00:01.000Z\n:END:\n\
                   | known | how much |\n|-\n| history | 2 |\n| decisions | 0 |\n| focus | unknown |\n";
    assert!(text.contains(context), "{text}");
    // The one that names what another event proposed has none.
    let said = "#+begin_src lisp-data\n(:action :message :text \"hi\")\n#+end_src\n";
    assert_eq!(text.matches(said).count(), 1, "{text}");
    assert_eq!(text.matches("*** Proposal").count(), 2, "{text}");
    // Whoever asks why is told as well.
    let history = fixture.history();
    let why = |number| history.why(number).unwrap().decisions[0].body.get("payload").cloned();
    assert_eq!(why(3).map(|it| it.to_string()).as_deref(), Some("(:action :message :text \"hi\")"));
    assert_eq!(why(4), None);
}

#[test]
fn a_turn_is_told_from_input_to_outcome() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    fixture.write(
        "a",
        &[
            ("signal", Some(1), SIGNAL),
            ("consult", None, "(:effect 1 :turn 1 :seq 1 :history 2 :decisions 0 :focus t)"),
            ("consulted", None, "(:effect 1 :proposals ((:payload (:action :message))))"),
            ("decided", None, &decided(":payload (:action :message :text \"hi\")")),
            ("say", Some(2), "(:answers 1 :payload (:status :success :text \"hi\"))"),
            ("finish", None, "(:turn 1 :reason :answered)"),
        ],
    );
    let at = "1970-01-01T00:00:01.000Z";
    let expected = format!(
        "# -*- mode: org; coding: utf-8-unix -*-\n#+title: Record of bridle\n\n\
         * Session a\n:PROPERTIES:\n:OWNER: uid:7\n:BEGAN: {at}\n:RECORDS: 6\n:EVENTS: 2\n:END:\n\
         ** Turn 1: help * me\n:PROPERTIES:\n:RECORD: 1\n:TIME: {at}\n:PRINCIPAL: uid:7\n:SEQ: 1\n\
         :OUTCOME: answered\n:END:\n\
         *** Input\n#+begin_example\nhelp\n,* me\n#+end_example\n\
         *** Context\n:PROPERTIES:\n:RECORD: 2\n:TIME: {at}\n:END:\n\
         | known | how much |\n|-\n| history | 2 |\n| decisions | 0 |\n| focus | known |\n\
         *** Proposal: message to asker\n:PROPERTIES:\n:RECORD: 4\n:TIME: {at}\n:BY: reflex\n\
         :VERDICT: allow\n:RULE: safe\n:APPROVER: policy\n:END:\n\
         #+begin_src lisp-data\n(:action :message :text \"hi\")\n#+end_src\n\
         | rule | result |\n|-\n| well-formed | pass |\n| safe | allow |\n\
         Reason:\n: it is harmless\n\
         *** Answer\n:PROPERTIES:\n:RECORD: 5\n:TIME: {at}\n:END:\n\
         #+begin_example\nhi\n#+end_example\n"
    );
    assert_eq!(export(&fixture, Some("a")), expected);
}

#[test]
fn acts_and_faults_find_their_turn() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    fixture.write(
        "a",
        &[
            ("signal", Some(1), SIGNAL),
            ("consult", None, "(:effect 1 :turn 1 :seq 1)"),
            // The second waits while the first is thought about.
            ("signal", Some(2), "(:payload (:action :eval :code \"1\"))"),
            ("think", None, "(:effect 2 :turn 1 :seq 1 :depth 0 :tries 0)"),
            ("drafted", None, "(:effect 2 :fault \"no model\")"),
            ("finish", None, "(:turn 1 :reason :failed)"),
            ("decided", None, "(:turn 2 :action :eval :target :emacs :verdict :allow)"),
            ("act", Some(3), "(:effect 3 :turn 2 :target :emacs :payload (:action :eval))"),
            ("acted", Some(4), "(:effect 3 :outcome :failed :reason \"no such function\")"),
            ("finish", None, "(:turn 2 :reason :failed)"),
            ("say", Some(5), "(:payload (:status :success :text \"by the way\"))"),
            ("signal", Some(6), "(:payload (:sensor :focus))"),
        ],
    );
    let text = export(&fixture, None);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(
        headings,
        [
            "* Session a",
            "** Turn 1: help * me",
            "*** Input",
            "*** Context",
            "*** Thought",
            "*** Fault",
            "** Turn 2: eval",
            "*** Input",
            "*** Proposal: eval to emacs",
            "**** Act: eval by emacs",
            "**** Outcome: failed",
            "** Said: unasked",
            "*** Answer",
            "** Signal: focus",
            "*** Input",
        ]
    );
    assert!(text.contains("#+begin_example\nno such function\n#+end_example\n"), "{text}");
    assert!(text.ends_with(
        ":OUTCOME: open\n:END:\n*** Input\n#+begin_src lisp-data\n(:sensor :focus)\n#+end_src\n"
    ));
}

#[test]
fn what_time_began_is_told_with_what_was_said() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    fixture.write(
        "a",
        &[
            ("signal", Some(1), SIGNAL),
            ("consult", None, "(:effect 1 :turn 1)"),
            ("say", Some(2), "(:payload (:text \"wake up\"))"),
            ("finish", None, "(:turn 1 :reason :answered)"),
        ],
    );
    let text = export(&fixture, None);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('*')).collect();
    assert_eq!(
        headings,
        [
            "* Session a",
            "** Turn 1: time",
            "*** Input",
            "*** Context",
            "*** Answer",
            "** Signal: help * me",
            "*** Input",
        ]
    );
    assert!(text.contains("*** Input\nTime passed: a schedule or the heartbeat.\n"), "{text}");
}

#[test]
fn other_sessions_stay_out_and_forgotten_ones_stay_silent() {
    let mut fixture = Fixture::new();
    for name in ["a", "b"] {
        fixture.begin(name);
        fixture.write(name, &[("signal", Some(1), SIGNAL)]);
    }
    assert!(!export(&fixture, Some("a")).contains("Session b"));
    let by = bridle_record::ForgetRequest { principal: "uid:7".into(), at: START };
    fixture.store.forget_session("a", &by).unwrap();
    let text = export(&fixture, None);
    assert!(text.contains("Session a") && text.contains("Forgotten"), "{text}");
    assert_eq!(text.matches("help").count(), 2, "title and input of the other one");
    let error = fixture.history().export_org(Some("c"), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "no session `c`");
}

/// Two proposals that somebody was asked about: the yes is named with its time and shell, and each act stands below
/// its own proposal.
#[test]
fn who_said_yes_is_named_and_acts_stand_below_their_proposals() {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    let answered = "(:effect 7 :answer :allow :from (:principal \"uid:7\" :shell :emacs))";
    fixture.write(
        "a",
        &[
            ("signal", Some(1), SIGNAL),
            ("consult", None, "(:effect 1 :turn 1 :seq 1)"),
            ("decided", None, "(:turn 1 :action :eval :target :emacs :verdict :ask :rule :policy)"),
            (
                "decided",
                None,
                "(:turn 1 :action :log :target :tools :verdict :allow :rule :policy)",
            ),
            ("ask", Some(2), "(:effect 7 :turn 1 :text \"Evaluate it?\")"),
            ("act", Some(3), "(:effect 3 :turn 1 :target :tools :payload (:action :log))"),
            ("acted", Some(4), "(:effect 3 :outcome :done :result t)"),
            ("answered", Some(5), answered),
        ],
    );
    let answer = fixture.head();
    let allowed = "(:turn 1 :action :eval :target :emacs :verdict :allow :rule :approval)";
    fixture.write_because("a", answer, "decided", allowed);
    fixture.write(
        "a",
        &[
            ("act", Some(6), "(:effect 8 :turn 1 :target :emacs :payload (:action :eval))"),
            ("acted", Some(7), "(:effect 8 :outcome :done :result t)"),
            ("finish", None, "(:turn 1 :reason :done)"),
        ],
    );
    let text = export(&fixture, None);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("***")).collect();
    assert_eq!(
        headings,
        [
            "*** Input",
            "*** Context",
            "*** Proposal: eval to emacs",
            "*** Proposal: log to tools",
            "**** Act: log by tools",
            "**** Outcome: done",
            "*** Question",
            "*** Answer: allow by uid:7",
            "*** Proposal: eval to emacs",
            "**** Act: eval by emacs",
            "**** Outcome: done",
        ]
    );
    let approvers: Vec<&str> = text.lines().filter(|line| line.starts_with(":APPROVE")).collect();
    assert_eq!(approvers.len(), 3, "{text}");
    assert_eq!(approvers[..2], [":APPROVER: policy", ":APPROVER: uid:7"]);
    assert!(text.contains(&format!(":ANSWER: {answer}\n:SHELL: emacs\n:END:\n")), "{text}");
}
