//! Texts made of lines and pieces that change what others mean: the same ones every time.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bridle_org::{Objects, Scratch, Tree};

use crate::console::{Console, root};

#[path = "../../../../crates/org/tests/it/lines.rs"]
mod lines;

/// How many texts are made.
const TEXTS: u64 = 600;

/// Lines of lists, which only mean something near each other.
const ITEMS: &[&str] = &[
    "- a",
    "  - b",
    "    - c",
    "",
    "  text",
    "    text",
    "1. d",
    "   - e",
    "- [X] f",
    " + g",
    "text",
    "  #+name: h",
];

/// Writes the texts and returns their files.
pub(super) fn made() -> Result<Vec<PathBuf>> {
    let folder = root().join("target/org-made");
    fs::create_dir_all(&folder).context("cannot make a folder for texts")?;
    (1..=TEXTS)
        .map(|seed| {
            let file = folder.join(format!("{seed:04}.org"));
            let text = text(seed);
            fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
            Ok(file)
        })
        .collect()
}

/// The text of that number: lines, items, or pieces within lines.
fn text(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match seed % 3 {
        0 => dice.rows(40, |dice| dice.pick(lines::LINES).to_owned()),
        1 => dice.rows(25, |dice| dice.pick(ITEMS).to_owned()),
        _ => dice.rows(15, |dice| {
            let start = dice.pick(&["", "- ", "| ", "* ", "  ", "1. "]).to_owned();
            (0..2 + dice.roll(25)).fold(start, |row, _| row + dice.pick(lines::PIECES))
        }),
    }
}

/// Makes texts, some with other line ends, without a last one, or with bytes that are no text, and reads each, objects
/// and all. Fails at the first that does not come back as it was.
pub(super) fn round_trips(count: u64, console: &Console) -> Result<()> {
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    let (mut bytes, mut nodes) = (0, 0);
    for seed in 1..=count {
        let mut source = text(seed).into_bytes();
        let mut dice = Dice(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
        match dice.roll(4) {
            0 => source = String::from_utf8_lossy(&source).replace('\n', "\r\n").into_bytes(),
            1 => source.truncate(source.len().saturating_sub(1)),
            2 => {
                let at = dice.roll(source.len());
                source[at] = u8::try_from(dice.roll(256)).unwrap_or(0);
            }
            _ => {}
        }
        let tree = Tree::read(&source);
        if let Some(offset) = tree.first_loss() {
            bail!("text {seed} does not come back from byte {offset} on");
        }
        nodes += tree.nodes().len();
        for id in tree.ids() {
            tree.objects_into(id, &mut scratch, &mut objects);
            nodes += objects.nodes().len();
        }
        bytes += source.len();
    }
    console.say(format!("peers: {count} texts, {bytes} bytes, {nodes} nodes: all came back"));
    Ok(())
}

/// Numbers that look random and are always the same (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 8).unwrap_or(0) % sides.max(1)
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }

    fn rows(&mut self, most: usize, mut row: impl FnMut(&mut Self) -> String) -> String {
        let count = 5 + self.roll(most);
        (0..count).fold(String::new(), |text, _| text + &row(self) + "\n")
    }
}
