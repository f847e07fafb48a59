//! Rules for Rust files: a header that says what the file is for, lengths, and words that must not be
//! in finished code.

use std::path::Path;

use super::TidyFinding;
use super::mask::mask;

/// Lines of a file past which a reader loses the thread.
const FILE_LINES: usize = 600;

/// Lines of a function, from `fn` to its closing brace: about one screen.
const FUNCTION_LINES: usize = 60;

/// The word in a file's header after which it says why it is long.
const LONG: &str = "long:";

/// Words that finished code does not contain, and their replacements.
const BANNED: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run proves nothing: fix it or delete it"),
    ("todo!", "return an error that says what is missing"),
    ("unimplemented!", "return an error that says what is missing"),
    ("dbg!", "use tracing, or a writer handed in"),
    ("unsafe {", "this project has no unsafe code"),
    ("unsafe fn", "this project has no unsafe code"),
];

pub(super) fn check(path: &Path, text: &str, findings: &mut Vec<TidyFinding>) {
    if !text.starts_with("//!") {
        findings.push(TidyFinding::new(
            path,
            1,
            "no `//!` header: what is it for, who calls it, what is it not",
        ));
    }
    let header: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
    let code = mask(text);
    for (number, line) in code.lines().enumerate() {
        for (word, instead) in BANNED {
            if line.contains(word) {
                findings.push(TidyFinding::new(path, number + 1, format!("`{word}`: {instead}")));
            }
        }
    }
    if header.contains(LONG) {
        return;
    }
    let lines = text.lines().count();
    if lines > FILE_LINES {
        let what = format!(
            "{lines} lines, expected at most {FILE_LINES}: split it, or say why after `{LONG}` in its header"
        );
        findings.push(TidyFinding::new(path, 0, what));
    }
    for function in functions(&code) {
        if function.lines > FUNCTION_LINES {
            let what = format!(
                "`{}` has {} lines, expected at most {FUNCTION_LINES}: split it, or say why after `{LONG}` in the file's header",
                function.name, function.lines
            );
            findings.push(TidyFinding::new(path, function.line, what));
        }
    }
}

/// A function with a body.
struct RustFunction {
    name: String,
    line: usize,
    lines: usize,
}

/// Every function of masked code, nested ones too.
fn functions(code: &str) -> Vec<RustFunction> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name: String =
            code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            continue; // a function type
        }
        if let Some(end) = body_end(code, at) {
            let line = 1 + count_lines(&code[..at]);
            let lines = 1 + count_lines(&code[at..end]);
            found.push(RustFunction { name, line, lines });
        }
    }
    found
}

fn count_lines(code: &str) -> usize {
    code.bytes().filter(|byte| *byte == b'\n').count()
}

/// The offset behind the closing brace of the function that starts at `at`; `None` without a body.
fn body_end(code: &str, at: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            // Inside brackets it belongs to an array type: `[u8; 4]`.
            b';' if braces == 0 && brackets == 0 => return None,
            b'{' => braces += 1,
            b'}' => {
                braces = braces.saturating_sub(1);
                if braces == 0 {
                    return Some(at + offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::check;

    fn lines(text: &str) -> Vec<(usize, String)> {
        let mut findings = Vec::new();
        check(Path::new("x.rs"), text, &mut findings);
        findings.into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    fn long_function(header: &str) -> String {
        format!("{header}\nfn f(x: [u8; 4]) {{\n{}}}\n", "    g();\n".repeat(59))
    }

    #[test]
    fn a_header_is_asked_for() {
        assert_eq!(lines("//! Fine.\n"), []);
        assert_eq!(lines("fn f() {}\n").len(), 1);
    }

    #[test]
    fn a_long_function_needs_a_reason() {
        let found = lines(&long_function("//! Header."));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 2);
        assert!(found[0].1.starts_with("`f` has 61 lines"), "{found:?}");
        assert_eq!(lines(&long_function("//! Header. long: one table.")), []);
    }

    #[test]
    fn banned_words_count_in_code_only() {
        assert_eq!(lines("//! todo!\nconst A: &str = \"dbg!(x)\"; // unsafe {\n"), []);
        assert_eq!(lines("//! Header.\nfn f() { todo!() }\n").len(), 1);
        assert_eq!(lines("//! Header.\n#[ignore = \"slow\"]\nfn f() {}\n").len(), 1);
    }
}
