//! View around a point of attention, within a budget: its text in full, the text near it in less, the rest of the
//! Memex in outline; and the numbers of what was left out. Used for prompts and for an overview.
//!
//! long: the rounds of one budget.

use super::catalog::{MemexCatalog, MemexObject, ObjectKind};
use super::outline::OutlineRequest;
use super::query::MAX_PAGE_OBJECTS;
use crate::index::rules::PrivateAccess;
use bridle_record::StoreError;

/// Tokens, unless said.
pub const DEFAULT_FOCUS_TOKENS: usize = 4000;

/// The least and the most tokens that can be asked for.
pub const MIN_FOCUS_TOKENS: usize = 100;
/// See [`MIN_FOCUS_TOKENS`].
pub const MAX_FOCUS_TOKENS: usize = 200_000;

/// Objects that are looked at beyond those that a budget has room for, and whatever the budget: 1,000 take a
/// millisecond.
const EXTRA_FOCUS_OBJECTS: usize = 1_000;
const MAX_FOCUS_OBJECTS: usize = 20_000;

/// The least that an object takes, in tokens.
const MIN_TITLE_TOKENS: usize = 5;

/// Levels of headings of other files that are shown.
const FAR_LEVELS: u64 = 1;

/// Point of attention and budget of a focus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FocusRequest {
    /// The key of an object or the path of a file; an empty one has the overview alone.
    pub at: String,
    /// Tokens, as [`tokens`] counts them; 0 is [`DEFAULT_FOCUS_TOKENS`].
    pub budget: usize,
}

/// Amount of an object that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownAmount {
    /// Its text.
    Text(String),
    /// Its text up to where the budget ended.
    Beginning(String),
    /// Its title.
    Title,
}

/// One object in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusPart {
    /// The object.
    pub object: MemexObject,
    /// Amount of the object that is shown.
    pub shown: ShownAmount,
}

/// Objects that did not fit into the view, of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedObject {
    /// Relation of those objects to the point, in words.
    pub what: &'static str,
    /// Number of objects.
    pub count: usize,
}

/// View around a point of attention, within a token budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FocusView {
    /// The point of attention, what is above and below it, what is beside it, and the rest, in this order.
    pub parts: Vec<FocusPart>,
    /// Objects that did not fit.
    pub left: Vec<OmittedObject>,
    /// Tokens of the parts.
    pub tokens: usize,
    /// Tokens that there could be.
    pub budget: usize,
}

/// About how many tokens a model makes of a text: a quarter of the bytes of plain letters, one for each other one.
#[must_use]
pub fn tokens(text: &str) -> usize {
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    let plain = text.bytes().filter(u8::is_ascii).count();
    plain.div_ceil(4) + others
}

struct TokenRoom {
    parts: Vec<FocusPart>,
    used: usize,
    budget: usize,
}

impl TokenRoom {
    /// Shows an object by its title if there is room.
    fn title(&mut self, object: MemexObject, up_to: usize) -> bool {
        let cost = cost(&object);
        let fits = self.used + cost <= up_to.min(self.budget);
        if fits {
            self.used += cost;
            self.parts.push(FocusPart { object, shown: ShownAmount::Title });
        }
        fits
    }

    /// Shows an object with its text, or the beginning of it, if there is room.
    fn text(&mut self, object: MemexObject, text: String, up_to: usize) -> bool {
        let room = up_to.min(self.budget).saturating_sub(self.used);
        let cost = cost(&object) + tokens(&text);
        if cost <= room {
            self.used += cost;
            self.parts.push(FocusPart { object, shown: ShownAmount::Text(text) });
            return true;
        }
        let left = room.saturating_sub(self::cost(&object));
        if left == 0 {
            return false;
        }
        let beginning = begin(&text, left);
        self.used += self::cost(&object) + tokens(&beginning);
        self.parts.push(FocusPart { object, shown: ShownAmount::Beginning(beginning) });
        false
    }
}

/// Tokens of the line of an object: its title, and what says where it is.
fn cost(object: &MemexObject) -> usize {
    tokens(&object.title)
        + tokens(&object.key)
        + object.tags.iter().map(|tag| tokens(tag)).sum::<usize>()
        + 4
}

/// Objects that are looked at for a budget.
fn most(budget: usize) -> usize {
    (budget / MIN_TITLE_TOKENS + EXTRA_FOCUS_OBJECTS).min(MAX_FOCUS_OBJECTS)
}

/// The beginning of a text that has so many tokens.
fn begin(text: &str, most: usize) -> String {
    let (mut quarters, mut end) = (0, 0);
    for (at, c) in text.char_indices() {
        quarters += if c.is_ascii() { 1 } else { 4 };
        if quarters > most.saturating_sub(1) * 4 {
            break;
        }
        end = at + c.len_utf8();
    }
    text[..end].to_owned()
}

