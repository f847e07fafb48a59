//! From lines to elements. Headings come first, since nothing reaches across one; then each section is
//! walked line by line with a stack of the blocks that are open. Every question for the line that closes
//! a block is answered from a table, so the whole is linear. Called by `Document::read`.

mod closers;
mod walk;

use crate::document::{Document, Element, Kind};
use crate::heading::{Heading, HeadingId, TodoWords, title};
use crate::line::{heading_level, is_comment, is_empty};
use crate::property::{Property, drawer, planning};
use crate::text::{Lines, Span};
use walk::Walker;

/// A heading before its title is read, which takes the `TODO` keywords of the whole file.
struct Outline {
    line: usize,
    level: usize,
}

pub(crate) fn scan(source: &[u8]) -> Document<'_> {
    let lines = Lines::new(source);
    let outline: Vec<Outline> = (0..lines.count())
        .filter_map(|line| Some(Outline { line, level: heading_level(lines.content(line))? }))
        .collect();
    let mut headings = tree(&lines, &outline);
    let mut walker = Walker::new(&lines);
    let first = outline.first().map_or(lines.count(), |heading| heading.line);
    let properties = top(&lines, first, &mut walker);
    for (index, heading) in headings.iter_mut().enumerate() {
        let end = outline.get(index + 1).map_or(lines.count(), |next| next.line);
        section(&lines, HeadingId(index), heading, end, &mut walker);
    }
    let walk::Found { elements, sources, keywords } = walker.finish();
    let words = TodoWords::new(&keywords);
    for (heading, outlined) in headings.iter_mut().zip(&outline) {
        let said = title(&lines.content(outlined.line)[outlined.level..], &words);
        heading.todo = said.todo;
        heading.priority = said.priority;
        heading.commented = said.commented;
        heading.title = said.title;
        heading.tags = said.tags;
    }
    Document { source, lines, elements, headings, sources, keywords, properties }
}

/// The headings with their places, parents and children.
fn tree<'t>(lines: &Lines<'t>, outline: &[Outline]) -> Vec<Heading<'t>> {
    let mut headings: Vec<Heading<'t>> = Vec::with_capacity(outline.len());
    let mut open: Vec<usize> = Vec::new();
    let end = lines.start(lines.count());
    for (index, outlined) in outline.iter().enumerate() {
        let span = lines.span(outlined.line, outlined.line + 1);
        while let Some(last) = open.pop_if(|last| outline[*last].level >= outlined.level) {
            headings[last].subtree.end = span.start;
        }
        let parent = open.last().map(|parent| HeadingId(*parent));
        if let Some(HeadingId(parent)) = parent {
            headings[parent].children.push(HeadingId(index));
        }
        let next = outline.get(index + 1).map_or(end, |next| lines.start(next.line));
        headings.push(Heading {
            level: outlined.level,
            todo: None,
            priority: None,
            commented: false,
            title: &[],
            tags: Vec::new(),
            planning: None,
            properties: Vec::new(),
            line: outlined.line + 1,
            span,
            section: Span { start: span.start, end: next },
            subtree: Span { start: span.start, end },
            parent,
            children: Vec::new(),
        });
        open.push(index);
    }
    headings
}

/// Walks what stands before the first heading and returns the properties of the file: those of a drawer
/// on the first line, or right behind the comment that the file begins with.
fn top<'t>(lines: &Lines<'t>, end: usize, walker: &mut Walker<'_, 't>) -> Vec<Property<'t>> {
    let written = (0..end).find(|line| !is_empty(lines.content(*line))).unwrap_or(end);
    let comment = (written..end).take_while(|line| is_comment(lines.content(*line))).count();
    let first = written + comment;
    let allowed = first == 0 || comment > 0;
    match drawer(lines, first, end).filter(|_| allowed) {
        Some((properties, behind)) => {
            walker.section(None, 0, first);
            walker.push(Kind::Properties, first, behind);
            walker.section(None, behind, end);
            properties
        }
        None => {
            walker.section(None, 0, end);
            Vec::new()
        }
    }
}

/// Walks a heading and what stands before the next one.
fn section<'t>(
    lines: &Lines<'t>,
    id: HeadingId,
    heading: &mut Heading<'t>,
    end: usize,
    walker: &mut Walker<'_, 't>,
) {
    let mut at = heading.line;
    walker.under(Some(id));
    walker.push(Kind::Heading(id), at - 1, at);
    if at < end
        && let Some(planned) = planning(lines, at)
    {
        heading.planning = Some(planned);
        walker.push(Kind::Planning, at, at + 1);
        at += 1;
    }
    if let Some((properties, behind)) = drawer(lines, at, end) {
        heading.properties = properties;
        walker.push(Kind::Properties, at, behind);
        at = behind;
    }
    walker.section(Some(id), at, end);
}

impl Element {
    /// Whether `next` continues this element: lines of text do.
    fn takes(&self, next: &Self) -> bool {
        self.kind == Kind::Text && next.kind == Kind::Text && self.heading == next.heading
    }
}
