//! What is asked of the daemon itself, beside a session: no turn is made of it.
//!
//! In reading order:
//! - `query`: lists, approvals, policies, the folder of the memory
//! - `context_query`: questions with `:target :context`; `memory_query`, `buffer_query` and `completion_query`
//!   answer them
//! - `answer_trace`: what an answer followed from, for shells that want to see it with each
//! - `config_query`: settings, told to owners
//! - `record_query`: the record, read over the protocol; `record_report`: reasons, deeds and costs, explained here
//! - `effects_query`: projects, commits, actuators, the jail
//! - `grant_query`: grants offered, made, listed, taken back
//! - `provider_query`: providers of models: which models they have, and whether one answers
//! - `offer_query`: commands and models that a face offers, and what a session cost
//! - `preview_query`: prompts as they would be sent
//! - `prompt_memory`, `act_label`: the memory as prompts are told it, and what may be private of it in results
//! - `policy_install`: other policies while the daemon runs
//! - `ongoing_message`: a message that is known by what it says
//! - `facts`: what the daemon tells about itself

mod act_label;
pub(in crate::engine) mod answer_trace;
pub(in crate::engine) mod buffer_query;
mod completion_query;
pub(in crate::engine) mod config_query;
pub(in crate::engine) mod context_actuator;
pub(in crate::engine) mod context_query;
pub(in crate::engine) mod effects_query;
pub(in crate::engine) mod facts;
pub(in crate::engine) mod grant_query;
pub(in crate::engine) mod memex_choice;
pub(in crate::engine) mod memory_query;
pub(in crate::engine) mod offer_query;
pub(in crate::engine) mod ongoing_message;
pub(in crate::engine) mod policy_install;
pub(in crate::engine) mod preview_query;
pub(in crate::engine) mod prompt_memory;
pub(in crate::engine) mod provider_query;
pub(in crate::engine) mod query;
pub(in crate::engine) mod record_query;
mod record_report;
pub(in crate::engine) mod skill_query;
