//! Hubs without sockets: what shells are told, and what survives.

mod answers;
mod approvals;
mod budgets;
mod consultants;
mod context;
mod control;
mod grants;
mod long_turns;
mod memory;
mod overlay;
mod overloads;
mod policies;
mod recall;
mod record;
mod repaired;
mod requests;
mod rig;
mod rollback;
mod schedules;
mod skills;
mod spending;
mod stops;
mod stream;
mod tools;
mod untouched;
