//! Processes for the peer tests: starting them, bounding them, reading what they print. Knows the command
//! lines of `peers/` and of `bridle up`; knows nothing of what a test wants to show.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bridle_sexp::{Progress, Reader, Value};
use tempfile::{NamedTempFile, TempDir};

/// A peer that hangs fails its test after this long. Far above the slowest step on a loaded machine: the first
/// load of the Lisp libraries compiles them for about 35 s.
const PATIENCE: Duration = Duration::from_secs(240);

/// A secret long enough for the daemon, and ASCII for the oldest peers.
pub(crate) const SECRET: &str = "sixteen bytes or more of secret";

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The binary under test.
pub(crate) fn bridle() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridle"));
    for name in ["BRIDLE_CONFIG", "HARNESS_PROTOCOL_ENFORCE_HMAC", "HARNESS_PROTOCOL_HMAC_SECRET"] {
        command.env_remove(name);
    }
    command
}

/// `peers/sbcl/harness.lisp` with `arguments`.
pub(crate) fn sbcl(arguments: &[&str]) -> Command {
    static WARM: OnceLock<()> = OnceLock::new();
    // One process compiles the libraries before many at once try to.
    WARM.get_or_init(|| {
        finish(sbcl_command(&["warm"]), b"");
    });
    sbcl_command(arguments)
}

fn sbcl_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("sbcl");
    command.args(["--script", "peers/sbcl/harness.lisp"]).args(arguments);
    command.env_remove("HARNESS_PROTOCOL_ENFORCE_HMAC").current_dir(root());
    command
}

/// `peers/emacs/bridle-peer.el` with `arguments`.
pub(crate) fn emacs(arguments: &[&str]) -> Command {
    let mut command = Command::new("emacs");
    command.args(["-Q", "--batch", "-l", "peers/emacs/bridle-peer.el", "-f", "bridle-peer-main"]);
    command.arg("--").args(arguments).current_dir(root());
    command
}

/// `examples/python/client.py` with `arguments`.
pub(crate) fn python(arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-B", "examples/python/client.py"]).args(arguments).current_dir(root());
    command.env_remove("BRIDLE_KEY");
    command
}

/// The variables that turn signing on in dialect 000, for a peer and for the daemon.
pub(crate) fn signing(command: &mut Command) -> &mut Command {
    command.env("HARNESS_PROTOCOL_ENFORCE_HMAC", "True").env("HARNESS_PROTOCOL_HMAC_SECRET", SECRET)
}

/// A file that holds [`SECRET`] and nothing else.
pub(crate) fn key_file() -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(SECRET.as_bytes()).expect("a temporary file can be written");
    file
}

/// A child that dies with its owner, and after [`PATIENCE`] in any case.
pub(crate) struct Guarded {
    child: Arc<Mutex<Child>>,
}

impl Guarded {
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap_or_else(|error| {
            let program = command.get_program().display();
            panic!("cannot start `{program}`: {error}; `cargo xtask setup` installs the peers")
        });
        let child = Arc::new(Mutex::new(child));
        let weak = Arc::downgrade(&child);
        let deadline = Instant::now() + PATIENCE;
        thread::spawn(move || {
            while let Some(child) = weak.upgrade() {
                if Instant::now() > deadline {
                    kill(&child);
                    return;
                }
                drop(child);
                thread::sleep(Duration::from_millis(200));
            }
        });
        Self { child }
    }

    /// Throws away what it prints, so that it never waits for a reader.
    pub(crate) fn drain(&self) {
        let mut output = self.with(|child| child.stdout.take());
        let mut errors = self.with(|child| child.stderr.take());
        thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    }

    fn with<T>(&self, take: impl FnOnce(&mut Child) -> Option<T>) -> T {
        let mut child = self.child.lock().expect("no thread panics while it holds a child");
        take(&mut child).expect("every stream is piped and taken once")
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        kill(&self.child);
    }
}

