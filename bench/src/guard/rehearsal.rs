//! A rehearsal over a hundred thousand decisions: `bridle policy rehearse` without the program around
//! it. The record is made here, from a fixed rule: a third messages, the rest programs, files, hosts and
//! code, each decision with its own text, time and counters, in a hundred sessions.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use bridle_history::RecordHistory;
use bridle_loop::{DEFAULT_POLICY, GuardPolicies};
use bridle_record::{NewRecord, NewSessionRow, RecordAppend, RecordStore, StoreOptions};

use super::org;
use crate::Options;
use crate::report::{Bound, Cell, Table, Verdict};
use crate::stats::Spread;

/// Decisions of the record, and of one commit.
const DECISIONS: usize = 100_000;
const BATCH: usize = 1_000;

/// Sessions that they are in.
const SESSIONS: usize = 100;

/// The target for all of them, in seconds.
const TARGET: f64 = 2.0;

/// Rehearses the built-in set, and the same with a hundred grants.
pub(super) fn run(
    options: &Options,
    tables: &mut Vec<Table>,
    verdicts: &mut Vec<Verdict>,
) -> Result<()> {
    let decisions = if options.quick { DECISIONS / 10 } else { DECISIONS };
    let folder = tempfile::tempdir()?;
    fill(folder.path(), decisions)?;
    let history = RecordHistory::open(folder.path())?;
    let title = format!("Rehearsal over {decisions} decisions (s)");
    let mut table = Table::new(title, ["policies", "changed", "median", "lowest", "highest"]);
    let grants: Vec<String> = (0..100).map(grant).collect();
    for (name, text) in [
        ("built-in", DEFAULT_POLICY.to_owned()),
        ("built-in and 100 grants", format!("{DEFAULT_POLICY}\n{}", org(&grants))),
    ] {
        let set = GuardPolicies::from_org(&text).map_err(|bad| anyhow!("{bad}"))?;
        let mut times = Vec::new();
        let mut changed = 0;
        for _ in 0..options.load_rounds() {
            let begin = Instant::now();
            let rehearsed = history.rehearse(&set, decisions)?;
            times.push(begin.elapsed().as_secs_f64());
            ensure!(rehearsed.decisions == decisions as u64, "{rehearsed:?}");
            changed = rehearsed.changed.len();
        }
        let spread = Spread::of(&times);
        table.push(vec![
            Cell::text(name),
            Cell::text(changed.to_string()),
            Cell::Number(spread.median, 2),
            Cell::Number(spread.low, 2),
            Cell::Number(spread.high, 2),
        ]);
        verdicts.push(Verdict {
            what: format!("rehearsal of {decisions} decisions, {name}, s"),
            target: TARGET,
            got: spread.median,
            bound: Bound::AtMost,
        });
    }
    tables.push(table);
    Ok(())
}

/// A policy as a grant writes it; some of them fit a decision of the record.
fn grant(number: usize) -> String {
    format!(
        "permit (principal, action == Action::\"read\", resource == Path::\"/srv/me/{number}.org\")\n\
         when {{ context.session.owner == Person::\"uid:1000\" && context.now < 4000000000 }};"
    )
}

fn fill(state: &Path, decisions: usize) -> Result<()> {
    let mut store = RecordStore::open(state, &StoreOptions::default())?;
    let begin: Vec<RecordAppend> = (0..SESSIONS)
        .map(|index| {
            let new =
                NewSessionRow { name: session(index).into(), owner: "uid:1000".into(), at: 1 };
            RecordAppend { session: Some(new), ..RecordAppend::default() }
        })
        .collect();
    store.commit(&begin)?;
    for first in (0..decisions).step_by(BATCH) {
        let drafts = (first..first + BATCH).map(|number| {
            let at =
                i64::try_from(number).unwrap_or(i64::MAX).saturating_mul(977).saturating_add(1);
            NewRecord::new(&session(number % SESSIONS), "decided", at, "uid:1000", decided(number))
        });
        store.commit(&[RecordAppend { drafts: drafts.collect(), ..RecordAppend::default() }])?;
    }
    Ok(())
}

fn session(index: usize) -> String {
    format!("past-{index}")
}

/// The body of a decision, as the loop writes it.
fn decided(number: usize) -> String {
    let (kind, target, risk, word, payload) = match number % 6 {
        0 | 1 => ("message", "asker", "safe", "allow", format!(":text \"answer {number}\"")),
        2 => ("eval", "emacs", "dangerous", "ask", format!(":code \"(goto-char {number})\"")),
        3 => {
            let argv = format!(":argv (\"cargo\" \"test\" \"t{}\") :cwd \"/srv/me\"", number % 97);
            ("exec", "exec", "dangerous", "ask", argv)
        }
        4 => {
            let path = format!(":path \"/srv/me/{}.org\"", number % 1_009);
            ("read", "file", "caution", "ask", path)
        }
        _ => ("net", "net", "dangerous", "ask", format!(":host \"h{}.example.org\"", number % 53)),
    };
    let counter = number / SESSIONS % 900;
    format!(
        "(:turn {number} :by :thinker :target :{target} :action :{kind} :rule :policy :policies \
         (\"{risk}\") :verdict :{word} :reason \"`{kind}` ({risk}) touches something, and needs a \
         yes\" :payload (:action :{kind} {payload}) :explanation \"because it was asked for\" \
         :checked (:well-formed :pass :size :pass :target :pass :action :pass :budget :pass :policy \
         :{word}) :facts (:asker \"uid:1000\" :groups (\"owner\") :session-owner \"uid:1000\" :kind \
         :{kind} :name :{kind} :risk :{risk} :place :host :minute {} :weekday {} :session-hour \
         {counter} :asker-hour {counter} :action-hour {}))",
        number % 1_440,
        number % 7 + 1,
        counter / 6,
    )
}
