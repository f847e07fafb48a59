//! What a daemon is told at start: addresses, keys, limits.
//!
//! The binary fills a [`DaemonConfig`] from its file, flags and environment and hands it to
//! `run`. Reading those sources is not done here; checking the result is.

mod desktop_notifier;
mod setting_fact;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use bridle_effects::{EffectsSetup, HelperProgram};
pub use bridle_host::ThinkerChoice;
pub use bridle_wire::frame::UnknownUnitPolicy;

pub use self::desktop_notifier::DesktopNotifier;
pub use self::setting_fact::SettingFact;
pub use crate::access::rate::{EventRate, MAX_RATE, MessageRates};
use crate::access::tls::TlsConfig;
use crate::access::web_origin::WebOrigin;
use crate::error::DaemonError;
pub use crate::error::MIN_SECRET_BYTES;
use crate::fetch::FetchConfig;
use bridle_jail::{SECRETS_KEY_FILE, SealKey, SecretStore};
use bridle_memex::{MemexSettings, RollbackChoice};

/// Smallest `max_frame` in bytes that still fits every frame a client must be able to send.
pub const MIN_MAX_FRAME: usize = 1024;

/// Everything a daemon needs to know before it starts.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// `HOST:PORT` to listen on; port 0 asks the system for a free one. `None`: no TCP.
    pub tcp: Option<String>,
    /// `HOST:PORT` to serve HTTP on, which must be on this machine unless there is TLS; port 0 asks the system for a
    /// free one. `None`: no HTTP.
    pub http: Option<String>,
    /// TLS for HTTP. `None`: in the clear.
    pub tls: Option<TlsConfig>,
    /// Whether HTTP in the clear may be reached from other machines: behind a proxy in another
    /// container, say.
    pub http_plain: bool,
    /// Another `HOST:PORT` for pairing alone, under the rules of `http`, which must be on.
    pub pair_alias: Option<String>,
    /// Requests that one principal may send over HTTP.
    pub http_rates: HttpRates,
    /// Numbers of framed messages that one principal may send.
    pub message_rates: MessageRates,
    /// Web pages that may ask over HTTP, besides those of the very address that is asked.
    pub http_origins: Arc<[WebOrigin]>,
    /// Path of the Unix socket, created with mode 0600. `None`: no Unix socket.
    pub unix: Option<PathBuf>,
    /// Path of a Unix socket that serves HTTP, created with mode 0600: whoever may connect is the user
    /// who started the daemon. `None`: there is none.
    pub http_unix: Option<PathBuf>,
    /// Whether frames are also served on standard input and output.
    pub stdio: bool,
    /// Whether messages of OpenHarness are served on standard input and output, one a line.
    pub stdio_json: bool,
    /// Directory that belongs to this daemon alone while it runs; created when missing.
    pub state: PathBuf,
    /// Signed frames on TCP.
    pub hmac: HmacConfig,
    /// Spelling of text beyond ASCII to a peer whose length unit is not known yet.
    pub unknown_unit: UnknownUnitPolicy,
    /// Limits; each has a name, a default and a documented behavior when reached.
    pub limits: DaemonLimits,
    /// Idle time after which TCP asks a silent peer whether it still exists. `None`: never.
    pub keepalive: Option<Duration>,
    /// Thinker of all sessions.
    pub thinker: ThinkerChoice,
    /// By which policies everything is judged.
    pub policy: PolicyChoice,
    /// Files and folders that nothing may be written to for anybody, besides those of the state
    /// and of the policies: where the configuration is.
    pub protected: Vec<PathBuf>,
    /// The folder of the user's Org files. `None`: there is no memory.
    pub memex: Option<PathBuf>,
    /// Rules for what of it is read, and what is private.
    pub memex_rules: MemexSettings,
    /// Treatment of the changes of a turn that fails.
    pub rollback: RollbackChoice,
    /// Interval at which the session `heartbeat` is told that time passed. `None`: never.
    pub heartbeat: Option<Duration>,
    /// Limits of the engine.
    pub engine: EngineLimits,
    /// Limits of attachments.
    pub files: AttachmentLimits,
    /// Rules for fetching.
    pub fetch: FetchConfig,
    /// Secrets, shared with whoever masks the log. `None`: the file of the state directory, with its key beside it.
    pub secrets: Option<Arc<SecretStore>>,
    /// Settings as they were given, for shells that ask: without secrets.
    pub settings: Arc<[SettingFact]>,
    /// Program that shows notices on the desktop.
    pub notifier: DesktopNotifier,
    /// Files and programs of the agent. Without a helper it has neither.
    pub effects: EffectsSetup,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        DaemonConfig {
            tcp: Some("127.0.0.1:9105".to_owned()),
            http: None,
            http_unix: None,
            tls: None,
            http_plain: false,
            pair_alias: None,
            http_rates: HttpRates::default(),
            message_rates: MessageRates::default(),
            http_origins: Arc::default(),
            unix: None,
            stdio: false,
            stdio_json: false,
            state: PathBuf::from("bridle-state"),
            hmac: HmacConfig::default(),
            unknown_unit: UnknownUnitPolicy::default(),
            limits: DaemonLimits::default(),
            keepalive: Some(Duration::from_secs(60)),
            thinker: ThinkerChoice::default(),
            policy: PolicyChoice::default(),
            protected: Vec::new(),
            memex: None,
            memex_rules: MemexSettings::default(),
            rollback: RollbackChoice::default(),
            heartbeat: None,
            engine: EngineLimits::default(),
            files: AttachmentLimits::default(),
            fetch: FetchConfig::default(),
            secrets: None,
            settings: Arc::new([]),
            notifier: DesktopNotifier::default(),
            effects: EffectsSetup::default(),
        }
    }
}

