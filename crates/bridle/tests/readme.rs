//! The commands of the README and of the pages that it leads to first, pasted in order by a new user: a fresh home, a real daemon, and what the
//! text promises compared with what happens. Only ports and homes differ, what the README shows as `…`,
//! and the numbers, questions and codes that it calls examples.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The ports that the README uses: the defaults, and one for a tap.
const TCP_PORT: &str = "9105";
const HTTP_PORT: &str = "8788";
const TAP_PORT: &str = "9106";

/// The user's own files: what somebody has who keeps notes in Org.
const ORG_FILE: &str = "* TODO Mend the roof :house:\nThe roof needs tiles.\n* Garden\nRoses.\n";

/// How a command of the table is run, and what shows that it did what the text says.
enum Proof {
    /// It ends well, and its output has this in it.
    Says(&'static str),
    /// A person types this; all that the terminal shows has the second in it.
    Typed(&'static str, &'static str),
    /// It goes on until it is interrupted; a line of it has this in it.
    Runs(&'static str),
    /// The file is there and has this in it.
    Writes(&'static str, &'static str),
}

/// What is promised of the commands. Those that are not here must end well.
const PROOFS: &[(&str, Proof)] = &[
    ("bridle doctor", Proof::Says("handshake and health in")),
    ("bridle backup bridle-backup", Proof::Says("hash chain intact")),
    ("bridle restore --verify bridle-backup", Proof::Says("whole: ")),
    ("bridle ask --plist help", Proof::Says("(:display (:directive 0 :text \"I deploy things.")),
    ("bridle chat", Proof::Typed("\u{4}", "idle")),
    ("bridle setup --memex ~/org --policy built-in --yes", Proof::Says("CHECK")),
    ("bridle secret list", Proof::Says("openai")),
    ("bridle health --detail", Proof::Says("healthy\n")),
    ("bridle ask --session work deploy the site", Proof::Says("Tell me what and where to")),
    ("bridle ask --session old hello", Proof::Says("I deploy things.")),
    ("bridle ask --session work clean up old", Proof::Says("waits for a yes to question `work-")),
    ("bridle approvals", Proof::Says("work-")),
    ("bridle deny work-7", Proof::Says("denied work-")),
    (
        "bridle send --session work '(:type :health-check)'",
        Proof::Says("(:type :health-response :status :healthy"),
    ),
    ("bridle sessions", Proof::Says("SESSION")),
    ("bridle schedule", Proof::Says("tea    work")),
    ("bridle schedule pause brief", Proof::Says("paused schedule brief of session main")),
    ("bridle schedule rm tea", Proof::Says("removed schedule tea of session work")),
    ("bridle tail --session work", Proof::Says("user-prompt   clean up old")),
    ("bridle log --session work", Proof::Says(":kind :signal")),
    ("bridle why 4711", Proof::Says("polic")),
    ("bridle log verify", Proof::Says(" records, head ")),
    ("bridle log head --sign KEY > head.txt", Proof::Writes("head.txt", " ")),
    ("bridle log verify --head head.txt --key KEY", Proof::Says("the kept head is signed")),
    ("bridle log export --org > trace.org", Proof::Writes("trace.org", "* ")),
    ("bridle log mirror --once ~/record.lisp", Proof::Writes("record.lisp", ":kind :signal")),
    ("bridle replay", Proof::Says("same: ")),
    ("bridle fork 4711 --name what-if", Proof::Says("what-if\n")),
    ("bridle forget what-if", Proof::Typed("y\n", "forgot session what-if")),
    ("bridle init ~/org", Proof::Typed("y\n", "the running daemon now uses it")),
    ("bridle memory query roof --tag house", Proof::Says("Mend the roof")),
    ("bridle memory focus projects.org --budget 2000", Proof::Says("The roof needs tiles.")),
    ("bridle org tree ~/org/projects.org", Proof::Says("headline")),
    ("bridle policy init", Proof::Writes(".config/bridle/policy.org", "cedar")),
    ("bridle token create --name laptop", Proof::Says("bridle_")),
    ("bridle token list", Proof::Says("laptop")),
    ("bridle pair --name phone", Proof::Says("-")),
    ("bridle pair confirm ABCD-EFGH", Proof::Says("confirmed ")),
    ("bridle conform oacp 127.0.0.1:9105 --only F", Proof::Says("conforms to oacp")),
    ("bridle tap --listen 127.0.0.1:9106", Proof::Runs("ready 127.0.0.1:")),
    ("echo '(:a  1)' | bridle sexp --canonical", Proof::Says("(:a 1)\n")),
    ("echo '(:a 1)' | bridle frame encode | bridle frame decode", Proof::Says("(:a 1)\n")),
    ("bridle config show", Proof::Says("http-unix")),
    ("bridle completions bash > bridle.bash", Proof::Writes("bridle.bash", "_bridle()")),
    ("bridle man > bridle.1", Proof::Writes("bridle.1", "bridle")),
];

/// The one that serves its standard input, and what it is asked there.
const STDIO: &str = "bridle up --stdio-json --tcp off --unix off --http off";
const LINE: &str = r#"{"protocol_version":"1.0.0","request_id":"l1","request":{"context":{"user_intent":"help"}}}"#;

#[test]
fn every_command_of_the_readme_does_what_the_text_says() {
    let pages = ["README.md", "docs/http.md", "docs/commands.md"].map(|page| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        fs::read_to_string(path).expect("the page is there")
    });
    let readme = pages.join("\n");
    let mut user = User::new();
    user.start("bridle up");
    let talks = conversations(&readme, "```console");
    assert!(talks.len() > 5, "the README has its conversations");
    for (command, promised) in talks {
        let output = user.run(&command);
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        // The terminal's own line end behind the last frame is not part of it.
        assert!(
            fits(said.trim_end(), &promised),
            "{command}\nsaid     {said}\npromised {promised}"
        );
    }
    user.start("bridle up --thinker script:examples/deploy.script");
    user.answers_over_http(&readme);
    let table = commands(&readme);
    for (known, _) in PROOFS {
        assert!(table.iter().any(|command| command == known), "not in the README: {known}");
    }
    for command in &table {
        user.proves(command);
    }
    for (command, promised) in conversations(&readme, "```text") {
        let output = user.run(&command);
        assert!(!output.status.success(), "{command}");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(said.trim_end(), promised, "{command}");
    }
}

/// A person with a home, a terminal, and a daemon in another one.
struct User {
    home: tempfile::TempDir,
    daemon: Option<Child>,
    /// The ports of the daemon that runs.
    ports: (String, String),
}

impl User {
    fn new() -> User {
        let home = tempfile::tempdir().expect("a scratch folder");
        fs::create_dir(home.path().join("org")).expect("a folder");
        fs::write(home.path().join("org/projects.org"), ORG_FILE).expect("a file");
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        std::os::unix::fs::symlink(examples, home.path().join("examples")).expect("a link");
        User { home, daemon: None, ports: Default::default() }
    }

