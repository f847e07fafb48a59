//! From the bytes of a file to its objects: the file and its headings, each with everything that can be asked about
//! it.
//!
//! Called by the writer, and again when text is shown. Pure. An encrypted heading is a title here and nothing else;
//! text of private drawers is kept apart from the rest.

use std::borrow::Cow;
use std::collections::HashMap;

use bridle_org::{Document, Element, Heading, Kind, Planning, Property, Span, TodoState};

use super::folder::MemexFolder;
use super::org_timestamp::{self, OrgTimestamp, StampKind};
use super::rules::{MAX_FACTS, MAX_HEADINGS, MAX_LABEL_BYTES, MAX_TAGS, ObjectReach, ReadRules};
use super::scan::SkipReason;
use super::tags::{BYTE_ORDER_MARK, FileTags, heading_tags};

/// The tag of what `org-crypt` encrypts, with all below it.
const CRYPT_TAG: &str = "crypt";

/// The tag of a project.
const PROJECT_TAG: &str = "project";

/// First line of encrypted text.
const PGP_BEGIN: &str = "-----BEGIN PGP MESSAGE-----";
const PGP_END: &str = "-----END PGP MESSAGE-----";

/// A hash of 32 bytes.
pub(crate) type Digest = [u8; 32];

/// Contents of one file as the index has them.
#[derive(Debug)]
pub(crate) struct FileSheet {
    /// The hash of its bytes.
    pub(crate) content: Digest,
    /// The file itself, then its headings in order.
    pub(crate) items: Vec<SheetItem>,
    /// The tags that its items have.
    pub(crate) tags: Vec<String>,
    /// Reason why some of the file is left out.
    pub(crate) flaw: Option<SkipReason>,
    /// Whether something stands in it that is to be encrypted and is not.
    pub(crate) in_clear: bool,
    /// The files that its tags follow from, besides itself.
    pub(crate) setups: Vec<String>,
}

/// An object.
#[derive(Debug, Default)]
pub(crate) struct SheetItem {
    /// The item that it is below.
    pub(crate) parent: Option<usize>,
    /// Stars; 0 for the file.
    pub(crate) level: usize,
    pub(crate) title: String,
    pub(crate) todo: Option<String>,
    pub(crate) done: bool,
    pub(crate) priority: Option<String>,
    /// Its `:ID:`.
    pub(crate) declared: Option<String>,
    /// Numbers of its tags in [`FileSheet::tags`], its own first.
    pub(crate) tags: Vec<usize>,
    /// Number of the first tags that are the item's own; the rest is inherited.
    pub(crate) own_tags: usize,
    /// Names in capitals, and values.
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) stamps: Vec<OrgTimestamp>,
    /// Range of the item in its file.
    pub(crate) place: SheetRange,
    pub(crate) private: bool,
    /// Whether it is encrypted, or is to be.
    pub(crate) encrypted: bool,
    /// Whether it is to be, and stands in the clear.
    pub(crate) in_clear: bool,
    pub(crate) scope: ObjectReach,
    /// Text that is searched, that of private drawers included.
    pub(crate) text: String,
    pub(crate) hidden: String,
    /// The hash of what is below the title.
    pub(crate) body: Digest,
    /// Whether there is anything below the title.
    pub(crate) has_body: bool,
    /// The hash of its own text, without stars.
    pub(crate) own: Digest,
    /// The hash of itself and all below it.
    pub(crate) hash: Digest,
}

/// Place of an object in its file, in bytes: its beginning, the next heading, and the end of all below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SheetRange {
    pub(crate) start: usize,
    pub(crate) section: usize,
    pub(crate) end: usize,
    /// From 1.
    pub(crate) line: usize,
}

impl SheetItem {
    /// Whether some or all of its text is not for everybody.
    pub(crate) fn is_veiled(&self) -> bool {
        self.private || !self.hidden.is_empty()
    }
}

impl FileSheet {
    /// Reads a file of a Memex, which has the setup files that it may lead to.
    pub(crate) fn of_file(memex: &MemexFolder, path: &str, bytes: &[u8]) -> FileSheet {
        FileSheet::read_in(Some(memex), path, bytes, memex.rules())
    }

    /// Reads a file of that name, of no Memex.
    #[cfg(test)]
    pub(crate) fn read(name: &str, bytes: &[u8], rules: &ReadRules) -> FileSheet {
        FileSheet::read_in(None, name, bytes, rules)
    }

