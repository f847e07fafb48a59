//! What is a script, and what is told about a text that is none.

use super::{MAX_DELAY_MS, MAX_PIECES, MAX_PROPOSALS, MAX_RULES, MAX_SCRIPT_DEPTH, rules};

/// `line:column: reason`, or how many rules there are.
fn check(text: &str, expect: &str) {
    let got = match rules(text) {
        Ok(rules) => format!("{} rules", rules.len()),
        Err(problem) => format!("{}:{}: {}", problem.line, problem.column, problem.reason),
    };
    let shown: String = text.chars().take(200).collect();
    assert!(got.contains(expect), "{shown}\n   got {got}\nexpect {expect}");
}

#[test]
fn scripts() {
    check(r#"(rule :when "hi" :say "hello")"#, "1 rules");
    check(r#"(RULE :WHEN (:sensor :x) :PROPOSE nil) (Default :say "?")"#, "2 rules");
    check("; a comment\n#| another |#\n(default :stream (\"a\" \"b\") :pace 3)\n; end", "1 rules");
    check(r#"(rule :rejected t :say "no") (rule :rejected "*secret*" :say "$1")"#, "2 rules");
    check(r#"(rule :result (:outcome :done) :depth (1 3) :once t :delay 5 :error "x")"#, "1 rules");
    check(r#"(rule :stream ("half") :error "lost" :retryable t)"#, "1 rules");
    check(
        r#"(rule :propose ((:target :emacs :action :eval :code "(x)" :explanation "e" :then-think t)))"#,
        "1 rules",
    );
}

#[test]
fn forms_that_are_none() {
    check("", "1:1: no rule, expected at least one");
    check("; only\n; comments", "no rule");
    check("rule", "1:1: expected `(rule ..)` or `(default ..)`, got `rule`");
    check("\n  (rulez :say \"x\")", "2:3: expected `(rule ..)` or `(default ..)`");
    check("(default :say \"a\")\n(default :say \"b\")", "2:1: a second `default`");
    check("(default :say \"a\"", "all is whole up to line 1");
    check("(default :say \"a\")\n(rule :say \"", "all is whole up to line 1");
    check("(default :say \"a\")\n  )", "2:3: ");
    check("(default :say #.(run))", "1:15: ");
    check("(default :say \"ä\") (rulé)", "1:20: expected `(rule ..)`");
}

#[test]
fn keys_that_are_wrong() {
    check("(rule :say)", "1:7: expected a key and its value");
    check("(rule say 1)", "1:7: expected a key, got `say`");
    check("(rule :shout 1 :say \"x\")", "1:7: expected one of :when");
    check("(rule :say \"a\" :SAY \"b\")", "1:16: `:say` is given twice");
    check("(rule :when \"x\")", "expected `:say`, `:text`, `:propose`, `:stream` or `:error`");
    check("(default :when \"x\" :say \"y\")", "`default` has no `:when`");
    check("(rule :when (a b) :say \"y\")", "1:13: expected a string, or keys and values");
    check("(rule :when * :say \"y\")", "expected a string, or keys and values");
    check("(rule :rejected 1 :say \"y\")", "expected `t`, `nil`, or a string");
    check("(rule :depth -1 :say \"y\")", "expected a depth");
    check("(rule :depth (3 1) :say \"y\")", "expected a depth");
    check("(rule :once 1 :say \"y\")", "expected `t` or `nil`, got `1`");
    check("(rule :say 7)", "expected a string, got `7`");
    check("(rule :stream \"x\")", "expected a list of at most");
    check("(rule :stream (\"x\" 1))", "1:20: expected a string, got `1`");
    check("(rule :propose (:action :message))", "1:17: expected a proposal");
    check("(rule :propose ((:target \"emacs\")))", "expected the keyword of an actuator");
    check("(rule :error \"x\" :say \"y\")", "`:error` beside");
    check("(rule :retryable t :say \"y\")", "`:retryable` without");
}

#[test]
fn captures_must_exist() {
    check("(rule :when \"a *\" :say \"$1\")", "1 rules");
    check("(rule :when \"a *\" :say \"$2\")", "1:24: `$2`, expected at most the 1 wildcards");
    check("(rule :say \"$1\" :when \"a *\")", "1 rules");
    check("(rule :propose ((:action :eval :code $1)))", "`$1`, expected at most the 0");
    check("(rule :when (:a * :b \"* *\") :result (:c *) :say \"$4\")", "1 rules");
    check("(rule :when \"**********\" :say \"x\")", "10 wildcards, expected at most 9");
}

#[test]
fn limits() {
    let rule = "(rule :say \"x\")\n";
    check(&rule.repeat(MAX_RULES), &format!("{MAX_RULES} rules"));
    check(&rule.repeat(MAX_RULES + 1), &format!("{}:1: one rule too many", MAX_RULES + 1));
    check(&format!("(rule :say \"x\" :delay {MAX_DELAY_MS})"), "1 rules");
    check(&format!("(rule :say \"x\" :delay {})", MAX_DELAY_MS + 1), "expected milliseconds");
    check("(rule :say \"x\" :delay -1)", "expected milliseconds");
    let pace = MAX_DELAY_MS / 2 + 1;
    check(&format!("(rule :stream (\"a\" \"b\") :pace {pace})"), "ms of waiting");
    let stream = |count: usize| format!("(rule :stream ({}))", "\"a\" ".repeat(count));
    check(&stream(MAX_PIECES), "1 rules");
    check(&stream(MAX_PIECES + 1), "expected a list of at most");
    let propose = |count: usize| format!("(rule :propose ({}))", "(:action :x) ".repeat(count));
    check(&propose(MAX_PROPOSALS), "1 rules");
    check(&propose(MAX_PROPOSALS + 1), "expected a list of at most");
}

#[test]
fn nesting_is_refused_and_not_followed() {
    let deep = |depth: usize| {
        format!("(rule :when (:a {}1{}) :say \"x\")", "(:a ".repeat(depth), ")".repeat(depth))
    };
    check(&deep(MAX_SCRIPT_DEPTH - 2), "1 rules");
    check(&deep(MAX_SCRIPT_DEPTH - 1), "1:");
    check(&"(".repeat(1 << 20), "1:65: ");
    check(&format!("(rule :when {} :say \"x\")", "'".repeat(1 << 19)), "1:");
}

#[test]
fn a_huge_pattern_is_read_once() {
    let long = "x".repeat(1 << 19);
    check(&format!("(rule :when \"{long}*\" :say \"$1\")"), "1 rules");
    let keys = ":k 1 ".repeat(1 << 17);
    check(&format!("(rule :when ({keys}) :say \"x\")"), "1 rules");
}

/// Cut anywhere, or with any byte replaced by one that means something, a script is read or
/// refused with a place inside it.
#[test]
fn damaged_scripts_are_read_or_refused() {
    let script = r#"; rules
        (rule :when (:sensor :x :text "a * b" :n (1 #(2))) :rejected "*" :depth (0 3) :once t
              :delay 5 :stream ("p" "$1") :pace 1 :say "$1 $$"
              :propose ((:target :log :action :log :text "$2" :v $1 :then-think t)))
        (default :error "no" :retryable t)"#;
    assert_eq!(rules(script).map(|rules| rules.len()), Ok(2));
    let inside = |text: &str| {
        if let Err(problem) = rules(text) {
            assert!(problem.line <= text.lines().count() + 1, "{text}\n{problem:?}");
            assert!(!problem.reason.is_empty() && problem.column >= 1);
        }
    };
    for at in 0..script.len() {
        inside(&script[..at]);
        inside(&script[at..]);
        for mark in ["(", ")", "\"", "*", "$", ":", "#", ";", "\\", "|", "9", " ", "é"] {
            inside(&format!("{}{mark}{}", &script[..at], &script[at + 1..]));
        }
    }
}
