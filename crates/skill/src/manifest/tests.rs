//! Ids, triggers, and what is wider than what.

use super::{Capability, CapabilitySet, SkillId, SkillStimulus, SkillTrigger};

fn set(names: &[&str]) -> CapabilitySet {
    let mut set = CapabilitySet::default();
    names.iter().for_each(|name| set.insert(Capability::parse(name).unwrap()));
    set
}

#[test]
fn an_id_is_small_and_plain() {
    assert_eq!(SkillId::new("org-skill-Water").unwrap().as_str(), "water");
    let long = "x".repeat(65);
    for bad in ["", "a b", "../x", "-x", "ä", long.as_str()] {
        assert!(SkillId::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_capability_covers_its_actions_and_no_other() {
    let set = set(&["memory/query", "delivery/*"]);
    assert!(set.allows("memory", "query") && set.allows("delivery", "send"));
    assert!(!set.allows("memory", "edit") && !set.allows("exec", "run"));
    for bad in ["memory", "/x", "a/", "a/b c", "*/x"] {
        assert_eq!(Capability::parse(bad), None, "{bad}");
    }
}

#[test]
fn wider_is_what_the_old_set_does_not_cover() {
    let wider = |new: &[&str], old: &[&str]| {
        let wider = set(new).wider_than(&set(old));
        wider.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(wider(&["memory/query"], &["memory/*"]).is_empty());
    assert_eq!(wider(&["memory/*"], &["memory/query"]), ["memory/*"]);
    assert_eq!(wider(&["a/b", "c/d"], &["a/b"]), ["c/d"]);
}

#[test]
fn triggers_look_at_sensor_text_and_ids() {
    let none = SkillStimulus::default();
    let pattern = SkillTrigger::pattern("^water").unwrap();
    assert!(pattern.fits(&SkillStimulus { text: Some("Water it"), ..none }));
    assert!(!pattern.fits(&none));
    let heartbeat = SkillTrigger::Sensor("heartbeat".into());
    assert!(heartbeat.fits(&SkillStimulus { sensor: "heartbeat", ..none }));
    assert!(SkillTrigger::Plugin("a".into()).fits(&SkillStimulus { plugin: "a", ..none }));
    assert!(SkillTrigger::Procedure("a".into()).fits(&SkillStimulus { procedure: "a", ..none }));
    let tags = ["garden".to_owned()];
    assert!(SkillTrigger::Tag("garden".into()).fits(&SkillStimulus { tags: &tags, ..none }));
    let schedule = SkillTrigger::Schedule("0 8 * * *".into());
    assert!(schedule.fits(&SkillStimulus { schedule: "0 8 * * *", ..none }));
    for trigger in [heartbeat, SkillTrigger::Plugin("a".into()), schedule] {
        assert!(!trigger.fits(&none), "{trigger}");
    }
    let action = SkillTrigger::Action(Capability::parse("exec/*").unwrap());
    assert!(action.fits_action("exec", "exec") && !action.fits_action("file", "read"));
    assert!(!action.fits(&none));
    assert!(SkillTrigger::pattern("(").unwrap_err().contains("no pattern"));
    assert!(SkillTrigger::pattern("a{1000}{1000}{1000}").is_err());
}
