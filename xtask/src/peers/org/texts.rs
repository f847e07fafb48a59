//! Texts made of lines and pieces that change what others mean: the same ones every time.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use bridle_org::{Objects, Scratch, Tree};

use crate::console::{VerbConsole, root};

#[path = "../../../../crates/org/tests/it/lines.rs"]
mod lines;

/// Number of texts to make.
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
    let mut dice = XorShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match seed % 3 {
        0 => dice.rows(40, |dice| dice.pick(lines::LINES).to_owned()),
        1 => dice.rows(25, |dice| dice.pick(ITEMS).to_owned()),
        _ => dice.rows(15, |dice| {
            let start = dice.pick(&["", "- ", "| ", "* ", "  ", "1. "]).to_owned();
            (0..2 + dice.roll(25)).fold(start, |row, _| row + dice.pick(lines::PIECES))
        }),
    }
}

/// Bytes that mean something in Org, and parts of characters.
const MARKS: &[u8] = b"*/_+=~[](){}<>|\\#:@%^$,.-;'\" \t\n\n\n\r\x0c\0aZ09\xc3\xa9\xe6\x97\xa5\xff";

/// Makes texts, reads each, objects and all, and puts it together again. Fails at the first that does not come back as it
/// was. Of eight texts five are made of lines and pieces, one is of random bytes, one of marks, one of pieces cut out of the
/// vectors, wherever that cuts; then most are changed: other line ends, bytes that are no text, parts missing or twice.
pub(super) fn round_trips(count: u64, console: &VerbConsole) -> Result<()> {
    let vectors = vectors()?;
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    let (mut bytes, mut nodes, mut broken, mut dos) = (0, 0, 0_u64, 0_u64);
    for seed in 1..=count {
        let source = any_text(seed, &vectors);
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
        broken += u64::from(std::str::from_utf8(&source).is_err());
        dos += u64::from(source.windows(2).any(|pair| pair == b"\r\n"));
    }
    console.say(format!(
        "peers: {count} texts ({broken} are no UTF-8, {dos} have CRLF), {bytes} bytes, {nodes} nodes: all came back"
    ));
    Ok(())
}

/// The texts that pieces are cut out of.
fn vectors() -> Result<Vec<Vec<u8>>> {
    let files = super::org_files(&root().join("vectors/org"))?;
    let read = |file: &PathBuf| {
        fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))
    };
    files.iter().map(read).collect()
}

fn any_text(seed: u64, vectors: &[Vec<u8>]) -> Vec<u8> {
    let mut dice = XorShift(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
    let source = match seed % 8 {
        0 => (0..dice.roll(300)).map(|_| dice.byte()).collect(),
        1 => (0..dice.roll(300)).map(|_| MARKS[dice.roll(MARKS.len())]).collect(),
        2 => (0..1 + dice.roll(8)).fold(Vec::new(), |text, _| {
            let vector = &vectors[dice.roll(vectors.len())];
            [text, dice.cut(vector)].concat()
        }),
        _ => text(seed).into_bytes(),
    };
    dice.changed(source)
}

/// Numbers that look random and are always the same (xorshift).
struct XorShift(u64);

impl XorShift {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 8).unwrap_or(0) % sides.max(1)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.roll(256)).unwrap_or(0)
    }

    /// A part of the bytes.
    fn cut(&mut self, from: &[u8]) -> Vec<u8> {
        let start = self.roll(from.len() + 1);
        let end = start + self.roll(from.len() - start + 1);
        from[start..end].to_vec()
    }

    /// The bytes with a change that people and programs make, or without one.
    fn changed(&mut self, mut source: Vec<u8>) -> Vec<u8> {
        let at = self.roll(source.len() + 1);
        match self.roll(7) {
            0 => source
                .iter()
                .flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] })
                .collect(),
            1 => {
                source.truncate(at);
                source
            }
            2 => {
                let byte = self.byte();
                source.insert(at, byte);
                source
            }
            3 => {
                let end = at + self.roll(source.len() - at + 1);
                source.drain(at..end);
                source
            }
            4 => {
                let twice = self.cut(&source);
                source.splice(at..at, twice);
                source
            }
            5 => {
                let mark = MARKS[self.roll(MARKS.len())];
                source.insert(at, mark);
                source
            }
            _ => source,
        }
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }

    fn rows(&mut self, most: usize, mut row: impl FnMut(&mut Self) -> String) -> String {
        let count = 5 + self.roll(most);
        (0..count).fold(String::new(), |text, _| text + &row(self) + "\n")
    }
}