    /// Reads a file of that name. Every file is an Org file.
    fn read_in(
        memex: Option<&MemexFolder>,
        name: &str,
        bytes: &[u8],
        rules: &ReadRules,
    ) -> FileSheet {
        let mut sheet = FileSheet {
            content: blake3::hash(bytes).into(),
            items: Vec::new(),
            tags: Vec::new(),
            flaw: std::str::from_utf8(bytes).is_err().then_some(SkipReason::NotUtf8),
            in_clear: false,
            setups: Vec::new(),
        };
        if count_headings(bytes) > MAX_HEADINGS {
            sheet.flaw = Some(SkipReason::TooManyHeadings);
            return sheet;
        }
        // Emacs does not show the mark: what stands behind it is the first line.
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let preset = rules.org.preset();
        let document = Document::read_with_preset(text, &preset);
        let mut tags = FileTags::find(name, text, &document, rules, memex);
        sheet.setups = std::mem::take(&mut tags.setups);
        let elements = document.elements();
        let numbers = HashMap::new();
        let mut writer =
            SheetWriter { rules, bytes: text, elements, sheet, numbers, file_tags: &tags };
        writer.file(name, &document);
        writer.headings(&document);
        let mut sheet = writer.sheet;
        sheet.seal();
        sheet.shift(bytes.len() - text.len());
        sheet
    }

    /// Moves all places behind what was left out at the beginning.
    fn shift(&mut self, bytes: usize) {
        for SheetItem { place, .. } in &mut self.items {
            place.start += bytes;
            place.section += bytes;
            place.end += bytes;
        }
    }

    /// The hashes of the objects with all below them, from the last to the first: what is below comes behind.
    fn seal(&mut self) {
        let mut below: Vec<Vec<Digest>> = vec![Vec::new(); self.items.len()];
        for index in (0..self.items.len()).rev() {
            let mut children = std::mem::take(&mut below[index]);
            children.reverse();
            let item = &mut self.items[index];
            item.hash = tree_hash(&item.own, &children);
            if let Some(parent) = item.parent {
                below[parent].push(item.hash);
            }
        }
    }

    /// The tags of an item.
    pub(crate) fn tags_of<'s>(&'s self, item: &'s SheetItem) -> impl Iterator<Item = &'s str> {
        item.tags.iter().map(|tag| self.tags[*tag].as_str())
    }
}

/// Counts the headings of a text.
pub(crate) fn count_headings(bytes: &[u8]) -> usize {
    let is_heading = |line: &&[u8]| {
        line.first() == Some(&b'*')
            && line.iter().find(|byte| **byte != b'*').is_some_and(|byte| *byte == b' ')
    };
    bytes.split(|byte| *byte == b'\n').filter(is_heading).count()
}

