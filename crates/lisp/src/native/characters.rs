//! Characters: case as SBCL sees it, where a letter has case only if both ways are one letter.

/// Upper case, if that is one letter and leads back.
pub(crate) fn upcase(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_uppercase();
    }
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) if upper.to_lowercase().eq([character]) => upper,
        _ => character,
    }
}

/// Lower case, if that is one letter and leads back.
pub(crate) fn downcase(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) if lower.to_uppercase().eq([character]) => lower,
        _ => character,
    }
}

pub(crate) fn has_case(character: char) -> bool {
    upcase(character) != character || downcase(character) != character
}
