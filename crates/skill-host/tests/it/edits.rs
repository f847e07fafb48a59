//! Random edits of skill files, half of them broken, while prompts flow: no prompt is answered by a broken version, none is
//! lost, and what asks for more is never enabled by itself.
//!
//! `BRIDLE_SKILL_EDITS` says how many edits; a few hundred unless told.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::turns::Session;
use crate::{Home, hello};

/// Edits unless told.
const EDITS: usize = 300;

/// Files that are edited.
const FILES: usize = 3;

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The text of an edit, and whether it may serve.
fn edit(dice: &mut Dice, file: usize, number: usize) -> (String, bool) {
    let good = hello(&format!("s{file}"), "", &format!("good {file} {number}."))
        .replace("defcommand hello", &format!("defcommand hello{file}"))
        .replace("| hello |", &format!("| hello{file} |"));
    let says = format!("good {file} {number}.");
    let bad = format!("bad {file} {number}.");
    let broken = match dice.roll(16) {
        0 => good.replacen(&says, &bad, 1).replace("(text)", "(text"),
        1 => good.replacen(&says, &bad, 1),
        2 => good.replace(&says, &bad).replace(":END:", ":CAPABILITIES: exec/exec\n:END:"),
        3 => good.replace(&says, &bad).replace(":END:", ":PRIORITY: high\n:END:"),
        4 => good.replace(&says, &bad).replace("(text)", "(text) (open text)"),
        5 => format!("#+TITLE: {bad}\n"),
        6 => good
            .replace(&says, &bad)
            .replace("* Tests", "* Tests\n#+begin_src lisp\n(test \"x\")\n#+end_src"),
        7 => good.replace(&says, &bad).replace("(defcommand", "(error \"no\") (defcommand"),
        _ => return (good, true),
    };
    (broken, false)
}

#[test]
fn edits_while_prompts_flow() {
    let edits =
        std::env::var("BRIDLE_SKILL_EDITS").ok().and_then(|it| it.parse().ok()).unwrap_or(EDITS);
    let home = Home::new();
    let served = Mutex::new(BTreeSet::new());
    for file in 0..FILES {
        let mut dice = Dice(7 + file as u64);
        let (text, _) = loop {
            let made = edit(&mut dice, file, 0);
            if made.1 {
                break made;
            }
        };
        home.write(&format!("s{file}.org"), &text);
        served.lock().unwrap().insert(format!("good {file} 0."));
    }
    let registry = home.registry();
    let done = AtomicBool::new(false);
    let answered = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(42);
            for number in 1..=edits {
                let file = usize::try_from(dice.roll(FILES as u64)).unwrap();
                let (text, is_good) = edit(&mut dice, file, number);
                if is_good {
                    served.lock().unwrap().insert(format!("good {file} {number}."));
                }
                home.write(&format!("s{file}.org"), &text);
                if dice.roll(3) > 0 {
                    registry.refresh();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut session = Session::new(false, || std::sync::Arc::clone(&registry));
        let (mut dice, mut answered) = (Dice(1), 0);
        while !done.load(Ordering::Acquire) {
            let file = dice.roll(FILES as u64);
            let said = session.prompt(&format!("/hello{file}"));
            assert!(served.lock().unwrap().contains(&said), "{said}");
            answered += 1;
        }
        answered
    });
    assert!(answered > 0);
    // What is there at the end: a file that is in order serves as it is, and any other says why not.
    registry.refresh();
    let table = registry.table();
    assert_eq!(table.skills().count(), FILES);
    for problem in table.problems() {
        assert!(problem.serves_old, "{problem:?}");
    }
    for entry in table.skills() {
        assert!(entry.skill.manifest().capabilities.is_empty());
    }
}
