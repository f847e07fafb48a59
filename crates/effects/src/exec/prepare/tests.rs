//! Commands that guards get wrong: what a narrow policy lets run, and what it must not.
//!
//! The table is `vectors/commands`. Each script is read, its facts are told to a set of policies that permits some
//! programs which only look, and what is not permitted there is asked for.

use bridle_jail::read_script;
use bridle_loop::{
    DEFAULT_POLICY, EffectFacts, GrantScope, GuardPolicies, PolicyFacts, PolicyVerdict,
};
use bridle_sexp::Value;

use super::{describe, variable_runs_code};

const TABLE: &str = include_str!("../../../../../vectors/commands/granted.jsonl");

/// Programs that only look, as a user would permit them outside of the project.
const LOOKING: &str = r#"
* Programs that only look are run
#+begin_src cedar
permit (principal, action == Action::"exec", resource)
when {
    context.layer != "" && context.code.isEmpty() && context.hosts.isEmpty() && !context.keys &&
    ["ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "grep", "rg", "fd", "find", "diff", "stat",
     "file", "basename", "dirname", "echo", "printf", "pwd", "true", "false", "test", "[", "cd", "du", "date",
     "tree", "sed", "less", "man", "tar", "git", "wait", "xxd", "od"].containsAll(context.programs) &&
    (!context.programs.contains("git") ||
     ["git status", "git log", "git diff", "git show", "cd src"].containsAll(context.commands))
};
#+end_src
#+begin_src examples
(allow (:principal "owner" :by :thinker :target :exec :action :exec :argv ("ls") :prepared (:layer "full" :programs ("ls") :commands ("ls"))))
#+end_src
"#;

fn set() -> GuardPolicies {
    GuardPolicies::from_org(&format!("{DEFAULT_POLICY}{LOOKING}"))
        .unwrap_or_else(|bad| panic!("{bad}"))
}

/// Facts of a script, in a folder that is no project, or on the stage of one.
fn facts(script: &str, staged: bool, hosts: &str) -> PolicyFacts {
    let mut facts = EffectFacts {
        project: "/srv/me/p".into(),
        inside: staged,
        staged,
        layer: "full".into(),
        ..EffectFacts::default()
    };
    match read_script(script) {
        Ok(reading) => describe(&reading, &mut facts),
        Err(_) => facts.code.push("unread".into()),
    }
    let (script, told) = (Value::str(script), facts.to_value());
    PolicyFacts::described(&format!(
        "(:principal \"owner\" :by :thinker :target :exec :action :exec :script {script} \
         :cwd \"/srv/me/x\" {hosts} :prepared {told})"
    ))
    .unwrap_or_else(|fault| panic!("{script}: {fault}"))
}

fn table() -> Vec<(String, bool)> {
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).expect("a vector");
        (row["in"].as_str().expect("a script").to_owned(), row["granted"] == true)
    };
    TABLE.lines().map(row).collect()
}

#[test]
fn a_narrow_policy_lets_nothing_through_but_what_it_names() {
    let set = set();
    let mut wrong = Vec::new();
    for (script, granted) in table() {
        let facts = facts(&script, false, "");
        let expected = if granted { PolicyVerdict::Allow } else { PolicyVerdict::Ask };
        if set.find(&facts).word != expected {
            wrong.push((script, granted));
        }
    }
    assert!(wrong.is_empty(), "{} of the table: {wrong:#?}", wrong.len());
}

#[test]
fn the_default_policy_runs_on_the_stage_and_asks_elsewhere_and_for_hosts() {
    let set = GuardPolicies::built_in();
    for (script, _) in table() {
        let verdict = |staged, hosts| set.find(&facts(&script, staged, hosts)).word;
        assert_eq!(verdict(true, ""), PolicyVerdict::Allow, "{script}: its changes are asked for");
        assert_eq!(verdict(false, ""), PolicyVerdict::Ask, "{script}");
        let hosts = ":network (\"evil.example\")";
        assert_eq!(verdict(true, hosts), PolicyVerdict::Ask, "{script}: a host");
    }
}

#[test]
fn both_halves_of_the_table_are_long_enough() {
    let all = table();
    let granted = all.iter().filter(|(_, granted)| *granted).count();
    assert!(granted >= 80 && all.len() - granted >= 80, "{granted} of {}", all.len());
}

