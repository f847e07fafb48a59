//! Requests of an owner about providers of models: which models a server has, and whether a model answers.
//!
//! Called by `query`. Both ask the provider in force, with the daemon's own keys, and put nothing of the memory or of a
//! session into the question.

use std::sync::Arc;
use std::time::Duration;

use bridle_model_host::{ModelSeat, advice, try_model};
use bridle_sexp::Value;

use crate::engine::error::EngineError;
use crate::engine::home::models::HomeModels;
use crate::engine::hub::Hub;
use crate::engine::queries::query::success;

/// Longest wait for one model: somebody sits in front of it.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Models of one request that are asked.
const MAX_TESTED_MODELS: usize = 16;

/// Models of a server that are told.
const MAX_TOLD_MODELS: usize = 1000;

/// Reason for a request that names nobody.
const NO_PROVIDER: &str = "expected the name of a provider in force, such as `ollama`";

/// Reason for a request that names no model in force.
const NO_MODEL: &str = "expected a model in force, such as `ollama/qwen3:8b`";

/// Reason for a daemon that has another thinker.
const NO_MODELS: &str = "this daemon asks no models: the setting `thinker` names another thinker";

/// Request about providers.
#[derive(Debug)]
pub(crate) enum ProviderQuery {
    /// One small question to this model or the first of this provider; to the first of every one without a name.
    Test(Option<String>),
    /// The models that the server of a provider has.
    Models(String),
}

impl ProviderQuery {
    /// Reads a request; `None` when it is about something else.
    pub(super) fn of(action: &Value, payload: &Value) -> Option<Result<Self, EngineError>> {
        let named = |key: &str| payload.get(key).and_then(Value::as_str).map(str::to_owned);
        if action.is_keyword("provider-test") {
            Some(Ok(Self::Test(named("model").or_else(|| named("provider")))))
        } else if action.is_keyword("provider-models") {
            let missing = || EngineError::invalid("provider", NO_PROVIDER);
            Some(named("provider").map(Self::Models).ok_or_else(missing))
        } else {
            None
        }
    }
}

/// Answers a request of an owner.
///
/// # Errors
/// There is no such provider or model, or it does not say which models it has.
pub(super) async fn answer(hub: &Hub, asked: ProviderQuery) -> Result<Value, EngineError> {
    let models =
        hub.home.abilities.models.get().ok_or_else(|| EngineError::invalid("action", NO_MODELS))?;
    match asked {
        ProviderQuery::Test(name) => {
            let seats = models.registry.seats_named(name.as_deref());
            if seats.is_empty() {
                return Err(EngineError::invalid("model", NO_MODEL));
            }
            let mut tests = Vec::new();
            for seat in seats.iter().take(MAX_TESTED_MODELS) {
                tests.push(tested(models, seat).await);
            }
            Ok(success("provider-test", [("tests", Value::list(tests))]))
        }
        ProviderQuery::Models(name) => {
            let set = models.registry.current();
            let unknown = || EngineError::invalid("provider", NO_PROVIDER);
            let provider = set.provider(&name).ok_or_else(unknown)?;
            let listed = models.exchanger.served_models(provider).await;
            let served = listed
                .map_err(|error| EngineError::invalid("provider", format!("`{name}`: {error}")))?;
            let told = served
                .iter()
                .take(MAX_TOLD_MODELS)
                .map(|model| told(&model.name, model.context_tokens, model.max_output_tokens));
            let told = Value::list(told);
            Ok(success("provider-models", [("provider", Value::str(name)), ("models", told)]))
        }
    }
}

/// One model, asked.
async fn tested(models: &Arc<HomeModels>, seat: &ModelSeat) -> Value {
    let price = models.prices.schedule(seat);
    let asked = try_model(&models.exchanger, seat, price.as_ref());
    let name = ("model", Value::str(seat.name()));
    let failed = |why: String, hint: String| {
        let pairs = [
            name.clone(),
            ("ok", Value::Nil),
            ("error", Value::str(why)),
            ("hint", Value::str(hint)),
        ];
        Value::plist(pairs)
    };
    match tokio::time::timeout(TEST_TIMEOUT, asked).await {
        Err(_) => {
            let why = format!("no answer within {} s", TEST_TIMEOUT.as_secs());
            failed(why, "the server may be loading the model: try again".to_owned())
        }
        Ok(Err(error)) => failed(error.to_string(), advice(&error, seat)),
        Ok(Ok(trial)) => {
            let usage = trial.usage;
            let pairs = [
                ("ok", Some(Value::bool(true))),
                ("answer", Some(Value::str(trial.text))),
                ("first-byte-ms", Some(number(trial.first_byte.as_millis()))),
                ("total-ms", Some(number(trial.total.as_millis()))),
                ("attempts", Some(Value::int(trial.attempts.into()))),
                ("input-tokens", usage.input_tokens.map(number)),
                ("output-tokens", usage.output_tokens.map(number)),
                ("cost-microdollars", trial.cost.map(|cost| number(cost.0))),
            ];
            // What is not known is not there.
            let known = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
            Value::plist(std::iter::once(name).chain(known))
        }
    }
}

/// A model of a server; what the server does not say is not there.
fn told(name: &str, context: Option<u32>, output: Option<u32>) -> Value {
    let pairs = [
        ("model", Some(Value::str(name))),
        ("context", context.map(number)),
        ("output", output.map(number)),
    ];
    Value::plist(pairs.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

fn number(count: impl TryInto<i64>) -> Value {
    Value::int(count.try_into().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use bridle_sexp::{Value, read_one};

    use super::ProviderQuery;

    fn of(text: &str) -> Option<String> {
        let payload: Value = read_one(text).unwrap().root().to_value();
        let asked = ProviderQuery::of(payload.get("action")?, &payload)?;
        Some(asked.map_or_else(|error| error.code.as_str().to_owned(), |it| format!("{it:?}")))
    }

    #[test]
    fn requests_about_providers_are_read() {
        assert_eq!(of("(:action :provider-test)").as_deref(), Some("Test(None)"));
        assert_eq!(
            of("(:action :provider-test :model \"a/b\")").as_deref(),
            Some("Test(Some(\"a/b\"))")
        );
        assert_eq!(
            of("(:action :provider-models :provider \"a\")").as_deref(),
            Some("Models(\"a\")")
        );
        assert_eq!(of("(:action :provider-models)").as_deref(), Some("invalid-value"));
        assert_eq!(of("(:action :sessions)"), None);
    }
}
