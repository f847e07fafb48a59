//! `:http`: one request to a host of the web, asked for by default. Its answer is text of others: it is marked
//! `:remote`.
//!
//! The host of the order is reached and no other; a redirect elsewhere is told, for a request of its own.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use bridle_effects::{find_secrets, label_of};
use bridle_host::{ActIo, Actuator, CrashOutcome, HostFuture, ProposalPlace, Readership};
use bridle_jail::SecretStore;
use bridle_loop::{Action, EffectFacts, HTTP_ACTIONS, Order, Outcome, PREPARED, WebRequest};
use bridle_sexp::Value;
use zeroize::Zeroizing;

use crate::fetch::{AllowedHosts, AttachmentFetcher, FetchConfig, WebAnswer, WebOrder};

/// Name of the actuator.
pub(super) const HTTP: &str = "http";

/// Bytes of an answer that are taken, and of its text in the outcome.
const MAX_ANSWER_BYTES: usize = 1 << 20;
const MAX_SHOWN_BYTES: usize = 64 << 10;

/// Asks hosts of the web.
pub(super) struct WebActuator {
    config: FetchConfig,
    /// Secrets that requests name.
    secrets: Arc<SecretStore>,
    /// Made with the first request: it reads the certificates of the system.
    fetcher: OnceLock<Result<AttachmentFetcher, String>>,
}

impl WebActuator {
    pub(super) fn new(config: &FetchConfig, secrets: Arc<SecretStore>) -> Self {
        Self { config: config.clone(), secrets, fetcher: OnceLock::new() }
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
        let secrets = RequestSecrets { store: &self.secrets, request };
        let filled = match secrets.filled() {
            Ok(filled) => filled,
            Err(reason) => return Outcome::Failed(reason.into()),
        };
        let headers = request.headers.iter().map(|(name, value)| (&**name, &**value));
        let secret = filled.headers.iter().map(|(name, value)| (&**name, value.as_str()));
        let order = WebOrder {
            method,
            url: &filled.url,
            host: &request.host,
            port: request.port,
            headers: headers.chain(secret).collect(),
            body: filled.body.as_ref().map(|body| body.as_str()),
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
        } else if let Err(reason) =
            (RequestSecrets { store: &self.secrets, request: &request }).filled()
        {
            facts.fault = Some(reason.into());
        }
        // Whatever was granted: what leaves with a key in it is asked for, unless the key was kept for this host.
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

/// Secrets that a request names: in `:secrets`, and as `{secret:NAME}` in its address and its body.
struct RequestSecrets<'r> {
    store: &'r SecretStore,
    request: &'r WebRequest,
}

/// Parts of a request with its secrets in them. Never recorded, never shown.
struct FilledRequest {
    url: Zeroizing<String>,
    headers: Vec<(Box<str>, Zeroizing<String>)>,
    body: Option<Zeroizing<String>>,
}

/// Beginning of the place of a secret.
const SECRET_PLACE: &str = "{secret:";

impl RequestSecrets<'_> {
    /// The parts to send.
    ///
    /// # Errors
    /// A secret is not kept, or not for this host; the name alone is told.
    fn filled(&self) -> Result<FilledRequest, String> {
        let request = self.request;
        let headers = request
            .secrets
            .iter()
            .map(|(header, name)| self.secret(name).map(|value| (header.clone(), value)));
        Ok(FilledRequest {
            url: self.fill(&request.url)?,
            headers: headers.collect::<Result<_, _>>()?,
            body: request.body.as_deref().map(|body| self.fill(body)).transpose()?,
        })
    }

    fn secret(&self, name: &str) -> Result<Zeroizing<String>, String> {
        let WebRequest { host, port, .. } = self.request;
        let value = self.store.for_host(name, host, *port).map_err(|error| error.to_string())?;
        let text = std::str::from_utf8(value.reveal());
        let text = text.map_err(|_| format!("secret `{name}` is no text"))?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    fn fill(&self, text: &str) -> Result<Zeroizing<String>, String> {
        let mut filled = Zeroizing::new(String::with_capacity(text.len()));
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(SECRET_PLACE) {
            filled.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                return Err("a place for a secret does not end: expected {secret:NAME}".to_owned());
            };
            filled.push_str(&self.secret(name)?);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
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
            pairs.extend(label_of(Path::new("answer"), &text[..end]));
            pairs.push(("text", Value::str(text[..end].replace('\0', "\u{fffd}"))));
        }
        Err(_) => pairs.push(("binary", Value::T)),
    }
    Value::plist(pairs)
}

#[cfg(test)]
mod tests {
    use super::{Action, RequestSecrets, SecretStore, Value};
    use bridle_jail::{HostRule, SealKey, SecretValue};

    #[test]
    fn a_secret_goes_to_its_host_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = SecretStore::new(folder.path(), SealKey::File(folder.path().join("key")));
        let hosts = vec![HostRule::parse("api.example.org").unwrap()];
        store.set("bot", SecretValue::new(b"1234:abcd".to_vec()), hosts).unwrap();
        let filled = |url: &str, body: &str| {
            let payload = Value::plist([
                ("action", Value::keyword("post")),
                ("url", Value::str(url)),
                ("secrets", Value::list([Value::str("authorization: bot")])),
                ("body", Value::str(body)),
            ]);
            let Ok(Action::Http(request)) = Action::from_payload(&payload) else { panic!("{url}") };
            let filled = RequestSecrets { store: &store, request: &request }.filled()?;
            assert_eq!(filled.headers[0].1.as_str(), "1234:abcd");
            Ok::<_, String>(format!("{} {}", *filled.url, filled.body.unwrap().as_str()))
        };
        assert_eq!(
            filled("https://api.example.org/bot{secret:bot}/x", "a {secret:bot} b").unwrap(),
            "https://api.example.org/bot1234:abcd/x a 1234:abcd b"
        );
        for url in ["https://example.org/{secret:bot}", "https://api.example.org/{secret:other}"] {
            let reason = filled(url, "").unwrap_err();
            assert!(!reason.contains("1234:abcd"), "{reason}");
        }
        assert!(
            filled("https://api.example.org/{secret:bot", "").unwrap_err().contains("does not end")
        );
    }
}
