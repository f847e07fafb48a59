//! `bridle policy`: check, test, show, explain, rehearse, write and install policies.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bridle_daemon::history::rehearse::Rehearsed;
use bridle_loop::{BadPolicies, DEFAULT_POLICY, Facts, Finding, Policies, Policy, Tried, Word};
use bridle_sexp::json;
use bridle_shell::client::Target;
use bridle_shell::system::{self, Ask, Said};

use super::record::{failure, open, print};
use super::session::refused;
use super::talk::find;
use crate::args::Peer;
use crate::args::guard as args;
use crate::exit::{Exit, Failure};
use crate::json::{object, quoted, strings};
use crate::settings::{ConfigFile, Given, Settings};

/// Most bytes that are read of a file: more than a set may have, so that the set says so itself.
const MAX_FILE: u64 = (1 << 20) + 1;

/// Changed decisions that are listed for people; JSON has all.
const MAX_LISTED: usize = 50;

pub(crate) fn run(verb: args::Policy) -> Result<Exit, Failure> {
    match verb {
        args::Policy::Check { file } => check(&file),
        args::Policy::Test { file } => test(&file),
        args::Policy::Show(args) => show(args),
        args::Policy::Explain(args) => explain(&args),
        args::Policy::Rehearse(args) => rehearse(&args),
        args::Policy::Init { file, settings } => init(file, settings),
        args::Policy::Install(peer) => install(peer),
    }
}

fn check(file: &Path) -> Result<Exit, Failure> {
    let (set, tried) = load(file, &read(file)?)?;
    let (policies, examples) = (own(&set).count(), tried.len());
    print(&format!("{}: ok, {policies} policies, {examples} examples\n", file.display()))
}

/// A set and how its examples came out, all of them as they should.
fn load(file: &Path, text: &str) -> Result<(Policies, Vec<Tried>), Failure> {
    let (set, tried) = Policies::tried(text).map_err(|bad| faults(file, &bad))?;
    match Policies::from_org(text) {
        Ok(_) => Ok((set, tried)),
        Err(bad) => Err(faults(file, &bad)),
    }
}

/// A line for each fault, as compilers write them.
fn faults(file: &Path, bad: &BadPolicies) -> Failure {
    let name = if is_stdin(file) { "stdin".to_owned() } else { file.display().to_string() };
    let mut lines = bad.faults.iter().map(|fault| format!("{name}:{}: {}", fault.line, fault.what));
    let first = lines.next().unwrap_or_else(|| format!("{name}: no set of policies"));
    lines.fold(Failure::bare(Exit::Data, first), Failure::detail)
}

fn test(file: &Path) -> Result<Exit, Failure> {
    let (_, tried) = Policies::tried(&read(file)?).map_err(|bad| faults(file, &bad))?;
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
    Ok(if failed == 0 { Exit::Ok } else { Exit::Answered })
}

