//! One mail to one server, by SMTP: a text in UTF-8, with a name of its own in its head.
//!
//! The same guard as for other orders: the server is looked up once, at public addresses alone unless the settings name
//! it. A password goes over TLS or not at all. Until the end of the text is sent nothing is delivered; from then on only
//! the server's answer tells, and without one nobody knows.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bridle_sexp::byte_text::base64;
use bridle_sexp::civil_date::civil_from_days;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use super::AttachmentFetcher;
use crate::fetch::url::{FetchUrl, UrlScheme};
use crate::fetch::{AllowedHosts, FetchRefusal};

/// Time for a mail.
const MAIL_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of one line of a server, and lines of one answer.
const MAX_LINE: usize = 4 << 10;
const MAX_LINES: usize = 100;

/// Bytes of text in one line of a mail, before they become base64.
const BYTES_A_LINE: usize = 57;

/// Encryption of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailSecurity {
    /// From the first byte on.
    Tls,
    /// From `STARTTLS` on.
    StartTls,
    /// None.
    Plain,
}

/// A mail that was ordered. Its addresses and head are one line each.
#[derive(Debug)]
pub(crate) struct MailOrder<'o> {
    pub(crate) host: &'o str,
    pub(crate) port: u16,
    pub(crate) security: MailSecurity,
    /// Name and password.
    pub(crate) login: Option<(&'o str, &'o str)>,
    pub(crate) from: &'o str,
    pub(crate) to: &'o [String],
    pub(crate) subject: &'o str,
    pub(crate) text: &'o str,
    /// Name of the mail, for those who drop repeats.
    pub(crate) id: &'o str,
}

/// Reason why a mail was not sent, or is not known to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MailFault {
    /// Not sent.
    NotSent(String),
    /// Sent to its end, and not answered.
    Unknown,
}

impl From<FetchRefusal> for MailFault {
    fn from(refusal: FetchRefusal) -> Self {
        Self::NotSent(refusal.to_string())
    }
}

impl AttachmentFetcher {
    /// Sends a mail; the last answer of the server.
    ///
    /// # Errors
    /// The mail was not sent, or nobody knows.
    pub(crate) async fn mail(&self, order: &MailOrder<'_>) -> Result<String, MailFault> {
        let late = tokio::time::Instant::now() + MAIL_TIMEOUT;
        let mut is_sent = false;
        let done =
            tokio::time::timeout_at(late, Box::pin(self.mail_all(order, &mut is_sent))).await;
        match done {
            Ok(done) => done,
            Err(_) if is_sent => Err(MailFault::Unknown),
            Err(_) => Err(FetchRefusal::Late.into()),
        }
    }

    async fn mail_all(
        &self,
        order: &MailOrder<'_>,
        is_sent: &mut bool,
    ) -> Result<String, MailFault> {
        let stream = self.connect(&self.mail_addresses(order).await?).await?;
        let tls = || self.tls.as_ref().ok_or(FetchRefusal::Broken);
        let name =
            ServerName::try_from(order.host.to_owned()).map_err(|_| FetchRefusal::Address)?;
        match order.security {
            MailSecurity::Tls => {
                let stream =
                    tls()?.connect(name, stream).await.map_err(|_| FetchRefusal::Broken)?;
                let mut talk = MailTalk(BufReader::new(stream));
                talk.expect("220").await?;
                talk.deliver(order, is_sent).await
            }
            MailSecurity::Plain => {
                let mut talk = MailTalk(BufReader::new(stream));
                talk.expect("220").await?;
                talk.deliver(order, is_sent).await
            }
            MailSecurity::StartTls => {
                let mut talk = MailTalk(BufReader::new(stream));
                talk.expect("220").await?;
                talk.say("EHLO bridle", "250").await?;
                talk.say("STARTTLS", "220").await?;
                if !talk.0.buffer().is_empty() {
                    // Said before the encryption, to be taken for what comes after it.
                    return Err(FetchRefusal::Broken.into());
                }
                let stream = tls()?.connect(name, talk.0.into_inner()).await;
                let stream = stream.map_err(|_| FetchRefusal::Broken)?;
                MailTalk(BufReader::new(stream)).deliver(order, is_sent).await
            }
        }
    }

    async fn mail_addresses(&self, order: &MailOrder<'_>) -> Result<Vec<SocketAddr>, FetchRefusal> {
        let addresses = match order.host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.net.resolve(order.host).await.map_err(|_| FetchRefusal::NoAddress)?,
        };
        if self.config.private.names(order.host, order.port) {
            let all = addresses.iter().map(|address| SocketAddr::new(*address, order.port));
            return Ok(all.collect());
        }
        let host =
            if order.host.contains(':') { format!("[{}]", order.host) } else { order.host.into() };
        let only: AllowedHosts =
            format!("{host}:{}", order.port).parse().map_err(|_| FetchRefusal::Host)?;
        let place =
            FetchUrl::read(&format!("{}{host}:{}", UrlScheme::Https.prefix(), order.port), &only)?;
        place.pin(&addresses)
    }
}

