//! The one table of settings. The command line, the environment, the settings file, `config show`
//! and `config init` all read it; nothing else knows a setting's name.
//!
//! Adding a setting is one row here and one line in `lift.rs`.
//!
//! long: the table stands in one piece.

use super::value::SettingKind;

/// One row: a setting, its three spellings, what it is when nobody says, and what it does.
#[derive(Debug)]
pub(crate) struct SettingRow {
    /// The key in the file; a dot separates table and key: `hmac.enforce` is `[hmac] enforce`.
    pub(crate) name: &'static str,
    /// Environment variables, the first that is set and not empty counts.
    pub(crate) env: &'static [&'static str],
    /// The flag without its dashes; `None` where a command line is the wrong place.
    pub(crate) flag: Option<&'static str>,
    pub(crate) kind: SettingKind,
    pub(crate) default: SettingPreset,
    pub(crate) doc: &'static str,
    pub(crate) group: SettingGroup,
}

impl SettingRow {
    /// Secrets come from the environment alone: a command line shows in `ps`, and the file is
    /// the kind that people commit.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self.kind, SettingKind::Secret)
    }
}

/// Value of a setting when no source names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingPreset {
    Unset,
    Text(&'static str),
    /// `$XDG_STATE_HOME/bridle` or `~/.local/state/bridle`.
    StateDir,
    /// `$XDG_CONFIG_HOME/bridle/policy.org` or `~/.config/bridle/policy.org`.
    Policy,
    /// `$XDG_RUNTIME_DIR/bridle/bridle.sock`, or `bridle.sock` inside the state directory.
    Socket,
    /// `unix` with `.http` in the place of its ending; off with it.
    HttpSocket,
}

impl SettingPreset {
    /// The default in words, for help texts and the example file.
    pub(crate) fn describe(self) -> Option<&'static str> {
        match self {
            SettingPreset::Unset => None,
            SettingPreset::Text(text) => Some(text),
            SettingPreset::StateDir => Some("$XDG_STATE_HOME/bridle, else ~/.local/state/bridle"),
            SettingPreset::Policy => Some("policy.org beside the settings file, else built in"),
            SettingPreset::Socket => {
                Some("$XDG_RUNTIME_DIR/bridle/bridle.sock, else in the state directory")
            }
            SettingPreset::HttpSocket => Some("bridle.http beside the `unix` socket; off with it"),
        }
    }
}

/// Heading in the help text and order in the example file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingGroup {
    Main,
    Logs,
    Limits,
    Protocol,
}

impl SettingGroup {
    pub(crate) fn heading(self) -> Option<&'static str> {
        match self {
            SettingGroup::Main => None,
            SettingGroup::Logs => Some("Logs"),
            SettingGroup::Limits => Some("Limits"),
            SettingGroup::Protocol => Some("Protocol"),
        }
    }
}

/// Looks a row up by its name in the file.
pub(crate) fn find(name: &str) -> Option<&'static SettingRow> {
    TABLE.iter().find(|setting| setting.name == name)
}

const UNKNOWN_UNITS: &[&str] = &["pad", "bytes", "chars"];
const ROLLBACKS: &[&str] = &["ask", "auto", "off"];
const LOG_FORMATS: &[&str] = &["text", "json"];

