//! The folder and its table: what serves, what does not and why, what stays while a file is broken.

use bridle_skill::SkillId;
use bridle_skill_host::SkillRegistry;

use crate::{Home, hello};

fn id(name: &str) -> SkillId {
    SkillId::new(name).unwrap()
}

/// Texts of the skills that serve, in order.
fn names(registry: &SkillRegistry) -> String {
    let table = registry.table();
    let names: Vec<String> =
        table.skills().map(|entry| entry.skill.manifest().id.to_string()).collect();
    names.join(" ")
}

fn hash(registry: &SkillRegistry, name: &str) -> String {
    registry.table().find(&id(name)).unwrap().skill.source().hash.clone()
}

#[test]
fn a_file_serves_when_it_is_saved_and_no_more_when_it_is_gone() {
    let home = Home::new();
    let registry = home.registry();
    assert_eq!(names(&registry), "");
    home.write("a.org", &hello("a", "", "one"));
    home.write("b.org", &hello("b", ":PRIORITY: 5\n", "two"));
    home.write("notes.txt", "no skill");
    home.write(".#a.org", "a lock");
    assert!(registry.refresh());
    assert_eq!(names(&registry), "b a");
    assert!(!registry.refresh());
    std::fs::remove_file(home.file("b.org")).unwrap();
    assert!(registry.refresh());
    assert_eq!(names(&registry), "a");
    assert!(registry.table().problems().is_empty());
}

#[test]
fn the_old_version_serves_while_the_file_is_not_in_order() {
    let home = Home::new();
    home.write("a.org", &hello("a", "", "one"));
    let registry = home.registry();
    let first = hash(&registry, "a");
    for (text, part) in [
        ("* nothing".to_owned(), "has a program"),
        (hello("a", "", "one").replace("(text)", "(text"), "a.org:7:"),
        (hello("a", "", "one").replace("\"one\"", "(open text)"), "outside the language: OPEN"),
        (hello("a", "", "one").replace("| one", "| two"), "test `hello`: expected text with `two`"),
        (hello("a", ":PRIORITY: x\n", "one"), "is no priority"),
        (hello("a", ":CAPABILITIES: log/log\n", "one"), "asks for more than was enabled: log/log"),
        (hello("a", "", "one").replace(":END:", ":END:\n#+DEPENDS_ON: gone"), "depends on `gone`"),
    ] {
        home.write("a.org", &text);
        assert!(registry.refresh());
        let table = registry.table();
        assert_eq!(table.problems().len(), 1, "{text}");
        let problem = &table.problems()[0];
        assert!(problem.reason.contains(part), "{part}: {}", problem.reason);
        if part.starts_with("depends") {
            continue;
        }
        assert!(problem.serves_old);
        assert_eq!(hash(&registry, "a"), first, "{part}");
    }
    home.write("a.org", &hello("a", "", "three"));
    registry.refresh();
    assert!(registry.table().problems().is_empty());
    assert_ne!(hash(&registry, "a"), first);
    // The first version is still there for turns that began on it, also after a restart.
    assert_eq!(home.registry().version(&first).unwrap().source().hash, first);
    assert!(registry.version("../../etc/passwd").is_none());
}

#[test]
fn more_capabilities_are_asked_for_and_fewer_are_not() {
    let home = Home::new();
    home.write("a.org", &hello("a", ":CAPABILITIES: log/log memory/*\n", "one"));
    let registry = home.registry();
    assert_eq!(names(&registry), "");
    let asked = registry.table().problems()[0].reason.clone();
    assert!(asked.contains("log/log, memory/*; to allow that: bridle skill enable"), "{asked}");
    let all = ["log/log", "memory/*"].map(|name| bridle_skill::Capability::parse(name).unwrap());
    home.storage().enable(&id("a"), &all.into_iter().collect()).unwrap();
    assert!(registry.refresh());
    assert_eq!(names(&registry), "a");
    home.write("a.org", &hello("a", ":CAPABILITIES: memory/query\n", "one"));
    registry.refresh();
    assert!(registry.table().problems().is_empty());
    home.write("a.org", &hello("a", ":CAPABILITIES: exec/run\n", "one"));
    registry.refresh();
    assert!(registry.table().problems()[0].serves_old);
    // Nothing changed, so nothing is read again.
    assert!(!registry.refresh());
    assert!(home.storage().disable(&id("a")).unwrap());
    assert!(registry.refresh());
    assert_eq!(names(&registry), "");
    assert!(!home.storage().disable(&id("a")).unwrap());
}

#[test]
fn guards_are_those_that_the_owner_enabled() {
    let home = Home::new();
    let storage = home.storage();
    assert!(storage.guards().is_empty());
    for (name, capability) in [("a", "log/log"), ("b", "guard/decide")] {
        let set = [bridle_skill::Capability::parse(capability).unwrap()];
        storage.enable(&id(name), &set.into_iter().collect()).unwrap();
    }
    assert_eq!(storage.guards(), [id("b")]);
}

#[test]
fn one_name_is_one_skill_and_dependencies_must_be_there() {
    let home = Home::new();
    home.write("a.org", &hello("same", "", "one"));
    home.write("b.org", &hello("same", "", "two"));
    home.write("c.org", &hello("c", "", "x").replace(":END:", ":END:\n#+DEPENDS_ON: same"));
    home.write("d.org", &hello("d", "", "x").replace(":END:", ":END:\n#+DEPENDS_ON: d"));
    let registry = home.registry();
    assert_eq!(names(&registry), "c same");
    let table = registry.table();
    let reasons: Vec<&str> = table.problems().iter().map(|it| it.reason.as_str()).collect();
    assert!(reasons[0].starts_with("`same` is also the name of"), "{reasons:?}");
    assert_eq!(reasons[1], "skills depend on one another: d -> d");
}

#[test]
fn what_is_saved_belongs_to_a_skill_and_a_principal() {
    let home = Home::new();
    let storage = home.storage();
    let value = bridle_sexp::Value::list([bridle_sexp::Value::int(1), "x".into()]);
    storage.save(&id("a"), "uid:1/../x", &value).unwrap();
    assert_eq!(storage.saved(&id("a"), "uid:1/../x").unwrap(), value);
    assert!(storage.saved(&id("a"), "uid:2").unwrap().is_nil());
    assert!(storage.saved(&id("b"), "uid:1/../x").unwrap().is_nil());
    let large = bridle_sexp::Value::str("x".repeat(2 << 20));
    assert!(storage.save(&id("a"), "uid:2", &large).is_err());
}
