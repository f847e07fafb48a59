//! Providers of models, as the user writes them in `models.org`: one heading a provider, one heading a model below it.
//! Read by the host at each save; what takes effect at once and what waits for the owner's yes is decided by
//! comparing two sets. A key never stands in the file: only where it is to be found.

mod address;
mod approved;
mod diff;
mod read;
mod value;

use std::fmt;
use std::time::Duration;

use crate::codec::{ChatDialect, CodecName, CodecSettings, ReasoningControl};
use crate::price::Price;

pub use address::{AddressScheme, ProviderAddress};
pub use approved::ApprovedSettings;
pub use diff::{ProviderChange, ProviderDiff, ProviderField};
pub use read::{ParsedProviders, ProviderNotice, ProviderProblem, read_providers};

/// Text of a new `models.org`: how to write it, and examples that are switched on by removing one word.
pub const DEFAULT_MODELS_FILE: &str = include_str!("provider/default.org");

/// Providers in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSet {
    /// In the order of the file.
    pub providers: Vec<Provider>,
}

/// Provider of models: a server and how to speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Name, the title of its heading: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// Address before the paths of the codec.
    pub address: ProviderAddress,
    /// Wire format.
    pub codec: CodecName,
    /// Skill that wraps or replaces it, by name.
    pub codec_skill: Option<String>,
    /// Kind of `openai-chat`.
    pub dialect: ChatDialect,
    /// Whether prompts leave the user's machines.
    pub privacy: ProviderPrivacy,
    /// Place of its key; `None` for a provider that wants none.
    pub key: Option<KeySource>,
    /// Hosts that the key may be sent to, in lower case; at least the address's own.
    pub hosts: Vec<String>,
    /// Times to wait, and the number of tries.
    pub patience: ProviderPatience,
    /// Address of an HTTP proxy.
    pub proxy: Option<ProviderAddress>,
    /// File of CA certificates to trust beside the system's.
    pub ca_file: Option<String>,
    /// Provider in the price catalog, where the host's name does not tell.
    pub catalog_name: Option<String>,
    /// Its models, in the order of the file.
    pub models: Vec<ProviderModel>,
}

/// Model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderModel {
    /// Name, as the provider spells it.
    pub name: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// Uses; a model without a tier is used when it is asked for by name.
    pub tiers: Vec<ModelTier>,
    /// Tokens of prompt and answer together.
    pub context_tokens: Option<u32>,
    /// Largest answer in tokens.
    pub max_output_tokens: Option<u32>,
    /// Whether it takes images.
    pub takes_images: bool,
    /// Whether it calls tools.
    pub takes_tools: bool,
    /// Way of asking it to reason.
    pub reasoning: ReasoningControl,
    /// Source of its price.
    pub price: PriceSource,
}

/// Use of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelTier {
    /// Quick and small: completions, titles.
    Reflex,
    /// The usual work.
    Cognition,
    /// The hard questions.
    Reasoning,
}

impl ModelTier {
    /// Every tier, the quickest first.
    pub const ALL: [Self; 3] = [Self::Reflex, Self::Cognition, Self::Reasoning];

    /// Returns the tag in the file, which is also the keyword of the protocol without its colon.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reflex => "reflex",
            Self::Cognition => "cognition",
            Self::Reasoning => "reasoning",
        }
    }
}

/// Reach of what is sent to a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderPrivacy {
    /// The user's own machines; private notes may be sent.
    Local,
    /// Machines of others.
    Remote,
}

impl ProviderPrivacy {
    /// Returns the word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
        }
    }
}

/// Place of a key. Has never the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// Environment variable of the daemon.
    Environment(String),
    /// File that only its owner can read.
    File(String),
    /// Program with its arguments, run without a shell; the first line of its output is the key.
    Command(Vec<String>),
    /// Secret of the daemon's own store.
    Secret(String),
}

/// As written in the file.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Command(words) => write!(f, "command:{}", value::quoted(words)),
            Self::Secret(name) => write!(f, "secret:{name}"),
        }
    }
}

/// Patience with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderPatience {
    /// Longest time to connect.
    pub connect: Duration,
    /// Longest time from the request to the first byte of the answer: a local model may read a long prompt first.
    pub first_byte: Duration,
    /// Longest silence in the middle of the answer.
    pub between_bytes: Duration,
    /// Longest time for all of it.
    pub total: Duration,
    /// Number of times that a failed request is sent again.
    pub retries: u8,
}

impl Default for ProviderPatience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            between_bytes: Duration::from_secs(60),
            total: Duration::from_secs(600),
            retries: 2,
        }
    }
}

/// Source of a model's price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriceSource {
    /// The catalog of prices; a model that it does not have costs an unknown amount.
    #[default]
    Catalog,
    /// Nothing is charged.
    Free,
    /// The file says it.
    Stated(Price),
}

impl ProviderSet {
    /// Returns the provider of that name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Returns the first model of a tier, in the order of the file, with its provider.
    #[must_use]
    pub fn model_of_tier(&self, tier: ModelTier) -> Option<(&Provider, &ProviderModel)> {
        self.models().find(|(_, model)| model.tiers.contains(&tier))
    }

    /// Returns the model `PROVIDER/MODEL`, or `MODEL` where only one provider has it.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<(&Provider, &ProviderModel)> {
        let full = name.split_once('/').and_then(|(provider, model)| {
            let provider = self.provider(provider)?;
            Some((provider, provider.model(model)?))
        });
        let mut of_name = self.models().filter(|(_, model)| model.name == name);
        full.or_else(|| of_name.next().filter(|_| of_name.next().is_none()))
    }

    fn models(&self) -> impl Iterator<Item = (&Provider, &ProviderModel)> {
        self.providers
            .iter()
            .flat_map(|provider| provider.models.iter().map(move |model| (provider, model)))
    }
}

impl Provider {
    /// Returns the model of that name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&ProviderModel> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Whether the key may be sent to this host. Redirects and proxies ask too.
    #[must_use]
    pub fn may_send_key_to(&self, host: &str) -> bool {
        self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
    }

    /// Returns what the codec has to know about a model.
    #[must_use]
    pub fn codec_settings(&self, model: &ProviderModel) -> CodecSettings {
        CodecSettings {
            dialect: self.dialect,
            reasoning: model.reasoning,
            takes_images: model.takes_images,
            takes_tools: model.takes_tools,
        }
    }
}

#[cfg(test)]
mod tests;
