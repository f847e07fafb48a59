//! Symbols and keywords: one canonical spelling for each.
//!
//! Neither Lisp's symbol table is asked: a symbol is its text. What the text cannot lose is
//! which characters were *protected* (behind `\` or between bars), because Lisp changes the
//! case of the others. The canonical spelling writes `\` before each protected character, drops
//! the protection where it makes no difference to SBCL and Emacs, and adds it where one of them
//! would stumble. Called by the reader (to accept), the tree (to decode) and the printers.

use std::borrow::Cow;
use std::fmt;

use crate::limits::Dialect;
use crate::read::{number, token};
use crate::tree::Kind;

/// The canonical spelling of the symbol without characters.
const EMPTY: &str = "||";

/// A symbol that is not a keyword, by its canonical spelling.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub(crate) Box<str>);

/// A keyword, by its canonical spelling without the colon.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keyword(pub(crate) Box<str>);

impl Symbol {
    /// The symbol of these characters, protecting only what would not be read back as a symbol
    /// of them. Control characters, which no text can hold, become U+FFFD.
    pub fn from_name(name: &str) -> Self {
        let mut spelled = Spelled::of_name(name, Sort::Symbol);
        spelled.protect(Sort::Symbol);
        if spelled.bare_constant().is_some() {
            spelled.chars[0].1 = true;
        }
        Self(spelled.write(Sort::Symbol).into())
    }

    /// The canonical spelling.
    pub fn spelling(&self) -> &str {
        &self.0
    }

    /// The characters without their protection.
    pub fn name(&self) -> Cow<'_, str> {
        name_of(&self.0)
    }
}

impl Keyword {
    /// The keyword of these characters; as [`Symbol::from_name`].
    pub fn from_name(name: &str) -> Self {
        if is_plain(name) {
            return Self(name.into());
        }
        let mut spelled = Spelled::of_name(name, Sort::Keyword);
        spelled.protect(Sort::Keyword);
        Self(spelled.write(Sort::Keyword)[1..].into())
    }

    /// The canonical spelling without the colon.
    pub fn spelling(&self) -> &str {
        &self.0
    }

    /// The characters without their protection.
    pub fn name(&self) -> Cow<'_, str> {
        name_of(&self.0)
    }

    /// Whether its characters are `name`, ASCII case and protection ignored: a Lisp that interned
    /// a lower-case name writes `:|type|` and means the key that others write `:TYPE`.
    #[inline]
    pub fn is(&self, name: &str) -> bool {
        // Nothing is as long as its spelling that has a protected character in it, and most are
        // told apart by their length.
        match self.0.len() == name.len() {
            true => {
                let is_plain = || &*self.0 != EMPTY && !self.0.contains('\\');
                self.0.eq_ignore_ascii_case(name) && is_plain()
            }
            false => self.0.len() > name.len() && self.is_protected_as(name),
        }
    }

    /// Tells whether a spelling that is longer than the name stands for it.
    fn is_protected_as(&self, name: &str) -> bool {
        let (first, own) = (name.as_bytes().first(), self.0.as_bytes().first());
        let begins_alike = match (first, own) {
            (Some(first), Some(own)) => *own == b'\\' || own.eq_ignore_ascii_case(first),
            // Nothing has no first character, but a spelling.
            _ => true,
        };
        begins_alike
            && (&*self.0 == EMPTY || self.0.contains('\\'))
            && self.name().eq_ignore_ascii_case(name)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Keyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}

/// Whether a name is its own canonical spelling as a keyword, as those of protocols are.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| PLAIN[usize::from(b)])
}

/// The bytes of such names.
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        plain[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'-';
        byte += 1;
    }
    plain
};

pub(crate) fn name_of(spelling: &str) -> Cow<'_, str> {
    if spelling == EMPTY {
        return "".into();
    }
    if !spelling.contains('\\') {
        return spelling.into();
    }
    let mut name = String::with_capacity(spelling.len());
    let mut chars = spelling.chars();
    while let Some(c) = chars.next() {
        name.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    name.into()
}

