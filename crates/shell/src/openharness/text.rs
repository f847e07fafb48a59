//! Text of a peer, made safe to show: no terminal escapes, no characters that reorder or hide others,
//! bounded. Called for everything that people get to see of an Engine.

use bridle_wire::openharness::JsonObject;

/// Characters of a message that is shown.
pub const MAX_TEXT: usize = 65_536;

/// Characters of a text that stands in for something unknown, of an error, of a label.
pub const MAX_NOTICE: usize = 4_096;

/// Stands for what was cut off.
const MORE: char = '\u{2026}';

/// Factor over the limit up to which text is looked at when most of it is not to be shown: the work is
/// bounded too.
const LOOKED_AT: usize = 16;

/// Returns the text without what could do more than be read, and no longer than the limit.
pub fn safe(text: &str, limit: usize) -> String {
    let looked_at = text.chars().take(limit.saturating_mul(LOOKED_AT));
    let mut kept = looked_at.filter(|letter| !is_unsafe(*letter));
    let mut out: String = kept.by_ref().take(limit).collect();
    if kept.next().is_some() {
        out.push(MORE);
    }
    out
}

/// Returns the first of these fields that holds text, made safe; blank text is none.
pub fn first_text(payload: &JsonObject, keys: &[&str], limit: usize) -> Option<String> {
    let texts = keys.iter().filter_map(|key| payload.get(key)?.as_str());
    texts.map(|text| safe(text, limit)).find(|text| !text.trim().is_empty())
}

/// Control characters but newline and tab; marks that change the direction of text; separators that
/// are no newline; annotations; a byte order mark; tags, which nobody sees and programs read.
fn is_unsafe(letter: char) -> bool {
    matches!(letter,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
