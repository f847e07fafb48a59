//! The table and the daemon agree about defaults.

use std::path::Path;
use std::sync::Arc;

use bridle_daemon::config::{DaemonConfig, PolicyChoice, ThinkerChoice};

use super::super::table::SettingPreset;
use super::super::{ResolvedSetting, ResolvedSettings, SettingValue, TABLE, ValueOrigin};

/// Settings with every value at its default and a state directory.
fn defaults() -> ResolvedSettings {
    let entries = TABLE.iter().map(|setting| {
        let value = match setting.default {
            SettingPreset::Text(text) => setting.kind.parse(text).unwrap(),
            SettingPreset::StateDir
            | SettingPreset::Policy
            | SettingPreset::Socket
            | SettingPreset::HttpSocket => SettingValue::Path("/x".into()),
            SettingPreset::Unset => SettingValue::Unset,
        };
        ResolvedSetting { setting, text: None, value, origin: ValueOrigin::Default }
    });
    ResolvedSettings { entries: entries.collect(), file: None }
}

fn entry_of<'s>(settings: &'s mut ResolvedSettings, name: &str) -> &'s mut ResolvedSetting {
    settings.entries.iter_mut().find(|entry| entry.setting.name == name).unwrap()
}

#[test]
fn defaults_are_those_of_the_daemon() {
    let lifted = defaults().to_daemon().unwrap();
    let daemon = DaemonConfig {
        // A daemon in a test serves no HTTP that nobody asked for; the program does.
        http: Some("127.0.0.1:8788".to_owned()),
        unix: Some("/x".into()),
        http_unix: Some("/x".into()),
        state: "/x".into(),
        policy: PolicyChoice::IfThere("/x".into()),
        // The directory of settings depends on who runs this.
        protected: lifted.protected.clone(),
        // So do toolchains; a daemon in a test runs no program.
        effects: lifted.effects.clone(),
        settings: Arc::clone(&lifted.settings),
        ..DaemonConfig::default()
    };
    assert_eq!(format!("{lifted:?}"), format!("{daemon:?}"));
}

#[test]
fn a_file_of_policies_that_is_named_must_exist() {
    let mut settings = defaults();
    entry_of(&mut settings, "policy").origin = ValueOrigin::Flag("policy");
    assert_eq!(settings.policy(), PolicyChoice::File("/x".into()));
    entry_of(&mut settings, "policy").value = SettingValue::Unset;
    assert_eq!(settings.policy(), PolicyChoice::BuiltIn);
}

#[test]
fn settings_and_keys_are_protected() {
    let mut settings = defaults();
    settings.file = Some("/etc/bridle.toml".into());
    entry_of(&mut settings, "hmac.key-file").value = SettingValue::Path("/srv/key".into());
    let protected = settings.protected();
    for path in ["/etc/bridle.toml", "/srv/key"] {
        assert!(protected.iter().any(|one| one == Path::new(path)), "{path} in {protected:?}");
    }
}

#[test]
fn limits_out_of_range_are_named_as_settings() {
    for name in ["max-connections", "max-frame", "max-in-flight", "max-output", "max-message"] {
        let mut settings = defaults();
        let entry = entry_of(&mut settings, name);
        entry.value = SettingValue::Number(0);
        let failure = settings.check_limits().unwrap_err().to_string();
        assert!(failure.starts_with(&format!("error: `{name}`: expected ")), "{failure}");
    }
}

#[test]
fn logs_have_a_default() {
    let (filter, format) = defaults().log();
    assert_eq!(filter.to_string(), "info");
    assert_eq!(format, crate::log::LogFormat::Text);
}

#[test]
fn the_engine_is_told_who_thinks_and_how_often_time_passes() {
    let mut settings = defaults();
    for (name, text) in [("thinker", "script:rules.lisp"), ("heartbeat", "90s")] {
        let entry = entry_of(&mut settings, name);
        entry.value = entry.setting.kind.parse(text).unwrap();
    }
    let config = settings.to_daemon().unwrap();
    assert_eq!(config.thinker, ThinkerChoice::Script("rules.lisp".into()));
    assert_eq!(config.heartbeat, Some(std::time::Duration::from_secs(90)));
}
