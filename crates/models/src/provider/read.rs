//! From the text of `models.org` to providers. A provider is a heading with a property of a provider; a model is a
//! heading right below it. Everything else is prose, and what is commented out or archived is not there. All faults
//! are told at once, each with its line and what to write instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bridle_org::{Document, Heading, HeadingId, Property};

use super::address::is_host;
use super::value::{duration, flag, is_name, key, tier, tokens};
use super::{
    KeySource, PriceSource, Provider, ProviderAddress, ProviderModel, ProviderPatience,
    ProviderPrivacy, ProviderSet,
};
use crate::codec::{ChatDialect, CodecName, ReasoningControl};
use crate::key_text::{looks_like_key, mask_keys};
use crate::money::MicroDollars;
use crate::price::Price;

/// Largest file that is read.
const MAX_FILE_BYTES: usize = 1024 * 1024;

/// Most providers of a file, and most models of a provider.
const MAX_PROVIDERS: usize = 64;
const MAX_MODELS: usize = 256;

/// Host whose `openai-chat` is OpenAI's own.
const OPENAI_HOST: &str = "api.openai.com";

/// Properties of a provider.
const PROVIDER_PROPERTIES: &[&str] = &[
    "ADDRESS",
    "CODEC",
    "CODEC_SKILL",
    "PRIVACY",
    "KEY",
    "HOSTS",
    "DIALECT",
    "TIMEOUT_CONNECT",
    "TIMEOUT_FIRST_BYTE",
    "TIMEOUT_BETWEEN_BYTES",
    "TIMEOUT_TOTAL",
    "RETRIES",
    "PROXY",
    "CA_FILE",
    "CATALOG",
];

/// Properties of a model.
const MODEL_PROPERTIES: &[&str] = &[
    "MODEL",
    "CONTEXT",
    "OUTPUT",
    "IMAGES",
    "TOOLS",
    "REASONING",
    "PRICE",
    "PRICE_INPUT",
    "PRICE_OUTPUT",
    "PRICE_CACHE_READ",
    "PRICE_CACHE_WRITE",
];

/// Properties that belong to Org, whatever the heading is.
const ORG_PROPERTIES: &[&str] =
    &["ID", "CUSTOM_ID", "CREATED", "CATEGORY", "VISIBILITY", "ORDERED", "COLUMNS", "UNNUMBERED"];

/// Providers of a file, and everything that is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedProviders {
    /// Providers without a fault.
    pub providers: Vec<Provider>,
    /// Faults, in the order of lines. A provider with one is not among the providers.
    pub problems: Vec<ProviderProblem>,
    /// Remarks on what is allowed and perhaps not meant.
    pub notices: Vec<ProviderNotice>,
}

/// Fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderProblem {
    /// Its line, from 1.
    pub line: usize,
    /// Provider that it keeps back; `None` where the provider has no readable name.
    pub provider: Option<String>,
    /// Statement of what is wrong.
    pub reason: String,
    /// Advice on what to write instead.
    pub instead: String,
}

impl fmt::Display for ProviderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.reason, self.instead)
    }
}

/// Remark about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderNotice {
    /// Its line, from 1.
    pub line: usize,
    /// The remark.
    pub text: String,
}

impl ParsedProviders {
    /// Returns the set that this file gives: a provider with a fault stays as it was before.
    #[must_use]
    pub fn over(&self, before: &ProviderSet) -> ProviderSet {
        let is_nameless = self.problems.iter().any(|problem| problem.provider.is_none());
        let is_broken = |name: &str| {
            let named = |problem: &ProviderProblem| problem.provider.as_deref() == Some(name);
            is_nameless || self.problems.iter().any(named)
        };
        let is_here = |name: &str| self.providers.iter().any(|provider| provider.name == name);
        let kept = before.providers.iter();
        let kept = kept.filter(|old| !is_here(&old.name) && is_broken(&old.name)).cloned();
        ProviderSet { providers: self.providers.iter().cloned().chain(kept).collect() }
    }
}

