//! What scripts do, read; and what must never pass as plain. Tables, long: a script a line.

use super::{CommandRisk, ScriptError, ScriptReading, read_argv, read_script};

fn read(text: &str) -> ScriptReading {
    read_script(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn programs(reading: &ScriptReading) -> Vec<String> {
    reading.commands.iter().map(|it| it.program.clone().unwrap_or_else(|| "?".into())).collect()
}

/// Programs that a script starts, and whether all of it is plain.
fn check(text: &str, expect: &str, is_plain: bool) {
    let reading = read(text);
    assert_eq!(programs(&reading).join(" "), expect, "{text}: {reading:?}");
    assert_eq!(reading.is_plain(), is_plain, "{text}: {reading:?}");
}

#[test]
fn simple_commands_are_found() {
    check("ls -l", "ls", true);
    check("/usr/bin/git status", "git", true);
    check("FOO=1 ls", "ls", true);
    check("env A=1 nice -n 5 timeout 3 git status", "git", true);
    check("cd src && ls; cat 'a b' \"c d\" e\\ f", "cd ls cat", true);
    check("ls | grep x | wc -l", "ls grep wc", true);
    check("if test -e a; then cat a; else echo no; fi", "test cat echo", true);
    check("(cd x && ls) > out 2>&1", "cd ls", true);
    check("echo ok && touch x", "echo touch", true);
    check("grep -r 'a*b' .", "grep", true);
    check("# only a comment\n", "", true);
    check("true & false", "true false", true);
    check("find . -name x", "find", true);
}

#[test]
fn what_is_known_only_later_is_dynamic() {
    for text in [
        "$CMD x",
        "`which ls` x",
        "$(echo ls)",
        "ls $X",
        "ls *",
        "ls ~",
        "ls {a,b}",
        "eval 'rm x'",
        ". ./x",
        "source x",
        "alias ls=rm; ls",
        "ls() { rm x; }; ls",
        "PATH=.:$PATH; ls",
        "export PATH=/x",
        "IFS=x; ls",
        "cd $X && ls",
        "trap 'rm x' EXIT",
        "cat <<E\n$(rm x)\nE",
        "echo ${X:-$(rm x)}",
        "echo $((`rm x`))",
        "[[ -e x ]]",
        "cat <(rm x)",
        "$'ls'",
        "exec $X",
        "set -- rm; \"$@\"",
        "command $X",
        "unset x",
        "hash -p /x ls",
        "> $X",
        "cat < $X",
    ] {
        // What `/bin/sh` has no grammar for is refused, which is as good.
        let reading = read_script(text);
        assert!(!reading.as_ref().is_ok_and(ScriptReading::is_plain), "{text}: {reading:?}");
    }
}

#[test]
fn commands_inside_of_words_are_found() {
    check("echo $(rm x)", "rm echo", false);
    check("echo \"`rm x`\"", "rm echo", false);
    check("A=$(rm x)", "rm", true);
    check("sh -c 'rm x; ls'", "sh rm ls", false);
    check("bash -lc \"git push\"", "bash git", false);
    check("find . -exec rm {} ';' -o -execdir sh -c 'ls' +", "find rm sh ls", false);
    check("xargs rm", "rm", false);
    check("env -i bash -c ls", "bash ls", false);
}

#[test]
fn the_folder_of_a_command_is_followed() {
    let folder = |text: &str, index: usize| format!("{:?}", read(text).commands[index].folder);
    assert_eq!(folder("cd a && ls", 1), "Static(\"a\")");
    assert_eq!(folder("cd a && cd b && ls", 2), "Static(\"a/b\")");
    assert_eq!(folder("cd /a; ls", 1), "Static(\"/a\")");
    assert_eq!(folder("(cd a); ls", 1), "Static(\"\")");
    assert!(
        folder("cd a || ls", 1).starts_with("Static")
            || folder("cd a || ls", 1).starts_with("Dynamic")
    );
    assert!(folder("if true; then cd a; fi; ls", 2).starts_with("Dynamic"));
    assert!(folder("cd - && ls", 1).starts_with("Dynamic"));
}

#[test]
fn names_that_say_too_little_have_a_risk() {
    let risky = [
        "python3 -c 'x'",
        "perl x",
        "awk 'BEGIN{system(\"rm x\")}'",
        "find . -delete",
        "find . -exec rm {} +",
        "git -c core.pager=x log",
        "git --exec-path=/x log",
        "git bisect run x",
        "git rebase -x ls",
        "sort --compress-program=x a",
        "sort --compress-prog x a",
        "tar --checkpoint-action=exec=x -cf a b",
        "tar -I x -cf a b",
        "tar --to-command=x -xf a",
        "ssh -o ProxyCommand=x h",
        "make",
        "npm run x",
        "cargo test",
        "pip install x",
        "rsync -e x a b",
        "rg --pre x y",
        "man -P x ls",
        "split --filter=x a",
        "sudo ls",
        "su -c ls",
        "doas ls",
        "./ls",
        "dir/git status",
        "LD_PRELOAD=x ls",
        "GIT_SSH_COMMAND=x git fetch",
        "env PAGER=x git log",
        "env PATH=. ls",
        "xargs -I{} sh -c {}",
        "busybox sh -c ls",
        "nc -e sh h 1",
        "vim -c ':!ls'",
        "sed -f x y",
        "sed '1e ls' x",
        "curl -o x http://h",
        "wget -O x h",
        "env -S 'sh -c ls'",
        "timeout --unknown 5 ls",
        "nohup bash",
        "parallel rm",
        "emacs --batch --eval x",
        "docker run x",
        "systemd-run ls",
        "at now",
        "openssl s_client -engine x",
        "zip -TT x a b",
    ];
    for text in risky {
        let reading = read(text);
        assert!(reading.commands.iter().any(|it| !it.risks.is_empty()), "{text}: {reading:?}");
        assert!(!reading.is_plain(), "{text}");
    }
    for text in [
        "git status",
        "git log --oneline -5",
        "sort a",
        "tar -cf a b",
        "cargo --version",
        "sed -n 1,3p a",
        "rg x",
        "cat a",
        "python3 --version",
    ] {
        assert!(read(text).is_plain(), "{text}: {:?}", read(text));
    }
}

#[test]
fn typed_commands_are_unwrapped_as_well() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let reading = read_argv(&words("env A=1 /bin/sh -c ls"));
    assert_eq!(programs(&reading), ["sh", "ls"]);
    assert!(reading.commands[0].risks.contains(&CommandRisk::Interpreter));
    // What a shell would expand is text here.
    assert!(read_argv(&words("echo $HOME *")).is_plain());
    assert!(read_argv(&[]).commands.iter().all(|it| !it.is_plain()));
}

#[test]
fn redirects_are_told() {
    let reading = read("cd out && sort < in > res 2>> log");
    let text = |list: &[super::ScriptWord]| {
        list.iter().filter_map(|it| it.text().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(text(&reading.written), ["out/res", "out/log"]);
    assert_eq!(text(&reading.read), ["out/in"]);
}

#[test]
fn hostile_text_is_refused_not_followed() {
    assert!(matches!(read_script("if then"), Err(ScriptError::Syntax(_))));
    assert!(matches!(read_script("echo 'x"), Err(ScriptError::Syntax(_))));
    assert_eq!(read_script(&"(".repeat(60_000)), Err(ScriptError::TooLarge("nesting")));
    assert_eq!(read_script(&"if x; then ".repeat(1_000)), Err(ScriptError::TooLarge("nesting")));
    assert_eq!(read_script(&"x".repeat(100_000)), Err(ScriptError::TooLarge("bytes")));
    assert!(read_script("a\0b").is_err());
    // At the limit it still ends.
    let deep = format!("{}ls{}", "(".repeat(20), ")".repeat(20));
    let _ = read_script(&deep);
    let many = read("ls;".repeat(2_000).as_str());
    assert!(!many.is_plain() && many.commands.len() <= 1_000);
}

#[test]
fn what_only_looks_is_plain_and_nothing_else_that_looks_like_it() {
    const LOOKING: [&str; 36] = [
        "ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "grep", "rg", "fd", "find",
        "diff", "stat", "file", "basename", "dirname", "echo", "printf", "pwd", "true", "false",
        "test", "[", "cd", "du", "date", "tree", "sed", "less", "man", "tar", "git", "wait", "xxd",
    ];
    let table = include_str!("../../../../vectors/commands/granted.jsonl");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let script = row["in"].as_str().unwrap();
        let is_let_through = read_script(script).is_ok_and(|reading| {
            let is_kept = |word: &super::ScriptWord| word.text() != Some("/dev/null");
            let is_git = |command: &super::ScriptCommand| {
                let verb = command.argv.iter().skip(1).filter_map(super::ScriptWord::text);
                let verb = verb.into_iter().find(|word| !word.starts_with('-'));
                verb.is_some_and(|verb| ["status", "log", "diff", "show"].contains(&verb))
            };
            reading.is_plain()
                && !reading.written.iter().any(is_kept)
                && reading.commands.iter().all(|command| {
                    let program = command.program.as_deref().unwrap_or("?");
                    (LOOKING.contains(&program) || program == "od")
                        && (program != "git" || is_git(command))
                })
        });
        if is_let_through != (row["granted"] == true) {
            wrong.push(script.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{} of the table: {wrong:#?}", wrong.len());
}
