//! `bridle init`: a folder of Org files becomes the Memex. First it is said what would be read; then, after a yes,
//! the setting is written and the index is made.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bridle_daemon::lock::StateLock;
use bridle_memex::survey::{self, IndexProgress, MemexSurvey, suggested_keywords};
use bridle_shell::system::{self, SystemReply, SystemRequest};

use super::confirm;
use super::model::write_starters;
use super::record::print;
use super::skill::shipped::copy_missing;
use super::talk::find_by;
use crate::args::PeerArgs;
use crate::args::recall::InitArgs;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};
use crate::settings::{self, GivenFlags, ResolvedSettings};

/// Entries of the list of what is not read that are shown to people.
const MAX_SHOWN_FILES: usize = 20;

/// Time between two drawings of the bar.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Width of the bar, in characters.
const BAR_WIDTH: usize = 30;

pub(crate) fn run(args: InitArgs) -> Result<BridleExit, CommandFailure> {
    let given = GivenFlags::with_state(args.peer.file.clone(), args.state.clone());
    let settings = ResolvedSettings::resolve(&given)?;
    let folder = folder(&args, &settings)?;
    let rules = settings.memex_rules()?.rules;
    let mut bar = ProgressBar::new("reading");
    let survey = survey::survey(&folder, &rules, |progress| bar.draw(progress));
    bar.clear();
    let survey = survey.map_err(|error| {
        let what = format!("`{}` cannot be a memex", folder.display());
        CommandFailure::because(BridleExit::NoInput, what, &error)
            .hint("name a folder of Org files: bridle init DIR")
    })?;
    let advice = KeywordAdvice::of(&survey, &rules);
    if !args.json {
        print(&format!("{}{}{}", told(&folder, &survey), advice.in_words(), announced(&args)))?;
    }
    if args.dry_run || !(args.yes || is_wanted(args.json)?) {
        let done = "nothing was written; run `bridle init --yes` to do it\n";
        return print(&if args.json {
            as_json(&folder, &survey, &advice, None, &SkillCopies::default())
        } else {
            done.to_owned()
        });
    }
    let file = args.peer.file.config.clone().map_or_else(settings::expected_file, Ok)?;
    write_setting(&file, &folder)?;
    let copies = SkillCopies::make(&args, &folder, &settings)?;
    let starters = write_starters(&folder)?;
    let taken = match index(&folder, &rules, &settings)? {
        Some(seconds) => FolderOwner::Indexed(seconds),
        None => told_daemon(args.peer, &settings, &folder),
    };
    print(&match args.json {
        true => as_json(&folder, &survey, &advice, Some((&file, &taken)), &copies),
        false => {
            let started = told_starters(&starters);
            format!("wrote {}\n{started}{}{}", file.display(), copies.told(), taken.told())
        }
    })
}

/// Files that are new in the folder.
fn told_starters(starters: &[&str]) -> String {
    match starters {
        [] => String::new(),
        names => {
            format!("new in the folder: {}; a model: bridle model add ollama\n", names.join(", "))
        }
    }
}

/// Announcement of what is written into the folder.
fn announced(args: &InitArgs) -> String {
    let files = "models.org and agent.org are written into it, unless they are there\n";
    let skills = match args.no_skills {
        true => String::new(),
        false => {
            "skills that come with bridle go into its folder `skills`, unless they are there; \
                  without them: --no-skills\n"
                .to_owned()
        }
    };
    format!("{files}{skills}")
}

/// Skills that were copied into the folder, and those that the user has otherwise.
#[derive(Default)]
struct SkillCopies {
    written: Vec<&'static str>,
    own: Vec<&'static str>,
}

impl SkillCopies {
    fn make(
        args: &InitArgs,
        folder: &Path,
        settings: &ResolvedSettings,
    ) -> Result<SkillCopies, CommandFailure> {
        if args.no_skills {
            return Ok(SkillCopies::default());
        }
        let (written, own) = copy_missing(folder, &settings.state()?)?;
        Ok(SkillCopies { written, own })
    }

