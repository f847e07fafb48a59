//! `bridle model` and `bridle cost` against a server of this machine: what is written, what waits for a yes, what is asked
//! and what it costs.

use std::os::unix::fs::PermissionsExt as _;

use bridle_test_support::chat_model_server::ChatModelServer;
use serde_json::Value;

use crate::harness::{Done, Home};

/// A home with an Org folder and settings that name it.
fn home() -> Home {
    let home = Home::new();
    home.write("org/notes.org", "* Roof\nThe roof leaks at the chimney.\n");
    let (memex, socket) = (home.path("org"), home.path("b.sock"));
    home.write(".config/bridle/config.toml", format!("unix = \"{socket}\"\nmemex = \"{memex}\"\n"));
    home
}

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.path("org/models.org")).unwrap()
}

fn lines(done: &Done) -> Vec<Value> {
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn add(home: &Home, server: &ChatModelServer, more: &[&str]) -> Done {
    let address = server.address();
    home.run(&[&["model", "add", &address, "--name", "box"], more].concat())
}

/// Waits until the daemon has taken up what a file says.
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}");
}

#[test]
fn a_provider_is_added_behind_everything_else_and_answers() {
    let home = home();
    let server = ChatModelServer::start(&["qwen3:8b"]);
    let mine = "#+title: Mine\n\n* Notes on models\nkeep  these   blanks \n";
    home.write("org/models.org", mine);
    let added = add(&home, &server, &[]);
    assert_eq!((added.code, added.stderr.as_str()), (0, ""), "{added:?}");
    let after = file(&home);
    assert!(after.starts_with(mine), "{after}");
    let expected = format!(
        "\n* box\n:PROPERTIES:\n:ADDRESS:  {}\n:CODEC:    openai-chat\n:PRIVACY:  local\n:END:\n\
         ** qwen3:8b :reflex:cognition:\n:PROPERTIES:\n:CONTEXT:  8192\n:PRICE:    free\n:END:\n",
        server.address()
    );
    assert_eq!(&after[mine.len()..], expected);
    let again = add(&home, &server, &[]);
    assert!(again.code == 73 && again.stderr.contains("model remove box"), "{again:?}");
    let tested = home.run(&["model", "test", "--json"]);
    let told = &lines(&tested)[0];
    assert_eq!(told["model"], "box/qwen3:8b", "{tested:?}");
    assert_eq!((&told["ok"], &told["answer"]), (&true.into(), &"ready".into()));
    assert_eq!((&told["input-tokens"], &told["cost-microdollars"]), (&14.into(), &0.into()));
    let heard = server.requests();
    assert!(heard.last().unwrap().starts_with("POST /v1/chat/completions "), "{heard:?}");
    assert!(!heard.iter().any(|it| it.contains("chimney")), "nothing of the memory is sent");
}

#[test]
fn models_are_those_that_the_server_has() {
    let home = home();
    let server = ChatModelServer::start(&["small", "large", "a/b:c"]);
    let many = add(&home, &server, &[]);
    assert!(many.code == 2 && many.stderr.contains("small, large, a/b:c"), "{many:?}");
    let unknown = add(&home, &server, &["--model", "smal"]);
    assert!(unknown.code == 66 && unknown.stderr.contains("it has small"), "{unknown:?}");
    assert!(!std::path::Path::new(&home.path("org/models.org")).exists(), "nothing was written");
    let added = add(
        &home,
        &server,
        &["--model", "large", "--reflex", "small", "--reflex", "large", "--json"],
    );
    assert_eq!(lines(&added)[0]["models"], serde_json::json!(["large", "small"]), "{added:?}");
    let listed = lines(&home.run(&["model", "list", "--json"]));
    assert_eq!(listed[0]["tiers"], serde_json::json!(["reflex", "cognition"]));
    assert_eq!(listed[0]["status"], "in-force");
    let served = home.run(&["model", "list", "--served", "box"]);
    served.prints("small\nlarge\na/b:c\n");
    home.run(&["model", "use", "box/small"]).prints("cognition: box/small\n");
    assert!(file(&home).contains("** small :reflex:cognition:\n"), "{}", file(&home));
    assert!(file(&home).contains("** large :reflex:\n"), "{}", file(&home));
    assert_eq!(home.run(&["model", "use", "box/none"]).code, 66);
    let removed = home.run(&["model", "remove", "box/large", "--yes"]);
    removed.prints("removed box/large\n");
    let last = home.run(&["model", "remove", "box/small", "--yes"]);
    assert!(last.code == 2 && last.stderr.contains("bridle model remove box"), "{last:?}");
    assert_eq!(home.run(&["model", "remove", "box"]).code, 2, "nobody could be asked");
    home.run(&["model", "remove", "box", "--yes"]).prints("removed box\n");
    assert!(!file(&home).contains("127.0.0.1:1/") && !file(&home).contains("* box"));
}