/// Reads the text of a file of providers.
#[must_use]
pub fn read_providers(text: &str) -> ParsedProviders {
    let mut file = FileReader::default();
    if text.len() > MAX_FILE_BYTES {
        let reason = format!("the file has {} bytes", text.len());
        file.problem(1, None, reason, format!("keep it under {MAX_FILE_BYTES}"));
        return file.parsed;
    }
    let document = Document::read(text.as_bytes());
    file.note_keys(text);
    for heading in document.headings() {
        if is_provider(&document, heading) && !is_off(&document, heading) {
            file.read_provider(&document, heading);
        }
    }
    file.parsed.problems.sort_by_key(|problem| problem.line);
    file.parsed
}

/// Whether the heading has a property that only providers have. One below a provider is a model.
fn is_provider(document: &Document<'_>, heading: &Heading<'_>) -> bool {
    let has = |heading: &Heading<'_>| {
        PROVIDER_PROPERTIES.iter().any(|name| heading.property(name).is_some())
    };
    let parent = heading.parent.and_then(|parent| document.heading(parent));
    has(heading) && !parent.is_some_and(has)
}

/// Whether the heading, or one that it is below, is commented out or archived.
fn is_off(document: &Document<'_>, heading: &Heading<'_>) -> bool {
    let mut next = Some(heading);
    while let Some(heading) = next {
        if heading.commented || heading.tags.contains(&&b"ARCHIVE"[..]) {
            return true;
        }
        next = heading.parent.and_then(|parent| document.heading(parent));
    }
    false
}

#[derive(Default)]
struct FileReader {
    parsed: ParsedProviders,
    names: BTreeSet<String>,
}

impl FileReader {
    fn problem(
        &mut self,
        line: usize,
        provider: Option<&str>,
        reason: impl Into<String>,
        instead: impl Into<String>,
    ) {
        let provider = provider.map(str::to_owned);
        let (reason, instead) = (reason.into(), instead.into());
        self.parsed.problems.push(ProviderProblem { line, provider, reason, instead });
    }

    /// Remarks on keys, wherever they stand: prose is read by people and programs too.
    fn note_keys(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            if mask_keys(line) != line {
                let text = "this line has what looks like a key: take it out, and make a new one"
                    .to_owned();
                self.parsed.notices.push(ProviderNotice { line: index + 1, text });
            }
        }
    }

    fn read_provider(&mut self, document: &Document<'_>, heading: &Heading<'_>) {
        let title = String::from_utf8_lossy(heading.title).into_owned();
        if !is_name(&title) {
            let reason = format!("`{}` is no name of a provider", mask_keys(&title));
            let instead = "write 1 to 64 letters, digits, `-`, `_` or `.`, such as `* openai`";
            return self.problem(heading.line, None, reason, instead);
        }
        if self.names.len() == MAX_PROVIDERS {
            let reason = format!("more than {MAX_PROVIDERS} providers");
            return self.problem(heading.line, None, reason, "remove some");
        }
        if !self.names.insert(title.clone()) {
            let reason = format!("a second provider is named `{title}`");
            return self.problem(heading.line, Some(&title), reason, "give it another name");
        }
        let before = self.parsed.problems.len();
        let mut fields = Fields::of(self, heading, &title, PROVIDER_PROPERTIES);
        let read = provider_fields(&mut fields);
        let models = self.read_models(document, heading, &title);
        let Some(mut provider) = read else { return };
        provider.models = models;
        if self.parsed.problems.len() == before {
            self.check_privacy(&provider);
            self.parsed.providers.push(provider);
        }
    }

    fn check_privacy(&mut self, provider: &Provider) {
        if provider.privacy == ProviderPrivacy::Local && !provider.address.is_private() {
            let text = format!(
                "`{}` is called local, and its host `{}` has a public name: private notes would be sent there",
                provider.name, provider.address.host
            );
            self.parsed.notices.push(ProviderNotice { line: provider.line, text });
        }
    }

    fn read_models(
        &mut self,
        document: &Document<'_>,
        heading: &Heading<'_>,
        provider: &str,
    ) -> Vec<ProviderModel> {
        let mut models: Vec<ProviderModel> = Vec::new();
        let children =
            heading.children.iter().filter_map(|child: &HeadingId| document.heading(*child));
        for child in children.filter(|child| is_model(child)) {
            let mut fields = Fields::of(self, child, provider, MODEL_PROPERTIES);
            let Some(model) = model_fields(&mut fields) else { continue };
            if models.iter().any(|known| known.name == model.name) {
                let reason = format!("a second model is named `{}`", model.name);
                self.problem(child.line, Some(provider), reason, "remove one of them");
            } else if models.len() == MAX_MODELS {
                self.problem(child.line, Some(provider), "too many models", "remove some");
            } else {
                models.push(model);
            }
        }
        if models.is_empty() {
            let instead =
                "write a heading below it for each, such as `** gpt-5.4-mini :cognition:`";
            self.problem(heading.line, Some(provider), "the provider has no models", instead);
        }
        models
    }
}

