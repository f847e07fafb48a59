//! The headings of a `policy.org`: prose, one source block of Cedar, one of examples.
//!
//! Called by `load`. What is under a heading marked `COMMENT` is switched off. What looks like a
//! policy and would be read over is a fault: a forbid that nobody sees forbids nothing.

use bridle_org::{Document, Heading, HeadingId, Kind};

use super::load::PolicyFault;

/// The language of a source block of policies.
pub(super) const CEDAR: &str = "cedar";

/// A heading and what is under it, up to the next heading of any level.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PolicySection {
    pub(super) title: String,
    /// `CUSTOM_ID`, else `ID`.
    pub(super) id: Option<String>,
    /// The line of the heading, from 1.
    pub(super) line: usize,
    pub(super) prose: String,
    pub(super) blocks: Vec<SourceBlock>,
}

/// A source block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SourceBlock {
    /// In lower case.
    pub(super) language: String,
    pub(super) text: String,
    /// The line of its first line of text, from 1.
    pub(super) line: usize,
}

/// Reads the sections of a file.
pub(super) fn read(text: &str, faults: &mut Vec<PolicyFault>) -> Vec<PolicySection> {
    let document = Document::read(text.as_bytes());
    let mut sections: Vec<PolicySection> = document.headings().iter().map(section).collect();
    for element in document.elements() {
        let lines = element.span.of(document.source());
        let index = element.heading.and_then(|id| index(&document, id));
        let section = index.and_then(|index| sections.get_mut(index));
        match (element.kind, section) {
            (Kind::Source(id), section) => {
                let Some(source) = document.source_block(id) else { continue };
                let block = SourceBlock {
                    language: lossy(source.language.unwrap_or_default()).to_lowercase(),
                    text: lossy(&source.body()),
                    line: source.line_in_file(1),
                };
                match section {
                    Some(section) => section.blocks.push(block),
                    None if block.language == CEDAR => {
                        let what = "a policy before the first heading, expected one under each";
                        faults.push(PolicyFault::new(source.line, what));
                    }
                    None => {}
                }
            }
            (Kind::Text, section) => {
                if let Some(offset) = unclosed(lines) {
                    let line = document.line_at(element.span.start + offset);
                    faults.push(PolicyFault::new(line, "a source block without `#+end_src`"));
                }
                if let Some(section) = section {
                    section.prose.push_str(&lossy(lines));
                }
            }
            _ => {}
        }
    }
    for section in &mut sections {
        section.prose = section.prose.trim().to_owned();
    }
    let is_on = |heading: &Heading<'_>| !is_off(&document, heading);
    let on = document.headings().iter().map(is_on);
    sections.into_iter().zip(on).filter(|(_, on)| *on).map(|(section, _)| section).collect()
}

fn section(heading: &Heading<'_>) -> PolicySection {
    let property = |name| heading.property(name).map(|value| lossy(&value).trim().to_owned());
    PolicySection {
        title: lossy(heading.title),
        id: property("CUSTOM_ID").or_else(|| property("ID")),
        line: heading.line,
        ..PolicySection::default()
    }
}

/// Whether a heading, or one that it is below, is marked `COMMENT`.
fn is_off(document: &Document<'_>, heading: &Heading<'_>) -> bool {
    let above = |heading: &&Heading<'_>| heading.parent.and_then(|id| document.heading(id));
    std::iter::successors(Some(heading), |heading| above(heading)).any(|heading| heading.commented)
}

fn index(document: &Document<'_>, id: HeadingId) -> Option<usize> {
    let heading = document.heading(id)?;
    document.headings().binary_search_by_key(&heading.line, |heading| heading.line).ok()
}

/// Start of a source block that never ends: Org takes it for text.
fn unclosed(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim_start().get(..11).unwrap_or_default();
        if word.eq_ignore_ascii_case("#+begin_src") {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
