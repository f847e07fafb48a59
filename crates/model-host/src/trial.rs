//! One small question to a model, to see whether it answers, how soon and for how much. Asked by the owner, who sees the
//! answer; nothing of the memory is in it.

use std::time::{Duration, Instant};

use bridle_host::CancelFlag;
use bridle_inference::{ExchangeOrder, InferenceError, ModelExchanger};
use bridle_models::{
    CallIdPrefix, MicroDollars, ModelMessage, ModelRequest, ModelUsage, PriceSchedule, StopReason,
};

use crate::registry::ModelSeat;

/// The question.
const QUESTION: &str = "Answer with the one word: ready";

/// Largest answer: room for a model that reasons first, and a fraction of a cent.
const MAX_ANSWER_TOKENS: u32 = 256;

/// Beginning of the answer that is shown.
const MAX_SHOWN_CHARS: usize = 80;

/// Result of the question.
#[derive(Clone, Debug)]
pub struct ModelTrial {
    /// Beginning of the answer; empty if all of it was reasoning.
    pub text: String,
    /// Reason why it ended.
    pub stop: StopReason,
    /// Time from the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Time for all of it, attempts that failed included.
    pub total: Duration,
    /// Attempts, from 1.
    pub attempts: u8,
    /// Tokens, as the server counted them.
    pub usage: ModelUsage,
    /// Cost; `None` is unknown.
    pub cost: Option<MicroDollars>,
}

/// Asks a model the question.
///
/// # Errors
/// There is no complete answer.
pub async fn try_model(
    exchanger: &ModelExchanger,
    seat: &ModelSeat,
    price: Option<&PriceSchedule>,
) -> Result<ModelTrial, InferenceError> {
    let mut request =
        ModelRequest::new(seat.model.name.as_str(), vec![ModelMessage::user(QUESTION)]);
    let most = seat.model.max_output_tokens.unwrap_or(MAX_ANSWER_TOKENS);
    request.max_output_tokens = Some(most.min(MAX_ANSWER_TOKENS));
    let order = ExchangeOrder {
        provider: seat.provider.clone(),
        model: seat.model.clone(),
        request,
        call_ids: CallIdPrefix("trial".to_owned()),
    };
    let begun = Instant::now();
    let done = exchanger.exchange(&order, &CancelFlag::new(), &|_| {}).await?;
    let total = begun.elapsed();
    let response = done.response;
    let stop = response.end.map_err(|failure| InferenceError::Provider(Box::new(failure)))?;
    let text = response.message.text();
    let usage = response.usage;
    Ok(ModelTrial {
        text: text.trim().chars().filter(|it| !it.is_control()).take(MAX_SHOWN_CHARS).collect(),
        stop,
        first_byte: done.first_byte,
        total,
        attempts: done.attempts,
        usage,
        cost: price.and_then(|price| price.cost(&usage)),
    })
}

/// Advice on what to do about an exchange that failed.
pub fn advice(error: &InferenceError, seat: &ModelSeat) -> String {
    use bridle_models::FailureKind as Kind;
    let provider = &seat.provider;
    let name = &provider.name;
    match error {
        InferenceError::Key(_) => match &provider.key {
            Some(bridle_models::KeySource::Secret(secret)) => {
                format!("keep the key: bridle secret set {secret} --host {}", provider.address.host)
            }
            Some(source) => format!(
                "put the key where `{source}` says, or keep it sealed: bridle model add {name} --key -"
            ),
            None => format!("name the source of its key as `:KEY:` of `{name}`"),
        },
        InferenceError::KeyHost(_) => "see `:HOSTS:` in docs/models.md".to_owned(),
        InferenceError::Client(_) => format!("see `:CA_FILE:` and `:PROXY:` of `{name}`"),
        InferenceError::Connect { .. } if provider.address.is_loopback() => {
            "start the server, or correct `:ADDRESS:` in models.org".to_owned()
        }
        InferenceError::Connect { .. } => {
            "check the network, the proxy and `:ADDRESS:` in models.org".to_owned()
        }
        InferenceError::Silent { .. } | InferenceError::Overlong(_) => {
            "the server may be loading the model: try again, or raise `:TIMEOUT_FIRST_BYTE:`"
                .to_owned()
        }
        InferenceError::Provider(failure) => match failure.kind {
            Kind::Authentication => {
                "the key was refused: make a new one at the provider".to_owned()
            }
            Kind::NotFound => {
                format!("`bridle model list --served {name}` shows the models that it has")
            }
            _ => "the provider's own status page may say more".to_owned(),
        },
        InferenceError::Skill { skill, .. } => {
            format!(
                "see `bridle skill list` in the daemon's home, and `:CODEC_SKILL:` of `{name}`: {skill}"
            )
        }
        InferenceError::Request(_) | InferenceError::Canceled => String::new(),
    }
}
