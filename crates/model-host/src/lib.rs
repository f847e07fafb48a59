//! The thinker that asks language models, and everything that a home knows about them.
//!
//! Called by the daemon. The codecs are in `bridle-models`, the exchanges in `bridle-inference`; what a thought may do
//! is decided elsewhere: a model proposes, like every thinker.
//!
//! In reading order:
//! - `registry`: providers in force, from `models.org` and the owner's yes
//! - `trial`: one small question to a model
//! - `price_book`, `prices`, `recall`, `prompt_files`: what the daemon knows: prices, the memory, files of prompts
//! - `tools`: actions as tools, calls as proposals
//! - `citation`: links of an answer, held against those of its prompt
//! - `prompt`: everything that a model is told
//! - `completion`: completions of a text
//! - `thinker`: a thought, from the choice of a model to the draft
//! - `preview`: the request that a prompt would become
//! - `rethink`: prompts of a record, asked again
#![forbid(unsafe_code)]

mod registry;
mod trial;

mod price_book;
mod prices;
mod prompt_files;
mod recall;

mod citation;
mod tools;

mod prompt;

mod completion;
mod preview;
mod rethink;
mod thinker;

pub use completion::{ModelCompleter, complete_from_memory};
pub use preview::{PromptPreview, PromptPreviewer};
pub use price_book::{PriceBook, StatedPrices};
pub use prices::{
    MAX_PRICE_LIST_BYTES, ModelPrices, PRICES_VERB, PriceCatalog, answer_price_questions,
};
pub use prompt::INSTRUCTIONS_FILE;
pub use prompt_files::{NoFiles, PromptFiles};
pub use recall::{MemoryRecall, NoMemory, RecallQuestion, RecallReach};
pub use registry::{
    ApprovalError, ApprovedByName, MODELS_FILE, ModelSeat, OfferedModel, ProviderApprovals,
    ProviderRegistry, ProviderReview, WaitingProvider, review_folder,
};
pub use rethink::{RecordedPrompt, ask_again};
pub use thinker::{ModelThinker, ModelThinkerSetup};
pub use tools::value_json::OPEN_ANSWER;
pub use trial::{ModelTrial, advice, try_model};
