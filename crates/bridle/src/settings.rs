//! Settings from three sources with one precedence: flag, then environment, then file, then
//! default. Every value remembers where it came from, so `config show` can say.
//!
//! `table` names the settings, `value` gives them types, `file` reads TOML, `lift` hands the result
//! to the daemon. Called by the commands; knows nothing of listeners.

mod check;
mod file;
mod lift;
mod table;
mod toolchains;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::ValueHint};

pub(crate) use check::{CheckFindings, check_file, check_surroundings};
pub(crate) use file::example;
pub(crate) use lift::read_key_file;
pub(crate) use table::{SettingPreset, SettingRow, TABLE};
pub(crate) use value::{SettingKind, SettingValue};

use crate::args::CONNECTION;
use crate::exit::{BridleExit, CommandFailure};

/// Prefix of the variables of the first peers of the protocol.
const OLD_PEERS: &str = "HARNESS_PROTOCOL_";

/// Source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
    Flag(&'static str),
    Env(&'static str),
    File { path: PathBuf, line: usize },
    Default,
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Flag(flag) => write!(f, "flag --{flag}"),
            ValueOrigin::Env(name) => write!(f, "env {name}"),
            ValueOrigin::File { path, line } => write!(f, "file {}:{line}", path.display()),
            ValueOrigin::Default => f.write_str("default"),
        }
    }
}

/// One setting with its value.
#[derive(Debug)]
pub(crate) struct ResolvedSetting {
    pub(crate) setting: &'static SettingRow,
    /// As it was written; `None` if nobody wrote it and there is no default.
    pub(crate) text: Option<String>,
    pub(crate) value: SettingValue,
    pub(crate) origin: ValueOrigin,
}

/// Every setting, in the order of the table.
#[derive(Debug)]
pub(crate) struct ResolvedSettings {
    entries: Vec<ResolvedSetting>,
    /// The file that was read, if there is one.
    pub(crate) file: Option<PathBuf>,
}

impl ResolvedSettings {
    /// Reads all sources.
    pub(crate) fn resolve(given: &GivenFlags) -> Result<ResolvedSettings, CommandFailure> {
        let file = match &given.config {
            Some(path) => Some(path.clone()),
            None => default_file().filter(|path| path.exists()),
        };
        let mut entries = Vec::with_capacity(TABLE.len());
        let from_file = file.as_deref().map(file::read).transpose()?.unwrap_or_default();
        for setting in TABLE {
            entries.push(first_source(setting, given, &from_file, file.as_deref())?);
        }
        let mut settings = ResolvedSettings { entries, file };
        settings.fill_computed_defaults();
        Ok(settings)
    }

    pub(crate) fn entries(&self) -> &[ResolvedSetting] {
        &self.entries
    }

    /// The entry of a name that the table has.
    pub(crate) fn entry(&self, name: &str) -> &ResolvedSetting {
        let found = self.entries.iter().find(|entry| entry.setting.name == name);
        found.expect("callers pass names of the table; a test lifts every one")
    }

    /// The state directory depends on the surroundings, the socket on both.
    fn fill_computed_defaults(&mut self) {
        self.set_default(SettingPreset::StateDir, state_dir());
        self.set_default(
            SettingPreset::Policy,
            default_file().map(|file| file.with_file_name("policy.org")),
        );
        let runtime = xdg("XDG_RUNTIME_DIR").map(|dir| dir.join("bridle"));
        let dir = runtime.or_else(|| self.path("state").map(Path::to_path_buf));
        self.set_default(SettingPreset::Socket, dir.map(|dir| dir.join("bridle.sock")));
        self.set_default(SettingPreset::HttpSocket, self.path("unix").and_then(http_socket_beside));
        self.allow_old_signatures();
    }

    /// Turns signatures of version 1 on where a variable of the first peers turns signing on, since they
    /// know no other. Whoever sets `hmac.allow-v1` decides.
    fn allow_old_signatures(&mut self) {
        let of_old_peers = |entry: &ResolvedSetting| match entry.origin {
            ValueOrigin::Env(name) if name.starts_with(OLD_PEERS) => Some(name),
            _ => None,
        };
        let asked = ["hmac.enforce", "hmac.secret"].map(|name| of_old_peers(self.entry(name)));
        let Some(asked) = asked.into_iter().flatten().next() else { return };
        let found = self.entries.iter_mut().find(|entry| entry.setting.name == "hmac.allow-v1");
        if let Some(entry) = found.filter(|entry| entry.origin == ValueOrigin::Default) {
            entry.text = Some("true".to_owned());
            entry.value = SettingValue::Bool(true);
            entry.origin = ValueOrigin::Env(asked);
        }
    }

    /// Gives a path to the settings with this default that nobody has set.
    fn set_default(&mut self, preset: SettingPreset, path: Option<PathBuf>) {
        let Some(path) = path else {
            return;
        };
        for entry in &mut self.entries {
            if entry.origin == ValueOrigin::Default && entry.setting.default == preset {
                entry.text = Some(path.display().to_string());
                entry.value = SettingValue::Path(path.clone());
            }
        }
    }
}

