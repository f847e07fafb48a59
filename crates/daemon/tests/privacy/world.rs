//! A folder of Org files with secrets in it, hidden by every means that there is; each hidden thing has a twin that
//! never was.

use std::fs;
use std::path::Path;

/// Numbers that are always the same for a seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A word that nobody else says.
    pub(crate) fn word(&mut self) -> String {
        let letters = (0..12).map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap()));
        "zq".chars().chain(letters).collect()
    }
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Id,
    Word,
    Tag,
    Property,
    Skill,
    Snapshot,
    Session,
    Record,
}

/// Something that is hidden, and the name of something that is not there.
#[derive(Clone, Debug)]
pub(crate) struct Hidden {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) twin: String,
}

/// What was planted.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) hidden: Vec<Hidden>,
    /// Words that no question names: whoever is told one was told a secret.
    pub(crate) secrets: Vec<String>,
    /// A word of a private heading, for the owner to find.
    pub(crate) found_by_owner: String,
}

/// How a file is hidden: the end of its name, and how its text is made of an Org text.
type Way = (&'static str, fn(&str) -> Vec<u8>);

const WAYS: [Way; 17] = [
    (".org", |text| format!("#+FILETAGS: :private:\n{text}").into_bytes()),
    (".org", |text| format!("\u{feff}#+FILETAGS: private\n{text}").into_bytes()),
    (".org", |text| format!("#+SETUPFILE: setup.org\n{text}").into_bytes()),
    (".org", |text| format!("#+setupfile: \"none.org\"\n{text}").into_bytes()),
    (".org", |text| format!("#+SETUPFILE: https://example.org/x.setup\n{text}").into_bytes()),
    (".org", |text| format!("#+filetags: a\r\n#+FILETAGS: Private\r\n{text}").into_bytes()),
    (".org", |text| format!("{text}  #+FILETAGS: b:private\n").into_bytes()),
    (".org", |text| format!(":X:\n#+FILETAGS: private\n:END:\n{text}").into_bytes()),
    (".org", |text| format!("#+TAGS: [ private : diary ]\n#+FILETAGS: diary\n{text}").into_bytes()),
    (".org", |text| text.replace('\n', "\r").into_bytes()),
    (".org", |text| {
        let text = format!("#+FILETAGS: private\n{text}");
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    }),
    (".org", |text| format!("#+FILETAGS: :crypt:private:\n{text}").into_bytes()),
    ("-ignored.org", |text| text.as_bytes().to_vec()),
    (".org.gpg", |text| text.as_bytes().to_vec()),
    (".txt", |text| text.as_bytes().to_vec()),
    (".sh", |text| text.as_bytes().to_vec()),
    (".org~", |text| text.as_bytes().to_vec()),
];

impl World {
    /// Fills a folder.
    pub(crate) fn plant(folder: &Path, dice: &mut Dice) -> World {
        let mut world = World::default();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("setup.org", b"#+FILETAGS: private\n");
        write(".bridleignore", b"*-ignored.org\nattic/\n");
        for (number, (end, make)) in WAYS.iter().enumerate() {
            let folder = ["", "deep/down/", "attic/", ".dot/"][if number % 5 == 4 { 1 } else { 0 }];
            let (name, twin) = (dice.word(), dice.word());
            let text = world.text(dice);
            write(&format!("{folder}{name}{end}"), &make(&text));
            world.hide(Kind::File, format!("{folder}{name}{end}"), format!("{folder}{twin}{end}"));
        }
        for folder in ["attic/", ".dot/", ""] {
            let start = if folder.is_empty() { "." } else { "" };
            let (name, twin) = (dice.word(), dice.word());
            let text = world.text(dice);
            write(&format!("{folder}{start}{name}.org"), text.as_bytes());
            let [name, twin] = [name, twin].map(|it| format!("{folder}{start}{it}.org"));
            world.hide(Kind::File, name, twin);
        }
        let (skill, twin) = (dice.word(), dice.word());
        let text = world.text(dice);
        write(&format!("skills/{skill}.org"), format!("#+FILETAGS: private\n{text}").as_bytes());
        world.hide(Kind::Skill, skill, twin);
        write("skills/plain.org", b"#+TITLE: A skill that all may see\n* Public\n");
        let inner =
            world.text(dice).replace("* TODO", "** TODO").replacen(":END:", ":X: y\n:END:", 1);
        let inner = inner.replacen(" :zq", " :private:zq", 1);
        let [drawer, clear, below] = [world.secret(dice), world.secret(dice), world.secret(dice)];
        let open = format!(
            "#+TITLE: Open\n* TODO Visible\n:PROPERTIES:\n:ID: visible\n:END:\nopenword\n:PRIVATE:\n{drawer}\n:END:\n\
             {inner}* Key :crypt:\n{clear}\n** {below}\n* Last\nopenword\n"
        );
        write("open.org", open.as_bytes());
        world
    }

    pub(crate) fn hide(&mut self, kind: Kind, name: String, twin: String) {
        self.hidden.push(Hidden { kind, name, twin });
    }

    fn secret(&mut self, dice: &mut Dice) -> String {
        let word = dice.word();
        self.secrets.push(word.clone());
        word
    }

    /// A heading with everything that a heading can have, all of it hidden.
    fn text(&mut self, dice: &mut Dice) -> String {
        let mut named = |kind| {
            let (name, twin) = (dice.word(), dice.word());
            self.hide(kind, name.clone(), twin);
            name
        };
        let [word, title] = [named(Kind::Word), named(Kind::Word)];
        let (id, tag, value) = (named(Kind::Id), named(Kind::Tag), named(Kind::Property));
        self.found_by_owner = word.clone();
        let [text, more] = [self.secret(dice), self.secret(dice)];
        format!(
            "* TODO {title} {more} :{tag}:\nSCHEDULED: <2026-11-15 Sun>\n:PROPERTIES:\n:ID: {id}\n:KEY: {value}\n:END:\n\
             {text} {word}\n"
        )
    }
}
