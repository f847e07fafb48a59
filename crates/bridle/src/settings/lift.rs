//! From settings to what the daemon takes. The one place that knows both vocabularies.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bridle_daemon::config::{
    DaemonConfig, DaemonLimits, DesktopNotifier, EngineLimits, EventRate, HmacConfig, HmacKey,
    HttpRates, MIN_SECRET_BYTES, MessageRates, PolicyChoice, RecordBudgets, SettingFact,
    ThinkerChoice, TurnBudgets, UnknownUnitPolicy,
};
use bridle_daemon::fetch::FetchConfig;
use bridle_daemon::tls::TlsConfig;
use bridle_daemon::{DaemonError, WebOrigin};
use bridle_jail::{SECRETS_KEY_FILE, SealKey, SecretStore};
use bridle_memex::survey::{OrgDefaults, ReadRules};
use bridle_memex::{MemexSettings, RollbackChoice};

use tracing_subscriber::filter::Targets;

use zeroize::Zeroizing;

use super::{ResolvedSetting, ResolvedSettings, SettingValue, ValueOrigin, refused};
use crate::exit::{BridleExit, CommandFailure};
use crate::log::LogFormat;

/// Name of the key that `hmac.key-file` or the environment's secret holds.
const FIRST_KEY: &str = "default";

/// The way out of every trouble with a key.
const MAKE_A_KEY: &str =
    "make one: head -c 32 /dev/urandom > KEY; chmod 600 KEY; name it with --hmac-key-file KEY";

/// Largest key file in bytes. A key is hashed down to 32 bytes; more is a wrong path.
const MAX_KEY_FILE: u64 = 64 << 10;

impl ResolvedSettings {
    /// Settings for shells that ask: the value of a secret is nobody's.
    fn facts(&self) -> std::sync::Arc<[SettingFact]> {
        let fact = |entry: &ResolvedSetting| {
            let is_secret = entry.setting.is_secret();
            SettingFact {
                name: entry.setting.name.to_owned(),
                value: entry.text.as_ref().filter(|_| !is_secret).map(ToString::to_string),
                is_secret: is_secret && entry.text.is_some(),
                origin: entry.origin.to_string(),
                about: entry.setting.doc.to_owned(),
            }
        };
        self.entries().iter().map(fact).collect()
    }

    /// Configuration of the daemon. Reads the key files.
    pub(crate) fn to_daemon(&self) -> Result<DaemonConfig, CommandFailure> {
        let state = self.state()?;
        let config = DaemonConfig {
            tcp: self.word("tcp"),
            http: self.word("http"),
            http_unix: self.path("http-unix").map(Path::to_path_buf),
            http_plain: self.is_on("http-plain"),
            pair_alias: self.word("pair-alias"),
            http_rates: HttpRates {
                remote: self.rate("http-rate"),
                local: self.rate("http-rate-local"),
            },
            message_rates: MessageRates {
                remote: self.rate("tcp-rate"),
                local: self.rate("tcp-rate-local"),
                stranger: self.rate("stranger-rate"),
            },
            http_origins: self.origins("http-origin").into(),
            tls: self.tls()?,
            unix: self.path("unix").map(Path::to_path_buf),
            stdio: self.is_on("stdio"),
            stdio_json: self.is_on("stdio-json"),
            state,
            hmac: self.hmac()?,
            unknown_unit: self.unknown_unit(),
            limits: self.limits()?,
            keepalive: self.span("keepalive"),
            thinker: self.thinker(),
            policy: self.policy(),
            protected: self.protected(),
            memex: self.path("memex").map(Path::to_path_buf),
            memex_rules: self.memex_rules()?,
            rollback: self.rollback(),
            heartbeat: self.span("heartbeat"),
            fetch: self.fetch(),
            settings: self.facts(),
            notifier: self.notifier(),
            effects: super::toolchains::effects(self)?,
            engine: EngineLimits {
                record_budgets: self.record_budgets()?,
                turns: self.turn_budgets()?,
                ..EngineLimits::default()
            },
            ..DaemonConfig::default()
        };
        self.check(&config)?;
        Ok(config)
    }

