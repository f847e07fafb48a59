//! A hundred everyday tasks under the built-in policies: how often somebody is asked, and for what.
//!
//! Four small projects (Rust, Python, a web page, notes) are edited and tested by real programs in the jail, and
//! things are looked up over HTTP. Every question is answered with yes; counted is how many there were. Nobody may be
//! asked about reading, and every commit must have been shown as a diff.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use crate::harness::{Home, Shell};

/// A task: what the user says, and what is done for it.
struct EverydayTask {
    session: &'static str,
    prompt: String,
    steps: Vec<String>,
}

fn file(action: &str, rest: &str) -> String {
    format!(":target :file :action :{action} {rest}")
}

fn script(text: &str) -> String {
    format!(":target :exec :action :exec :script \"{text}\"")
}

/// Edits of a crate of one file, tested by rustc where there is one.
fn rust_task(n: usize, has_rustc: bool) -> EverydayTask {
    let mut steps = vec![
        file("list", ":path \"src\""),
        file("search", ":pattern \"fn double\""),
        file("read", ":path \"src/lib.rs\""),
    ];
    match n % 4 {
        // A question of the user, and no change.
        0 => {}
        1 => steps.push(file("patch", &format!(":path \"src/lib.rs\" :old \"// end\" :new \"pub fn f{n}() -> u32 {{ {n} }}\n// end\""))),
        2 => steps.push(file("write", &format!(":path \"src/m{n}.rs\" :text \"pub const N: u32 = {n};\n\""))),
        _ => steps.push(script(&format!("echo '- change {n}' >> CHANGELOG.md; git log --oneline | head -3"))),
    }
    if has_rustc && n % 5 == 1 {
        let test = "rustc --edition 2021 --test src/lib.rs -o $TMPDIR/t && $TMPDIR/t -q";
        steps.push(script(test));
    }
    EverydayTask { session: "rust", prompt: format!("rust {n}:"), steps }
}

fn python_task(n: usize) -> EverydayTask {
    let mut steps = vec![file("search", ":pattern \"def \""), file("read", ":path \"calc.py\"")];
    match n % 5 {
        0 => steps.push(script("python3 -m unittest -q 2>&1")),
        1 | 2 => {
            steps.push(file("patch", &format!(":path \"calc.py\" :old \"# end\" :new \"def f{n}(a):\n    return a + {n}\n\n# end\"")));
            steps.push(file("write", &format!(":path \"test_f{n}.py\" :text \"import unittest\nimport calc\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(calc.f{n}(1), {})\n\"", n + 1)));
            steps.push(script("python3 -m unittest -q 2>&1"));
        }
        3 => steps.push(script(
            "sed -i 's/^# calc.*/# calc, tidied/' calc.py && python3 -m py_compile calc.py",
        )),
        _ => steps.push(script("wc -l *.py | tail -1; grep -c def calc.py")),
    }
    EverydayTask { session: "python", prompt: format!("python {n}:"), steps }
}

fn web_task(n: usize) -> EverydayTask {
    let mut steps =
        vec![file("list", ":path \".\" :depth 2"), file("read", ":path \"index.html\"")];
    match n % 4 {
        0 => steps.push(file("write", &format!(":path \"pages/p{n}.html\" :text \"<h1>{n}</h1>\n\""))),
        1 => steps.push(script(&format!("sed -i 's/<title>[^<]*/<title>Site {n}/' index.html"))),
        2 => steps.push(file("move", &format!(":path \"pages/q{n}.html\" :to \"old/q{n}.html\""))),
        // What is new and runs by itself is asked for like every change, and named.
        _ => steps.push(script(&format!("printf '#!/bin/sh\\\\necho {n}\\\\n' > build{n}.sh; chmod +x build{n}.sh; ./build{n}.sh"))),
    }
    EverydayTask { session: "web", prompt: format!("web {n}:"), steps }
}

fn notes_task(n: usize) -> EverydayTask {
    let mut steps = vec![file("search", ":pattern \"TODO\""), file("read", ":path \"inbox.org\"")];
    match n % 3 {
        0 => steps.push(file(
            "patch",
            &format!(":path \"inbox.org\" :old \"* TODO task {n}\n\" :new \"* DONE task {n}\n\""),
        )),
        1 => {
            steps.push(file(
                "patch",
                &format!(":path \"inbox.org\" :old \"* TODO task {n}\n\" :new \"\""),
            ));
            steps.push(file(
                "write",
                &format!(":path \"done/{n}.org\" :text \"* DONE task {n}\n\""),
            ));
        }
        _ => steps.push(script("grep -h TODO *.org | sort | head -5")),
    }
    EverydayTask { session: "notes", prompt: format!("notes {n}:"), steps }
}

/// Something on the web: half of the addresses are the user's own words.
fn lookup_task(n: usize, address: &str) -> EverydayTask {
    let url = format!("http://{address}/{n}");
    let step = format!(":target :http :action :get :url \"{url}\"");
    let prompt = match n % 2 {
        0 => format!("lookup {n}: what does {url} say?"),
        _ => format!("lookup {n}:"),
    };
    EverydayTask {
        session: "rust",
        prompt,
        steps: vec![step, file("read", ":path \"src/lib.rs\"")],
    }
}

fn tasks(has_rustc: bool, address: &str) -> Vec<EverydayTask> {
    let all = (0..30).map(|n| rust_task(n, has_rustc));
    let all = all.chain((0..25).map(python_task)).chain((0..20).map(web_task));
    all.chain((0..15).map(notes_task)).chain((0..10).map(|n| lookup_task(n, address))).collect()
}