/// Returns the name that a mark such as `'` is short for.
pub(crate) fn of_mark(mark: &str) -> &'static str {
    match mark {
        "'" => "quote",
        "#'" => "function",
        "`" => "quasiquote",
        "," => "unquote",
        ",@" => "unquote-splicing",
        _ => "unquote-nsplicing",
    }
}

/// The three ways that a symbol's text can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Symbol,
    Keyword,
    Uninterned,
}

impl Sort {
    fn of(source: &str) -> Self {
        match source.as_bytes() {
            [b':', ..] => Self::Keyword,
            [b'#', b':', ..] => Self::Uninterned,
            _ => Self::Symbol,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Symbol => "",
            Self::Keyword => ":",
            Self::Uninterned => "#:",
        }
    }
}

/// Reads a symbol's source with escapes or colons: its kind and canonical spelling.
///
/// # Errors
/// A sentence about its colons; control characters were refused before.
pub(crate) fn spell(source: &str, dialect: Dialect) -> Result<(Kind, String), &'static str> {
    if dialect == Dialect::Emacs && source == "##" {
        return Ok((Kind::Symbol, EMPTY.into()));
    }
    let sort = Sort::of(source);
    let mut spelled = Spelled::parse(&source[sort.mark().len()..], dialect);
    let is_package = spelled.colons_make_a_package(sort);
    if dialect == Dialect::Emacs && !is_package {
        spelled.protect_colons();
    } else if !is_package && spelled.chars.contains(&(':', false)) {
        return Err("colons here make no package prefix");
    }
    if spelled.chars.is_empty() && dialect == Dialect::Lisp && source.len() == sort.mark().len() {
        return Err("expected a name after the colon");
    }
    spelled.protect(sort);
    let kind = match (sort, spelled.bare_constant()) {
        (Sort::Keyword, _) => Kind::Keyword,
        (Sort::Symbol, Some(kind)) => kind,
        _ => Kind::Symbol,
    };
    Ok((kind, spelled.write(sort)))
}

/// The canonical spelling of a source that [`spell`] has accepted, its colon included.
pub(crate) fn respell(source: &str, dialect: Dialect) -> String {
    spell(source, dialect).map(|(_, spelling)| spelling).unwrap_or_default()
}

/// Writes a canonical spelling, colon included, the way Emacs reads it.
pub(crate) fn write_emacs(spelling: &str, out: &mut String) {
    match spelling {
        EMPTY => return out.push_str("##"),
        ":||" => return out.push(':'),
        "#:||" => return out.push_str("#:"),
        _ => {}
    }
    let sort = Sort::of(spelling);
    let name = &spelling[sort.mark().len()..];
    if !name.contains("\\:") || !emacs_reads_bare_colons(name, sort) {
        return out.push_str(spelling);
    }
    out.push_str(sort.mark());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next() } else { None };
        match next {
            Some(':') => out.push(':'),
            Some(other) => out.extend(['\\', other]),
            None => out.push(c),
        }
    }
}

/// Whether protected colons come back protected when written bare in the Emacs dialect.
fn emacs_reads_bare_colons(name: &str, sort: Sort) -> bool {
    let mut spelled = Spelled::parse(name, Dialect::Lisp);
    if spelled.chars.contains(&(':', false)) {
        return false;
    }
    if sort == Sort::Symbol && spelled.chars.first().is_some_and(|(c, _)| *c == ':') {
        return false;
    }
    for (c, protected) in &mut spelled.chars {
        *protected &= *c != ':';
    }
    !spelled.colons_make_a_package(sort)
}

/// A symbol's characters, each protected or not.
struct Spelled {
    chars: Vec<(char, bool)>,
}

impl Spelled {
    fn of_name(name: &str, sort: Sort) -> Self {
        let keep = |c: char| if token::is_control(c) { char::REPLACEMENT_CHARACTER } else { c };
        let mut spelled = Self { chars: name.chars().map(|c| (keep(c), false)).collect() };
        spelled.protect_colons();
        debug_assert_ne!(sort, Sort::Uninterned, "names are made of symbols and keywords");
        spelled
    }

