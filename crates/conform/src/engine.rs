//! The kit for engines of the OpenHarness Protocol: `bridle conform engine URL`.
//!
//! Its cases are written from the protocol's draft, whose sections they name, and from section 15
//! of `docs/protocol.md` (those sections begin with `P`). Judged is what a body says, whatever the
//! status; what only some engines have (discovery, streams, repeats, ..) is a profile and binds who
//! offers it. None of the code is used with which bridle's own engine reads and writes messages.
//!
//! - [`url`], [`http`]: where an engine is, and how to talk to it byte by byte
//! - [`answer`]: a message of the engine, and what is expected of it
//! - [`shape`]: what must hold for every answer of a run
//! - [`rows`]: cases that are a request and an expectation
//! - the others: the cases

pub mod answer;
mod asked;
mod auth;
mod calloff;
mod capabilities;
mod context;
mod discovery;
mod envelope;
mod every;
mod files;
pub mod http;
mod hygiene;
mod origin;
mod privacy;
mod repeats;
pub mod rows;
pub mod shape;
mod sockets;
mod status;
mod steps;
mod streams;
mod text;
mod types;
mod unknown;
pub mod url;
mod version;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::KitKind;
use super::case::{CheckFinding, Checked, ConformanceCase};
use super::notes::CaseNotes;
use super::run::KitPeer;
use answer::EnvelopeAnswer;
pub use asked::AskedRequest;
use http::{BodyPresence, HttpClient, HttpReply, HttpRoute};
use shape::ShapeFault;

/// The kit.
pub const KIT: KitKind = KitKind {
    name: "engine",
    revision: "1.0.0-draft",
    text: "the OpenHarness draft; sections that begin with P are of docs/protocol.md",
};

/// Tries again after `rate_limited`, and the longest pause before one.
const PATIENCE: (u32, Duration) = (3, Duration::from_secs(3));

/// Settings of the kit besides the address.
#[derive(Debug, Clone)]
pub struct KitSetup {
    /// A credential.
    pub token: Option<String>,
    /// A credential of somebody else.
    pub token2: Option<String>,
    /// An origin whose pages may ask.
    pub origin: Option<String>,
    /// Prompt that gets a plain answer.
    pub intent: String,
    /// Prompt that leads to an approval.
    pub approval: Option<String>,
    /// Prompt that takes long to answer.
    pub slow: Option<String>,
    /// Makes names that no other run uses.
    pub nonce: String,
}

/// Identity that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskerIdentity {
    /// The one with the first credential.
    First,
    /// The one with the second.
    Second,
}

/// An engine to check.
#[derive(Debug)]
pub struct EngineUnderTest {
    way: HttpRoute,
    setup: KitSetup,
    notes: CaseNotes,
    made: u32,
    /// The document of the engine, once it was asked for; `None` inside if it has none.
    known: Option<Option<Value>>,
    /// The first thing of each class that was wrong in any answer.
    seen: BTreeMap<ShapeFault, String>,
}

impl EngineUnderTest {
    /// An engine at an address.
    pub fn new(way: HttpRoute, setup: KitSetup) -> EngineUnderTest {
        let notes = CaseNotes::default();
        EngineUnderTest { way, setup, notes, made: 0, known: None, seen: BTreeMap::new() }
    }

    /// Route to the engine.
    pub fn way(&self) -> &HttpRoute {
        &self.way
    }

    /// Settings of the kit.
    pub fn setup(&self) -> &KitSetup {
        &self.setup
    }

    /// Writes something down, without credentials.
    pub fn note(&mut self, what: &str) {
        let what = self.redacted(what);
        self.notes.noted(&what);
    }

    /// A text for reports: credentials stay out, wherever they turn up.
    fn redacted(&self, text: &str) -> String {
        let tokens = [&self.setup.token, &self.setup.token2].into_iter().flatten();
        tokens.fold(text.to_owned(), |text, token| text.replace(token.as_str(), "(not shown)"))
    }

    /// A name that nobody has used: an id, a session, a secret.
    pub fn name(&mut self) -> String {
        self.made += 1;
        format!("kit-{}-{}", self.setup.nonce, self.made)
    }

    /// Connects.
    ///
    /// # Errors
    /// Nobody is there.
    pub fn open(&mut self) -> Result<HttpClient, CheckFinding> {
        HttpClient::open(&self.way)
    }