impl DaemonConfig {
    /// Tells whether other machines may reach HTTP: encrypted, or because somebody said so.
    pub(crate) fn is_http_guarded(&self) -> bool {
        self.tls.is_some() || self.http_plain
    }

    /// The secrets of this daemon.
    pub(crate) fn secret_store(&self) -> Arc<SecretStore> {
        self.secrets.clone().unwrap_or_else(|| {
            let key = SealKey::File(self.state.join(SECRETS_KEY_FILE));
            Arc::new(SecretStore::new(&self.state, key))
        })
    }

    /// Tells whether anybody could come in.
    fn has_listener(&self) -> bool {
        let is_on_net = self.tcp.is_some() || self.http.is_some();
        let is_on_socket = self.unix.is_some() || self.http_unix.is_some();
        is_on_net || is_on_socket || self.stdio || self.stdio_json
    }

    /// Checks what can be checked without touching the system.
    ///
    /// # Errors
    /// Names the first setting that cannot work and what to do about it.
    pub fn check(&self) -> Result<(), DaemonError> {
        if !self.has_listener() {
            return Err(DaemonError::NoListener);
        }
        if self.pair_alias.is_some() && self.http.is_none() {
            return Err(DaemonError::AliasAlone);
        }
        if self.stdio && self.stdio_json {
            return Err(DaemonError::TwoOnStdio);
        }
        for key in &self.hmac.keys {
            if key.secret.len() < MIN_SECRET_BYTES {
                return Err(DaemonError::ShortSecret {
                    key: key.id.clone(),
                    len: key.secret.len(),
                });
            }
        }
        if self.hmac.enforce && self.hmac.keys.is_empty() {
            return Err(DaemonError::NoSecret);
        }
        if self.heartbeat.is_some_and(|every| every.is_zero()) {
            return Err(DaemonError::ZeroDeadline { name: "heartbeat" });
        }
        let MessageRates { remote, local, stranger } = self.message_rates;
        let http = [self.http_rates.remote, self.http_rates.local];
        for rate in http.into_iter().chain([remote, local, stranger]).flatten() {
            check_rate(rate)?;
        }
        self.limits.check()?;
        self.engine.check()
    }
}

/// Requests that one principal may send over HTTP; more is answered `rate_limited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRates {
    /// From other machines. `None`: as often as it likes.
    pub remote: Option<EventRate>,
    /// From this machine.
    pub local: Option<EventRate>,
}

impl Default for HttpRates {
    fn default() -> HttpRates {
        HttpRates {
            // A person's shell asks once a second at most; the rest is for several at once.
            remote: Some(EventRate { per_second: 20, burst: 100 }),
            // More than programs of this machine get answered; it keeps one that went mad in check.
            local: Some(EventRate { per_second: 10_000, burst: 20_000 }),
        }
    }
}

/// Checks that a rate is within the limits of its fields.
fn check_rate(rate: EventRate) -> Result<(), DaemonError> {
    for got in [rate.per_second, rate.burst] {
        if !(1..=MAX_RATE).contains(&got) {
            let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
            let (got, most) = (size(got), size(MAX_RATE));
            return Err(DaemonError::LimitOutOfRange { name: "http_rate", got, least: 1, most });
        }
    }
    Ok(())
}

