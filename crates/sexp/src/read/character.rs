//! Characters: `#\a`, `#\Newline`, `?\n`, and their printed names.
//!
//! The reader parses with [`lisp`] and [`emacs`]; [`Char`] is the value.

use crate::limits::Dialect;
use crate::read::string::{self, EscapePlace};
use crate::read::token;

/// A character value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Char {
    /// The character itself.
    Scalar(char),
    /// A Unicode name, as Lisp prints it, that is kept and not resolved.
    Named(Box<str>),
}

/// The longest `\N{..}` after `?`, in bytes. Unicode's longest name has 88 characters; without a
/// bound, a beginning of the text could not be told from an error.
pub(crate) const LONGEST_NAME: usize = 128;

/// Names that Lisp gives to characters; the first one of a character is printed.
const NAMES: [(char, &[&str]); 34] = [
    ('\0', &["Nul", "Null"]),
    ('\x01', &["Soh"]),
    ('\x02', &["Stx"]),
    ('\x03', &["Etx"]),
    ('\x04', &["Eot"]),
    ('\x05', &["Enq"]),
    ('\x06', &["Ack"]),
    ('\x07', &["Bel", "Bell"]),
    ('\x08', &["Backspace", "Bs"]),
    ('\t', &["Tab", "Ht"]),
    ('\n', &["Newline", "Linefeed", "Lf", "Nl"]),
    ('\x0B', &["Vt"]),
    ('\x0C', &["Page", "Form", "Formfeed", "Ff", "Np"]),
    ('\r', &["Return", "Cr"]),
    ('\x0E', &["So"]),
    ('\x0F', &["Si"]),
    ('\x10', &["Dle"]),
    ('\x11', &["Dc1"]),
    ('\x12', &["Dc2"]),
    ('\x13', &["Dc3"]),
    ('\x14', &["Dc4"]),
    ('\x15', &["Nak"]),
    ('\x16', &["Syn"]),
    ('\x17', &["Etb"]),
    ('\x18', &["Can"]),
    ('\x19', &["Em"]),
    ('\x1A', &["Sub"]),
    ('\x1B', &["Esc", "Escape", "Altmode", "Alt"]),
    ('\x1C', &["Fs"]),
    ('\x1D', &["Gs"]),
    ('\x1E', &["Rs"]),
    ('\x1F', &["Us"]),
    (' ', &["Space", "Sp"]),
    ('\x7F', &["Rubout", "Delete", "Del"]),
];

/// The character that stands after `#\`; `None` when nothing is called so.
pub(crate) fn lisp(name: &str) -> Option<Char> {
    let mut chars = name.chars();
    let first = chars.next()?;
    if chars.next().is_none() {
        return Some(Char::Scalar(first));
    }
    let named = NAMES.iter().find(|(_, names)| names.iter().any(|n| n.eq_ignore_ascii_case(name)));
    if let Some((c, _)) = named {
        return Some(Char::Scalar(*c));
    }
    if let Some(c) = numbered(name) {
        return Some(Char::Scalar(c));
    }
    looks_printed(name).then(|| Char::Named(name.into()))
}

/// `U+1F600` or `U1F600`.
fn numbered(name: &str) -> Option<char> {
    let digits = name.strip_prefix(['U', 'u'])?;
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

/// Whether a name has the looks of one that Lisp prints, such as `GRINNING_FACE`.
fn looks_printed(name: &str) -> bool {
    name.len() <= LONGEST_NAME - "\\N{}".len()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && (name.contains('_') || !name.bytes().any(|byte| byte.is_ascii_lowercase()))
}

/// The character whose Emacs source, without `?`, begins `rest`, and the bytes it takes.
pub(crate) fn emacs(rest: &str) -> Result<(Char, usize), &'static str> {
    let Some(escaped) = rest.strip_prefix('\\') else {
        let c = rest.chars().next().ok_or("expected a character after `?`")?;
        return Ok((Char::Scalar(c), c.len_utf8()));
    };
    let braced = escaped.starts_with("N{");
    let within = &rest.as_bytes()[..rest.len().min(LONGEST_NAME)];
    if braced && memchr::memchr(b'}', within).is_none() {
        return Err("expected `}` after a character's name");
    }
    if let Some(name) = escaped.strip_prefix("N{").filter(|name| !name.starts_with("U+")) {
        let (name, _) = name.split_once('}').ok_or("expected `}` after a character's name")?;
        let underscored = name.replace(' ', "_");
        // A few short names, such as BELL, mean another character in Lisp: not those.
        let Some(c @ Char::Named(_)) = lisp(&underscored) else {
            return Err("expected the Unicode name of a character");
        };
        return Ok((c, "\\N{}".len() + name.len()));
    }
    let (c, length) = string::emacs_escape(escaped, EscapePlace::Character)?;
    let c = c.ok_or("expected a character after `?`")?;
    Ok((Char::Scalar(c), 1 + length))
}

/// Decodes the source of a character that the reader has accepted.
pub(crate) fn decode(source: &str) -> Char {
    let decoded = match source.strip_prefix("#\\") {
        Some(name) => lisp(name),
        None => emacs(&source[1..]).ok().map(|(c, _)| c),
    };
    decoded.unwrap_or(Char::Scalar(char::REPLACEMENT_CHARACTER))
}

impl Char {
    /// The character, if it is known.
    pub fn to_char(&self) -> Option<char> {
        match self {
            Self::Scalar(c) => Some(*c),
            Self::Named(_) => None,
        }
    }

    /// Its canonical name: what Lisp writes after `#\`.
    pub(crate) fn write_name(&self, out: &mut String) {
        match self {
            Self::Named(name) => out.push_str(name),
            Self::Scalar(c) => match NAMES.iter().find(|(named, _)| named == c) {
                Some((_, names)) => out.push_str(names[0]),
                None if needs_number(*c) => {
                    out.push_str(&format!("U+{:04X}", u32::from(*c)));
                }
                None => out.push(*c),
            },
        }
    }

    /// Writes it in the syntax of either Lisp.
    pub(crate) fn write(&self, dialect: Dialect, out: &mut String) {
        match dialect {
            Dialect::Lisp => {
                out.push_str("#\\");
                self.write_name(out);
            }
            Dialect::Emacs => self.write_emacs(out),
        }
    }

    fn write_emacs(&self, out: &mut String) {
        out.push('?');
        match self {
            Self::Named(name) => {
                out.push_str("\\N{");
                out.push_str(&name.replace('_', " "));
                out.push('}');
            }
            Self::Scalar(c) if c.is_ascii_alphanumeric() => out.push(*c),
            Self::Scalar(' ') => out.push_str("\\s"),
            Self::Scalar('\n') => out.push_str("\\n"),
            Self::Scalar('\t') => out.push_str("\\t"),
            Self::Scalar(c) if c.is_control() || needs_number(*c) => {
                out.push_str(&format!("\\x{:X}", u32::from(*c)));
            }
            Self::Scalar(c) if c.is_ascii() && !matches!(c, '^') => {
                out.push('\\');
                out.push(*c);
            }
            Self::Scalar(c) => out.push(*c),
        }
    }
}

/// Whether a character outside the table of names cannot stand for itself.
fn needs_number(c: char) -> bool {
    !c.is_ascii() && (token::is_control(c) || token::is_ambiguous(c) || c.is_whitespace())
}
