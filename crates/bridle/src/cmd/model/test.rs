//! `bridle model test`: one small question to models, with time, tokens and price. Asked by the daemon that runs, since
//! it is its environment that counts, else from here.

use std::time::Duration;

use bridle_model_host::{ModelPrices, ModelSeat, advice, try_model};
use bridle_models::{MicroDollars, Provider};
use bridle_sexp::Value;
use bridle_shell::client::{ClientAuth, ClientOptions, DaemonTarget};
use bridle_shell::error::ErrorKind;
use bridle_shell::screen::neutral_line;
use bridle_shell::system::{SystemReply, SystemRequest, ask};
use bridle_shell::{DaemonAddress, ShellError};

use super::list::prices;
use super::{ModelPlace, block_on, exchanger, unknown};
use crate::args::model::ModelTestArgs;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

/// Longest wait for a daemon: it waits a minute for each model.
const TEST_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn run(args: &ModelTestArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let target = if args.here { None } else { own_daemon(&place) };
    let mut tests = Vec::new();
    match target {
        Some(target) if args.models.is_empty() => match asked(&[target], None)? {
            Some(told) => tests.extend(told),
            None => tests.extend(tested_here(&place, &args.models)?),
        },
        Some(target) => {
            for name in &args.models {
                match asked(std::slice::from_ref(&target), Some(name))? {
                    Some(told) => tests.extend(told),
                    None => tests.extend(tested_here(&place, std::slice::from_ref(name))?),
                }
            }
        }
        None => tests.extend(tested_here(&place, &args.models)?),
    }
    if tests.is_empty() {
        return Err(CommandFailure::new(BridleExit::NoInput, "no provider is in force")
            .hint("add one: bridle model add ollama; or see `bridle model list`"));
    }
    let lines = tests.iter().map(|test| if args.json { test.json() } else { test.told() });
    print(&lines.collect::<String>())?;
    let is_well = tests.iter().all(|test| test.outcome.is_ok());
    Ok(if is_well { BridleExit::Ok } else { BridleExit::Answered })
}

/// Result of one question.
#[derive(Debug)]
pub(crate) struct ModelTest {
    pub(crate) model: String,
    /// Numbers, or the reason why there is no answer and what to do.
    pub(crate) outcome: Result<TestNumbers, (String, String)>,
}

/// Times, tokens and price; what is not known is `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestNumbers {
    answer: String,
    first_byte_ms: u64,
    total_ms: u64,
    attempts: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    microdollars: Option<u64>,
}

/// The daemon on the socket of the settings; keys of the settings are for it alone.
fn own_daemon(place: &ModelPlace) -> Option<DaemonTarget> {
    let socket = place.settings.path("unix").filter(|socket| socket.exists())?;
    let options = ClientOptions { timeout: TEST_TIMEOUT, auth: ClientAuth::None };
    Some(DaemonTarget { addr: DaemonAddress::Unix(socket.to_path_buf()), options })
}

