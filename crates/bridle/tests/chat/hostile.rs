//! Sixty attacks on the terminal, in what a model says, in what another shell says, and in the name of an action:
//! the pane gets sequences of our own alone.

use crate::attacks::ATTACKS;
use crate::tmux::ChatPane;

/// Letters that no text of others may put on a terminal.
fn is_hostile(letter: char) -> bool {
    let is_own = matches!(letter, '\u{1b}' | '\r' | '\n' | '\t');
    (letter.is_control() && !is_own)
        || matches!(letter, '\u{200b}'..='\u{200c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(
            letter,
            '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}' | '\u{2028}' | '\u{2029}'
        )
        || matches!(letter, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the text behind an escape is one that chat writes itself.
fn is_own(rest: &str) -> bool {
    if let Some(rest) = rest.strip_prefix(']') {
        return rest.starts_with("8;;");
    }
    if rest.starts_with('\\') {
        return true;
    }
    let Some(rest) = rest.strip_prefix('[') else { return false };
    let modes = ["?2026h", "?2026l", "?25h", "?25l", "?7h", "?7l", "?2004h", "?2004l"];
    if modes.iter().any(|mode| rest.starts_with(mode)) {
        return true;
    }
    let end = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
    let digits = &rest[..rest.len() - end.len()];
    let styles = digits.split(';').all(|code| {
        ["", "0", "1", "2", "3", "4", "7", "9", "31", "32", "33", "34", "35", "36"].contains(&code)
    });
    match end.chars().next() {
        Some('m') => styles,
        Some('A' | 'C') => true,
        Some('J') => digits.is_empty(),
        Some('K') => digits == "2",
        _ => false,
    }
}

/// The text inside of a string of a form.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[test]
fn attacks_in_all_that_is_shown_are_harmless() {
    let script: String = ATTACKS
        .iter()
        .enumerate()
        .map(|(at, attack)| {
            let attack = quoted(attack).replace('$', "$$");
            format!(
                "(rule :when \"say {at}\" :stream (\"<{attack}> [[{attack}][x]] \" \"`{attack}` end-{at}\"))\n\
                 (rule :when \"ask {at}\" :propose ((:target :system :action :forget :session \"<{attack}>\" \
                 :explanation \"{attack}\")))\n"
            )
        })
        .collect();
    let script = script + "(default :say \"nothing\")";
    let pane = ChatPane::new(&script, (80, 24));
    pane.open("work");
    pane.pipe_to("bytes");
    for (at, attack) in ATTACKS.iter().enumerate() {
        pane.say(&format!("say {at}"));
        pane.wait_for(&format!("end-{at}"));
        let attack = quoted(attack);
        let form = format!(
            "(:type :EVENT :payload (:sensor :user-prompt :text \"other {at} <{attack}> heard-{at}\"))"
        );
        let done = pane.bridle(&["send", "--session", "work", &form]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        pane.wait_for(&format!("heard-{at}"));
    }
    for at in (0..ATTACKS.len()).step_by(7) {
        pane.say(&format!("ask {at}"));
        pane.wait_for("a allow");
        pane.key("C-o");
        pane.wait_for("q back");
        pane.key("q");
        pane.key("Escape");
        pane.wait_for("· idle");
    }
    pane.paste(ATTACKS[0]);
    pane.say(" pasted");
    pane.wait_until("an answer", |screen| screen.contains("pasted"));
    let bytes = std::fs::read(pane.path("bytes")).unwrap();
    let text = String::from_utf8(bytes).expect("UTF-8");
    // The screen of details is the one place for the other screen.
    let text = text
        .replace("\u{1b}[?1049h", "")
        .replace("\u{1b}[?1049l", "")
        .replace("\u{1b}[H\u{1b}[2J", "");
    for (at, _) in text.match_indices('\u{1b}') {
        let rest = &text[at + 1..];
        assert!(is_own(rest), "an escape before {:?}", rest.chars().take(16).collect::<String>());
    }
    let hostile: Vec<char> = text.chars().filter(|letter| is_hostile(*letter)).collect();
    assert!(hostile.is_empty(), "{hostile:?}");
}
