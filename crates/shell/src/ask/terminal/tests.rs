//! What a person sees, and what a line means.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bridle_wire::openharness::JsonObject;

use super::{AskOutput, TerminalConsole, answer, worded};
use crate::ask::AskConsole;
use crate::openharness::action::{MessageFormat, QuestionChoice};
use crate::openharness::answer::AnswerRisk;
use crate::openharness::{ShellAction, ShellInterface as _, UserQuestion};

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shown(actions: &[ShellAction]) -> (String, String) {
    let (out, err) = (Paper::default(), Paper::default());
    let desk = AskConsole {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        person: None,
        elsewhere: None,
    };
    let mut terminal = TerminalConsole::new(desk, AskOutput::Text);
    actions.iter().for_each(|action| terminal.show(action));
    let text = |paper: &Paper| String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
    (text(&out), text(&err))
}

fn display(text: &str) -> ShellAction {
    ShellAction::Display { directive: 0, text: text.to_owned() }
}

fn render(text: &str) -> ShellAction {
    ShellAction::Render { directive: 0, text: text.to_owned(), format: MessageFormat::Plain }
}

#[test]
fn a_message_grows_and_is_shown_once() {
    let (out, _) = shown(&[display("he"), display("hello"), render("hello there"), render("bye")]);
    assert_eq!(out, "hello there\nbye\n");
    let (out, err) =
        shown(&[display("he"), ShellAction::Progress("thinking".to_owned()), render("no")]);
    assert_eq!((out.as_str(), err.as_str()), ("he\nno\n", ".. thinking\n"));
}

fn question(options: Option<Vec<QuestionChoice>>) -> UserQuestion {
    UserQuestion {
        directive: 0,
        action_type: "com.example.lamp".to_owned(),
        tier: AnswerRisk::Dangerous,
        payload: JsonObject::from_iter([("name", "a\u{202e}b".into())]),
        message: None,
        options,
    }
}

#[test]
fn only_a_clear_yes_is_one() {
    for (line, expected) in [
        ("y", Some("allow")),
        ("yes", Some("allow")),
        ("", None),
        ("n", None),
        ("yep", None),
        ("1", None),
        ("allow", None),
    ] {
        assert_eq!(answer(&question(None), line).as_deref(), expected, "{line}");
    }
    let choice = |id: &str, kind| QuestionChoice { id: id.to_owned(), label: id.to_owned(), kind };
    let options =
        vec![choice("a", "allow_once"), choice("b", "reject_once"), choice("c", "allow_always")];
    for (line, expected) in
        [("y", "a"), ("1", "a"), ("3", "c"), ("0", "b"), ("9", "b"), ("", "b"), ("sure", "b")]
    {
        let question = question(Some(options.clone()));
        assert_eq!(answer(&question, line).as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn a_question_shows_what_a_yes_is_for_and_drives_no_terminal() {
    let text = worded(&question(None));
    assert!(
        text.contains("com.example.lamp (dangerous)") && text.contains("\"name\": \"ab\""),
        "{text}"
    );
}

#[test]
fn a_question_that_was_answered_elsewhere_waits_for_nobody() {
    let err = Paper::default();
    // Held open: the person types nothing.
    let (_typing, person) = std::sync::mpsc::sync_channel(1);
    let mut looks = 0;
    let elsewhere = move |id: &str| {
        looks += 1;
        (looks == 2).then(|| format!("{id} was answered elsewhere: denied by uid:7"))
    };
    let desk = AskConsole {
        out: Box::new(Paper::default()),
        err: Box::new(err.clone()),
        person: Some(person),
        elsewhere: Some(Box::new(elsewhere)),
    };
    let mut asked = question(None);
    asked.payload.insert("approval_id", "work-7");
    assert_eq!(TerminalConsole::new(desk, AskOutput::Text).ask(&asked, None), None);
    let told = String::from_utf8(err.0.lock().unwrap().clone()).unwrap();
    assert!(told.ends_with("\nwork-7 was answered elsewhere: denied by uid:7\n"), "{told}");
}
