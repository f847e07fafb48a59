//! What was compared, what differed, and which row of the table says why.

use std::collections::BTreeMap;
use std::path::Path;

use crate::judge::Verdicts;
use crate::justify::Justifications;
use crate::make::{Case, Change};

/// Characters of an example that are shown.
const SHOWN: usize = 160;

pub(crate) struct Report<'j> {
    justifications: &'j Justifications,
    cases: usize,
    examples: usize,
    /// Number of differences that each row justifies.
    used: Vec<usize>,
    /// By comparison and changes, how many and one of them.
    open: BTreeMap<(&'static str, Vec<Change>), (usize, String)>,
    refused_examples: Vec<String>,
}

impl<'j> Report<'j> {
    pub(crate) fn new(justifications: &'j Justifications) -> Self {
        Self {
            justifications,
            cases: 0,
            examples: 0,
            used: vec![0; justifications.len()],
            open: BTreeMap::new(),
            refused_examples: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, case: &Case, verdicts: &Verdicts) {
        self.cases += 1;
        for comparison in differences(verdicts) {
            // A message with several changes is justified by any of them.
            let row = case.changes.iter().find_map(|change| {
                self.justifications.find(comparison, &change.place, change.kind)
            });
            match row {
                Some(row) => self.used[row] += 1,
                None => {
                    let key = (comparison, case.changes.clone());
                    self.open.entry(key).or_insert_with(|| (0, case.text.clone())).0 += 1;
                }
            }
        }
    }

    pub(crate) fn example(&mut self, file: &Path, verdicts: &Verdicts) {
        self.examples += 1;
        if *verdicts != ALL {
            self.refused_examples.push(format!("{}: {verdicts:?}", file.display()));
        }
    }

    /// The report, and whether all is justified.
    pub(crate) fn page(&self) -> (String, bool) {
        let mut page = format!("{} messages, {} examples\n", self.cases, self.examples);
        for (row, count) in self.used.iter().enumerate() {
            let note = if *count == 0 { "  (never needed)" } else { "" };
            page.push_str(&format!("{count:8}  {}{note}\n", self.justifications.reason(row)));
        }
        for example in &self.refused_examples {
            page.push_str(&format!("example refused: {example}\n"));
        }
        for ((comparison, changes), (count, text)) in &self.open {
            let changes: Vec<String> =
                changes.iter().map(|change| format!("{} {}", change.place, change.kind)).collect();
            let shown: String = text.chars().take(SHOWN).collect();
            page.push_str(&format!(
                "{count:8}  {comparison}  {}\n          {shown}\n",
                changes.join(", ")
            ));
        }
        let unjustified: usize = self.open.values().map(|(count, _)| count).sum();
        page.push_str(&format!("schema-diff: {unjustified} differences without a reason\n"));
        (page, unjustified == 0 && self.refused_examples.is_empty())
    }
}

/// The verdicts on a message that nobody objects to.
const ALL: Verdicts = Verdicts {
    published: true,
    schema_strict: true,
    schema_lenient: true,
    reader_strict: true,
    reader_lenient: true,
};

/// Comparisons that differ: `+` where bridle takes more, `-` where it takes less; `own-` where its
/// schema takes more or less than its reader.
fn differences(verdicts: &Verdicts) -> impl Iterator<Item = &'static str> {
    let Verdicts { published, schema_strict, schema_lenient, reader_strict, reader_lenient } =
        *verdicts;
    [
        (published, schema_strict, "schema-", "schema+"),
        (published, reader_strict, "strict-", "strict+"),
        (published, reader_lenient, "lenient-", "lenient+"),
        (schema_strict, reader_strict, "own-strict-", "own-strict+"),
        (schema_lenient, reader_lenient, "own-lenient-", "own-lenient+"),
    ]
    .into_iter()
    .filter_map(|(theirs, ours, less, more)| match (theirs, ours) {
        (true, false) => Some(less),
        (false, true) => Some(more),
        _ => None,
    })
}
