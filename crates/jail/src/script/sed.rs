//! Programs of `sed`: plain is what prints, picks and replaces, and nothing else.
//!
//! Its language has `e`, which runs commands, `r` and `w`, which read and write files, each in several places
//! and spellings. So the safe part is read, and everything else is not plain.

use super::ScriptWord;

/// Options without a value that change nothing but the output.
const FLAGS: &[&str] = &[
    "--quiet",
    "--silent",
    "--regexp-extended",
    "--separate",
    "--unbuffered",
    "--null-data",
    "--posix",
    "--debug",
    "--sandbox",
    "--zero-terminated",
];

/// Letters of such options.
const FLAG_LETTERS: &str = "nErsuz";

/// Commands without an argument, or with a number.
const COMMANDS: &str = "pdDPgGhHxnNlqQ=}";

/// Whether a command line of `sed` prints, picks and replaces only.
pub(super) fn is_plain(argv: &[ScriptWord]) -> bool {
    let mut words = argv.iter().skip(1).map(ScriptWord::text);
    let (mut programs, mut has_option, mut first) = (Vec::new(), false, None);
    while let Some(word) = words.next() {
        let Some(word) = word else { return false };
        if word == "-e" || word == "--expression" {
            let Some(Some(program)) = words.next() else { return false };
            programs.push(program);
            has_option = true;
        } else if let Some(program) = word.strip_prefix("--expression=") {
            programs.push(program);
            has_option = true;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let is_flag = letters.chars().all(|letter| FLAG_LETTERS.contains(letter));
            if !is_flag && !FLAGS.contains(&word) {
                return false;
            }
        } else if first.is_none() {
            first = Some(word);
        }
    }
    if !has_option {
        programs.extend(first);
    }
    !programs.is_empty() && programs.into_iter().all(is_plain_program)
}

fn is_plain_program(program: &str) -> bool {
    let mut rest = program;
    loop {
        rest = rest.trim_start_matches(|it: char| it.is_whitespace() || it == ';');
        if rest.is_empty() {
            return true;
        }
        let Some(behind) = command(rest) else { return false };
        rest = behind;
    }
}

/// Rest behind one plain command; `None` if it is another one.
fn command(text: &str) -> Option<&str> {
    let mut rest = address(text)?;
    if let Some(behind) = rest.strip_prefix(',') {
        rest = address(behind.trim_start().trim_start_matches(['+', '~']))?;
    }
    let rest = rest.trim_start().trim_start_matches('!').trim_start();
    let mut characters = rest.chars();
    let name = characters.next()?;
    let behind = characters.as_str();
    match name {
        '{' => Some(behind),
        's' => replaced(behind),
        'y' => {
            let (mark, rest) = delimiter(behind)?;
            part(part(rest, mark)?, mark)
        }
        _ if COMMANDS.contains(name) => {
            let behind = behind.trim_start_matches(|it: char| it.is_ascii_digit() || it == ' ');
            let is_end = behind.is_empty() || behind.starts_with([';', '\n', '}']);
            is_end.then_some(behind)
        }
        _ => None,
    }
}

/// Rest behind an address, or all of it where there is none.
fn address(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('\\').unwrap_or(text);
    if rest.len() < text.len() || text.starts_with('/') {
        let (mark, rest) = delimiter(rest)?;
        return Some(part(rest, mark)?.trim_start_matches(['I', 'M']));
    }
    let rest = text.strip_prefix('$').unwrap_or(text);
    Some(rest.trim_start_matches(|it: char| it.is_ascii_digit() || it == '~'))
}

/// Rest behind the two parts and the flags of a replacement.
fn replaced(text: &str) -> Option<&str> {
    let (mark, rest) = delimiter(text)?;
    let rest = part(part(rest, mark)?, mark)?;
    let behind = rest.trim_start_matches(|it: char| "gpiIM".contains(it) || it.is_ascii_digit());
    let behind = behind.trim_start_matches(' ');
    (behind.is_empty() || behind.starts_with([';', '\n', '}'])).then_some(behind)
}

fn delimiter(text: &str) -> Option<(char, &str)> {
    let mark = text.chars().next().filter(|mark| !mark.is_whitespace() && *mark != '\\')?;
    Some((mark, &text[mark.len_utf8()..]))
}

/// Rest behind the next mark that no backslash stands before. Brackets of a set hide none: with one in it, an
/// early end is found, and what follows is not plain.
fn part(text: &str, mark: char) -> Option<&str> {
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        match character {
            _ if is_quoted => is_quoted = false,
            '\\' => is_quoted = true,
            _ if character == mark => return Some(&text[at + mark.len_utf8()..]),
            _ => {}
        }
    }
    None
}
