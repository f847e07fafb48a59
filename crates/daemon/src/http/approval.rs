//! A question of the guard as a directive: `request_approval`.
//!
//! `to_response` calls it for shells that can ask their user and bring the answer back. The record of
//! the answer holds everything that it shows; `continuation` reads the verdict.

use bridle_loop::ActionHash;
use bridle_sexp::Value;
use bridle_wire::openharness::Directive;
use bridle_wire::openharness::directive::RiskTier;
use bridle_wire::openharness::ids::{ActionType, ApprovalId, OptionId, Timestamp};
use bridle_wire::openharness::payload::{
    ApprovalOption, ApprovalSubject, OptionKind, RequestApproval,
};

use super::continuation::{ALLOW, OfferedQuestion, REJECT};
use super::shell_description::ShellDescription;
use crate::access::principal::Principal;

/// Prefix of the action types of this engine.
const ACTION_TYPE_PREFIX: &str = "dev.bridle.";

/// The heading of a question.
const TITLE: &str = "Approval needed";

/// A question that was recorded.
#[derive(Debug)]
pub(super) struct RecordedQuestion<'v> {
    name: &'v str,
    text: &'v str,
    action: String,
    risk: RiskTier,
    wanted: &'v str,
    /// All bytes of what is wanted, if only its beginning is shown.
    bytes: Option<i64>,
    hash: ActionHash,
    effect: u64,
    expires: i64,
    who: Vec<&'v str>,
}

impl<'v> RecordedQuestion<'v> {
    /// The questions of an answer that waits for them.
    pub(super) fn all(payload: &'v Value) -> Vec<RecordedQuestion<'v>> {
        let listed = payload.get("questions").and_then(Value::elements).unwrap_or_default();
        listed.iter().filter_map(RecordedQuestion::of).collect()
    }

    fn of(value: &'v Value) -> Option<RecordedQuestion<'v>> {
        let text = |key| value.get(key).and_then(Value::as_str);
        let who = value.get("who").and_then(Value::elements).unwrap_or_default();
        let action = value.get("action").and_then(Value::as_keyword)?.to_ascii_lowercase();
        Some(RecordedQuestion {
            name: text("approval")?,
            text: text("question")?,
            action,
            risk: risk(value),
            wanted: text("wanted")?,
            bytes: value.get("bytes").and_then(Value::as_i64),
            hash: ActionHash::parse(text("hash")?)?,
            effect: value.get("effect")?.as_i64().and_then(|effect| u64::try_from(effect).ok())?,
            expires: value.get("expires")?.as_i64()?,
            who: who.iter().filter_map(Value::as_str).collect(),
        })
    }

    /// Tells whether it is worth asking somebody: whether the answer can count is for the policies
    /// of that moment, but not everybody is asked in vain.
    pub(super) fn is_for(&self, who: &Principal) -> bool {
        let asker = who.asker();
        who.permits(bridle_loop::SessionAccess::Approve)
            && (asker.owner || self.who.contains(&&*asker.principal))
    }

    /// Returns the claim about the question that the token of the answer holds.
    pub(super) fn asked(&self, index: usize) -> OfferedQuestion {
        OfferedQuestion { index, effect: self.effect, hash: self.hash, expires: self.expires }
    }

    /// The directive.
    pub(super) fn directive(&self, about: &ShellDescription) -> Directive {
        let wanted = about.printable(self.wanted);
        let wanted = match self.bytes {
            Some(bytes) => format!("{wanted} .. (the beginning of {bytes} bytes)"),
            None => wanted.into_owned(),
        };
        let message = format!("{}: {wanted}", self.text);
        let fallback =
            format!("{TITLE}, question `{}`: {message} (answer it in another shell)", self.name);
        let subject = ActionType::new(format!("{ACTION_TYPE_PREFIX}{}", self.action)).ok();
        let subject = subject.map(|action_type| ApprovalSubject {
            action_type,
            summary: Some(wanted),
            payload_digest: Some(format!("blake3:{}", self.hash)),
        });
        Directive::request_approval(&RequestApproval {
            approval_id: ApprovalId::new(self.name).expect("a session and a number are short"),
            title: Some(TITLE.to_owned()),
            message,
            fallback_message: Some(fallback),
            risk_tier: Some(self.risk),
            options: vec![
                option(ALLOW, "Allow once", OptionKind::AllowOnce),
                option(REJECT, "Reject", OptionKind::RejectOnce),
            ],
            subject,
            response_schema: None,
            expires_at: Some(Timestamp::from_unix_ms(self.expires)),
        })
    }
}

fn option(id: &str, label: &str, kind: OptionKind) -> ApprovalOption {
    let option_id = OptionId::new(id).expect("our options are short");
    ApprovalOption { option_id, label: label.to_owned(), kind }
}

/// Reads the risk; an unknown word is dangerous.
fn risk(value: &Value) -> RiskTier {
    let says = |word| value.get("risk").is_some_and(|risk: &Value| risk.is_keyword(word));
    if says("safe") {
        RiskTier::Safe
    } else if says("caution") {
        RiskTier::Caution
    } else {
        RiskTier::Dangerous
    }
}
