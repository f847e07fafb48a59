//! Secrets out of events, before the loop sees them: what is not in an event is in no record, no state, no prompt and
//! no frame. And out of the pieces of an answer that is still being made.
//!
//! Called for every event of a batch, and for every piece of a thought. Without secrets both cost a look.

use bridle_jail::{SecretRedactor, StreamRedactor};
use bridle_loop::{Event, Outcome, Proposal, Signal};
use bridle_sexp::Value;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Masks every secret in what people, programs or models said.
pub(in crate::engine) fn mask_event(event: &mut Event, secrets: &SecretRedactor) {
    if secrets.is_empty() {
        return;
    }
    match event {
        // Most signals quote none, and are not copied.
        Event::Signal(signal) => {
            let mut payload = signal.payload.clone();
            if mask_value(&mut payload, secrets) {
                let signal = Signal::clone(signal);
                *event = Event::Signal(Arc::new(Signal { payload, ..signal }));
            }
        }
        Event::Consulted { advice, .. } => {
            mask_proposals(&mut advice.proposals, secrets);
            advice.findings.iter_mut().for_each(|it| mask_text(&mut it.reason, secrets));
        }
        Event::Drafted { draft: Ok(draft), .. } => {
            mask_text(&mut draft.text, secrets);
            mask_proposals(&mut draft.calls, secrets);
            if let Some(opaque) = &mut draft.opaque {
                mask_text(&mut opaque.0, secrets);
            }
            if let Some(manifest) = &mut draft.manifest {
                mask_value(Arc::make_mut(manifest), secrets);
            }
        }
        Event::Drafted { draft: Err(fault), .. } => mask_text(&mut fault.reason, secrets),
        Event::Acted { outcome, .. } => mask_outcome(outcome, secrets),
        Event::Cancelled { reason, .. } => mask_text(reason, secrets),
        Event::Began(_)
        | Event::Registered(_)
        | Event::ConsultantsChanged(_)
        | Event::Answered(_)
        | Event::PolicyInstalled(_)
        | Event::Counted(_)
        | Event::Tick(_)
        | Event::Withdrawn { .. }
        // A State has what was masked before.
        | Event::Upgraded(_) => {}
    }
}

fn mask_proposals(proposals: &mut [Proposal], secrets: &SecretRedactor) {
    for proposal in proposals {
        if mask_value(&mut proposal.payload, secrets)
            && let Some(traced) = &mut proposal.provenance
        {
            for value in &mut Arc::make_mut(traced).values {
                mask_text(&mut value.text, secrets);
            }
        }
        if let Some(explanation) = &mut proposal.explanation {
            mask_text(explanation, secrets);
        }
    }
}

fn mask_outcome(outcome: &mut Outcome, secrets: &SecretRedactor) {
    match outcome {
        Outcome::Done(value) => drop(mask_value(value, secrets)),
        Outcome::Denied(reason) | Outcome::Failed(reason) => mask_text(reason, secrets),
        Outcome::Expired | Outcome::Superseded | Outcome::UnknownOutcome => {}
    }
}

fn mask_text(text: &mut Box<str>, secrets: &SecretRedactor) {
    if let Cow::Owned(clean) = secrets.redact_text(text) {
        *text = clean.into();
    }
}

/// Masks the texts and names of a value; tells whether there was a secret.
fn mask_value(value: &mut Value, secrets: &SecretRedactor) -> bool {
    let mut has_masked = false;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        let text = match &*value {
            Value::Str(text) | Value::Propertized { text, .. } => Cow::Borrowed(&**text),
            // A bare word may be one as well.
            Value::Symbol(_) | Value::Keyword(_) | Value::BigInt(_) => {
                Cow::Owned(value.to_string())
            }
            _ => Cow::Borrowed(""),
        };
        if let Cow::Owned(clean) = secrets.redact_text(&text) {
            // Text properties count characters, which are others now.
            *value = Value::str(clean);
            has_masked = true;
            continue;
        }
        match value {
            Value::List(items) | Value::Vector(items) => open.extend(items),
            Value::Dotted(items, tail) => {
                open.extend(items);
                open.push(tail);
            }
            Value::Propertized { runs, .. } => open.extend(runs),
            _ => {}
        }
    }
    has_masked
}

/// Mask of the pieces of one thought, which may cut a secret anywhere.
pub(in crate::engine) struct PieceMask(Option<Mutex<StreamRedactor>>);

impl PieceMask {
    /// Begins the pieces of a thought.
    pub(in crate::engine) fn new(secrets: Arc<SecretRedactor>) -> PieceMask {
        let is_idle = secrets.is_empty();
        PieceMask((!is_idle).then(|| Mutex::new(StreamRedactor::new(secrets))))
    }

    /// Takes a piece; returns what can be shown by now. The rest is in the draft.
    pub(in crate::engine) fn pass<'p>(&self, piece: &'p str) -> Cow<'p, str> {
        let Some(stream) = &self.0 else { return Cow::Borrowed(piece) };
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = stream.push(piece.as_bytes());
        Cow::Owned(String::from_utf8_lossy(&shown).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{PieceMask, mask_event, mask_value};
    use bridle_jail::SecretRedactor;
    use bridle_loop::{EffectId, Event, Outcome};
    use bridle_sexp::read_one;
    use std::sync::Arc;

    fn secrets() -> SecretRedactor {
        SecretRedactor::new([("key", b"s3cr3t-value".as_slice())])
    }

    fn check(form: &str, expect: &str) {
        let mut value = read_one(form).expect("a form").root().to_value();
        assert_eq!(mask_value(&mut value, &secrets()), form != expect, "{form}");
        assert_eq!(value.to_string(), expect);
    }

    #[test]
    fn values_lose_secrets_wherever_they_stand() {
        check(
            r#"(:a "x s3cr3t-value" #("s3cr3t-value") (b . "s3cr3t-value"))"#,
            r#"(:a "x [secret key]" #("[secret key]") (b . "[secret key]"))"#,
        );
        check("(:token s3cr3t-value :n 12)", r#"(:token "[secret key]" :n 12)"#);
        check(r##"#("s3cr3t-value!" 0 3 (face bold))"##, r#""[secret key]!""#);
        check(r#"(:a "nothing")"#, r#"(:a "nothing")"#);
    }

    #[test]
    fn outcomes_lose_secrets() {
        let outcome = Outcome::Failed("401 for s3cr3t-value".into());
        let mut event = Event::Acted { effect: EffectId(1), outcome };
        mask_event(&mut event, &secrets());
        let Event::Acted { outcome: Outcome::Failed(reason), .. } = event else { panic!("same") };
        assert_eq!(&*reason, "401 for [secret key]");
    }

    #[test]
    fn a_secret_cut_in_two_is_not_shown() {
        let mask = PieceMask::new(Arc::new(secrets()));
        let shown: String = ["is s3cr3t", "-value and", " more"].map(|it| mask.pass(it)).concat();
        assert_eq!(shown, "is [secret key] and more");
        assert_eq!(PieceMask::new(Arc::default()).pass("all"), "all");
    }
}
