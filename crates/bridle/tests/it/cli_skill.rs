//! `bridle skill`: a new skill works at once; what is wrong has a place; processes, installs, turns of the past.
//!
//! long: the turns of one installed skill are looked at from all sides.

use crate::harness::{Home, Shell};

#[test]
fn a_new_skill_passes_its_tests_and_is_never_overwritten() {
    let home = Home::new();
    let (folder, file) = (home.path("."), home.path("./water-plants.org"));
    let wrote = format!("wrote {file}\ntest it: bridle skill test {file}\n");
    home.run(&["skill", "new", "Water-Plants", "--to", &folder]).prints(&wrote);
    home.run(&["skill", "test", &file]).prints("3 passed, 0 failed\n");
    let done = home.run(&["skill", "check", &file]);
    assert!(done.stdout.contains("command water-plants: Says hello."), "{done:?}");
    assert_eq!(home.run(&["skill", "new", "water-plants", "--to", &folder]).code, 73);
    assert_eq!(home.run(&["skill", "new", "../x", "--to", &folder]).code, 2);
    assert_eq!(home.run(&["skill", "check", "/does-not-exist.org"]).code, 66);
}

#[test]
fn a_fault_has_file_line_column_and_form() {
    let home = Home::new();
    let file = home.path("bad.org");
    let text = "* P\n#+begin_src lisp\n(defskill bad\n  (think (c)\n    (open c)))\n#+end_src\n";
    std::fs::write(&file, text).unwrap();
    for verb in ["check", "test"] {
        let done = home.run(&["skill", verb, &file]);
        assert_eq!(done.code, 1);
        let fault = format!("{file}:5:5: outside the language: OPEN\n  in (open c)))\n");
        assert!(done.stdout.starts_with(&fault), "{done:?}");
        let done = home.run(&["skill", verb, "--json", &file]);
        assert!(done.stdout.contains("\"line\":5,\"column\":5"), "{done:?}");
    }
}

#[test]
fn a_test_that_fails_is_told_and_counted() {
    let home = Home::new();
    let file = home.path("a.org");
    let text = "* P\n#+begin_src lisp\n(defcommand up (text) (string-upcase text))\n#+end_src\n\
                * Tests\n| command | answer |\n| up a    | A      |\n| up b    | b      |\n";
    std::fs::write(&file, text).unwrap();
    let done = home.run(&["skill", "test", &file]);
    let told = format!("{file}:8: up b: expected \"b\", got \"B\"\n1 passed, 1 failed\n");
    assert_eq!((done.code, done.stdout.as_str()), (1, told.as_str()));
}

/// A skill that runs in the daemon's own language, and the same in another.
const TALK: &str = ":PROPERTIES:\n:ID: talk\n:CAPABILITIES: log/log\nPROCESS:END:\n* P\n#+begin_src lisp\n\
(defparameter *greeting* \"Hello\")\n\
(defcommand talk (text context)\n  \"Talks.\"\n  (let ((count (1+ (or (bridle:state) 0))))\n    (bridle:save-state count)\n\
    (setf *greeting* \"never kept\")\n\
    (format nil \"~a ~a ~a ~{~a~^, ~}\" text count (getf context :session)\n      (sort (list 3 1 2) #'<))))\n\
(defcommand greet (text) (format nil \"~a ~a\" *greeting* text))\n\
(defcommand note (text)\n  (let ((outcome (bridle:act :log :action :log :text text)))\n    (list (bridle:result outcome) (list :target :log :action :log :text \"again\"))))\n\
(deftool add ((a integer) (b number :optional 2) (how keyword :optional :plain :choices (:plain :twice)))\n  \"Adds.\"\n\
  (* (+ a b) (if (eq how :twice) 2 1)))\n\
(defskill talk\n  (decide (proposal context)\n    (if (equal (getf proposal :text) \"no\") (list :veto \"No.\"))))\n#+end_src\n\
* Tests\n| command | answer |\n| greet you | Hello you |\n| greet me | Hello me |\n\n\
| form | value |\n| (list :a 1 \"x\") | (:A 1 \"x\") |\n#+begin_src lisp\n\
(test \"talks\" :command \"talk x\" :state 4 :context (:session \"s\") :saved 5 :answer \"x 5 s 1, 2, 3\")\n\
(test \"notes\" :command \"note x\" :results ((:outcome :done :value \"kept\")) :acts ((:log :action :log :text \"x\"))\n\
  :answer (\"kept\" (:target :log :action :log :text \"again\")))\n\
(test \"denied\" :command \"note x\" :results ((:outcome :denied :reason \"not now\")) :fails \"denied: not now\")\n\
(test \"adds\" :tool \"add\" :arguments (:a 3 :how :twice) :answer 10)\n\
(test \"needs a number\" :tool \"add\" :arguments (:a \"3\") :fails \"argument a is \\\"3\\\", expected integer\")\n\
(test \"vetoes\" :decide (:text \"no\") :answer (:veto \"No.\"))\n\
(test \"passes\" :decide (:text \"yes\") :answer nil)\n#+end_src\n";

