//! Lines that the user wrote, among those that a change takes away. Asked by the commands that take something back, so
//! that a person sees what of his own would go. Followed back through the versions: a line is the user's unless an edit
//! of ours put it there, and what nothing is known of is the user's.

use std::collections::HashSet;

use super::diff::{self, LineChange};
use super::history::{FileVersion, VersionFilter, VersionOrigin};
use super::preview::MemoryPreview;
use super::{FileChange, MemoryError, RecordHash, hash_bytes};

/// Versions of a file that lines are followed through. Lines older than that are taken for the user's.
const MAX_VERSIONS_FOLLOWED: usize = 200;

/// Lines that a change takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostLines {
    /// Number of all of them.
    pub total: usize,
    /// Those that the user wrote, from the top of the file.
    pub by_user: Vec<LostLine>,
}

/// Line that a change takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLine {
    /// Number of the line in the file as it is now, from 1.
    pub line: usize,
    /// Bytes of the line, without its end.
    pub text: Vec<u8>,
}

impl MemoryPreview {
    /// Finds the lines that a change takes away from a file as it is now, and tells those of the user apart.
    ///
    /// # Errors
    /// The file or its past cannot be read.
    pub fn lost_lines(&self, change: &FileChange) -> Result<LostLines, MemoryError> {
        let now = self.read(&change.path)?.map(|seen| seen.bytes).unwrap_or_default();
        let gone = diff::changes(&now, change.after.as_deref().unwrap_or_default());
        let gone: Vec<usize> = gone.into_iter().flat_map(|it| it.old).collect();
        let lines = diff::lines(&now);
        let mut trace = LineTrace::new(&lines, &gone);
        let filter = VersionFilter { path: Some(change.path.clone()), ..VersionFilter::default() };
        let mut text = now.clone();
        for version in self.past().list(&filter, MAX_VERSIONS_FOLLOWED)? {
            if trace.is_over() {
                break;
            }
            let (Some(after), Some(before)) =
                (self.kept_text(version.after), self.kept_text(version.before))
            else {
                // Forgotten: who wrote what is left cannot be known.
                break;
            };
            if version.after != Some(hash_bytes(&text)) {
                trace.step(&after, &text, LineSource::User);
            }
            trace.step(&before, &after, LineSource::of(&version));
            text = before;
        }
        let by_user = gone.iter().filter(|at| !trace.ours.contains(*at)).map(|at| {
            let text = lines[*at].strip_suffix(b"\n").unwrap_or(lines[*at]);
            LostLine { line: at + 1, text: text.strip_suffix(b"\r").unwrap_or(text).to_vec() }
        });
        Ok(LostLines { total: gone.len(), by_user: by_user.collect() })
    }

    /// Reads a text that was kept: no file is the empty text; `None`: it is no longer there.
    fn kept_text(&self, hash: Option<RecordHash>) -> Option<Vec<u8>> {
        hash.map_or(Some(Vec::new()), |hash| self.past().content(hash).ok())
    }
}

/// Source of the lines that came with a version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineSource {
    /// Written by the user.
    User,
    /// Written by an edit of ours.
    Edit,
    /// Written before by somebody, and brought back or moved by us.
    Earlier,
}

impl LineSource {
    fn of(version: &FileVersion) -> Self {
        match version.origin {
            VersionOrigin::Seen => Self::User,
            VersionOrigin::Edit if matches!(&*version.action, "refile" | "archive" | "move-up") => {
                Self::Earlier
            }
            VersionOrigin::Edit => Self::Edit,
            VersionOrigin::Undo | VersionOrigin::Rollback | VersionOrigin::Restore => Self::Earlier,
        }
    }
}

/// Lines on their way back through the versions.
struct LineTrace<'t> {
    /// Each line that is followed: its place in the file as it is now, and in the text that the trace has come to.
    followed: Vec<(usize, usize)>,
    /// Lines that were brought back or moved: whoever wrote the same line before wrote them.
    returned: Vec<(usize, &'t [u8])>,
    /// Lines that edits of ours wrote, by their place in the file as it is now.
    ours: HashSet<usize>,
    lines: &'t [&'t [u8]],
}

impl<'t> LineTrace<'t> {
    fn new(lines: &'t [&'t [u8]], gone: &[usize]) -> Self {
        let followed = gone.iter().map(|at| (*at, *at)).collect();
        Self { followed, returned: Vec::new(), ours: HashSet::new(), lines }
    }

    fn is_over(&self) -> bool {
        self.followed.is_empty() && self.returned.is_empty()
    }

    /// Goes back from the text `new` to the text `old`: what came with it is from `source`.
    fn step(&mut self, old: &[u8], new: &[u8], source: LineSource) {
        let changes = diff::changes(old, new);
        self.settle_returned(&changes, new, source);
        for (at, place) in std::mem::take(&mut self.followed) {
            match place_before(&changes, place) {
                Some(place) => self.followed.push((at, place)),
                None => match source {
                    LineSource::User => {}
                    LineSource::Edit => {
                        self.ours.insert(at);
                    }
                    LineSource::Earlier => self.returned.push((at, self.lines[at])),
                },
            }
        }
    }

    /// Finds the lines that came back later among those that came with this version.
    fn settle_returned(&mut self, changes: &[LineChange], new: &[u8], source: LineSource) {
        if self.returned.is_empty() || source == LineSource::Earlier {
            return;
        }
        let lines = diff::lines(new);
        let came: HashSet<&[u8]> =
            changes.iter().flat_map(|it| lines[it.new.clone()].iter().copied()).collect();
        for (at, line) in std::mem::take(&mut self.returned) {
            match came.contains(line) {
                false => self.returned.push((at, line)),
                true if source == LineSource::Edit => {
                    self.ours.insert(at);
                }
                true => {}
            }
        }
    }
}

/// Finds the place of a line in the text before; `None`: it came with the change.
fn place_before(changes: &[LineChange], place: usize) -> Option<usize> {
    match changes.iter().take_while(|it| it.new.start <= place).last() {
        None => Some(place),
        Some(change) if change.new.contains(&place) => None,
        Some(change) => Some(place - change.new.end + change.old.end),
    }
}
