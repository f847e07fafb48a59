//! `:system :create-skill`: a text becomes a skill. It is read, loaded and tested before anybody is asked, the question shows
//! what changes, and after a yes it is put into the folder, or taken back when it does not serve.
//!
//! Called by the actuator `:system` of `own_files` before it is judged, and by `admin` to carry it out.

use std::sync::Arc;

use bridle_host::{ProposalPlace, Readership};
use bridle_loop::PREPARED;
use bridle_record::hash_text;
use bridle_sexp::Value;
use bridle_skill_host::{InstallFault, SkillInstall, SkillRegistry};

/// The action.
pub(in crate::engine) const CREATE_SKILL: &str = "create-skill";

/// Bytes of a diff that a question shows.
const MAX_SHOWN_DIFF: usize = 64 << 10;

/// Maker of skills from texts that are proposed.
pub(in crate::engine) struct SkillWriter(pub(in crate::engine) Arc<SkillRegistry>);

impl SkillWriter {
    /// Looks at a proposal to make a skill; none for other proposals.
    pub(super) fn prepare(&self, payload: &Value, around: ProposalPlace<'_>) -> Option<Value> {
        let is_it = payload.get("action").is_some_and(|name| name.is_keyword(CREATE_SKILL));
        let pairs = payload.elements().filter(|_| is_it && payload.pairs().is_some())?;
        // Whoever says it themselves is not listened to.
        let said = pairs.chunks_exact(2).filter(|pair| !pair[0].is_keyword(PREPARED));
        let found = match around.readers {
            Readership::Owners => self.found(payload),
            Readership::Others => fault(&"only the owner makes skills, in a session of their own"),
        };
        let said = said.flatten().cloned();
        Some(Value::list(said.chain([Value::keyword(PREPARED), found])))
    }

    /// Facts about the text of a payload.
    fn found(&self, payload: &Value) -> Value {
        let plan = match plan(&self.0, payload) {
            Ok(plan) => plan,
            Err(reason) => return fault(&reason),
        };
        let mut diff = plan.diff();
        diff.truncate(diff.floor_char_boundary(MAX_SHOWN_DIFF));
        let wider = plan.wider.iter().map(|capability| Value::str(capability.to_string()));
        Value::plist([
            ("skill", Value::str(plan.id.as_str())),
            ("before", Value::str(before(&plan))),
            ("tests", Value::int(i64::try_from(plan.tests).unwrap_or(i64::MAX))),
            ("tested", Value::bool(plan.is_tested)),
            ("enables", Value::list(wider)),
            ("diff", Value::str(diff)),
        ])
    }
}

fn fault(reason: &dyn std::fmt::Display) -> Value {
    Value::plist([("fault", Value::str(reason.to_string()))])
}

/// Hash of the text that a file has now; empty where there is none.
fn before(plan: &SkillInstall) -> String {
    plan.before.as_deref().map(|text| hash_text(text).to_string()).unwrap_or_default()
}

fn plan(registry: &SkillRegistry, payload: &Value) -> Result<SkillInstall, InstallFault> {
    let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default();
    SkillInstall::plan(registry, text("filename"), text("content"))
}

/// Puts the text of an order into the folder.
///
/// # Errors
/// The text or the file is not what was shown, or it was taken back.
pub(in crate::engine) async fn carry_out(
    registry: &Arc<SkillRegistry>,
    payload: &Value,
) -> Result<Value, String> {
    let (registry, payload) = (Arc::clone(registry), payload.clone());
    let install = move || {
        let shown = payload.get(PREPARED).ok_or("it was not looked at before it was judged")?;
        if let Some(reason) = shown.get("fault").and_then(Value::as_str) {
            return Err(reason.to_owned());
        }
        let plan = plan(&registry, &payload).map_err(|fault| fault.to_string())?;
        if shown.get("before").and_then(Value::as_str) != Some(&before(&plan)) {
            return Err(InstallFault::Changed(plan.path).to_string());
        }
        plan.carry_out(&registry).map_err(|fault| fault.to_string())?;
        let file = plan.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Value::plist([
            ("action", Value::keyword(CREATE_SKILL)),
            ("skill", Value::str(plan.id.as_str())),
            ("file", Value::str(format!("skills/{file}"))),
            ("tests", Value::int(i64::try_from(plan.tests).unwrap_or(i64::MAX))),
        ]))
    };
    let done = tokio::task::spawn_blocking(install).await;
    done.unwrap_or_else(|_| Err("it broke off".to_owned()))
}