/// Takes the first source that has the setting, and checks its text.
fn first_source(
    setting: &'static SettingRow,
    given: &GivenFlags,
    from_file: &[file::FileEntry],
    path: Option<&Path>,
) -> Result<ResolvedSetting, CommandFailure> {
    let flag = given.flags.iter().find(|(known, _)| std::ptr::eq(*known, setting));
    if let Some((_, text)) = flag {
        let origin = ValueOrigin::Flag(setting.flag.unwrap_or(setting.name));
        return checked(setting, text.clone(), origin);
    }
    match from_environment(setting)? {
        Some((name, text)) => checked(setting, text, ValueOrigin::Env(name)),
        None => file_or_default(setting, from_file, path),
    }
}

fn file_or_default(
    setting: &'static SettingRow,
    from_file: &[file::FileEntry],
    path: Option<&Path>,
) -> Result<ResolvedSetting, CommandFailure> {
    if let Some(entry) = from_file.iter().find(|entry| entry.name == setting.name) {
        let path = path.map(Path::to_path_buf).unwrap_or_default();
        return checked(setting, entry.text.clone(), ValueOrigin::File { path, line: entry.line });
    }
    match setting.default {
        SettingPreset::Text(text) => checked(setting, text.to_owned(), ValueOrigin::Default),
        _ => Ok(ResolvedSetting {
            setting,
            text: None,
            value: SettingValue::Unset,
            origin: ValueOrigin::Default,
        }),
    }
}

fn checked(
    setting: &'static SettingRow,
    text: String,
    origin: ValueOrigin,
) -> Result<ResolvedSetting, CommandFailure> {
    let value = setting.kind.parse(&text).map_err(|why| refused(setting, &origin, &why))?;
    Ok(ResolvedSetting { setting, text: Some(text), value, origin })
}

/// A value that its setting does not take: the command line's fault or the configuration's.
pub(crate) fn refused(setting: &SettingRow, origin: &ValueOrigin, why: &str) -> CommandFailure {
    let exit = match origin {
        ValueOrigin::Flag(_) => BridleExit::Usage,
        ValueOrigin::Env(_) | ValueOrigin::File { .. } | ValueOrigin::Default => BridleExit::Config,
    };
    let place = match origin {
        ValueOrigin::Flag(flag) => format!("--{flag}"),
        ValueOrigin::Env(name) => (*name).to_owned(),
        ValueOrigin::File { path, line } => {
            format!("{}:{line}: `{}`", path.display(), setting.name)
        }
        ValueOrigin::Default => format!("`{}`", setting.name),
    };
    let hint = format!("{}: {}", setting.name, setting.doc);
    CommandFailure::new(exit, format!("{place}: {why}")).hint(hint).about(setting.name)
}

fn from_environment(
    setting: &'static SettingRow,
) -> Result<Option<(&'static str, String)>, CommandFailure> {
    for name in setting.env {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        // The value stays out of the message: it may be a secret.
        let text = value.into_string().map_err(|_| {
            CommandFailure::new(
                BridleExit::Config,
                format!("{name}: expected UTF-8 text, got other bytes"),
            )
            .hint(format!("unset it, or set it to text: {}", setting.doc))
        })?;
        return Ok(Some((name, text)));
    }
    Ok(None)
}

/// The variable that is most like `name`, if one is near.
pub(crate) fn closest_variable(name: &str) -> Option<&'static str> {
    let own_part = name.len().saturating_sub("BRIDLE_".len());
    let known = TABLE.iter().flat_map(|setting| setting.env).copied().chain(CLIENT_VARIABLES);
    let slips = known.map(|known| (strsim::osa_distance(name, known), known));
    let near = slips.filter(|(slips, _)| *slips <= (own_part / LETTERS_PER_SLIP).max(1));
    near.min_by_key(|(slips, _)| *slips).map(|(_, known)| known)
}

/// A name is taken for a misspelt one up to one slip in so many letters.
const LETTERS_PER_SLIP: usize = 3;

/// Variables that begin with `BRIDLE_` and that nothing reads: likely a slip of the pen.
pub(crate) fn stray_variables() -> Vec<String> {
    let known = |name: &str| {
        CLIENT_VARIABLES.contains(&name) || TABLE.iter().any(|setting| setting.env.contains(&name))
    };
    let mut stray: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("BRIDLE_") && !known(name))
        .collect();
    stray.sort();
    stray
}

/// The socket for HTTP that belongs to a socket for frames, unless a setting says otherwise.
pub(crate) fn http_socket_beside(unix: &Path) -> Option<PathBuf> {
    let beside = unix.with_extension("http");
    (beside != unix).then_some(beside)
}

/// The Engine that `bridle ask` asks, when `--engine` does not say.
pub(crate) const ENGINE_VARIABLE: &str = "BRIDLE_ENGINE";

/// The token for it, when `--token-file` does not say.
pub(crate) const TOKEN_VARIABLE: &str = "BRIDLE_TOKEN";

