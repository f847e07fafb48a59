//! How an event looks in each output.

use super::{TailOutput, write_event};
use crate::attach::SessionEvent;
use crate::screen::{OutputScreen, local_minute};

fn check(text: &str, output: TailOutput, expected: &str) {
    let mut out = String::new();
    write_event(&SessionEvent { seq: 7, text: text.to_owned() }, output, &mut out);
    assert_eq!(out, expected);
}

#[test]
fn people_get_number_time_kind_and_text() {
    check(
        "(:type :EVENT :meta (:session \"s\" :seq 7 :at 0) :payload (:sensor :user-prompt :text \"hi\"))",
        TailOutput::Text(OutputScreen::PIPE),
        &format!("     7  {}  user-prompt   hi", local_minute(0)),
    );
    check(
        "(:type :EVENT :meta (:seq 7 :answers 6) :payload (:status :success :action :message :text \"a\nb\u{1b}[1m\"))",
        TailOutput::Text(OutputScreen::PIPE),
        "     7  -                 answer        a\u{21b5}b\u{241b}[1m",
    );
    check(
        "(:type :EVENT :meta (:seq 7 :answers 6) :payload (:status :error :code :refused :message \"no\"))",
        TailOutput::Text(OutputScreen::PIPE),
        "     7  -                 error         no",
    );
    check(
        "(:type :EVENT :meta (:seq 7) :payload (:action :outcome :outcome :done))",
        TailOutput::Text(OutputScreen::PIPE),
        "     7  -                 outcome       (:action :outcome :outcome :done)",
    );
    check(
        "(:type :STATUS :meta (:seq 7))",
        TailOutput::Text(OutputScreen::PIPE),
        "     7  -                 message",
    );
}

#[test]
fn programs_get_the_message() {
    let text = "(:type :EVENT :meta (:seq 7)  :payload (:text \"a\nb\"))";
    check(text, TailOutput::Lisp, text);
    let json = "{\"type\":\"event\",\"meta\":{\"seq\":7},\"payload\":{\"text\":\"a\\nb\"}}";
    check(text, TailOutput::Json, json);
}
