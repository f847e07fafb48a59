//! How long a changed skill takes to serve, and what a thousand skills take of memory and of a prompt.
//!
//! Run with `cargo run --release -p bridle-skill-host --example skill_measures`.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints, and breaks off when it cannot measure"
)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bridle_skill_host::{SkillRegistry, SkillStorage};

/// Saves of the file that is measured.
const RELOADS: u32 = 500;

/// Skills of the large folder.
const SKILLS: u32 = 1_000;

/// A skill of about so many lines, without tests.
fn skill(number: u32, lines: u32) -> String {
    let mut text = format!(
        ":PROPERTIES:\n:ID: s{number}\n:TRIGGER_PATTERN: ^word{number}\\b\n:END:\n#+TITLE: Skill {number}\n\n* P\n#+begin_src lisp\n"
    );
    for part in 0..lines / 8 {
        let _ = writeln!(
            text,
            "(defun helper-{part} (list)\n  \"Sums what is even.\"\n  (let ((sum {number}))\n    (dolist (item list sum)\n      (if (evenp item)\n          (incf sum (* item {part}))\n          (decf sum)))))\n"
        );
    }
    text.push_str(
        "(defskill s (think (context) (format nil \"~a\" (helper-0 (list 1 2 3)))))\n#+end_src\n",
    );
    text
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn main() {
    let home = std::env::temp_dir().join(format!("bridle-skill-measures-{}", std::process::id()));
    let folder = home.join("skills");
    std::fs::create_dir_all(&folder).unwrap();
    let registry =
        || SkillRegistry::new(Some(folder.clone()), SkillStorage::new(&home.join("state")));
    let one = registry();
    let mut times: Vec<Duration> = (0..RELOADS)
        .map(|number| {
            std::fs::write(folder.join("one.org"), skill(number, 200)).unwrap();
            let begun = Instant::now();
            assert!(one.refresh());
            begun.elapsed()
        })
        .collect();
    times.sort();
    let at = |percent: usize| times[times.len() * percent / 100];
    println!("reload of 200 lines: p50 {:?}, p99 {:?}", at(50), at(99));
    let before = resident();
    for number in 0..SKILLS {
        std::fs::write(folder.join(format!("s{number}.org")), skill(number, 40)).unwrap();
    }
    let (many, begun) = (registry(), Instant::now());
    many.refresh();
    let count = many.table().skills().count();
    println!(
        "{count} skills: {:?} to load, {} MiB",
        begun.elapsed(),
        resident().saturating_sub(before) >> 20
    );
    let begun = Instant::now();
    std::fs::write(folder.join("s7.org"), skill(7, 48)).unwrap();
    many.refresh();
    println!("reload of one of them: {:?}", begun.elapsed());
    std::fs::remove_dir_all(&home).unwrap();
}