/// Whether the heading is a model: it has a tier or a property of one, and is not off.
fn is_model(heading: &Heading<'_>) -> bool {
    let has_tier = heading.tags.iter().any(|tag| tier(&String::from_utf8_lossy(tag)).is_some());
    let has_property = !heading.properties.is_empty();
    let is_off = heading.commented || heading.tags.contains(&&b"ARCHIVE"[..]);
    (has_tier || has_property) && !is_off
}

/// The properties of one heading, with the faults that are found in them.
struct Fields<'r> {
    file: &'r mut FileReader,
    provider: String,
    title: String,
    line: usize,
    tags: Vec<String>,
    /// By name, with the line of each.
    values: BTreeMap<String, (String, usize)>,
}

impl<'r> Fields<'r> {
    fn of(file: &'r mut FileReader, heading: &Heading<'_>, provider: &str, known: &[&str]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = Self {
            file,
            provider: provider.to_owned(),
            title: text(heading.title),
            line: heading.line,
            tags: heading.tags.iter().map(|tag| text(tag)).collect(),
            values: BTreeMap::new(),
        };
        for property in &heading.properties {
            fields.add(property, known);
        }
        fields
    }

    fn add(&mut self, property: &Property<'_>, known: &[&str]) {
        let name = String::from_utf8_lossy(property.key).to_uppercase();
        let value = String::from_utf8_lossy(property.value).into_owned();
        let is_org = ORG_PROPERTIES.contains(&name.as_str()) || name.starts_with("X_");
        if !known.contains(&name.as_str()) && !is_org {
            let near = known.iter().find(|known| strsim::osa_distance(known, &name) <= 2);
            let instead = match near {
                _ if looks_like_key(&value) => {
                    "write the key's source as `:KEY: env:NAME`".to_owned()
                }
                Some(near) => format!("write `:{near}:`"),
                None => {
                    format!("write one of {}, or `X_{name}` for a note of yours", known.join(", "))
                }
            };
            return self.fault(
                property.line,
                format!("`:{}:` is no property here", mask_keys(&name)),
                instead,
            );
        }
        let line = property.line;
        if self.values.insert(name.clone(), (value, line)).is_some() {
            self.fault(line, format!("`:{name}:` is written twice"), "keep one of them");
        }
    }

    fn fault(&mut self, line: usize, reason: impl Into<String>, instead: impl Into<String>) {
        let provider = self.provider.clone();
        self.file.problem(line, Some(&provider), reason, instead);
    }

    fn text(&self, name: &str) -> Option<(String, usize)> {
        self.values.get(name).filter(|(value, _)| !value.is_empty()).cloned()
    }

    /// A property by its reader; a value that it does not like is a fault and counts as not written.
    fn read<T>(&mut self, name: &str, read: impl Fn(&str) -> Result<T, &'static str>) -> Option<T> {
        let (value, line) = self.text(name)?;
        match read(&value) {
            Ok(value) => Some(value),
            Err(instead) => {
                // The value of a key's source may be the key.
                let shown =
                    if name == "KEY" { String::new() } else { format!(" `{}`", mask_keys(&value)) };
                self.fault(line, format!("`:{name}:`{shown} is not understood"), instead);
                None
            }
        }
    }