    /// A shell in which `bridle` is the binary under test, in this home and with free ports.
    fn shell(&self, command: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_bridle"));
        let dir = binary.parent().expect("a binary is in a directory").to_str().expect("UTF-8");
        let mut shell = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["BRIDLE_", "HARNESS_", "XDG_"].iter().any(|prefix| text.starts_with(prefix)) {
                shell.env_remove(&name);
            }
        }
        shell
            .args(["-c", command])
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("PATH", format!("{dir}:{}", std::env::var("PATH").unwrap_or_default()))
            .env("BRIDLE_TCP", "127.0.0.1:0")
            .env("BRIDLE_HTTP", "127.0.0.1:0")
            .stdin(Stdio::null());
        shell
    }

    /// Starts a daemon in place of the one that runs.
    fn start(&mut self, command: &str) {
        self.stop();
        let mut shell = self.shell(&format!("exec {command}"));
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("sh");
        let mut ready = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut ready).expect("the ready line is UTF-8");
        let port = |way: &str| -> String {
            let (_, after) = ready.split_once(way).unwrap_or_else(|| panic!("got `{ready}`"));
            after.chars().take_while(char::is_ascii_digit).collect()
        };
        for word in ["ready tcp=", " http=", " unix=", " http-unix="] {
            assert!(ready.contains(word), "{word}: {ready}");
        }
        self.ports = (port("tcp=127.0.0.1:"), port("http=127.0.0.1:"));
        self.daemon = Some(child);
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.daemon.take() {
            let pid = child.id().to_string();
            drop(Command::new("kill").args(["-s", "TERM", &pid]).status());
            drop(child.wait());
        }
    }

    /// The command as this user would paste it.
    fn pasted(&self, command: &str) -> String {
        let command = command.replace(TCP_PORT, &self.ports.0).replace(HTTP_PORT, &self.ports.1);
        command.replace(TAP_PORT, "0")
    }

    fn run(&self, command: &str) -> Output {
        self.shell(&self.pasted(command)).output().expect("sh runs")
    }

    /// Runs a command that must end well; its standard output.
    fn says(&self, command: &str) -> String {
        let output = self.run(command);
        let [out, err] =
            [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("UTF-8"));
        assert!(output.status.success(), "{command}: {}\n{out}\n{err}", output.status);
        out
    }

    /// The objects that a command prints, one a line.
    fn objects(&self, command: &str) -> Vec<Value> {
        let said = self.says(command);
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Runs a command of the table, and looks at what is promised of it.
    fn proves(&mut self, command: &str) {
        if command == STDIO {
            return self.serves_lines(command);
        }
        if command.starts_with("bridle up") {
            return self.start(command);
        }
        let command_of = PROOFS.iter().find(|(known, _)| *known == command);
        let pasted = self.with_examples_filled(command);
        match command_of.map(|(_, proof)| proof) {
            None => drop(self.says(&pasted)),
            Some(Proof::Says(words)) => {
                let said = self.says(&pasted);
                assert!(said.contains(words), "{command}: expected `{words}` in\n{said}");
            }
            Some(Proof::Writes(file, words)) => {
                self.says(&pasted);
                let written = fs::read_to_string(self.home.path().join(file)).expect("a file");
                assert!(written.contains(words), "{command}: expected `{words}` in\n{written}");
            }
            Some(Proof::Typed(typed, words)) => {
                let said = self.typed(&pasted, typed);
                assert!(said.contains(words), "{command}: expected `{words}` in\n{said}");
            }
            Some(Proof::Runs(words)) => self.runs(&pasted, words),
        }
    }

    /// Puts this user's numbers, questions and codes in the place of the examples.
    fn with_examples_filled(&self, command: &str) -> String {
        let mut command = command.to_owned();
        if command.contains("4711") {
            let records = self.objects("bridle log --session work --json");
            let decided = records.iter().rev().find(|it| it["kind"] == "decided");
            let number = &decided.expect("something was decided")["number"];
            command = command.replace("4711", &number.to_string());
        }
        if command.contains("work-7") {
            let open = self.objects("bridle approvals --json");
            let id = open[0]["approval"].as_str().expect("an id");
            command = command.replace("work-7", id);
        }
        if command.contains("ABCD-EFGH") {
            let url = format!("http://127.0.0.1:{HTTP_PORT}/pair/create");
            let made = self.says(&format!("curl -s -X POST {url}"));
            let made: Value = serde_json::from_str(&made).expect("JSON");
            let code = ["code", "user_code", "pair_code"].iter().find_map(|it| made[*it].as_str());
            command = command.replace("ABCD-EFGH", code.unwrap_or_else(|| panic!("{made}")));
        }
        command
    }

    /// Runs a command on a terminal of its own.
    fn typed(&self, command: &str, typed: &str) -> String {
        let command = self.pasted(command).replace('\'', r"'\''");
        let mut shell = self.shell(&format!("script -qec '{command}' /dev/null"));
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script runs");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin.write_all(typed.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success(), "{command}: {said}");
        said
    }

    /// Starts a command that goes on, and waits for a line of it.
    fn runs(&self, command: &str, words: &str) {
        let mut shell = self.shell(&format!("exec {} 2>&1", self.pasted(command)));
        let mut child = shell.stdout(Stdio::piped()).spawn().expect("sh runs");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let found = lines.map_while(Result::ok).any(|line| line.contains(words));
        drop(child.kill());
        drop(child.wait());
        assert!(found, "{command}: it ended without `{words}`");
    }

    /// A daemon on standard input and output answers a line with a line.
    fn serves_lines(&mut self, command: &str) {
        self.stop();
        let mut shell = self.shell(&format!("exec {command}"));
        let mut child = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        writeln!(stdin, "{LINE}").expect("it reads");
        drop(stdin);
        let mut said = String::new();
        child.stdout.take().expect("stdout is piped").read_to_string(&mut said).expect("UTF-8");
        drop(child.wait());
        let answer: Value = serde_json::from_str(said.trim_end()).expect("one line of JSON");
        assert_eq!(answer["response"]["status"], "success", "{said}");
    }

    /// The block in which a device is asked over HTTP, line by line in one shell.
    fn answers_over_http(&self, readme: &str) {
        let block = block(readme, "T=$(bridle token create");
        let mut lines = block.lines().filter(|line| !line.starts_with('#'));
        let mut next = || lines.next().expect("three commands").to_owned();
        let (token, first, second) = (next(), next(), next());
        let token = self.says(&format!("{token}\nprintf %s \"$T\""));
        let asked = self.says(&format!("T={token}\n{first}"));
        let promised = block.lines().find_map(|line| line.strip_prefix("# ..")).expect("a promise");
        for piece in promised.split("..").filter(|piece| !piece.is_empty()) {
            // Which number the question has, and what the token is, differs.
            let piece = piece.replace("\"TOKEN\"", "\"").replace("work-3\",", "work-");
            assert!(asked.contains(&piece), "expected `{piece}` in\n{asked}");
        }
        let asked: Value = serde_json::from_str(&asked).expect("JSON");
        let step = asked["response"]["continuation"]["continuation_token"].as_str();
        let done = self.says(&format!(
            "T={token}\n{}",
            second.replace("TOKEN", step.expect("a token to go on with"))
        ));
        let done: Value = serde_json::from_str(&done).expect("JSON");
        assert_eq!(done["response"]["status"], "success", "{done}");
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether `said` is what was promised, with any text in the place of each `…`.
fn fits(said: &str, promised: &str) -> bool {
    let (start, rest) = promised.split_once('…').unwrap_or((promised, ""));
    let Some(mut said) = said.strip_prefix(start) else { return false };
    if start.len() == promised.len() {
        return said.is_empty();
    }
    let mut pieces: Vec<&str> = rest.split('…').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, after)) = said.split_once(piece) else { return false };
        said = after;
    }
    said.ends_with(end)
}

