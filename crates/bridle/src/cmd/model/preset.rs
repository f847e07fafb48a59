//! Presets: the examples of a new `models.org`, switched on.

use bridle_models::{DEFAULT_MODELS_FILE, Provider, read_providers};

/// Variables in which the vendors' own programs look for their keys.
const KEY_VARIABLES: [(&str, &str); 5] = [
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
    ("openrouter", "OPENROUTER_API_KEY"),
    ("groq", "GROQ_API_KEY"),
];

/// Every preset, as a provider.
fn all() -> Vec<Provider> {
    read_providers(&DEFAULT_MODELS_FILE.replace("\n* COMMENT ", "\n* ")).providers
}

/// The preset of this name.
pub(super) fn find(name: &str) -> Option<Provider> {
    all().into_iter().find(|preset| preset.name == name)
}

/// Names of all presets.
pub(super) fn names() -> Vec<String> {
    all().into_iter().map(|preset| preset.name).collect()
}

/// The variable in which the key of a preset usually is; `None` for one that wants none.
pub(super) fn key_variable(name: &str) -> Option<&'static str> {
    KEY_VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, variable)| *variable)
}

#[cfg(test)]
mod tests {
    use super::{find, key_variable, names};

    #[test]
    fn presets_are_the_examples_and_those_with_a_key_have_a_variable() {
        let all =
            ["ollama", "llamacpp", "vllm", "openai", "anthropic", "gemini", "openrouter", "groq"];
        assert_eq!(names(), all);
        for name in all {
            let preset = find(name).expect("a preset");
            assert_eq!(preset.key.is_some(), key_variable(name).is_some(), "{name}");
        }
    }
}