const PYTHON: &str = ":PROPERTIES:\n:ID: py\n:CAPABILITIES: log/log\n:END:\n* P\n#+begin_src python :process t\n\
import bridle\n\n@bridle.command\ndef hello(text, context):\n    \"Says hello.\"\n    n = (bridle.state() or 0) + 1\n    bridle.save_state(n)\n    return f\"Hello {text} {n}\"\n\n\
@bridle.command\ndef note(text, context):\n    return str(bridle.result(bridle.act(\"log\", action=\"log\", text=text)))\n\n\
@bridle.command\ndef look(text, context):\n    return open(text).read()\n\n\
@bridle.command\ndef call(text, context):\n    import socket\n    socket.create_connection((\"127.0.0.1\", int(text)), 2)\n    return \"reached\"\n\n\
@bridle.command\ndef die(text, context):\n    import os\n    os.abort()\n\n\
@bridle.tool\ndef litres(beds: int, dry: bool = False):\n    \"Litres of water.\"\n    return beds * (20 if dry else 10)\n#+end_src\n\
* Tests\n| command | answer |\n| hello you | Hello you 1 |\n#+begin_src lisp\n\
(test \"notes\" :command \"note x\" :results ((:outcome :done :value 3)) :acts ((:log :action :log :text \"x\")) :answer \"3\")\n\
(test \"litres\" :tool \"litres\" :arguments (:beds 3 :dry t) :answer 60)\n\
(test \"wrong\" :tool \"litres\" :arguments (:beds \"3\") :fails \"expected integer\")\n\
(test \"no file of the home\" :command \"look SECRET\" :fails \"Error\")\n\
(test \"no network\" :command \"call PORT\" :fails \"Error\")\n\
(test \"a death\" :command \"die\" :fails \"the process\")\n#+end_src\n";

fn passes(home: &Home, file: &str, count: usize) {
    let done = home.run(&["skill", "test", file]);
    assert_eq!(done.stdout, format!("{count} passed, 0 failed\n"), "{done:?}");
}

#[test]
fn the_same_file_runs_in_the_daemon_and_under_sbcl_with_the_same_results() {
    let home = Home::new();
    for (name, process) in [("lisp.org", ""), ("sbcl.org", ":PROCESS: t\n")] {
        home.write(name, TALK.replace("PROCESS", process));
        passes(&home, &home.path(name), 10);
    }
    let parts = |name: &str| {
        let done = home.run(&["skill", "check", &home.path(name)]);
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.split_once('\n').map(|(_, rest)| rest.to_owned())
    };
    assert_eq!(parts("lisp.org"), parts("sbcl.org"));
    // A fault of the program has its line.
    home.write(
        "bad.org",
        TALK.replace("PROCESS", ":PROCESS: t\n").replace("(defparameter", "(no-such-thing"),
    );
    let done = home.run(&["skill", "check", &home.path("bad.org")]);
    assert!(done.stdout.contains("bad.org:8:1: "), "{done:?}");
}

#[test]
fn a_skill_in_python_runs_in_the_jail() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    home.write("secret.txt", "canary");
    let text = PYTHON.replace("SECRET", &home.path("secret.txt")).replace("PORT", &port);
    home.write("py.org", &text);
    passes(&home, &home.path("py.org"), 7);
    // A language that nobody knows, and a program that is no skill.
    for (argument, part) in
        [("cobol :process t", "no program is known"), ("sh :process /bin/true", "the process")]
    {
        let text = PYTHON.replace("python :process t", argument);
        home.write("x.org", &text);
        let done = home.run(&["skill", "check", &home.path("x.org")]);
        assert!(done.code == 1 && done.stdout.contains(part), "{done:?}");
    }
}

