//! What changed between the providers in force and those of a saved file, and which changes wait for the owner's yes:
//! everything that decides where prompts and keys go, and what is run for a key.

use super::{Provider, ProviderSet};

/// Changes of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderDiff {
    /// In the order of the new set, then what is gone.
    pub changes: Vec<ProviderChange>,
}

/// Change of one property of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderChange {
    /// Name of the provider.
    pub provider: String,
    /// Property that changed.
    pub field: ProviderField,
    /// Value before, as written in the file; `None` for a new provider.
    pub before: Option<String>,
    /// Value that is to be; `None` for a provider that is gone.
    pub after: Option<String>,
}

/// Property of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderField {
    /// `ADDRESS`
    Address,
    /// `KEY`: source or command
    Key,
    /// `HOSTS`
    Hosts,
    /// `PRIVACY`
    Privacy,
    /// `CODEC`
    Codec,
    /// `CODEC_SKILL`
    CodecSkill,
    /// `PROXY`
    Proxy,
    /// `CA_FILE`
    CaFile,
    /// `DIALECT`
    Dialect,
    /// `TIMEOUT_...` and `RETRIES`
    Patience,
    /// `CATALOG`
    Catalog,
    /// The models with all of their properties.
    Models,
}

impl ProviderField {
    /// Every property, those that need a yes first.
    pub const ALL: [Self; 12] = [
        Self::Address,
        Self::Key,
        Self::Hosts,
        Self::Privacy,
        Self::Codec,
        Self::CodecSkill,
        Self::Proxy,
        Self::CaFile,
        Self::Dialect,
        Self::Patience,
        Self::Catalog,
        Self::Models,
    ];

    /// Whether a change of it waits for the owner's yes. Proxy and certificates are among them: both decide who can
    /// read what is sent.
    #[must_use]
    pub fn needs_approval(self) -> bool {
        match self {
            Self::Address
            | Self::Key
            | Self::Hosts
            | Self::Privacy
            | Self::Codec
            | Self::CodecSkill
            | Self::Proxy
            | Self::CaFile => true,
            Self::Dialect | Self::Patience | Self::Catalog | Self::Models => false,
        }
    }

    /// Returns the property as it is called in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Address => "ADDRESS",
            Self::Key => "KEY",
            Self::Hosts => "HOSTS",
            Self::Privacy => "PRIVACY",
            Self::Codec => "CODEC",
            Self::CodecSkill => "CODEC_SKILL",
            Self::Proxy => "PROXY",
            Self::CaFile => "CA_FILE",
            Self::Dialect => "DIALECT",
            Self::Patience => "TIMEOUT",
            Self::Catalog => "CATALOG",
            Self::Models => "MODEL",
        }
    }

    /// The value as text; two providers differ in a property when their texts do.
    pub(super) fn text(self, provider: &Provider) -> String {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        match self {
            Self::Address => provider.address.to_string(),
            Self::Key => or_none(provider.key.as_ref().map(ToString::to_string)),
            Self::Hosts => provider.hosts.join(" "),
            Self::Privacy => provider.privacy.as_str().to_owned(),
            Self::Codec => provider.codec.as_str().to_owned(),
            Self::CodecSkill => or_none(provider.codec_skill.clone()),
            Self::Proxy => or_none(provider.proxy.as_ref().map(ToString::to_string)),
            Self::CaFile => or_none(provider.ca_file.clone()),
            Self::Dialect => format!("{:?}", provider.dialect).to_lowercase(),
            Self::Patience => format!("{:?}", provider.patience),
            Self::Catalog => or_none(provider.catalog_name.clone()),
            Self::Models => {
                let models = provider.models.iter().map(|model| {
                    // Where it stands is no property.
                    let placed = super::ProviderModel { line: 0, ..model.clone() };
                    format!("{placed:?}")
                });
                models.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl ProviderChange {
    /// Whether it waits for the owner's yes. A provider that is gone does not.
    #[must_use]
    pub fn needs_approval(&self) -> bool {
        self.after.is_some() && self.field.needs_approval()
    }
}

impl ProviderDiff {
    /// Compares the set in force with a saved one.
    #[must_use]
    pub fn between(before: &ProviderSet, after: &ProviderSet) -> Self {
        let mut changes = Vec::new();
        for provider in &after.providers {
            let old = before.provider(&provider.name);
            for field in ProviderField::ALL {
                let (was, is) = (old.map(|old| field.text(old)), field.text(provider));
                if was.as_ref() != Some(&is) {
                    let (provider, after) = (provider.name.clone(), Some(is));
                    changes.push(ProviderChange { provider, field, before: was, after });
                }
            }
        }
        for gone in before.providers.iter().filter(|old| after.provider(&old.name).is_none()) {
            let (provider, field) = (gone.name.clone(), ProviderField::Address);
            let before = Some(field.text(gone));
            changes.push(ProviderChange { provider, field, before, after: None });
        }
        Self { changes }
    }

    /// Returns the changes that wait for the owner's yes.
    pub fn to_approve(&self) -> impl Iterator<Item = &ProviderChange> {
        self.changes.iter().filter(|change| change.needs_approval())
    }
}

impl ProviderSet {
    /// Returns what is in force between a save and the owner's yes: of a known provider the properties that need a
    /// yes as they were and the others as saved; a new one is not there yet, one that is gone is gone.
    #[must_use]
    pub fn before_approval(&self, saved: &Self) -> Self {
        let providers = saved.providers.iter().filter_map(|new| {
            let old = self.provider(&new.name)?;
            Some(Provider {
                address: old.address.clone(),
                key: old.key.clone(),
                hosts: old.hosts.clone(),
                privacy: old.privacy,
                codec: old.codec,
                codec_skill: old.codec_skill.clone(),
                proxy: old.proxy.clone(),
                ca_file: old.ca_file.clone(),
                ..new.clone()
            })
        });
        Self { providers: providers.collect() }
    }
}
