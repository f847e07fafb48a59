//! The table and the daemon agree about defaults.

use bridle_daemon::config::{Config, ThinkerChoice};

use super::super::table::Preset;
use super::super::{Origin, Resolved, Settings, TABLE, Value};

/// Settings with every value at its default and a state directory.
fn defaults() -> Settings {
    let entries = TABLE.iter().map(|setting| {
        let value = match setting.default {
            Preset::Text(text) => setting.kind.parse(text).unwrap(),
            Preset::StateDir | Preset::Socket => Value::Path("/x".into()),
            Preset::Unset => Value::Unset,
        };
        Resolved { setting, text: None, value, origin: Origin::Default }
    });
    Settings { entries: entries.collect(), file: None }
}

#[test]
fn defaults_are_those_of_the_daemon() {
    let lifted = defaults().to_daemon().unwrap();
    let daemon = Config { unix: Some("/x".into()), state: "/x".into(), ..Config::default() };
    assert_eq!(format!("{lifted:?}"), format!("{daemon:?}"));
}

#[test]
fn limits_out_of_range_are_named_as_settings() {
    for name in ["max-connections", "max-frame", "max-in-flight", "max-output", "max-message"] {
        let mut settings = defaults();
        let entry = settings.entries.iter_mut().find(|entry| entry.setting.name == name).unwrap();
        entry.value = Value::Number(0);
        let failure = settings.check_limits().unwrap_err().to_string();
        assert!(failure.starts_with(&format!("error: `{name}`: expected ")), "{failure}");
    }
}

#[test]
fn logs_have_a_default() {
    let (filter, format) = defaults().log();
    assert_eq!(filter.to_string(), "info");
    assert_eq!(format, crate::log::Format::Text);
}

#[test]
fn the_engine_is_told_who_thinks_and_how_often_time_passes() {
    let mut settings = defaults();
    for (name, text) in [("thinker", "script:rules.lisp"), ("heartbeat", "90s")] {
        let entry = settings.entries.iter_mut().find(|entry| entry.setting.name == name).unwrap();
        entry.value = entry.setting.kind.parse(text).unwrap();
    }
    let config = settings.to_daemon().unwrap();
    assert_eq!(config.thinker, ThinkerChoice::Script("rules.lisp".into()));
    assert_eq!(config.heartbeat, Some(std::time::Duration::from_secs(90)));
}
