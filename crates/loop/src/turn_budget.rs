//! Budgets of a turn: what it has used, and what happens when one is reached.
//!
//! Called by `think` before a turn thinks again, and by `act` and `decide`. A budget that is reached is a
//! question if the session wants that: the turn proposes to go on with as much again, and the policies decide as
//! about any proposal. What nobody knows, such as the tokens of a thinker that does not count them, is not
//! counted.

use bridle_sexp::Value;

use crate::act::{self, ProposalBatch};
use crate::effect::{Effects, ProposalAuthor, RefusalCode};
use crate::event::{Draft, Proposal};
use crate::ids::KeywordName;
use crate::limits::SessionLimits;
use crate::plist_codec::{FieldSink, PlistBuilder, UnreadableValue, flag, optional_number};
use crate::state::{RunningTurn, SessionState, TurnContinuation};

/// Use of the budgets of one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnBudget {
    /// Tokens of its drafts.
    tokens: u64,
    /// Their price, in millionths of a dollar.
    microdollars: u64,
    /// Times that it may go on with as much again.
    extensions: u32,
    /// Whether it has asked to go on since then.
    has_asked: bool,
}

impl TurnBudget {
    /// Counts a draft.
    pub(crate) fn spend(&mut self, draft: &Draft) {
        let Some(usage) = &draft.usage else { return };
        let tokens =
            usage.input.unwrap_or_default().saturating_add(usage.output.unwrap_or_default());
        let price = usage.cost_microdollars.and_then(|price| u64::try_from(price).ok());
        self.tokens = self.tokens.saturating_add(tokens);
        self.microdollars = self.microdollars.saturating_add(price.unwrap_or_default());
    }

    /// Gives as much again.
    pub(crate) fn extend(&mut self) {
        self.extensions = self.extensions.saturating_add(1);
        self.has_asked = false;
    }

    /// A limit, with what was given beyond it: as much again each time, of nothing one.
    pub(crate) fn extended(&self, limit: u32) -> u32 {
        limit.saturating_add(limit.max(1).saturating_mul(self.extensions))
    }

    fn extended_wide(&self, limit: u64) -> u64 {
        limit.saturating_mul(u64::from(self.extensions).saturating_add(1))
    }

    /// The budget that is reached, in words.
    fn reached(&self, turn: &RunningTurn, limits: &SessionLimits) -> Option<String> {
        let (tokens, price) = (limits.turn_tokens, limits.turn_microdollars);
        let goes_deeper = turn.next == TurnContinuation::ThinkDeeper || self.has_asked;
        if goes_deeper && turn.depth >= self.extended(limits.depth) {
            return Some(format!("{} rounds of outcomes", turn.depth));
        }
        if turn.allowed >= self.extended(limits.acts) && limits.budget_asks > 0 {
            return Some(format!("{} acts", turn.allowed));
        }
        if tokens > 0 && self.tokens >= self.extended_wide(tokens) {
            return Some(format!("{} tokens", self.tokens));
        }
        let is_reached = price > 0 && self.microdollars >= self.extended_wide(price);
        is_reached.then(|| format!("{} millionths of a dollar", self.microdollars))
    }

    /// Writes what is not nothing.
    pub(crate) fn put(self, fields: PlistBuilder) -> PlistBuilder {
        fields
            .put_number_unless_zero("tokens", self.tokens)
            .put_number_unless_zero("microdollars", self.microdollars)
            .put_number_unless_zero("extensions", self.extensions)
            .put_flag("has-asked", self.has_asked)
    }

    /// Reads what [`TurnBudget::put`] wrote.
    pub(crate) fn from_value(value: &Value) -> Result<Self, UnreadableValue> {
        let extensions = optional_number(value, "extensions")?.unwrap_or_default();
        Ok(Self {
            tokens: optional_number(value, "tokens")?.unwrap_or_default(),
            microdollars: optional_number(value, "microdollars")?.unwrap_or_default(),
            extensions: u32::try_from(extensions).unwrap_or(u32::MAX),
            has_asked: flag(value, "has-asked")?,
        })
    }
}

/// Ends a turn that has reached a budget, or has it ask whether it may go on; gives a turn back that may
/// think.
pub(crate) fn check(
    state: &mut SessionState,
    mut turn: RunningTurn,
    out: &mut Effects,
) -> Option<RunningTurn> {
    let Some(reached) = turn.budget.reached(&turn, &state.limits) else { return Some(turn) };
    let may_ask = state.limits.budget_asks > 0 && turn.signal.patient && turn.seq.is_some();
    if !may_ask || turn.budget.has_asked {
        let message = format!("stopped after {reached}");
        act::give_up(state, &turn, RefusalCode::Refused, &message, out);
        return None;
    }
    turn.budget.has_asked = true;
    let payload = PlistBuilder::new()
        .put("action", Value::keyword("go-on"))
        .put_number("turn", turn.id.0)
        .put("reached", reached);
    let proposal = Proposal::new(Some(KeywordName::of_word("system")), payload.done());
    let batch = ProposalBatch::from(vec![proposal]);
    act::carry(state, turn, ProposalAuthor::Reflex, batch, out);
    None
}