/// Place of the policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
    /// Nowhere but in the program: the built-in set.
    #[default]
    BuiltIn,
    /// In this file; while it does not exist, the built-in set.
    IfThere(PathBuf),
    /// In this file, which must exist.
    File(PathBuf),
}

impl PolicyChoice {
    /// The file, whether it exists or not.
    pub fn file(&self) -> Option<&Path> {
        match self {
            PolicyChoice::BuiltIn => None,
            PolicyChoice::IfThere(file) | PolicyChoice::File(file) => Some(file),
        }
    }

    /// Whether the built-in set holds without the file.
    pub fn may_be_missing(&self) -> bool {
        !matches!(self, PolicyChoice::File(_))
    }
}

/// Signing of frames on TCP. The Unix socket and stdio are never signed: the first knows the
/// uid of its peers, the second trusts its parent.
#[derive(Clone, Debug, Default)]
pub struct HmacConfig {
    /// Keys that may sign; the first one signs what the daemon says in version 1.
    pub keys: Vec<HmacKey>,
    /// Whether TCP peers must sign. Default: no.
    pub enforce: bool,
    /// Whether peers may still use version 1, which has no protection against replay.
    /// Default: no.
    pub allow_v1: bool,
}

/// One signing key; each is a principal of its own.
#[derive(Clone)]
pub struct HmacKey {
    /// Name of the key, said on the wire by peers that have several.
    pub id: String,
    /// The secret bytes, at least [`MIN_SECRET_BYTES`].
    pub secret: Vec<u8>,
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HmacKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Limits of one daemon.
#[derive(Clone, Copy, Debug)]
pub struct DaemonLimits {
    /// Connections served at once. One more gets `:too-many-connections` and is closed. Some places
    /// are kept for the Unix socket and for known principals.
    pub connections: usize,
    /// Connections of unknown peers among them. When they are taken, one that was idle for a while
    /// gives way to a newcomer.
    pub strangers: usize,
    /// Limit for one user of this machine, or one network.
    pub strangers_each: usize,
    /// Time without a whole message after which an unknown peer is closed.
    pub stranger_idle: Duration,
    /// Largest frame in bytes, inbound; a larger header gets `:frame-too-large`.
    pub frame: usize,
    /// Bytes held for all connections together: unfinished frames and unsent answers. At the
    /// limit a connection may only hold its [`RESERVE_BYTES`](crate::byte_budget::RESERVE_BYTES), so that small
    /// messages are still answered; one at a time may go on to finish its frame. Reading
    /// resumes when the sum falls; a frame that misses its deadline because of this is
    /// answered `:overloaded`. Health is `:degraded` meanwhile.
    pub in_flight: usize,
    /// Unsent bytes of one connection over which nothing more is read from it.
    pub output: usize,
    /// Largest message in bytes that may come in parts.
    pub message: usize,
    /// Time from the first byte of a frame to its last, and again for each 256 KiB that arrive;
    /// over it `:frame-timeout`, and the connection is closed. Also the time from the first part
    /// of a message to its last; over it the parts are forgotten, and a client that said hello
    /// gets `:part-timeout`.
    pub frame_deadline: Duration,
    /// Time that a frame of unknown unit, whose bytes are no whole form, waits for the rest of as
    /// many characters; over it `:unit-unclear`, and the connection is closed.
    pub unit_deadline: Duration,
    /// Time that unsent bytes may wait for a peer that does not read; then it is closed.
    pub write_deadline: Duration,
    /// Time given to unsent answers when the daemon stops.
    pub shutdown_grace: Duration,
    /// Time for which the run of a stream goes on that its shell has left, so that it can be taken
    /// up again; then the run is called off. `None`: it goes on, since it belongs to its session.
    pub stream_grace: Option<Duration>,
}

impl Default for DaemonLimits {
    fn default() -> Self {
        DaemonLimits {
            // Ten thousand idle shells is what the design is for; the rest is room.
            connections: 16_384,
            // What an unknown peer may make the daemon hold is some 64 KiB.
            strangers: 1_024,
            strangers_each: 256,
            stranger_idle: Duration::from_secs(60),
            frame: bridle_wire::frame::MAX_FRAME,
            // Sixteen of the largest frames at once.
            in_flight: 256 << 20,
            output: 1 << 20,
            // Twice the Org AST of a 5 MB file.
            message: 64 << 20,
            frame_deadline: Duration::from_secs(30),
            // A peer that counts characters sends the rest with the same write.
            unit_deadline: Duration::from_secs(5),
            write_deadline: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(5),
            // A phone that changes its network is back by then.
            stream_grace: None,
        }
    }
}

impl DaemonLimits {
    fn check(&self) -> Result<(), DaemonError> {
        let sized = [
            ("connections", self.connections, 1, usize::MAX),
            ("strangers", self.strangers, 1, usize::MAX),
            ("strangers_each", self.strangers_each, 1, usize::MAX),
            ("frame", self.frame, MIN_MAX_FRAME, bridle_wire::frame::MAX_FRAME),
            ("in_flight", self.in_flight, MIN_MAX_FRAME, usize::MAX),
            ("output", self.output, MIN_MAX_FRAME, usize::MAX),
            ("message", self.message, MIN_MAX_FRAME, usize::MAX),
        ];
        for (name, got, least, most) in sized {
            if got < least || got > most {
                return Err(DaemonError::LimitOutOfRange { name, got, least, most });
            }
        }
        for (name, got) in [
            ("frame_deadline", self.frame_deadline),
            ("unit_deadline", self.unit_deadline),
            ("write_deadline", self.write_deadline),
            ("stranger_idle", self.stranger_idle),
        ] {
            if got.is_zero() {
                return Err(DaemonError::ZeroDeadline { name });
            }
        }
        Ok(())
    }
}

/// Limits of the engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineLimits {
    /// Messages of one session that wait for the engine; one more is answered `:overloaded`.
    pub inbox: usize,
    /// Events of one session kept in memory for its shells; older ones are read from the record.
    pub recent: usize,
    /// Bytes of those events; an event that is larger alone is read from the record.
    pub recent_bytes: usize,
    /// Idle sessions whose state stays in memory; the longest unused one is written down and read
    /// again when needed.
    pub loaded: usize,
    /// Events read from the record at once for a shell that is behind.
    pub page: usize,
    /// Blocking calls of thoughts and acts that run at once; further ones wait.
    pub workers: usize,
    /// Reads of the record that run at once; further ones wait.
    pub readers: usize,
    /// Time for somebody to say yes or no to what the guard asks; over it the question is
    /// `expired`, which is no denial. Holds for sessions that begin from now on.
    pub approval: Duration,
    /// Bytes that principals may have recorded.
    pub record_budgets: RecordBudgets,
    /// Budgets of turns. Hold for sessions that begin from now on.
    pub turns: TurnBudgets,
}

