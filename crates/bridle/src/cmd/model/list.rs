//! `bridle model list`: providers and models as a daemon takes them up, with what waits and what is wrong.

use std::time::{SystemTime, UNIX_EPOCH};

use bridle_model_host::{ModelPrices, ModelSeat, PriceCatalog, ProviderReview};
use bridle_models::{Price, PriceSchedule, Provider, ProviderModel};
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable, neutral_line};

use super::{ModelPlace, block_on, changes_json, exchange_failure, exchanger, unknown};
use crate::args::model::ModelListArgs;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted, strings};

pub(super) fn run(args: &ModelListArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let review = place.review()?;
    if let Some(name) = &args.served {
        return served(&place, &review, name, args.json);
    }
    let rows = rows(&review);
    let prices = prices(&review)?;
    print(&match args.json {
        true => {
            rows.iter().map(|row| row.json(&review, &prices)).chain(faults_json(&review)).collect()
        }
        false => table(&rows, &prices) + &remarks(&review),
    })?;
    Ok(if review.problems.is_empty() { BridleExit::Ok } else { BridleExit::Answered })
}

/// Prices of everything that is listed, from the file or the catalog.
pub(super) fn prices(review: &ProviderReview) -> Result<ModelPrices, CommandFailure> {
    let prices = ModelPrices::new(PriceCatalog::Here);
    let waiting = review.waiting.iter().map(|waiting| waiting.saved.clone());
    let providers = review.in_force.providers.iter().cloned().chain(waiting).collect();
    block_on(prices.learn(&bridle_models::ProviderSet { providers }, now_ms()))?;
    Ok(prices)
}

/// The present, in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Model of the list.
struct ModelRow<'r> {
    provider: &'r Provider,
    model: &'r ProviderModel,
    /// `in-force`, `old` (approved settings serve) or `waiting`.
    status: &'static str,
}

fn rows(review: &ProviderReview) -> Vec<ModelRow<'_>> {
    let is_waiting = |name: &str| review.waiting.iter().any(|it| it.saved.name == name);
    let is_broken =
        |name: &str| review.problems.iter().any(|it| it.provider.as_deref() == Some(name));
    let status = |provider: &Provider| match provider.name.as_str() {
        name if is_waiting(name) || is_broken(name) => "old",
        _ => "in-force",
    };
    let in_force = review.in_force.providers.iter().map(|it| (it, status(it)));
    let new = review.waiting.iter().filter(|it| it.is_new()).map(|it| (&it.saved, "waiting"));
    in_force
        .chain(new)
        .flat_map(|(provider, status)| {
            provider.models.iter().map(move |model| ModelRow { provider, model, status })
        })
        .collect()
}

impl ModelRow<'_> {
    fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.model.name)
    }

    fn tiers(&self) -> Vec<&'static str> {
        self.model.tiers.iter().map(|tier| tier.as_str()).collect()
    }

    fn schedule(&self, prices: &ModelPrices) -> Option<PriceSchedule> {
        let seat = ModelSeat { provider: self.provider.clone(), model: self.model.clone() };
        prices.schedule(&seat)
    }

    fn json(&self, review: &ProviderReview, prices: &ModelPrices) -> String {
        let number = |count: Option<u64>| count.map_or("null".to_owned(), |it| it.to_string());
        let first = self.schedule(prices).and_then(|it| it.tiers.first().map(|tier| tier.price));
        let tiers: Vec<Box<str>> = self.tiers().into_iter().map(Into::into).collect();
        let waiting = review.waiting.iter().find(|it| it.saved.name == self.provider.name);
        let changes = waiting.map(|it| changes_json(&it.changes));
        let key = self.provider.key.as_ref().map(|key| quoted(&key.to_string()));
        let line = object(&[
            ("model", quoted(&self.name())),
            ("status", quoted(self.status)),
            ("tiers", strings(&tiers)),
            ("context", number(self.model.context_tokens.map(u64::from))),
            ("output", number(self.model.max_output_tokens.map(u64::from))),
            ("privacy", quoted(self.provider.privacy.as_str())),
            ("address", quoted(&self.provider.address.to_string())),
            ("codec", quoted(self.provider.codec.as_str())),
            ("key", key.unwrap_or_else(|| "null".to_owned())),
            ("input-microdollars", number(first.map(|it| it.input.0))),
            ("output-microdollars", number(first.map(|it| it.output.0))),
            ("waiting", changes.unwrap_or_else(|| "[]".to_owned())),
        ]);
        format!("{line}\n")
    }
}

