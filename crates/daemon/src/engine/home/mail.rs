//! `:mail`: one mail to one server by SMTP, asked for by default like every act on other machines.
//!
//! A mail that was begun when the daemon died, or whose server fell silent at its end, has an unknown outcome and is
//! not sent again by itself. Its `:id` is in its head, so that a reader drops a repeat.

use std::sync::{Arc, OnceLock};

use bridle_host::{ActIo, Actuator, HostFuture};
use bridle_jail::{SecretStore, SecretValue};
use bridle_loop::{ActionSpec, ArgumentShape, ArgumentSpec, Order, Outcome};
use bridle_sexp::Value;

use crate::fetch::{
    AllowedHosts, AttachmentFetcher, FetchConfig, MailFault, MailOrder, MailSecurity,
};

/// Name of the actuator.
pub(super) const MAIL: &str = "mail";

/// Its action.
const SEND: &str = "send";

/// Bytes of a text, and of one line of a head.
const MAX_MAIL_BYTES: usize = 256 << 10;
const MAX_LINE_BYTES: usize = 512;

/// Receivers of a mail.
const MAX_RECEIVERS: usize = 32;

/// Sends mails.
pub(super) struct MailActuator {
    config: FetchConfig,
    secrets: Arc<SecretStore>,
    /// Made with the first mail: it reads the certificates of the system.
    fetcher: OnceLock<Result<AttachmentFetcher, String>>,
}

impl MailActuator {
    pub(super) fn new(config: &FetchConfig, secrets: Arc<SecretStore>) -> Self {
        Self { config: config.clone(), secrets, fetcher: OnceLock::new() }
    }

    fn fetcher(&self) -> Result<&AttachmentFetcher, String> {
        let made = self.fetcher.get_or_init(|| {
            let hosts: AllowedHosts = "*".parse().map_err(|_| "no host is known".to_owned())?;
            let config = FetchConfig { hosts, ..self.config.clone() };
            AttachmentFetcher::new(&config, MAX_MAIL_BYTES).map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }

    async fn send(&self, payload: &Value) -> Outcome {
        let sent = async {
            let mail = MailRequest::read(payload).map_err(MailFault::NotSent)?;
            let password = mail.password(&self.secrets).map_err(MailFault::NotSent)?;
            let password = password.as_ref().and_then(|it| std::str::from_utf8(it.reveal()).ok());
            let order = MailOrder {
                host: &mail.host,
                port: mail.port,
                security: mail.security,
                login: mail.login.as_ref().and_then(|(name, _)| Some((name.as_str(), password?))),
                from: &mail.from,
                to: &mail.to,
                subject: &mail.subject,
                text: &mail.text,
                id: &mail.id,
            };
            self.fetcher().map_err(MailFault::NotSent)?.mail(&order).await
        };
        match sent.await {
            Ok(answer) => Outcome::Done(Value::plist([("answer", Value::str(answer))])),
            Err(MailFault::NotSent(reason)) => Outcome::Failed(reason.into()),
            Err(MailFault::Unknown) => Outcome::UnknownOutcome,
        }
    }
}

impl Actuator for MailActuator {
    fn specs(&self) -> Vec<ActionSpec> {
        use ArgumentShape::{Choice, Text, Texts};
        let words = ["tls", "starttls", "none"].map(Into::into).to_vec();
        let arguments = vec![
            ArgumentSpec::required("server", Text, "Server as HOST:PORT, its host in lower case"),
            ArgumentSpec::optional("security", Choice(words), "Encryption; `tls` unless said"),
            ArgumentSpec::optional("user", Text, "Name to log in with"),
            ArgumentSpec::optional("secret", Text, "Name of the secret that is its password"),
            ArgumentSpec::required("from", Text, "Address of the sender"),
            ArgumentSpec::required("to", Texts, "Addresses of the receivers"),
            ArgumentSpec::required("subject", Text, "Subject, one line"),
            ArgumentSpec::required("text", Text, "Text"),
            ArgumentSpec::required("id", Text, "Name of the mail, for those who drop repeats"),
        ];
        vec![ActionSpec::new(SEND, "Send a mail by SMTP.", arguments)]
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            tokio::select! {
                outcome = self.send(order.payload()) => outcome,
                () = io.cancelled() => Outcome::UnknownOutcome,
            }
        })
    }
}