/// Budgets of a turn. One that is reached is a question to the owner, if `asks` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnBudgets {
    /// Rounds of outcomes that go back to the thinker.
    pub rounds: u32,
    /// Proposals that are carried out.
    pub acts: u32,
    /// Drafts in a row with a veto.
    pub vetoes: u32,
    /// Time, waiting for answers to questions not counted.
    pub time: Duration,
    /// Time of an act of the daemon; then it is told to stop.
    pub act_time: Duration,
    /// Tokens, as far as they are known; 0 is any number.
    pub tokens: u64,
    /// Price in millionths of a dollar, as far as it is known; 0 is any price.
    pub microdollars: u64,
    /// Whether a turn that reaches a budget asks to go on, rather than end.
    pub asks: bool,
}

impl Default for TurnBudgets {
    fn default() -> Self {
        // An ordinary turn of a coding agent has 30 to 200 calls.
        TurnBudgets {
            rounds: 200,
            acts: 1_000,
            vetoes: 3,
            time: Duration::from_secs(6 * 60 * 60),
            act_time: Duration::from_secs(60 * 60),
            tokens: 0,
            microdollars: 0,
            asks: true,
        }
    }
}

/// Bytes that principals may have recorded, each of its own; the owner of the daemon has no budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordBudgets {
    /// At once, for whoever is known: programs of the own user without a key, tokens, certificates.
    pub known: u64,
    /// Budget of all strangers together.
    pub anonymous: u64,
    /// Bytes that each budget gets back in a minute.
    pub refill_per_minute: u64,
}