fn faults_json(review: &ProviderReview) -> impl Iterator<Item = String> {
    review.problems.iter().map(|problem| {
        let line = object(&[
            ("provider", problem.provider.as_deref().map_or("null".to_owned(), quoted)),
            ("status", quoted("faulty")),
            ("line", problem.line.to_string()),
            ("reason", quoted(&problem.reason)),
            ("instead", quoted(&problem.instead)),
        ]);
        format!("{line}\n")
    })
}

fn table(rows: &[ModelRow<'_>], prices: &ModelPrices) -> String {
    let mut table = TextTable::new([
        TableColumn::text("MODEL").shrinks(),
        TableColumn::text("TIERS"),
        TableColumn::number("CONTEXT").optional(),
        TableColumn::text("PRIVACY"),
        TableColumn::text("PRICE IN/OUT, A MILLION").optional(),
        TableColumn::text("STATE"),
    ]);
    for row in rows {
        let context = row.model.context_tokens.map_or("?".to_owned(), |it| it.to_string());
        let price = row.schedule(prices);
        table.push_row([
            &*row.name(),
            &row.tiers().join(" "),
            &context,
            row.provider.privacy.as_str(),
            &price_words(price.as_ref()),
            row.status,
        ]);
    }
    table.render(OutputScreen::of_stdout(), "no models yet: `bridle model add ollama` adds one")
}

/// A price in words; unknown is said as unknown.
pub(super) fn price_words(schedule: Option<&PriceSchedule>) -> String {
    let Some(schedule) = schedule else { return "unknown".to_owned() };
    match schedule.tiers.first().map(|tier| tier.price) {
        Some(price) if price == Price::FREE => "free".to_owned(),
        Some(Price { input, output, .. }) => {
            let more = if schedule.tiers.len() > 1 { ", more for long prompts" } else { "" };
            format!("{input} / {output}{more}")
        }
        None => "unknown".to_owned(),
    }
}

fn remarks(review: &ProviderReview) -> String {
    let faults = review.problems.iter().map(|it| format!("! models.org, {it}\n"));
    let notices =
        review.notices.iter().map(|it| format!("! models.org, line {}: {}\n", it.line, it.text));
    let waiting = review.waiting.iter().map(|it| {
        let fields: Vec<&str> = it.changes.iter().map(|it| it.field.as_str()).collect();
        let name = &it.saved.name;
        format!("{name}: {} wait for your yes: bridle model approve {name}\n", fields.join(", "))
    });
    faults.chain(notices).chain(waiting).collect()
}

/// The models that a server has.
fn served(
    place: &ModelPlace,
    review: &ProviderReview,
    name: &str,
    json: bool,
) -> Result<BridleExit, CommandFailure> {
    let provider = review.in_force.provider(name).ok_or_else(|| unknown(name))?;
    let exchanger = exchanger(&place.settings)?;
    let listed = block_on(exchanger.served_models(provider))?.map_err(|error| {
        let model = provider.models.first().cloned();
        let seat = model.map(|model| ModelSeat { provider: provider.clone(), model });
        let what = format!("`{name}` does not say which models it has");
        match seat {
            Some(seat) => exchange_failure(&what, &error, &seat),
            None => CommandFailure::because(BridleExit::Answered, what, &error),
        }
    })?;
    let number = |count: Option<u32>| count.map_or("null".to_owned(), |it| it.to_string());
    let lines = listed.iter().map(|model| match json {
        true => {
            let line = object(&[
                ("model", quoted(&model.name)),
                ("context", number(model.context_tokens)),
                ("output", number(model.max_output_tokens)),
            ]);
            format!("{line}\n")
        }
        false => format!("{}\n", neutral_line(&model.name)),
    });
    print(&lines.collect::<String>())
}