    fn parse(text: &str, dialect: Dialect) -> Self {
        let mut parsed = Vec::with_capacity(text.len());
        let mut in_bars = false;
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => parsed.extend(chars.next().map(|next| (next, true))),
                '|' if dialect == Dialect::Lisp => in_bars = !in_bars,
                _ => parsed.push((c, in_bars)),
            }
        }
        Self { chars: parsed }
    }

    /// Whether the bare colons, if any, are one package prefix: one or two of them together,
    /// with characters on both sides.
    fn colons_make_a_package(&self, sort: Sort) -> bool {
        let is_colon = |pair: &(char, bool)| *pair == (':', false);
        let count = self.chars.iter().filter(|pair| is_colon(pair)).count();
        let Some(first) = self.chars.iter().position(is_colon) else { return false };
        sort == Sort::Symbol
            && first > 0
            && count <= 2
            && self.chars[first..first + count].iter().all(is_colon)
            && first + count < self.chars.len()
    }

    fn protect_colons(&mut self) {
        for (c, protected) in &mut self.chars {
            *protected |= *c == ':';
        }
    }

    /// Brings protection into its canonical form; colons have been judged before.
    fn protect(&mut self, sort: Sort) {
        for (at, (c, protected)) in self.chars.iter_mut().enumerate() {
            *protected = match Need::of(*c) {
                Need::Always => true,
                Need::Never => false,
                Need::First => at == 0 && sort == Sort::Symbol,
                Need::AsWritten => *protected,
            };
        }
        let reads_otherwise = sort != Sort::Keyword && self.reads_as_number_or_dots();
        if let Some(first) = self.chars.first_mut().filter(|_| reads_otherwise) {
            first.1 = true;
        }
    }

    fn bare(&self) -> Option<String> {
        self.chars.iter().map(|&(c, protected)| (!protected).then_some(c)).collect()
    }

    fn reads_as_number_or_dots(&self) -> bool {
        self.bare().is_some_and(|text| {
            !text.is_empty()
                && (text.bytes().all(|byte| byte == b'.')
                    || number::classify(text.as_bytes()).is_some())
        })
    }

    /// `nil` or `t`, when this reads as one of them.
    fn bare_constant(&self) -> Option<Kind> {
        self.bare().and_then(|text| constant(text.as_bytes()))
    }

    fn write(&self, sort: Sort) -> String {
        let mut out = String::with_capacity(self.chars.len() + 2);
        out.push_str(sort.mark());
        if self.chars.is_empty() {
            out.push_str(EMPTY);
        }
        for (c, protected) in &self.chars {
            if *protected {
                out.push('\\');
            }
            out.push(*c);
        }
        out
    }
}

/// `nil` or `t`, ASCII case ignored.
#[inline]
pub(crate) fn constant(token: &[u8]) -> Option<Kind> {
    match token {
        [b't' | b'T'] => Some(Kind::T),
        [b'n' | b'N', b'i' | b'I', b'l' | b'L'] => Some(Kind::Nil),
        _ => None,
    }
}

/// Need of a character for protection in the canonical spelling.
enum Need {
    /// Special to one of the Lisps.
    Always,
    /// Reads alike with protection and without.
    Never,
    /// Special at the beginning.
    First,
    /// Case, and what SBCL's normalization does outside ASCII, depend on it.
    AsWritten,
}

impl Need {
    fn of(c: char) -> Self {
        match c {
            // A bare colon is a package prefix here: others were protected before.
            ':' => Self::AsWritten,
            '?' => Self::First,
            '"' | '\'' | '(' | ')' | ',' | ';' | '`' | '[' | ']' | '{' | '}' | '\\' | '|' | '#' => {
                Self::Always
            }
            '\0'..=' ' | '\x7F' | '\u{A0}' | '\u{FEFF}' => Self::Always,
            'a'..='z' | 'A'..='Z' => Self::AsWritten,
            _ if c.is_ascii() => Self::Never,
            _ => Self::AsWritten,
        }
    }
}