/// Has a daemon ask; `None` if none runs, or it asks no models.
pub(crate) fn asked(
    targets: &[DaemonTarget],
    name: Option<&str>,
) -> Result<Option<Vec<ModelTest>>, CommandFailure> {
    let action = ("action", Value::keyword("provider-test"));
    let model = name.map(|name| ("model", Value::str(name)));
    let payload = Value::plist(std::iter::once(action).chain(model));
    match ask(targets, &SystemRequest::Provider(payload)) {
        Ok(SystemReply::Done(told)) => {
            let tests = told.get("tests").and_then(Value::elements).unwrap_or_default();
            Ok(Some(tests.iter().map(ModelTest::of).collect()))
        }
        // It has another thinker, or has not yet read what was just saved: then it is asked from here.
        Ok(SystemReply::Not(_)) => Ok(None),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_absent(error: &ShellError) -> bool {
    error.kind() == ErrorKind::Unavailable
}

impl ModelTest {
    fn of(told: &Value) -> ModelTest {
        let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let count =
            |key: &str| told.get(key).and_then(Value::as_i64).and_then(|it| u64::try_from(it).ok());
        let is_ok = told.get("ok").is_some_and(|ok| !ok.is_nil());
        let numbers = TestNumbers {
            answer: text("answer"),
            first_byte_ms: count("first-byte-ms").unwrap_or_default(),
            total_ms: count("total-ms").unwrap_or_default(),
            attempts: count("attempts").unwrap_or(1),
            input_tokens: count("input-tokens"),
            output_tokens: count("output-tokens"),
            microdollars: count("cost-microdollars"),
        };
        let outcome = if is_ok { Ok(numbers) } else { Err((text("error"), text("hint"))) };
        ModelTest { model: text("model"), outcome }
    }

    fn told(&self) -> String {
        let model = neutral_line(&self.model);
        match &self.outcome {
            Ok(numbers) => {
                let tries = match numbers.attempts {
                    1 => String::new(),
                    more => format!(", {more} attempts"),
                };
                format!("{model}: ok, {numbers}{tries}\n  {}\n", neutral_line(&numbers.answer))
            }
            Err((why, hint)) => {
                format!("{model}: {}\n  hint: {}\n", neutral_line(why), neutral_line(hint))
            }
        }
    }

    fn json(&self) -> String {
        let null = || "null".to_owned();
        let number = |count: Option<u64>| count.map_or_else(null, |it| it.to_string());
        let numbers = self.outcome.as_ref().ok();
        let error = self.outcome.as_ref().err();
        let line = object(&[
            ("model", quoted(&self.model)),
            ("ok", numbers.is_some().to_string()),
            ("answer", numbers.map_or_else(null, |it| quoted(&it.answer))),
            ("first-byte-ms", number(numbers.map(|it| it.first_byte_ms))),
            ("total-ms", number(numbers.map(|it| it.total_ms))),
            ("attempts", number(numbers.map(|it| it.attempts))),
            ("input-tokens", number(numbers.and_then(|it| it.input_tokens))),
            ("output-tokens", number(numbers.and_then(|it| it.output_tokens))),
            ("cost-microdollars", number(numbers.and_then(|it| it.microdollars))),
            ("error", error.map_or_else(null, |it| quoted(&it.0))),
            ("hint", error.map_or_else(null, |it| quoted(&it.1))),
        ]);
        format!("{line}\n")
    }
}

impl std::fmt::Display for TestNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |count: Option<u64>| count.map_or("?".to_owned(), |it| it.to_string());
        let cost = self.microdollars.map(|it| MicroDollars(it).to_string());
        write!(
            f,
            "first byte {} ms, {} ms in all, {} + {} tokens, {}",
            self.first_byte_ms,
            self.total_ms,
            count(self.input_tokens),
            count(self.output_tokens),
            cost.unwrap_or_else(|| "price unknown".to_owned())
        )
    }
}

/// Asks models from here; without a name the first one of every provider.
pub(crate) fn tested_here(
    place: &ModelPlace,
    names: &[String],
) -> Result<Vec<ModelTest>, CommandFailure> {
    let review = place.review()?;
    let set = &review.in_force;
    let first = |provider: &Provider| {
        let model = provider.models.first()?.clone();
        Some(ModelSeat { provider: provider.clone(), model })
    };
    let named = |name: &String| {
        let of_provider = set.provider(name).and_then(first);
        let of_model = set.model(name).map(|(provider, model)| ModelSeat {
            provider: provider.clone(),
            model: model.clone(),
        });
        let is_waiting =
            review.waiting.iter().any(|it| name.split('/').next() == Some(&*it.saved.name));
        of_provider.or(of_model).ok_or_else(|| match is_waiting {
            true => {
                let what = format!("`{name}` waits for your yes");
                CommandFailure::new(BridleExit::Permission, what).hint("bridle model approve")
            }
            false => unknown(name),
        })
    };
    let seats: Vec<ModelSeat> = match names {
        [] => set.providers.iter().filter_map(first).collect(),
        names => names.iter().map(named).collect::<Result<_, _>>()?,
    };
    let prices = prices(&review)?;
    seats.iter().map(|seat| one(place, seat, &prices)).collect()
}

fn one(
    place: &ModelPlace,
    seat: &ModelSeat,
    prices: &ModelPrices,
) -> Result<ModelTest, CommandFailure> {
    let exchanger = exchanger(&place.settings)?;
    let price = prices.schedule(seat);
    let tried = block_on(try_model(&exchanger, seat, price.as_ref()))?;
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let outcome = match tried {
        Ok(trial) => Ok(TestNumbers {
            answer: trial.text,
            first_byte_ms: millis(trial.first_byte),
            total_ms: millis(trial.total),
            attempts: trial.attempts.into(),
            input_tokens: trial.usage.input_tokens,
            output_tokens: trial.usage.output_tokens,
            microdollars: trial.cost.map(|cost| cost.0),
        }),
        Err(error) => Err((error.to_string(), advice(&error, seat))),
    };
    Ok(ModelTest { model: seat.name(), outcome })
}
