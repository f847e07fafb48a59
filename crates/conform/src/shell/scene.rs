//! One Shell before one scripted Engine, for the length of a case.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bridle_wire::openharness::Json;

use super::stage::{ScriptedEngine, SeenRequest, StageReply};
use crate::case::{CheckFinding, Checked};
use crate::driven::{DrivenProgram, ProgramLine, ProgramOptions};
use crate::notes::CaseNotes;

/// The session that the Shell is told to use.
pub const SESSION: &str = "kit";

/// A Shell and its Engine.
#[derive(Debug)]
pub struct ShellScene {
    stage: ScriptedEngine,
    /// The Shell.
    pub shell: DrivenProgram,
    /// The token that it was given.
    pub token: String,
    timeout: Duration,
    notes: Rc<RefCell<CaseNotes>>,
    noted: usize,
}

impl ShellScene {
    pub(super) fn start(
        program: &ProgramOptions,
        replies: Vec<StageReply>,
        token: &str,
        notes: Rc<RefCell<CaseNotes>>,
    ) -> Result<ShellScene, CheckFinding> {
        let cannot = |error| CheckFinding::fault(format!("the kit cannot listen: {error}"));
        let stage = ScriptedEngine::open(replies).map_err(cannot)?;
        let url = format!("http://{}/v1/openharness", stage.address());
        let values = [
            ("OPENHARNESS_URL", url),
            ("OPENHARNESS_TOKEN", token.to_owned()),
            ("OPENHARNESS_SESSION", SESSION.to_owned()),
        ];
        let shell = DrivenProgram::start(program, &values, Rc::clone(&notes))?;
        let (token, timeout) = (token.to_owned(), program.timeout);
        Ok(ShellScene { stage, shell, token, timeout, notes, noted: 0 })
    }

    /// Has the Shell ask something.
    pub fn ask(&mut self, text: &str) -> Checked {
        self.shell.say(&format!("ask {}", Json::from(text).to_text()))
    }

    /// Has the Shell ask something, and waits until everything that follows is over. Questions are
    /// answered with a no.
    pub fn asks(&mut self, text: &str) -> Checked {
        self.ask(text)?;
        self.done()
    }

    /// Waits until everything is over. Questions are answered with a no.
    pub fn done(&mut self) -> Checked {
        loop {
            let line = self.until(&["done", "question"])?;
            if line.word == "done" {
                self.note_requests();
                return Ok(());
            }
            self.shell.say("deny")?;
        }
    }

    /// Waits for a question.
    pub fn question(&mut self) -> Result<ProgramLine, CheckFinding> {
        let line = self.until(&["question", "done"])?;
        if line.word == "done" {
            return Err(CheckFinding::fault("expected a question to the user, got none"));
        }
        Ok(line)
    }

    fn until(&mut self, words: &[&str]) -> Result<ProgramLine, CheckFinding> {
        let line = self.shell.until_any(words);
        if line.is_err() {
            self.note_requests();
        }
        line
    }

    /// All requests so far.
    pub fn seen(&mut self) -> Vec<SeenRequest> {
        self.note_requests();
        self.stage.seen()
    }

    /// The request of this number, from 0, as JSON.
    ///
    /// # Errors
    /// There is none, or it is no JSON.
    pub fn request(&mut self, number: usize) -> Result<Json, CheckFinding> {
        self.stage.wait(number + 1, self.timeout);
        let seen = self.seen();
        let seen = seen.get(number);
        let seen = seen.ok_or_else(|| {
            CheckFinding::fault(format!("expected request {}, got none", number + 1))
        })?;
        seen.json()
            .ok_or_else(|| CheckFinding::fault("expected one JSON object in UTF-8, no key twice"))
    }

    fn note_requests(&mut self) {
        let seen = self.stage.seen();
        for request in &seen[self.noted.min(seen.len())..] {
            self.notes.borrow_mut().came(&request.body);
        }
        self.noted = seen.len();
    }

    /// Checks that an act was never carried out.
    pub fn never(&self, name: &str) -> Checked {
        expect(self.shell.count("begin", name) == 0, || {
            format!("expected `{name}` never to begin, and it did")
        })
    }

    /// Checks that an act was carried out once and to its end.
    pub fn once(&self, name: &str) -> Checked {
        let counts = (self.shell.count("begin", name), self.shell.count("end", name));
        expect(counts == (1, 1), || {
            format!("expected `{name}` to begin and end once, it began {} times", counts.0)
        })
    }

    /// The first thing was over before the second began.
    pub fn before(&self, first: &str, second: &str) -> Checked {
        self.once(first)?;
        self.once(second)?;
        let is_so = self.shell.place("end", first) < self.shell.place("begin", second);
        expect(is_so, || format!("expected `{first}` to end before `{second}` begins"))
    }

    /// A message was shown, once.
    pub fn shows(&self, text: &str) -> Checked {
        let count = self.shell.count("show", text);
        expect(count == 1, || format!("expected `{text}` to be shown once, it was {count} times"))
    }

    /// The request failed, with this code if it matters.
    pub fn fails(&self, code: Option<&str>) -> Checked {
        let failed = self.shell.heard.iter().find(|line| line.word == "failed");
        let is_so = failed.is_some_and(|line| code.is_none() || line.text.as_deref() == code);
        let wanted =
            code.map_or_else(|| "`failed`".to_owned(), |code| format!("`failed \"{code}\"`"));
        let got = failed.map_or_else(|| "no `failed`".to_owned(), |line| line.raw.clone());
        expect(is_so, || format!("expected {wanted}, got {got}"))
    }

    /// The Shell still works: it asks again and shows the answer.
    pub fn lives(&mut self) -> Checked {
        self.asks("are you there?")
    }
}

/// A fault unless it is so.
pub fn expect(is_so: bool, what: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(CheckFinding::fault(what())) }
}

/// The value at a path.
pub fn at<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    path.split('/').try_fold(json, |json, key| match key.parse::<usize>() {
        Ok(index) => json.as_array()?.get(index),
        Err(_) => json.as_object()?.get(key),
    })
}

/// The text at a path.
pub fn text_at<'j>(json: &'j Json, path: &str) -> Option<&'j str> {
    at(json, path)?.as_str()
}

/// A directive that acts: its name, and further fields before its payload.
pub fn act(name: &str, fields: &str) -> String {
    acting("com.example.lamp", name, fields, "")
}

/// A directive of a type, with further fields of itself and of its payload.
pub fn acting(action_type: &str, name: &str, fields: &str, payload: &str) -> String {
    format!(
        "{{\"action_type\":\"{action_type}\"{fields},\"payload\":{{\"name\":\"{name}\"{payload}}}}}"
    )
}

/// A directive that shows a text.
pub fn message(text: &str) -> String {
    let text = Json::from(text).to_text();
    format!("{{\"action_type\":\"render_message\",\"payload\":{{\"text\":{text}}}}}")
}
