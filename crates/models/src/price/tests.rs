//! Costs, reservations and the catalog.

use proptest::prelude::{ProptestConfig, any, proptest};

use super::{CatalogLookup, MicroDollars, Price, PriceSchedule, PriceTier, look_up_price};
use crate::usage::ModelUsage;

/// 2026-11-14, a day on which the catalog's newest prices hold.
const NOVEMBER_2026: u64 = 1_794_650_000;

fn price(input: u64, output: u64, cache_read: Option<u64>, cache_write: Option<u64>) -> Price {
    let micro = |price| MicroDollars(price);
    Price {
        input: micro(input),
        output: micro(output),
        cache_read: cache_read.map(micro),
        cache_write: cache_write.map(micro),
    }
}

fn usage(
    input: Option<u64>,
    output: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
) -> ModelUsage {
    ModelUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: None,
    }
}

#[test]
fn what_is_not_known_costs_an_unknown_amount() {
    let price = price(2_000_000, 10_000_000, Some(100_000), Some(2_500_000));
    let cost = |usage| price.cost(&usage).map(|cost| cost.0);
    assert_eq!(cost(usage(None, Some(1), None, None)), None);
    assert_eq!(cost(usage(Some(1), None, None, None)), None);
    assert_eq!(cost(usage(Some(1000), Some(100), None, None)), Some(3_000));
    assert_eq!(cost(usage(Some(1000), Some(0), Some(800), Some(100))), Some(200 + 80 + 250));
    // A server that counts more cached tokens than tokens is not believed.
    assert_eq!(cost(usage(Some(10), Some(0), Some(50), Some(50))), Some(1));
}

#[test]
fn a_price_without_cache_counts_it_as_prompt() {
    let price = price(2_000_000, 0, None, None);
    assert_eq!(price.cost(&usage(Some(10), Some(0), Some(5), Some(5))), Some(MicroDollars(20)));
    assert_eq!(Price::FREE.cost(&usage(Some(10), Some(9), None, None)), Some(MicroDollars(0)));
}

#[test]
fn a_long_prompt_has_its_own_price() {
    let tier = |from, input| PriceTier {
        from_prompt_tokens: from,
        price: price(input, input, None, None),
    };
    // The second tier is cheaper: still nothing costs more than was reserved.
    let schedule = PriceSchedule { tiers: vec![tier(1, 3_000_000), tier(200_001, 1_000_000)] };
    let cost = |input| schedule.cost(&usage(Some(input), Some(0), None, None)).map(|cost| cost.0);
    assert_eq!([cost(200_000), cost(200_001)], [Some(600_000), Some(200_001)]);
    assert_eq!(schedule.reservation(200_001, 0), Some(MicroDollars(600_003)));
    assert_eq!(PriceSchedule { tiers: vec![] }.reservation(1, 1), None);
}

#[test]
fn the_catalog_knows_vendors_by_their_address_and_nobody_by_a_model() {
    let look = |address, model, catalog_name| {
        look_up_price(&CatalogLookup { catalog_name, address, model, at_seconds: NOVEMBER_2026 })
    };
    let found = look("https://api.anthropic.com/v1", "claude-sonnet-5-5", None).unwrap();
    assert_eq!((found.provider.as_str(), found.model.as_str()), ("anthropic", "claude-sonnet-5-5"));
    let expected = price(2_000_000, 10_000_000, Some(100_000), Some(2_500_000));
    assert_eq!(found.schedule, PriceSchedule::flat(expected));
    assert_eq!(look("http://127.0.0.1:8080/v1", "claude-sonnet-5-5", None), None);
    assert_eq!(look("https://api.anthropic.com/v1", "no-such-model", None), None);
    let named =
        look("https://proxy.example.org/v1", "claude-sonnet-5-5", Some("anthropic")).unwrap();
    assert_eq!(named.schedule, found.schedule);
    assert_eq!(look("https://api.anthropic.com/v1", "claude-sonnet-5-5", Some("nobody")), None);
}

#[test]
fn tiers_and_dates_of_the_catalog_are_found() {
    let look = |at_seconds| {
        let (address, model) = ("https://api.anthropic.com", "claude-sonnet-4-6");
        look_up_price(&CatalogLookup { catalog_name: None, address, model, at_seconds })
            .unwrap()
            .schedule
    };
    // Before 13 March 2026 a prompt of more than 200,000 tokens cost twice as much.
    let before: Vec<(u64, u64)> = look(1_770_000_000)
        .tiers
        .iter()
        .map(|tier| (tier.from_prompt_tokens, tier.price.input.0))
        .collect();
    assert_eq!(before, [(1, 3_000_000), (200_001, 6_000_000)]);
    assert_eq!(look(NOVEMBER_2026).tiers.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_costs_more_than_was_reserved(
        rates in any::<[u32; 2]>(), cache in any::<[Option<u32>; 2]>(),
        prompt in 0..2_000_000_u64, output in 0..200_000_u64,
        parts in any::<[u64; 4]>(),
    ) {
        let cache = cache.map(|rate| rate.map(u64::from));
        let price = price(rates[0].into(), rates[1].into(), cache[0], cache[1]);
        let input = parts[0] % (prompt + 1);
        let used = usage(Some(input), Some(parts[1] % (output + 1)), Some(parts[2] % (input + 1)), Some(parts[3] % (input + 1)));
        assert!(price.cost(&used).unwrap() <= price.reservation(prompt, output));
    }
}
