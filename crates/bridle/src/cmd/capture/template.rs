//! Templates of captures, as Org has them: a heading of `templates.org` whose text is filled in. `%?` is the title,
//! `%i` the rest of the text, `%t` and `%T` an active timestamp, `%u` and `%U` an inactive one.

use bridle_sexp::Value;
use bridle_shell::screen::local_minute;

use crate::exit::{BridleExit, CommandFailure};

/// Days of the week as Org writes them.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Template for what comes without one.
const PLAIN: &str = "* TODO %?\n%U\n%i";

/// A text to be kept: its first line, and the rest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureText {
    title: String,
    body: String,
}

impl CaptureText {
    /// Reads a text. Controls are left out, and lines that would begin a heading are moved in by a blank.
    pub(super) fn of(text: &str) -> Result<CaptureText, CommandFailure> {
        let text = text.replace("\r\n", "\n");
        let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let text: String = text.chars().filter(is_kept).collect();
        let (title, body) = text.trim_start().split_once('\n').unwrap_or((text.trim(), ""));
        if title.trim().is_empty() {
            return Err(CommandFailure::new(BridleExit::Usage, "nothing to capture")
                .hint("bridle capture \"Buy a ladder\""));
        }
        let lines = body.trim_end().trim_start_matches('\n').lines();
        let body: Vec<String> = lines.map(indented_star).collect();
        Ok(CaptureText { title: title.trim().to_owned(), body: body.join("\n") })
    }
}

fn indented_star(line: &str) -> String {
    if line.starts_with('*') { format!(" {line}") } else { line.to_owned() }
}

/// A template: its text, and where it puts what it makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CaptureTemplate {
    text: String,
    /// File; `None` leaves it to the command.
    pub(super) file: Option<String>,
    /// Titles of the heading to append to, from the top; empty for the end of the file.
    pub(super) heading: Vec<String>,
}

impl Default for CaptureTemplate {
    fn default() -> CaptureTemplate {
        CaptureTemplate { text: PLAIN.to_owned(), file: None, heading: Vec::new() }
    }
}

impl CaptureTemplate {
    /// Reads one from its heading: properties `FILE` and `HEADING`, and its text or the source block in it.
    pub(super) fn of(object: &Value, name: &str) -> Result<CaptureTemplate, CommandFailure> {
        let source = object.get("text").and_then(Value::as_str).unwrap_or_default();
        let property = |wanted: &str| {
            let all = object.get("properties").and_then(Value::elements).unwrap_or_default();
            let found = all.iter().filter_map(Value::elements).find_map(|pair| match pair {
                [key, value] if key.as_str() == Some(wanted) => value.as_str(),
                _ => None,
            });
            found.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let text = block_in(source).unwrap_or_else(|| body_of(source));
        if text.trim().is_empty() {
            return Err(CommandFailure::new(
                BridleExit::Data,
                format!("template `{name}` has no text"),
            )
            .hint("give it a block: #+begin_src org, the lines with %? for the title, #+end_src"));
        }
        let heading = property("HEADING").unwrap_or_default();
        let heading = heading.split('/').map(str::trim).filter(|it| !it.is_empty());
        Ok(CaptureTemplate {
            text,
            file: property("FILE"),
            heading: heading.map(str::to_owned).collect(),
        })
    }

    /// Fills the template in.
    pub(super) fn fill(&self, text: &CaptureText, now_ms: i64) -> Result<String, CommandFailure> {
        let stamp = Moment::of(now_ms);
        let (mut out, mut has_body) = (String::new(), false);
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once('%') {
            out.push_str(before);
            let letter = after.chars().next().unwrap_or('%');
            match letter {
                '?' => out.push_str(&text.title),
                'i' => {
                    has_body = true;
                    out.push_str(&text.body);
                }
                't' => out.push_str(&format!("<{}>", stamp.day)),
                'T' => out.push_str(&format!("<{} {}>", stamp.day, stamp.time)),
                'u' => out.push_str(&format!("[{}]", stamp.day)),
                'U' => out.push_str(&format!("[{} {}]", stamp.day, stamp.time)),
                '%' => out.push('%'),
                other => {
                    return Err(CommandFailure::new(
                        BridleExit::Data,
                        format!("the template has `%{other}`, which is not known"),
                    )
                    .hint("known: %? %i %t %T %u %U, and %% for a percent sign"));
                }
            }
            rest = after.get(letter.len_utf8()..).unwrap_or_default();
        }
        out.push_str(rest);
        if !has_body && !text.body.is_empty() {
            out = format!("{}\n{}", out.trim_end(), text.body);
        }
        Ok(format!("{}\n", out.trim_end()))
    }
}

/// The content of the first source block.
fn block_in(source: &str) -> Option<String> {
    let is = |line: &str, start: &str| {
        line.trim_start().get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start))
    };
    let mut lines = source.lines().skip_while(|line| !is(line, "#+begin_src"));
    lines.next()?;
    let content: Vec<&str> = lines.take_while(|line| !is(line, "#+end_src")).collect();
    let indent = |line: &&&str| line.len() - line.trim_start().len();
    let common = content.iter().filter(|line| !line.trim().is_empty()).map(|it| indent(&it)).min();
    // A comma protects what would be a heading in the block.
    let plain = |line: &&str| {
        let line = line.get(common.unwrap_or(0)..).unwrap_or_default();
        match line.strip_prefix(',') {
            Some(rest) if rest.starts_with(['*', ',']) || rest.starts_with("#+") => rest.to_owned(),
            _ => line.to_owned(),
        }
    };
    Some(content.iter().map(plain).collect::<Vec<String>>().join("\n"))
}