    /// The secrets of the state directory, and what opens them.
    pub(crate) fn secret_store(&self) -> Result<SecretStore, CommandFailure> {
        let state = self.state()?;
        let (key, phrase) = (self.entry("secret-key-file"), self.entry("secret-passphrase-file"));
        let key = match (&key.value, &phrase.value) {
            (SettingValue::Path(_), SettingValue::Path(_)) => {
                let what =
                    format!("two keys for the secrets: {} and {}", key.origin, phrase.origin);
                return Err(CommandFailure::new(BridleExit::Config, what).hint("keep one of them"));
            }
            (SettingValue::Path(path), _) => SealKey::File(path.clone()),
            (_, SettingValue::Path(path)) => SealKey::Passphrase(passphrase(path, phrase)?),
            _ => SealKey::File(state.join(SECRETS_KEY_FILE)),
        };
        Ok(SecretStore::new(&state, key))
    }

    /// The state directory.
    pub(crate) fn state(&self) -> Result<PathBuf, CommandFailure> {
        self.path("state").map(Path::to_path_buf).ok_or_else(|| {
            CommandFailure::new(BridleExit::Config, "no state directory: HOME is not set")
                .hint("name one with --state DIR, or set HOME or XDG_STATE_HOME")
        })
    }

    /// URL of the daemon's HTTP.
    pub(crate) fn http_url(&self) -> Result<String, CommandFailure> {
        let scheme = if self.path("tls.cert").is_some() { "https" } else { "http" };
        self.word("http").map(|addr| format!("{scheme}://{addr}")).ok_or_else(|| {
            CommandFailure::new(BridleExit::Config, "HTTP is off, and this command speaks HTTP")
                .hint("turn it on with the setting `http` or `http-unix`, or pass --url URL")
        })
    }

    /// Checks the limits alone, without looking at keys or places.
    pub(super) fn check_limits(&self) -> Result<(), CommandFailure> {
        self.check(&DaemonConfig { limits: self.limits()?, ..DaemonConfig::default() })
    }

    fn check(&self, config: &DaemonConfig) -> Result<(), CommandFailure> {
        match config.check() {
            Ok(()) => Ok(()),
            Err(DaemonError::LimitOutOfRange { name, got, least, most }) => {
                // The daemon's `in_flight` is the setting `max-in-flight`.
                let entry = self.entry(&format!("max-{}", name.replace('_', "-")));
                let why = match most {
                    usize::MAX => format!("expected at least {least}, got {got}"),
                    _ => format!("expected {least} to {most}, got {got}"),
                };
                Err(refused(entry.setting, &entry.origin, &why))
            }
            Err(error) => {
                Err(CommandFailure::because(BridleExit::Config, "invalid settings", &error)
                    .hint("`bridle config show` shows the source of each value"))
            }
        }
    }

    /// Targets and format of the log.
    pub(crate) fn log(&self) -> (Targets, LogFormat) {
        let filter = self.word("log").and_then(|text| text.parse().ok()).unwrap_or_default();
        let format = match self.word("log-format").as_deref() {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        };
        (filter, format)
    }

    fn record_budgets(&self) -> Result<RecordBudgets, CommandFailure> {
        Ok(RecordBudgets {
            known: self.size_or_off("record-budget")?,
            anonymous: self.size_or_off("record-budget-anonymous")?,
            refill_per_minute: self.size("record-refill")? as u64,
        })
    }

    fn turn_budgets(&self) -> Result<TurnBudgets, CommandFailure> {
        let small =
            |name: &str| self.size(name).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let time = |name: &str| self.span(name).unwrap_or_default();
        // Off is any number.
        let open = |name: &str| match self.entry(name).value {
            SettingValue::Off => Ok(0),
            _ => self.size(name).map(|number| number as u64),
        };
        Ok(TurnBudgets {
            rounds: small("turn-rounds")?,
            acts: small("turn-acts")?,
            vetoes: small("turn-vetoes")?,
            time: time("turn-time"),
            act_time: time("act-time"),
            tokens: open("turn-tokens")?,
            microdollars: open("turn-cost")?,
            asks: self.is_on("turn-asks"),
        })
    }