/// A home with a folder of Org files and a skill in it.
fn gardener() -> (Home, String) {
    let home = Home::new();
    let memex = home.path("memex");
    home.write(".config/bridle/config.toml", format!("unix = \"{}\"\n", home.path("b.sock")));
    home.write("memex/a.org", "* A\n");
    let done = home.run(&["init", &memex, "--yes", "--no-skills"]);
    assert_eq!(done.code, 0, "{done:?}");
    (home, memex)
}

const GREET: &str = ":PROPERTIES:\n:ID: greet\n:TRIGGER_PATTERN: ^good day\n:CAPABILITIES: log/log\n:END:\n* P\n#+begin_src lisp\n\
(defskill greet\n  (think (context)\n    (bridle:act :log :action :log :text (getf context :text))\n    \"Good day.\"))\n#+end_src\n\
* Tests\n| prompt | answer |\n| good day | Good day. |\n";

#[test]
fn a_skill_is_installed_shown_traced_rehearsed_and_taken_back() {
    let (home, memex) = gardener();
    home.write("greet.org", GREET);
    let file = home.path("greet.org");
    let done = home.run(&["skill", "install", &file]);
    assert!(
        done.stdout.contains("+(defskill greet")
            && done.stdout.ends_with("run with --yes to do it\n"),
        "{done:?}"
    );
    assert!(!std::path::Path::new(&format!("{memex}/skills/greet.org")).exists());
    home.run(&["skill", "install", "--yes", "--json", &file])
        .prints("{\"skill\":\"greet\",\"status\":\"installed\"}\n");
    let shown = home.run(&["skill", "show", "greet"]);
    assert!(
        shown.stdout.contains("wakes on pattern ^good day") && shown.stdout.contains("1 tests"),
        "{shown:?}"
    );
    assert_eq!(home.run(&["skill", "source", "greet"]).stdout, GREET);
    assert_eq!(home.run(&["skill", "source", "zebra"]).code, 66);
    let daemon = home.up(&[]);
    let mut shell = Shell::attach(&home, "work");
    shell.send("(:type :EVENT :id 1 :payload (:sensor :user-prompt :text \"good day\"))");
    loop {
        let frame = shell.receive();
        if frame.starts_with("(:type :RESPONSE :id 1 ") {
            assert!(frame.contains("Good day."), "{frame}");
            break;
        }
    }
    drop(shell);
    let traced = home.run(&["skill", "trace", "greet"]);
    for part in
        ["woken by  good day", ":action :log", "gets      (:outcome :done", "says      Good day."]
    {
        assert!(traced.stdout.contains(part), "{part}: {traced:?}");
    }
    let hash = traced.stdout.lines().last().unwrap().trim_start_matches("  version   ").to_owned();
    assert_eq!(home.run(&["skill", "source", "greet", "--version", &hash]).stdout, GREET);
    home.run(&["skill", "rehearse", &file]).prints("1 turns of greet run again, 0 differ\n");
    for (old, new, parts) in [
        ("Good day.", "Good evening.", &["- Good day.", "+ Good evening.", "1 differ"][..]),
        (":text (getf context :text)", ":text \"x\"", &["- (:do :act", "+ (:do :act", "1 differ"]),
        ("^good day", "^good night", &["- woken", "+ not woken"]),
        ("(think (context)", "(think (context) (error \"broken\")", &["+ ", "broken"]),
    ] {
        home.write("changed.org", GREET.replace(old, new));
        let done = home.run(&["skill", "rehearse", &home.path("changed.org")]);
        assert_eq!(done.code, 1, "{done:?}");
        for part in parts {
            assert!(done.stdout.contains(part), "{part}: {done:?}");
        }
    }
    drop(daemon);
    home.write("greet.org", GREET.replace("Good day.", "Hello."));
    assert_eq!(home.run(&["skill", "install", "--yes", &file]).code, 0);
    assert_eq!(home.run(&["skill", "install", "--yes", "--undo", "greet"]).code, 0);
    assert_eq!(home.run(&["skill", "source", "greet"]).stdout, GREET);
    home.write("greet.org", GREET.replace("| Good day. |", "| Bad day. |"));
    assert_eq!(home.run(&["skill", "install", "--yes", &file]).code, 65);
}