#[test]
fn variables_of_a_run_can_be_commands() {
    for name in ["GIT_PAGER", "LD_PRELOAD", "PATH", "PAGER", "NODE_OPTIONS"] {
        assert!(variable_runs_code(name), "{name}");
    }
    assert!(!variable_runs_code("LANG"));
}

/// The built-in set with the grant of a scope for a script that wants a host.
fn granted(script: &str, hosts: &str, scope: GrantScope) -> GuardPolicies {
    let asked = facts(script, true, hosts);
    let terms = asked.grant(scope, 2_000_000).unwrap_or_else(|| panic!("{script}: {scope:?}"));
    let blocks = format!(
        "#+begin_src cedar\n{}\n#+end_src\n#+begin_src examples\n#+end_src\n",
        terms.to_cedar()
    );
    GuardPolicies::from_org(&format!("{DEFAULT_POLICY}\n* Grant\n{blocks}"))
        .unwrap_or_else(|bad| panic!("{bad}: {blocks}"))
}

/// Writings of the same two commands, as models write them.
const SAME_COMMANDS: [&str; 14] = [
    "git fetch",
    "git fetch --all --prune",
    "LANG=C git fetch",
    "env LANG=C TZ=UTC git fetch",
    "/usr/bin/git fetch",
    "cd src && git fetch",
    "cd src; git fetch",
    "git fetch && git status",
    "git fetch | git status",
    "\"git\" 'fetch' origin",
    "nice -n 5 timeout 60 git fetch",
    "git fetch 2>/dev/null",
    "if git fetch; then git status; fi",
    "git \\\n fetch",
];

/// Commands that only look like them.
const OTHER_COMMANDS: [&str; 24] = [
    "git push",
    "git fetch; rm -rf .",
    "git fetch && curl https://example.org",
    "git -c core.sshCommand=id fetch",
    "git -C / fetch",
    "GIT_SSH_COMMAND=id git fetch",
    "PATH=.:$PATH git fetch",
    "./git fetch",
    "/tmp/git fetch",
    "$(echo git) fetch",
    "g=git; $g fetch",
    "eval git fetch",
    "bash -c 'git fetch'",
    "git fetch > .git/hooks/post-merge",
    "git fetch --upload-pack=id",
    "git $(echo push)",
    "git config alias.fetch '!id'",
    "git fetch `id`",
    "xargs git fetch",
    "find . -exec git fetch {} +",
    "alias git=rm; git fetch",
    "git() { rm a; }; git fetch",
    "sudo git fetch",
    "git fetch <(id)",
];

#[test]
fn a_grant_for_a_command_holds_whatever_stands_around_it() {
    let host = ":network (\"example.org\")";
    let set = granted("git fetch; git status", host, GrantScope::Command);
    let word = |script: &str, hosts: &str| set.find(&facts(script, true, hosts)).word;
    for script in SAME_COMMANDS {
        assert_eq!(word(script, host), PolicyVerdict::Allow, "{script}");
    }
    for script in OTHER_COMMANDS {
        assert_eq!(word(script, host), PolicyVerdict::Ask, "{script}");
    }
    for other in [":network (\"evil.example\")", ":network (\"example.org\" \"evil.example\")"] {
        assert_eq!(word("git fetch", other), PolicyVerdict::Ask, "{other}");
    }
    assert_eq!(set.find(&facts("git fetch", false, host)).word, PolicyVerdict::Ask, "elsewhere");
}

#[test]
fn a_grant_for_a_host_is_for_the_stage_and_no_other_host() {
    let host = ":network (\"registry.example\")";
    let set = granted("npm install", host, GrantScope::Host);
    let word = |script: &str, staged, hosts: &str| set.find(&facts(script, staged, hosts)).word;
    assert_eq!(word("npm ci && npm test", true, host), PolicyVerdict::Allow);
    for other in [":network (\"registry.example.evil\")", ":network (\"*.registry.example\")"] {
        assert_eq!(word("npm install", true, other), PolicyVerdict::Ask, "{other}");
    }
    assert_eq!(word("npm install", false, host), PolicyVerdict::Ask, "outside of the project");
    assert!(facts("npm install", true, "").grant(GrantScope::Host, 1).is_none(), "asks for none");
    let dynamic = facts("$X install", true, host);
    assert!(dynamic.grant(GrantScope::Command, 1).is_none(), "granted exactly or not at all");
}
