//! Copies of shipped skills: written once, the user's from then on, and serving without another word.

use bridle_skill::SHIPPED_SKILLS;
use bridle_skill_host::{CopyStanding, ShippedCopy, shipped_copies};

use crate::Home;

fn copies(home: &Home) -> Vec<ShippedCopy> {
    shipped_copies(&home.folder.path().join("skills"), &home.storage()).unwrap()
}

fn standing(home: &Home, name: &str) -> CopyStanding {
    let all = copies(home);
    all.iter().find(|copy| copy.shipped.name == name).unwrap().standing
}

#[test]
fn copies_serve_with_what_they_ask_for() {
    let home = Home::new();
    for copy in copies(&home) {
        assert_eq!(copy.standing, CopyStanding::New);
        copy.write(&home.storage()).unwrap();
    }
    let table = home.registry().table();
    assert_eq!(table.problems(), []);
    assert_eq!(table.skills().count(), SHIPPED_SKILLS.len());
    assert!(copies(&home).iter().all(|copy| copy.standing == CopyStanding::Same));
}

#[test]
fn the_users_file_wins() {
    let home = Home::new();
    home.write("search.org", "mine");
    assert_eq!(standing(&home, "search"), CopyStanding::Edited);
    let all = copies(&home);
    let help = all.iter().find(|copy| copy.shipped.name == "help").unwrap();
    help.write(&home.storage()).unwrap();
    // A second look found nothing there; somebody else was quicker.
    assert!(help.write(&home.storage()).is_err());
    let path = home.file("help.org");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(standing(&home, "help"), CopyStanding::Deleted);
    std::fs::write(&path, format!("{}\nmine\n", help.shipped.text)).unwrap();
    assert_eq!(standing(&home, "help"), CopyStanding::Edited);
    // Replaced only as it was seen.
    let seen = copies(&home).into_iter().find(|copy| copy.shipped.name == "help").unwrap();
    std::fs::write(&path, "newer").unwrap();
    assert!(seen.write(&home.storage()).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "newer");
    let seen = copies(&home).into_iter().find(|copy| copy.shipped.name == "help").unwrap();
    seen.write(&home.storage()).unwrap();
    assert_eq!(standing(&home, "help"), CopyStanding::Same);
}

#[test]
fn a_link_is_the_users_own() {
    let home = Home::new();
    let outside = home.folder.path().join("outside");
    std::os::unix::fs::symlink(&outside, home.file("help.org")).unwrap();
    let all = copies(&home);
    let help = all.iter().find(|copy| copy.shipped.name == "help").unwrap();
    assert_eq!(help.standing, CopyStanding::Edited);
    assert!(!outside.exists());
}