    fn told(&self) -> String {
        let mut text = String::new();
        if !self.written.is_empty() {
            let _ =
                writeln!(text, "skills: {}; /commands lists what they do", self.written.join(", "));
        }
        if !self.own.is_empty() {
            let _ = writeln!(text, "yours differ: {}; see bridle skill diff", self.own.join(", "));
        }
        text
    }
}

/// Daemon that has taken the folder up, if any.
enum FolderOwner {
    /// The index is made, in so many seconds; no daemon runs.
    Indexed(f64),
    /// The daemon that runs.
    ByDaemon,
    /// Nobody yet: a daemon runs, and does not take it, for this reason.
    AtNextStart(String),
}

impl FolderOwner {
    fn told(&self) -> String {
        match self {
            FolderOwner::Indexed(seconds) => format!("indexed in {seconds:.1} s\n"),
            FolderOwner::ByDaemon => "the running daemon now uses it\n".to_owned(),
            FolderOwner::AtNextStart(why) => {
                format!("the running daemon does not use it yet: {why}\nrestart the daemon\n")
            }
        }
    }

    fn word(&self) -> &'static str {
        match self {
            FolderOwner::Indexed(_) => "none",
            FolderOwner::ByDaemon => "taken",
            FolderOwner::AtNextStart(_) => "start-again",
        }
    }
}

/// Asks the daemon that runs to take the folder up: the one that has the state directory.
fn told_daemon(peer: PeerArgs, settings: &ResolvedSettings, folder: &Path) -> FolderOwner {
    let ask = SystemRequest::OpenMemex(folder.to_string_lossy().into_owned());
    let asked = find_by(peer, settings).and_then(|targets| Ok(system::ask(&targets, &ask)?));
    match asked {
        Ok(SystemReply::Done(_)) => FolderOwner::ByDaemon,
        Ok(SystemReply::Not(answer)) => FolderOwner::AtNextStart(answer.message),
        Err(failure) => FolderOwner::AtNextStart(failure.what().to_owned()),
    }
}

/// The folder, whole and without links.
fn folder(args: &InitArgs, settings: &ResolvedSettings) -> Result<PathBuf, CommandFailure> {
    let named = args.dir.clone().or_else(|| settings.path("memex").map(Path::to_path_buf));
    let home = || std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| home().map(|home| home.join("memex"))).ok_or_else(|| {
        CommandFailure::new(BridleExit::Usage, "no folder given, and HOME is not set")
            .hint("bridle init DIR")
    })?;
    let found = folder.canonicalize().map_err(|error| {
        CommandFailure::because(
            BridleExit::NoInput,
            format!("no folder `{}`", folder.display()),
            &error,
        )
        .hint("create it, or name another: bridle init DIR")
    })?;
    match found.to_str() {
        Some(_) => Ok(found),
        None => Err(CommandFailure::new(BridleExit::Usage, "the folder name is not UTF-8")),
    }
}

/// Makes the index, unless a daemon has the state directory.
fn index(
    folder: &Path,
    rules: &survey::ReadRules,
    settings: &ResolvedSettings,
) -> Result<Option<f64>, CommandFailure> {
    let state = settings.state()?;
    let Ok(_lock) = StateLock::take(&state) else { return Ok(None) };
    let mut bar = ProgressBar::new("indexing");
    let begun = Instant::now();
    let indexed = survey::index(folder, rules, &state, |progress| bar.draw(progress));
    bar.clear();
    indexed.map_err(|error| {
        CommandFailure::because(BridleExit::Io, "cannot build the index", &error)
            .hint("check the free disk space; the Org files are unchanged")
    })?;
    Ok(Some(begun.elapsed().as_secs_f64()))
}

