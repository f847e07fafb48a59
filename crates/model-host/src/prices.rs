//! Prices of the models in force: what the file of providers states, else what the catalog of prices has.
//!
//! The catalog keeps 18 MiB once it was asked, so a daemon asks a short-lived child of its own program, `bridle
//! __prices`, when the providers change and once a day, and keeps the schedules. A model that nobody knows the price of
//! costs an unknown amount, which is not nothing.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use bridle_models::{
    CatalogLookup, MicroDollars, Price, PriceSchedule, PriceSource, PriceTier, ProviderSet,
    look_up_price,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::price_book::PriceBook;
use crate::registry::ModelSeat;

/// First argument of the program that answers for the catalog.
pub const PRICES_VERB: &str = "__prices";

/// Longest wait for it: unpacking takes 55 ms.
const CHILD_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of its answer that are read, and of its questions: 64 providers with 256 models fit.
pub const MAX_PRICE_LIST_BYTES: u64 = 16 << 20;

const DAY_MS: i64 = 86_400_000;

/// Catalog of prices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PriceCatalog {
    /// None: only the file knows.
    #[default]
    Absent,
    /// Asked in this process, which ends soon.
    Here,
    /// Asked in a child of this program.
    Program(PathBuf),
}

/// Prices, as far as they were learned.
#[derive(Debug, Default)]
pub struct ModelPrices {
    catalog: PriceCatalog,
    learned: RwLock<LearnedPrices>,
}

#[derive(Debug, Default)]
struct LearnedPrices {
    /// Day on which they were learned: prices have dates.
    day: i64,
    schedules: HashMap<PriceQuestion, Option<PriceSchedule>>,
}

/// Question to the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PriceQuestion {
    catalog: Option<String>,
    address: String,
    model: String,
}

impl ModelPrices {
    /// Prices from the file and this catalog. Nothing is asked yet.
    pub fn new(catalog: PriceCatalog) -> Self {
        Self { catalog, learned: RwLock::default() }
    }

    /// Returns what a model costs, as it was learned last; `None` where nobody knows.
    pub fn schedule(&self, seat: &ModelSeat) -> Option<PriceSchedule> {
        match &seat.model.price {
            PriceSource::Free => Some(PriceSchedule::flat(Price::FREE)),
            PriceSource::Stated(price) => Some(PriceSchedule::flat(*price)),
            PriceSource::Catalog => {
                let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
                learned.schedules.get(&PriceQuestion::of(seat)).cloned().flatten()
            }
        }
    }

    /// Asks the catalog for models of the set that are not known for this day; the time is in milliseconds since 1970.
    /// Tells whether it could be asked.
    pub async fn learn(&self, set: &ProviderSet, at: i64) -> bool {
        let day = at.div_euclid(DAY_MS);
        let missing = self.missing(set, day);
        if missing.is_empty() {
            return true;
        }
        let lines: String = missing.iter().map(|question| question.line(at)).collect();
        let answer = match &self.catalog {
            PriceCatalog::Absent => return true,
            PriceCatalog::Here => Some(answer_price_questions(&lines)),
            PriceCatalog::Program(program) => {
                let asked = ask_child(program.clone(), lines);
                tokio::time::timeout(CHILD_TIMEOUT, asked).await.ok().flatten()
            }
        };
        let Some(answer) = answer else {
            tracing::warn!(
                "the catalog of prices does not answer: costs of its models stay unknown"
            );
            return false;
        };
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if learned.day != day {
            (learned.day, learned.schedules) = (day, HashMap::new());
        }
        let schedules =
            answer.lines().map(|line| serde_json::from_str(line).ok().as_ref().and_then(schedule));
        learned.schedules.extend(missing.into_iter().zip(schedules));
        true
    }

    fn missing(&self, set: &ProviderSet, day: i64) -> Vec<PriceQuestion> {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let seats = set.providers.iter().flat_map(|provider| {
            let priced =
                |model: &&bridle_models::ProviderModel| model.price == PriceSource::Catalog;
            provider.models.iter().filter(priced).map(move |model| PriceQuestion {
                catalog: provider.catalog_name.clone(),
                address: provider.address.to_string(),
                model: model.name.clone(),
            })
        });
        seats.filter(|it| learned.day != day || !learned.schedules.contains_key(it)).collect()
    }
}

impl PriceQuestion {
    fn of(seat: &ModelSeat) -> Self {
        Self {
            catalog: seat.provider.catalog_name.clone(),
            address: seat.provider.address.to_string(),
            model: seat.model.name.clone(),
        }
    }

    fn line(&self, at: i64) -> String {
        let Self { catalog, address, model } = self;
        let at = at.div_euclid(1000);
        format!("{}\n", json!({"catalog": catalog, "address": address, "model": model, "at": at}))
    }
}