fn kill(child: &Mutex<Child>) {
    if let Ok(mut child) = child.lock() {
        // Both fail only if the child has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// What a finished process left.
pub(crate) struct Finished {
    pub(crate) success: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Feeds `stdin` to `command`, waits for its end; panics, with its stderr, unless it succeeds.
pub(crate) fn finish(command: Command, stdin: &[u8]) -> Vec<u8> {
    let shown = format!("{command:?}");
    let finished = attempt(command, stdin);
    assert!(finished.success, "`{shown}` failed: {}", finished.stderr);
    finished.stdout
}

/// Feeds `stdin` to `command` and waits for its end, good or bad.
pub(crate) fn attempt(command: Command, stdin: &[u8]) -> Finished {
    let guarded = Guarded::spawn(command);
    let mut input = guarded.with(|child| child.stdin.take());
    let mut output = guarded.with(|child| child.stdout.take());
    let mut errors = guarded.with(|child| child.stderr.take());
    let stdin = stdin.to_vec();
    // A process may end before it has read everything: the broken pipe is its affair.
    let feeder = thread::spawn(move || drop(input.write_all(&stdin)));
    let listener = thread::spawn(move || {
        let mut text = Vec::new();
        errors.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let mut stdout = Vec::new();
    output.read_to_end(&mut stdout).expect("a pipe can be read to its end");
    feeder.join().expect("the feeder only writes");
    let stderr = listener.join().expect("the listener only reads").unwrap_or_default();
    let success = guarded.with(|child| child.wait().ok()).success();
    Finished { success, stdout, stderr }
}

/// A server process that printed its `ready` line.
pub(crate) struct Server {
    pub(crate) port: u16,
    _process: Guarded,
    _state: Option<TempDir>,
}

impl Server {
    /// `bridle up` on a port of its own.
    pub(crate) fn bridle() -> Self {
        Self::bridle_with(|_| {})
    }

    /// `bridle up` that demands signatures.
    pub(crate) fn bridle_signed() -> Self {
        Self::bridle_with(|command| {
            signing(command);
        })
    }

    fn bridle_with(adjust: impl FnOnce(&mut Command)) -> Self {
        let state = TempDir::new().expect("a temporary directory can be made");
        let mut command = bridle();
        command
            .args(["up", "--tcp", "127.0.0.1:0", "--unix", "off", "--http", "off", "--state"])
            .arg(state.path());
        adjust(&mut command);
        Self { _state: Some(state), ..Self::start(command) }
    }

    /// `bridle up` with HTTP alone, in a directory that the caller keeps.
    pub(crate) fn bridle_in(state: &Path, arguments: &[&str]) -> Self {
        let mut command = bridle();
        command.args(["up", "--tcp", "off", "--unix", "off", "--state"]).arg(state);
        // No settings of whoever runs the test.
        command.env("XDG_CONFIG_HOME", state).args(arguments);
        Self::start(command)
    }

    /// The Lisp server of `peers/sbcl`.
    pub(crate) fn sbcl(dialect: &str) -> Self {
        Self::start(sbcl(&["serve", "0", "--dialect", dialect]))
    }

    /// The same, signing every frame.
    pub(crate) fn sbcl_signed(dialect: &str) -> Self {
        let mut command = sbcl(&["serve", "0", "--dialect", dialect]);
        signing(&mut command);
        Self::start(command)
    }

    fn start(command: Command) -> Self {
        let shown = format!("{command:?}");
        let process = Guarded::spawn(command);
        let mut stdout = BufReader::new(process.with(|child| child.stdout.take()));
        let mut stderr = process.with(|child| child.stderr.take());
        let mut line = String::new();
        stdout.read_line(&mut line).expect("the ready line is text");
        let Some(port) = line.starts_with("ready ").then(|| port_of(&line)).flatten() else {
            let mut errors = String::new();
            drop(process);
            // Only for the message below.
            let _ = stderr.read_to_string(&mut errors);
            panic!("`{shown}` said {line:?} and not a ready line with a port: {errors}");
        };
        // Its logs must not fill the pipe and stop it.
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        Self { port, _process: process, _state: None }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn port_text(&self) -> String {
        self.port.to_string()
    }
}

/// The last number of a ready line: `ready 4711` of the Lisp server, `ready ..127.0.0.1:4711` of bridle.
fn port_of(line: &str) -> Option<u16> {
    line.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty())?.parse().ok()
}

/// Every form that a peer printed.
pub(crate) fn forms(printed: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(printed).expect("peers print UTF-8");
    let mut rest = text.trim_start();
    let mut forms = Vec::new();
    while !rest.is_empty() {
        match Reader::new().read(rest) {
            Ok(Progress::Done(tree)) => {
                forms.push(tree.root().to_value());
                rest = rest[tree.consumed()..].trim_start();
            }
            Ok(Progress::Incomplete) => panic!("a peer printed half a form: {rest:?}"),
            Err(error) => panic!("a peer printed what bridle does not read: {error} in {rest:?}"),
        }
    }
    forms
}

/// The payloads of frames that count bytes, blanks between them skipped: what a byte-counting client sees.
pub(crate) fn payloads(mut frames: &[u8]) -> Vec<String> {
    let mut payloads = Vec::new();
    loop {
        frames = frames.trim_ascii_start();
        if frames.is_empty() {
            return payloads;
        }
        let digits = std::str::from_utf8(&frames[..6]).expect("a length is ASCII");
        let size = usize::from_str_radix(digits, 16).expect("a length is six hex digits");
        let payload = frames[6..6 + size].to_vec();
        payloads.push(String::from_utf8(payload).expect("a payload is UTF-8"));
        frames = &frames[6 + size..];
    }
}

/// One frame that counts bytes.
pub(crate) fn frame(payload: &str) -> Vec<u8> {
    format!("{:06x}{payload}", payload.len()).into_bytes()
}
