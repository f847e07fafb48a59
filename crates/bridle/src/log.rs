//! Logs on stderr: text for people, one JSON object a line for collectors.
//!
//! The JSON lines are written here, because the ready-made ones would bring a serializer into
//! the binary for a handful of fields.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_jail::{SecretRedactor, SecretStore};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::json::quoted;

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Sends what the daemon notes to stderr from now on, with every secret masked. So is the message of a panic.
pub(crate) fn start(filter: Targets, format: LogFormat, secrets: &Arc<SecretStore>) {
    let store = Arc::clone(secrets);
    let layer =
        tracing_subscriber::fmt::layer().with_writer(move || MaskedStderr(store.redactor()));
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Json => registry.with(layer.event_format(JsonLines)).init(),
        LogFormat::Text => {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let color = io::stderr().is_terminal() && !plain;
            registry.with(layer.with_ansi(color)).init();
        }
    }
}

/// Masks secrets in what a panic says, which is no log line.
pub(crate) fn mask_panics(secrets: Arc<SecretStore>) {
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let trace = std::backtrace::Backtrace::capture();
        let mut text = format!("thread `{name}` {panic}\n");
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(text, "{trace}");
        }
        let _ = MaskedStderr(secrets.redactor()).write_all(text.as_bytes());
    }));
}

/// Standard error without secrets. Each event is written in one piece.
struct MaskedStderr(Arc<SecretRedactor>);

impl io::Write for MaskedStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(&self.0.redact(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// One object a line: `ts` in seconds since 1970, `level`, `target`, then the event's fields.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let meta = event.metadata();
        let mut fields = LogFields(String::new());
        event.record(&mut fields);
        writeln!(
            writer,
            "{{\"ts\":{}.{:06},\"level\":\"{}\",\"target\":{}{}}}",
            now.as_secs(),
            now.subsec_micros(),
            level(meta.level()),
            quoted(meta.target()),
            fields.0
        )
    }
}

fn level(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// Collects `,"name":value` for each field.
struct LogFields(String);

impl LogFields {
    fn push(&mut self, field: &Field, value: &dyn fmt::Display) {
        let _ = write!(self.0, ",{}:{value}", quoted(field.name()));
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, &quoted(&format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, &quoted(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, &value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, &value);
    }
}