    fn limits(&self) -> Result<DaemonLimits, CommandFailure> {
        Ok(DaemonLimits {
            connections: self.size("max-connections")?,
            strangers: self.size("max-strangers")?,
            strangers_each: self.size("max-strangers-each")?,
            stranger_idle: self.span("stranger-idle").unwrap_or_default(),
            frame: self.size("max-frame")?,
            in_flight: self.size("max-in-flight")?,
            output: self.size("max-output")?,
            message: self.size("max-message")?,
            frame_deadline: self.span("frame-deadline").unwrap_or_default(),
            unit_deadline: self.span("unit-deadline").unwrap_or_default(),
            write_deadline: self.span("write-deadline").unwrap_or_default(),
            shutdown_grace: self.span("shutdown-grace").unwrap_or_default(),
            stream_grace: self.span("stream-grace"),
        })
    }

    fn notifier(&self) -> DesktopNotifier {
        match &self.entry("notify").value {
            SettingValue::Off => DesktopNotifier::Off,
            SettingValue::Path(path) => DesktopNotifier::Program(path.clone()),
            _ => DesktopNotifier::Found,
        }
    }

    fn thinker(&self) -> ThinkerChoice {
        // The kind of the setting has read it once.
        self.word("thinker").and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Rules for fetching; the kind of the setting has read them once.
    fn fetch(&self) -> FetchConfig {
        let hosts = self.word("fetch-hosts").and_then(|text| text.parse().ok());
        let ca = self.path("fetch-ca").map(Path::to_path_buf);
        let private = self.word("http-private").and_then(|text| text.parse().ok());
        let (hosts, private) = (hosts.unwrap_or_default(), private.unwrap_or_default());
        FetchConfig { hosts, private, ca, net: None }
    }

    /// Source of the policies; a file that nobody has named need not exist.
    pub(crate) fn policy(&self) -> PolicyChoice {
        let entry = self.entry("policy");
        match &entry.value {
            SettingValue::Path(path) if entry.origin == ValueOrigin::Default => {
                PolicyChoice::IfThere(path.clone())
            }
            SettingValue::Path(path) => PolicyChoice::File(path.clone()),
            _ => PolicyChoice::BuiltIn,
        }
    }

    /// Words of a setting, which stand with commas between them.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let text = self.word(name).unwrap_or_default();
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    }

    /// Files of the Memex that are read, and what is private in them.
    pub(crate) fn memex_rules(&self) -> Result<MemexSettings, CommandFailure> {
        let words = |name: &str| self.words(name);
        let private = words("memex-private");
        let rules = ReadRules {
            max_file: self.size("memex-max-file")? as u64,
            private_tags: private.clone(),
            private_drawers: private,
            org: OrgDefaults {
                todo_sequences: words("memex-todo-keywords"),
                startup: words("memex-startup").join(" "),
                enforce_dependencies: self.is_on("memex-enforce-dependencies"),
            },
            ..ReadRules::default()
        };
        let roots = words("memex-roots").into_iter().map(PathBuf::from).collect();
        Ok(MemexSettings { rules, roots })
    }

    /// Treatment of the changes of a turn that fails.
    fn rollback(&self) -> RollbackChoice {
        match self.word("memex-rollback").as_deref() {
            Some("auto") => RollbackChoice::Auto,
            Some("off") => RollbackChoice::Off,
            _ => RollbackChoice::Ask,
        }
    }