impl Default for RecordBudgets {
    fn default() -> Self {
        // A stranger cannot let the disk grow by 10 MiB in a minute, indexes and the log beside it included.
        RecordBudgets { known: 256 << 20, anonymous: 2 << 20, refill_per_minute: 1 << 20 }
    }
}

impl Default for EngineLimits {
    fn default() -> Self {
        EngineLimits {
            inbox: 64,
            recent: 16,
            recent_bytes: 256 << 10,
            // A state with a full history is some 100 kB.
            loaded: 256,
            page: 512,
            workers: 64,
            readers: 4,
            // Whoever is asked in the evening answers in the morning.
            approval: Duration::from_secs(24 * 60 * 60),
            record_budgets: RecordBudgets::default(),
            turns: TurnBudgets::default(),
        }
    }
}

impl EngineLimits {
    fn check(&self) -> Result<(), DaemonError> {
        // A thousand threads and files are more than any machine that this runs on has use for.
        let sized = [
            ("inbox", self.inbox, 1, usize::MAX),
            ("recent", self.recent, 1, usize::MAX),
            ("recent_bytes", self.recent_bytes, 1, usize::MAX),
            ("loaded", self.loaded, 1, usize::MAX),
            ("page", self.page, 1, 1 << 16),
            ("workers", self.workers, 1, 1 << 10),
            ("readers", self.readers, 1, 1 << 10),
        ];
        if self.approval.is_zero() {
            return Err(DaemonError::ZeroDeadline { name: "approval" });
        }
        for (name, got, least, most) in sized {
            if got < least || got > most {
                return Err(DaemonError::LimitOutOfRange { name, got, least, most });
            }
        }
        Ok(())
    }
}

/// Limits of attachments that shells upload.
#[derive(Clone, Copy, Debug)]
pub struct AttachmentLimits {
    /// Bytes of one; a larger one is `payload_too_large`.
    pub bytes: usize,
    /// Bytes of all that one principal has; over it `rate_limited` until some expire.
    pub owner_bytes: u64,
    /// Number that one principal has; likewise.
    pub owner_files: u64,
    /// Bytes of all that there are; likewise.
    pub all_bytes: u64,
    /// Time that one is kept, from its latest upload on.
    pub keep: Duration,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        AttachmentLimits {
            // A scan, a photograph, a minute of sound; it is sealed in memory, in one piece.
            bytes: 16 << 20,
            owner_bytes: 256 << 20,
            owner_files: 256,
            all_bytes: 1 << 30,
            // As long as requests are known that refer to them.
            keep: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl AttachmentLimits {
    /// Limits of the attachment store.
    pub(crate) fn room(&self) -> bridle_record::ShelfRoom {
        let AttachmentLimits { owner_bytes, owner_files, all_bytes, .. } = *self;
        bridle_record::ShelfRoom { owner_bytes, owner_files, all_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::{DaemonConfig, HmacKey, MIN_MAX_FRAME};
    use crate::error::DaemonError;

    fn key(len: usize) -> HmacKey {
        HmacKey { id: "k1".to_owned(), secret: vec![7; len] }
    }

    #[test]
    fn defaults_pass() {
        assert!(DaemonConfig::default().check().is_ok());
    }

    #[test]
    fn secrets_shorter_than_sixteen_bytes_are_refused() {
        let mut config = DaemonConfig::default();
        config.hmac.keys = vec![key(16), key(15)];
        assert!(matches!(config.check(), Err(DaemonError::ShortSecret { len: 15, .. })));
        config.hmac.keys.pop();
        assert!(config.check().is_ok());
    }

    #[test]
    fn enforcing_without_a_key_is_refused() {
        let mut config = DaemonConfig::default();
        config.hmac.enforce = true;
        assert!(matches!(config.check(), Err(DaemonError::NoSecret)));
    }

    #[test]
    fn nothing_to_listen_on_is_refused() {
        let config = DaemonConfig { tcp: None, ..DaemonConfig::default() };
        assert!(matches!(config.check(), Err(DaemonError::NoListener)));
    }

    #[test]
    fn limits_have_a_least_value() {
        let mut config = DaemonConfig::default();
        config.limits.frame = MIN_MAX_FRAME - 1;
        assert!(matches!(config.check(), Err(DaemonError::LimitOutOfRange { name: "frame", .. })));
    }

    #[test]
    fn secrets_do_not_reach_debug_text() {
        let text = format!("{:?}", key(16));
        assert!(!text.contains('7') && text.contains("k1"), "{text}");
    }
}
