//! Prices: what a million tokens cost, what an exchange cost, and the most that it can cost. Unknown is said as
//! unknown: a price that nobody knows and a count that the server did not give are `None`, never 0.

mod catalog;

use crate::money::MicroDollars;
use crate::usage::ModelUsage;

pub use catalog::{CatalogLookup, CatalogPrice, look_up_price};

/// Price of a model, each for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// Prompt.
    pub input: MicroDollars,
    /// Answer, reasoning included.
    pub output: MicroDollars,
    /// Prompt that came from the cache; where it is not known, that of the prompt.
    pub cache_read: Option<MicroDollars>,
    /// Prompt that was written into the cache; where it is not known, that of the prompt.
    pub cache_write: Option<MicroDollars>,
}

/// Prices of a model by the length of the prompt: a long one makes every token of its exchange dearer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceSchedule {
    /// From the shortest prompt to the longest; the first is for a prompt of one token.
    pub tiers: Vec<PriceTier>,
}

/// Price from a length of the prompt on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriceTier {
    /// Fewest tokens of the prompt.
    pub from_prompt_tokens: u64,
    /// The price.
    pub price: Price,
}

impl Price {
    /// Price of what is not charged.
    pub const FREE: Self = Self {
        input: MicroDollars(0),
        output: MicroDollars(0),
        cache_read: None,
        cache_write: None,
    };

    /// Returns the cost of an exchange, rounded up to a millionth of a dollar; `None` while prompt or answer are not
    /// counted. What is not said of the cache counts as prompt.
    #[must_use]
    pub fn cost(&self, usage: &ModelUsage) -> Option<MicroDollars> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let read = usage.cache_read_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - read);
        Some(sum(&[
            (self.input, input - read - written),
            (self.cache_read.unwrap_or(self.input), read),
            (self.cache_write.unwrap_or(self.input), written),
            (self.output, output),
        ]))
    }

    /// Returns the most that an exchange with so many tokens can cost: all of the prompt at its dearest rate. No
    /// cost of a smaller exchange is above it.
    #[must_use]
    pub fn reservation(&self, prompt_tokens: u64, max_output_tokens: u64) -> MicroDollars {
        let cached = self.cache_read.max(self.cache_write);
        let dearest = self.input.max(cached.unwrap_or_default());
        sum(&[(dearest, prompt_tokens), (self.output, max_output_tokens)])
    }
}

impl PriceSchedule {
    /// Makes a schedule of one price.
    #[must_use]
    pub fn flat(price: Price) -> Self {
        Self { tiers: vec![PriceTier { from_prompt_tokens: 1, price }] }
    }

    /// Returns the price for a prompt of this length.
    #[must_use]
    pub fn price(&self, prompt_tokens: u64) -> Option<&Price> {
        let fits = |tier: &&PriceTier| tier.from_prompt_tokens <= prompt_tokens.max(1);
        self.tiers.iter().rev().find(fits).map(|tier| &tier.price)
    }

    /// Returns the cost of an exchange; see [`Price::cost`].
    #[must_use]
    pub fn cost(&self, usage: &ModelUsage) -> Option<MicroDollars> {
        self.price(usage.input_tokens?)?.cost(usage)
    }

    /// Returns the most that an exchange can cost, whatever its tier turns out to be; see [`Price::reservation`].
    #[must_use]
    pub fn reservation(&self, prompt_tokens: u64, max_output_tokens: u64) -> Option<MicroDollars> {
        let reached = |tier: &&PriceTier| tier.from_prompt_tokens <= prompt_tokens.max(1);
        let reserve = |tier: &PriceTier| tier.price.reservation(prompt_tokens, max_output_tokens);
        self.tiers.iter().filter(reached).map(reserve).max()
    }
}

/// The cost of tokens at their rates, rounded up once.
fn sum(counts: &[(MicroDollars, u64)]) -> MicroDollars {
    let exact = counts.iter().fold(0_u128, |sum, (rate, tokens)| {
        sum.saturating_add(u128::from(rate.0) * u128::from(*tokens))
    });
    MicroDollars(u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