    /// Paths of settings and keys.
    fn protected(&self) -> Vec<PathBuf> {
        let folder = super::default_file().and_then(|file| Some(file.parent()?.to_path_buf()));
        let files = [
            "fetch-ca",
            "hmac.key-file",
            "secret-key-file",
            "secret-passphrase-file",
            "tls.cert",
            "tls.key",
            "tls.client-ca",
        ];
        let files = files.into_iter().filter_map(|name| self.path(name).map(Path::to_path_buf));
        folder.into_iter().chain(self.file.clone()).chain(files).collect()
    }

    /// Certificates and keys; all or none of what belongs together.
    fn tls(&self) -> Result<Option<TlsConfig>, CommandFailure> {
        let path = |name| self.path(name).map(Path::to_path_buf);
        let client_ca = path("tls.client-ca");
        match (path("tls.cert"), path("tls.key")) {
            (Some(cert), Some(key)) => Ok(Some(TlsConfig { cert, key, client_ca })),
            (None, None) if client_ca.is_none() => Ok(None),
            _ => Err(CommandFailure::new(
                BridleExit::Config,
                "TLS needs both `tls.cert` and `tls.key`",
            )
            .hint("pass both --tls-cert FILE and --tls-key FILE, or no TLS setting")),
        }
    }

    fn unknown_unit(&self) -> UnknownUnitPolicy {
        match self.word("oacp.unknown-unit").as_deref() {
            Some("bytes") => UnknownUnitPolicy::Bytes,
            Some("chars") => UnknownUnitPolicy::Chars,
            _ => UnknownUnitPolicy::Pad,
        }
    }