/// Variables of the clients, which are no settings.
const CLIENT_VARIABLES: [&str; 3] = [ADDR_VARIABLE, ENGINE_VARIABLE, TOKEN_VARIABLE];

/// Variable with the address of the daemon, for clients without `--addr`.
pub(crate) const ADDR_VARIABLE: &str = "BRIDLE_ADDR";

/// The settings file that is read when `--config` does not say.
pub(crate) fn default_file() -> Option<PathBuf> {
    let base = xdg("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
    Some(base.join("bridle").join("config.toml"))
}

/// The default file, or the failure that says why there is none.
pub(crate) fn expected_file() -> Result<PathBuf, CommandFailure> {
    default_file().ok_or_else(|| {
        CommandFailure::new(BridleExit::Config, "no settings file: HOME is not set")
            .hint("name one with --config FILE, or set HOME or XDG_CONFIG_HOME")
    })
}

fn state_dir() -> Option<PathBuf> {
    let base = xdg("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local").join("state")))?;
    Some(base.join("bridle"))
}

/// A base directory of the XDG kind; the specification says to ignore relative ones.
fn xdg(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The file alone, for commands that take no other setting from the command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct ConfigFile {
    /// Settings file [default: $XDG_CONFIG_HOME/bridle/config.toml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = CONNECTION)]
    pub(crate) config: Option<PathBuf>,
}

impl From<ConfigFile> for GivenFlags {
    fn from(file: ConfigFile) -> GivenFlags {
        GivenFlags { flags: Vec::new(), config: file.config }
    }
}

/// The state directory alone, for commands that read it without a daemon.
#[derive(Debug, Default, Clone)]
pub(crate) struct StateDir(GivenFlags);

impl StateDir {
    /// Settings of the command line, for [`ResolvedSettings::resolve`].
    pub(crate) fn given(&self) -> &GivenFlags {
        &self.0
    }
}

/// The one flag of [`StateDir`], by its name in the table.
const STATE: &str = "state";

impl clap::FromArgMatches for StateDir {
    fn from_arg_matches(matches: &ArgMatches) -> Result<StateDir, clap::Error> {
        let config = ConfigFile::from_arg_matches(matches)?.config;
        let flags = flags_in(matches, |setting| setting.name == STATE);
        Ok(StateDir(GivenFlags { flags, config }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = StateDir::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for StateDir {
    fn augment_args(command: Command) -> Command {
        let flag = table::find(STATE).and_then(|setting| Some(flag_of(setting, setting.flag?)));
        ConfigFile::augment_args(command).args(flag.map(|flag| flag.help_heading(CONNECTION)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        StateDir::augment_args(command)
    }
}

/// The settings of this kind that the command line names.
fn flags_in(
    matches: &ArgMatches,
    wanted: impl Fn(&SettingRow) -> bool,
) -> Vec<(&'static SettingRow, String)> {
    let flagged = TABLE.iter().filter(|setting| setting.flag.is_some() && wanted(setting));
    let given =
        flagged.filter_map(|setting| Some((setting, matches.get_one::<String>(setting.name)?)));
    given.map(|(setting, text)| (setting, text.clone())).collect()
}

/// Settings of the command line. Its flags are made from the table.
#[derive(Debug, Default, Clone)]
pub(crate) struct GivenFlags {
    flags: Vec<(&'static SettingRow, String)>,
    pub(crate) config: Option<PathBuf>,
}

impl GivenFlags {
    /// The file and the state directory, for commands that take few settings.
    pub(crate) fn with_state(file: ConfigFile, state: Option<String>) -> GivenFlags {
        let setting = table::find(STATE);
        GivenFlags { flags: setting.zip(state).into_iter().collect(), config: file.config }
    }
}

impl clap::FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<GivenFlags, clap::Error> {
        let config = ConfigFile::from_arg_matches(matches)?.config;
        let flags = flags_in(matches, |_| true);
        Ok(GivenFlags { flags, config })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = GivenFlags::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for GivenFlags {
    fn augment_args(command: Command) -> Command {
        let mut command = ConfigFile::augment_args(command)
            .mut_arg("config", |arg| arg.help_heading(None::<&'static str>));
        for setting in TABLE {
            if let Some(flag) = setting.flag {
                command = command.arg(flag_of(setting, flag));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        GivenFlags::augment_args(command)
    }
}

fn flag_of(setting: &'static SettingRow, flag: &'static str) -> Arg {
    let mut help = setting.doc.to_owned();
    if let Some(default) = setting.default.describe() {
        help.push_str(&format!(" [default: {default}]"));
    }
    let mut arg = Arg::new(setting.name)
        .long(flag)
        .value_name(setting.kind.placeholder())
        .action(ArgAction::Set)
        .help(help);
    if let Some(heading) = setting.group.heading() {
        arg = arg.help_heading(heading);
    }
    match setting.kind {
        SettingKind::Bool => {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        }
        SettingKind::OneOf(words) => arg = arg.value_name(words.join("|")),
        SettingKind::Path | SettingKind::PathOrOff => arg = arg.value_hint(ValueHint::AnyPath),
        _ => {}
    }
    arg
}
