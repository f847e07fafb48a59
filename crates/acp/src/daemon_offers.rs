//! Commands and models that the daemon offers, as it told them last.

use bridle_sexp::Value;

/// Commands and models that are taken from one answer.
const MAX_OFFERS: usize = 256;

/// Offers of the daemon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DaemonOffers {
    /// Commands of skills: name and what it is for.
    pub(crate) commands: Vec<(String, String)>,
    /// Models that a prompt may name.
    pub(crate) models: Vec<ModelOffer>,
}

/// Model that a prompt may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelOffer {
    /// Name, with that of its provider.
    pub(crate) name: String,
    /// Whether what it is told stays on the user's machines.
    pub(crate) is_local: bool,
    /// Whether it takes pictures.
    pub(crate) takes_images: bool,
}

impl DaemonOffers {
    /// Reads the payload of the daemon's answer.
    pub(crate) fn read(payload: &Value) -> DaemonOffers {
        let text = |it: &Value, key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
        let listed = |key| payload.get(key).and_then(Value::elements).unwrap_or_default();
        let command = |it: &Value| {
            let name = text(it, "name")?;
            let is_plain = name.chars().all(|it| it.is_alphanumeric() || "-_.".contains(it));
            is_plain.then(|| (name, text(it, "about").unwrap_or_default()))
        };
        let model = |it: &Value| {
            Some(ModelOffer {
                name: text(it, "model")?,
                is_local: it.get("privacy").is_some_and(|it| it.is_keyword("local")),
                takes_images: it.get("images").is_some_and(|it| !it.is_nil()),
            })
        };
        DaemonOffers {
            commands: listed("commands").iter().filter_map(command).take(MAX_OFFERS).collect(),
            models: listed("models").iter().filter_map(model).take(MAX_OFFERS).collect(),
        }
    }

    /// Whether any model takes pictures.
    pub(crate) fn take_images(&self) -> bool {
        self.models.iter().any(|it| it.takes_images)
    }

    /// Whether there are models at all.
    pub(crate) fn has_models(&self) -> bool {
        !self.models.is_empty()
    }

    /// Whether there is a model of this name.
    pub(crate) fn has_model(&self, name: &str) -> bool {
        self.models.iter().any(|it| it.name == name)
    }
}