    /// The key that signs when no other is named.
    pub(crate) fn first_key(&self) -> Result<Option<HmacKey>, CommandFailure> {
        let (file, secret) = (self.entry("hmac.key-file"), self.entry("hmac.secret"));
        match (&file.value, &secret.value) {
            (SettingValue::Path(_), SettingValue::Secret(_)) => {
                let what = format!("two first keys: {} and {}", file.origin, secret.origin);
                Err(CommandFailure::new(BridleExit::Config, what).hint("keep one of them"))
            }
            (SettingValue::Path(path), _) => key_from_file(FIRST_KEY, path, file).map(Some),
            (_, SettingValue::Secret(bytes)) => {
                checked_key(FIRST_KEY, bytes.clone(), secret).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn hmac(&self) -> Result<HmacConfig, CommandFailure> {
        let mut keys: Vec<HmacKey> = self.first_key()?.into_iter().collect();
        let more = self.entry("hmac.keys");
        if let SettingValue::Keys(files) = &more.value {
            for (id, path) in files {
                keys.push(key_from_file(id, path, more)?);
            }
        }
        let enforce = self.is_on("hmac.enforce");
        if enforce && keys.is_empty() {
            let what = format!(
                "`hmac.enforce` is on ({}), but there is no key",
                self.entry("hmac.enforce").origin
            );
            return Err(CommandFailure::new(BridleExit::Config, what).hint(MAKE_A_KEY));
        }
        Ok(HmacConfig { keys, enforce, allow_v1: self.is_on("hmac.allow-v1") })
    }

    pub(crate) fn word(&self, name: &str) -> Option<String> {
        match &self.entry(name).value {
            SettingValue::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    pub(crate) fn path(&self, name: &str) -> Option<&Path> {
        match &self.entry(name).value {
            SettingValue::Path(path) => Some(path),
            _ => None,
        }
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.entry(name).value == SettingValue::Bool(true)
    }

    fn origins(&self, name: &str) -> Vec<WebOrigin> {
        match &self.entry(name).value {
            SettingValue::Origins(origins) => origins.clone(),
            _ => Vec::new(),
        }
    }

    fn span(&self, name: &str) -> Option<std::time::Duration> {
        match self.entry(name).value {
            SettingValue::Span(span) => Some(span),
            _ => None,
        }
    }

    fn rate(&self, name: &str) -> Option<EventRate> {
        match self.entry(name).value {
            SettingValue::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    /// A number of bytes; where it is off, more than there can be.
    fn size_or_off(&self, name: &str) -> Result<u64, CommandFailure> {
        match self.entry(name).value {
            SettingValue::Off => Ok(u64::MAX),
            _ => Ok(self.size(name)? as u64),
        }
    }

    fn size(&self, name: &str) -> Result<usize, CommandFailure> {
        let entry = self.entry(name);
        let SettingValue::Number(number) = entry.value else {
            return Err(refused(entry.setting, &entry.origin, "expected a number"));
        };
        usize::try_from(number).map_err(|_| {
            refused(entry.setting, &entry.origin, "more than this machine can address")
        })
    }
}

impl ResolvedSettings {
    /// Doubts about the key files, in sentences; nothing that keeps a daemon from starting.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let first = self.path("hmac.key-file").into_iter();
        let more = match &self.entry("hmac.keys").value {
            SettingValue::Keys(keys) => keys.as_slice(),
            _ => &[],
        };
        let mut doubts = Vec::new();
        for path in first.chain(more.iter().map(|(_, path)| path.as_path())) {
            let shown = path.display();
            let open = std::fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0);
            if open {
                doubts
                    .push(format!("other users can read key file `{shown}`: run chmod 600 on it"));
            }
            if read_key_file(path).is_ok_and(|bytes| bytes.ends_with(b"\n")) {
                doubts.push(format!("key file `{shown}` ends with a newline, part of the key"));
            }
        }
        doubts
    }
}

fn key_from_file(
    id: &str,
    path: &Path,
    entry: &ResolvedSetting,
) -> Result<HmacKey, CommandFailure> {
    let secret = read_key_file(path).map_err(|error| {
        let what = format!("cannot read key file `{}` ({})", path.display(), entry.origin);
        CommandFailure::because(BridleExit::Config, what, &error).hint(MAKE_A_KEY)
    })?;
    checked_key(id, secret, entry)
}

/// Shortest passphrase in characters: a guess costs half a second, and a few characters are few guesses.
const MIN_PASSPHRASE_CHARS: usize = 8;

/// The first line of a file that only its owner can read.
fn passphrase(path: &Path, entry: &ResolvedSetting) -> Result<Zeroizing<String>, CommandFailure> {
    let failed = |why: &str| {
        let what =
            format!("cannot use passphrase file `{}` ({}): {why}", path.display(), entry.origin);
        CommandFailure::new(BridleExit::Config, what)
            .hint("write the passphrase into a file of your own, and chmod 600 it")
    };
    let meta = std::fs::metadata(path).map_err(|error| failed(&error.to_string()))?;
    if meta.mode() & 0o077 != 0 {
        return Err(failed("others can read it"));
    }
    let bytes =
        read_key_file(path).map(Zeroizing::new).map_err(|error| failed(&error.to_string()))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| failed("it is not UTF-8"))?;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() < MIN_PASSPHRASE_CHARS {
        return Err(failed(&format!("expected at least {MIN_PASSPHRASE_CHARS} characters")));
    }
    Ok(Zeroizing::new(line.to_owned()))
}

/// The bytes of a key file, as they are.
pub(crate) fn read_key_file(path: &Path) -> io::Result<Vec<u8>> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_KEY_FILE {
        let why = format!("expected at most {MAX_KEY_FILE} bytes, got {size}");
        return Err(io::Error::other(why));
    }
    std::fs::read(path)
}

fn checked_key(
    id: &str,
    secret: Vec<u8>,
    entry: &ResolvedSetting,
) -> Result<HmacKey, CommandFailure> {
    if secret.len() < MIN_SECRET_BYTES {
        let what = format!(
            "key `{id}` ({}) is too short: expected at least {MIN_SECRET_BYTES} bytes, got {}",
            entry.origin,
            secret.len()
        );
        return Err(CommandFailure::new(BridleExit::Config, what).hint(MAKE_A_KEY));
    }
    Ok(HmacKey { id: id.to_owned(), secret })
}

#[cfg(test)]
mod tests;
