//! Directives that print one argument: `~a ~s ~w ~d ~b ~o ~x`.

use super::control::{DirectiveParameter, FormatDirective, bad};
use super::{ArgumentCursor, words};
use crate::machine::Machine;
use crate::symbols::well_known;
use crate::trap::StepResult;
use crate::value::NIL;

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
        let escape = match d.letter {
            'A' => false,
            'S' => true,
            _ => self.global(well_known::PRINT_ESCAPE).is_true(),
        };
        let mut text = self.print(word, escape)?;
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
        let (step, least) = (number(1, 1), number(2, 0).max(0));
        if step < 1 {
            return Err(bad(self, "the steps of a column are not positive"));
        }
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
}