#[test]
fn every_verb_prints_json() {
    let (home, memex) = gardener();
    let folder = format!("{memex}/skills");
    std::fs::create_dir_all(&folder).unwrap();
    let new = home.run(&["skill", "new", "fern", "--to", &folder, "--json"]);
    let file = format!("{folder}/fern.org");
    assert_eq!(
        new.stdout,
        format!("{{\"skill\":\"fern\",\"status\":\"written\",\"file\":\"{file}\"}}\n")
    );
    home.run(&["skill", "enable", "--yes", "--json", &file])
        .prints("{\"skill\":\"fern\",\"status\":\"unchanged\",\"capabilities\":[]}\n");
    home.run(&["skill", "disable", "--json", "fern"])
        .prints("{\"skill\":\"fern\",\"status\":\"unchanged\"}\n");
    let shown = home.run(&["skill", "show", "--json", "fern"]);
    assert!(
        shown.stdout.contains("\"enabled\":[],\"saved-for\":[],\"process\":false"),
        "{shown:?}"
    );
    assert!(home.run(&["skill", "source", "--json", "fern"]).stdout.contains("\"source\":\""));
}

/// The page with the tutorial.
fn page() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/skills.md");
    std::fs::read_to_string(file).unwrap()
}

/// Bodies of the blocks of this language, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let parts = page.split("```").skip(1).step_by(2);
    parts
        .filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'))
        .map(str::to_owned)
        .collect()
}

/// Runs the lines of a block as a person does who is in the home; exit codes.
fn typed(home: &Home, block: &str) -> Vec<(String, i32)> {
    let mut done = Vec::new();
    for line in block.lines().filter(|line| line.starts_with("bridle ")) {
        let (words, _) = line.split_once(" #").unwrap_or((line, ""));
        let words = words.replace("~/org", &home.path("org"));
        let mut words: Vec<&str> = words.split_whitespace().skip(1).collect();
        // Nobody is there to answer.
        if matches!(words.get(1), Some(&"enable" | &"install" | &"update")) {
            words.push("--yes");
        }
        let mut command = home.command(&words);
        let ran = crate::harness::finish(command.current_dir(home.path("")), b"");
        assert!(!ran.stderr.contains("error"), "{line}: {ran:?}");
        done.push((line.to_owned(), ran.code));
    }
    done
}

#[test]
fn the_commands_of_the_tutorial_give_a_working_skill() {
    let home = Home::new();
    let page = page();
    let shells = blocks(&page, "sh");
    let [first, using, looking, shipped] = &shells[..] else { panic!("other blocks: {shells:?}") };
    let good = |block: &str| {
        for (line, code) in typed(&home, block) {
            assert_eq!(code, 0, "{line}");
        }
    };
    good(first);
    home.write(".config/bridle/config.toml", format!("unix = \"{}\"\n", home.path("b.sock")));
    home.write("org/a.org", "* A\n");
    assert_eq!(home.run(&["init", &home.path("org"), "--yes"]).code, 0);
    std::fs::copy(home.path("water-plants.org"), home.path("org/skills/water-plants.org")).unwrap();
    let _daemon = home.up(&[]);
    good(using);
    let said = home.run(&["ask", "/water-plants", "Anna"]);
    assert!(said.stdout.contains("Hello, Anna. This is number 2."), "{said:?}");
    let looked = typed(&home, looking);
    for (line, code) in &looked {
        // The counter of the turns before was another one, so a rehearsal may say that an answer differs.
        assert!(*code == 0 || line.contains("rehearse"), "{line}: {code}");
    }
    assert_eq!(looked.len(), 6);
    good(shipped);
}

#[test]
fn the_python_of_the_page_is_a_skill_that_passes_its_tests() {
    let home = Home::new();
    let python = blocks(&page(), "python");
    let [program] = &python[..] else { panic!("other blocks: {python:?}") };
    let text = format!(
        ":PROPERTIES:\n:ID: water\n:CAPABILITIES: log/log\n:END:\n* P\n#+begin_src python :process t\n{program}#+end_src\n* Tests\n#+begin_src lisp\n\
         (test \"waters\" :command \"water roses\" :state 1 :saved 2 :results ((:outcome :done)) :answer \"Watered roses, 2 in all.\")\n\
         (test \"litres\" :tool \"litres\" :arguments (:beds 2) :answer 20)\n#+end_src\n"
    );
    home.write("water.org", &text);
    passes(&home, &home.path("water.org"), 2);
}
