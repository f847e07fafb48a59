//! Directives that print a float at a fixed point: `~f` and `~$`.

use super::ArgumentCursor;
use super::control::{DirectiveParameter, FormatDirective};
use crate::machine::Machine;
use crate::number::RealNumber;
use crate::number::float_cut::{BinaryFloat, DigitCut, MOST_PLACES, cut_digits};
use crate::trap::StepResult;
use crate::value::Word;

/// Decimals and places of the point that a directive may ask for.
const MOST_DECIMALS: i64 = 100;

/// A float, its sign taken away.
struct SignedFloat {
    is_negative: bool,
    is_zero: bool,
    float: BinaryFloat,
}

/// Text of a float with a point: at most so many characters if there is a width, so many decimals if they are
/// given, the point moved to the right by `scale`. The zero before or behind a lone point is left to the caller.
fn pointed_text(
    number: &SignedFloat,
    width: Option<i64>,
    decimals: Option<i64>,
    scale: i64,
) -> String {
    if number.is_zero {
        return format!(".{}", "0".repeat(decimals.map_or(0, to_count)));
    }
    let place = |number: i64| i32::try_from(number).unwrap_or(MOST_PLACES);
    let cut = |cut| cut_digits(number.float, cut);
    let digits = match (decimals, width) {
        (Some(decimals), _) => cut(DigitCut::Power(place(-(decimals + scale)))),
        (None, Some(width)) if width > 1 => {
            let count = (width.min(i64::from(MOST_PLACES)) - 1 + scale.min(0)).max(1);
            let wide = cut(DigitCut::Count(place(count)));
            let whole = cut(DigitCut::Power(place(-scale)));
            if wide.digits.len() >= whole.digits.len() { wide } else { whole }
        }
        _ => cut(DigitCut::Shortest),
    };
    let point = i64::from(digits.exponent) + scale;
    let zeros = |count: i64| "0".repeat(to_count(count));
    let length = digits.digits.len() as i64;
    let digits = digits.digits;
    if point > 0 {
        let (whole, rest) = digits.split_at(to_count(point.min(length)));
        let padding = decimals.map_or(0, |decimals| decimals - rest.len() as i64);
        return format!("{whole}{}.{rest}{}", zeros(point - length), zeros(padding));
    }
    let Some(decimals) = decimals else { return format!(".{}{digits}", zeros(-point)) };
    // What was rounded to nothing has a digit, but no place for it.
    let shown = &digits[..to_count((decimals + point).min(length))];
    format!(".{}{shown}{}", zeros(-point), zeros(decimals + point - length))
}

fn to_count(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

impl Machine {
    /// The float that a directive prints; `None` for what is no number.
    fn printed_float(&mut self, word: Word) -> StepResult<Option<SignedFloat>> {
        let Some(value) = self.try_number(word) else { return Ok(None) };
        let float = if let RealNumber::Double(number) = value {
            SignedFloat {
                is_negative: number.is_sign_negative(),
                is_zero: number == 0.0,
                float: BinaryFloat::of_double(number.abs()),
            }
        } else {
            let number = self.as_single(&value)?;
            SignedFloat {
                is_negative: number.is_sign_negative(),
                is_zero: number == 0.0,
                float: BinaryFloat::of_single(number.abs()),
            }
        };
        if float.float.is_denormal() && !float.is_zero {
            return self.refuse("FORMAT of a denormal float");
        }
        self.charge(float.float.digit_steps())?;
        Ok(Some(float))
    }

    /// A count of decimals or places, if it is one that a float can have.
    fn places(&mut self, number: Option<i64>) -> StepResult<Option<i64>> {
        if number.is_some_and(|number| !(-MOST_DECIMALS..=MOST_DECIMALS).contains(&number)) {
            return self.refuse("more than 100 decimals in FORMAT");
        }
        Ok(number)
    }

    /// `~width,decimals,scale,overflow,paddingF`.
    pub(super) fn format_fixed(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let width = number(p, 0);
        let (decimals, scale) =
            (self.places(number(p, 1))?, self.places(number(p, 2))?.unwrap_or(0));
        if decimals.is_some_and(|decimals| decimals < 0) || scale < 0 {
            return self.refuse("a negative number of decimals in FORMAT");
        }
        let padding = character(p, 4).unwrap_or(' ');
        let Some(float) = self.printed_float(word)? else {
            let text = self.print(word, false)?;
            return self.pad(&text, width, padding, false, out);
        };
        let has_sign = float.is_negative || d.at;
        let room = width.map(|width| width.saturating_sub(i64::from(has_sign)));
        let mut text = pointed_text(&float, room, decimals, scale);
        let mut left = room.map(|room| room.saturating_sub(text.len() as i64));
        let ends_in_point = text.ends_with('.') && decimals != Some(0);
        if text.starts_with('.') {
            match left {
                Some(room) if room <= 0 && !ends_in_point => {}
                _ => {
                    text.insert(0, '0');
                    left = left.map(|room| room - 1);
                }
            }
        }
        if ends_in_point && left.is_none_or(|room| room > 0) {
            text.push('0');
            left = left.map(|room| room - 1);
        }
        if let (Some(width), true, Some(filler)) =
            (width, left.is_some_and(|room| room < 0), character(p, 3))
        {
            return self.pad("", Some(width), filler, true, out);
        }
        let is_too_wide = decimals.is_none() && left.is_some_and(|room| room < 0);
        if is_too_wide || text == "." || decimals.is_none() && text.ends_with('.') {
            // SBCL prints what the standard does not allow.
            return self.refuse("FORMAT directive ~F in a column that is too narrow");
        }
        let sign = sign_of(&float, d.at);
        self.pad(&format!("{sign}{text}"), width, padding, true, out)
    }

    /// `~decimals,digits,width,padding$`.
    pub(super) fn format_money(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let decimals = self.places(Some(number(p, 0).unwrap_or(2)))?.unwrap_or(2);
        let least = self.places(Some(number(p, 1).unwrap_or(1)))?.unwrap_or(1);
        let (width, padding) = (number(p, 2), character(p, 3).unwrap_or(' '));
        if decimals < 0 || least < 0 {
            return self.refuse("a negative number of decimals in FORMAT");
        }
        let Some(float) = self.printed_float(word)? else {
            let text = self.print(word, false)?;
            return self.pad(&text, width, ' ', true, out);
        };
        let text = pointed_text(&float, None, Some(decimals), 0);
        let whole = text.find('.').unwrap_or(0);
        let zeros = "0".repeat(to_count(least).saturating_sub(whole));
        let sign = sign_of(&float, d.at);
        if d.colon {
            out.push_str(sign);
            let room = width.map(|width| width.saturating_sub(sign.len() as i64));
            return self.pad(&format!("{zeros}{text}"), room, padding, true, out);
        }
        self.pad(&format!("{sign}{zeros}{text}"), width, padding, true, out)
    }
}

fn sign_of(float: &SignedFloat, shows_plus: bool) -> &'static str {
    match (float.is_negative, shows_plus) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    }
}

fn number(parameters: &[DirectiveParameter], index: usize) -> Option<i64> {
    match parameters.get(index) {
        Some(DirectiveParameter::Number(number)) => Some(*number),
        _ => None,
    }
}

fn character(parameters: &[DirectiveParameter], index: usize) -> Option<char> {
    match parameters.get(index) {
        Some(DirectiveParameter::Character(character)) => Some(*character),
        _ => None,
    }
}
