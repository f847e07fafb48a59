//! `:http`: one request to a host of the web, asked for by default. Its answer is text of others: it is marked
//! `:remote`.
//!
//! The host of the order is reached and no other; a redirect elsewhere is told, for a request of its own.

use std::path::Path;
use std::sync::OnceLock;

use bridle_effects::find_secrets;
use bridle_host::{ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership};
use bridle_loop::{Action, EffectFacts, HTTP_ACTIONS, Order, Outcome, PREPARED, WebRequest};
use bridle_sexp::Value;

use crate::fetch::{AllowedHosts, AttachmentFetcher, FetchConfig, WebAnswer, WebOrder};

/// Name of the actuator.
pub(super) const HTTP: &str = "http";

/// Bytes of an answer that are taken, and of its text in the outcome.
const MAX_ANSWER_BYTES: usize = 1 << 20;
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Asks hosts of the web.
pub(super) struct WebActuator {
    config: FetchConfig,
    /// Made with the first request: it reads the certificates of the system.
    fetcher: OnceLock<Result<AttachmentFetcher, String>>,
}

impl WebActuator {
    pub(super) fn new(config: &FetchConfig) -> Self {
        Self { config: config.clone(), fetcher: OnceLock::new() }
    }

    fn fetcher(&self) -> Result<&AttachmentFetcher, String> {
        let made = self.fetcher.get_or_init(|| {
            // Each order names its host; which may be named is the policies' business.
            let hosts: AllowedHosts = "*".parse().map_err(|_| "no host is known".to_owned())?;
            let config = FetchConfig { hosts, ..self.config.clone() };
            AttachmentFetcher::new(&config, MAX_ANSWER_BYTES).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }

    async fn ask(&self, request: &WebRequest) -> Outcome {
        let fetcher = match self.fetcher() {
            Ok(fetcher) => fetcher,
            Err(reason) => return Outcome::Failed(reason.into()),
        };
        let method = request.method.to_ascii_uppercase();
        let Ok(method) = method.parse() else { return Outcome::Failed("no such method".into()) };
        let order = WebOrder {
            method,
            url: &request.url,
            host: &request.host,
            port: request.port,
            headers: request.headers.iter().map(|(name, value)| (&**name, &**value)).collect(),
            body: request.body.as_deref(),
        };
        match fetcher.exchange(&order).await {
            Ok(answer) => Outcome::Done(told(answer)),
            Err(refusal) => Outcome::Failed(format!("`{}`: {refusal}", request.host).into()),
        }
    }
}

impl Actuator for WebActuator {
    fn actions(&self) -> &'static [&'static str] {
        HTTP_ACTIONS
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Action::Http(request) = order.action() else {
                return Outcome::Failed("no request of the web".into());
            };
            tokio::select! {
                outcome = self.ask(request) => outcome,
                () = io.cancelled() => {
                    Outcome::Failed("called off; the host may have got the request".into())
                }
            }
        })
    }

    fn prepares(&self) -> bool {
        true
    }

    fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        payload.pairs().map(drop)?;
        let bare = with_prepared(payload, Value::Nil);
        let Ok(Action::Http(request)) = Action::from_payload(&bare) else { return None };
        let mut facts = EffectFacts::default();
        if around.readers == Readership::Others {
            facts.fault = Some("requests are for the owner alone".into());
        } else if let Some((_, name)) = request.secrets.first() {
            facts.fault = Some(format!("no secret is kept under the name `{name}`").into());
        }
        // Whatever was granted: what leaves with a key in it is asked for.
        facts.keys = sends_secret(&request);
        Some(with_prepared(payload, facts.to_value()))
    }

    fn crash_outcome(&self, order: &Order, _: u64) -> CrashOutcome {
        match order.action() {
            Action::Http(request) if matches!(request.method, "get" | "head") => {
                CrashOutcome::NotDone
            }
            _ => CrashOutcome::Unknown,
        }
    }
}

/// Whether what is sent looks like a secret.
fn sends_secret(request: &WebRequest) -> bool {
    let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
    let texts = headers
        .chain([request.url.to_string()])
        .chain(request.body.iter().map(ToString::to_string));
    let mut texts = texts;
    texts.any(|text| !find_secrets(Path::new("request"), text.as_bytes()).is_empty())
}

fn with_prepared(payload: &Value, prepared: Value) -> Value {
    let pairs = payload.pairs().into_iter().flatten();
    let kept = pairs
        .filter(|(name, _)| !name.is_keyword(PREPARED))
        .flat_map(|(name, value)| [name.clone(), value.clone()]);
    Value::list(kept.chain([Value::keyword(PREPARED), prepared]))
}

fn told(answer: WebAnswer) -> Value {
    let mut pairs = vec![
        ("status", Value::int(answer.status.into())),
        ("remote", Value::T),
        ("bytes", Value::int(i64::try_from(answer.content.len()).unwrap_or(i64::MAX))),
    ];
    pairs.extend(answer.kind.map(|kind| ("type", Value::str(kind))));
    if let Some(location) = answer.location {
        pairs.push(("location", Value::str(location)));
        pairs.push(("hint", Value::str("it was not followed: ask for that address by itself")));
    }
    match String::from_utf8(answer.content) {
        Ok(text) => {
            let mut end = text.len().min(MAX_SHOWN_BYTES);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            if answer.is_cut || end < text.len() {
                pairs.push(("more", Value::T));
            }
            pairs.push(("text", Value::str(text[..end].replace('\0', "\u{fffd}"))));
        }
        Err(_) => pairs.push(("binary", Value::T)),
    }
    Value::plist(pairs)
}
