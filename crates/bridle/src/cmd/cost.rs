//! `bridle cost`: what models cost, summed up from the record of a state directory or of a daemon.

use bridle_history::cost::{CostGrouping, CostRow, CostSelection};
use bridle_loop::UnixMillis;
use bridle_models::MicroDollars;
use bridle_sexp::civil_date::days_from_civil;
use bridle_shell::screen::{OutputScreen, TableColumn, TextTable};

use super::output::print;
use super::record::{failure, open};
use crate::args::model::{CostArgs, CostKey};
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

const DAY_MS: i64 = 86_400_000;

pub(crate) fn run(args: &CostArgs) -> Result<BridleExit, CommandFailure> {
    let since = args.since.as_deref().map(start_of).transpose()?.map_or(i64::MIN, |at| at.0);
    let by = match args.by {
        CostKey::Session => CostGrouping::Session,
        CostKey::Model => CostGrouping::Model,
        CostKey::Day => CostGrouping::Day,
        CostKey::Skill => CostGrouping::Skill,
    };
    let wanted = CostSelection { session: args.session.as_deref(), since, after: 0 };
    let history = open(&args.state)?;
    let (rows, forgotten) = history.costs(by, wanted).map_err(|error| failure(&error))?;
    if args.json {
        return print(&rows.iter().map(as_json).collect::<String>());
    }
    let mut text = table(args.by, &rows);
    if forgotten > 0 {
        text.push_str(&format!("{forgotten} drafts are forgotten and in no sum\n"));
    }
    print(&text)
}

/// Beginning of a day, in UTC.
fn start_of(text: &str) -> Result<UnixMillis, CommandFailure> {
    let refused = || {
        CommandFailure::new(BridleExit::Usage, format!("`{text}` is no day"))
            .hint("write it as YYYY-MM-DD, such as 2026-11-01")
    };
    let mut fields =
        text.splitn(3, '-').map(|field| match field.bytes().all(|it| it.is_ascii_digit()) {
            true => field.parse::<i64>().ok(),
            false => None,
        });
    let mut next = || fields.next().flatten().ok_or_else(refused);
    let (year, month, day) = (next()?, next()?, next()?);
    let is_day =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = days_from_civil(year, month, day);
    // A day that a month does not have would be one of the next.
    let written = bridle_wire::time::rfc3339(days * DAY_MS);
    match is_day && written.starts_with(&format!("{year:04}-{month:02}-{day:02}T")) {
        true => Ok(UnixMillis(days * DAY_MS)),
        false => Err(refused()),
    }
}

/// Cost in words: at least so much where something is not known.
fn cost_words(row: &CostRow) -> String {
    match (row.unpriced, row.thoughts) {
        (0, _) => MicroDollars(row.microdollars).to_string(),
        (unpriced, thoughts) if unpriced == thoughts => "unknown".to_owned(),
        (unpriced, _) => format!("{} + {unpriced} unknown", MicroDollars(row.microdollars)),
    }
}

fn tokens(count: u64, row: &CostRow) -> String {
    match (row.uncounted, row.thoughts) {
        (0, _) => count.to_string(),
        (uncounted, thoughts) if uncounted == thoughts => "unknown".to_owned(),
        (uncounted, _) => format!("{count} + {uncounted} unknown"),
    }
}

fn table(by: CostKey, rows: &[CostRow]) -> String {
    let heading = match by {
        CostKey::Session => "SESSION",
        CostKey::Model => "MODEL",
        CostKey::Day => "DAY",
        CostKey::Skill => "SKILL",
    };
    let mut table = TextTable::new([
        TableColumn::text(heading).shrinks(),
        TableColumn::number("THOUGHTS"),
        TableColumn::number("INPUT").optional(),
        TableColumn::number("CACHED").optional(),
        TableColumn::number("OUTPUT").optional(),
        TableColumn::number("COST"),
    ]);
    let mut sum = CostRow { key: "all".to_owned(), ..CostRow::default() };
    rows.iter().for_each(|row| sum.add(row));
    for row in rows.iter().chain((rows.len() > 1).then_some(&sum)) {
        table.push_row([
            &*row.key,
            &row.thoughts.to_string(),
            &tokens(row.input_tokens, row),
            &row.cached_tokens.to_string(),
            &tokens(row.output_tokens, row),
            &cost_words(row),
        ]);
    }
    table.render(OutputScreen::of_stdout(), "no model was asked yet\n".trim_end())
}

fn as_json(row: &CostRow) -> String {
    let known = |value: u64, unknown: u64| match unknown == row.thoughts {
        true => "null".to_owned(),
        false => value.to_string(),
    };
    let line = object(&[
        ("key", quoted(&row.key)),
        ("thoughts", row.thoughts.to_string()),
        ("input-tokens", known(row.input_tokens, row.uncounted)),
        ("cached-tokens", known(row.cached_tokens, row.uncounted)),
        ("output-tokens", known(row.output_tokens, row.uncounted)),
        ("uncounted", row.uncounted.to_string()),
        ("microdollars", known(row.microdollars, row.unpriced)),
        ("unpriced", row.unpriced.to_string()),
    ]);
    format!("{line}\n")
}

#[cfg(test)]
mod tests {
    use super::start_of;

    #[test]
    fn days_are_read_as_they_are_in_the_calendar() {
        for (text, at) in [
            ("1970-01-01", Some(0)),
            ("2024-02-29", Some(1_709_164_800_000)),
            ("2026-11-19", Some(1_795_046_400_000)),
            ("2026-02-29", None),
            ("2026-13-01", None),
            ("26-1-1", None),
            ("2026-11", None),
            ("+2026-11-01", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(start_of(text).ok().map(|it| it.0), at, "{text}");
        }
    }
}
