//! Answers to what a running skill asks for and nobody else has to do: time, random numbers, saved values. And calls
//! that may ask for no more than that.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bridle_sexp::Value;
use bridle_skill::{RunProgress, Skill, SkillCall, SkillRequest, SkillRun};

use crate::registry::SkillRegistry;
use crate::storage::StorageError;

/// Answers the requests of one call.
pub(crate) struct RequestAnswers<'c> {
    registry: &'c SkillRegistry,
    skill: Arc<Skill>,
    principal: &'c str,
    /// Value that the call saved, to be written when it waits or ends.
    saved: Option<Value>,
}

impl<'c> RequestAnswers<'c> {
    /// Answers for a call of this skill, for this principal.
    pub(crate) fn new(registry: &'c SkillRegistry, skill: &Arc<Skill>, principal: &'c str) -> Self {
        Self { registry, skill: Arc::clone(skill), principal, saved: None }
    }

    /// The answer to a request; `None` for an action that the skill may ask for.
    ///
    /// # Errors
    /// The saved value cannot be read.
    pub(crate) fn answer(&mut self, request: &SkillRequest) -> Result<Option<Value>, StorageError> {
        Ok(Some(match request {
            SkillRequest::Act { target, .. } => {
                let action = request.action().unwrap_or_default();
                if self.skill.manifest().capabilities.allows(target, action) {
                    return Ok(None);
                }
                denied(&format!("the skill has no capability {target}/{action}"))
            }
            SkillRequest::Now => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Value::int(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
            }
            SkillRequest::Random { limit } => {
                let bits = RandomState::new().hash_one(0_u8) >> 1;
                let number = i64::try_from(bits).unwrap_or(0);
                Value::int(number.rem_euclid((*limit).max(1)))
            }
            SkillRequest::State => match &self.saved {
                Some(value) => value.clone(),
                None => {
                    let id = &self.skill.manifest().id;
                    self.registry.storage().saved(id, self.principal)?
                }
            },
            SkillRequest::SaveState(value) => {
                self.saved = Some(value.clone());
                Value::T
            }
        }))
    }

    /// Writes what was saved.
    ///
    /// # Errors
    /// The file cannot be written, or the value is too large.
    pub(crate) fn keep(&self) -> Result<(), StorageError> {
        let Some(value) = &self.saved else { return Ok(()) };
        self.registry.storage().save(&self.skill.manifest().id, self.principal, value)
    }
}

/// An outcome that says no.
pub(crate) fn denied(reason: &str) -> Value {
    Value::plist([("outcome", Value::keyword("denied")), ("reason", Value::str(reason))])
}

/// The value of a call whose actions are all denied, for this reason.
///
/// # Errors
/// The skill failed, for people.
pub(crate) fn run_without_actions(
    registry: &SkillRegistry,
    skill: &Arc<Skill>,
    call: &SkillCall,
    principal: &str,
    reason: &str,
) -> Result<Value, String> {
    let mut answers = RequestAnswers::new(registry, skill, principal);
    let (mut run, mut progress) =
        SkillRun::start(skill, call).map_err(|fault| fault.to_string())?;
    loop {
        match progress {
            RunProgress::Ends(value) => {
                answers.keep().map_err(|error| error.to_string())?;
                return Ok(value);
            }
            RunProgress::Asks(request) => {
                let answer = answers.answer(&request).map_err(|error| error.to_string())?;
                let answer = answer.unwrap_or_else(|| denied(reason));
                progress = run.answer(answer).map_err(|fault| fault.to_string())?;
            }
        }
    }
}
