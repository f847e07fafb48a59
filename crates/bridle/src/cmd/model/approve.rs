//! `bridle model approve`: the owner's yes to changed settings of providers, each shown before.

use bridle_model_host::WaitingProvider;

use super::{ModelPlace, approval_failure, changes_json, told_changes, unknown};
use crate::args::model::ModelApproveArgs;
use crate::cmd::confirm;
use crate::cmd::output::print;
use crate::exit::{BridleExit, CommandFailure};
use crate::json::{object, quoted};

pub(super) fn run(args: &ModelApproveArgs) -> Result<BridleExit, CommandFailure> {
    let place = ModelPlace::of(&args.state)?;
    let review = place.review()?;
    let is_known = |name: &String| {
        let waiting = review.waiting.iter().any(|it| it.saved.name == *name);
        waiting || review.in_force.provider(name).is_some()
    };
    if let Some(name) = args.providers.iter().find(|name| !is_known(name)) {
        return Err(unknown(name));
    }
    let is_wanted = |it: &&WaitingProvider| {
        args.providers.is_empty() || args.providers.contains(&it.saved.name)
    };
    let wanted: Vec<&WaitingProvider> = review.waiting.iter().filter(is_wanted).collect();
    if wanted.is_empty() && !args.json {
        return print("nothing waits for approval\n");
    }
    let mut is_done = true;
    for waiting in wanted {
        is_done &= one(args, &place, waiting)?;
    }
    Ok(if is_done { BridleExit::Ok } else { BridleExit::Answered })
}

/// Shows one provider and asks; tells whether it is approved now.
fn one(
    args: &ModelApproveArgs,
    place: &ModelPlace,
    waiting: &WaitingProvider,
) -> Result<bool, CommandFailure> {
    let name = &waiting.saved.name;
    if !args.json {
        let new = if waiting.is_new() { ", new" } else { "" };
        print(&format!("{name}{new}\n{}", told_changes(&waiting.changes)))?;
    }
    let is_approved =
        args.yes || !args.json && confirm::has_person() && confirm::asked("Approve it?")?;
    if is_approved {
        // What was shown is kept, whatever the file says by now.
        place.approvals.approve(&waiting.saved).map_err(|error| approval_failure(&error))?;
    }
    print(&match (args.json, is_approved) {
        (true, _) => {
            let line = object(&[
                ("provider", quoted(name)),
                ("approved", is_approved.to_string()),
                ("changes", changes_json(&waiting.changes)),
            ]);
            format!("{line}\n")
        }
        (false, true) => format!("approved {name}\n"),
        (false, false) => format!("{name} waits; run with --yes to approve it\n"),
    })?;
    Ok(is_approved)
}
