//! A home with a daemon and a tmux of its own, in which one pane runs `bridle chat`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bridle_test_support::server_process::ServerProcess;
use serde_json::Value;
use tempfile::TempDir;

/// Something that does not appear for so long fails its test; far above what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Columns and rows of a pane.
pub(crate) type PaneSize = (u16, u16);

/// The pane and everything behind it.
pub(crate) struct ChatPane {
    dir: TempDir,
    daemon: Option<ServerProcess>,
    size: PaneSize,
}

impl ChatPane {
    /// A daemon with a script, and a shell in a pane.
    pub(crate) fn new(script: &str, size: PaneSize) -> ChatPane {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proj")).unwrap();
        std::fs::write(dir.path().join("t.script"), script).unwrap();
        let mut pane = ChatPane { dir, daemon: None, size };
        pane.start_daemon();
        pane.start_pane();
        pane
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// A command that sees this home and no setting from outside.
    pub(crate) fn bridle(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridle"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["BRIDLE_", "HARNESS_", "XDG_", "TMUX"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.env("HOME", self.dir.path()).env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
        command.env("BRIDLE_HTTP", "off").env("BRIDLE_TCP", "off");
        command.env("BRIDLE_THINKER", format!("script:{}", self.path("t.script")));
        command.current_dir(self.path("proj")).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start_daemon(&mut self) {
        self.daemon = Some(ServerProcess::start(&mut self.bridle(&["up", "--log", "error"])));
    }

    /// Kills the daemon as a power cut would.
    pub(crate) fn kill_daemon(&mut self) {
        self.daemon = None;
    }

    /// Starts the daemon again.
    pub(crate) fn restart_daemon(&mut self) {
        self.start_daemon();
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let env = self.bridle(&[]);
        for (name, value) in env.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env("SHELL", "/bin/sh");
        let done = command
            .args(["-S", &self.path("tmux"), "-f", "/dev/null"])
            .args(args)
            .output()
            .unwrap();
        assert!(done.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn start_pane(&self) {
        let (columns, rows) = (self.size.0.to_string(), self.size.1.to_string());
        let place = ["-c", &self.path("proj")];
        let new = ["new-session", "-d", "-s", "t", "-x", &columns, "-y", &rows];
        // The first session takes options for those that follow.
        self.tmux(&[&new[..], &place, &["sh"]].concat());
        self.tmux(&["set-option", "-g", "history-limit", "200000"]);
        self.tmux(&["set-option", "-g", "status", "off"]);
        self.tmux(&["set-option", "-g", "escape-time", "0"]);
        self.tmux(&[&["new-window", "-t", "t:"], &place[..], &["sh"]].concat());
        self.tmux(&["resize-window", "-t", "t:", "-x", &columns, "-y", &rows]);
        self.type_in(&format!("PS1='sh''ell> '; PATH={}:$PATH; clear", self.path("bin")));
        self.key("Enter");
        self.wait_for_shell();
    }

    /// Runs a command line of the shell in the pane: `bridle` with these arguments.
    pub(crate) fn run(&self, args: &str) {
        self.type_in(&format!("{} {args}", env!("CARGO_BIN_EXE_bridle")));
        self.key("Enter");
    }

    /// Opens a session and waits until it is there.
    pub(crate) fn open(&self, session: &str) {
        self.run(&format!("chat {session}"));
        self.wait_for("· idle");
    }

    pub(crate) fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-t", "t:", "-l", "--", text]);
    }

    pub(crate) fn key(&self, name: &str) {
        self.tmux(&["send-keys", "-t", "t:", name]);
    }

    /// Types a prompt and sends it.
    pub(crate) fn say(&self, text: &str) {
        self.type_in(text);
        self.key("Enter");
    }

    /// Pastes as a terminal does.
    pub(crate) fn paste(&self, text: &str) {
        let file = self.path("paste");
        std::fs::write(&file, text).unwrap();
        self.tmux(&["load-buffer", &file]);
        self.tmux(&["paste-buffer", "-p", "-r", "-t", "t:"]);
    }

    pub(crate) fn resize(&mut self, size: PaneSize) {
        self.size = size;
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        self.tmux(&["resize-window", "-t", "t:", "-x", &columns, "-y", &rows]);
    }

    /// Writes all bytes that the pane gets to a file from now on.
    pub(crate) fn pipe_to(&self, name: &str) {
        self.tmux(&["pipe-pane", "-t", "t:", "-O", &format!("cat >> {}", self.path(name))]);
    }

    /// The screen.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-t", "t:", "-p"])
    }

    /// Scrollback and screen.
    pub(crate) fn everything(&self) -> String {
        self.tmux(&["capture-pane", "-t", "t:", "-p", "-S", "-", "-J"])
    }

    /// Waits until the screen holds a text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits until the shell in the pane takes a command.
    pub(crate) fn wait_for_shell(&self) {
        self.wait_until("shell", |screen| screen.trim_end().ends_with("shell>"));
    }

    /// Waits until the screen is so.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "no {what} on\n{screen}\n{}", self.everything());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Events of a session as the record has them.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        let done = self.bridle(&["tail", "--session", session, "--json"]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let text = String::from_utf8(done.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Texts of a session as the record has them: prompts and answers, in their order.
    pub(crate) fn texts(&self, session: &str) -> Vec<String> {
        let text = |event: Value| Some(event.get("payload")?.get("text")?.as_str()?.to_owned());
        self.events(session).into_iter().filter_map(text).collect()
    }

    /// Holds scrollback and screen against the record: every text of it once, in its order.
    pub(crate) fn check_against_record(&self, session: &str) {
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let shown = bare(&self.everything());
        let mut from = 0;
        for text in self.texts(session) {
            let wanted = bare(&text);
            let found = shown[from..].find(&wanted);
            let place =
                found.unwrap_or_else(|| panic!("`{text}` is not on\n{}", self.everything()));
            from += place + wanted.len();
            assert_eq!(shown.matches(&wanted).count(), 1, "`{text}` on\n{}", self.everything());
        }
    }

    /// Makes a program that the shell in the pane finds first.
    pub(crate) fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(&format!("bin/{name}"));
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

impl Drop for ChatPane {
    fn drop(&mut self) {
        let socket = self.path("tmux");
        // It may have ended with its last pane.
        let _ = Command::new("tmux").args(["-S", &socket, "kill-server"]).output();
    }
}
