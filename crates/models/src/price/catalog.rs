//! Prices of the crate `genai-prices`: dated, for 47 providers and 2,267 models. Looked up by the provider's address
//! or its name in the catalog, never by a model's name alone: the same name on the user's own machine costs nothing.
//!
//! The catalog is unpacked at its first use and stays: 55 ms and 18 MiB (measured, release build). A daemon had better
//! ask a short-lived process at each save of `models.org`, and keep the schedule, which is everything that is known of
//! a model at a moment.

use std::time::{Duration, SystemTime};

use genai_prices::{PriceRequest, Usage, UsageKey};

use super::{Price, PriceSchedule, PriceTier};
use crate::money::MicroDollars;

/// Longest prompt whose tier is looked for.
const MAX_PROMPT_TOKENS: u64 = 16 * 1024 * 1024;

/// Question to the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogLookup<'q> {
    /// Name of the provider in the catalog; goes before the address.
    pub catalog_name: Option<&'q str>,
    /// Address of the provider.
    pub address: &'q str,
    /// Model, as the provider spells it.
    pub model: &'q str,
    /// Moment of the exchange, in seconds since 1970.
    pub at_seconds: u64,
}

/// Answer of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogPrice {
    /// Provider that was found.
    pub provider: String,
    /// Model that was found: names with a date or a variant lead to one.
    pub model: String,
    /// Its prices.
    pub schedule: PriceSchedule,
}

/// Looks up what a model costs at a moment; `None` for what the catalog does not have. Standard rates: not those of
/// batches or of service tiers.
#[must_use]
pub fn look_up_price(lookup: &CatalogLookup<'_>) -> Option<CatalogPrice> {
    let (provider, model) = lookup.found()?;
    let first = PriceTier { from_prompt_tokens: 1, price: lookup.price(1)? };
    let last = PriceTier {
        from_prompt_tokens: MAX_PROMPT_TOKENS,
        price: lookup.price(MAX_PROMPT_TOKENS)?,
    };
    let mut tiers = vec![first];
    lookup.add_tiers(first, last, &mut tiers);
    Some(CatalogPrice { provider, model, schedule: PriceSchedule { tiers } })
}

impl CatalogLookup<'_> {
    fn found(&self) -> Option<(String, String)> {
        let usage = Usage::from([(UsageKey::INPUT_TOKENS, 1.0)]);
        let found = genai_prices::calculate(&self.request(&usage)).ok()?;
        Some((found.provider_id, found.model_id))
    }

    /// Adds every tier that begins above `low` and not above `high`.
    fn add_tiers(&self, low: PriceTier, high: PriceTier, tiers: &mut Vec<PriceTier>) {
        if low.price == high.price {
            return;
        }
        let middle = low.from_prompt_tokens.midpoint(high.from_prompt_tokens);
        if middle == low.from_prompt_tokens {
            return tiers.push(high);
        }
        let Some(price) = self.price(middle) else { return };
        let middle = PriceTier { from_prompt_tokens: middle, price };
        self.add_tiers(low, middle, tiers);
        self.add_tiers(middle, high, tiers);
    }

    /// The rates for a prompt of this length.
    fn price(&self, prompt_tokens: u64) -> Option<Price> {
        let prompt = (UsageKey::INPUT_TOKENS, tokens(prompt_tokens));
        let rate = |usage: &Usage, pick: fn(&genai_prices::PriceCalculation) -> f64| {
            let calculated = genai_prices::calculate(&self.request(usage)).ok()?;
            per_million(pick(&calculated), prompt_tokens)
        };
        let of_cache = |key| {
            let usage = Usage::from([prompt.clone(), (key, tokens(prompt_tokens))]);
            rate(&usage, |price| price.input_price)
        };
        let output =
            Usage::from([prompt.clone(), (UsageKey::OUTPUT_TOKENS, tokens(prompt_tokens))]);
        Some(Price {
            input: rate(&Usage::from([prompt.clone()]), |price| price.input_price)?,
            output: rate(&output, |price| price.output_price)?,
            cache_read: of_cache(UsageKey::CACHE_READ_TOKENS),
            cache_write: of_cache(UsageKey::CACHE_WRITE_TOKENS),
        })
    }

    fn request<'a>(&'a self, usage: &'a Usage) -> PriceRequest<'a> {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(self.at_seconds);
        let request = PriceRequest::new(self.model, usage).with_timestamp(at);
        match self.catalog_name {
            Some(name) => request.with_provider_id(name),
            None => request.with_provider_api_url(self.address),
        }
    }
}

/// The catalog counts in floating point; counts of tokens are exact there.
#[expect(clippy::cast_precision_loss, reason = "at most MAX_PROMPT_TOKENS, far below 2 to the 53")]
fn tokens(count: u64) -> f64 {
    count as f64
}

/// Dollars for so many tokens as millionths of a dollar for a million of them. The only place where money is a
/// fraction: rates have at most a few decimals, so rounding finds the rate that is written in the catalog.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "finite, not negative and below the bound"
)]
fn per_million(dollars: f64, count: u64) -> Option<MicroDollars> {
    let micro = (dollars / tokens(count) * 1e12).round();
    (micro.is_finite() && (0.0..1e15).contains(&micro)).then_some(MicroDollars(micro as u64))
}
