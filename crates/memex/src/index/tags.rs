//! Tags that a file gives to all of its headings, by every way that Org knows: `#+FILETAGS:` in the file, in its
//! setup files and in theirs, groups of `#+TAGS:`, behind a byte order mark, between all kinds of line ends.
//!
//! Called by `file_sheet`, because these tags say what is private. A file whose tags cannot be known counts as
//! private: a setup file that is not an Org file of the Memex is not read, and nobody would notice when it changes.

use std::path::{Component, Path, PathBuf};

use bridle_org::Document;

use super::folder::MemexFolder;
use super::rules::{MAX_LABEL_BYTES, ReadRules};
use super::scan::unread_reason;

/// The mark that some editors put before UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Setup files that one file may lead to, one from another: with more of them its tags are not known.
const MAX_SETUP_FILES: usize = 32;

/// Largest setup file that is read, in bytes.
const MAX_SETUP_BYTES: usize = 1 << 20;

/// Words of `#+TAGS:` that are looked at, and members of private groups that are known.
const MAX_GROUP_WORDS: usize = 4096;

/// Keywords that say something about tags.
const TAG_KEYWORDS: [&str; 3] = ["FILETAGS", "TAGS", "SETUPFILE"];

/// The variable that holds them in Emacs: a file may set it for itself.
const FILE_TAGS_VARIABLE: &[u8] = b"org-file-tags";

/// Tags of a file.
#[derive(Debug, Default)]
pub(crate) struct FileTags {
    /// The tags that every heading inherits, as they are written.
    pub(crate) tags: Vec<Vec<u8>>,
    /// Members of groups whose tag is private: they are private as well.
    pub(crate) private_members: Vec<String>,
    /// Whether there may be further tags that nobody here can know.
    pub(crate) is_uncertain: bool,
    /// Setup files that it leads to, as they are named from the top of the Memex, whether they are there or not.
    pub(crate) setups: Vec<String>,
}

/// A line `#+KEY: value` that says something about tags.
type TagKeyword = (&'static str, Vec<u8>);

impl FileTags {
    /// Finds the tags of the file at `path`, whose text without a byte order mark is `text`. Without a Memex no setup
    /// file can be read.
    pub(crate) fn find(
        path: &str,
        text: &[u8],
        document: &Document<'_>,
        rules: &ReadRules,
        memex: Option<&MemexFolder>,
    ) -> FileTags {
        let mut found = FileTags { is_uncertain: is_unreadable(text), ..FileTags::default() };
        let mut groups: Vec<u8> = Vec::new();
        let own = keywords(text, document).into_iter();
        let mut open = vec![(folder_of(path).to_owned(), own)];
        let mut seen = vec![path.to_owned()];
        while let Some((folder, keywords)) = open.last_mut() {
            let Some((key, value)) = keywords.next() else {
                open.pop();
                continue;
            };
            match key {
                "FILETAGS" => found.tags.extend(words(&value)),
                "TAGS" => {
                    groups.extend_from_slice(&value);
                    groups.push(b'\n');
                }
                _ => {
                    let folder = folder.clone();
                    open.extend(found.enter(&folder, &value, memex, &mut seen));
                }
            }
        }
        found.note_groups(&groups, rules);
        found
    }

    /// Reads a setup file: its folder and its keywords. What cannot be read makes the tags uncertain.
    fn enter(
        &mut self,
        folder: &str,
        value: &[u8],
        memex: Option<&MemexFolder>,
        seen: &mut Vec<String>,
    ) -> Option<(String, std::vec::IntoIter<TagKeyword>)> {
        if value.is_empty() {
            return None;
        }
        let located = memex.and_then(|memex| Some((memex, locate(memex.root(), folder, value)?)));
        let Some((memex, path)) = located else {
            self.is_uncertain = true;
            return None;
        };
        if seen.contains(&path) {
            return None;
        }
        seen.push(path.clone());
        self.setups.push(path.clone());
        let bytes = match self.setups.len() <= MAX_SETUP_FILES {
            true => read_setup(memex, &path),
            false => None,
        };
        let Some(bytes) = bytes else {
            self.is_uncertain = true;
            return None;
        };
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        self.is_uncertain |= is_unreadable(text);
        let keywords = keywords(text, &Document::read(text));
        Some((folder_of(&path).to_owned(), keywords.into_iter()))
    }

    /// Notes who is a member of a private group, also by way of another group.
    fn note_groups(&mut self, text: &[u8], rules: &ReadRules) {
        let groups = groups(text);
        loop {
            let known = self.private_members.len();
            for (name, members) in &groups {
                let is_private = rules.is_private_tag(name) || self.has_member(name);
                for member in members.iter().filter(|_| is_private) {
                    // An expression of Emacs: nobody else can tell whom it names.
                    self.is_uncertain |= member.starts_with('{');
                    if !self.has_member(member) {
                        self.private_members.push(member.clone());
                    }
                }
            }
            if self.private_members.len() == known {
                return;
            }
        }
    }

    /// Whether a tag is one of a private group.
    pub(crate) fn has_member(&self, tag: &str) -> bool {
        self.private_members.iter().any(|member| member.eq_ignore_ascii_case(tag))
    }
}

/// The tags at the end of the line of a heading, as `org-get-tags` sees them: also where nothing else but a keyword
/// stands before them, which is a title to the parser of Org.
pub(crate) fn heading_tags(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.trim_ascii_end();
    let start = line.iter().rposition(|byte| matches!(byte, b' ' | b'\t')).map_or(0, |at| at + 1);
    let last = line.get(start..).filter(|_| start > 0).unwrap_or_default();
    let inner = last.strip_prefix(b":").and_then(|last| last.strip_suffix(b":"));
    let is_tag = |letter: char| letter.is_alphanumeric() || "_@#%:".contains(letter);
    let inner = inner
        .filter(|inner| std::str::from_utf8(inner).is_ok_and(|inner| inner.chars().all(is_tag)));
    inner.unwrap_or_default().split(|byte| *byte == b':').filter(|tag| !tag.is_empty())
}

/// Whether Emacs reads a text in another way than it is read here: in a wide encoding, with carriage returns alone
/// between its lines, or with file tags set as a variable; a text that merely speaks of that is taken for one.
fn is_unreadable(text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at == word);
    let is_wide = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
    let is_one_line = text.contains(&b'\r') && !text.contains(&b'\n');
    is_wide || is_one_line || has(FILE_TAGS_VARIABLE)
}

