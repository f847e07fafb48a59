//! Runs the binary: once with an input, or as a daemon with a home of its own.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use bridle_test_support::frame_client::read_frame_blocking;
use bridle_test_support::server_process::ServerProcess;
use tempfile::TempDir;

/// What a finished command left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn check(&self, code: i32, stdout: &str, stderr: &str) {
        let expected = Done { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        assert_eq!(*self, expected);
    }

    /// Succeeded, silently on stderr, with this on stdout.
    pub(crate) fn prints(&self, stdout: &str) {
        self.check(0, stdout, "");
    }

    pub(crate) fn fails(&self, code: i32, stderr: &str) {
        self.check(code, "", stderr);
    }
}

/// A home directory in which commands run; nothing of the user's own settings is seen. Whatever was
/// recorded in it must verify and replay when it goes.
pub(crate) struct Home {
    dir: TempDir,
    record: Cell<Record>,
}

/// What becomes of the record of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Whole,
    Spoiled,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { dir: tempfile::tempdir().unwrap(), record: Cell::new(Record::Whole) }
    }

    /// Says that the test spoils the record.
    pub(crate) fn spoil_record(&self) {
        self.record.set(Record::Spoiled);
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A command that sees this home and no setting from outside.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridle"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["BRIDLE_", "HARNESS_", "XDG_"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        // A fixed port would be taken by the first of many daemons; a flag still says otherwise.
        if args.first().is_some_and(|word| word.as_ref() == "up") {
            command.env("BRIDLE_HTTP", "off");
        }
        command.env("TZ", "UTC");
        command.env("HOME", self.dir.path()).current_dir(self.dir.path()).args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        finish(&mut self.command(args), b"")
    }

    pub(crate) fn pipe(&self, args: &[&str], input: impl AsRef<[u8]>) -> Done {
        finish(&mut self.command(args), input.as_ref())
    }

    /// Runs the command on a terminal of its own, on which `typed` is typed. All that it writes is on
    /// the standard output of this.
    pub(crate) fn at_terminal(&self, args: &[&str], typed: &str) -> Done {
        finish(&mut self.on_terminal(args), typed.as_bytes())
    }

    fn on_terminal(&self, args: &[&str]) -> Command {
        let bridle = self.command(args);
        let words = [bridle.get_program()].into_iter().chain(bridle.get_args());
        let quoted = |word: &OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
        let line: Vec<String> = words.map(quoted).collect();
        let mut script = Command::new("script");
        script.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(self.path(""));
        for (name, value) in bridle.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        script
    }

    /// Runs the command on a terminal of its own, on which nobody types anything.
    pub(crate) fn at_silent_terminal(&self, args: &[&str]) -> Done {
        let mut child = self.on_terminal(args).spawn().unwrap();
        // Held open until it ends.
        let typed = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(typed);
        Done {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// A daemon on a free port and a socket, its state in this home.
    pub(crate) fn up(&self, args: &[&str]) -> ServerProcess {
        let socket = self.path("b.sock");
        let mut all = vec!["up", "--tcp", "127.0.0.1:0", "--unix", &socket, "--log", "error"];
        all.extend(args);
        ServerProcess::start(&mut self.command(&all))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let file = self.path(".local/state/bridle/record.db");
        let is_checked = self.record.get() == Record::Whole && !std::thread::panicking();
        if is_checked && Path::new(&file).exists() {
            for args in [&["log", "verify"][..], &["replay"]] {
                let done = self.run(args);
                assert_eq!(done.code, 0, "{args:?}: {done:?}");
            }
        }
    }
}

/// Runs a command in a home of its own.
pub(crate) fn pipe(args: &[&str], input: impl AsRef<[u8]>) -> Done {
    Home::new().pipe(args, input)
}

/// Feeds a command and waits for its end.
pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Done {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A command that fails early does not read its input to the end.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A shell that is attached to a session of the daemon on a home's socket.
pub(crate) struct Shell {
    stream: UnixStream,
}

impl Shell {
    pub(crate) fn attach(home: &Home, session: &str) -> Shell {
        Shell::attach_with(home, session, "")
    }

    /// Attaches and asks for what came behind this number.
    pub(crate) fn attach_behind(home: &Home, session: &str, cursor: u64) -> Shell {
        Shell::attach_with(home, session, &format!(" :cursor {cursor}"))
    }

    fn attach_with(home: &Home, session: &str, more: &str) -> Shell {
        let mut shell = Shell { stream: UnixStream::connect(home.path("b.sock")).unwrap() };
        assert!(shell.receive().contains(":handshake"));
        let hello = "(:type :EVENT :payload (:action :handshake :length :bytes :shell :test";
        shell.send(&format!("{hello} :session \"{session}\"{more}))"));
        assert!(shell.receive().contains(":status :success"));
        shell
    }

    /// Says something and waits for the answer.
    pub(crate) fn prompt(&mut self, text: &str) -> String {
        self.send(&format!(
            "(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"{text}\"))"
        ));
        loop {
            let frame = self.receive();
            if frame.starts_with("(:type :RESPONSE :id 1 ") {
                return frame;
            }
        }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.write_all(format!("{:06x}{text}", text.len()).as_bytes()).unwrap();
    }

    pub(crate) fn receive(&mut self) -> String {
        read_frame_blocking(&mut self.stream)
    }
}
