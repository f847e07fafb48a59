//! Strings with constant-time access by character: a byte each where all are ASCII, four otherwise.

/// The characters of a Lisp string.
#[derive(Clone, Debug)]
pub(crate) enum LispText {
    /// ASCII alone.
    Narrow(Vec<u8>),
    /// Anything.
    Wide(Vec<char>),
}

impl LispText {
    pub(crate) const fn new() -> Self {
        Self::Narrow(Vec::new())
    }

    pub(crate) fn filled(character: char, length: usize) -> Self {
        match u8::try_from(character) {
            Ok(byte) if byte.is_ascii() => Self::Narrow(vec![byte; length]),
            _ => Self::Wide(vec![character; length]),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(bytes) => bytes.len(),
            Self::Wide(characters) => characters.len(),
        }
    }

    /// Bytes of memory behind it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(bytes) => bytes.capacity(),
            Self::Wide(characters) => characters.capacity() * 4,
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<char> {
        match self {
            Self::Narrow(bytes) => bytes.get(index).map(|byte| char::from(*byte)),
            Self::Wide(characters) => characters.get(index).copied(),
        }
    }

    /// Replaces one character; an index beyond the end changes nothing.
    pub(crate) fn set(&mut self, index: usize, character: char) {
        if let Self::Narrow(bytes) = self {
            if character.is_ascii() {
                if let Some(place) = bytes.get_mut(index) {
                    *place = character as u8;
                }
                return;
            }
            self.widen();
        }
        if let Self::Wide(characters) = self
            && let Some(place) = characters.get_mut(index)
        {
            *place = character;
        }
    }

    pub(crate) fn push(&mut self, character: char) {
        if let Self::Narrow(bytes) = self {
            if character.is_ascii() {
                bytes.push(character as u8);
                return;
            }
            self.widen();
        }
        if let Self::Wide(characters) = self {
            characters.push(character);
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        match self {
            Self::Narrow(bytes) if text.is_ascii() => bytes.extend_from_slice(text.as_bytes()),
            _ => text.chars().for_each(|character| self.push(character)),
        }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        match self {
            Self::Narrow(bytes) => bytes.truncate(length),
            Self::Wide(characters) => characters.truncate(length),
        }
    }

    fn widen(&mut self) {
        if let Self::Narrow(bytes) = self {
            *self = Self::Wide(bytes.iter().map(|byte| char::from(*byte)).collect());
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = char> + '_ {
        self.part(0, self.len())
    }

    /// The characters from `start` to `end`, which are in range.
    pub(crate) fn part(
        &self,
        start: usize,
        end: usize,
    ) -> impl DoubleEndedIterator<Item = char> + '_ {
        (start..end).map(|index| self.get(index).unwrap_or('\0'))
    }

    /// The characters from `start` to `end` as a new text.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        match self {
            Self::Narrow(bytes) => Self::Narrow(bytes[start..end].to_vec()),
            Self::Wide(characters) => Self::Wide(characters[start..end].to_vec()),
        }
    }

    pub(crate) fn to_owned_string(&self) -> String {
        match self {
            Self::Narrow(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Wide(characters) => characters.iter().collect(),
        }
    }
}

impl PartialEq for LispText {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Narrow(one), Self::Narrow(two)) => one == two,
            (Self::Wide(one), Self::Wide(two)) => one == two,
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl From<&str> for LispText {
    fn from(text: &str) -> Self {
        if text.is_ascii() {
            Self::Narrow(text.as_bytes().to_vec())
        } else {
            Self::Wide(text.chars().collect())
        }
    }
}

impl From<String> for LispText {
    fn from(text: String) -> Self {
        if text.is_ascii() { Self::Narrow(text.into_bytes()) } else { Self::from(text.as_str()) }
    }
}

impl FromIterator<char> for LispText {
    fn from_iter<I: IntoIterator<Item = char>>(characters: I) -> Self {
        let mut text = Self::new();
        characters.into_iter().for_each(|character| text.push(character));
        text
    }
}
