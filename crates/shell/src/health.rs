//! `bridle health`: asks one daemon how it is.

use std::io::Write;
use std::time::{Duration, Instant};

use bridle_sexp::{Value, read_one};
use unicode_width::UnicodeWidthStr as _;

use crate::client::{DaemonClient, DaemonTarget};
use crate::error::{ErrorKind, ShellError};
use crate::screen::table::cut;
use crate::screen::{OutputScreen, neutral_line, plain_json};

/// Time between two tries while waiting for a daemon.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Columns of a line in a pipe.
const DETAIL_WIDTH: usize = 80;

/// Columns of the names on the left.
const NAME_WIDTH: usize = 16;

/// Detail that needs a page of numbers; it does not fit a screen.
const METRICS: &str = "metrics";

/// Health question, and the form of its answer.
#[derive(Debug)]
pub struct HealthQuestion {
    /// Daemons to try, in order.
    pub targets: Vec<DaemonTarget>,
    /// Everything the daemon says about itself, or one word.
    pub detail: HealthScope,
    /// Form of the output.
    pub output: HealthOutput,
    /// Longest wait for a healthy daemon.
    pub wait: Option<Duration>,
}

/// Amount of detail to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthScope {
    /// One word.
    Brief,
    /// Versions, uptime, counters.
    Full,
}

/// Form in which the answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthOutput {
    /// One word, or a line for each thing that it says when details were asked for.
    Text(OutputScreen),
    /// The whole answer as JSON.
    Json,
}

/// Health of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthVerdict {
    /// The daemon said `:healthy`.
    Healthy,
    /// The daemon said anything else.
    NotHealthy,
}

/// Asks, prints the answer, and says how it is.
///
/// # Errors
///
/// No daemon answered.
pub fn run(question: &HealthQuestion, out: &mut dyn Write) -> Result<HealthVerdict, ShellError> {
    let started = Instant::now();
    loop {
        let answer = ask(question);
        let again = match &answer {
            Ok((_, verdict)) => *verdict == HealthVerdict::NotHealthy,
            Err(error) => matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout),
        };
        let waited = started.elapsed();
        if again && question.wait.is_some_and(|wait| waited + RETRY_INTERVAL < wait) {
            std::thread::sleep(RETRY_INTERVAL);
            continue;
        }
        let (answer, verdict) = answer?;
        print(question, &answer, out)?;
        return Ok(verdict);
    }
}

fn ask(question: &HealthQuestion) -> Result<(String, HealthVerdict), ShellError> {
    let mut client = DaemonClient::connect_any(&question.targets)?;
    let request = match question.detail {
        HealthScope::Brief => "(:type :health-check)",
        HealthScope::Full => "(:type :health-check :detail t)",
    };
    let answer = client.request(request)?;
    let tree = read_one(&answer).map_err(|error| not_health(&client, &error.to_string()))?;
    let root = tree.root();
    if !root.get("type").is_some_and(|it| it.is_keyword("health-response")) {
        return Err(not_health(&client, "expected a health response, got another message"));
    }
    let healthy = root.get("status").is_some_and(|status| status.is_keyword("healthy"));
    let verdict = if healthy { HealthVerdict::Healthy } else { HealthVerdict::NotHealthy };
    Ok((answer, verdict))
}

fn not_health(client: &DaemonClient, why: &str) -> ShellError {
    ShellError::NotProtocol { addr: client.addr().clone(), why: why.to_owned() }
}

fn print(question: &HealthQuestion, answer: &str, out: &mut dyn Write) -> Result<(), ShellError> {
    let tree = read_one(answer).map_err(|error| crate::form_stream::fault_in(answer, &error))?;
    let root = tree.root();
    let mut text = String::new();
    match (question.output, question.detail) {
        (HealthOutput::Json, _) => text.push_str(&plain_json(&root.to_value())),
        (HealthOutput::Text(_), _) => {
            let status = root.get("status").and_then(|status| status.keyword());
            text.push_str(&neutral_line(status.as_deref().unwrap_or("unknown")));
        }
    }
    text.push('\n');
    if let (HealthOutput::Text(screen), HealthScope::Full) = (question.output, question.detail) {
        let detail = root.get("detail").map_or(Value::Nil, |it| it.to_value());
        push_detail(&detail, screen.width.unwrap_or(DETAIL_WIDTH), &mut text);
    }
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(ShellError::Write)
}

