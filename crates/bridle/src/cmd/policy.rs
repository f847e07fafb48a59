//! `bridle policy`: check, test, show, explain, rehearse, write and install policies.

mod quarantine;
mod source;

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bridle_history::rehearse::RehearsalReport;
use bridle_loop::{
    DEFAULT_POLICY, GuardPolicies, InvalidPolicies, PolicyEntry, PolicyFacts, PolicyFinding,
    PolicyVerdict,
};
use bridle_shell::client::DaemonTarget;
use bridle_shell::screen::plain_json;
use bridle_shell::system::{self, SystemReply, SystemRequest};

use self::source::SourceText;
use super::record::{failure, open_file, print};
use super::session::refused;
use super::talk::find;
use crate::args::PeerArgs;
use crate::args::guard as args;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted, strings};
use crate::settings::{ConfigFile, GivenFlags, ResolvedSettings};

/// Changed decisions that are listed for people; JSON has all.
const MAX_LISTED: usize = 50;

pub(crate) fn run(verb: args::PolicyCommand) -> Result<BridleExit, CommandFailure> {
    match verb {
        args::PolicyCommand::Check(args) => check(&args),
        args::PolicyCommand::Test(args) => test(&args),
        args::PolicyCommand::Show(args) => show(args),
        args::PolicyCommand::Explain(args) => explain(&args),
        args::PolicyCommand::Rehearse(args) => rehearse(&args),
        args::PolicyCommand::Init { file, settings } => init(file, settings),
        args::PolicyCommand::Install(peer) => install(peer),
    }
}

fn check(args: &args::PolicyCheckArgs) -> Result<BridleExit, CommandFailure> {
    let source = SourceText::find(args.source.file.as_deref(), args.source.state.given())?;
    let freed = match args.alone {
        true => false,
        false => quarantine::free(&source, args.source.state.given())?,
    };
    let (set, tried) = source.load()?;
    let (policies, examples) = (own(&set).count(), tried.len());
    let mut text = format!("{}: ok, {policies} policies, {examples} examples\n", source.name);
    if freed {
        text.push_str("released from quarantine: install it with `bridle policy install`\n");
    }
    print(&text)
}

/// A line for each fault, as compilers write them.
fn faults(name: &str, bad: &InvalidPolicies) -> CommandFailure {
    let mut lines = bad.faults.iter().map(|fault| format!("{name}:{}: {}", fault.line, fault.what));
    let first = lines.next().unwrap_or_else(|| format!("{name}: not a policy file"));
    lines.fold(CommandFailure::bare(BridleExit::Data, first), CommandFailure::detail)
}

