//! Thoughts as values: what `drafted` records and the State hold of them. Keys that would hold nothing are
//! left out, so that a draft of proposals alone is written as it always was.

use std::sync::Arc;

use bridle_sexp::Value;

use super::{
    CallEnd, DraftStop, ModelRef, OpaqueText, ResultReference, RoundCall, ThoughtRound, TokenUsage,
};
use crate::effect::{Deed, ProposalRejection};
use crate::hash::TextDigest;
use crate::ids::{CallId, Seq};
use crate::plist_codec::{
    FieldSink, PlistBuilder, UnreadableValue, effect_id, flag, list, number, optional_name,
    optional_number, optional_text, required, text,
};
use crate::privacy::Privacy;

impl ModelRef {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_str("name", &self.name)
            .put_name("tier", self.tier.as_ref())
            .put_text("served", self.served.as_deref())
            .put_text("digest", self.digest.as_deref())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            name: text(value, "name")?,
            tier: optional_name(value, "tier")?,
            served: optional_text(value, "served")?,
            digest: optional_text(value, "digest")?,
        })
    }

    /// Writes the thinker under `:model`, if it is known.
    pub(crate) fn put_under<F: FieldSink>(model: Option<&Self>, fields: F) -> F {
        match model {
            Some(model) => fields.put_fields("model", |inside| model.put(inside)),
            None => fields,
        }
    }

    /// Reads the thinker under `:model`.
    pub(crate) fn under(value: &Value) -> Result<Option<Self>, UnreadableValue> {
        value.get("model").map(Self::from_value).transpose()
    }
}

impl TokenUsage {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let counts = [
            ("input", self.input),
            ("output", self.output),
            ("cache-read", self.cache_read),
            ("cache-write", self.cache_write),
            ("reasoning", self.reasoning),
        ];
        let known = counts.into_iter().filter_map(|(key, count)| Some((key, count?)));
        known
            .fold(fields, |fields, (key, count)| fields.put_number(key, count))
            .put_some("cost-microdollars", self.cost_microdollars)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let cost = value.get("cost-microdollars").map(|cost| {
            cost.as_i64().ok_or(UnreadableValue::new("cost-microdollars", "an integer"))
        });
        Ok(Self {
            input: optional_number(value, "input")?,
            output: optional_number(value, "output")?,
            cache_read: optional_number(value, "cache-read")?,
            cache_write: optional_number(value, "cache-write")?,
            reasoning: optional_number(value, "reasoning")?,
            cost_microdollars: cost.transpose()?,
        })
    }
}

impl DraftStop {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::End, Self::Calls, Self::Length, Self::Filtered, Self::Refused];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Calls => "calls",
            Self::Length => "length",
            Self::Filtered => "filtered",
            Self::Refused => "refused",
        }
    }

    pub(crate) fn put<F: FieldSink>(self, fields: F) -> F {
        match self == Self::default() {
            true => fields,
            false => fields.put_word("stop", self.word()),
        }
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let Some(word) = optional_name(value, "stop")? else { return Ok(Self::default()) };
        let stop = Self::ALL.into_iter().find(|stop| stop.word() == word.as_str());
        stop.ok_or(UnreadableValue::new("stop", "the end of a draft"))
    }
}

impl ThoughtRound {
    pub(crate) fn to_value(&self) -> Value {
        let plist = PlistBuilder::new()
            .put_number("thought", self.thought.0)
            .put_text("text", Some(&*self.text).filter(|text| !text.is_empty()))
            .put_text("opaque", self.opaque.as_ref().map(|opaque| &*opaque.0));
        self.privacy
            .put(self.stop.put(ModelRef::put_under(self.model.as_deref(), plist)))
            .put_list("calls", self.calls.iter().map(RoundCall::to_value))
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Arc<Self>, UnreadableValue> {
        Ok(Arc::new(Self {
            thought: effect_id(value, "thought")?,
            text: optional_text(value, "text")?.unwrap_or_default(),
            opaque: optional_text(value, "opaque")?.map(OpaqueText),
            model: ModelRef::under(value)?.map(Arc::new),
            stop: DraftStop::from_value(value)?,
            privacy: Privacy::from_value(value)?,
            calls: list(value, "calls", RoundCall::from_value)?,
        }))
    }
}

impl RoundCall {
    fn to_value(&self) -> Value {
        let plist = PlistBuilder::new()
            .put_text("call", self.call.as_ref().map(CallId::as_str))
            .put_name("target", self.target.as_ref())
            .put_value("arguments", &self.arguments);
        match &self.end {
            CallEnd::Open => plist,
            CallEnd::Said => plist.put_flag("said", true),
            CallEnd::Deed(deed) => plist.put("deed", deed.to_value_without_arguments()),
            CallEnd::Rejected(rejection) => plist.put("rejected", rejection.to_value()),
        }
        .done()
    }

    fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let arguments = Arc::new(required(value, "arguments")?.clone());
        let call = optional_text(value, "call")?.map(|id| CallId::new(&id));
        let end = match (value.get("deed"), value.get("rejected")) {
            (Some(deed), _) => {
                let deed = Deed::from_value(deed)?;
                CallEnd::Deed(Arc::new(Deed {
                    call: call.clone(),
                    arguments: arguments.clone(),
                    ..Deed::clone(&deed)
                }))
            }
            (None, Some(rejected)) => CallEnd::Rejected(ProposalRejection::from_value(rejected)?),
            (None, None) if flag(value, "said")? => CallEnd::Said,
            (None, None) => CallEnd::Open,
        };
        Ok(Self { call, target: optional_name(value, "target")?, arguments, end })
    }
}

impl ResultReference {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        fields
            .put_number("seq", self.seq.0)
            .put_number("bytes", self.bytes)
            .put("digest", self.digest.to_string())
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            seq: Seq(number(value, "seq")?),
            bytes: number(value, "bytes")?,
            digest: TextDigest::from_value(value, "digest")?,
        })
    }
}
