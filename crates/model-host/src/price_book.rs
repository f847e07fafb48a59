//! Prices of models, as the thinker asks for them. Unknown is `None`, which is not nothing.

use bridle_models::{Price, PriceSchedule, PriceSource};

use crate::registry::ModelSeat;

/// Book of prices.
pub trait PriceBook: Send + Sync {
    /// Price of a model at a moment, in milliseconds since 1970; `None` where nobody knows it.
    fn price(&self, seat: &ModelSeat, at: i64) -> Option<PriceSchedule>;
}

/// Prices that the file of providers states, and no others.
#[derive(Clone, Copy, Debug)]
pub struct StatedPrices;

impl PriceBook for StatedPrices {
    fn price(&self, seat: &ModelSeat, _: i64) -> Option<PriceSchedule> {
        match &seat.model.price {
            PriceSource::Free => Some(PriceSchedule::flat(Price::FREE)),
            PriceSource::Stated(price) => Some(PriceSchedule::flat(*price)),
            PriceSource::Catalog => None,
        }
    }
}
