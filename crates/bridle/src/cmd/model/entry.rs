//! The heading of a provider as it is added to `models.org`: written, then read again, so that nothing is added that
//! would be a fault.

use std::fmt::Write as _;

use bridle_models::{CodecName, ModelTier, Provider, ProviderPrivacy, read_providers};

use crate::exit::{BridleExit, CommandFailure};

/// Provider that is to be added.
#[derive(Debug, Clone)]
pub(super) struct ProviderEntry {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) codec: CodecName,
    pub(super) privacy: ProviderPrivacy,
    /// Source of its key.
    pub(super) key: Option<String>,
    pub(super) models: Vec<ModelEntry>,
}

/// Model of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelEntry {
    pub(super) name: String,
    pub(super) tiers: Vec<ModelTier>,
    pub(super) context_tokens: Option<u32>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) takes_images: bool,
    pub(super) is_free: bool,
}

impl ModelEntry {
    /// A model of which nothing is known.
    pub(super) fn new(name: &str, tiers: Vec<ModelTier>, is_free: bool) -> ModelEntry {
        ModelEntry {
            name: name.to_owned(),
            tiers,
            context_tokens: None,
            max_output_tokens: None,
            takes_images: false,
            is_free,
        }
    }

    fn push(&self, out: &mut String) {
        let tags: Vec<&str> = self.tiers.iter().map(|tier| tier.as_str()).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "** {} :{}:", self.name, tags.join(":"));
        let tokens = |count: Option<u32>| count.map(|count| count.to_string());
        let yes = |flag: bool, word: &str| flag.then(|| word.to_owned());
        let properties = [
            ("CONTEXT", tokens(self.context_tokens)),
            ("OUTPUT", tokens(self.max_output_tokens)),
            ("IMAGES", yes(self.takes_images, "yes")),
            ("PRICE", yes(self.is_free, "free")),
        ];
        push_drawer(&properties, out);
    }
}

impl ProviderEntry {
    /// The heading with its models.
    pub(super) fn text(&self) -> String {
        let mut out = format!("* {}\n", self.name);
        let properties = [
            ("ADDRESS", Some(self.address.clone())),
            ("CODEC", Some(self.codec.as_str().to_owned())),
            ("PRIVACY", Some(self.privacy.as_str().to_owned())),
            ("KEY", self.key.clone()),
        ];
        push_drawer(&properties, &mut out);
        self.models.iter().for_each(|model| model.push(&mut out));
        out
    }

    /// The provider that the text stands for.
    pub(super) fn read(&self) -> Result<Provider, CommandFailure> {
        let mut parsed = read_providers(&self.text());
        if let Some(problem) = parsed.problems.first() {
            let what = format!("{}; {}", problem.reason, problem.instead);
            return Err(CommandFailure::new(BridleExit::Usage, what).hint("see docs/models.md"));
        }
        let found = parsed.providers.pop().filter(|found| self.is_same(found));
        found.ok_or_else(|| {
            let what = "a name of a model cannot stand in `models.org` as it is";
            CommandFailure::new(BridleExit::Usage, what)
                .hint("write the heading yourself, with the name as `:MODEL:`: see docs/models.md")
        })
    }

    fn is_same(&self, read: &Provider) -> bool {
        let names = read.models.iter().map(|model| (&model.name, &model.tiers));
        names.eq(self.models.iter().map(|model| (&model.name, &model.tiers)))
            && read.name == self.name
    }

    /// The text of a file with the heading at its end; every other byte stays.
    pub(super) fn behind(&self, file: &str) -> String {
        let gap = match file {
            "" => "",
            _ if file.ends_with("\n\n") => "",
            _ if file.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        format!("{file}{gap}{}", self.text())
    }
}

fn push_drawer(properties: &[(&str, Option<String>)], out: &mut String) {
    if properties.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    out.push_str(":PROPERTIES:\n");
    for (name, value) in properties {
        if let Some(value) = value {
            let _ = writeln!(out, "{:<10} {value}", format!(":{name}:"));
        }
    }
    out.push_str(":END:\n");
}

#[cfg(test)]
mod tests {
    use bridle_models::{CodecName, ModelTier, ProviderPrivacy, read_providers};

    use super::{ModelEntry, ProviderEntry};

    fn entry(model: &str) -> ProviderEntry {
        let tiers = vec![ModelTier::Reflex, ModelTier::Cognition];
        ProviderEntry {
            name: "box".to_owned(),
            address: "http://127.0.0.1:1/v1".to_owned(),
            codec: CodecName::OpenAiChat,
            privacy: ProviderPrivacy::Local,
            key: None,
            models: vec![ModelEntry::new(model, tiers, true)],
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_meant_and_no_other_byte_changes() {
        for file in ["", "* a", "* a\n", "* a\r\n\n", "#+begin_src x\n"] {
            let after = entry("qwen3:8b").behind(file);
            assert!(after.starts_with(file), "{file:?}");
            let read = read_providers(&after);
            assert!(read.problems.is_empty(), "{file:?}: {:?}", read.problems);
            assert_eq!(read.providers[0].models[0].name, "qwen3:8b", "{file:?}");
        }
        assert!(entry("a/b@c+1").read().is_ok());
        for odd in ["TODO", "COMMENT", "a b", "a :x:", "x\n* y", ""] {
            assert!(entry(odd).read().is_err(), "{odd:?}");
        }
    }
}
