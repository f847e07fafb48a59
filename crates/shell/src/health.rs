//! `bridle health`: asks one daemon how it is.

use std::io::Write;
use std::time::{Duration, Instant};

use bridle_sexp::{json, read_one};

use crate::client::{Client, Target};
use crate::error::{Error, Kind};
use crate::pretty::{self, Style};

/// Time between two tries while waiting for a daemon.
const RETRY: Duration = Duration::from_millis(50);

/// What is asked and how the answer is shown.
#[derive(Debug)]
pub struct Question {
    /// Daemons to try, in order.
    pub targets: Vec<Target>,
    /// Everything the daemon says about itself, or one word.
    pub detail: Detail,
    /// How it is printed.
    pub output: Output,
    /// How long to keep trying until the daemon is healthy.
    pub wait: Option<Duration>,
}

/// How much is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One word.
    Brief,
    /// Versions, uptime, counters.
    Full,
}

/// How the answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// One word, or the whole answer laid out when details were asked for.
    Text(Style),
    /// The whole answer as JSON.
    Json,
}

/// How the daemon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It said `:healthy`.
    Healthy,
    /// It said anything else.
    NotHealthy,
}

/// Asks, prints the answer, and says how it is.
///
/// # Errors
///
/// No daemon answered.
pub fn run(question: &Question, out: &mut dyn Write) -> Result<Verdict, Error> {
    let started = Instant::now();
    loop {
        let answer = ask(question);
        let again = match &answer {
            Ok((_, verdict)) => *verdict == Verdict::NotHealthy,
            Err(error) => matches!(error.kind(), Kind::Unavailable | Kind::Timeout),
        };
        let waited = started.elapsed();
        if again && question.wait.is_some_and(|wait| waited + RETRY < wait) {
            std::thread::sleep(RETRY);
            continue;
        }
        let (answer, verdict) = answer?;
        print(question, &answer, out)?;
        return Ok(verdict);
    }
}

fn ask(question: &Question) -> Result<(String, Verdict), Error> {
    let mut client = Client::connect_any(&question.targets)?;
    let request = match question.detail {
        Detail::Brief => "(:type :health-check)",
        Detail::Full => "(:type :health-check :detail t)",
    };
    let answer = client.request(request)?;
    let tree = read_one(&answer).map_err(|error| not_health(&client, &error.to_string()))?;
    let root = tree.root();
    if !root.get("type").is_some_and(|it| it.is_keyword("health-response")) {
        return Err(not_health(&client, "expected a health response, got another message"));
    }
    let healthy = root.get("status").is_some_and(|status| status.is_keyword("healthy"));
    let verdict = if healthy { Verdict::Healthy } else { Verdict::NotHealthy };
    Ok((answer, verdict))
}

fn not_health(client: &Client, why: &str) -> Error {
    Error::NotProtocol { addr: client.addr().clone(), why: why.to_owned() }
}

fn print(question: &Question, answer: &str, out: &mut dyn Write) -> Result<(), Error> {
    let tree = read_one(answer).map_err(|error| crate::input::fault_in(answer, &error))?;
    let root = tree.root();
    let mut text = String::new();
    match (question.output, question.detail) {
        (Output::Json, _) => json::to_json(&root.to_value(), &mut text),
        (Output::Text(style), Detail::Full) => pretty::write(root, &style, &mut text),
        (Output::Text(_), Detail::Brief) => {
            let status = root.get("status").and_then(|status| status.keyword());
            text.push_str(status.as_deref().unwrap_or("unknown"));
        }
    }
    text.push('\n');
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::Write)
}