/// A number of things, in words.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Describes the files that would be read, for people.
fn told(folder: &Path, survey: &MemexSurvey) -> String {
    let MemexSurvey { files, bytes, headings, skipped, more_skipped, others, hidden, .. } = survey;
    let mut text = format!(
        "{}: {}, {:.1} MiB, {} to read; the files will not be changed\n",
        folder.display(),
        counted(*files, "Org file"),
        *bytes as f64 / f64::from(1 << 20),
        counted(*headings, "heading"),
    );
    let _ =
        writeln!(text, "not read: {others} other files, {hidden} hidden ones, locks and backups");
    for entry in skipped.iter().take(MAX_SHOWN_FILES) {
        let path: String = entry.path.chars().filter(|c| !c.is_control()).collect();
        let _ = writeln!(text, "not read: {path} ({})", entry.why.word());
    }
    let more = skipped.len().saturating_sub(MAX_SHOWN_FILES) + more_skipped;
    if more > 0 {
        let _ = writeln!(text, "not read: {more} more; --json lists them");
    }
    text
}

/// Advice to declare keywords that headings have.
struct KeywordAdvice<'s> {
    survey: &'s MemexSurvey,
    /// Line of the settings; `None`: every keyword is declared.
    line: Option<String>,
}

impl<'s> KeywordAdvice<'s> {
    fn of(survey: &'s MemexSurvey, rules: &survey::ReadRules) -> Self {
        let found = &survey.undeclared_keywords;
        let value = || suggested_keywords(&rules.org.todo_sequences, found);
        let line =
            (!found.is_empty()).then(|| format!("memex-todo-keywords = {}", quoted(&value())));
        Self { survey, line }
    }

    fn in_words(&self) -> String {
        let Some(line) = &self.line else { return String::new() };
        let words = self.survey.undeclared_keywords.iter();
        let words = words.map(|it| format!("{} ({})", it.word, counted(it.headings, "heading")));
        let words: Vec<String> = words.collect();
        format!(
            "advice: nothing declares {} as keywords, so they are read as words of the title; if they are keywords, put \
             this into your settings (`bridle config path` names the file):\n  {line}\n",
            words.join(", ")
        )
    }

    fn to_json(&self) -> [(&'static str, String); 2] {
        let words = self.survey.undeclared_keywords.iter().map(|it| {
            object(&[("keyword", quoted(it.word)), ("headings", it.headings.to_string())])
        });
        let words: Vec<String> = words.collect();
        let line = self.line.as_deref().map_or_else(|| "null".to_owned(), quoted);
        [("undeclared_keywords", format!("[{}]", words.join(","))), ("suggested_setting", line)]
    }
}

fn as_json(
    folder: &Path,
    survey: &MemexSurvey,
    advice: &KeywordAdvice<'_>,
    done: Option<(&Path, &FolderOwner)>,
    copies: &SkillCopies,
) -> String {
    let skipped = survey
        .skipped
        .iter()
        .map(|entry| object(&[("path", quoted(&entry.path)), ("why", quoted(entry.why.word()))]));
    let skipped: Vec<String> = skipped.collect();
    let (file, taken) = done.unzip();
    let seconds = taken.and_then(|taken| match taken {
        FolderOwner::Indexed(seconds) => Some(seconds),
        _ => None,
    });
    let null = || "null".to_owned();
    let [keywords, setting] = advice.to_json();
    let names = |all: &[&str]| {
        let all: Vec<String> = all.iter().map(|name| quoted(name)).collect();
        format!("[{}]", all.join(","))
    };
    let line = object(&[
        ("folder", quoted(&folder.to_string_lossy())),
        ("files", survey.files.to_string()),
        ("bytes", survey.bytes.to_string()),
        ("headings", survey.headings.to_string()),
        ("other_files", survey.others.to_string()),
        ("hidden", survey.hidden.to_string()),
        ("skipped", format!("[{}]", skipped.join(","))),
        ("more_skipped", survey.more_skipped.to_string()),
        keywords,
        setting,
        ("wrote", file.map_or_else(null, |file| quoted(&file.to_string_lossy()))),
        ("daemon", taken.map_or_else(null, |taken| quoted(taken.word()))),
        ("skills", names(&copies.written)),
        ("own_skills", names(&copies.own)),
        ("indexed_seconds", seconds.map_or_else(null, |seconds| format!("{seconds:.3}"))),
    ]);
    format!("{line}\n")
}

/// Asks on a terminal; elsewhere the answer is no.
fn is_wanted(json: bool) -> Result<bool, CommandFailure> {
    Ok(!json && confirm::has_person() && confirm::asked("Use this folder?")?)
}

/// Sets `memex` in the file of settings; every other line stays as it is.
fn write_setting(file: &Path, folder: &Path) -> Result<(), CommandFailure> {
    let failed = |error: &io::Error| {
        CommandFailure::because(
            BridleExit::CannotCreate,
            format!("cannot write `{}`", file.display()),
            error,
        )
        .hint("name a file you can write to with --config FILE")
    };
    let before = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(&error)),
    };
    let line = format!("memex = {}", quoted(&folder.to_string_lossy()));
    let after = with_line(&before, &line);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    // Beside it and then in its place: whatever happens, one of the two is whole.
    let beside = file.with_extension("toml.new");
    let write = || -> io::Result<()> {
        let mut out = std::fs::File::create(&beside)?;
        if let Ok(meta) = std::fs::metadata(file) {
            out.set_permissions(meta.permissions())?;
        }
        out.write_all(after.as_bytes())?;
        out.sync_all()?;
        std::fs::rename(&beside, file)
    };
    write().map_err(|error| failed(&error))?;
    settings::check_file(file).map(drop)
}

