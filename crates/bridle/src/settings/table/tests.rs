//! The spellings of one setting follow one rule, so that knowing one means knowing all.

use super::{TABLE, find};

#[test]
fn the_three_spellings_agree() {
    for setting in TABLE {
        let dashed = setting.name.replace('.', "-");
        if let Some(flag) = setting.flag {
            assert_eq!(flag, dashed);
        }
        if !setting.is_secret() {
            let upper = dashed.replace('-', "_").to_ascii_uppercase();
            assert_eq!(setting.env[0], format!("BRIDLE_{upper}"));
        }
        assert!(std::ptr::eq(find(setting.name).unwrap(), setting), "{} twice", setting.name);
    }
}

#[test]
fn defaults_are_values_of_their_kind() {
    for setting in TABLE {
        if let super::SettingPreset::Text(text) = setting.default {
            setting.kind.parse(text).unwrap_or_else(|why| panic!("{}: {why}", setting.name));
        }
    }
}