#[test]
fn an_ellipsis_fits_anything() {
    for (said, promised, expected) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "a…c", true),
        ("abc", "a…", true),
        ("abcd", "…b…d", true),
        ("abc", "a…d", false),
        ("abc", "b…", false),
    ] {
        assert_eq!(fits(said, promised), expected, "{said} {promised}");
    }
}

/// Commands (lines that start with `$ `) of the blocks that open so, each with the lines below it.
fn conversations(readme: &str, opening: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == opening;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push((command.into(), String::new()));
        } else if let Some((_, promised)) = found.last_mut().filter(|_| inside) {
            if !promised.is_empty() {
                promised.push('\n');
            }
            promised.push_str(line);
        }
    }
    found
}

/// The block of shell commands that begins with a line that starts so.
fn block<'r>(readme: &'r str, start: &str) -> &'r str {
    let opening = format!("```sh\n{start}");
    let at = readme.find(&opening).unwrap_or_else(|| panic!("no block begins with `{start}`"));
    let inner = &readme[at + "```sh\n".len()..];
    inner.split("```").next().unwrap_or_default()
}

/// The commands of the table, without what is said about them.
fn commands(readme: &str) -> Vec<String> {
    let lines = block(readme, "bridle up").lines().map(str::trim_end);
    let bare = lines.map(|line| line.split(" # ").next().unwrap_or_default().trim_end().to_owned());
    bare.filter(|command| !command.is_empty() && !command.starts_with('#')).collect()
}