fn test(args: &args::PolicySourceArgs) -> Result<BridleExit, CommandFailure> {
    let source = SourceText::find(args.file.as_deref(), args.state.given())?;
    let (_, tried) = source.load_tried()?;
    let mut text = String::new();
    for one in &tried {
        let verdict = if one.passed() { "pass" } else { "FAIL" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{verdict} line {}: {}", one.line, one_line(&one.text));
        let (expected, got) = (example_word(one.expected), example_word(one.found.word));
        let _ = match one.passed() {
            true => writeln!(text, "     {got}, {}", because(&one.found)),
            false => writeln!(text, "     expected {expected}, got {got}, {}", because(&one.found)),
        };
    }
    let failed = tried.iter().filter(|one| !one.passed()).count();
    let _ = writeln!(text, "{} passed, {failed} failed", tried.len() - failed);
    print(&text)?;
    Ok(if failed == 0 { BridleExit::Ok } else { BridleExit::Answered })
}

fn show(args: args::PolicyShowArgs) -> Result<BridleExit, CommandFailure> {
    let source = SourceText::find(args.file.as_deref(), &GivenFlags::from(args.settings))?;
    let (set, from) = (source.load()?.0, source.name);
    let mut text = String::new();
    if !args.json {
        let _ = writeln!(text, "{from}, {}\n", set.hash());
    }
    for policy in set.policies() {
        match args.json {
            true => {
                text.push_str(&policy_json(policy));
                text.push('\n');
            }
            false => describe(policy, &mut text),
        }
    }
    print(&text)
}

/// A policy for people.
pub(super) fn describe(policy: &PolicyEntry, text: &mut String) {
    let title = if policy.title.is_empty() { "built in, always in force" } else { &policy.title };
    let _ = writeln!(text, "{}: {title}", policy.id);
    for line in policy.prose.lines().chain(policy.text.lines()) {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
}

/// A policy for programs.
pub(super) fn policy_json(policy: &PolicyEntry) -> String {
    object(&[
        ("id", quoted(&policy.id)),
        ("title", quoted(&policy.title)),
        ("prose", quoted(&policy.prose)),
        ("text", quoted(&policy.text)),
        ("line", policy.line.to_string()),
    ])
}

fn explain(args: &args::ExplainArgs) -> Result<BridleExit, CommandFailure> {
    let (set, _) = SourceText::read(&args.file)?.load()?;
    let facts = PolicyFacts::described(&args.proposal).map_err(|why| {
        CommandFailure::new(BridleExit::Data, format!("cannot read the proposal: {why}")).hint(
            "write it as an example: (:principal \"owner\" :by :thinker :action :eval :code \"1\")",
        )
    })?;
    let found = set.find(&facts);
    let answers = [set.find_unapproved(&facts), set.find_approved(&facts)];
    let named = |id: &str| set.policies().iter().find(|policy| &*policy.id == id);
    let mut cited: Vec<&PolicyEntry> = Vec::new();
    for policy in answers.iter().flat_map(|answer| &answer.policies).filter_map(|id| named(id)) {
        if !cited.iter().any(|known| known.id == policy.id) {
            cited.push(policy);
        }
    }
    print(&if args.json {
        explained_json(&found, &answers, &cited, &facts)
    } else {
        explained_text(&found, &answers, &cited, &facts)
    })
}

fn explained_text(
    found: &PolicyFinding,
    answers: &[PolicyFinding; 2],
    cited: &[&PolicyEntry],
    facts: &PolicyFacts,
) -> String {
    let yes_or_no = |answer: &PolicyFinding| match answer.word {
        PolicyVerdict::Allow => format!("yes, {}", because(answer)),
        _ => format!("no, {}", because(answer)),
    };
    let mut text = format!("{}\n", example_word(found.word));
    let _ = writeln!(text, "allowed without approval: {}", yes_or_no(&answers[0]));
    let _ = writeln!(text, "allowed after approval: {}\n", yes_or_no(&answers[1]));
    cited.iter().for_each(|policy| describe(policy, &mut text));
    let _ = writeln!(text, "facts: {}", facts.to_value());
    text
}

fn explained_json(
    found: &PolicyFinding,
    answers: &[PolicyFinding; 2],
    cited: &[&PolicyEntry],
    facts: &PolicyFacts,
) -> String {
    let answer = |answer: &PolicyFinding| {
        object(&[
            ("permitted", (answer.word == PolicyVerdict::Allow).to_string()),
            ("policies", strings(&answer.policies)),
            ("fault", answer.fault.as_deref().map_or("null".to_owned(), quoted)),
        ])
    };
    let policies: Vec<String> = cited.iter().map(|policy| policy_json(policy)).collect();
    let told = plain_json(&facts.to_value());
    let object = object(&[
        ("verdict", quoted(example_word(found.word))),
        ("now", answer(&answers[0])),
        ("after-a-yes", answer(&answers[1])),
        ("policies", format!("[{}]", policies.join(","))),
        ("facts", told),
    ]);
    format!("{object}\n")
}

fn rehearse(args: &args::RehearseArgs) -> Result<BridleExit, CommandFailure> {
    let source = &args.source;
    let (set, _) = SourceText::find(source.file.as_deref(), source.state.given())?.load()?;
    let history = open_file(&source.state)?;
    let rehearsed = history.rehearse(&set, args.last).map_err(|error| failure(&error))?;
    print(&if args.json { rehearsed_json(&rehearsed) } else { rehearsed_text(&rehearsed) })
}

/// Describes the decisions that would have changed, for people.
pub(super) fn rehearsed_text(rehearsed: &RehearsalReport) -> String {
    let RehearsalReport { decisions, unreadable, changed } = rehearsed;
    let mut text = format!("{} of {decisions} decisions would change\n", changed.len());
    if *unreadable > 0 {
        let _ = writeln!(
            text,
            "{unreadable} decisions cannot be read: forgotten, or from another version"
        );
    }
    for (was, now, count) in rehearsed.counts() {
        let _ = writeln!(text, "  {} -> {}: {count}", example_word(was), example_word(now));
    }
    for it in changed.iter().take(MAX_LISTED) {
        let by = if it.policies.is_empty() {
            "no policy permits it".to_owned()
        } else {
            it.policies.join(" ")
        };
        let (was, now) = (example_word(it.was), example_word(it.now));
        let _ = writeln!(
            text,
            "record {} of {}: {} to {}: {was} -> {now} ({by})",
            it.record, it.session, it.action, it.target
        );
    }
    if changed.len() > MAX_LISTED {
        let _ = writeln!(text, "and {} more; --json lists them", changed.len() - MAX_LISTED);
    }
    text
}

fn rehearsed_json(rehearsed: &RehearsalReport) -> String {
    let counts: Vec<String> = rehearsed
        .counts()
        .into_iter()
        .map(|(was, now, count)| {
            object(&[
                ("was", quoted(example_word(was))),
                ("now", quoted(example_word(now))),
                ("count", count.to_string()),
            ])
        })
        .collect();
    let changed: Vec<String> = rehearsed
        .changed
        .iter()
        .map(|it| {
            object(&[
                ("record", it.record.to_string()),
                ("session", quoted(&it.session)),
                ("action", quoted(&it.action)),
                ("target", quoted(&it.target)),
                ("was", quoted(example_word(it.was))),
                ("now", quoted(example_word(it.now))),
                ("policies", strings(&it.policies)),
            ])
        })
        .collect();
    let object = object(&[
        ("decisions", rehearsed.decisions.to_string()),
        ("unreadable", rehearsed.unreadable.to_string()),
        ("counts", format!("[{}]", counts.join(","))),
        ("changed", format!("[{}]", changed.join(","))),
    ]);
    format!("{object}\n")
}

fn init(file: Option<PathBuf>, settings: ConfigFile) -> Result<BridleExit, CommandFailure> {
    let file = match file {
        Some(file) => file,
        None => file_of(&ResolvedSettings::resolve(&GivenFlags::from(settings))?)?,
    };
    let unmade = |error: &io::Error| {
        let what = format!("cannot create `{}`", file.display());
        let failure = CommandFailure::because(BridleExit::CannotCreate, what, error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("the file is unchanged; name another one"),
            _ => failure.hint("name a file you can write to"),
        }
    };
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).map_err(|error| unmade(&error))?;
    }
    // Who may write the policies may do everything that they can allow.
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    let written = created.and_then(|mut file| {
        file.write_all(DEFAULT_POLICY.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| unmade(&error))?;
    print(&format!("wrote {}\n", file.display()))
}

/// The file of policies that the settings name, whether it exists or not.
pub(super) fn file_of(settings: &ResolvedSettings) -> Result<PathBuf, CommandFailure> {
    settings.policy().file().map(Path::to_path_buf).ok_or_else(|| {
        CommandFailure::new(BridleExit::Config, "no policy file: the setting `policy` is off")
            .hint("set `policy` to a file; `bridle config show` lists all settings")
    })
}

fn install(peer: PeerArgs) -> Result<BridleExit, CommandFailure> {
    install_at(&find(peer)?)
}

/// Lets a daemon read its policies again, and says which hold.
pub(super) fn install_at(targets: &[DaemonTarget]) -> Result<BridleExit, CommandFailure> {
    let hash = installed_at(targets)?;
    let is_built_in = hash == GuardPolicies::built_in().hash().to_string();
    let which = if is_built_in { ", the built-in policies" } else { "" };
    print(&format!("installed {hash}{which}\n"))
}

/// Lets a daemon read its policies again; the hash of those that hold.
pub(super) fn installed_at(targets: &[DaemonTarget]) -> Result<String, CommandFailure> {
    match system::ask(targets, &SystemRequest::InstallPolicy)? {
        SystemReply::Not(answer) if answer.code == "invalid-value" => {
            let what = format!("policies not installed: {}", answer.message);
            Err(CommandFailure::new(BridleExit::Data, what).hint(
                "the previous policies stay in force; fix the file and run `bridle policy check`",
            ))
        }
        SystemReply::Not(answer) => Err(refused(&answer)),
        SystemReply::Done(payload) => {
            let hash = payload.get("hash").and_then(bridle_sexp::Value::as_str);
            Ok(hash.unwrap_or_default().to_owned())
        }
    }
}

/// The policies of the file itself, without those that no set lifts.
fn own(set: &GuardPolicies) -> impl Iterator<Item = &PolicyEntry> {
    set.policies().iter().filter(|policy| policy.line > 0)
}

fn because(found: &PolicyFinding) -> String {
    match &found.fault {
        Some(fault) => format!("because the policies could not be evaluated: {fault}"),
        None if found.policies.is_empty() => "no policy permits it".to_owned(),
        None => format!("by {}", found.policies.join(" ")),
    }
}

/// A verdict as examples write it.
pub(super) fn example_word(word: PolicyVerdict) -> &'static str {
    match word {
        PolicyVerdict::Deny => "refuse",
        other => other.word(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
