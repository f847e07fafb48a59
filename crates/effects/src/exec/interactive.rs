//! Programs that want a person at a terminal: refused before they run, with what to do instead. There is
//! no terminal in the jail; they would wait for ever, or fail in words that help nobody.

/// Programs that are interactive whatever they are given, and what to do instead.
const ALWAYS: [(&str, &str); 24] = [
    ("vi", EDIT),
    ("vim", EDIT),
    ("nvim", EDIT),
    ("nano", EDIT),
    ("pico", EDIT),
    ("joe", EDIT),
    ("micro", EDIT),
    ("visudo", EDIT),
    ("less", READ),
    ("more", READ),
    ("most", READ),
    ("top", "use `ps`"),
    ("htop", "use `ps`"),
    ("btop", "use `ps`"),
    ("watch", "run the command once"),
    ("tmux", SCREEN),
    ("screen", SCREEN),
    ("passwd", RIGHTS),
    ("su", RIGHTS),
    ("sudo", RIGHTS),
    ("doas", RIGHTS),
    ("pkexec", RIGHTS),
    ("telnet", "use `:http`, or grant a host to a program that needs no terminal"),
    ("ftp", "use `:http`, or grant a host to a program that needs no terminal"),
];

const EDIT: &str = "use `:file` with `patch` or `write`, or `sed -i`";
const READ: &str = "use `:file` with `read`, or `cat`, `head`, `tail`";
const SCREEN: &str = "start the program itself";
const RIGHTS: &str = "no program gains rights in the jail; ask the user to do it";

/// Interpreters that wait for input when they are given no program.
const BARE: [&str; 16] = [
    "python", "python3", "ipython", "node", "deno", "irb", "ruby", "lua", "ghci", "sqlite3",
    "psql", "mysql", "bc", "bash", "sh", "zsh",
];

/// Advice for a program that wants a terminal; `None` for all others.
pub(super) fn hint(program: &str, arguments: &[&str], has_input: bool) -> Option<String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let always =
        ALWAYS.iter().find(|(known, _)| *known == name).map(|(_, hint)| (*hint).to_owned());
    let has = |flag: &str| arguments.contains(&flag);
    always
        .or_else(|| {
            let is_bare = BARE.contains(&name) && arguments.iter().all(|it| it.starts_with('-'));
            let does_something = has("--version") || has("-V") || has("--help") || has("-h");
            (is_bare && !has_input && !does_something)
                .then(|| "give it a program: as `:stdin`, a file, or behind its option".to_owned())
        })
        .or_else(|| match name {
            "emacs" if !has("--batch") && !has("-batch") => Some("add `--batch`".to_owned()),
            "git" => git(arguments),
            _ => None,
        })
        .map(|hint| format!("`{name}` wants a terminal, and there is none: {hint}"))
}

/// Commands of git that open an editor or ask line by line.
fn git(arguments: &[&str]) -> Option<String> {
    let has = |flags: &[&str]| {
        arguments.iter().any(|it| {
            flags.contains(it)
                || flags
                    .iter()
                    .any(|flag| flag.starts_with("--") && it.starts_with(&format!("{flag}=")))
        })
    };
    let verb = arguments.iter().find(|it| !it.starts_with('-'))?;
    let is_quiet =
        has(&["-m", "-F", "-C", "--message", "--file", "--no-edit", "--fixup", "--dry-run", "-am"]);
    match *verb {
        "commit" if !is_quiet => Some("add `-m TEXT`, or `--no-edit`".to_owned()),
        "rebase" if has(&["-i", "--interactive"]) => Some("rebase without `-i`".to_owned()),
        "add" | "checkout" | "reset" | "stash"
            if has(&["-p", "--patch", "-i", "--interactive"]) =>
        {
            Some("name the files instead of `-p`".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn programs_that_wait_for_a_person_are_told_apart() {
        let wants = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            hint(words[0], &words[1..], false).is_some()
        };
        for line in [
            "vim a",
            "/usr/bin/less x",
            "python3",
            "git commit",
            "git rebase -i HEAD~2",
            "git add -p",
            "emacs a.org",
            "sudo ls",
            "sh",
            "python3 -i",
        ] {
            assert!(wants(line), "{line}");
        }
        for line in [
            "python3 a.py",
            "git commit -m x",
            "git commit --message=x",
            "emacs --batch -l a.el",
            "python3 --version",
            "git rebase main",
            "git add .",
            "sed -i s/a/b/ c",
            "git commit --amend --no-edit",
        ] {
            assert!(!wants(line), "{line}");
        }
        assert!(hint("python3", &[], true).is_none(), "a program on its input");
    }
}