/// Appends a line for each thing that the daemon says about itself; several where it says much.
fn push_detail(detail: &Value, width: usize, out: &mut String) {
    let mut has_metrics = false;
    for (key, value) in detail.pairs().into_iter().flatten() {
        let key = key.as_keyword().unwrap_or_default().to_ascii_lowercase();
        has_metrics |= key == METRICS;
        if key != METRICS {
            push_words(&key, words_of(value), width, out);
        }
    }
    if has_metrics {
        let hint = "`bridle health --detail --json`, or GET /metrics over HTTP";
        push_words(METRICS, vec![hint.to_owned()], width, out);
    }
}

/// Words for a value, in pieces between which a line may break.
fn words_of(value: &Value) -> Vec<String> {
    let atom = |value: &Value| match value {
        Value::Nil => "none".to_owned(),
        Value::T => "yes".to_owned(),
        _ => match (value.as_str(), value.as_keyword()) {
            (Some(text), _) => neutral_line(text).into_owned(),
            (_, Some(word)) => neutral_line(&word.to_ascii_lowercase()).into_owned(),
            _ => neutral_line(&value.to_string()).into_owned(),
        },
    };
    match (value, value.pairs()) {
        (Value::List(_), Some(pairs)) => {
            let name = |key: &Value| key.as_keyword().unwrap_or_default().to_ascii_lowercase();
            pairs.map(|(key, value)| format!("{} {}", name(key), atom(value))).collect()
        }
        (Value::List(elements), None) => elements.iter().map(atom).collect(),
        _ => vec![atom(value)],
    }
}

/// Appends `name  piece, piece, ..`, broken between pieces, further lines indented.
fn push_words(name: &str, pieces: Vec<String>, width: usize, out: &mut String) {
    let room = width.saturating_sub(NAME_WIDTH).max(NAME_WIDTH);
    let last = pieces.len().saturating_sub(1);
    let mut lines = vec![String::new()];
    for (index, mut piece) in pieces.into_iter().enumerate() {
        if index < last {
            piece.push(',');
        }
        let at = lines.len() - 1;
        if !lines[at].is_empty() && lines[at].width() + 1 + piece.width() > room {
            lines.push(String::new());
        }
        let at = lines.len() - 1;
        if !lines[at].is_empty() {
            lines[at].push(' ');
        }
        lines[at].push_str(&piece);
    }
    for (index, line) in lines.iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        out.push_str(&cut(&format!("{name:<NAME_WIDTH$}{line}"), width));
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::read_one;
    use unicode_width::UnicodeWidthStr as _;

    use super::push_detail;

    #[test]
    fn details_fit_a_screen_and_hold_nothing_that_drives_it() {
        let form = r#"(:server "bridle/0.1.0" :uptime-seconds 3 :queues (:in-flight-bytes 0
            :sessions 3 :shells 0 :messages 0 :effects 0 :approvals 1 :appends 0 :records 48)
            :store :ready :roots nil :fault "a\e[2Jb" :metrics "thousands of lines")"#;
        let form = form.replace("\\e", "\u{1b}");
        let detail = read_one(&form).expect("a form").root().to_value();
        let mut out = String::new();
        push_detail(&detail, 60, &mut out);
        assert_eq!(
            out,
            "server          bridle/0.1.0\n\
             uptime-seconds  3\n\
             queues          in-flight-bytes 0, sessions 3, shells 0,\n                \
                             messages 0, effects 0, approvals 1,\n                \
                             appends 0, records 48\n\
             store           ready\n\
             roots           none\n\
             fault           a␛[2Jb\n\
             metrics         `bridle health --detail --json`, or GET /me…\n"
        );
        assert!(out.lines().all(|line| line.width() <= 60));
    }
}
