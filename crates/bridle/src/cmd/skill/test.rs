//! `bridle skill test`: the tests of skills, each run twice.

use std::path::{Path, PathBuf};

use bridle_skill::{TestReport, test_skill};

use super::{fault_json, load};
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(crate) fn run(files: &[PathBuf], as_json: bool) -> Result<BridleExit, CommandFailure> {
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let skill = match load(file)? {
            Ok(skill) => skill,
            Err(fault) => {
                failed += 1;
                print(&if as_json {
                    let name = quoted(&file.to_string_lossy());
                    let status = quoted("faulty");
                    let line = [("file", name), ("status", status), ("fault", fault_json(&fault))];
                    format!("{}\n", object(&line))
                } else {
                    format!("{fault}\n")
                })?;
                continue;
            }
        };
        for report in test_skill(&skill) {
            match report.failure {
                None => passed += 1,
                Some(_) => failed += 1,
            }
            print(&if as_json { line(file, &report) } else { told(file, &report) })?;
        }
    }
    if !as_json {
        print(&format!("{passed} passed, {failed} failed\n"))?;
    }
    Ok(if failed == 0 { BridleExit::Ok } else { BridleExit::Answered })
}

/// Only what failed is told: what passed is counted.
fn told(file: &Path, report: &TestReport) -> String {
    let TestReport { name, line, failure } = report;
    match failure {
        None => String::new(),
        Some(reason) => format!("{}:{line}: {name}: {reason}\n", file.display()),
    }
}

fn line(file: &Path, report: &TestReport) -> String {
    let mut pairs = vec![
        ("file", quoted(&file.to_string_lossy())),
        ("status", quoted(if report.failure.is_none() { "passed" } else { "failed" })),
        ("test", quoted(&report.name)),
        ("line", report.line.to_string()),
    ];
    pairs.extend(report.failure.as_ref().map(|reason| ("reason", quoted(reason))));
    format!("{}\n", object(&pairs))
}
