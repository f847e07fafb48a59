//! The daemon dies under a chat: no line is lost or there twice, and a yes is carried out once.

use crate::tmux::ChatPane;

const SCRIPT: &str = r#"
(rule :when "slow *" :pace 300 :stream ("$1-one " "$1-two " "$1-three " "$1-four " "$1-five "))
(rule :when "forget *" :propose ((:target :system :action :forget :session "$1" :then-think t)))
(rule :when "forget *" :result (:action :forget :outcome :done) :say "$1 is gone.")
(rule :when "forget *" :result (:action :forget) :say "$1 is kept.")
(default :say "said: nothing")
"#;

#[test]
fn a_kill_in_the_middle_of_a_stream() {
    let mut pane = ChatPane::new(SCRIPT, (80, 24));
    pane.open("work");
    pane.say("before");
    pane.wait_for("said: nothing");
    for round in ["first", "second", "third"] {
        pane.say(&format!("slow {round}"));
        pane.wait_for(&format!("{round}-two"));
        pane.say(&format!("queued in {round}"));
        pane.kill_daemon();
        pane.wait_for("reconnecting");
        pane.restart_daemon();
        pane.wait_until("the end of the queue", |screen| {
            screen.contains(&format!("❯ queued in {round}")) && screen.contains("· idle")
        });
    }
    while pane.events("work").last().is_none_or(|it| it["payload"]["text"] != "said: nothing") {
        pane.wait_for("· idle");
    }
    pane.check_prompts_and_parts("work");
}

#[test]
fn a_kill_in_the_middle_of_a_question() {
    let mut pane = ChatPane::new(SCRIPT, (80, 24));
    pane.open("old");
    pane.say("something");
    pane.wait_for("said: nothing");
    pane.key("C-d");
    pane.wait_for_shell();
    pane.open("work");
    pane.say("forget old");
    pane.wait_for("a allow");
    pane.kill_daemon();
    pane.wait_for("reconnecting");
    pane.restart_daemon();
    pane.wait_until("the same question", |screen| {
        screen.contains("asking") && screen.contains("a allow")
    });
    // A key right after another is no answer.
    std::thread::sleep(std::time::Duration::from_millis(800));
    pane.type_in("a");
    pane.wait_for("old is gone.");
    let all = pane.everything();
    assert_eq!(all.matches("allowed by").count(), 1, "{all}");
    assert_eq!(all.matches("? work-").count(), 1, "{all}");
    let counts = |action: &str| {
        let is_it = |event: &serde_json::Value| event["payload"]["action"] == action;
        pane.events("work").iter().filter(|event| is_it(event)).count()
    };
    assert_eq!(counts("answered"), 1);
    let sessions = pane.bridle(&["sessions"]).output().unwrap();
    assert!(String::from_utf8_lossy(&sessions.stdout).contains("forgotten"), "{sessions:?}");
}

#[test]
fn a_question_answered_elsewhere_disappears() {
    let pane = ChatPane::new(SCRIPT, (80, 24));
    pane.open("work");
    pane.say("forget nothing");
    pane.wait_for("a allow");
    let asked = pane
        .events("work")
        .into_iter()
        .find_map(|event| Some(event["payload"]["approval"].as_str()?.to_owned()));
    let done = pane.bridle(&["deny", &asked.expect("a question")]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let screen = pane.wait_for("nothing is kept.");
    assert!(!screen.contains("a allow") && screen.contains("denied by"), "{screen}");
}

impl ChatPane {
    /// Holds the transcript against the record where thoughts were lost on the way: texts once and in order,
    /// what is not in the record under its mark.
    fn check_prompts_and_parts(&self, session: &str) {
        let all = self.everything();
        let marked: String = all.lines().filter(|line| line.starts_with('┆')).collect();
        let plain: Vec<&str> = all.lines().filter(|line| !line.starts_with('┆')).collect();
        let texts = self.texts(session);
        for text in &texts {
            let wanted = texts.iter().filter(|it| *it == text).count();
            let shown = plain
                .iter()
                .filter(|line| line.trim_start_matches("❯ ").trim() == text.trim())
                .count();
            assert_eq!(shown, wanted, "`{text}` on\n{all}");
        }
        for word in ["one", "two", "three", "four", "five"] {
            let shown = plain.iter().filter(|line| line.contains(&format!("-{word}"))).count();
            let recorded = texts.iter().filter(|text| text.contains(&format!("-{word}"))).count();
            assert_eq!(shown, recorded, "{word}, marked: {marked}, on\n{all}");
        }
    }
}
