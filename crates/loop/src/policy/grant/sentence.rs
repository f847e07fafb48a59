//! The plain sentence for a grant. Names are quoted, so that none of them can look like a part of it.

use bridle_sexp::civil_date::civil_from_days;
use bridle_sexp::{Value, read_one};

use super::reach::GrantReach;
use super::{GrantPlace, GrantTerms, GrantText};
use crate::policy::edit_facts::WHOLE_FILE;

const SECONDS_A_DAY: i64 = 86_400;

impl GrantTerms {
    /// Says what it permits, in one sentence.
    pub fn sentence(&self) -> String {
        format!(
            "Until {}, in sessions of {:?}, this is done without asking: {}.",
            moment(self.until),
            self.owner,
            self.outline(),
        )
    }

    /// Says what it permits, without the time and the owner.
    pub fn outline(&self) -> String {
        let reach = self.reach.as_ref().map(GrantReach::outline).unwrap_or_default();
        format!("{}{}{}{reach}", self.what(), self.place(), self.destination())
    }

    fn what(&self) -> String {
        let name = self.text(GrantText::Name).unwrap_or(&self.action);
        let by = self.target.as_deref().map(|target| format!(" by {target:?}")).unwrap_or_default();
        if let Some(hash) = self.text(GrantText::Hash) {
            return format!("exactly the {name:?} that was asked for (hash {hash})");
        }
        if let Some(what) = self.reach.as_ref().and_then(GrantReach::what) {
            return format!("{what}{by}");
        }
        match self.text(GrantText::Arguments) {
            _ if self.reach.is_some() => format!("{name:?}{by}"),
            Some(hash) => format!("{name:?}{by} with just the arguments asked for (hash {hash})"),
            None => format!("{name:?}{by} with any arguments"),
        }
    }

    fn place(&self) -> String {
        let file = self.text(GrantText::File);
        let at = match (self.text(GrantText::Heading), file) {
            (Some(WHOLE_FILE), Some(file)) => format!(" at the end of {file:?}"),
            (Some(heading), Some(file)) => format!(" at {} of {file:?}", named(heading)),
            (None, Some(file)) => format!(" anywhere in {file:?}"),
            (_, None) => String::new(),
        };
        match &self.place {
            GrantPlace::Any => at,
            GrantPlace::Below(folder) => format!(" in any file below {folder:?}"),
            GrantPlace::Both(one, other) => format!("{at}, which changes {one:?} and {other:?}"),
            GrantPlace::One(kind, id) if **kind == *"Path" => match file == Some(id) {
                true => at,
                false => format!("{at} in {id:?}"),
            },
            GrantPlace::One(kind, id) => format!("{at} to the {} {id:?}", kind.to_lowercase()),
        }
    }

    fn destination(&self) -> String {
        match self.text(GrantText::Destination) {
            None | Some("") => String::new(),
            Some(place) => match place.split_once(' ') {
                Some((file, WHOLE_FILE)) => format!(", to the end of {file:?}"),
                _ => format!(", to {place:?}"),
            },
        }
    }
}

/// A heading for people.
fn named(heading: &str) -> String {
    if let Some(id) = heading.strip_prefix("id:") {
        return format!("the heading with the id {id:?}");
    }
    let list = heading.strip_prefix("outline:").and_then(|list| read_one(list).ok());
    let list = list.map(|list| list.root().to_value());
    let titles = list.as_ref().and_then(Value::elements).unwrap_or_default();
    let quoted: Option<Vec<String>> =
        titles.iter().map(|title| title.as_str().map(|title| format!("{title:?}"))).collect();
    match quoted.filter(|quoted| !quoted.is_empty()) {
        Some(quoted) => format!("the heading {}", quoted.join(" / ")),
        None => format!("the heading named {heading:?}"),
    }
}

/// A moment, such as `2026-11-18 17:00:00 UTC`.
fn moment(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(SECONDS_A_DAY), seconds.rem_euclid(SECONDS_A_DAY));
    let (year, month, day_of_month) = civil_from_days(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day_of_month:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_told_as_calendars_do() {
        assert_eq!(moment(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(moment(1_794_746_258), "2026-11-15 12:37:38 UTC");
        assert_eq!(moment(-1), "1969-12-31 23:59:59 UTC");
    }
}
