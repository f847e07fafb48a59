//! Recorded events as lines: what is printed once and stays.

use crate::event::GrantOffer;
use crate::markup;
use crate::message::{AnswerBody, ApprovalQuestion, EventBody, EventHead};
use crate::style::{AnsiColor, StyledLine, TextStyle, lines_of};

/// Mark before text that is in no record.
pub const VOID_MARK: &str = "✗ not recorded";

/// Source lines of an old answer that are shown when a session is opened.
const OLD_ANSWER_LINES: usize = 500;

/// Age of an event: whether it happened before this conversation was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventAge {
    /// Shown in full.
    New,
    /// A very long text is shown from its end.
    Old,
}

/// Lines of an event; none for what needs none.
pub fn event_lines(
    head: &EventHead,
    body: &EventBody,
    columns: usize,
    age: EventAge,
) -> Vec<StyledLine> {
    match body {
        EventBody::Prompt(text) => {
            // What was typed in a chat, be it an earlier one, needs no name.
            let source = head.source.as_deref().filter(|it| head.own.is_none() && *it != "chat");
            prompt_lines(text, source)
        }
        EventBody::Answer(answer) => answer_lines(answer, columns, age),
        EventBody::Question(question) => question_lines(question),
        EventBody::Answered { approval, answer, by, counted } => {
            let (mark, color) = match (answer.as_str(), counted) {
                (_, false) => ("·", AnsiColor::Yellow),
                ("allow", _) => ("✓", AnsiColor::Green),
                _ => ("✗", AnsiColor::Red),
            };
            let late = if *counted { "" } else { " (does not count)" };
            let word = if answer == "allow" { "allowed" } else { "denied" };
            vec![
                StyledLine::of(&format!("{mark} "), TextStyle::colored(color))
                    .with(&format!("{approval} {word} by {by}{late}"), TextStyle::DIM),
            ]
        }
        EventBody::Outcome { effect, outcome, reason } => {
            let is_fine = outcome == "done";
            let color = if is_fine { AnsiColor::Green } else { AnsiColor::Red };
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            vec![
                StyledLine::of("· ", TextStyle::colored(color))
                    .with(&format!("{effect} {outcome}{reason}"), TextStyle::DIM),
            ]
        }
        EventBody::Request(_) | EventBody::Quiet => Vec::new(),
        EventBody::Erased => vec![StyledLine::of("· content destroyed", TextStyle::DIM)],
        EventBody::Other(text) => vec![StyledLine::of(&format!("· {text}"), TextStyle::DIM)],
    }
}

/// Lines of a question: who wants what, and the exact action.
pub fn question_lines(question: &ApprovalQuestion) -> Vec<StyledLine> {
    let mut head = StyledLine::of("? ", TextStyle::colored(AnsiColor::Yellow));
    head.push(&format!("{}: {}", question.approval, question.question), TextStyle::PLAIN);
    head.hang = 2;
    let wanted = lines_of(&question.wanted, TextStyle::DIM).into_iter().map(|line| {
        let mut shown = StyledLine::of("  ", TextStyle::PLAIN);
        shown.hang = 2;
        shown.spans.extend(line.spans);
        shown
    });
    std::iter::once(head).chain(wanted).collect()
}

/// Lines of a prompt, with an empty one before them.
pub fn prompt_lines(text: &str, source: Option<&str>) -> Vec<StyledLine> {
    let mut out = vec![StyledLine::empty()];
    for (at, line) in lines_of(text, TextStyle::BOLD).into_iter().enumerate() {
        let mut shown = match at {
            0 => StyledLine::of("❯ ", TextStyle::colored(AnsiColor::Green)),
            _ => StyledLine::of("  ", TextStyle::PLAIN),
        };
        if at == 0
            && let Some(source) = source
        {
            shown.push(&format!("[{source}] "), TextStyle::DIM);
        }
        shown.hang = 2;
        shown.spans.extend(line.spans);
        out.push(shown);
    }
    out
}

fn answer_lines(answer: &AnswerBody, columns: usize, age: EventAge) -> Vec<StyledLine> {
    match answer {
        AnswerBody::Text(text) => match age {
            EventAge::New => markup::lines(text, columns),
            EventAge::Old => markup::last_lines(text, OLD_ANSWER_LINES, columns),
        },
        AnswerBody::Error { code, message, retryable } => {
            let mut line = StyledLine::of("✗ ", TextStyle::colored(AnsiColor::Red));
            line.push(&format!("{code}: {message}"), TextStyle::colored(AnsiColor::Red));
            line.hang = 2;
            let hint = "  the same may work when it is sent again: Up, then Enter";
            let hint = retryable.then(|| StyledLine::of(hint, TextStyle::DIM));
            std::iter::once(line).chain(hint).collect()
        }
        AnswerBody::Data(source) => lines_of(source, TextStyle::DIM),
    }
}

/// Lines of streamed text that does not count, under their mark.
pub fn void_lines(text: &str, why: &str) -> Vec<StyledLine> {
    let style = TextStyle { dim: true, strike: true, ..TextStyle::PLAIN };
    let head =
        StyledLine::of(&format!("{VOID_MARK}: {why}"), TextStyle::colored(AnsiColor::Magenta));
    let lines = lines_of(text, style).into_iter().map(|line| {
        let mut shown = StyledLine::of("┆ ", TextStyle::colored(AnsiColor::Magenta));
        shown.hang = 2;
        shown.spans.extend(line.spans);
        shown
    });
    std::iter::once(head).chain(lines).collect()
}

/// Lines of a lasting grant: each scope under its digit.
pub fn offer_lines(offer: &GrantOffer) -> Vec<StyledLine> {
    let mut out = Vec::new();
    for (at, scope) in offer.scopes.iter().enumerate().take(9) {
        let mut head = StyledLine::of(&format!("{}  ", at + 1), TextStyle::BOLD);
        head.hang = 3;
        head.push(&scope.sentence, TextStyle::PLAIN);
        out.push(head);
        let matched = format!(
            "   would have allowed {} of the last {} decisions",
            scope.matched, scope.decisions
        );
        out.push(StyledLine::of(&matched, TextStyle::DIM));
        out.extend(scope.examples.iter().map(|example| {
            let one = example.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut line = StyledLine::of(&format!("   {one}"), TextStyle::DIM);
            line.hang = 5;
            line
        }));
        out.push(StyledLine::empty());
    }
    if offer.scopes.is_empty() {
        out.push(StyledLine::of("this can only be allowed once", TextStyle::PLAIN));
    }
    out
}

/// Lines of a unified diff.
pub fn diff_lines(diff: &str) -> Vec<StyledLine> {
    let style = |line: &str| match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => TextStyle::BOLD,
        Some(b'+') => TextStyle::colored(AnsiColor::Green),
        Some(b'-') => TextStyle::colored(AnsiColor::Red),
        Some(b'@') => TextStyle::colored(AnsiColor::Cyan),
        _ => TextStyle::PLAIN,
    };
    diff.split('\n').map(|line| StyledLine::code(line, style(line))).collect()
}
