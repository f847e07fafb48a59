//! Which model is asked: the one that the prompt names, the one that the turn began with, else those of its tier in the
//! order of the file. Others stand in where none of these can be reached, and never one whose reach is wider.

use bridle_loop::{Privacy, ThinkerPrompt};
use bridle_models::{ModelTier, ProviderPrivacy};
use bridle_sexp::Value;

use crate::prompt::label_of;
use crate::registry::{ModelSeat, ProviderRegistry};

/// A model that may be asked, and the reason for it.
#[derive(Clone, Debug)]
pub(crate) struct ModelCandidate {
    pub(crate) seat: ModelSeat,
    pub(crate) because: String,
}

/// Models that may be asked for a prompt, in their order.
///
/// # Errors
/// The prompt names a model or a tier that is not there.
pub(crate) fn candidates(
    registry: &ProviderRegistry,
    prompt: &ThinkerPrompt,
) -> Result<Vec<ModelCandidate>, String> {
    let payload = &prompt.context.signal.payload;
    let is_secret = label_of(payload) == Privacy::Secret;
    if let Some(name) = payload.get("model").and_then(Value::as_str) {
        let seat = registry.named(name);
        let seat = seat.ok_or_else(|| format!("no model `{name}` is in `models.org`"))?;
        if is_secret && is_remote(&seat) {
            return Err(format!("the prompt is marked secret, and `{name}` is elsewhere"));
        }
        return Ok(vec![ModelCandidate { seat, because: "named by the prompt".to_owned() }]);
    }
    let tier = tier_of(payload)?;
    let word = tier.as_str();
    let because = format!("first of the tier {word}");
    let mut found: Vec<ModelCandidate> = Vec::new();
    for seat in registry.cascade(tier) {
        let has_tier = seat.model.tiers.contains(&tier);
        let because = match (found.is_empty(), has_tier) {
            (true, true) => because.clone(),
            (true, false) => format!("no model has the tier {word}, and this is the next best"),
            (false, _) => format!("next of the tier {word}"),
        };
        found.push(ModelCandidate { seat, because });
    }
    found.retain(|one| !is_secret || !is_remote(&one.seat));
    let may_be_remote = !is_secret && found.first().is_some_and(|first| is_remote(&first.seat));
    found.retain(|one| may_be_remote || !is_remote(&one.seat));
    for other in ModelTier::ALL {
        for seat in registry.cascade(other) {
            let is_known = found.iter().any(|one| one.seat == seat);
            if !is_known && (may_be_remote || !is_remote(&seat)) {
                let because = format!("stands in for the tier {word}");
                found.push(ModelCandidate { seat, because });
            }
        }
    }
    if is_secret && found.is_empty() && registry.has_model() {
        return Err("the prompt is marked secret, and no model is on this machine".to_owned());
    }
    go_on_with(&mut found, registry, prompt);
    Ok(found)
}

fn is_remote(seat: &ModelSeat) -> bool {
    seat.provider.privacy == ProviderPrivacy::Remote
}

/// The tier that a prompt asks for.
fn tier_of(payload: &Value) -> Result<ModelTier, String> {
    let Some(word) = payload.get("tier").filter(|word| !word.is_nil()) else {
        return Ok(ModelTier::Cognition);
    };
    let found = ModelTier::ALL.into_iter().find(|tier| word.is_keyword(tier.as_str()));
    found.ok_or_else(|| format!("tier `{word}`, expected `:reflex`, `:cognition` or `:reasoning`"))
}

/// Puts the model of the last round first: its state is of use to it alone.
fn go_on_with(
    found: &mut Vec<ModelCandidate>,
    registry: &ProviderRegistry,
    prompt: &ThinkerPrompt,
) {
    let last = prompt.rounds.last().and_then(|round| round.model.as_ref());
    let Some(seat) = last.and_then(|model| registry.named(&model.name)) else { return };
    let place = found.iter().position(|one| one.seat == seat);
    // A turn that was on the user's machine stays there, and one that was elsewhere had its reason.
    let Some(place) = place else { return };
    let because = "goes on with the model of this turn".to_owned();
    found.remove(place);
    found.insert(0, ModelCandidate { seat, because });
}