fn show(args: args::PolicyShow) -> Result<Exit, Failure> {
    let (set, from) = match args.file {
        Some(file) => (Arc::new(load(&file, &read(&file)?)?.0), file.display().to_string()),
        None => installed(args.settings)?,
    };
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

/// The set that the settings name, or the built-in one, and where it comes from.
fn installed(settings: ConfigFile) -> Result<(Arc<Policies>, String), Failure> {
    let choice = Settings::resolve(&Given::from(settings))?.policy();
    let file = choice.file().filter(|file| file.exists());
    match file {
        Some(file) => Ok((Arc::new(load(file, &read(file)?)?.0), file.display().to_string())),
        None => Ok((Policies::built_in(), "built in".to_owned())),
    }
}

/// A policy for people.
pub(super) fn describe(policy: &Policy, text: &mut String) {
    let title = if policy.title.is_empty() { "what no set lifts" } else { &policy.title };
    let _ = writeln!(text, "{}: {title}", policy.id);
    for line in policy.prose.lines().chain(policy.text.lines()) {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
}

/// A policy for programs.
pub(super) fn policy_json(policy: &Policy) -> String {
    object(&[
        ("id", quoted(&policy.id)),
        ("title", quoted(&policy.title)),
        ("prose", quoted(&policy.prose)),
        ("text", quoted(&policy.text)),
        ("line", policy.line.to_string()),
    ])
}

fn explain(args: &args::Explain) -> Result<Exit, Failure> {
    let (set, _) = load(&args.file, &read(&args.file)?)?;
    let facts = Facts::described(&args.proposal).map_err(|why| {
        Failure::new(Exit::Data, format!("cannot read the proposal: {why}")).hint(
            "write it as an example: (:principal \"owner\" :by :thinker :action :eval :code \"1\")",
        )
    })?;
    let found = set.find(&facts);
    let answers = [set.find_unapproved(&facts), set.find_approved(&facts)];
    let named = |id: &str| set.policies().iter().find(|policy| &*policy.id == id);
    let mut cited: Vec<&Policy> = Vec::new();
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
    found: &Finding,
    answers: &[Finding; 2],
    cited: &[&Policy],
    facts: &Facts,
) -> String {
    let yes_or_no = |answer: &Finding| match answer.word {
        Word::Allow => format!("yes, {}", because(answer)),
        _ => format!("no, {}", because(answer)),
    };
    let mut text = format!("{}\n", example_word(found.word));
    let _ = writeln!(text, "permitted now: {}", yes_or_no(&answers[0]));
    let _ = writeln!(text, "permitted after a yes: {}\n", yes_or_no(&answers[1]));
    cited.iter().for_each(|policy| describe(policy, &mut text));
    let _ = writeln!(text, "facts: {}", facts.to_value());
    text
}

fn explained_json(
    found: &Finding,
    answers: &[Finding; 2],
    cited: &[&Policy],
    facts: &Facts,
) -> String {
    let answer = |answer: &Finding| {
        object(&[
            ("permitted", (answer.word == Word::Allow).to_string()),
            ("policies", strings(&answer.policies)),
            ("fault", answer.fault.as_deref().map_or("null".to_owned(), quoted)),
        ])
    };
    let policies: Vec<String> = cited.iter().map(|policy| policy_json(policy)).collect();
    let mut told = String::new();
    json::to_json(&facts.to_value(), &mut told);
    let object = object(&[
        ("verdict", quoted(example_word(found.word))),
        ("now", answer(&answers[0])),
        ("after-a-yes", answer(&answers[1])),
        ("policies", format!("[{}]", policies.join(","))),
        ("facts", told),
    ]);
    format!("{object}\n")
}

fn rehearse(args: &args::Rehearse) -> Result<Exit, Failure> {
    let (set, _) = load(&args.file, &read(&args.file)?)?;
    let history = open(&args.state)?;
    let rehearsed = history.rehearse(&set, args.last).map_err(|error| failure(&error))?;
    print(&if args.json { rehearsed_json(&rehearsed) } else { rehearsed_text(&rehearsed) })
}

/// What would have changed, for people.
pub(super) fn rehearsed_text(rehearsed: &Rehearsed) -> String {
    let Rehearsed { decisions, unreadable, changed } = rehearsed;
    let mut text = format!("{} of {decisions} decisions would change\n", changed.len());
    if *unreadable > 0 {
        let _ = writeln!(text, "{unreadable} cannot be read: forgotten, or of another version");
    }
    for (was, now, count) in rehearsed.counts() {
        let _ = writeln!(text, "  {} -> {}: {count}", example_word(was), example_word(now));
    }
    for it in changed.iter().take(MAX_LISTED) {
        let by = if it.policies.is_empty() {
            "nothing permits it".to_owned()
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

fn rehearsed_json(rehearsed: &Rehearsed) -> String {
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

fn init(file: Option<PathBuf>, settings: ConfigFile) -> Result<Exit, Failure> {
    let file = match file {
        Some(file) => file,
        None => file_of(&Settings::resolve(&Given::from(settings))?)?,
    };
    let unmade = |error: &io::Error| {
        let what = format!("cannot create `{}`", file.display());
        let failure = Failure::because(Exit::CannotCreate, what, error);
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("it is left as it is; name another file"),
            _ => failure.hint("name a place you may write to"),
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
pub(super) fn file_of(settings: &Settings) -> Result<PathBuf, Failure> {
    settings.policy().file().map(Path::to_path_buf).ok_or_else(|| {
        Failure::new(Exit::Config, "the settings name no file of policies: policy is off")
            .hint("name one with the setting `policy`; `bridle config show` lists all")
    })
}

fn install(peer: Peer) -> Result<Exit, Failure> {
    install_at(&find(peer)?)
}

/// Lets a daemon read its policies again.
pub(super) fn install_at(targets: &[Target]) -> Result<Exit, Failure> {
    match system::ask(targets, &Ask::InstallPolicy)? {
        Said::Not(answer) => Err(refused(&answer)),
        Said::Done(payload) => {
            let hash = payload.get("hash").and_then(bridle_sexp::Value::as_str);
            print(&format!("installed {}\n", hash.unwrap_or_default()))
        }
    }
}

/// The text of a file, or of stdin.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let got = match is_stdin(file) {
        true => io::stdin().lock().take(MAX_FILE).read_to_end(&mut bytes),
        false => File::open(file).and_then(|it| it.take(MAX_FILE).read_to_end(&mut bytes)),
    };
    got.map_err(|error| {
        Failure::because(Exit::NoInput, format!("cannot read `{}`", file.display()), &error)
            .hint("name a file of policies, or - for stdin; `bridle policy init` writes one")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let what = format!("`{}` is no text", file.display());
        Failure::because(Exit::Data, what, &error).hint("policies are UTF-8")
    })
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// The policies of the file itself, without those that no set lifts.
fn own(set: &Policies) -> impl Iterator<Item = &Policy> {
    set.policies().iter().filter(|policy| policy.line > 0)
}

fn because(found: &Finding) -> String {
    match &found.fault {
        Some(fault) => format!("since the policies could not be asked: {fault}"),
        None if found.policies.is_empty() => "nothing permits it".to_owned(),
        None => format!("by {}", found.policies.join(" ")),
    }
}

/// A verdict as examples write it.
pub(super) fn example_word(word: Word) -> &'static str {
    match word {
        Word::Deny => "refuse",
        other => other.word(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
