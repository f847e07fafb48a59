//! Words: static text with its quotes removed, or dynamic; commands inside of them are read, too.

use brush_parser::ast::Word;
use brush_parser::word::{WordPiece, WordPieceWithSource};

use super::{MAX_COMMANDS, ScriptReading, ScriptWord, options, read_nested};

/// Reads a word; what it would run goes into the reading.
pub(super) fn read_word(word: &Word, reading: &mut ScriptReading, depth: usize) -> ScriptWord {
    let written = &word.value;
    let Ok(pieces) = brush_parser::word::parse(written, &options()) else {
        reading.dynamic.push(format!("a word that cannot be read: {written}"));
        return ScriptWord::Dynamic(written.clone());
    };
    let mut text = String::new();
    let is_static = join(&pieces, Quotes::Outside, &mut text, reading, depth);
    if is_static { ScriptWord::Static(text) } else { ScriptWord::Dynamic(written.clone()) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Outside,
    Double,
}

/// Joins pieces; `false` when one of them is dynamic.
fn join(
    pieces: &[WordPieceWithSource],
    quotes: Quotes,
    text: &mut String,
    reading: &mut ScriptReading,
    depth: usize,
) -> bool {
    let mut is_static = true;
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(part) => {
                is_static &= quotes == Quotes::Double || !expands(part);
                text.push_str(part);
            }
            WordPiece::SingleQuotedText(part) => text.push_str(part),
            WordPiece::EscapeSequence(part) => {
                // A backslash before a line end is nothing at all.
                text.push_str(part.strip_prefix('\\').unwrap_or(part).trim_start_matches('\n'));
            }
            WordPiece::DoubleQuotedSequence(inner) => {
                is_static &= join(inner, Quotes::Double, text, reading, depth);
            }
            WordPiece::CommandSubstitution(script) => {
                read_inside(script, reading, depth);
                is_static = false;
            }
            WordPiece::BackquotedCommandSubstitution(script) => {
                read_inside(&script.replace("\\`", "`").replace("\\\\", "\\"), reading, depth);
                is_static = false;
            }
            WordPiece::ParameterExpansion(_) | WordPiece::ArithmeticExpression(_) => {
                let written = format!("{:?}", piece.piece);
                if written.contains("$(")
                    || written.contains('`')
                    || written.contains("[") && written.contains('$')
                {
                    reading.dynamic.push("a command inside an expansion".into());
                }
                is_static = false;
            }
            // `$'..'` and `$".."` are read in two ways by two shells.
            WordPiece::AnsiCQuotedText(_)
            | WordPiece::GettextDoubleQuotedSequence(_)
            | WordPiece::TildeExpansion(_) => is_static = false,
        }
    }
    is_static
}

/// Patterns, and braces that some shells expand.
fn expands(part: &str) -> bool {
    let is_pattern = part.contains(['*', '?', '[', '{', '!']);
    // A tilde in the middle is one: `HEAD~1`.
    let is_home = part.starts_with('~') || part.contains("=~") || part.contains(":~");
    (is_pattern || is_home) && part != "[" && part != "{}" && part != "!"
}

fn read_inside(script: &str, reading: &mut ScriptReading, depth: usize) {
    match read_nested(script, depth + 1) {
        Ok(inner) => merge(reading, inner),
        Err(error) => reading.dynamic.push(error.to_string()),
    }
}

/// Adds what an inner script does.
pub(super) fn merge(reading: &mut ScriptReading, inner: ScriptReading) {
    reading.commands.extend(inner.commands);
    reading.written.extend(inner.written);
    reading.read.extend(inner.read);
    reading.dynamic.extend(inner.dynamic);
    if reading.commands.len() > MAX_COMMANDS {
        reading.commands.truncate(MAX_COMMANDS);
        reading.dynamic.push("more commands than are read".into());
    }
}
