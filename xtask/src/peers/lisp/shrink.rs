//! The smallest program that still differs: lists inside a program are replaced by their elements and by constants, as
//! long as bridle and SBCL give different answers.

use anyhow::Result;

use super::evaluate::bridle_answer;
use super::sbcl::{SbclMode, SbclProcess};

/// Programs that are tried for one difference.
const MOST_TRIALS: usize = 400;

/// A program that differs with SBCL's compiler, and both answers; `None` when only its interpreter differed.
pub(super) fn smallest_difference(form: &str) -> Result<Option<(String, String, String)>> {
    let mut process = SbclProcess::start(SbclMode::Compile)?;
    let Some(mut best) = difference(&mut process, form)? else { return Ok(None) };
    let mut trials = 0;
    'again: loop {
        for candidate in smaller_forms(&best.0) {
            trials += 1;
            if trials > MOST_TRIALS {
                return Ok(Some(best));
            }
            if let Some(found) = difference(&mut process, &candidate)? {
                best = found;
                continue 'again;
            }
        }
        return Ok(Some(best));
    }
}

fn difference(process: &mut SbclProcess, form: &str) -> Result<Option<(String, String, String)>> {
    let Ok(ours) = bridle_answer(form) else { return Ok(None) };
    let theirs = process.answer(&[form.to_owned()])?.remove(0);
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