    fn needed<T>(
        &mut self,
        name: &str,
        instead: &str,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        if self.text(name).is_none() {
            let line = self.values.get(name).map_or(self.line, |(_, line)| *line);
            self.fault(line, format!("`{}` has no `:{name}:`", self.title), instead);
            return None;
        }
        self.read(name, read)
    }
}

fn provider_fields(fields: &mut Fields<'_>) -> Option<Provider> {
    let address = fields.needed("ADDRESS", "write `:ADDRESS: https://...`", ProviderAddress::parse);
    let codecs = "write `:CODEC:` and openai-chat, openai-responses, anthropic-messages or gemini";
    let codec =
        fields.needed("CODEC", codecs, |text| text.parse::<CodecName>().map_err(|()| codecs));
    let words = "write `:PRIVACY: remote`, or `local` for a server of your own";
    let privacy = fields.needed("PRIVACY", words, |text| match text {
        "local" => Ok(ProviderPrivacy::Local),
        "remote" => Ok(ProviderPrivacy::Remote),
        _ => Err("write `local` or `remote`"),
    });
    let key = fields.read("KEY", key);
    let dialect = fields.read("DIALECT", |text| match text {
        "openai" => Ok(ChatDialect::OpenAi),
        "compatible" => Ok(ChatDialect::Compatible),
        _ => Err("write `openai` or `compatible`"),
    });
    let hosts = fields.read("HOSTS", hosts);
    let patience = patience(fields);
    let proxy = fields.read("PROXY", ProviderAddress::parse);
    let ca_file = fields.read("CA_FILE", |text| match text.starts_with(['/', '~']) {
        true => Ok(text.to_owned()),
        false => Err("write a path from `/` or `~`"),
    });
    let catalog_name = fields.read("CATALOG", |text| match is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("write the provider's name in the price catalog, such as `openai`"),
    });
    let codec_skill = fields.read("CODEC_SKILL", |text| match is_name(text) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("write the name of a skill with a `defprovider`"),
    });
    let (address, codec, privacy) = (address?, codec?, privacy?);
    check_address(fields, &address, codec);
    let hosts = hosts.unwrap_or_else(|| vec![address.host.clone()]);
    check_key(fields, &address, key.as_ref(), &hosts);
    let default = match address.host == OPENAI_HOST {
        true => ChatDialect::OpenAi,
        false => ChatDialect::Compatible,
    };
    Some(Provider {
        name: fields.title.clone(),
        line: fields.line,
        address,
        codec,
        codec_skill,
        dialect: dialect.unwrap_or(default),
        privacy,
        key,
        hosts,
        patience,
        proxy,
        ca_file,
        catalog_name,
        models: Vec::new(),
    })
}

fn hosts(text: &str) -> Result<Vec<String>, &'static str> {
    let hosts: Vec<String> = text
        .split([' ', ','])
        .filter(|host| !host.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let is_written = !hosts.is_empty() && hosts.iter().all(|host| is_host(host));
    is_written
        .then_some(hosts)
        .ok_or("write hosts without scheme and port, with blanks between them")
}

fn patience(fields: &mut Fields<'_>) -> ProviderPatience {
    let default = ProviderPatience::default();
    let retries = |text: &str| {
        let number = text.parse().ok().filter(|number| *number <= 10);
        number.ok_or("write a number from 0 to 10")
    };
    ProviderPatience {
        connect: fields.read("TIMEOUT_CONNECT", duration).unwrap_or(default.connect),
        first_byte: fields.read("TIMEOUT_FIRST_BYTE", duration).unwrap_or(default.first_byte),
        between_bytes: fields
            .read("TIMEOUT_BETWEEN_BYTES", duration)
            .unwrap_or(default.between_bytes),
        total: fields.read("TIMEOUT_TOTAL", duration).unwrap_or(default.total),
        retries: fields.read("RETRIES", retries).unwrap_or(default.retries),
    }
}