/// Rules of a thinker that does the steps of each task, one after the other.
fn rules(tasks: &[EverydayTask]) -> String {
    let mut rules = String::new();
    for task in tasks {
        let when = task.prompt.split(':').next().unwrap();
        for (depth, step) in task.steps.iter().enumerate() {
            let after = if depth == 0 { "" } else { ":result t" };
            rules.push_str(&format!(
                "(rule :when \"{when}:*\" :depth {depth} {after} :propose (({step} :then-think t)))\n"
            ));
        }
        let depth = task.steps.len();
        rules.push_str(&format!(
            "(rule :when \"{when}:*\" :depth {depth} :result t :say \"Done {when}.\")\n"
        ));
    }
    rules + "(default :say \"What?\")\n"
}

fn lay(home: &Home) {
    home.write("rust/src/lib.rs", "pub fn double(a: u32) -> u32 { a * 2 }\n#[test]\nfn doubles() { assert_eq!(double(2), 4); }\n// end\n");
    home.write("rust/CHANGELOG.md", "# Changes\n");
    home.write("python/calc.py", "# calc\n\ndef add(a, b):\n    return a + b\n\n# end\n");
    home.write("python/test_add.py", "import unittest\nimport calc\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(calc.add(1, 2), 3)\n");
    home.write("web/index.html", "<title>Site</title>\n");
    for n in 0..20 {
        home.write(&format!("web/pages/q{n}.html"), format!("<p>{n}</p>\n"));
    }
    let tasks: String = (0..15).map(|n| format!("* TODO task {n}\n")).collect();
    home.write("notes/inbox.org", tasks);
}

/// Answers every request with a line, until the test ends.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0; 4096];
            // Whoever goes away gets nothing.
            let _ = stream.read(&mut head);
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nfound\n",
            );
        }
    });
    address
}

/// Question of a task: what it was for.
struct AskedQuestion {
    action: String,
    has_diff: bool,
}

/// Says a prompt, answers every question with yes, and returns the questions.
fn carry_out(home: &Home, shell: &mut Shell, task: &EverydayTask) -> Vec<AskedQuestion> {
    let prompt = &task.prompt;
    shell.send(&format!("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"{prompt}\"))"));
    let mut asked = Vec::new();
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :REQUEST") && frame.contains(":target :approval ") {
            let wanted = frame.split(":wanted (:action :").nth(1).unwrap();
            let action = wanted.split([' ', ')']).next().unwrap().to_ascii_lowercase();
            let has_diff = frame.contains(":diff \"");
            asked.push(AskedQuestion { action, has_diff });
            let name = frame.split('"').nth(1).unwrap();
            let socket = home.path("b.sock");
            let done = home.run(&["approve", name, "--addr", &socket]);
            assert_eq!(done.code, 0, "{prompt}: {done:?}");
        }
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            let name = prompt.split(':').next().unwrap();
            assert!(frame.contains(&format!("Done {name}.")), "{prompt}: {frame}");
            return asked;
        }
    }
}

#[test]
fn a_hundred_everyday_tasks_ask_once_at_most_as_a_rule() {
    let home = Home::new();
    lay(&home);
    let sysroot = std::process::Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().filter(|it| it.status.success());
    let sysroot = sysroot.map(|it| String::from_utf8(it.stdout).unwrap().trim().to_owned());
    let sysroot = sysroot.filter(|path| Path::new(path).join("bin/rustc").exists());
    let address = serve();
    let tasks = tasks(sysroot.is_some(), &address);
    assert_eq!(tasks.len(), 100);
    let thinker = format!("script:{}", home.write("rules.script", rules(&tasks)));
    let read = sysroot.clone().unwrap_or_else(|| "/usr/lib".to_owned());
    let path = format!("PATH={read}/bin:/usr/bin:/bin");
    let _daemon = home.up(&[
        "--thinker",
        &thinker,
        "--http-private",
        &address,
        "--exec-read",
        &read,
        "--exec-env",
        &path,
    ]);
    let socket = home.path("b.sock");
    let mut shells = std::collections::BTreeMap::new();
    for session in ["rust", "python", "web", "notes"] {
        let folder = home.path(session);
        let done = home.run(&["project", &folder, "--session", session, "--addr", &socket]);
        assert_eq!(done.code, 0, "{done:?}");
        shells.insert(session, Shell::attach(&home, session));
    }
    let mut counts = Vec::new();
    for task in &tasks {
        let asked = carry_out(&home, shells.get_mut(task.session).unwrap(), task);
        for question in &asked {
            let is_read = ["read", "list", "search"].contains(&question.action.as_str());
            assert!(!is_read, "{}: asked about reading", task.prompt);
            assert!(question.action != "commit" || question.has_diff, "{}", task.prompt);
        }
        counts.push((asked.len(), task.prompt.as_str()));
    }
    counts.sort_unstable();
    let (median, p90) = (counts[49], counts[89]);
    assert!(median.0 <= 1, "{median:?}");
    assert!(p90.0 <= 2, "{p90:?}");
    let commits = home.run(&["effects", "--json"]).stdout;
    let commits = commits.lines().filter(|line| line.contains("commit")).count();
    let questions: usize = counts.iter().map(|it| it.0).sum();
    assert!(commits > 40 && questions >= commits, "{commits} commits, {questions} questions");
    assert!(fs::read_to_string(home.path("notes/inbox.org")).unwrap().contains("* DONE task 3\n"));
}