/// The text of a heading without its first line and its drawer of properties, made a heading itself.
fn body_of(source: &str) -> String {
    let mut lines = source.lines().skip(1).peekable();
    if lines.peek().is_some_and(|line| line.trim().eq_ignore_ascii_case(":PROPERTIES:")) {
        for line in lines.by_ref() {
            if line.trim().eq_ignore_ascii_case(":END:") {
                break;
            }
        }
    }
    let text = lines.collect::<Vec<&str>>().join("\n");
    let text = text.trim();
    match text.is_empty() || text.starts_with('*') {
        true => text.to_owned(),
        false => format!("* {text}"),
    }
}

/// A time as Org writes it.
struct Moment {
    day: String,
    time: String,
}

impl Moment {
    fn of(now_ms: i64) -> Moment {
        let local = local_minute(now_ms);
        let (date, time) = local.split_once(' ').unwrap_or((&local, "00:00"));
        let days = bridle_memex::WallMinute::parse(date).map_or(0, |it| it.0.div_euclid(24 * 60));
        // The first day of 1970 was a Thursday.
        let weekday = usize::try_from((days + 3).rem_euclid(7)).unwrap_or(0);
        Moment { day: format!("{date} {}", DAYS[weekday]), time: time.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use bridle_sexp::Value;

    use super::{CaptureTemplate, CaptureText, Moment, block_in};

    fn text(text: &str) -> CaptureText {
        CaptureText::of(text).expect("a text")
    }

    fn fill(template: &str, given: &str) -> String {
        let template = CaptureTemplate { text: template.to_owned(), ..Default::default() };
        template.fill(&text(given), 0).expect("a template")
    }

    #[test]
    fn a_text_cannot_leave_its_heading() {
        let kept = text("  Title\n\n* not a heading\nx\u{1b}[2Jy\r\n** nor this\n\n");
        assert_eq!(kept.title, "Title");
        assert_eq!(kept.body, " * not a heading\nx[2Jy\n ** nor this");
        assert!(CaptureText::of(" \n\t").is_err());
    }

    #[test]
    fn templates_are_filled_in() {
        assert_eq!(fill("* %?\n%i", "a\nb\nc"), "* a\nb\nc\n");
        assert_eq!(fill("* %? 100%%", "a\nb"), "* a 100%\nb\n");
        let day = Moment::of(0).day;
        assert_eq!(fill("* %?\n%t %u", "a %t"), format!("* a %t\n<{day}> [{day}]\n"));
        let unknown = CaptureTemplate { text: "* %^{x}".to_owned(), ..Default::default() };
        assert!(unknown.fill(&text("a"), 0).is_err());
    }

    #[test]
    fn a_template_is_a_block_or_the_text_of_its_heading() {
        let source = "* meeting\n:PROPERTIES:\n:FILE: work.org\n:END:\n#+begin_src org\n  ,* MEET %?\n  %U\n#+end_src\n";
        assert_eq!(block_in(source).as_deref(), Some("* MEET %?\n%U"));
        let object = |text: &str| {
            let pair = |key: &str, value: &str| Value::list([Value::str(key), Value::str(value)]);
            let properties = [pair("FILE", "work.org"), pair("HEADING", "Log / Meetings")];
            Value::plist([("text", Value::str(text)), ("properties", Value::list(properties))])
        };
        let read = CaptureTemplate::of(&object(source), "meeting").expect("a template");
        assert_eq!(read.file.as_deref(), Some("work.org"));
        assert_eq!(read.heading, ["Log", "Meetings"]);
        let plain = CaptureTemplate::of(&object("* call\n:PROPERTIES:\n:END:\nCALL %?\n"), "call");
        assert_eq!(plain.expect("a template").text, "* CALL %?");
        assert!(CaptureTemplate::of(&object("* empty\n"), "empty").is_err());
    }
}
