//! `bridle agenda`: what is planned, overdue or due soon, day by day. Asks the daemon, or the index where none runs.

use std::borrow::Cow;
use std::fmt::Write as _;

use bridle_memex::WallMinute;
use bridle_sexp::Value;
use bridle_sexp::civil_date::civil_from_days;
use bridle_shell::screen::table::cut;
use bridle_shell::screen::{OutputScreen, neutral_line, plain_json};

use super::memex_source::{MemexSource, wall_now};
use super::output::print;
use crate::args::notes::AgendaArgs;
use crate::exit::{BridleExit, CommandFailure};

/// Days of `--week`, and minutes of one.
const WEEK_DAYS: i64 = 7;
const DAY_MINUTES: i64 = 24 * 60;

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(crate) fn run(args: AgendaArgs) -> Result<BridleExit, CommandFailure> {
    let now = wall_now();
    let (from, to) = span(&args, now)?;
    let ask = Value::plist([
        ("action", Value::keyword("agenda")),
        ("from", Value::str(date(from))),
        ("to", Value::str(date(to))),
        ("now", Value::str(now.to_string())),
    ]);
    let told = MemexSource::open(args.peer, args.state)?.ask(ask)?;
    let entries = told.get("entries").and_then(Value::elements).unwrap_or_default();
    if args.json {
        let lines = entries.iter().map(|entry| format!("{}\n", plain_json(entry)));
        return print(&lines.collect::<String>());
    }
    let screen = OutputScreen::of_stdout();
    let mut text = String::new();
    for day in (from.0.div_euclid(DAY_MINUTES))..=(to.0.div_euclid(DAY_MINUTES)) {
        push_day(WallMinute(day * DAY_MINUTES), now, entries, screen, &mut text);
    }
    if told.get("cut").is_some() {
        text.push_str("there is more: name fewer days with --from and --to\n");
    }
    print(&text)
}

/// The days that were asked for.
fn span(args: &AgendaArgs, now: WallMinute) -> Result<(WallMinute, WallMinute), CommandFailure> {
    if args.week {
        return Ok((now, WallMinute(now.0 + (WEEK_DAYS - 1) * DAY_MINUTES)));
    }
    let day = |flag: &str, text: &Option<String>| {
        let read = text.as_ref().map(|text| read_day(text, now).ok_or((flag.to_owned(), text)));
        read.transpose().map_err(|(flag, text)| {
            CommandFailure::new(BridleExit::Usage, format!("--{flag}: no day `{text}`"))
                .hint("write 2026-11-15, today, tomorrow, yesterday or a number of days: +7")
        })
    };
    let from = day("from", &args.from)?.unwrap_or(now);
    let to = day("to", &args.to)?.unwrap_or(from);
    if to.0.div_euclid(DAY_MINUTES) < from.0.div_euclid(DAY_MINUTES) {
        let what = format!("--to {} is before {}", date(to), date(from));
        return Err(CommandFailure::new(BridleExit::Usage, what)
            .hint("name the first day with --from, the last one with --to"));
    }
    Ok((from, to))
}

fn read_day(text: &str, now: WallMinute) -> Option<WallMinute> {
    let after = |days: i64| days.checked_mul(DAY_MINUTES).map(|it| WallMinute(now.0 + it));
    match text {
        "today" => after(0),
        "tomorrow" => after(1),
        "yesterday" => after(-1),
        _ if text.starts_with(['+', '-']) => {
            text.parse::<i64>().ok().filter(|days| days.abs() <= 36_500).and_then(after)
        }
        _ => WallMinute::parse(text),
    }
}

fn date(minute: WallMinute) -> String {
    let (year, month, day) = civil_from_days(minute.0.div_euclid(DAY_MINUTES));
    format!("{year:04}-{month:02}-{day:02}")
}

/// A day with its entries.
fn push_day(
    day: WallMinute,
    now: WallMinute,
    entries: &[Value],
    screen: OutputScreen,
    out: &mut String,
) {
    let name = date(day);
    let weekday = usize::try_from((day.0.div_euclid(DAY_MINUTES) + 3).rem_euclid(7)).unwrap_or(0);
    let mark = if name == date(now) { " (today)" } else { "" };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{} {name}{mark}", WEEKDAYS[weekday]);
    let mut is_empty = true;
    for entry in entries {
        if entry.get("day").and_then(Value::as_str) == Some(name.as_str()) {
            is_empty = false;
            let line = line(entry);
            let shown = screen.width.map_or_else(|| line.clone(), |width| cut(&line, width));
            let _ = writeln!(out, "{shown}");
        }
    }
    if is_empty {
        out.push_str("  nothing\n");
    }
}

/// An entry on one line: when, what it is, where it stands.
fn line(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(|it| neutral_line(it));
    let word = |key: &str| entry.get(key).and_then(Value::as_keyword).unwrap_or_default();
    let days = entry.get("days").and_then(Value::as_i64).unwrap_or_default();
    let time = match (text("time"), text("until")) {
        (Some(time), Some(until)) => format!("{time}-{until}"),
        (Some(time), None) => time.into_owned(),
        (None, _) => String::new(),
    };
    let ago = |days: i64| if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
    let when = match (word("standing"), word("kind")) {
        ("overdue", kind) => format!("{kind} {} ago", ago(days)),
        ("upcoming", _) => format!("due in {}", ago(days)),
        (_, "active") => String::new(),
        (_, kind) => kind.to_owned(),
    };
    let title = [
        text("todo").map(Cow::into_owned),
        text("priority").map(|it| format!("[#{it}]")),
        text("title").map(Cow::into_owned),
    ];
    let title: Vec<String> = title.into_iter().flatten().collect();
    let place = text("path").unwrap_or_default();
    let at = entry.get("line").and_then(Value::as_i64).unwrap_or_default();
    let private = if entry.get("private").is_some() { "  (private)" } else { "" };
    let again = if entry.get("repeats").is_some() { "  (repeats)" } else { "" };
    format!("  {time:<11}  {when:<22}  {}{again}{private}  {place}:{at}", title.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{date, read_day};
    use bridle_memex::WallMinute;

    #[test]
    fn days_are_read_from_today_on() {
        let now = WallMinute::parse("2026-11-19 23:50").expect("a time");
        let day = |text: &str| read_day(text, now).map(date);
        for (text, expected) in [
            ("today", "2026-11-19"),
            ("tomorrow", "2026-11-20"),
            ("yesterday", "2026-11-18"),
            ("+12", "2026-12-01"),
            ("-1", "2026-11-18"),
            ("2027-02-28", "2027-02-28"),
        ] {
            assert_eq!(day(text).as_deref(), Some(expected), "{text}");
        }
        for bad in ["", "soon", "+", "2026-02-30", "+99999999999999999999"] {
            assert_eq!(day(bad), None, "{bad}");
        }
    }
}