    /// Sends a request on a connection of its own and takes the answer.
    ///
    /// # Errors
    /// None comes.
    pub fn exchange(&mut self, asked: &AskedRequest) -> Result<HttpReply, CheckFinding> {
        let mut conn = self.open()?;
        self.exchange_on(&mut conn, asked)
    }

    /// Sends a request on a connection and takes the answer.
    ///
    /// # Errors
    /// None comes.
    pub fn exchange_on(
        &mut self,
        conn: &mut HttpClient,
        asked: &AskedRequest,
    ) -> Result<HttpReply, CheckFinding> {
        let sent = self.redacted(&asked.shown());
        self.notes.sent(sent.as_bytes());
        conn.send(&asked.bytes(&self.way.url));
        let of = if asked.method == "HEAD" { BodyPresence::Head } else { BodyPresence::Any };
        let reply = conn.reply(of)?;
        let came = self.redacted(&reply.text());
        self.notes.came(came.as_bytes());
        Ok(reply)
    }

    /// A request with a body as the first principal, as cases usually send one.
    pub fn post(&self, body: impl Into<Vec<u8>>) -> AskedRequest {
        let mut asked = AskedRequest::new("POST", &self.way.url.path);
        asked.set("Content-Type", "application/json");
        asked.set("Accept", "application/json");
        asked.body = body.into();
        self.sign(&mut asked, AskerIdentity::First);
        asked
    }

    /// A request for a path, as the first principal.
    pub fn get(&self, path: &str) -> AskedRequest {
        let mut asked = AskedRequest::new("GET", path);
        self.sign(&mut asked, AskerIdentity::First);
        asked
    }

    /// Puts a credential on a request, if there is one.
    pub fn sign(&self, asked: &mut AskedRequest, who: AskerIdentity) {
        let token = match who {
            AskerIdentity::First => &self.setup.token,
            AskerIdentity::Second => &self.setup.token2,
        };
        match token {
            Some(token) => asked.set("Authorization", &format!("Bearer {token}")),
            None => asked.unset("Authorization"),
        }
    }

    /// Posts a message and takes the answer, which must be an envelope.
    ///
    /// # Errors
    /// The answer is no envelope.
    pub fn ask(&mut self, body: &str) -> Result<EnvelopeAnswer, CheckFinding> {
        let asked = self.post(body);
        self.answer(&asked)
    }

    /// Posts a message as somebody.
    ///
    /// # Errors
    /// The answer is no envelope.
    pub fn ask_as(
        &mut self,
        who: AskerIdentity,
        body: &str,
    ) -> Result<EnvelopeAnswer, CheckFinding> {
        let mut asked = self.post(body);
        self.sign(&mut asked, who);
        self.answer(&asked)
    }

    /// Sends a request and takes the answer, which must be an envelope. An engine that is asked too
    /// often is given time.
    ///
    /// # Errors
    /// The answer is no envelope.
    pub fn answer(&mut self, asked: &AskedRequest) -> Result<EnvelopeAnswer, CheckFinding> {
        let (tries, pause) = PATIENCE;
        for _ in 0..tries {
            let reply = self.exchange(asked)?;
            let answer = self.judge(reply)?;
            if answer.code() != Some("rate_limited") {
                return Ok(answer);
            }
            let wanted = answer.reply.header("retry-after").and_then(|text| text.parse().ok());
            std::thread::sleep(wanted.map_or(pause, Duration::from_secs).min(pause));
        }
        Err(CheckFinding::fault("the engine answers `rate_limited` again and again"))
    }

    /// Reads an answer, and looks at everything that must hold for all of them.
    ///
    /// # Errors
    /// The reply is no envelope.
    pub fn judge(&mut self, reply: HttpReply) -> Result<EnvelopeAnswer, CheckFinding> {
        let answer = EnvelopeAnswer::read(reply)?;
        for (class, what) in shape::faults(&answer) {
            self.seen.entry(class).or_insert(what);
        }
        Ok(answer)
    }

