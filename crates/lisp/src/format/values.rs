//! Directives that print one argument: `~a ~s ~w ~d ~b ~o ~x ~f`.
//!
//! long: the cases of one directive.

use super::control::{DirectiveParameter, FormatDirective};
use super::{ArgumentCursor, words};
use crate::machine::Machine;
use crate::number::RealNumber;
use crate::number::float_text::{FloatDigits, fixed, plain, shortest_double, shortest_single};
use crate::trap::StepResult;
use crate::value::NIL;

/// So many decimals of a positive float: rounded from its exact value, with zeros behind the shortest digits
/// that stand for it.
fn fixed_digits(digits: &FloatDigits, number: f64, decimals: usize) -> String {
    let wanted = i64::from(digits.exponent) + decimals as i64;
    if wanted < digits.digits.len() as i64 {
        return fixed(number, decimals);
    }
    let text = plain(&digits.digits, if digits.digits == "0" { 1 } else { digits.exponent });
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    format!("{whole}.{fraction:0<decimals$}")
}

impl Machine {
    /// Pads to a width, at the left when `is_left`.
    pub(super) fn pad(
        &mut self,
        text: &str,
        width: Option<i64>,
        filler: char,
        is_left: bool,
        out: &mut String,
    ) -> StepResult<()> {
        let count = text.chars().count();
        let width = width.and_then(|width| usize::try_from(width).ok()).unwrap_or(0);
        let missing = width.saturating_sub(count);
        self.reserve(missing.saturating_mul(4))?;
        let padding: String = std::iter::repeat_n(filler, missing).collect();
        if is_left {
            out.push_str(&padding);
        }
        out.push_str(text);
        if !is_left {
            out.push_str(&padding);
        }
        Ok(())
    }

    pub(super) fn format_aesthetic(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let mut text = self.print(word, d.letter != 'A')?;
        if d.colon && word == NIL {
            text = "()".into();
        }
        if p.is_empty() {
            out.push_str(&text);
            return Ok(());
        }
        let number = |index: usize, default: i64| match p.get(index) {
            Some(DirectiveParameter::Number(number)) => *number,
            _ => default,
        };
        let filler = match p.get(3) {
            Some(DirectiveParameter::Character(character)) => *character,
            _ => ' ',
        };
        let width = if let Some(DirectiveParameter::Number(width)) = p.first() {
            Some(*width)
        } else {
            None
        };
        // At least `minpad` blanks, then steps of `colinc` until the width is reached.
        let (step, least) = (number(1, 1).max(1), number(2, 0).max(0));
        let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        let missing = width.unwrap_or(0).saturating_sub(count.saturating_add(least)).max(0);
        let padding = missing.saturating_add(step - 1) / step * step;
        let width = count.saturating_add(least).saturating_add(padding);
        self.pad(&text, Some(width), filler, d.at, out)
    }

    pub(super) fn format_integer(
        &mut self,
        d: &FormatDirective,
        radix: u32,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let width = if let Some(DirectiveParameter::Number(width)) = p.first() {
            Some(*width)
        } else {
            None
        };
        let character = |index: usize, default| match p.get(index) {
            Some(DirectiveParameter::Character(character)) => *character,
            _ => default,
        };
        let style =
            crate::print::PrintStyle { base: radix, radix: false, ..self.print_style(false)? };
        let mut text = self.print_styled(word, style)?;
        let is_integer = word.is_fixnum()
            || matches!(self.heap.get(word), Some(crate::heap::HeapObject::Big(_)));
        if is_integer {
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits.to_owned()),
                None => (if d.at { "+" } else { "" }, text.clone()),
            };
            let grouped = if d.colon {
                let every = match p.get(3) {
                    Some(DirectiveParameter::Number(every)) if *every > 0 => {
                        usize::try_from(*every).unwrap_or(3)
                    }
                    _ => 3,
                };
                words::group(&digits, character(2, ','), every)
            } else {
                digits
            };
            text = format!("{sign}{grouped}");
        } else {
            // What is no integer is printed as by ~A, without a width.
            out.push_str(&text);
            return Ok(());
        }
        self.pad(&text, width, character(1, ' '), true, out)
    }

    pub(super) fn format_fixed(
        &mut self,
        d: &FormatDirective,
        p: &[DirectiveParameter],
        cursor: &mut ArgumentCursor,
        out: &mut String,
    ) -> StepResult<()> {
        let word = cursor.next(self)?;
        let number = |index: usize| match p.get(index) {
            Some(DirectiveParameter::Number(number)) => Some(*number),
            _ => None,
        };
        if p.get(2).is_some_and(|scale| *scale != DirectiveParameter::Missing) || p.len() > 3 {
            return self.refuse("more than two parameters of FORMAT directive ~F");
        }
        let Some(value) = self.try_number(word) else {
            let text = self.print(word, false)?;
            return self.pad(&text, number(0), ' ', false, out);
        };
        let single = match &value {
            RealNumber::Double(_) => None,
            value => Some(self.as_single(value)?),
        };
        let double = match single {
            Some(single) => f64::from(single),
            None => value.to_f64(),
        };
        let text = match number(1) {
            Some(decimals) => {
                let decimals = usize::try_from(decimals).unwrap_or(0);
                if decimals > 100 {
                    return self.refuse("more than 100 decimals in FORMAT");
                }
                let digits = match single {
                    Some(single) => shortest_single(single.abs()),
                    None => shortest_double(double.abs()),
                };
                fixed_digits(&digits, double.abs(), decimals)
            }
            None if number(0).is_some() => {
                return self.refuse("FORMAT directive ~F with a width and no decimals");
            }
            None => {
                let digits = match single {
                    Some(single) => shortest_single(single.abs()),
                    None => shortest_double(double.abs()),
                };
                plain(&digits.digits, if digits.digits == "0" { 1 } else { digits.exponent })
            }
        };
        let sign = if double.is_sign_negative() {
            "-"
        } else if d.at {
            "+"
        } else {
            ""
        };
        let mut shown = format!("{sign}{text}");
        // A zero before the point goes where the width leaves no room for it.
        if let Some(width) = number(0)
            && shown.len() as i64 > width
            && text.starts_with("0.")
            && text.len() > 2
        {
            shown = format!("{sign}{}", &text[1..]);
        }
        self.pad(&shown, number(0), ' ', true, out)
    }
}
