//! The thinker that asks language models, and everything that a home knows about them.
//!
//! Called by the daemon. The codecs are in `bridle-models`, the exchanges in `bridle-inference`; what a thought may do
//! is decided elsewhere: a model proposes, like every thinker.
//!
//! In reading order:
//! - `registry`: providers in force, from `models.org` and the owner's yes
#![forbid(unsafe_code)]

mod registry;

pub use registry::{
    ApprovalError, ApprovedByName, MODELS_FILE, ModelSeat, ProviderApprovals, ProviderRegistry,
    ProviderReview, WaitingProvider, review_folder,
};
