//! The smallest program that still differs: lists inside a program are replaced by their elements and by constants, as
//! long as bridle and SBCL give different answers.

use anyhow::Result;

use super::evaluate::bridle_answer;
use super::sbcl::{SbclMode, SbclProcess};

/// Programs that are tried for one difference.
const MOST_TRIALS: usize = 400;

/// A compiling and an interpreting SBCL.
type SbclPair = (SbclProcess, SbclProcess);

/// A program that differs with SBCL's compiler, and both answers; `None` when only its interpreter differed.
pub(super) fn smallest_difference(form: &str) -> Result<Option<(String, String, String)>> {
    let mut process = start_pair()?;
    let Some(mut best) = difference(&mut process, form)? else { return Ok(None) };
    let kinds = (answer_kind(&best.1).to_owned(), answer_kind(&best.2).to_owned());
    let mut trials = 0;
    'again: loop {
        for candidate in smaller_forms(&best.0) {
            trials += 1;
            if trials > MOST_TRIALS {
                return Ok(Some(best));
            }
            match difference(&mut process, &candidate)? {
                // A cut that makes another error is no smaller form of this difference.
                Some(found)
                    if (answer_kind(&found.1), answer_kind(&found.2)) == (&kinds.0, &kinds.1) =>
                {
                    best = found;
                    continue 'again;
                }
                _ => {}
            }
        }
        return Ok(Some(best));
    }
}

fn start_pair() -> Result<SbclPair> {
    Ok((SbclProcess::start(SbclMode::Compile)?, SbclProcess::start(SbclMode::Interpret)?))
}

/// The condition that an answer names, or that it is a value.
fn answer_kind(answer: &str) -> &str {
    let values = answer.rsplit_once('|').map_or(answer, |(_, values)| values);
    if values.starts_with('!') { values } else { "value" }
}

fn difference(process: &mut SbclPair, form: &str) -> Result<Option<(String, String, String)>> {
    let Ok(ours) = bridle_answer(form) else { return Ok(None) };
    if ours.contains("!LIMIT") {
        return Ok(None);
    }
    let form_lines = [form.to_owned()];
    // Where SBCL's compiler and interpreter differ, one of both answers is enough.
    let (Ok(theirs), Ok(others)) = (process.0.answer(&form_lines), process.1.answer(&form_lines))
    else {
        // A form that ends SBCL has no answer.
        *process = start_pair()?;
        return Ok(None);
    };
    let theirs = theirs.into_iter().next().unwrap_or_default();
    if others.first() == Some(&ours) {
        return Ok(None);
    }
    let is_broken = |answer: &str| answer.contains("!READER-ERROR") || answer.contains("!END-OF");
    if ours == theirs || is_broken(&theirs) || theirs.contains("!TIMEOUT") {
        return Ok(None);
    }
    Ok(Some((form.to_owned(), ours, theirs)))
}

/// Programs in which one list is gone, or is replaced by one of its elements or by `nil`; the largest cuts first.
fn smaller_forms(form: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lists = list_spans(form);
    lists.sort_by_key(|(start, end)| std::cmp::Reverse(end - start));
    for (start, end) in lists {
        let put = |text: &str| format!("{}{text}{}", &form[..start], &form[end..]);
        if start > 0 {
            found.push(put(""));
            found.push(put("nil"));
        }
        let inner: Vec<(usize, usize)> = list_spans(&form[start + 1..end - 1])
            .into_iter()
            .map(|(from, to)| (from + start + 1, to + start + 1))
            .collect();
        let is_outer = |span: &(usize, usize)| {
            !inner.iter().any(|other| other != span && other.0 <= span.0 && span.1 <= other.1)
        };
        found.extend(
            inner.iter().filter(|span| is_outer(span)).map(|span| put(&form[span.0..span.1])),
        );
    }
    found.retain(|text| text.len() < form.len());
    found
}

/// Start and end of every list outside strings.
fn list_spans(form: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut open = Vec::new();
    let mut bytes = form.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => while bytes.by_ref().next().is_some_and(|(_, inside)| inside != b'"') {},
            b'\\' => drop(bytes.next()),
            b'(' => open.push(at),
            b')' => spans.extend(open.pop().map(|start| (start, at + 1))),
            _ => {}
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::smaller_forms;

    #[test]
    fn every_cut_is_smaller_and_balanced() {
        let forms = smaller_forms("(list (car '(1 \")\" #\\( 2)) (cdr x))");
        assert!(forms.contains(&"(list  (cdr x))".to_owned()), "{forms:?}");
        assert!(forms.contains(&"(cdr x)".to_owned()), "{forms:?}");
        assert!(forms.iter().all(|form| form.len() < 35), "{forms:?}");
    }
}
