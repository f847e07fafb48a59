//! Consultants, objections and held proposals as values.

use bridle_sexp::Value;

use super::{
    ConsultFinding, ConsultObjection, ConsultStage, ConsultSubject, ConsultantRef, HeldProposals,
};
use crate::act;
use crate::effect::ProposalAuthor;
use crate::event::Proposal;
use crate::ids::{EffectId, KeywordName};
use crate::plist_codec::{
    FieldSink, PlistBuilder, UnreadableValue, element_name, flag, list, name, optional_name,
    optional_number, optional_text, required, text,
};

impl ConsultantRef {
    pub(crate) fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put("name", self.name.to_value())
            .put_list("stages", self.stages.iter().map(|stage| Value::keyword(stage.word())))
            .put_flag("guard", self.is_guard)
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let stage = |value: &Value| {
            let word = element_name(value)?;
            let stage = ConsultStage::parse(word.as_str());
            stage.ok_or(UnreadableValue::new("stages", "`perceive`, `think` or `judge`"))
        };
        Ok(Self {
            name: name(value, "name")?,
            stages: list(value, "stages", stage)?,
            is_guard: flag(value, "guard")?,
        })
    }
}

impl ConsultFinding {
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        let fields = fields.put_word("by", self.by.as_str());
        let fields = match self.proposal {
            Some(place) => fields.put_number("proposal", place),
            None => fields,
        };
        match &self.objection {
            ConsultObjection::Veto => fields.put_word("objection", "veto"),
            ConsultObjection::Ask => fields.put_word("objection", "ask"),
            ConsultObjection::Narrow(bounds) => {
                fields.put_word("objection", "narrow").put_value("bounds", bounds)
            }
            ConsultObjection::Withhold(target) => {
                fields.put_word("objection", "withhold").put_word("target", target.as_str())
            }
        }
        .put_str("reason", act::cut(&self.reason, super::MAX_REASON_BYTES))
    }

    pub(crate) fn to_value(&self) -> Value {
        self.put(PlistBuilder::new()).done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let proposal = optional_number(value, "proposal")?;
        Ok(Self {
            by: name(value, "by")?,
            proposal: proposal.map(|place| usize::try_from(place).unwrap_or(usize::MAX)),
            objection: match name(value, "objection")?.as_str() {
                "veto" => ConsultObjection::Veto,
                "ask" => ConsultObjection::Ask,
                "narrow" => ConsultObjection::Narrow(required(value, "bounds")?.clone().into()),
                "withhold" => ConsultObjection::Withhold(name(value, "target")?),
                _ => {
                    let known = "`veto`, `ask`, `narrow` or `withhold`";
                    return Err(UnreadableValue::new("objection", known));
                }
            },
            reason: text(value, "reason")?,
        })
    }
}

impl HeldProposals {
    pub(crate) fn to_value(&self) -> Value {
        PlistBuilder::new()
            .put("by", Value::keyword(self.by.word()))
            .put_some("thought", self.thought.map(|id| i64::try_from(id.0).unwrap_or(i64::MAX)))
            .put_text("text", Some(&*self.text).filter(|text| !text.is_empty()))
            .put_list("proposals", self.proposals.iter().map(Proposal::to_value))
            .done()
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        Ok(Self {
            by: ProposalAuthor::from_value(value)?,
            thought: optional_number(value, "thought")?.map(EffectId),
            text: optional_text(value, "text")?.unwrap_or_default(),
            proposals: list(value, "proposals", Proposal::from_value)?,
        })
    }
}

/// The thinker that an advice names.
pub(crate) fn thinker(value: &Value) -> Result<Option<KeywordName>, UnreadableValue> {
    optional_name(value, "thinker")
}

impl ConsultSubject {
    /// Writes the stage, where it is not the first, and how much is asked about.
    pub(crate) fn put<F: FieldSink>(&self, fields: F) -> F {
        match self {
            Self::Signal => fields,
            Self::Thought(_) => fields.put_word("stage", self.stage().word()),
            Self::Proposals { by, proposals } => fields
                .put_word("stage", self.stage().word())
                .put_word("by", by.word())
                .put_number("asked-about", proposals.len()),
        }
    }
}
