//! Questions about the settings of the daemon, for owners: what they are and where they come from. They are read when the
//! daemon starts, so none is changed here; what can be changed while it runs is said instead.

use bridle_sexp::Value;

use crate::config::SettingFact;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::queries::query::success;

/// Question about settings.
#[derive(Debug)]
pub(crate) enum ConfigQuery {
    /// All of them.
    List,
    /// One, by its name.
    Get(String),
    /// Change of one.
    Set(String),
}

impl ConfigQuery {
    /// Reads a payload; `None` if it is about something else.
    pub(in crate::engine) fn of(
        action: &Value,
        payload: &Value,
    ) -> Option<Result<ConfigQuery, EngineError>> {
        let key = || match payload.get("key") {
            Some(Value::Str(key)) => Ok(key.to_string()),
            Some(key) => key
                .as_keyword()
                .map(str::to_ascii_lowercase)
                .ok_or_else(|| EngineError::invalid("key", NO_KEY)),
            None => Err(EngineError::invalid("key", NO_KEY)),
        };
        Some(match action.as_keyword()?.to_ascii_lowercase().as_str() {
            "config-list" => Ok(ConfigQuery::List),
            "config-get" => key().map(ConfigQuery::Get),
            "config-set" => key().map(ConfigQuery::Set),
            _ => return None,
        })
    }
}

/// Reason for a question without a name.
const NO_KEY: &str = "expected the name of a setting, such as `thinker`; `:config-list` lists them";

/// Answers an owner.
///
/// # Errors
/// There is no such setting, or it is to be changed.
pub(in crate::engine) fn answer(
    settings: &[SettingFact],
    query: &ConfigQuery,
) -> Result<Value, EngineError> {
    let find = |key: &str| {
        let found = settings.iter().find(|fact| fact.name == *key);
        found.ok_or_else(|| EngineError::invalid("key", NO_KEY))
    };
    match query {
        ConfigQuery::List => {
            let rows = settings.iter().map(|fact| Value::plist(shown(fact)));
            Ok(success("config-list", [("settings", Value::list(rows))]))
        }
        ConfigQuery::Get(key) => Ok(success("config-get", shown(find(key)?))),
        ConfigQuery::Set(key) => {
            let name = &find(key)?.name;
            let reason = format!(
                "settings are read when the daemon starts: set `{name}` in the settings file (`bridle config path`) and \
                 start it again; limits of a session change by `:set-limits`, grants by `:grant`"
            );
            Err(EngineError::because(EngineErrorCode::Unsupported, reason))
        }
    }
}

fn shown(fact: &SettingFact) -> Vec<(&'static str, Value)> {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Nil, Value::str);
    let mut pairs = vec![
        ("key", Value::str(&*fact.name)),
        ("value", text(&fact.value)),
        ("origin", Value::str(&*fact.origin)),
        ("about", Value::str(&*fact.about)),
    ];
    pairs.extend(fact.is_secret.then_some(("secret", Value::T)));
    pairs
}

#[cfg(test)]
mod tests {
    use bridle_sexp::{Value, read_one};

    use super::{ConfigQuery, answer};
    use crate::config::SettingFact;

    fn check(payload: &str, expect: &str) {
        let fact = |name: &str, value: Option<&str>, is_secret| SettingFact {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            is_secret,
            origin: "default".to_owned(),
            about: "Meaning".to_owned(),
        };
        let settings = [fact("thinker", Some("builtin"), false), fact("hmac-secret", None, true)];
        let payload = read_one(payload).unwrap().root().to_value();
        let action = payload.get("action").unwrap();
        let told = ConfigQuery::of(action, &payload).expect("about settings");
        let told = told.and_then(|query| answer(&settings, &query));
        let told = told.map_or_else(|error| error.to_string(), |it: Value| it.to_string());
        assert!(told.contains(expect), "{payload}: {told}");
    }

    #[test]
    fn settings_are_told_without_secrets_and_not_changed() {
        check("(:action :config-list)", ":settings ((:key \"thinker\" :value \"builtin\"");
        check("(:action :config-list)", ":key \"hmac-secret\" :value nil :origin \"default\"");
        check("(:action :config-get :key :thinker)", ":key \"thinker\" :value \"builtin\"");
        check("(:action :config-get :key \"hmac-secret\")", ":value nil");
        check(
            "(:action :config-get :key \"colour\")",
            "invalid-value: expected the name of a setting",
        );
        check("(:action :config-get)", "invalid-value");
        check(
            "(:action :config-set :key :thinker :value \"x\")",
            "set `thinker` in the settings file",
        );
    }
}
