//! Texts that the thinker of a draft could have read, by their sources: the owner's words in this session, what
//! the owner configured and granted, and what came from memory, tools and the web.
//!
//! Called when a draft arrives that has something to trace. What cannot be read is in no source, so what it says
//! counts as the model's own.

use std::collections::VecDeque;
use std::sync::Arc;

use bridle_history::session_fold::parse;
use bridle_host::ThoughtIo;
use bridle_host::provenance::{MAX_SOURCE_BYTES, TextSources, own_words};
use bridle_loop::{
    CONTEXT, Deed, GrantTerms, Outcome, RecordKind, SensorClass, TextSource, ThinkerPrompt,
};
use bridle_record::{RecordFilter, RecordNumber};
use bridle_sexp::Value;

use crate::access::principal::Principal;
use crate::engine::home::Home;
use crate::engine::hub::Hub;
use crate::engine::sessions::live_session::{LiveSessionSlot, OwnerWords};

/// Prompts of a session whose words are remembered, the latest ones; and their bytes together.
const MAX_PROMPTS: usize = 512;
const MAX_PROMPT_BYTES: usize = 64 << 10;

/// Outcomes that are read back from the record because they are long, the latest ones.
const MAX_READ_BACK: usize = 4;

/// Records read at once.
const PAGE_RECORDS: usize = 512;

/// Actuators whose answers come from the memory.
const MEMORY_ACTUATORS: [&str; 2] = [CONTEXT, "memory"];

/// Actuator whose answers come from other machines.
const WEB_ACTUATOR: &str = "http";

/// Collects the texts.
pub(super) async fn sources(
    hub: &Hub,
    session: &LiveSessionSlot,
    prompt: &ThinkerPrompt,
    io: &ThoughtIo,
) -> TextSources {
    let mut sources = TextSources::default();
    configured(&hub.home, &mut sources);
    said(hub, session, &mut sources).await;
    let mut left = MAX_READ_BACK;
    for deed in prompt.results.iter().rev() {
        read(deed, io, &mut left, &mut sources).await;
    }
    if let Some(focus) = prompt.context.focus.as_deref() {
        sources.add_value(TextSource::Tool, focus);
    }
    around(&prompt.context.signal.payload, &mut sources);
    sources
}

/// Policies and grants, as Cedar has them: their prose and their examples are nobody's wish. The prose of a grant
/// quotes what the owner said yes to.
fn configured(home: &Home, sources: &mut TextSources) {
    let present = home.guard.present();
    let Some(set) = present.installed.set() else { return };
    for policy in set.policies() {
        // Every grant ends; to read a policy takes a while.
        let ends = policy.text.contains("context.now <");
        let grant = ends.then(|| GrantTerms::of_policy(policy)).flatten();
        if let Some(grant) = grant {
            if let Some((host, port)) = grant.granted_host() {
                sources.add_granted_host(host, port);
            }
            sources.add(TextSource::Grant, &policy.text);
            sources.add(TextSource::Grant, &policy.prose);
        } else {
            sources.add(TextSource::Configuration, &policy.text);
        }
    }
}

/// Words of owners in this session, without what they quote: what is known of them, and what was said since.
async fn said(hub: &Hub, session: &LiveSessionSlot, sources: &mut TextSources) {
    let mut known = session.lock().known.words.clone();
    let (name, owner) = (session.id.as_str().to_owned(), session.owner.clone());
    let read = hub.home.readers.read(move |reader| {
        let filter = RecordFilter {
            session: Some(name.into()),
            kinds: vec![RecordKind::Signal.word().into()],
            ..RecordFilter::default()
        };
        loop {
            let page = reader.records(RecordNumber(known.after), &filter, PAGE_RECORDS)?;
            let Some(last) = page.last() else { return Ok(known) };
            known.after = last.number.0;
            let bodies = page.iter().filter_map(|record| parse(record.body.text()?));
            for text in bodies.filter_map(|body| words(&body, &owner)) {
                known.add(text.into());
            }
        }
    });
    // Without them nothing is trusted for their sake.
    let Ok(known) = read.await else { return };
    for text in &known.texts {
        sources.add(TextSource::User, text);
    }
    session.lock().known.words = known;
}

impl OwnerWords {
    /// Adds a text; the oldest go when there are too many.
    fn add(&mut self, text: Arc<str>) {
        self.texts.push_back(text);
        let bytes = |texts: &VecDeque<Arc<str>>| texts.iter().map(|text| text.len()).sum::<usize>();
        while self.texts.len() > MAX_PROMPTS
            || (self.texts.len() > 1 && bytes(&self.texts) > MAX_PROMPT_BYTES)
        {
            self.texts.pop_front();
        }
    }
}

/// Words of an owner in a signal that expects some.
fn words(signal: &Value, session_owner: &str) -> Option<String> {
    let from = signal.get("from")?;
    let is_owner = from.get("owner").is_some_and(|flag| !flag.is_nil());
    let principal = from.get("principal").and_then(Value::as_str)?;
    let is_timed = ["schedule", "heartbeat"].contains(&principal);
    if is_timed
        || !(is_owner || principal == session_owner && Principal::is_owners_alone(principal))
    {
        return None;
    }
    let payload = signal.get("payload")?;
    let sensor = payload.get("sensor")?;
    let class = SensorClass::matching(|name| sensor.is_keyword(name));
    let text = payload.get("text").and_then(Value::as_str)?;
    class.expects_words().then(|| own_words(text))
}

/// Reads the result of an act of this turn.
async fn read(deed: &Deed, io: &ThoughtIo, left: &mut usize, sources: &mut TextSources) {
    let source = match deed.target.as_str() {
        WEB_ACTUATOR => TextSource::Web,
        name if MEMORY_ACTUATORS.contains(&name) => TextSource::Memory,
        _ => TextSource::Tool,
    };
    match &deed.outcome {
        Outcome::Done(result) => {
            let is_remote = result.get("remote").is_some_and(|flag| !flag.is_nil());
            let source = if is_remote { TextSource::Web } else { source };
            match &deed.stored {
                Some(stored) if *left > 0 && stored.bytes <= MAX_SOURCE_BYTES as u64 => {
                    *left -= 1;
                    if let Some(whole) = io.result(stored).await {
                        sources.add_value(source, &whole);
                    }
                }
                _ => sources.add_value(source, result),
            }
        }
        Outcome::Denied(reason) | Outcome::Failed(reason) => sources.add(source, reason),
        Outcome::Expired | Outcome::Superseded | Outcome::UnknownOutcome => {}
    }
}

/// Adds the rest of what a shell sent beside the words: buffers, the state of its system, names of files.
fn around(payload: &Value, sources: &mut TextSources) {
    for (key, value) in payload.pairs().into_iter().flatten() {
        if !key.is_keyword("text") {
            sources.add_value(TextSource::Tool, value);
        }
    }
}