/// The path of a codec is added to the address; people copy it along.
fn check_address(fields: &mut Fields<'_>, address: &ProviderAddress, codec: CodecName) {
    let end = match codec {
        CodecName::OpenAiChat => "/chat/completions",
        CodecName::OpenAiResponses => "/responses",
        CodecName::AnthropicMessages => "/messages",
        CodecName::Gemini => "/models",
    };
    if let Some(path) = address.path.strip_suffix(end) {
        let line = fields.text("ADDRESS").map_or(fields.line, |(_, line)| line);
        let short = ProviderAddress { path: path.to_owned(), ..address.clone() };
        let reason = format!("the codec adds `{end}` by itself");
        fields.fault(line, reason, format!("write `{short}`"));
    }
}

/// A key goes to the hosts that are written, and nowhere unencrypted but to this machine.
fn check_key(
    fields: &mut Fields<'_>,
    address: &ProviderAddress,
    key: Option<&KeySource>,
    hosts: &[String],
) {
    let line = fields.text("ADDRESS").map_or(fields.line, |(_, line)| line);
    if !hosts.contains(&address.host) {
        let line = fields.text("HOSTS").map_or(fields.line, |(_, line)| line);
        let reason = format!("the address's host `{}` is not among the hosts", address.host);
        fields.fault(line, reason, "add it, or leave `:HOSTS:` out");
    }
    let is_open = address.scheme == super::AddressScheme::Http && !address.is_loopback();
    if key.is_some() && is_open {
        fields.fault(line, "the key would be sent unencrypted", "write `https://`");
    }
}

fn model_fields(fields: &mut Fields<'_>) -> Option<ProviderModel> {
    let name = fields.text("MODEL").map_or_else(|| fields.title.clone(), |(name, _)| name);
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let reason = format!("`{}` is no name of a model", mask_keys(&name));
        fields.fault(
            fields.line,
            reason,
            "write the name as the provider spells it, without blanks",
        );
        return None;
    }
    let mut tiers: Vec<_> = fields.tags.iter().filter_map(|tag| tier(tag)).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let reasoning = fields.read("REASONING", |text| match text {
        "effort" => Ok(ReasoningControl::Effort),
        "budget" => Ok(ReasoningControl::Budget),
        "none" => Ok(ReasoningControl::Unsupported),
        _ => Err("write `effort`, `budget` or `none`"),
    });
    Some(ProviderModel {
        name,
        line: fields.line,
        tiers,
        context_tokens: fields.read("CONTEXT", tokens),
        max_output_tokens: fields.read("OUTPUT", tokens),
        takes_images: fields.read("IMAGES", flag).unwrap_or(false),
        takes_tools: fields.read("TOOLS", flag).unwrap_or(true),
        reasoning: reasoning.unwrap_or_default(),
        price: price(fields),
    })
}

/// `free`, or what a million tokens cost; nothing is the catalog's.
fn price(fields: &mut Fields<'_>) -> PriceSource {
    let money = |text: &str| {
        let text = text.strip_prefix('$').unwrap_or(text);
        MicroDollars::parse(text).ok_or("write US dollars for a million tokens, such as `2.50`")
    };
    let input = fields.read("PRICE_INPUT", money);
    let output = fields.read("PRICE_OUTPUT", money);
    let cache_read = fields.read("PRICE_CACHE_READ", money);
    let cache_write = fields.read("PRICE_CACHE_WRITE", money);
    let is_free = fields.read("PRICE", |text| match text {
        "free" => Ok(()),
        _ => Err("write `free`, or `:PRICE_INPUT:` and `:PRICE_OUTPUT:`"),
    });
    match (input, output, is_free) {
        (None, None, Some(())) if cache_read.or(cache_write).is_none() => PriceSource::Free,
        (Some(input), Some(output), None) => {
            PriceSource::Stated(Price { input, output, cache_read, cache_write })
        }
        (None, None, None) if cache_read.or(cache_write).is_none() => PriceSource::Catalog,
        _ => {
            let instead =
                "write `:PRICE_INPUT:` and `:PRICE_OUTPUT:`, or `:PRICE: free`, or none of them";
            fields.fault(fields.line, "the price is not complete", instead);
            PriceSource::Catalog
        }
    }
}