/// Every setting. Tables of the file (`[oacp]`, `[hmac]`, `[tls]`) come last and together, as TOML wants.
pub(crate) static TABLE: &[SettingRow] = &[
    SettingRow {
        name: "tcp",
        env: &["BRIDLE_TCP"],
        flag: Some("tcp"),
        kind: SettingKind::Listen,
        default: SettingPreset::Text("127.0.0.1:9105"),
        doc: "TCP address to listen on, with port 0 for any free port, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "unix",
        env: &["BRIDLE_UNIX"],
        flag: Some("unix"),
        kind: SettingKind::PathOrOff,
        default: SettingPreset::Socket,
        doc: "Unix socket to listen on, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "http",
        env: &["BRIDLE_HTTP"],
        flag: Some("http"),
        kind: SettingKind::Listen,
        default: SettingPreset::Text("127.0.0.1:8788"),
        doc: "HTTP address for OpenHarness shells, or off; loopback only without TLS",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "http-unix",
        env: &["BRIDLE_HTTP_UNIX"],
        flag: Some("http-unix"),
        kind: SettingKind::PathOrOff,
        default: SettingPreset::HttpSocket,
        doc: "Unix socket for HTTP from your own user, as `bridle ask` uses, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "http-plain",
        env: &["BRIDLE_HTTP_PLAIN"],
        flag: Some("http-plain"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Allow HTTP from other machines without TLS; everything is sent unencrypted",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "pair-alias",
        env: &["BRIDLE_PAIR_ALIAS"],
        flag: Some("pair-alias"),
        kind: SettingKind::Listen,
        default: SettingPreset::Text("off"),
        doc: "Extra HTTP address that serves only pairing, such as 127.0.0.1:8790, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "http-rate",
        env: &["BRIDLE_HTTP_RATE"],
        flag: Some("http-rate"),
        kind: SettingKind::RateOrOff,
        default: SettingPreset::Text("20/100"),
        doc: "HTTP requests from one principal on another machine: per second/burst, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "http-rate-local",
        env: &["BRIDLE_HTTP_RATE_LOCAL"],
        flag: Some("http-rate-local"),
        kind: SettingKind::RateOrOff,
        default: SettingPreset::Text("10000/20000"),
        doc: "HTTP requests from one principal on this machine: per second/burst, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "tcp-rate",
        env: &["BRIDLE_TCP_RATE"],
        flag: Some("tcp-rate"),
        kind: SettingKind::RateOrOff,
        default: SettingPreset::Text("200/1000"),
        doc: "Framed messages from one principal on another machine: per second/burst, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "tcp-rate-local",
        env: &["BRIDLE_TCP_RATE_LOCAL"],
        flag: Some("tcp-rate-local"),
        kind: SettingKind::RateOrOff,
        default: SettingPreset::Text("10000/20000"),
        doc: "Framed TCP messages from one principal on this machine: per second/burst, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "stranger-rate",
        env: &["BRIDLE_STRANGER_RATE"],
        flag: Some("stranger-rate"),
        kind: SettingKind::RateOrOff,
        default: SettingPreset::Text("20/100"),
        doc: "Frames from unknown peers, per user or network: per second/burst, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "http-origin",
        env: &["BRIDLE_HTTP_ORIGIN"],
        flag: Some("http-origin"),
        kind: SettingKind::Origins,
        default: SettingPreset::Unset,
        doc: "Web origins that may use HTTP, exact, comma-separated",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "fetch-hosts",
        env: &["BRIDLE_FETCH_HOSTS"],
        flag: Some("fetch-hosts"),
        kind: SettingKind::Hosts,
        default: SettingPreset::Text("off"),
        doc: "Hosts to fetch attachments from: HOST, *.HOST, * or HOST:PORT, comma-separated, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "fetch-ca",
        env: &["BRIDLE_FETCH_CA"],
        flag: Some("fetch-ca"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "CA certificates to trust when fetching, a PEM file; by default those of the system",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "stdio",
        env: &["BRIDLE_STDIO"],
        flag: Some("stdio"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Serve one connection on stdin and stdout; the ready line goes to stderr",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "stdio-json",
        env: &["BRIDLE_STDIO_JSON"],
        flag: Some("stdio-json"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Serve OpenHarness on stdin and stdout, one JSON message per line",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "state",
        env: &["BRIDLE_STATE"],
        flag: Some("state"),
        kind: SettingKind::Path,
        default: SettingPreset::StateDir,
        doc: "State directory; one daemon at a time can use it",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "project",
        env: &["BRIDLE_PROJECT"],
        flag: Some("project"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "Folder of sessions that were given none with `bridle project`; changes there wait for a yes",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "exec-read",
        env: &["BRIDLE_EXEC_READ"],
        flag: Some("exec-read"),
        kind: SettingKind::Words,
        default: SettingPreset::Unset,
        doc: "More folders that programs in the jail may read, comma-separated; toolchains in your home are found",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "exec-env",
        env: &["BRIDLE_EXEC_ENV"],
        flag: Some("exec-env"),
        kind: SettingKind::Words,
        default: SettingPreset::Unset,
        doc: "Variables of programs in the jail, NAME=VALUE, comma-separated; they have no others of yours",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex",
        env: &["BRIDLE_MEMEX"],
        flag: Some("memex"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "Org folder that bridle uses as memory; `bridle init` sets it",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-roots",
        env: &["BRIDLE_MEMEX_ROOTS"],
        flag: Some("memex-roots"),
        kind: SettingKind::Words,
        default: SettingPreset::Unset,
        doc: "More folders in which to resolve paths, comma-separated",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-private",
        env: &["BRIDLE_MEMEX_PRIVATE"],
        flag: Some("memex-private"),
        kind: SettingKind::Words,
        default: SettingPreset::Text("private"),
        doc: "Tags and drawers that only the owner may see, comma-separated",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-todo-keywords",
        env: &["BRIDLE_MEMEX_TODO_KEYWORDS"],
        flag: Some("memex-todo-keywords"),
        kind: SettingKind::Words,
        default: SettingPreset::Unset,
        doc: "TODO keywords for files without #+TODO, as in org-todo-keywords; sequences comma-separated",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-startup",
        env: &["BRIDLE_MEMEX_STARTUP"],
        flag: Some("memex-startup"),
        kind: SettingKind::Words,
        default: SettingPreset::Unset,
        doc: "#+STARTUP options for all files, such as logdone and logdrawer",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-enforce-dependencies",
        env: &["BRIDLE_MEMEX_ENFORCE_DEPENDENCIES"],
        flag: Some("memex-enforce-dependencies"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Block DONE while a child is open, like org-enforce-todo-dependencies",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-rollback",
        env: &["BRIDLE_MEMEX_ROLLBACK"],
        flag: Some("memex-rollback"),
        kind: SettingKind::OneOf(ROLLBACKS),
        default: SettingPreset::Text("ask"),
        doc: "File changes of a failed turn: ask whether to undo them, undo them (auto), or keep them (off)",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "memex-max-file",
        env: &["BRIDLE_MEMEX_MAX_FILE"],
        flag: Some("memex-max-file"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("16MiB"),
        doc: "Maximum size of an Org file; larger files are not read",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "thinker",
        env: &["BRIDLE_THINKER"],
        flag: Some("thinker"),
        kind: SettingKind::Thinker,
        default: SettingPreset::Text("builtin"),
        doc: "Thinker: builtin answers help and status, script:FILE follows the rules in a file",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "policy",
        env: &["BRIDLE_POLICY"],
        flag: Some("policy"),
        kind: SettingKind::PathOrOff,
        default: SettingPreset::Policy,
        doc: "Policy file, in Org, or off for the built-in policies",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "heartbeat",
        env: &["BRIDLE_HEARTBEAT"],
        flag: Some("heartbeat"),
        kind: SettingKind::SpanOrOff,
        default: SettingPreset::Text("off"),
        doc: "Interval of heartbeat signals to the session `heartbeat`, or off",
        group: SettingGroup::Main,
    },
    SettingRow {
        name: "log",
        env: &["BRIDLE_LOG"],
        flag: Some("log"),
        kind: SettingKind::LogFilter,
        default: SettingPreset::Text("info"),
        doc: "What to log on stderr: a level, or comma-separated TARGET=LEVEL pairs",
        group: SettingGroup::Logs,
    },
    SettingRow {
        name: "log-format",
        env: &["BRIDLE_LOG_FORMAT"],
        flag: Some("log-format"),
        kind: SettingKind::OneOf(LOG_FORMATS),
        default: SettingPreset::Text("text"),
        doc: "Format of log lines",
        group: SettingGroup::Logs,
    },
    SettingRow {
        name: "max-connections",
        env: &["BRIDLE_MAX_CONNECTIONS"],
        flag: Some("max-connections"),
        kind: SettingKind::Count,
        default: SettingPreset::Text("16384"),
        doc: "Maximum number of connections; further ones get an error and are closed",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-strangers",
        env: &["BRIDLE_MAX_STRANGERS"],
        flag: Some("max-strangers"),
        kind: SettingKind::Count,
        default: SettingPreset::Text("1024"),
        doc: "Maximum number of connections from unknown peers; a new one replaces an idle one",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-strangers-each",
        env: &["BRIDLE_MAX_STRANGERS_EACH"],
        flag: Some("max-strangers-each"),
        kind: SettingKind::Count,
        default: SettingPreset::Text("256"),
        doc: "Maximum number of connections from unknown peers, per local user or network",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-frame",
        env: &["BRIDLE_MAX_FRAME"],
        flag: Some("max-frame"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("16777215"),
        doc: "Maximum size of a frame; at most 16777215, the most that six hex digits can express",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-message",
        env: &["BRIDLE_MAX_MESSAGE"],
        flag: Some("max-message"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("64MiB"),
        doc: "Maximum size of a message sent in parts",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-in-flight",
        env: &["BRIDLE_MAX_IN_FLIGHT"],
        flag: Some("max-in-flight"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("256MiB"),
        doc: "Bytes buffered for all connections together; reading pauses above it",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "record-budget",
        env: &["BRIDLE_RECORD_BUDGET"],
        flag: Some("record-budget"),
        kind: SettingKind::BytesOrOff,
        default: SettingPreset::Text("256MiB"),
        doc: "Bytes that one principal may add to the record in a burst; the owner has no limit",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "record-budget-anonymous",
        env: &["BRIDLE_RECORD_BUDGET_ANONYMOUS"],
        flag: Some("record-budget-anonymous"),
        kind: SettingKind::BytesOrOff,
        default: SettingPreset::Text("2MiB"),
        doc: "Bytes that all unknown peers together may add to the record in a burst",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "record-refill",
        env: &["BRIDLE_RECORD_REFILL"],
        flag: Some("record-refill"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("1MiB"),
        doc: "Bytes that each record budget regains per minute",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "max-output",
        env: &["BRIDLE_MAX_OUTPUT"],
        flag: Some("max-output"),
        kind: SettingKind::Bytes,
        default: SettingPreset::Text("1MiB"),
        doc: "Unsent bytes per connection; reading from it pauses above them",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "frame-deadline",
        env: &["BRIDLE_FRAME_DEADLINE"],
        flag: Some("frame-deadline"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("30s"),
        doc: "Timeout from the first byte of a frame to its last",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "stranger-idle",
        env: &["BRIDLE_STRANGER_IDLE"],
        flag: Some("stranger-idle"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("60s"),
        doc: "Idle time after which the connection of an unknown peer is closed",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "unit-deadline",
        env: &["BRIDLE_UNIT_DEADLINE"],
        flag: Some("unit-deadline"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("5s"),
        doc: "Timeout for the rest of a frame whose length may count characters",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "write-deadline",
        env: &["BRIDLE_WRITE_DEADLINE"],
        flag: Some("write-deadline"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("30s"),
        doc: "Timeout for a peer to read its answers",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "shutdown-grace",
        env: &["BRIDLE_SHUTDOWN_GRACE"],
        flag: Some("shutdown-grace"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("5s"),
        doc: "Time to send remaining answers when the daemon stops",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "stream-grace",
        env: &["BRIDLE_STREAM_GRACE"],
        flag: Some("stream-grace"),
        kind: SettingKind::Span,
        default: SettingPreset::Text("30s"),
        doc: "Time to resume an HTTP stream before its request is cancelled",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "keepalive",
        env: &["BRIDLE_KEEPALIVE"],
        flag: Some("keepalive"),
        kind: SettingKind::SpanOrOff,
        default: SettingPreset::Text("60s"),
        doc: "Idle time before TCP keepalive probes, or off",
        group: SettingGroup::Limits,
    },
    SettingRow {
        name: "oacp.unknown-unit",
        env: &["BRIDLE_OACP_UNKNOWN_UNIT"],
        flag: Some("oacp-unknown-unit"),
        kind: SettingKind::OneOf(UNKNOWN_UNITS),
        default: SettingPreset::Text("pad"),
        doc: "Length unit of non-ASCII frames for a peer whose unit is still unknown",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "hmac.enforce",
        env: &["BRIDLE_HMAC_ENFORCE", "HARNESS_PROTOCOL_ENFORCE_HMAC"],
        flag: Some("hmac-enforce"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Refuse unsigned frames on TCP",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "hmac.key-file",
        env: &["BRIDLE_HMAC_KEY_FILE"],
        flag: Some("hmac-key-file"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "File with the first key: its bytes, unchanged, at least 16",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "hmac.secret",
        env: &["HARNESS_PROTOCOL_HMAC_SECRET"],
        flag: None,
        kind: SettingKind::Secret,
        default: SettingPreset::Unset,
        doc: "First key itself, only from the environment",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "hmac.allow-v1",
        env: &["BRIDLE_HMAC_ALLOW_V1"],
        flag: Some("hmac-allow-v1"),
        kind: SettingKind::Bool,
        default: SettingPreset::Text("false"),
        doc: "Accept version 1 signatures, which can be replayed; on if HARNESS_PROTOCOL_* is set",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "hmac.keys",
        env: &["BRIDLE_HMAC_KEYS"],
        flag: None,
        kind: SettingKind::Keys,
        default: SettingPreset::Unset,
        doc: "More keys, each in a file: ID=FILE pairs, comma-separated, or a table in the settings file",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "tls.cert",
        env: &["BRIDLE_TLS_CERT"],
        flag: Some("tls-cert"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "HTTP certificate chain, a PEM file; needs tls.key",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "tls.key",
        env: &["BRIDLE_TLS_KEY"],
        flag: Some("tls-key"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "Private key of that certificate, a PEM file that other users cannot read",
        group: SettingGroup::Protocol,
    },
    SettingRow {
        name: "tls.client-ca",
        env: &["BRIDLE_TLS_CLIENT_CA"],
        flag: Some("tls-client-ca"),
        kind: SettingKind::Path,
        default: SettingPreset::Unset,
        doc: "CA certificates, a PEM file; HTTP clients must present a certificate from one of them",
        group: SettingGroup::Protocol,
    },
];

#[cfg(test)]
mod tests;