/// The keywords of a text that say something about tags, in order. Where lines end in two ways Emacs may see blocks
/// elsewhere, so such a line counts wherever it stands.
fn keywords(text: &[u8], document: &Document<'_>) -> Vec<TagKeyword> {
    let known =
        |key: &[u8]| TAG_KEYWORDS.into_iter().find(|it| key.eq_ignore_ascii_case(it.as_bytes()));
    let ends = text.iter().filter(|byte| **byte == b'\n').count();
    let returns = text.windows(2).filter(|pair| pair == b"\r\n").count();
    if returns == 0 || returns == ends {
        let keywords = document.keywords().iter();
        return keywords.filter_map(|it| Some((known(it.key)?, it.value.to_vec()))).collect();
    }
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let keyword = |line: &[u8]| {
        let line = line.strip_prefix(b"#+")?;
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((known(&line[..colon])?, line[colon + 1..].trim_ascii().to_vec()))
    };
    lines.filter_map(keyword).collect()
}

/// The words of `#+FILETAGS:`, as Emacs splits them.
fn words(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let separates = |byte: &u8| matches!(byte, b':' | b' ' | 0x09..=0x0d);
    value.split(separates).filter(|word| !word.is_empty()).map(<[u8]>::to_vec)
}

/// The groups of `#+TAGS:`, such as `[ private : diary notes(n) ]`: the tag of each, and its members.
fn groups(text: &[u8]) -> Vec<(String, Vec<String>)> {
    let text = String::from_utf8_lossy(text);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut last = "";
    let mut is_open = false;
    for word in text.split_ascii_whitespace().take(MAX_GROUP_WORDS) {
        let tag = word.split_once('(').map_or(word, |(tag, _)| tag);
        match word {
            "[" | "{" | "]" | "}" => (is_open, last) = (false, ""),
            ":" if !last.is_empty() => {
                groups.push((last.to_owned(), Vec::new()));
                is_open = true;
            }
            _ if tag.is_empty() || tag.len() > MAX_LABEL_BYTES => {}
            _ => {
                last = tag;
                if let Some((_, members)) = groups.last_mut().filter(|_| is_open) {
                    members.push(tag.to_owned());
                }
            }
        }
    }
    groups
}

/// The text of a setup file, if it is an Org file of the Memex.
fn read_setup(memex: &MemexFolder, path: &str) -> Option<Vec<u8>> {
    if unread_reason(memex.root(), path).is_some() {
        return None;
    }
    let (bytes, _) = memex.read(path).ok()?;
    (bytes.len() <= MAX_SETUP_BYTES).then_some(bytes)
}

/// The place of a setup file from the top of the Memex, as a file of `folder` names it; `None` for one that is
/// elsewhere, and for an address of the web.
fn locate(root: &Path, folder: &str, value: &[u8]) -> Option<String> {
    let value = value.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(value);
    let name = std::str::from_utf8(value).ok()?;
    // A home is not asked for: what is named from there counts as elsewhere.
    let named = Some(root.join(folder).join(name)).filter(|_| !name.starts_with('~'))?;
    let mut plain = PathBuf::new();
    for part in named.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let below = plain.strip_prefix(root).ok()?.to_str()?;
    (!below.is_empty() && !name.contains("://")).then(|| below.to_owned())
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;