/// Whether a text has something in the clear that `org-crypt` is to encrypt: what stands so in a file that was saved
/// must not stay anywhere.
pub(crate) fn is_in_clear(memex: &MemexFolder, path: &str, bytes: &[u8]) -> bool {
    let has = |wanted: &str| {
        bytes.windows(wanted.len()).any(|word| word.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    (has(CRYPT_TAG) || has("setupfile")) && FileSheet::of_file(memex, path, bytes).in_clear
}

/// The hash of an object with these below it.
fn tree_hash(own: &Digest, children: &[Digest]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("bridle 2026 memex object");
    hasher.update(own);
    for child in children {
        hasher.update(child);
    }
    hasher.finalize().into()
}

/// The hash of a text as it is compared: UTF-8, and lines that end as on this system.
pub(crate) fn text_hash(bytes: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("bridle 2026 memex text");
    hasher.update(canonical(bytes).as_bytes());
    hasher.finalize().into()
}

fn canonical(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n")) } else { text }
}

/// The hash of an object's own text: from its heading to the next, without stars.
pub(crate) fn own_hash(section: &[u8], level: usize) -> Digest {
    text_hash(section.get(level..).unwrap_or_default())
}

/// The text of an object's section, as it may be shown: without the parts that are not for everybody.
pub(crate) fn shown(section: &[u8], rules: &ReadRules, with_private: bool) -> String {
    let document = Document::read(section);
    let text = canonical(section);
    if with_private {
        return text.into_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut drawers = PrivateDrawers::new(rules);
    for element in document.elements() {
        let is_private = drawers.step(section, element);
        if !is_private {
            shown.push_str(&canonical(element.span.of(section)));
        }
    }
    shown
}

/// Follows the elements of a text into private drawers and out again.
struct PrivateDrawers<'r> {
    rules: &'r ReadRules,
    /// Blocks and drawers that are open inside the private one, itself included.
    inside: usize,
}

impl<'r> PrivateDrawers<'r> {
    fn new(rules: &'r ReadRules) -> Self {
        Self { rules, inside: 0 }
    }

    /// Whether the element is in a private drawer, or is its first or last line.
    fn step(&mut self, bytes: &[u8], element: &Element) -> bool {
        match element.kind {
            // Nothing is inside of two headings.
            Kind::Heading(_) => self.inside = 0,
            Kind::Begin if self.inside > 0 => self.inside += 1,
            Kind::Begin => self.inside = usize::from(self.is_private(element.span.of(bytes))),
            Kind::End if self.inside > 0 => {
                self.inside -= 1;
                return true;
            }
            _ => {}
        }
        self.inside > 0
    }

    fn is_private(&self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        // What is affiliated with a drawer stands above it.
        let line = line.trim_end().lines().last().unwrap_or_default().trim();
        let name = line.strip_prefix(':').and_then(|line| line.strip_suffix(':'));
        name.is_some_and(|name| self.rules.is_private_drawer(name))
    }
}

struct SheetWriter<'w> {
    rules: &'w ReadRules,
    bytes: &'w [u8],
    /// Those that are not in an item yet.
    elements: &'w [Element],
    sheet: FileSheet,
    /// The number of each tag.
    numbers: HashMap<String, usize>,
    file_tags: &'w FileTags,
}

impl SheetWriter<'_> {
    fn file(&mut self, name: &str, document: &Document<'_>) {
        let end = document.headings().first().map_or(self.bytes.len(), |first| first.span.start);
        let stem = name.rsplit('/').next().unwrap_or(name);
        let title = document.title().map(|title| label(&title)).filter(|title| !title.is_empty());
        let place = SheetRange { start: 0, section: end, end: self.bytes.len(), line: 1 };
        let tags: Vec<&[u8]> = self.file_tags.tags.iter().map(Vec::as_slice).collect();
        let mut item = SheetItem {
            title: title.unwrap_or_else(|| stem.to_owned()),
            declared: document.file_property("ID").map(|id| label(&id)).filter(|id| !id.is_empty()),
            properties: properties(document.properties()),
            place,
            ..SheetItem::default()
        };
        let scope =
            document.file_property("SCOPE").and_then(|word| ObjectReach::parse(&label(&word)));
        self.tag(&mut item, &tags, scope);
        item.private |= self.file_tags.is_uncertain;
        self.text(&mut item, Span { start: 0, end });
        self.sheet.items.push(item);
    }

    fn headings(&mut self, document: &Document<'_>) {
        // The items that the next heading may be below, with their levels.
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        let mut sealed_until = if self.sheet.items[0].encrypted { self.bytes.len() } else { 0 };
        for heading in document.headings() {
            if heading.span.start < sealed_until {
                // Of what is encrypted, nothing can be a heading.
                self.sheet.in_clear = true;
                if let Some((item, _)) = open.last() {
                    self.sheet.items[*item].in_clear = true;
                }
                continue;
            }
            while open.len() > 1 && open.last().is_some_and(|(_, level)| *level >= heading.level) {
                open.pop();
            }
            let index = self.sheet.items.len();
            let item = self.heading(heading, open.last().map(|(item, _)| *item));
            if item.encrypted {
                sealed_until = heading.subtree.end;
            }
            open.push((index, heading.level));
            self.sheet.items.push(item);
        }
    }

    fn heading(&mut self, heading: &Heading<'_>, parent: Option<usize>) -> SheetItem {
        let Span { start, end: section } = heading.section;
        let place = SheetRange { start, section, end: heading.subtree.end, line: heading.line };
        let mut item = SheetItem {
            parent,
            level: heading.level,
            title: label(heading.title),
            todo: heading.todo.map(|todo| label(todo.keyword)),
            done: heading.todo.is_some_and(|todo| todo.state == TodoState::Done),
            priority: heading.priority.map(label),
            declared: heading.property("ID").map(|id| label(&id)).filter(|id| !id.is_empty()),
            properties: properties(&heading.properties),
            stamps: heading.planning.as_ref().map(planned).unwrap_or_default(),
            place,
            ..SheetItem::default()
        };
        let scope = heading.property("SCOPE").and_then(|word| ObjectReach::parse(&label(&word)));
        let line = heading.span.of(self.bytes);
        let mut tags = heading.tags.clone();
        tags.extend(heading_tags(line).filter(|tag| !heading.tags.contains(tag)));
        self.tag(&mut item, &tags, scope);
        item.stamps.extend(org_timestamp::all(heading.title, MAX_FACTS));
        self.text(&mut item, heading.section);
        item
    }

    /// Gives an item its tags and those it inherits, and what follows from them.
    fn tag(&mut self, item: &mut SheetItem, own: &[&[u8]], scope: Option<ObjectReach>) {
        let mut private = false;
        let mut is_project = false;
        for tag in own {
            let tag = label(tag);
            private |= self.rules.is_private_tag(&tag) || self.file_tags.has_member(&tag);
            item.encrypted |= tag.eq_ignore_ascii_case(CRYPT_TAG);
            is_project |= tag.eq_ignore_ascii_case(PROJECT_TAG);
            let number = self.number(tag);
            if item.tags.len() < MAX_TAGS && !item.tags.contains(&number) {
                item.tags.push(number);
            }
        }
        item.own_tags = item.tags.len();
        let mut inherited = ObjectReach::default();
        if let Some(above) = item.parent.and_then(|parent| self.sheet.items.get(parent)) {
            private |= above.private;
            inherited = above.scope;
            for number in &above.tags {
                if item.tags.len() < MAX_TAGS && !item.tags.contains(number) {
                    item.tags.push(*number);
                }
            }
        }
        item.private = private;
        item.scope = scope.unwrap_or(if is_project { ObjectReach::Project } else { inherited });
    }

    fn number(&mut self, tag: String) -> usize {
        let next = self.sheet.tags.len();
        let tags = &mut self.sheet.tags;
        *self.numbers.entry(tag).or_insert_with_key(|tag| {
            tags.push(tag.clone());
            next
        })
    }

    /// Gives an item its text, its dates and its hashes.
    fn text(&mut self, item: &mut SheetItem, section: Span) {
        let mut body = section.start;
        let mut drawers = PrivateDrawers::new(self.rules);
        let (mut text, mut hidden) = (String::new(), String::new());
        let mut stamps = std::mem::take(&mut item.stamps);
        while let Some((element, rest)) = self.elements.split_first() {
            if element.span.start >= section.end {
                break;
            }
            self.elements = rest;
            // Of what is skipped because it is encrypted.
            if element.span.start < section.start {
                continue;
            }
            let bytes = element.span.of(self.bytes);
            let is_private = drawers.step(self.bytes, element);
            if matches!(element.kind, Kind::Heading(_) | Kind::Planning | Kind::Properties) {
                body = element.span.end;
                continue;
            }
            let is_prose = !matches!(element.kind, Kind::Source(_) | Kind::Opaque(_));
            if is_prose && !is_private {
                stamps.extend(org_timestamp::all(bytes, MAX_FACTS.saturating_sub(stamps.len())));
            }
            let text = if is_private { &mut hidden } else { &mut text };
            text.push_str(&String::from_utf8_lossy(bytes));
        }
        stamps.truncate(MAX_FACTS);
        let below = self.bytes.get(body..section.end).unwrap_or_default();
        let is_sealed = text.trim_start().starts_with(PGP_BEGIN);
        // What was written behind the message is not encrypted with it.
        let is_whole =
            is_sealed && text.trim_end().ends_with(PGP_END) && text.matches(PGP_BEGIN).count() == 1;
        let is_empty = text.trim().is_empty() && hidden.trim().is_empty();
        item.in_clear = item.encrypted && !is_empty && !(is_whole && hidden.trim().is_empty());
        self.sheet.in_clear |= item.in_clear;
        item.encrypted |= is_sealed;
        if item.encrypted {
            stamps.retain(|stamp| !matches!(stamp.kind, StampKind::Active | StampKind::Inactive));
            (text, hidden) = (String::new(), String::new());
        }
        item.has_body = below.iter().any(|byte| !byte.is_ascii_whitespace());
        item.body = text_hash(below);
        item.own = own_hash(section.of(self.bytes), item.level);
        (item.text, item.hidden, item.stamps) = (text, hidden, stamps);
    }
}

fn planned(planning: &Planning<'_>) -> Vec<OrgTimestamp> {
    let all = [
        (planning.scheduled, StampKind::Scheduled),
        (planning.deadline, StampKind::Deadline),
        (planning.closed, StampKind::Closed),
    ];
    let read = |(text, kind): (Option<&[u8]>, StampKind)| Some(org_timestamp::read(text?, kind)?.0);
    all.into_iter().filter_map(read).collect()
}

/// Names in capitals and values; a key that adds to another adds to its value.
fn properties(lines: &[Property<'_>]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for line in lines {
        let key = label(line.key).to_uppercase();
        let (name, adds) = match key.strip_suffix('+') {
            Some(name) => (name.to_owned(), true),
            None => (key, false),
        };
        let value = label(line.value);
        let has_room = all.len() < MAX_FACTS;
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if adds && known.len() < MAX_LABEL_BYTES => {
                known.push(' ');
                known.push_str(&value);
            }
            // The first one counts.
            Some(_) => {}
            None if has_room => all.push((name, value)),
            None => {}
        }
    }
    all
}

/// Short text as it is kept: UTF-8, and not longer than a label.
pub(crate) fn label(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut end = text.len().min(MAX_LABEL_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
