//! What names and options of common programs mean: prefixes, interpreters, options that run commands.
//! Tables, kept by hand; a program that is not in them is taken by its name, and the jail holds.

use super::{CommandRisk, ScriptWord, sed};

/// A prefix that runs the rest of its arguments.
pub(super) struct Wrapping {
    name: &'static str,
    /// Options with a value, as the next argument or joined.
    pub(super) with_value: &'static [&'static str],
    /// Options without one.
    pub(super) flags: &'static [&'static str],
    /// Arguments before the command.
    pub(super) positional: usize,
    /// `NAME=VALUE` before the command.
    pub(super) takes_assignments: bool,
    /// Asks for other rights.
    pub(super) gains_rights: bool,
}

const PLAIN: Wrapping = Wrapping {
    name: "",
    with_value: &[],
    flags: &[],
    positional: 0,
    takes_assignments: false,
    gains_rights: false,
};

/// Prefixes that feed their command with arguments of their input.
pub(super) const FEEDING: [&str; 2] = ["xargs", "parallel"];

#[rustfmt::skip]
const WRAPPINGS: &[Wrapping] = &[
    Wrapping { name: "env", with_value: &["-u", "--unset", "-C", "--chdir"], flags: &["-i", "-", "--ignore-environment", "-0", "-v"], takes_assignments: true, ..PLAIN },
    Wrapping { name: "nice", with_value: &["-n", "--adjustment"], ..PLAIN },
    Wrapping { name: "ionice", with_value: &["-c", "-n", "--class", "--classdata"], flags: &["-t"], ..PLAIN },
    Wrapping { name: "nohup", ..PLAIN },
    Wrapping { name: "setsid", flags: &["-w", "-f", "-c", "--wait", "--fork", "--ctty"], ..PLAIN },
    Wrapping { name: "timeout", with_value: &["-s", "-k", "--signal", "--kill-after"], flags: &["--foreground", "--preserve-status", "-v", "--verbose"], positional: 1, ..PLAIN },
    Wrapping { name: "stdbuf", with_value: &["-i", "-o", "-e", "--input", "--output", "--error"], ..PLAIN },
    Wrapping { name: "time", with_value: &["-f", "-o", "--format", "--output"], flags: &["-p", "-v", "-a"], ..PLAIN },
    Wrapping { name: "command", flags: &["-p"], ..PLAIN },
    Wrapping { name: "builtin", ..PLAIN },
    Wrapping { name: "exec", with_value: &["-a"], flags: &["-c", "-l"], ..PLAIN },
    Wrapping { name: "busybox", ..PLAIN },
    Wrapping { name: "toybox", ..PLAIN },
    Wrapping { name: "xargs", with_value: &["-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "--max-args", "--max-procs", "--replace", "--delimiter", "--arg-file"], flags: &["-0", "--null", "-r", "--no-run-if-empty", "-t", "-x", "-p"], ..PLAIN },
    Wrapping { name: "parallel", with_value: &["-j", "--jobs"], flags: &["-k", "-0"], ..PLAIN },
    Wrapping { name: "watch", with_value: &["-n", "--interval"], flags: &["-d", "-t", "-g", "-e"], ..PLAIN },
    Wrapping { name: "flock", with_value: &["-w", "-E"], flags: &["-n", "-x", "-s", "-u", "-o"], positional: 1, ..PLAIN },
    Wrapping { name: "strace", with_value: &["-e", "-o", "-p", "-s"], flags: &["-f", "-c", "-tt", "-T"], ..PLAIN },
    Wrapping { name: "chrt", with_value: &[], flags: &["-b", "-f", "-i", "-o", "-r"], positional: 1, ..PLAIN },
    Wrapping { name: "taskset", with_value: &[], flags: &["-c", "-a"], positional: 1, ..PLAIN },
    Wrapping { name: "sudo", with_value: &["-u", "-g", "-C", "-h", "-p", "-U", "--user", "--group"], flags: &["-n", "-E", "-H", "-k", "-S", "-b", "-i", "-s"], takes_assignments: true, gains_rights: true, ..PLAIN },
    Wrapping { name: "doas", with_value: &["-u", "-C"], flags: &["-n", "-s"], gains_rights: true, ..PLAIN },
    Wrapping { name: "pkexec", with_value: &["--user"], flags: &["--disable-internal-agent"], gains_rights: true, ..PLAIN },
    Wrapping { name: "runuser", with_value: &["-u", "-g"], flags: &[], gains_rights: true, ..PLAIN },
    Wrapping { name: "setpriv", with_value: &["--reuid", "--regid", "--inh-caps"], flags: &["--clear-groups", "--no-new-privs"], gains_rights: true, ..PLAIN },
    Wrapping { name: "unshare", with_value: &["--map-user"], flags: &["-r", "-m", "-p", "-n", "-f", "-U", "-i"], gains_rights: true, ..PLAIN },
    Wrapping { name: "chroot", with_value: &["--userspec", "--groups"], flags: &[], positional: 1, gains_rights: true, ..PLAIN },
    Wrapping { name: "nsenter", with_value: &["-t", "--target"], flags: &["-m", "-u", "-i", "-n", "-p", "-a"], gains_rights: true, ..PLAIN },
];

/// Programs whose arguments or input are programs.
#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "ash", "rbash", "pwsh", "nu", "xonsh",
    "python", "python2", "python3", "pypy", "pypy3", "ipython", "perl", "ruby", "node", "nodejs", "deno", "bun",
    "tsx", "ts-node", "lua", "luajit", "php", "tclsh", "wish", "expect", "guile", "sbcl", "clisp", "ecl", "ccl", "racket",
    "emacs", "emacsclient", "vim", "vi", "nvim", "ex", "view", "ed", "gdb", "lldb", "awk", "gawk", "mawk", "nawk",
    "osascript", "R", "Rscript", "julia", "octave", "ghci", "runghc", "scala", "groovy", "elixir", "iex", "erl",
    "java", "jshell", "psql", "mysql", "sqlite3", "m4", "dc", "jrunscript", "gnuplot", "screen", "tmux", "script",
    "socat", "nc", "ncat", "netcat", "at", "batch", "crontab", "systemd-run", "systemctl", "docker", "podman", "kubectl",
];

/// Programs that run what the project says.
#[rustfmt::skip]
const PROJECT_RUNNERS: &[&str] = &[
    "make", "gmake", "bmake", "ninja", "cmake", "meson", "cargo", "npm", "npx", "pnpm", "yarn", "bunx", "pip", "pip3",
    "pipx", "uv", "uvx", "poetry", "tox", "nox", "pytest", "go", "gradle", "gradlew", "mvn", "ant", "rake", "bundle",
    "gem", "just", "task", "invoke", "fab", "ansible", "ansible-playbook", "terraform", "nix", "nix-shell", "nix-build",
    "bazel", "buck", "buck2", "scons", "waf", "dotnet", "swift", "stack", "cabal", "mix", "rebar3", "composer", "pre-commit",
    "direnv", "vagrant", "packer", "helm", "jest", "vitest", "mocha", "eslint", "tsc", "webpack", "vite", "gulp", "grunt",
];

/// Programs that reach another machine.
#[rustfmt::skip]
const REMOTE: &[&str] = &[
    "ssh", "scp", "sftp", "rsync", "rclone", "mosh", "telnet", "ftp", "lftp", "curl", "wget", "aria2c", "http", "https",
    "socat", "nc", "ncat", "netcat", "gh", "glab", "aws", "gcloud", "az", "kubectl", "docker", "podman", "mail", "sendmail",
];

/// Options that name a command, by program; a long one also with `=`.
#[rustfmt::skip]
const COMMAND_OPTIONS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("fdfind", &["-x", "-X", "--exec", "--exec-batch"]),
    ("git", &["-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "-x", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--extcmd", "--template", "--git-dir", "--work-tree", "-C", "--output", "--no-index"]),
    ("sort", &["--compress-program", "-T", "-o", "--output"]),
    ("tar", &["--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--rsh-command", "--info-script", "--new-volume-script", "-F", "--rmt-command"]),
    ("ssh", &["-o", "-F", "-J", "-E", "-S"]),
    ("scp", &["-o", "-S", "-F", "-J"]),
    ("sftp", &["-o", "-S", "-F", "-D", "-B"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("curl", &["-K", "--config", "-o", "-O", "--output", "-T", "--upload-file"]),
    ("wget", &["--use-askpass", "-e", "--execute", "-O", "--config", "--post-file", "--body-file"]),
    ("zip", &["-TT", "--unzip-command", "-T"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    ("tree", &["-o"]),
    ("ag", &["--pager"]),
    ("less", &["-k", "-o", "-O", "--lesskey-src", "--lesskey-content", "--log-file"]),
    ("man", &["-P", "--pager", "-H", "--html", "-X"]),
    ("split", &["--filter"]),
    ("xxd", &["-r"]),
    ("dpkg", &["--pre-invoke", "--post-invoke"]),
    ("apt", &["-o"]), ("apt-get", &["-o"]),
    ("tcpdump", &["-z"]),
    ("cpio", &["--rsh-command"]),
    ("patch", &["-e", "--ed"]),
    ("gcc", &["-wrapper", "-B", "-specs", "-fplugin", "@"]), ("cc", &["-wrapper", "-B", "-specs", "-fplugin"]), ("clang", &["-B", "-fplugin", "-load"]),
    ("ld", &["-plugin", "--plugin", "-dynamic-linker"]),
    ("ctags", &["--options"]),
    ("openssl", &["-engine", "-provider-path", "-provider", "-out", "-config"]),
    ("ldconfig", &["-r"]),
    ("csplit", &[]),
    ("date", &["-s", "--set"]),
    ("printf", &[]),
    ("env", &["-S", "--split-string"]),
    ("pandoc", &["-F", "--filter", "-L", "--lua-filter", "--pdf-engine"]),
    ("latex", &["-shell-escape", "--shell-escape"]), ("pdflatex", &["-shell-escape", "--shell-escape"]),
    ("mutt", &["-e"]), ("mail", &["-S"]),
    ("journalctl", &["--root"]),
    ("strings", &[]),
    ("diff", &[]), ("file", &["-C", "-m"]),
    ("logrotate", &[]), ("run-parts", &["--"]), ("start-stop-daemon", &["--exec"]),
    ("nmap", &["--script"]), ("bpftrace", &["-e"]), ("perf", &["-e"]),
    ("hg", &["--config", "--debugger"]), ("svn", &["--config-option", "--editor-cmd", "--diff-cmd"]),
    ("jq", &["-f", "--from-file", "-L"]), ("yq", &["-i"]), ("bc", &[]), ("look", &[]),
];

/// Git subcommands and aliases that run commands.
const GIT_RUNNING: [&str; 12] = [
    "bisect",
    "submodule",
    "filter-branch",
    "difftool",
    "mergetool",
    "rebase",
    "hook",
    "daemon",
    "instaweb",
    "send-email",
    "credential",
    "config",
];

/// Variables that make programs load or run something.
#[rustfmt::skip]
const CODE_VARIABLES: &[&str] = &[
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "PATH", "ENV", "BASH_ENV",
    "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH",
    "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "SHELL", "MAKEFLAGS", "MAKEFILES",
    "RUSTC", "RUSTC_WRAPPER", "RUSTFLAGS", "CARGO_HOME", "CC", "CXX", "CFLAGS", "LDFLAGS", "GOFLAGS", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "IFS", "CDPATH", "PROMPT_COMMAND", "PS4", "HOME", "XDG_CONFIG_HOME", "TAR_OPTIONS", "GREP_OPTIONS",
    "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS", "LUA_INIT", "PHPRC", "EMACSLOADPATH", "VIMINIT", "EXINIT", "GCONV_PATH",
];

pub(super) fn wrapping(name: &str) -> Option<Wrapping> {
    WRAPPINGS.iter().find(|it| it.name == name).map(|it| Wrapping { ..*it })
}

/// Whether a variable makes programs load or run something.
pub(super) fn runs_code(variable: &str) -> bool {
    CODE_VARIABLES.contains(&variable)
        || variable.starts_with("GIT_")
        || variable.starts_with("npm_config_")
        || (variable.starts_with("CARGO_") && variable.contains("RUNNER"))
        || variable.starts_with("BASH_FUNC_")
}

/// Risks of a program with its arguments.
pub(super) fn risks(name: &str, argv: &[ScriptWord]) -> Vec<CommandRisk> {
    let mut found = Vec::new();
    let plain =
        name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_one_of =
        |list: &[&str]| list.contains(&name) || (plain != name && list.contains(&plain));
    if is_one_of(INTERPRETERS) && !is_question(argv) {
        found.push(CommandRisk::Interpreter);
    }
    if is_one_of(PROJECT_RUNNERS) && !is_question(argv) {
        found.push(CommandRisk::RunsProjectCode);
    }
    if is_one_of(REMOTE) {
        found.push(CommandRisk::Remote);
    }
    if ["su", "sudo", "doas", "login", "newgrp", "passwd", "chsh", "mount", "umount"]
        .contains(&name)
    {
        found.push(CommandRisk::GainsRights);
    }
    let options = COMMAND_OPTIONS.iter().find(|(it, _)| *it == name).map_or(&[][..], |(_, it)| it);
    for word in argv.iter().skip(1) {
        let Some(text) = word.text() else {
            // What is not known may be an option, too.
            if !options.is_empty() {
                found.push(CommandRisk::RunsCommand(
                    "arguments that are only known when it runs".into(),
                ));
            }
            continue;
        };
        if let Some(option) = options.iter().find(|option| is_option(text, option)) {
            found.push(CommandRisk::RunsCommand((*option).to_owned()));
        }
    }
    found.extend(special(name, argv));
    found
}

/// Rules that no list of options says.
fn special(name: &str, argv: &[ScriptWord]) -> Option<CommandRisk> {
    let texts: Vec<&str> = argv.iter().skip(1).filter_map(ScriptWord::text).collect();
    match name {
        "git" => {
            let verb = texts.iter().find(|text| !text.starts_with('-'))?;
            // `ext::` and `fd::` are transports that run what follows them.
            let transport = texts.iter().find(|text| text.starts_with("ext::"));
            let runs = GIT_RUNNING.contains(verb).then(|| format!("git {verb}"));
            let runs = runs.or_else(|| transport.map(|text| format!("git {text}")));
            runs.map(CommandRisk::RunsCommand)
        }
        "sed" => (!sed::is_plain(argv)).then(|| CommandRisk::RunsCommand("sed".into())),
        // A second name is the file that it writes.
        "uniq" => {
            let names = texts.iter().filter(|text| !text.starts_with(['-', '+'])).count();
            (names > 1).then(|| CommandRisk::RunsCommand("uniq to a file".into()))
        }
        // `+` and `--cmd` run commands of theirs, which run those of a shell.
        "less" | "more" => {
            let runs = texts.iter().find(|text| text.starts_with('+') || text.starts_with("--cmd"));
            runs.map(|text| CommandRisk::RunsCommand((*text).to_owned()))
        }
        "awk" | "gawk" | "mawk" | "nawk" => None,
        "dd" => texts
            .iter()
            .any(|text| text.starts_with("of=/dev/"))
            .then_some(CommandRisk::NotUnderstood),
        _ => None,
    }
}

/// `--version` and `--help` alone run nothing.
fn is_question(argv: &[ScriptWord]) -> bool {
    matches!(&argv[1..], [ScriptWord::Static(only)] if ["--version", "--help", "-V"].contains(&only.as_str()))
}

/// Whether an argument is an option: as such, with `=`, abbreviated, or in a bundle of letters.
fn is_option(text: &str, option: &str) -> bool {
    if text == option {
        return true;
    }
    let name = text.split('=').next().unwrap_or(text);
    if option.starts_with("--") {
        // Long options may be cut short.
        return name.len() > 3 && name.starts_with("--") && option.starts_with(name);
    }
    let is_letter = option.len() == 2 && option.starts_with('-');
    is_letter
        && text.starts_with('-')
        && !text.starts_with("--")
        && text[1..].contains(&option[1..])
}

/// Command inside the arguments of another.
pub(super) enum InnerCommand {
    Argv(Vec<ScriptWord>),
    Script(ScriptWord),
}

pub(super) fn inner_commands(name: &str, argv: &[ScriptWord]) -> Vec<InnerCommand> {
    match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "su" => {
            inner_script(argv).into_iter().collect()
        }
        "find" => inner_of_find(argv),
        "eval" => joined(&argv[1..]).into_iter().map(InnerCommand::Script).collect(),
        "trap" => argv.get(1).cloned().map(InnerCommand::Script).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The text behind `-c`.
fn inner_script(argv: &[ScriptWord]) -> Option<InnerCommand> {
    let place = argv.iter().position(|word| {
        word.text().is_some_and(|text| {
            text.starts_with('-') && !text.starts_with("--") && text.contains('c')
        })
    })?;
    let text =
        argv[place + 1..].iter().find(|word| word.text().is_none_or(|it| !it.starts_with('-')))?;
    Some(InnerCommand::Script(text.clone()))
}

fn inner_of_find(argv: &[ScriptWord]) -> Vec<InnerCommand> {
    let mut found = Vec::new();
    let mut rest = argv;
    let starts = ["-exec", "-execdir", "-ok", "-okdir"];
    while let Some(start) =
        rest.iter().position(|word| word.text().is_some_and(|it| starts.contains(&it)))
    {
        rest = &rest[start + 1..];
        let is_end = |word: &ScriptWord| matches!(word.text(), Some(";" | "+"));
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        if end > 0 {
            found.push(InnerCommand::Argv(rest[..end].to_vec()));
        }
        rest = &rest[end..];
    }
    found
}

fn joined(words: &[ScriptWord]) -> Option<ScriptWord> {
    if words.is_empty() {
        return None;
    }
    let texts: Option<Vec<&str>> = words.iter().map(ScriptWord::text).collect();
    Some(
        texts.map_or_else(
            || ScriptWord::Dynamic("eval".into()),
            |it| ScriptWord::Static(it.join(" ")),
        ),
    )
}
