//! Inference: exchanges with language models over HTTP, and everything that only somebody with sockets, secrets and a
//! clock can know about them.
//!
//! The codecs, the file of providers and the prices are in `bridle-models`, which does no IO; the daemon puts the two
//! together. A key is read when it is needed, goes into one header of one request to a host that it is bound to, and
//! is in no error, no log line and no record.
//!
//! In reading order:
//! - `error`: reasons why there is no answer
//! - `key`: keys by their source
//! - `client`: HTTP clients, one for each way to reach a server
//! - `retry`: times between attempts
//! - `codec_skill`: skills that wrap or replace a codec
//! - `exchange`: one request and its answer
//! - `served_models`: the list of models of a server
#![forbid(unsafe_code)]

mod error;

mod key;

mod client;
mod codec_skill;
mod exchange;
mod retry;
mod served_models;

pub use client::HttpClients;
pub use codec_skill::{CodecSkills, CodecStage, NoCodecSkills};
pub use error::InferenceError;
pub use exchange::{ExchangeOrder, ExchangePiece, FinishedExchange, ModelExchanger};
pub use key::{KeyReader, NoSecrets, ProviderKey, SecretLookup};