/// Conversation with a server.
struct MailTalk<S: AsyncRead + AsyncWrite + Unpin>(BufReader<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> MailTalk<S> {
    async fn deliver(
        &mut self,
        order: &MailOrder<'_>,
        is_sent: &mut bool,
    ) -> Result<String, MailFault> {
        self.say("EHLO bridle", "250").await?;
        if let Some((name, password)) = order.login {
            if order.security == MailSecurity::Plain {
                let reason = "a password goes over TLS alone: use :security :tls or :starttls";
                return Err(MailFault::NotSent(reason.to_owned()));
            }
            let word = base64(format!("\0{name}\0{password}").as_bytes());
            self.say(&format!("AUTH PLAIN {word}"), "235").await?;
        }
        self.say(&format!("MAIL FROM:<{}>", order.from), "250").await?;
        for to in order.to {
            self.say(&format!("RCPT TO:<{to}>"), "25").await?;
        }
        self.say("DATA", "354").await?;
        self.write(written(order).as_bytes()).await?;
        *is_sent = true;
        let told = match self.write(b".\r\n").await {
            Ok(()) => self.answer().await,
            Err(_) => Err(FetchRefusal::Broken),
        };
        let told = told.map_err(|_| MailFault::Unknown)?;
        if !told.starts_with('2') {
            return Err(MailFault::NotSent(format!("the server said {told}")));
        }
        // It is delivered, whatever comes of the good-bye.
        let _ = self.say("QUIT", "221").await;
        Ok(told)
    }

    async fn say(&mut self, line: &str, expected: &str) -> Result<(), MailFault> {
        self.write(format!("{line}\r\n").as_bytes()).await?;
        self.expect(expected).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), FetchRefusal> {
        self.0.write_all(bytes).await.map_err(|_| FetchRefusal::Broken)?;
        self.0.flush().await.map_err(|_| FetchRefusal::Broken)
    }

    async fn expect(&mut self, code: &str) -> Result<(), MailFault> {
        let told = self.answer().await?;
        match told.starts_with(code) {
            true => Ok(()),
            false => Err(MailFault::NotSent(format!("the server said {told}"))),
        }
    }

    /// The last line of an answer.
    async fn answer(&mut self) -> Result<String, FetchRefusal> {
        for _ in 0..MAX_LINES {
            let line = self.line().await?;
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(line);
            }
        }
        Err(FetchRefusal::TooLarge)
    }

    async fn line(&mut self) -> Result<String, FetchRefusal> {
        let mut line = Vec::new();
        loop {
            let bytes = self.0.fill_buf().await.map_err(|_| FetchRefusal::Broken)?;
            if bytes.is_empty() {
                return Err(FetchRefusal::Broken);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            line.extend_from_slice(&bytes[..taken]);
            self.0.consume(taken);
            if line.len() > MAX_LINE {
                return Err(FetchRefusal::TooLarge);
            }
            if end.is_some() {
                let text = String::from_utf8_lossy(&line);
                return Ok(text.trim_end().chars().filter(|it| !it.is_control()).collect());
            }
        }
    }
}

/// The text of a mail, with its head. Base64 has no line that could end it.
fn written(order: &MailOrder<'_>) -> String {
    let lines = order.text.as_bytes().chunks(BYTES_A_LINE);
    let body: String = lines.map(|line| format!("{}\r\n", base64(line))).collect();
    format!(
        "Date: {}\r\nFrom: {}\r\nTo: {}\r\nMessage-ID: <{}@bridle>\r\nSubject: {}\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n{body}",
        date(SystemTime::now()),
        order.from,
        order.to.join(", "),
        order.id,
        subject(order.subject),
    )
}

fn subject(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_owned(),
        // A word may have 75 characters.
        false => {
            let mut words = Vec::new();
            let mut rest = text;
            while !rest.is_empty() {
                let (word, after) = rest.split_at(rest.floor_char_boundary(42));
                words.push(format!("=?utf-8?B?{}?=", base64(word.as_bytes())));
                rest = after;
            }
            words.join("\r\n ")
        }
    }
}

fn date(now: SystemTime) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, of_day) = (i64::try_from(seconds / 86_400).unwrap_or(0), seconds % 86_400);
    let (year, month, day) = civil_from_days(days);
    let month = usize::try_from(month - 1).ok().and_then(|it| MONTHS.get(it)).unwrap_or(&"Jan");
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{day} {month} {year} {hour:02}:{minute:02}:{second:02} +0000")
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn subjects_are_encoded_words() {
        assert_eq!(subject("Tea"), "Tea");
        assert_eq!(subject("Über"), "=?utf-8?B?w5xiZXI=?=");
        assert_eq!(subject(&"ü".repeat(30)).matches("=?utf-8?B?").count(), 2);
    }
}
