//! The prompt of a thought: everything that a model is told, each part with its source, size and label.
//!
//! Gathered once for a thought, then built for one model: what the model may not see is left out with a line in its
//! place, and what does not fit is left out with its reason. In reading order:
//! - `part`: parts and the manifest that the record keeps of them
//! - `gather`: instructions, notes, project file, results; everything that is read from somewhere
//! - `attached`: files that came with the prompt
//! - `words`: the instruction and the lines about time and place
//! - `opaque`: an answer with its provider's own state, kept for the next round
//! - `transcript`: earlier exchanges and the rounds of this turn as messages
//! - `build`: the request, cut until it fits

mod attached;
mod build;
mod gather;
mod opaque;
mod part;
mod transcript;
mod words;

pub(crate) use self::build::{BuiltPrompt, PromptBudget, PromptPlan};
pub use self::gather::INSTRUCTIONS_FILE;
pub(crate) use self::gather::{PromptGatherer, RecalledNote};
pub(crate) use self::opaque::opaque_text;
pub(crate) use self::part::{ManifestHead, manifest};
pub(crate) use self::words::{label_of, question_of};

#[cfg(test)]
mod tests;
