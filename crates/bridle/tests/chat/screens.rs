//! Conversations at several sizes, the session of a folder, the list of sessions, ssh.

use crate::tmux::ChatPane;

/// Answers of many lines, and of letters of all widths.
const SCRIPT: &str = r#"
(rule :when "list *" :pace 10 :stream ("$1: first line
" "$1: second 日本語の行 line
" "$1: third 🎉 line with **bold** words that go on and on until they must be wrapped
" "$1: fourth e\u0301 한국어 line
" "$1: last line"))
(default :say "I only know lists.")
"#;

fn script() -> String {
    // The language of scripts has no escapes of letters.
    SCRIPT.replace("\\u0301", "\u{301}").replace("**", "")
}

fn talk_at(size: (u16, u16)) {
    let mut pane = ChatPane::new(&script(), size);
    pane.open("work");
    for number in 0..12 {
        pane.say(&format!("list n{number:02}"));
    }
    let idle = |screen: &str| screen.contains("· idle") && !screen.contains("queued");
    pane.wait_until("end", |screen| idle(screen) && screen.contains("last line"));
    while pane.events("work").len() < 24 {
        pane.wait_until("· idle", idle);
    }
    pane.wait_until("the last answer", |screen| screen.contains("n11: last line"));
    pane.check_against_record("work");
    // Tinier than anything, and back: nothing of the transcript is lost.
    pane.type_in("日本語 🎉 typed");
    pane.wait_for("typed");
    pane.resize((size.0, size.1.saturating_sub(2).max(2)));
    pane.resize(size);
    pane.say(" more");
    pane.wait_for("I only know lists.");
    pane.check_against_record("work");
}

#[test]
fn a_terminal_of_80_by_24() {
    talk_at((80, 24));
}

#[test]
fn a_large_terminal() {
    talk_at((200, 50));
}

#[test]
fn a_tiny_terminal() {
    talk_at((20, 5));
}

#[test]
fn the_session_of_the_folder_is_gone_on_with_and_others_are_picked() {
    let pane = ChatPane::new(&script(), (80, 24));
    pane.run("chat --new");
    pane.wait_for("· idle");
    pane.say("list first");
    pane.wait_for("first: last line");
    pane.key("C-d");
    pane.wait_for_shell();
    pane.run("chat");
    let screen = pane.wait_for("list first · just now · Alt-N begins a new one");
    assert_eq!(screen.matches("first: last line").count(), 2, "{screen}");
    pane.key("M-n");
    pane.say("list second");
    pane.wait_for("second: last line");
    pane.key("M-s");
    pane.wait_for("Enter opens");
    pane.key("Down");
    pane.key("Enter");
    pane.wait_until("the first session", |screen| screen.matches("first: last line").count() > 1);
}

#[test]
fn editing_completion_and_paste() {
    let pane = ChatPane::new("(default :say \"said\")", (80, 24));
    std::fs::write(pane.path("proj/notes-of-today.org"), "* x\n").unwrap();
    pane.open("work");
    pane.type_in("look at @today");
    pane.wait_for("  @notes-of-today.org");
    pane.key("Tab");
    pane.wait_for("❯ look at @notes-of-today.org");
    pane.key("C-w");
    pane.type_in("it");
    pane.key("C-a");
    pane.type_in("please ");
    pane.key("M-Enter");
    pane.key("Enter");
    pane.wait_for("said");
    assert_eq!(pane.texts("work")[0], "please \nlook at it");
    let long = "a line of many\n".repeat(40);
    pane.paste(&long);
    pane.wait_for("[pasted 40 lines, 600 bytes]");
    pane.key("Enter");
    pane.wait_until("second answer", |screen| screen.contains("· idle"));
    while pane.texts("work").len() < 4 {
        pane.wait_for("work");
    }
    assert_eq!(pane.texts("work")[2], long.trim());
    // The keys are on a screen of their own, which gives this one back.
    pane.say("/keys");
    pane.wait_for("Alt-Enter, Ctrl-J");
    pane.key("q");
    pane.wait_for("said");
    pane.key("Up");
    pane.wait_for("❯ /keys");
}

#[test]
fn another_host_is_reached_over_ssh() {
    let pane = ChatPane::new(&script(), (80, 24));
    // What sshd does with the command: a shell runs it. The flags and the host come before it.
    pane.program("ssh", "#!/bin/sh\nfor last; do :; done\nexec /bin/sh -c \"$last\"\n");
    let bridle = env!("CARGO_BIN_EXE_bridle");
    pane.run(&format!("chat --remote '{bridle} relay' ssh://me@host.example/work"));
    pane.wait_for("· idle");
    pane.say("list far");
    pane.wait_for("far: last line");
    pane.check_against_record("work");
    pane.key("C-d");
    pane.wait_for_shell();
    pane.run("chat ssh://-oProxyCommand=x/work");
    pane.wait_for("write ssh://[USER@]HOST");
}

#[test]
fn a_pipe_is_no_terminal() {
    let pane = ChatPane::new("(default :say \"said\")", (80, 24));
    let done = pane.bridle(&["chat"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("terminal") && told.contains("bridle ask"), "{told}");
}
