//! The flags of `bridle model`, `bridle prompt` and `bridle cost`.

use clap::{Args, Subcommand, ValueEnum};

use super::PeerArgs;
use super::record::RecordPlace;
use crate::settings::StateDir;

/// Text below the help of the verbs.
pub(crate) const EXAMPLES: &str = "Providers are headings in `models.org` in your Org folder; docs/models.md describes them. \
    None of these needs a daemon; a running one applies changes at once.\n\n\
    Examples:\n  \
    bridle model add ollama\n  \
    bridle model test\n  \
    bridle model list";

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Add a provider: by a preset, or by the address of a server
    #[command(
        after_help = "Presets: ollama, llamacpp, vllm, openai, anthropic, gemini, openrouter, groq. Asks the server for its \
        models and adds a heading at the end of `models.org`; nothing else in the file changes. A key is named, never \
        written: `env:NAME`, `file:PATH`, `command:PROGRAM ARGUMENTS`, `secret:NAME`; `--key -` reads it from stdin, or \
        typed unseen, and keeps it sealed.\n\n\
        Examples:\n  \
        bridle model add ollama --model qwen3:8b\n  \
        bridle model add openai --key env:OPENAI_API_KEY\n  \
        pass show llm/groq | bridle model add groq --key -\n  \
        bridle model add http://127.0.0.1:8080/v1 --name box"
    )]
    Add(ModelAddArgs),
    /// List providers and models: use, context, price, state, and what is wrong
    #[command(
        after_help = "Exit 1 if `models.org` has a fault; its provider stays as it was before.\n\n\
        Examples:\n  \
        bridle model list\n  \
        bridle model list --json\n  \
        bridle model list --served ollama                          what the server itself has"
    )]
    List(ModelListArgs),
    /// Ask models one small question: time, tokens, price; exit 1 if one does not answer
    #[command(
        after_help = "A running daemon asks, with its own environment; without one, or with --here, this command does.\n\n\
        Examples:\n  \
        bridle model test\n  \
        bridle model test openai/gpt-5.4-mini --here --json"
    )]
    Test(ModelTestArgs),
    /// Choose the model that a tier asks first
    #[command(
        after_help = "Writes the tag of the tier behind the model in `models.org`, and takes it from those before it.\n\n\
        Examples:\n  \
        bridle model use ollama/qwen3:8b\n  \
        bridle model use openai/gpt-5.4-nano --tier reflex"
    )]
    Use(ModelUseArgs),
    /// Remove a provider or model from `models.org`; shows the text and asks first
    #[command(after_help = "A key under `bridle secret` stays.\n\n\
        Examples:\n  \
        bridle model remove groq\n  \
        bridle model remove openai/gpt-5.5 --yes")]
    Remove(ModelRemoveArgs),
    /// Approve changed settings of providers: shows each and asks first
    #[command(
        after_help = "Address, key source, hosts, privacy, codec, proxy and certificates decide where prompts and keys go: \
        what you save of them waits here, and the approved ones stay in force. Exit 1 if something still waits.\n\n\
        Examples:\n  \
        bridle model approve\n  \
        bridle model approve openai --yes"
    )]
    Approve(ModelApproveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelAddArgs {
    /// Preset, or address of a server
    #[arg(value_name = "PRESET|ADDRESS")]
    pub(crate) provider: String,
    /// Name of the provider [default: that of the preset or host]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Address, where a preset is elsewhere
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Wire format [default: that of the preset, else openai-chat]
    #[arg(long, value_name = "CODEC", value_parser = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"])]
    pub(crate) codec: Option<String>,
    /// Whether it is a machine of yours, which may see private notes [default: local on this machine, else remote]
    #[arg(long, value_enum)]
    pub(crate) privacy: Option<PrivacyArg>,
    /// Source of its key, or - to read the key and keep it sealed
    #[arg(long, value_name = "SOURCE", allow_hyphen_values = true)]
    pub(crate) key: Option<String>,
    /// Model for the usual work; repeatable
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Vec<String>,
    /// Model for quick small things; repeatable
    #[arg(long, value_name = "MODEL")]
    pub(crate) reflex: Vec<String>,
    /// Model for hard questions; repeatable
    #[arg(long, value_name = "MODEL")]
    pub(crate) reasoning: Vec<String>,
    /// Do not ask the server
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrivacyArg {
    /// A machine of yours
    Local,
    /// A machine of others
    Remote,
}

#[derive(Debug, Args)]
pub(crate) struct ModelListArgs {
    /// Ask this provider which models its server has
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) served: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ModelTestArgs {
    /// Models, as PROVIDER/MODEL or PROVIDER [default: the first model of every provider]
    #[arg(value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// Ask from this shell, also if a daemon runs
    #[arg(long)]
    pub(crate) here: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ModelUseArgs {
    /// Model, as PROVIDER/MODEL
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Tier
    #[arg(long, value_enum, default_value = "cognition")]
    pub(crate) tier: TierArg,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TierArg {
    /// Quick small things
    Reflex,
    /// The usual work
    Cognition,
    /// Hard questions
    Reasoning,
}

#[derive(Debug, Args)]
pub(crate) struct ModelRemoveArgs {
    /// Provider, or model as PROVIDER/MODEL
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Args)]
pub(crate) struct ModelApproveArgs {
    /// Providers [default: all that wait]
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON object per provider, one per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Show what a prompt would send: to whom, its parts, tokens and price, and what is left out; sends nothing
    #[command(
        after_help = "The daemon makes the prompt as for `bridle ask`: with the same notes, tools and history, and the same \
        rules for what is private.\n\n\
        Examples:\n  \
        bridle prompt preview what did I promise this week?\n  \
        bridle prompt preview --session work --body summarize the last meeting\n  \
        bridle prompt preview --model box/qwen3:8b --json hello"
    )]
    Preview(PromptPreviewArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PromptPreviewArgs {
    /// The prompt
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) words: Vec<String>,
    /// Session whose history goes with it
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Model, as PROVIDER/MODEL [default: the first of the tier]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Tier
    #[arg(long, value_name = "TIER", value_parser = ["reflex", "cognition", "reasoning"])]
    pub(crate) tier: Option<String>,
    /// Print the body of the request
    #[arg(long)]
    pub(crate) body: bool,
    /// Print one JSON object, the body within
    #[arg(long, conflicts_with = "body")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) peer: PeerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// Group by
    #[arg(long, value_enum, default_value = "model")]
    pub(crate) by: CostKey,
    /// Only this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only from this day on, in UTC: YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    pub(crate) since: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) state: RecordPlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostKey {
    /// Session
    Session,
    /// Model
    Model,
    /// Day, in UTC
    Day,
    /// Skill that answered; all models share one row
    Skill,
}