#[test]
fn a_server_that_does_not_answer_is_told_with_what_to_do() {
    let home = home();
    let nobody = home.run(&["model", "add", "http://127.0.0.1:9/v1"]);
    assert!(nobody.code == 69 && nobody.stderr.contains("hint: start the server"), "{nobody:?}");
    let unknown = home.run(&["model", "add", "olama"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("ollama, llamacpp"), "{unknown:?}");
    let no_key = home.run(&["model", "add", "openai"]);
    assert!(no_key.code == 66 && no_key.stderr.contains("--key -"), "{no_key:?}");
    let server = ChatModelServer::start(&["m"]);
    server.set(|script| script.key = Some("s3cr3t-key".to_owned()));
    let refused = add(&home, &server, &[]);
    assert!(refused.code == 1 && refused.stderr.contains("key"), "{refused:?}");
    let blind = add(&home, &server, &["--no-check", "--model", "m"]);
    assert_eq!(blind.code, 0, "{blind:?}");
    let tested = home.run(&["model", "test", "--here"]);
    assert!(tested.code == 1 && tested.stdout.contains("hint: "), "{tested:?}");
    let without = Home::new();
    let no_folder = without.run(&["model", "list"]);
    assert!(no_folder.code == 78 && no_folder.stderr.contains("bridle init"), "{no_folder:?}");
}

#[test]
fn a_key_is_named_and_sent_and_never_written() {
    const KEY: &str = "s3cr3t-key-of-a-test";
    let home = home();
    let server = ChatModelServer::start(&["m"]);
    server.set(|script| script.key = Some(KEY.to_owned()));
    let key = home.write("key", format!("{KEY}\n"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let itself = add(&home, &server, &["--key", "sk-proj-abcdefgh12345678"]);
    assert!(itself.code == 2 && !itself.stderr.contains("abcdefgh"), "{itself:?}");
    let added = add(&home, &server, &["--key", &format!("file:{key}")]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(!file(&home).contains(KEY) && !added.stdout.contains(KEY));
    assert_eq!(home.run(&["model", "test", "--here"]).code, 0);
    let bearer = format!("authorization: Bearer {KEY}");
    assert!(server.requests().iter().all(|it| it.contains(&bearer)), "{:?}", server.requests());
    // Typed or piped it is kept sealed, for the provider's host.
    let args = ["model", "add", "openai", "--key", "-", "--no-check"];
    let sealed = home.pipe(&args, format!("{KEY}\n"));
    assert_eq!(sealed.code, 0, "{sealed:?}");
    assert!(file(&home).contains(":KEY:      secret:openai\n") && !file(&home).contains(KEY));
    home.run(&["secret", "list"]).prints("NAME    HOSTS\nopenai  api.openai.com\n");
}

#[test]
fn a_changed_address_waits_for_a_yes_that_shows_it() {
    let home = home();
    let (server, other) = (ChatModelServer::start(&["m"]), ChatModelServer::start(&["m"]));
    assert_eq!(add(&home, &server, &[]).code, 0);
    home.write("org/models.org", file(&home).replace(&server.address(), &other.address()));
    let listed = home.run(&["model", "list"]);
    assert!(listed.code == 0 && listed.stdout.contains("box: ADDRESS"), "{listed:?}");
    assert_eq!(home.run(&["model", "test", "--here"]).code, 0);
    assert_eq!(other.requests().len(), 0, "the approved address is asked");
    let shown = home.run(&["model", "approve"]);
    let diff = format!(
        "box\n  - ADDRESS: {}\n  + ADDRESS: {}\nbox waits; run with --yes to approve it\n",
        server.address(),
        other.address()
    );
    shown.check(1, &diff, "");
    let approved = home.run(&["model", "approve", "--yes", "--json", "box"]);
    assert_eq!(lines(&approved)[0]["approved"], true, "{approved:?}");
    home.run(&["model", "approve"]).prints("nothing waits for approval\n");
    assert_eq!(home.run(&["model", "test", "--here"]).code, 0);
    assert_eq!(other.requests().len(), 1);
    // A new one that would get a key waits too.
    let new = "* lab\n:PROPERTIES:\n:ADDRESS: https://lab.example/v1\n:CODEC: openai-chat\n:PRIVACY: remote\n\
               :KEY: env:LAB\n:END:\n** m :reasoning:\n";
    home.write("org/models.org", format!("{}{new}", file(&home)));
    let refused = home.run(&["model", "test", "--here", "lab"]);
    assert!(refused.code == 77 && refused.stderr.contains("model approve"), "{refused:?}");
    let terminal = home.at_terminal(&["model", "approve"], "y\n");
    assert!(terminal.stdout.contains("approved lab"), "{terminal:?}");
}

#[test]
fn a_fault_names_its_line_and_keeps_the_provider() {
    let home = home();
    let server = ChatModelServer::start(&["m"]);
    assert_eq!(add(&home, &server, &[]).code, 0);
    let daemon = home.up(&[]);
    eventually("the daemon asks the model", || home.run(&["model", "test"]).code == 0);
    let good = file(&home);
    home.write("org/models.org", good.replace(":CODEC:    openai-chat", ":CODEC:    morse"));
    let listed = home.run(&["model", "list", "--json"]);
    assert_eq!(listed.code, 1, "{listed:?}");
    let told = lines(&listed);
    let fault = told.iter().find(|it| it["status"] == "faulty").unwrap();
    // Behind the examples, which are switched off.
    let codecs = good.lines().enumerate().filter(|(_, it)| *it == ":CODEC:    openai-chat");
    let line = codecs.last().unwrap().0 + 1;
    assert_eq!(fault["line"], line);
    assert!(told.iter().any(|it| it["model"] == "box/m" && it["status"] == "old"), "{told:?}");
    assert_eq!(home.run(&["model", "test"]).code, 0, "the daemon has the old one");
    drop(daemon);
}

#[test]
fn the_daemon_asks_providers_for_its_owner_and_counts_what_thoughts_cost() {
    let home = home();
    let server = ChatModelServer::start(&["m", "n"]);
    assert_eq!(add(&home, &server, &["--model", "m"]).code, 0);
    let priced = file(&home).replace(":PRICE:    free\n", ":PRICE_INPUT: 2\n:PRICE_OUTPUT: 10\n");
    home.write("org/models.org", priced);
    let _daemon = home.up(&[]);
    let ask = |payload: &str| {
        home.run(&["send", &format!("(:type :REQUEST :target :system :payload {payload})")])
    };
    eventually("the daemon asks the model", || {
        ask("(:action :provider-test :model \"box/m\")").stdout.contains(":ok t")
    });
    let test = ask("(:action :provider-test)").stdout;
    // 14 tokens at 2 dollars and 3 at 10 dollars a million.
    assert!(test.contains(":cost-microdollars 58"), "{test}");
    let models = ask("(:action :provider-models :provider \"box\")").stdout;
    assert!(models.contains("(:model \"m\" :context 8192)"), "{models}");
    assert!(ask("(:action :provider-models :provider \"none\")").stdout.contains(":error"));
    home.run(&["cost"]).prints("no model was asked yet\n");
    server.set(|script| script.answer = "It leaks at the chimney.".to_owned());
    let said = home.run(&["ask", "--session", "work", "where does the roof leak?"]);
    assert!(said.stdout.contains("It leaks at the chimney."), "{said:?}");
    for (by, key) in [("model", "box/m"), ("session", "work"), ("skill", "models")] {
        let row = &lines(&home.run(&["cost", "--by", by, "--json"]))[0];
        assert_eq!((&row["key"], &row["microdollars"]), (&key.into(), &58.into()), "{row}");
        assert_eq!((&row["thoughts"], &row["unpriced"]), (&1.into(), &0.into()), "{row}");
    }
    let socket = home.path("b.sock");
    let remote = home.run(&["cost", "--addr", &socket]);
    assert_eq!(remote, home.run(&["cost"]));
    assert!(remote.stdout.contains("$0.000058"), "{remote:?}");
    assert_eq!(home.run(&["cost", "--since", "2999-01-01"]).stdout, "no model was asked yet\n");
    assert_eq!(home.run(&["cost", "--since", "soon"]).code, 2);
    let log = lines(&home.run(&["log", "--session", "work", "--json"]));
    let draft = log.iter().find(|it| it["kind"] == "drafted").unwrap()["number"].to_string();
    let prompt = home.run(&["why", "--prompt", &draft, "--json"]);
    let told = &lines(&prompt)[0]["manifest"];
    assert_eq!((&told["provider"], &told["reach"]), (&"box".into(), &"local".into()), "{prompt:?}");
    let sent = server.requests().last().unwrap().split_once("\r\n\r\n").unwrap().1.len();
    assert_eq!(told["bytes"], sent, "{prompt:?}");
    let shown = home.run(&["why", "--prompt", &draft]);
    assert!(shown.stdout.contains("to box/m (local, openai-chat)"), "{shown:?}");
    let doctor = home.run(&["doctor", "--json"]);
    assert!(doctor.stdout.contains("box/m: first byte"), "{doctor:?}");
    // The owner's files are refused to whoever writes the memory.
    for name in ["models.org", "agent.org", "skills/x.org"] {
        home.write(&format!("org/{name}"), "* One\n");
        let args = ["memory", "edit", name, "--yes", "--outline", "One", "state", "TODO"];
        let refused = home.run(&args);
        assert!(refused.code != 0, "{name}: {refused:?}");
        assert_eq!(std::fs::read_to_string(home.path(&format!("org/{name}"))).unwrap(), "* One\n");
    }
}

#[test]
fn init_writes_the_files_that_are_not_there() {
    let home = Home::new();
    home.write("org/agent.org", "mine\n");
    let done = home.run(&["init", &home.path("org"), "--yes", "--no-skills"]);
    assert!(done.code == 0 && done.stdout.contains("new in the folder: models.org"), "{done:?}");
    assert_eq!(std::fs::read_to_string(home.path("org/agent.org")).unwrap(), "mine\n");
    let mode = std::fs::metadata(home.path("org/models.org")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    home.run(&["model", "list"]).prints("no models yet: `bridle model add ollama` adds one\n");
}

#[test]
fn prices_are_answered_a_line_for_a_line() {
    let home = Home::new();
    let asked = "{\"catalog\":null,\"address\":\"https://api.openai.com/v1\",\"model\":\"gpt-4o-mini\",\"at\":1795046400}\n\
                 {\"catalog\":null,\"address\":\"https://nobody.example\",\"model\":\"gpt-4o-mini\",\"at\":1795046400}\nnonsense\n";
    let told = home.pipe(&["__prices"], asked);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(told.code, 0);
    assert!(
        lines[0].starts_with("[[1,150000,600000,") && lines[1..] == ["null", "null"],
        "{lines:?}"
    );
}

#[test]
fn a_prompt_is_shown_before_it_is_sent_and_asked_again_of_another_model() {
    let home = home();
    let server = ChatModelServer::start(&["m", "n"]);
    assert_eq!(add(&home, &server, &["--model", "m", "--reasoning", "n"]).code, 0);
    let _daemon = home.up(&[]);
    let asked = || server.requests().iter().filter(|it| it.starts_with("POST ")).count();
    let preview = |more: &[&str]| {
        home.run(&[&["prompt", "preview"], more, &["when does the roof leak?"]].concat())
    };
    eventually("the notes are found", || preview(&["--body"]).stdout.contains("chimney"));
    let shown = preview(&[]);
    for part in ["to box/m at http://127.0.0.1", "nothing was sent", "note", "instruction", "$0"] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    let told = &lines(&preview(&["--json", "--model", "box/n"]))[0];
    assert_eq!(told["model"], "box/n", "{told}");
    assert_eq!(preview(&["--model", "box/none"]).code, 1, "no such model");
    assert_eq!(asked(), 0, "a preview sends nothing");
    assert_eq!(home.run(&["ask", "--session", "work", "when does the roof leak?"]).code, 0);
    assert_eq!(asked(), 1);
    let same = home.run(&["replay", "--with-model", "box/n", "--json"]);
    let told = &lines(&same)[0];
    assert_eq!((same.code, &told["same"]), (0, &true.into()), "{same:?}");
    assert_eq!(told["recorded"]["text"], "ready", "{told}");
    let last = server.requests().pop().unwrap();
    assert!(last.contains("\"model\":\"n\"") && last.contains("roof leak?"), "{last}");
    server.set(|script| script.answer = "(:tool :exec_run :argv (\"true\"))".to_owned());
    let file = file(&home).replace(
        "** n :reasoning:\n:PROPERTIES:\n",
        "** n :reasoning:\n:PROPERTIES:\n:TOOLS: no\n",
    );
    home.write("org/models.org", file);
    let other = home.run(&["replay", "--with-model", "box/n"]);
    assert!(other.code == 1 && other.stdout.contains("differs: record"), "{other:?}");
    assert!(other.stdout.contains("exec of exec"), "{other:?}");
    assert_eq!(home.run(&["replay", "--with-model", "box/none"]).code, 66);
    assert!(home.run(&["replay"]).stdout.starts_with("same:"), "asking again recorded nothing");
}