/// The text with the line for `memex` in it: in the place of the old one, or before the first table.
fn with_line(text: &str, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let first_table = lines.iter().position(|line| line.trim_start().starts_with('['));
    let top = first_table.unwrap_or(lines.len());
    let is_setting = |line: &&str| {
        let rest = line.trim_start().strip_prefix("memex").map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with('='))
    };
    match lines[..top].iter().position(is_setting) {
        Some(at) => lines[at] = line,
        None => lines.insert(top, line),
    }
    lines.join("\n") + "\n"
}

/// Progress bar, on a terminal.
struct ProgressBar {
    what: &'static str,
    drawn: Option<Instant>,
    is_on: bool,
}

impl ProgressBar {
    fn new(what: &'static str) -> ProgressBar {
        ProgressBar { what, drawn: None, is_on: io::stderr().is_terminal() }
    }

    fn draw(&mut self, progress: IndexProgress) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME_INTERVAL);
        if !self.is_on || !is_due {
            return;
        }
        self.drawn = Some(Instant::now());
        let IndexProgress { files, all_files, bytes, all_bytes } = progress;
        let full = usize::try_from(bytes * BAR_WIDTH as u64 / all_bytes.max(1))
            .unwrap_or(BAR_WIDTH)
            .min(BAR_WIDTH);
        let (done, left) = ("#".repeat(full), "-".repeat(BAR_WIDTH - full));
        let what = self.what;
        // A bar that cannot be drawn is missed by nobody.
        let _ = write!(io::stderr().lock(), "\r{what} [{done}{left}] {files}/{all_files} files");
    }

    /// Takes the bar away.
    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_line;

    #[test]
    fn the_line_of_the_setting_is_replaced_or_comes_before_the_first_table() {
        let check =
            |before: &str, after: &str| assert_eq!(with_line(before, "memex = \"x\""), after);
        check("", "memex = \"x\"\n");
        check("tcp = \"off\"\n", "tcp = \"off\"\nmemex = \"x\"\n");
        check("# c\nmemex=\"old\" # d\n[hmac]\n", "# c\nmemex = \"x\"\n[hmac]\n");
        check("[hmac]\nmemex = 1\n", "memex = \"x\"\n[hmac]\nmemex = 1\n");
        check("memex-private = \"a\"", "memex-private = \"a\"\nmemex = \"x\"\n");
    }
}
