//! Budgets of the record: how many bytes each principal may have recorded, but the owner of the daemon. A budget
//! refills with time, as a bucket does. Asked before a message is taken; charged by the record writer when it is recorded,
//! in the same transaction, so that a restart gives nobody a new one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bridle_loop::ANONYMOUS;
use bridle_record::{BudgetUse, RecordAppend, RecordReader, StoreError};

use crate::access::principal::Principal;
use crate::config::{DaemonConfig, RecordBudgets};
use crate::engine::error::{EngineError, EngineErrorCode};

/// Bytes that a record takes besides its body: fields, hashes, salt, and its share of the tables.
const BYTES_BESIDE_BODY: u64 = 192;

/// Principals that are counted one by one; further ones share a budget.
const MAX_PRINCIPALS_COUNTED: usize = 4096;

/// Name of those that share one.
const OTHERS: &str = "others";

const MINUTE_MS: u64 = 60_000;

/// Use of the budgets.
#[derive(Debug)]
pub(in crate::engine) struct RecordBudgetUse {
    budgets: RecordBudgets,
    spent: Mutex<HashMap<Box<str>, BudgetUse>>,
}

impl RecordBudgetUse {
    /// Goes on with what the record says was used.
    pub(in crate::engine) fn read(
        reader: &RecordReader,
        config: &DaemonConfig,
    ) -> Result<RecordBudgetUse, StoreError> {
        Ok(RecordBudgetUse::new(config.engine.record_budgets, reader.spendings()?))
    }

    /// Goes on with what was used by then.
    pub(in crate::engine) fn new(budgets: RecordBudgets, spent: Vec<BudgetUse>) -> RecordBudgetUse {
        let spent = spent.into_iter().map(|it| (it.principal.clone(), it)).collect();
        RecordBudgetUse { budgets, spent: Mutex::new(spent) }
    }

    /// Checks that somebody may have more recorded.
    ///
    /// # Errors
    /// `overloaded`, with what to do.
    pub(in crate::engine) fn check(&self, who: &Principal, now: i64) -> Result<(), EngineError> {
        if who.is_owner() {
            return Ok(());
        }
        let name = who.name();
        let (used, most) = (self.used(&self.lock(), &name, now), self.budget_of(&name));
        if used < most {
            return Ok(());
        }
        // A tenth of it again, so that whoever waits can do something then.
        let wanted = used - most + most / 10;
        let minutes = (wanted / self.budgets.refill_per_minute.max(1)).saturating_add(1);
        let setting = setting_of(&name);
        let text = format!(
            "`{name}` has used up what it may have recorded ({most} bytes at once); try again in \
             {minutes} min, or let the owner raise `{setting}` or `record-refill`"
        );
        Err(EngineError::because(EngineErrorCode::Overloaded, text))
    }

    /// Returns the cost of appends, added to the use before; nothing is charged yet.
    pub(in crate::engine) fn bill(&self, costs: &[Option<BudgetUse>]) -> Vec<Option<BudgetUse>> {
        let spent = self.lock();
        let mut later: HashMap<Box<str>, BudgetUse> = HashMap::new();
        let mut add = |cost: &BudgetUse| {
            let is_counted = spent.contains_key(&cost.principal)
                || spent.len() + later.len() < MAX_PRINCIPALS_COUNTED;
            let name: Box<str> = if is_counted { cost.principal.clone() } else { OTHERS.into() };
            let used = match later.get(&name) {
                Some(earlier) => earlier.bytes,
                None => self.used(&spent, &name, cost.at),
            };
            let bytes = used.saturating_add(cost.bytes);
            let sum = BudgetUse { principal: name.clone(), bytes, at: cost.at };
            later.insert(name, sum.clone());
            sum
        };
        costs.iter().map(|cost| cost.as_ref().map(&mut add)).collect()
    }

    /// Charges what was recorded.
    pub(in crate::engine) fn charge(&self, appends: &[RecordAppend]) {
        let mut spent = self.lock();
        for sum in appends.iter().filter_map(|append| append.spent.as_deref()) {
            spent.insert(sum.principal.clone(), sum.clone());
        }
    }

    /// Returns the used bytes of a budget at a time.
    fn used(&self, spent: &HashMap<Box<str>, BudgetUse>, name: &str, now: i64) -> u64 {
        let known = spent
            .get(name)
            .or_else(|| spent.get(OTHERS).filter(|_| spent.len() >= MAX_PRINCIPALS_COUNTED));
        let Some(it) = known else { return 0 };
        let passed = u64::try_from(now.saturating_sub(it.at)).unwrap_or(0);
        let refilled = u128::from(passed) * u128::from(self.budgets.refill_per_minute);
        let refilled = u64::try_from(refilled / u128::from(MINUTE_MS)).unwrap_or(u64::MAX);
        it.bytes.saturating_sub(refilled)
    }