impl MemexCatalog {
    /// Shows the surroundings of a point of attention within a token budget.
    ///
    /// # Errors
    /// There is no such point, or the index cannot be read.
    pub fn focus(
        &self,
        focus: &FocusRequest,
        access: PrivateAccess,
    ) -> Result<FocusView, StoreError> {
        let budget = if focus.budget == 0 {
            DEFAULT_FOCUS_TOKENS
        } else {
            focus.budget.clamp(MIN_FOCUS_TOKENS, MAX_FOCUS_TOKENS)
        };
        let mut room = TokenRoom { parts: Vec::new(), used: 0, budget };
        let mut left = Vec::new();
        let at = match focus.at.as_str() {
            "" => None,
            name => Some(self.object(name, access)?),
        };
        if let Some(at) = &at {
            self.near(at, access, &mut room, &mut left)?;
        }
        self.far(at.as_ref(), access, &mut room, &mut left)?;
        left.retain(|left: &OmittedObject| left.count > 0);
        Ok(FocusView { parts: room.parts, left, tokens: room.used, budget })
    }

    /// The point of attention: at most half of the budget for its own text, a quarter for what is below it.
    fn near(
        &self,
        at: &MemexObject,
        access: PrivateAccess,
        room: &mut TokenRoom,
        left: &mut Vec<OmittedObject>,
    ) -> Result<(), StoreError> {
        let budget = room.budget;
        for above in self.above(at)? {
            room.title(above, budget);
        }
        let mut cut = 0;
        match self.text(at, access) {
            Some(text) => cut += usize::from(!room.text(at.clone(), text, budget / 2)),
            None => {
                room.title(at.clone(), budget);
                let what = match (at.in_clear, at.encrypted) {
                    (true, _) => "texts that are to be encrypted",
                    (false, true) => "texts that are encrypted",
                    (false, false) => "texts that changed since they were indexed",
                };
                left.push(OmittedObject { what, count: 1 });
            }
        }
        left.push(OmittedObject { what: "texts at the focus that are cut", count: cut });
        let (mut untold, mut unseen) = (0, 0);
        let below = OutlineRequest {
            under: at.key.clone(),
            limit: MAX_PAGE_OBJECTS,
            ..OutlineRequest::default()
        };
        self.each(below, access, most(budget), |object| {
            if object.id == at.id {
                return;
            }
            let text = self.text(&object, access).filter(|_| room.used < budget * 3 / 4);
            let is_told = text.is_some_and(|text| {
                let fits = room.used + cost(&object) + tokens(&text) <= budget * 3 / 4;
                fits && room.text(object.clone(), text, budget * 3 / 4)
            });
            if !is_told {
                untold += 1;
                unseen += usize::from(!room.title(object, budget * 7 / 8));
            }
        })?;
        left.push(OmittedObject {
            what: "headings below the focus by title alone",
            count: untold - unseen,
        });
        left.push(OmittedObject { what: "headings below the focus", count: unseen });
        let mut beside = 0;
        if let Some(parent) = self.above(at)?.last() {
            for sibling in self.children(parent, access, MAX_PAGE_OBJECTS)? {
                if sibling.id != at.id {
                    beside += usize::from(!room.title(sibling, budget * 15 / 16));
                }
            }
        }
        left.push(OmittedObject { what: "headings beside the focus", count: beside });
        Ok(())
    }

    /// The rest: files and their first headings.
    fn far(
        &self,
        at: Option<&MemexObject>,
        access: PrivateAccess,
        room: &mut TokenRoom,
        left: &mut Vec<OmittedObject>,
    ) -> Result<(), StoreError> {
        let (mut files, mut headings) = (0, 0);
        let far = OutlineRequest {
            depth: Some(FAR_LEVELS),
            limit: MAX_PAGE_OBJECTS,
            ..OutlineRequest::default()
        };
        let budget = room.budget;
        let looked_at = self.each(far, access, most(budget), |object| {
            // Its own file is in view already.
            if at.is_some_and(|at| at.file == object.file) || object.done {
                return;
            }
            let kind = object.kind();
            let has_file = kind == ObjectKind::File
                || room.parts.last().is_some_and(|last| last.object.file == object.file);
            if !(has_file && room.title(object, budget)) {
                match kind {
                    ObjectKind::File => files += 1,
                    ObjectKind::Heading => headings += 1,
                }
            }
        })?;
        left.push(OmittedObject { what: "other files", count: files });
        left.push(OmittedObject { what: "first headings of other files", count: headings });
        if looked_at == most(budget) {
            left.push(OmittedObject {
                what: "objects that were looked at and no more",
                count: looked_at,
            });
        }
        Ok(())
    }

    /// Goes through an outline, up to a bound; returns how many there were.
    fn each(
        &self,
        mut outline: OutlineRequest,
        access: PrivateAccess,
        most: usize,
        mut see: impl FnMut(MemexObject),
    ) -> Result<usize, StoreError> {
        let mut seen = 0;
        loop {
            let page = self.outline(&outline, access)?;
            for object in page.objects {
                seen += 1;
                see(object);
                if seen == most {
                    return Ok(seen);
                }
            }
            match page.next {
                Some(next) => outline.cursor = Some(next),
                None => return Ok(seen),
            }
        }
    }
}
