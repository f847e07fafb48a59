//! A shell with a hello, and daemons that think by a script.

use std::path::Path;

use bridle_daemon::DaemonConfig;
use bridle_host::ThinkerChoice;
use bridle_sexp::{Value, read_one};

use bridle_test_support::daemon::TestDaemon;
use bridle_test_support::frame_client::FrameClient;

/// A daemon with a Unix socket beside its TCP port.
pub(crate) async fn daemon() -> TestDaemon {
    TestDaemon::with(|config, dir| config.unix = Some(dir.join("socket"))).await
}

/// The same, thinking by these rules.
pub(crate) async fn scripted(rules: &str) -> TestDaemon {
    TestDaemon::with(|config, dir| script(config, dir, rules)).await
}

pub(crate) fn script(config: &mut DaemonConfig, dir: &Path, rules: &str) {
    let file = dir.join("rules.script");
    std::fs::write(&file, rules).unwrap();
    config.unix = Some(dir.join("socket"));
    config.thinker = ThinkerChoice::Script(file);
}

/// One attached shell.
pub(crate) struct Shell {
    pub(crate) peer: FrameClient,
    /// The answer to its hello.
    pub(crate) welcome: Value,
}

impl Shell {
    /// Attaches over the Unix socket; `fields` are those of the hello.
    pub(crate) async fn attach(daemon: &TestDaemon, fields: &str) -> Shell {
        Shell::greet(daemon.unix_peer().await, fields).await
    }

    /// Attaches over a connection.
    pub(crate) async fn greet(mut peer: FrameClient, fields: &str) -> Shell {
        let answer = peer.ask(&hello(fields)).await;
        let welcome = value(&answer);
        assert!(at(&welcome, "payload status").is_keyword("success"), "{answer}");
        Shell { peer, welcome }
    }

    /// The name of its session.
    pub(crate) fn session(&self) -> String {
        text(&self.welcome, "meta session")
    }

    pub(crate) async fn say(&mut self, message: &str) {
        self.peer.say(message).await;
    }

    /// The next frame, whatever it is.
    pub(crate) async fn any(&mut self) -> Value {
        value(&self.peer.frame().await.expect("a frame"))
    }

    /// The next frame that is neither status nor delta.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let frame = self.any().await;
            let is_delta = at(&frame, "payload action").is_keyword("delta");
            let is_receipt = at(&frame, "payload status").is_keyword("admitted");
            if is_receipt || !(is_delta || at(&frame, "type").is_keyword("STATUS")) {
                return frame;
            }
        }
    }

    /// Says something and waits for the answer with that id.
    pub(crate) async fn ask(&mut self, id: i64, rest: &str) -> Value {
        self.ask_as("EVENT", id, rest).await
    }

    /// The same with a message of another type.
    pub(crate) async fn ask_as(&mut self, kind: &str, id: i64, rest: &str) -> Value {
        self.say(&format!("(:type :{kind} :id {id} {rest})")).await;
        self.response(id).await
    }

    /// Waits for the answer with that id; other frames are passed over.
    pub(crate) async fn response(&mut self, id: i64) -> Value {
        loop {
            let frame = self.next().await;
            if at(&frame, "type").is_keyword("RESPONSE") && at(&frame, "id").as_i64() == Some(id) {
                return frame;
            }
        }
    }

    /// Waits for a frame of that type; others are passed over.
    pub(crate) async fn of_type(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.any().await;
            if at(&frame, "type").is_keyword(kind) {
                return frame;
            }
        }
    }
}

pub(crate) fn hello(fields: &str) -> String {
    format!("(:type :EVENT :payload (:action :handshake {fields}))")
}

pub(crate) fn prompt(id: i64, text: &str) -> String {
    format!("(:type :EVENT :id {id} :payload (:sensor :user-prompt :text \"{text}\"))")
}

pub(crate) fn value(text: &str) -> Value {
    read_one(text).unwrap().root().to_value()
}

/// The value at a path of keys; nil when there is none.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split(' ').try_fold(value, |value, key| value.get(key)).unwrap_or(&Value::Nil)
}

pub(crate) fn text(frame: &Value, path: &str) -> String {
    at(frame, path).as_str().unwrap_or_else(|| panic!("no text at `{path}` of {frame}")).to_owned()
}

pub(crate) fn number(frame: &Value, path: &str) -> i64 {
    at(frame, path).as_i64().unwrap_or_else(|| panic!("no number at `{path}` of {frame}"))
}

pub(crate) fn assert_code(frame: &Value, code: &str) {
    assert!(at(frame, "payload code").is_keyword(code), "expected {code}, got {frame}");
}