    fn budget_of(&self, name: &str) -> u64 {
        if name == ANONYMOUS { self.budgets.anonymous } else { self.budgets.known }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, BudgetUse>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn setting_of(name: &str) -> &'static str {
    if name == ANONYMOUS { "record-budget-anonymous" } else { "record-budget" }
}

/// Whether nobody counts what is recorded for a principal of this name: the owner, and the daemon itself.
fn is_exempt(name: &str) -> bool {
    name.starts_with("uid:") || name.starts_with("key:") || ["stdio", "daemon", ""].contains(&name)
}

/// Returns the cost of an append for its payer.
pub(in crate::engine) fn cost(append: &RecordAppend, payer: &str, now: i64) -> Option<BudgetUse> {
    if is_exempt(payer) || append.drafts.is_empty() {
        return None;
    }
    let bytes = append.drafts.iter().map(|it| it.body.len() as u64 + BYTES_BESIDE_BODY).sum();
    Some(BudgetUse { principal: payer.into(), bytes, at: now })
}

#[cfg(test)]
mod tests {
    use super::{RecordBudgetUse, cost};
    use crate::access::principal::Principal;
    use crate::config::RecordBudgets;
    use crate::engine::error::EngineErrorCode;
    use bridle_record::{BudgetUse, NewRecord, RecordAppend};

    fn budgets() -> RecordBudgets {
        RecordBudgets { known: 10_000, anonymous: 1000, refill_per_minute: 600 }
    }

    fn spend(spending: &RecordBudgetUse, principal: &str, bytes: u64, at: i64) -> Vec<BudgetUse> {
        let cost = Some(BudgetUse { principal: principal.into(), bytes, at });
        let appends = spending.bill(&[cost]).into_iter();
        let appends: Vec<RecordAppend> = appends
            .map(|it| RecordAppend { spent: it.map(Box::new), ..RecordAppend::default() })
            .collect();
        spending.charge(&appends);
        appends.into_iter().filter_map(|append| append.spent.map(|it| *it)).collect()
    }

    #[test]
    fn a_budget_is_refused_when_it_is_used_up_and_refills() {
        let spending = RecordBudgetUse::new(budgets(), Vec::new());
        let who = Principal::LocalTcp(1000);
        spend(&spending, "local-tcp:1000", 9_999, 0);
        spending.check(&who, 0).unwrap();
        let kept = spend(&spending, "local-tcp:1000", 1201, 0);
        let refused = spending.check(&who, 0).unwrap_err();
        assert_eq!(refused.code, EngineErrorCode::Overloaded);
        assert_eq!(
            refused.reason,
            "`local-tcp:1000` has used up what it may have recorded (10000 bytes at once); try again \
             in 4 min, or let the owner raise `record-budget` or `record-refill`"
        );
        // Nobody else is meant, and the owner never.
        spending.check(&Principal::Anonymous, 0).unwrap();
        spending.check(&Principal::Uid(1000), 0).unwrap();
        // A restart gives nobody a new one.
        let again = RecordBudgetUse::new(budgets(), kept);
        assert!(again.check(&who, 119_000).is_err());
        again.check(&who, 121_000).unwrap();
    }

    #[test]
    fn strangers_have_less() {
        let spending = RecordBudgetUse::new(budgets(), Vec::new());
        spend(&spending, "anonymous", 1000, 0);
        assert!(spending.check(&Principal::Anonymous, 0).is_err());
    }

    #[test]
    fn appends_of_one_commit_are_added_up_and_what_is_not_kept_costs_nothing() {
        let spending = RecordBudgetUse::new(budgets(), Vec::new());
        let one = BudgetUse { principal: "token:a".into(), bytes: 5, at: 0 };
        let bill = spending.bill(&[Some(one.clone()), None, Some(one)]);
        let bytes: Vec<_> = bill.iter().map(|it| it.as_ref().map(|it| it.bytes)).collect();
        assert_eq!(bytes, [Some(5), None, Some(10)]);
        assert_eq!(spending.bill(&bill[..1])[0].as_ref().unwrap().bytes, 5);
    }

    #[test]
    fn the_owner_and_the_daemon_pay_nothing() {
        let append = RecordAppend {
            drafts: vec![NewRecord::new("s", "say", 1, "engine", "x".repeat(100))],
            ..RecordAppend::default()
        };
        for name in ["uid:1000", "key:laptop", "stdio", "daemon"] {
            assert_eq!(cost(&append, name, 1), None, "{name}");
        }
        let local = cost(&append, "local-http:1000", 1).unwrap();
        assert_eq!((local.bytes, &*local.principal), (292, "local-http:1000"));
        assert_eq!(cost(&RecordAppend::default(), "anonymous", 1), None);
    }
}
