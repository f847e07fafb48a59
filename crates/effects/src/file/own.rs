//! Files of bridle itself, such as policies and skills: changed for an order to the daemon, which shows the diff and
//! checks the new text before anybody is asked.

use std::path::Path;

use bridle_host::{ActContext, Readership};
use bridle_jail::diff_texts;
use bridle_loop::{Action, EffectFacts, FileRequest, PREPARED};
use bridle_sexp::Value;

use super::change::replace;
use super::prepare::sides;
use crate::error::EffectError;
use crate::exec::OWNERS_ALONE_REFUSAL;
use crate::payload::{with, with_diff, with_fault};
use crate::place;
use crate::workspace::{Workspace, text};

/// Tells whether a file may be changed so, and with its new text, whether that is good; the error says why not.
pub type OwnFileCheck<'c> = &'c (dyn Fn(&Path, Option<&str>) -> Result<(), String> + 'c);

/// The payload of a change with its diff, or with the reason why it cannot be made.
pub fn prepared_own(payload: &Value, readers: Readership, check: OwnFileCheck<'_>) -> Value {
    if readers == Readership::Others {
        return with_fault(payload, OWNERS_ALONE_REFUSAL);
    }
    let bare = with(payload, PREPARED, Value::Nil);
    let Ok(Action::File(request)) = Action::from_payload(&bare) else { return payload.clone() };
    let Some(real) = place::real_path(Path::new(&*request.path)) else {
        return with_fault(payload, format!("`{}` leads nowhere", request.path));
    };
    match shown(&request, &real, check) {
        Err(fault) => with_fault(payload, fault),
        Ok((diff, _)) => {
            let facts = EffectFacts { paths: vec![text(Some(&real))], ..EffectFacts::default() };
            with_diff(payload, &facts, &diff)
        }
    }
}

/// The diff and the new text.
fn shown(
    request: &FileRequest,
    real: &Path,
    check: OwnFileCheck<'_>,
) -> Result<(String, String), String> {
    check(real, None)?;
    let (old, new) = sides(request, real)?;
    check(real, Some(&new))?;
    let diff = diff_texts(real.strip_prefix("/").unwrap_or(real), old.as_deref(), Some(&new));
    Ok((diff, new))
}

/// Makes the change whose diff was shown.
///
/// # Errors
/// The file is another one by now, or cannot be written.
pub fn change_own(
    workspace: &Workspace,
    request: &FileRequest,
    payload: &Value,
    context: &ActContext,
    check: OwnFileCheck<'_>,
) -> Result<Value, EffectError> {
    let real = request.facts.paths.first().map(|path| Path::new(&**path));
    let real = real.ok_or_else(|| EffectError::refused("nobody has looked at the path"))?;
    if place::real_path(Path::new(&*request.path)).as_deref() != Some(real) {
        return Err(EffectError::refused("something else is there by now"));
    }
    let (diff, new) = shown(request, real, check).map_err(EffectError::Refused)?;
    let facts = EffectFacts { paths: request.facts.paths.clone(), ..EffectFacts::default() };
    let now = with_diff(payload, &facts, &diff);
    if now.get(PREPARED) != payload.get(PREPARED) {
        return Err(EffectError::refused("the file was changed since it was asked for"));
    }
    replace(workspace, real, &new, context)
}
