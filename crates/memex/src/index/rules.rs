//! Rules of reading: files that are read, text that is private, and the limits of both. Set from the daemon's
//! settings; used by every other part.

use bridle_org::Preset;

/// Largest Org file that is read, in bytes: four times the largest that people are known to keep.
pub const MAX_INDEXED_FILE_BYTES: u64 = 16 << 20;

/// Most Org files: one more is counted and not read.
pub const MAX_INDEXED_FILES: usize = 200_000;

/// Most folders inside one another. Links are not followed, but mounts can go in a circle.
pub const MAX_FOLDER_DEPTH: usize = 64;

/// Most headings of one file; a file with more is listed and not read.
pub const MAX_HEADINGS: usize = 100_000;

/// Most tags of an object, those it inherits included; further ones cannot be asked for.
pub const MAX_TAGS: usize = 64;

/// Most properties and most dates of one object that can be asked for.
pub const MAX_FACTS: usize = 64;

/// Bytes of a title, a tag, or a property's value that are kept.
pub const MAX_LABEL_BYTES: usize = 1024;

/// Whether private parts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateAccess {
    /// To the owner: everything that is not encrypted. What is private is marked.
    Owner,
    /// To anybody else: as if private parts were not there.
    Public,
}

/// Reach of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectReach {
    /// All of the Memex.
    #[default]
    Memex,
    /// One project: a heading or file tagged `project`, or with the property `SCOPE` `project`, and all below.
    Project,
    /// One session: with the property `SCOPE` `session`.
    Session,
}

impl ObjectReach {
    /// All of them.
    pub const ALL: [ObjectReach; 3] =
        [ObjectReach::Memex, ObjectReach::Project, ObjectReach::Session];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ObjectReach::Memex => "memex",
            ObjectReach::Project => "project",
            ObjectReach::Session => "session",
        }
    }

    /// The scope of that word, in whatever case.
    #[must_use]
    pub fn parse(word: &str) -> Option<ObjectReach> {
        ObjectReach::ALL.into_iter().find(|scope| scope.word().eq_ignore_ascii_case(word))
    }
}

/// Rules that say which files are read, and what of them is private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRules {
    /// Largest file that is read, in bytes.
    pub max_file: u64,
    /// Most files that are read.
    pub max_files: usize,
    /// Tags that make a heading, or with `#+FILETAGS:` a file, private with all below it.
    pub private_tags: Vec<String>,
    /// Names of drawers whose contents are private.
    pub private_drawers: Vec<String>,
    /// Keywords of progress and logs, for files that set none.
    pub org: OrgDefaults,
}

/// Settings of Org for files that have none of their own: what people keep in `init.el`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrgDefaults {
    /// Sequences of keywords, as a line of keywords in a file has them.
    pub todo_sequences: Vec<String>,
    /// Words as behind `#+STARTUP:`.
    pub startup: String,
    /// Whether nothing is done before what is below it.
    pub enforce_dependencies: bool,
}

impl OrgDefaults {
    /// Returns the settings of Org that a file without its own has, for the reader of texts.
    #[must_use]
    pub fn preset(&self) -> Preset<'_> {
        Preset {
            todo: self.todo_sequences.iter().map(String::as_bytes).collect(),
            startup: self.startup.as_bytes(),
            enforce_dependencies: self.enforce_dependencies,
        }
    }
}

impl Default for ReadRules {
    fn default() -> Self {
        Self {
            max_file: MAX_INDEXED_FILE_BYTES,
            max_files: MAX_INDEXED_FILES,
            private_tags: vec!["private".to_owned()],
            private_drawers: vec!["private".to_owned()],
            org: OrgDefaults::default(),
        }
    }
}

impl ReadRules {
    pub(crate) fn is_private_tag(&self, tag: &str) -> bool {
        self.private_tags.iter().any(|private| private.eq_ignore_ascii_case(tag))
    }

    pub(crate) fn is_private_drawer(&self, name: &str) -> bool {
        self.private_drawers.iter().any(|private| private.eq_ignore_ascii_case(name))
    }

    /// Says whether an index was made by the same rules.
    pub(crate) fn fingerprint(&self) -> String {
        let ReadRules { max_file, max_files, private_tags, private_drawers, org } = self;
        let lists = [private_tags, private_drawers].map(|list| {
            let mut list: Vec<String> = list.iter().map(|word| word.to_lowercase()).collect();
            list.sort_unstable();
            list.join(":")
        });
        let mut print = format!("{max_file} {max_files} {} {}", lists[0], lists[1]);
        // Indexes of those who set none stay as they are.
        if !org.todo_sequences.is_empty() {
            print.push_str(&format!(" {}", org.todo_sequences.join("\n")));
        }
        print
    }
}
