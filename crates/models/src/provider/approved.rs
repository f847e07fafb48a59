//! Settings of a provider that its owner said yes to: what decides where prompts and keys go. Kept by the host, compared
//! with each saved file; a saved provider works with the approved ones until there is a yes to its own.

use super::value::key;
use super::{KeySource, Provider, ProviderAddress, ProviderChange, ProviderField, ProviderPrivacy};
use crate::codec::CodecName;

/// Word that stands for a setting that is not there. No value of the settings is written like it.
const NONE: &str = "none";

/// Settings of a provider that need a yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedSettings {
    address: ProviderAddress,
    key: Option<KeySource>,
    hosts: Vec<String>,
    privacy: ProviderPrivacy,
    codec: CodecName,
    codec_skill: Option<String>,
    proxy: Option<ProviderAddress>,
    ca_file: Option<String>,
}

impl ApprovedSettings {
    /// Takes the settings of a provider.
    #[must_use]
    pub fn of(provider: &Provider) -> Self {
        Self {
            address: provider.address.clone(),
            key: provider.key.clone(),
            hosts: provider.hosts.clone(),
            privacy: provider.privacy,
            codec: provider.codec,
            codec_skill: provider.codec_skill.clone(),
            proxy: provider.proxy.clone(),
            ca_file: provider.ca_file.clone(),
        }
    }

    /// Reads settings from their texts; `None` unless every one is there and is one.
    #[must_use]
    pub fn read<'t>(text: impl Fn(ProviderField) -> Option<&'t str>) -> Option<Self> {
        let optional = |field| text(field).map(|it| (it != NONE).then_some(it));
        let key = match optional(ProviderField::Key)? {
            Some(source) => Some(key(source).ok()?),
            None => None,
        };
        let proxy = match optional(ProviderField::Proxy)? {
            Some(address) => Some(ProviderAddress::parse(address).ok()?),
            None => None,
        };
        let privacy = match text(ProviderField::Privacy)? {
            "local" => ProviderPrivacy::Local,
            "remote" => ProviderPrivacy::Remote,
            _ => return None,
        };
        Some(Self {
            address: ProviderAddress::parse(text(ProviderField::Address)?).ok()?,
            key,
            hosts: text(ProviderField::Hosts)?.split(' ').map(str::to_owned).collect(),
            privacy,
            codec: text(ProviderField::Codec)?.parse().ok()?,
            // What was approved before there were such skills has none.
            codec_skill: optional(ProviderField::CodecSkill).flatten().map(str::to_owned),
            proxy,
            ca_file: optional(ProviderField::CaFile)?.map(str::to_owned),
        })
    }

    /// Returns a saved provider with these settings in the place of its own.
    #[must_use]
    pub fn over(&self, saved: &Provider) -> Provider {
        let Self { address, key, hosts, privacy, codec, codec_skill, proxy, ca_file } =
            self.clone();
        Provider {
            address,
            key,
            hosts,
            privacy,
            codec,
            codec_skill,
            proxy,
            ca_file,
            ..saved.clone()
        }
    }

    /// Returns what a saved provider has instead of these settings.
    #[must_use]
    pub fn changes(&self, saved: &Provider) -> Vec<ProviderChange> {
        changes(Some(&self.over(saved)), saved)
    }
}

/// Changes of a provider that need a yes; `before` is the one in force.
fn changes(before: Option<&Provider>, saved: &Provider) -> Vec<ProviderChange> {
    let gated = ProviderField::ALL.into_iter().filter(|field| field.needs_approval());
    let changed = gated.filter_map(|field| {
        let (was, is) = (before.map(|before| field.text(before)), field.text(saved));
        let is_new = before.is_none() && is == NONE;
        (was.as_deref() != Some(&is) && !is_new).then(|| ProviderChange {
            provider: saved.name.clone(),
            field,
            before: was,
            after: Some(is),
        })
    });
    changed.collect()
}

impl Provider {
    /// Texts of the settings that need a yes, as [`ApprovedSettings::read`] reads them.
    pub fn approval_texts(&self) -> impl Iterator<Item = (ProviderField, String)> + '_ {
        let gated = ProviderField::ALL.into_iter().filter(|field| field.needs_approval());
        gated.map(|field| (field, field.text(self)))
    }

    /// Settings that need a yes when nothing was approved yet; those that are not there are left out.
    #[must_use]
    pub fn new_settings(&self) -> Vec<ProviderChange> {
        changes(None, self)
    }

    /// Whether a provider that nobody approved may be used: it is on this machine, gets no key, and nobody is in
    /// between.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        self.address.is_loopback() && self.key.is_none() && self.proxy.is_none()
    }
}
