//! Dates of the Gregorian calendar as days since 1970, and back. Pure arithmetic, without a clock or a time zone; the
//! one place for every crate that writes or reads a date.

/// Days from the first of March of the year 0 to the first of January 1970.
const DAYS_BEFORE_1970: i64 = 719_468;

/// Days in 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;

/// Returns the days from the first of January 1970 to a date. `month` is 1 to 12; days that the month does not have
/// count into the months around it. Years up to some 10^16 do not overflow.
#[must_use]
pub const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last one of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_BEFORE_1970
}

/// Returns year, month (1 to 12) and day of the month of a day since 1970. Takes any number.
#[must_use]
pub const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(DAYS_BEFORE_1970);
    let (era, of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    // Months from March have 31 30 31 30 31 days, twice, and then the rest: 153 days in five.
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{civil_from_days, days_from_civil};

    #[test]
    fn dates_and_days_agree() {
        for (days, (year, month, day)) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
            (-719_468, (0, 3, 1)),
            (-719_529, (-1, 12, 31)),
        ] {
            assert_eq!(days_from_civil(year, month, day), days, "{year}-{month}-{day}");
            assert_eq!(civil_from_days(days), (year, month, day), "{days}");
        }
    }

    #[test]
    fn every_day_of_an_era_follows_the_one_before() {
        let mut before = civil_from_days(-1);
        for days in 0..146_097 {
            let date = civil_from_days(days);
            assert_eq!(days_from_civil(date.0, date.1, date.2), days);
            assert!(date > before, "{date:?} follows {before:?}");
            before = date;
        }
    }

    #[test]
    fn no_number_is_too_large() {
        assert!(civil_from_days(i64::MAX).0 > 9999 && civil_from_days(i64::MIN).0 < 0);
    }
}