    /// Fills a template: `@ID`, `@SESSION` and `@CANARY` with new names, `@INTENT` with what is
    /// said; `@V` is version and id, `@R` a request with an intent, `@U` the intent alone.
    pub fn fill(&mut self, template: &str) -> FilledTemplate {
        let (id, session) = (self.name(), self.name());
        let canary = self.name().replace('-', "x");
        let intent = Value::from(self.setup.intent.as_str()).to_string();
        let text = template
            .replace("@V", r#""protocol_version":"1.0.0","request_id":"@ID""#)
            .replace("@R", r#""request":{"context":{@U}}"#)
            .replace("@U", &format!(r#""user_intent":{intent}"#))
            .replace("@ID", &id)
            .replace("@SESSION", &session)
            .replace("@CANARY", &canary);
        FilledTemplate { text, id, canary }
    }

    /// Fills a template and posts it.
    ///
    /// # Errors
    /// The answer is no envelope.
    pub fn ask_filled(
        &mut self,
        template: &str,
    ) -> Result<(FilledTemplate, EnvelopeAnswer), CheckFinding> {
        let filled = self.fill(template);
        let answer = self.ask(&filled.text)?;
        Ok((filled, answer))
    }

    /// Checks that the engine still serves.
    ///
    /// # Errors
    /// The engine does not answer a plain request.
    pub fn is_alive(&mut self) -> Checked {
        let (_, answer) = self.ask_filled(rows::GOOD)?;
        answer
            .is_served()
            .map_err(|_| CheckFinding::fault("afterwards a good request is not served"))
    }

    /// First fault of a class in any answer so far.
    pub fn wrong(&self, class: ShapeFault) -> Option<&str> {
        self.seen.get(&class).map(String::as_str)
    }

    /// The document in which the engine says what it offers.
    ///
    /// # Errors
    /// The engine has no discovery document.
    pub fn discovery(&mut self) -> Result<Value, CheckFinding> {
        if self.known.is_none() {
            let path = self.way.url.path.clone();
            let mut asked = self.get(&path);
            asked.unset("Authorization");
            asked.set("Accept", "application/json");
            // Who does not even answer has no document.
            let reply = self.exchange(&asked).ok().filter(|reply| reply.status == 200);
            let value = reply.and_then(|it| serde_json::from_slice::<Value>(&it.body).ok());
            self.known = Some(value.filter(|it| it["protocol_versions"].is_array()));
        }
        let none = || {
            CheckFinding::unoffered("GET on the address gives no document with `protocol_versions`")
        };
        self.known.clone().flatten().ok_or_else(none)
    }

    /// Ends the case if the engine does not list a code among those of its errors.
    ///
    /// # Errors
    /// The engine does not list the code.
    pub fn needs_code(&mut self, code: &str) -> Checked {
        let document = self.discovery()?;
        let is_there = |codes: &Vec<Value>| codes.iter().any(|it| it == code);
        if document["error_codes"].as_array().is_some_and(is_there) {
            return Ok(());
        }
        Err(CheckFinding::unoffered(format!("discovery does not list the error code `{code}`")))
    }

    /// Ends the case if the engine does not list a profile.
    ///
    /// # Errors
    /// The engine does not offer the profile.
    pub fn needs_profile(&mut self, profile: &str) -> Checked {
        let document = self.discovery()?;
        let is_there = |profiles: &Vec<Value>| profiles.iter().any(|it| it == profile);
        if document["profiles"].as_array().is_some_and(is_there) {
            return Ok(());
        }
        Err(CheckFinding::unoffered(format!("discovery does not list the profile `{profile}`")))
    }

    /// Ends the case if there is no second principal.
    ///
    /// # Errors
    /// There is none.
    pub fn needs_second(&self) -> Checked {
        match self.setup.token2 {
            Some(_) => Ok(()),
            None => {
                Err(CheckFinding::unoffered("no second principal was named: --token2-file FILE"))
            }
        }
    }
}

/// A template that was filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledTemplate {
    /// The text.
    pub text: String,
    /// Text for `@ID`.
    pub id: String,
    /// Text for `@CANARY`.
    pub canary: String,
}

impl KitPeer for EngineUnderTest {
    fn begin(&mut self) {
        self.notes = CaseNotes::default();
    }

    fn end(&mut self) -> CaseNotes {
        std::mem::take(&mut self.notes)
    }
}

/// All cases, in the order in which they are worth reading.
pub fn cases() -> Vec<ConformanceCase<EngineUnderTest>> {
    let lists = [
        envelope::cases(),
        version::cases(),
        text::cases(),
        unknown::cases(),
        types::cases(),
        context::cases(),
        capabilities::cases(),
        privacy::cases(),
        hygiene::cases(),
        status::cases(),
        auth::cases(),
        origin::cases(),
        discovery::cases(),
        repeats::cases(),
        steps::cases(),
        calloff::cases(),
        files::cases(),
        streams::cases(),
        sockets::cases(),
        every::cases(),
    ];
    lists.into_iter().flatten().collect()
}