impl PriceBook for ModelPrices {
    /// Prices are those of the day on which they were learned.
    fn price(&self, seat: &ModelSeat, _: i64) -> Option<PriceSchedule> {
        self.schedule(seat)
    }
}

/// Answers questions to the catalog, one a line: what `bridle __prices` prints.
pub fn answer_price_questions(lines: &str) -> String {
    lines.lines().map(|line| format!("{}\n", answered(line).unwrap_or_default())).collect()
}

fn answered(line: &str) -> Option<Value> {
    let question: Value = serde_json::from_str(line).ok()?;
    let found = look_up_price(&CatalogLookup {
        catalog_name: question["catalog"].as_str(),
        address: question["address"].as_str()?,
        model: question["model"].as_str()?,
        at_seconds: question["at"].as_u64()?,
    })?;
    let tiers = found.schedule.tiers.iter().map(|tier| {
        let Price { input, output, cache_read, cache_write } = tier.price;
        let (read, write) = (cache_read.map(|it| it.0), cache_write.map(|it| it.0));
        json!([tier.from_prompt_tokens, input.0, output.0, read, write])
    });
    Some(Value::Array(tiers.collect()))
}

/// The schedule of an answer; `None` also for one that is none.
fn schedule(answer: &Value) -> Option<PriceSchedule> {
    let tier = |tier: &Value| {
        let optional = |at: usize| tier.get(at).and_then(Value::as_u64).map(MicroDollars);
        let price = Price {
            input: optional(1)?,
            output: optional(2)?,
            cache_read: optional(3),
            cache_write: optional(4),
        };
        Some(PriceTier { from_prompt_tokens: tier.get(0)?.as_u64()?, price })
    };
    let tiers: Option<Vec<PriceTier>> = answer.as_array()?.iter().map(tier).collect();
    tiers.filter(|tiers| !tiers.is_empty()).map(|tiers| PriceSchedule { tiers })
}

/// Has a child answer; it is killed when nobody waits for it any more. It gets nothing of the environment.
async fn ask_child(program: PathBuf, lines: String) -> Option<String> {
    let mut command = Command::new(program);
    command.arg(PRICES_VERB).env_clear().kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let (mut input, output) = (child.stdin.take()?, child.stdout.take()?);
    let told = async move {
        // A child that ends early says why by its answer.
        let _ = input.write_all(lines.as_bytes()).await;
    };
    let mut answer = String::new();
    let heard = async { output.take(MAX_PRICE_LIST_BYTES).read_to_string(&mut answer).await };
    let (_, heard) = tokio::join!(told, heard);
    heard.ok()?;
    child.wait().await.ok()?.success().then_some(answer)
}

#[cfg(test)]
mod tests {
    use bridle_models::{MicroDollars, ModelUsage, ProviderSet, read_providers};

    use super::{ModelPrices, PriceCatalog};
    use crate::registry::ModelSeat;

    /// 2026-11-19.
    const AT: i64 = 1_795_046_400_000;

    fn set() -> ProviderSet {
        let text = "* openai\n:PROPERTIES:\n:ADDRESS: https://api.openai.com/v1\n:CODEC: openai-chat\n\
                    :PRIVACY: remote\n:KEY: env:K\n:END:\n** gpt-4o-mini :cognition:\n** no-such-model :reflex:\n\
                    ** own :reasoning:\n:PROPERTIES:\n:PRICE: free\n:END:\n";
        let read = read_providers(text);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        ProviderSet { providers: read.providers }
    }

    fn seat(set: &ProviderSet, index: usize) -> ModelSeat {
        let provider = set.providers[0].clone();
        ModelSeat { model: provider.models[index].clone(), provider }
    }

    #[tokio::test]
    async fn the_file_knows_first_then_the_catalog_and_unknown_is_not_free() {
        let set = set();
        let prices = ModelPrices::new(PriceCatalog::Here);
        let usage = ModelUsage {
            input_tokens: Some(1_000_000),
            output_tokens: Some(0),
            ..ModelUsage::default()
        };
        let cost = |index| prices.schedule(&seat(&set, index)).map(|it| it.cost(&usage));
        assert_eq!([cost(0), cost(1), cost(2)], [None, None, Some(Some(MicroDollars(0)))]);
        assert!(prices.learn(&set, AT).await);
        assert_eq!([cost(0), cost(1)], [Some(Some(MicroDollars(150_000))), None]);
    }

    #[tokio::test]
    async fn a_catalog_that_does_not_answer_leaves_prices_unknown() {
        let set = set();
        for program in ["/nonexistent/bridle", "/bin/false", "/bin/cat"] {
            let prices = ModelPrices::new(PriceCatalog::Program(program.into()));
            prices.learn(&set, AT).await;
            assert_eq!(prices.schedule(&seat(&set, 0)), None, "{program}");
        }
    }
}