/// A mail, as a payload describes it.
struct MailRequest {
    host: String,
    port: u16,
    security: MailSecurity,
    /// Name, and the name of a secret.
    login: Option<(String, String)>,
    from: String,
    to: Vec<String>,
    subject: String,
    text: String,
    id: String,
}

impl MailRequest {
    fn read(payload: &Value) -> Result<Self, String> {
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let line = |key: &'static str| {
            let found = text(key).filter(|it| is_line(it));
            found.map(str::to_owned).ok_or_else(|| format!("no good `:{key}`, expected one line"))
        };
        let server = text("server").and_then(server);
        let (host, port) = server.ok_or("no good `:server`, expected HOST:PORT")?;
        let security = match payload.get("security").and_then(Value::as_keyword) {
            None | Some("tls") => MailSecurity::Tls,
            Some("starttls") => MailSecurity::StartTls,
            Some("none") => MailSecurity::Plain,
            Some(_) => return Err("no good `:security`, expected :tls, :starttls or :none".into()),
        };
        let login = match (text("user"), text("secret")) {
            (Some(user), Some(secret)) => Some((user.to_owned(), secret.to_owned())),
            (None, None) => None,
            _ => return Err("`:user` and `:secret` belong together".to_owned()),
        };
        let addresses = payload.get("to").and_then(Value::elements).unwrap_or_default();
        let to: Option<Vec<String>> = addresses.iter().map(|it| address(it.as_str()?)).collect();
        let to = to.filter(|to| (1..=MAX_RECEIVERS).contains(&to.len()));
        let from = text("from").and_then(address).ok_or("no good `:from`, expected an address")?;
        let id = line("id")?;
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return Err("no good `:id`, expected letters, digits, - _ .".to_owned());
        }
        let body = text("text").filter(|it| it.len() <= MAX_MAIL_BYTES);
        Ok(Self {
            host,
            port,
            security,
            login,
            from,
            to: to.ok_or("no good `:to`, expected a list of 1 to 32 addresses")?,
            subject: line("subject")?,
            text: body.ok_or("no good `:text`, expected at most 256 KiB")?.to_owned(),
            id,
        })
    }

    fn password(&self, secrets: &SecretStore) -> Result<Option<SecretValue>, String> {
        let Some((_, secret)) = &self.login else { return Ok(None) };
        let found = secrets.for_host(secret, &self.host, self.port);
        found.map(Some).map_err(|error| error.to_string())
    }
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_LINE_BYTES && !text.contains(char::is_control)
}

/// An address that cannot say anything else to a server.
fn address(text: &str) -> Option<String> {
    let (name, host) = text.rsplit_once('@')?;
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"<>()[]\\,;:\"".contains(&byte);
    let is_good = is_line(text) && !name.is_empty() && !host.is_empty() && text.bytes().all(fits);
    is_good.then(|| text.to_owned())
}

/// Host and port of a server.
fn server(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let is_good = !host.is_empty() && host.len() <= 253 && host.bytes().all(fits);
    Some((host.to_owned(), port.parse().ok().filter(|port| *port > 0 && is_good)?))
}

#[cfg(test)]
mod tests {
    use super::{address, server};

    #[test]
    fn addresses_and_servers_are_one_word() {
        assert!(address("a.b+c@example.org").is_some());
        for bad in ["a", "@b", "a@", "a@b>\r\nDATA", "a b@c", "<a@b>", "a@b,c@d", "ü@b"] {
            assert!(address(bad).is_none(), "{bad}");
        }
        assert_eq!(server("mail.example.org:465"), Some(("mail.example.org".to_owned(), 465)));
        for bad in ["mail", "mail:0", "Mail:25", ":25", "a b:25", "a:99999", "a\r\n:25"] {
            assert!(server(bad).is_none(), "{bad}");
        }
    }
}
