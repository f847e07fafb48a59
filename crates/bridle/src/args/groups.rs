//! The list of commands in `bridle --help`, in groups.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Commands by what people want, in the order of a first day.
const GROUPS: [(&str, &[&str]); 10] = [
    ("Every day", &["capture", "agenda", "search", "status"]),
    ("Start", &["setup", "up", "init", "doctor", "health", "config"]),
    ("Talk", &["chat", "ask", "acp", "send", "tail", "relay"]),
    (
        "Control what bridle does",
        &[
            "approvals",
            "approve",
            "deny",
            "grants",
            "policy",
            "sandbox",
            "project",
            "actuators",
            "why",
            "effects",
            "diff",
        ],
    ),
    ("Language models", &["model", "prompt", "cost"]),
    ("Your Org files", &["memory", "undo", "org"]),
    ("Teach it something", &["skill", "lisp"]),
    (
        "Sessions and the record",
        &["sessions", "schedule", "log", "record", "backup", "restore", "replay", "fork", "forget"],
    ),
    ("Access and secrets", &["token", "pair", "secret"]),
    ("Write a client", &["conform", "tap", "sexp", "frame", "schema"]),
];

/// Heading of the commands that no group has.
const OTHERS: &str = "More";

/// Columns of the widest name, with the blanks before and behind it.
const NAME_COLUMNS: usize = 14;

/// The whole command line, with its commands in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let list = grouped(&command);
    let template = format!(
        "{{about-with-newline}} {{usage-heading}} {{usage}}\n\n{list} Options: {{options}}{{after-help}}"
    );
    command.help_template(template)
}

fn grouped(command: &Command) -> String {
    let mut out = String::new();
    for (heading, names) in GROUPS {
        let members = names.iter().filter_map(|name| command.find_subcommand(name));
        push_group(heading, members, &mut out);
    }
    let is_placed = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = command.get_subcommands();
    let others = others.filter(|it| !it.is_hide_set() && !is_placed(it.get_name()));
    push_group(OTHERS, others, &mut out);
    out
}

fn push_group<'c>(heading: &str, members: impl Iterator<Item = &'c Command>, out: &mut String) {
    let mut members = members.peekable();
    if members.peek().is_none() {
        return;
    }
    out.push_str(&format!("{heading}:\n"));
    for member in members {
        let about = member.get_about().map(ToString::to_string).unwrap_or_default();
        let lines = wrapped(&about);
        out.push_str(&format!(
            "  {:<width$}{}\n",
            member.get_name(),
            lines[0],
            width = NAME_COLUMNS - 2
        ));
        for line in &lines[1..] {
            out.push_str(&format!("{:NAME_COLUMNS$}{line}\n", ""));
        }
    }
    out.push('\n');
}

/// The text in lines that fit beside a name on a terminal of 80 columns; at least one.
fn wrapped(text: &str) -> Vec<String> {
    let room = 80 - NAME_COLUMNS;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        match lines[last].is_empty() || lines[last].len() + 1 + word.len() <= room {
            true if lines[last].is_empty() => lines[last].push_str(word),
            true => lines[last].extend([" ", word]),
            false => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, OTHERS, command};

    #[test]
    fn every_command_is_listed_once_and_fits() {
        let mut command = command();
        let help = command.render_help().to_string();
        // What `--help` says, `bridle help` says too.
        for sub in
            command.get_subcommands().filter(|it| it.get_name() != "help" && !it.is_hide_set())
        {
            let start = format!("  {} ", sub.get_name());
            let count = help.lines().filter(|line| line.starts_with(&start)).count();
            assert_eq!(count, 1, "{} {help}", sub.get_name());
        }
        let list = help.split("Examples:").next().expect("a first part");
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
        for (heading, _) in GROUPS {
            assert!(help.contains(&format!("{heading}:\n")), "{help}");
        }
        let more = help.split(&format!("{OTHERS}:")).nth(1).expect("the last group");
        assert!(more.contains("completions") && more.contains("man"), "{more}");
    }
}
