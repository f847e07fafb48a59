//! How an event looks in each output.

use super::{Output, write_event};
use crate::attach::Event;
use crate::screen::{Screen, local_minute};

fn check(text: &str, output: Output, expected: &str) {
    let mut out = String::new();
    write_event(&Event { seq: 7, text: text.to_owned() }, output, &mut out);
    assert_eq!(out, expected);
}

#[test]
fn people_get_number_time_kind_and_text() {
    check(
        "(:type :EVENT :meta (:session \"s\" :seq 7 :at 0) :payload (:sensor :user-prompt :text \"hi\"))",
        Output::Text(Screen::PIPE),
        &format!("     7  {}  user-prompt   hi", local_minute(0)),
    );
    check(
        "(:type :EVENT :meta (:seq 7 :answers 6) :payload (:status :success :action :message :text \"a\nb\u{1b}[1m\"))",
        Output::Text(Screen::PIPE),
        "     7  -                 answer        a\u{21b5}b\u{241b}[1m",
    );
    check(
        "(:type :EVENT :meta (:seq 7 :answers 6) :payload (:status :error :code :refused :message \"no\"))",
        Output::Text(Screen::PIPE),
        "     7  -                 error         no",
    );
    check(
        "(:type :EVENT :meta (:seq 7) :payload (:action :outcome :outcome :done))",
        Output::Text(Screen::PIPE),
        "     7  -                 outcome       (:action :outcome :outcome :done)",
    );
    check(
        "(:type :STATUS :meta (:seq 7))",
        Output::Text(Screen::PIPE),
        "     7  -                 message",
    );
}

#[test]
fn programs_get_the_message() {
    let text = "(:type :EVENT :meta (:seq 7)  :payload (:text \"a\nb\"))";
    check(text, Output::Lisp, text);
    let json = "{\"type\":\"event\",\"meta\":{\"seq\":7},\"payload\":{\"text\":\"a\\nb\"}}";
    check(text, Output::Json, json);
}
