//! Skills as actuators of a host: their tools as actions of `:skill`, and the actuators that they define.
//!
//! An order runs the skill in the jail of its language, where it can do nothing but ask. What it asks for goes through
//! [`SkillProposer`] and is judged as if a thinker had proposed it.

use std::sync::Arc;

use bridle_host::{ActIo, Actuator, ActuatorGroup, HostFuture};
use bridle_loop::{
    Action, ActionSpec, ActuatorSpec, ArgumentShape, ArgumentSpec, KeywordName, MAX_ACTION_SPECS,
    MAX_ACTUATOR_SPEC_BYTES, MAX_ARGUMENT_SPECS, MAX_SPEC_TEXT_BYTES, Order, Outcome, SKILL, TOOL,
    ToolName,
};
use bridle_sexp::Value;
use bridle_skill::{
    ArgumentPart, ArgumentType, PartKind, RunProgress, Skill, SkillCall, SkillId, SkillPart,
    SkillRequest, SkillRun,
};

use crate::caller::RequestAnswers;
use crate::registry::SkillRegistry;
use crate::turn_log;

/// Asks for an action in the name of a skill that carries out an order.
pub trait SkillProposer: Send + Sync {
    /// Has the action judged, and carried out if it is allowed.
    fn propose<'a>(&'a self, proposal: SkillProposal<'a>) -> HostFuture<'a, Outcome>;
}

/// Action that a skill asks for while it carries out an order.
#[derive(Debug, Clone)]
pub struct SkillProposal<'a> {
    /// Handle of the order.
    pub io: &'a ActIo,
    /// The skill.
    pub skill: SkillId,
    /// Number of the request in the call, from 0.
    pub number: usize,
    /// The actuator that it is for.
    pub target: KeywordName,
    /// The action with its arguments.
    pub payload: Value,
}

/// Actuators of the skills that serve. Of two of the same name, that of the skill with the greater priority counts;
/// tools beyond the limits of one actuator are left out. Both are said in the log.
pub fn skill_actuators(
    registry: &Arc<SkillRegistry>,
    proposer: &Arc<dyn SkillProposer>,
) -> ActuatorGroup {
    let table = registry.table();
    let mut tools = ToolActuator {
        registry: Arc::clone(registry),
        proposer: Arc::clone(proposer),
        tools: Vec::new(),
    };
    let mut group: ActuatorGroup = Vec::new();
    let mut bytes = 0;
    for entry in table.skills() {
        let id = &entry.skill.manifest().id;
        for part in entry.skill.parts() {
            match part.kind {
                PartKind::Tool => {
                    let tool = SkillTool { skill: Arc::clone(&entry.skill), part: part.clone() };
                    bytes += size(&tool.spec());
                    if tools.tools.len() < MAX_ACTION_SPECS && bytes < MAX_ACTUATOR_SPEC_BYTES / 2 {
                        tools.tools.push(tool);
                    } else {
                        let tool = &part.name;
                        tracing::warn!(skill = %id, tool, "one tool more than models are offered");
                    }
                }
                PartKind::Actuator => {
                    let name = KeywordName::new(&part.name);
                    let is_taken =
                        name.as_str() == SKILL || group.iter().any(|(taken, _)| *taken == name);
                    if is_taken || part.actions.len() > MAX_ACTION_SPECS {
                        tracing::warn!(skill = %id, actuator = %name, "an actuator is left out");
                        continue;
                    }
                    let actuator = SkillActuator {
                        registry: Arc::clone(registry),
                        proposer: Arc::clone(proposer),
                        skill: Arc::clone(&entry.skill),
                        part: part.clone(),
                    };
                    group.push((name, Arc::new(actuator)));
                }
                _ => {}
            }
        }
    }
    if !tools.tools.is_empty() {
        group.push((KeywordName::new(SKILL), Arc::new(tools)));
    }
    group
}

fn size(spec: &ActionSpec) -> usize {
    let alone = ActuatorSpec { name: KeywordName::new(SKILL), actions: vec![spec.clone()] };
    alone.to_value().to_string().len()
}

/// Tool of a skill.
struct SkillTool {
    skill: Arc<Skill>,
    part: SkillPart,
}

impl SkillTool {
    fn name(&self) -> ToolName {
        let server = self.skill.manifest().id.as_str().into();
        ToolName { server, tool: self.part.name.as_str().into() }
    }

    fn spec(&self) -> ActionSpec {
        let spec = ActionSpec::new(TOOL, cut(&self.part.doc), arguments(&self.part.arguments));
        ActionSpec { tool: Some(self.name()), ..spec }
    }
}

/// The actuator `:skill`: all tools of all skills.
struct ToolActuator {
    registry: Arc<SkillRegistry>,
    proposer: Arc<dyn SkillProposer>,
    tools: Vec<SkillTool>,
}

impl Actuator for ToolActuator {
    fn specs(&self) -> Vec<ActionSpec> {
        self.tools.iter().map(SkillTool::spec).collect()
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        Box::pin(async move {
            let Action::Tool(called) = order.action() else {
                let action = order.action().name();
                return Outcome::Failed(format!("`:skill` has no action `{action}`").into());
            };
            let found = self.tools.iter().find(|tool| tool.name() == called.name);
            let Some(tool) = found else {
                let ToolName { server, tool } = &called.name;
                return Outcome::Failed(format!("skill `{server}` has no tool `{tool}`").into());
            };
            let arguments = typed(&called.arguments, &tool.part.arguments);
            let call = SkillCall::Tool { name: tool.part.name.clone(), arguments };
            let act = SkillAct { registry: &self.registry, proposer: &*self.proposer, io };
            act.run(&tool.skill, call).await
        })
    }
}

/// An actuator that a skill defines.
struct SkillActuator {
    registry: Arc<SkillRegistry>,
    proposer: Arc<dyn SkillProposer>,
    skill: Arc<Skill>,
    part: SkillPart,
}

impl Actuator for SkillActuator {
    fn specs(&self) -> Vec<ActionSpec> {
        let actions = self.part.actions.iter();
        let about = cut(&self.part.doc);
        actions.map(|it| ActionSpec::new(&it.name, about, arguments(&it.arguments))).collect()
    }

    fn act<'a>(&'a self, order: &'a Order, io: &'a ActIo) -> HostFuture<'a, Outcome> {
        let context = Value::plist([
            ("session", Value::str(io.context.session.as_str())),
            ("turn", Value::int(i64::try_from(io.context.turn.0).unwrap_or(i64::MAX))),
            ("principal", Value::str(&*io.context.principal)),
        ]);
        let (actuator, action) = (self.part.name.clone(), order.payload().clone());
        let call = SkillCall::Act { actuator, action, context };
        Box::pin(async move {
            let act = SkillAct { registry: &self.registry, proposer: &*self.proposer, io };
            act.run(&self.skill, call).await
        })
    }
}

/// An order that a skill carries out.
struct SkillAct<'a> {
    registry: &'a Arc<SkillRegistry>,
    proposer: &'a dyn SkillProposer,
    io: &'a ActIo,
}

/// State of a call between two steps.
struct SteppedCall {
    run: SkillRun,
    progress: RunProgress,
}

impl SkillAct<'_> {
    async fn run(&self, skill: &Arc<Skill>, call: SkillCall) -> Outcome {
        match self.steps(skill, call).await {
            Ok(value) => Outcome::Done(value),
            Err(reason) => {
                Outcome::Failed(format!("skill {}: {reason}", skill.manifest().id).into())
            }
        }
    }

    async fn steps(&self, skill: &Arc<Skill>, call: SkillCall) -> Result<Value, String> {
        let principal = self.io.context.principal.clone();
        let mut answers = RequestAnswers::new(self.registry, skill, &principal);
        let first = Arc::clone(skill);
        let mut step = self.blocking(move || SkillRun::start(&first, &call)).await?;
        let mut number = 0;
        loop {
            let SteppedCall { mut run, progress } = step;
            let request = match progress {
                RunProgress::Ends(value) => {
                    answers.keep().map_err(|error| error.to_string())?;
                    return Ok(value);
                }
                RunProgress::Asks(request) => request,
            };
            if self.io.is_canceled() {
                return Err("it was stopped".to_owned());
            }
            let answer = match answers.answer(&request).map_err(|error| error.to_string())? {
                Some(answer) => answer,
                None => {
                    number += 1;
                    self.ask(skill, number - 1, request).await
                }
            };
            step = self.blocking(move || run.answer(answer).map(|next| (run, next))).await?;
        }
    }

    async fn ask(&self, skill: &Skill, number: usize, request: SkillRequest) -> Value {
        let SkillRequest::Act { target, payload } = request else { return Value::Nil };
        let proposal = SkillProposal {
            io: self.io,
            skill: skill.manifest().id.clone(),
            number,
            target: KeywordName::new(&target),
            payload,
        };
        turn_log::told(&self.proposer.propose(proposal).await)
    }

    /// A step of the program, on a thread for what blocks.
    async fn blocking(
        &self,
        step: impl FnOnce() -> Result<(SkillRun, RunProgress), bridle_skill::SkillFault>
        + Send
        + 'static,
    ) -> Result<SteppedCall, String> {
        let done = self.io.run_blocking(step).await.map_err(|_| "it broke off".to_owned())?;
        let (run, progress) = done.map_err(|fault| fault.to_string())?;
        Ok(SteppedCall { run, progress })
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SPEC_TEXT_BYTES)]
}

fn arguments(parts: &[ArgumentPart]) -> Vec<ArgumentSpec> {
    let spec = |part: &ArgumentPart| ArgumentSpec {
        name: part.name.as_str().into(),
        shape: shape(part),
        required: !part.optional,
        about: cut(&part.doc).into(),
    };
    parts.iter().take(MAX_ARGUMENT_SPECS).map(spec).collect()
}

fn shape(part: &ArgumentPart) -> ArgumentShape {
    let words = part.choices.iter().map(|choice| choice.as_keyword().map(Into::into));
    let words: Option<Vec<Box<str>>> = words.collect();
    match (part.kind, words) {
        (ArgumentType::Keyword, Some(words)) if !words.is_empty() => ArgumentShape::Choice(words),
        (ArgumentType::String | ArgumentType::Keyword, _) => ArgumentShape::Text,
        (ArgumentType::Integer, _) => ArgumentShape::Integer,
        (ArgumentType::Number, _) => ArgumentShape::Number,
        (ArgumentType::Boolean, _) => ArgumentShape::Flag,
        (ArgumentType::List, _) => ArgumentShape::Json(r#"{"type":"array"}"#.into()),
        (ArgumentType::Any, _) => ArgumentShape::Any,
    }
}

/// Arguments as the tool wants them: a keyword may come as a string, for models have none.
fn typed(arguments: &Value, parts: &[ArgumentPart]) -> Value {
    let Some(pairs) = arguments.pairs() else { return arguments.clone() };
    let typed = pairs.flat_map(|(key, value)| {
        let is_this = |part: &&ArgumentPart| key.is_keyword(&part.name);
        let part = parts.iter().find(is_this);
        let value = match (part.map(|part| part.kind), value.as_str()) {
            (Some(ArgumentType::Keyword), Some(word)) => {
                Value::keyword(word.trim_start_matches(':'))
            }
            (Some(ArgumentType::List), None) => match value.elements() {
                Some(elements) => Value::list(elements.iter().cloned()),
                None => value.clone(),
            },
            _ => value.clone(),
        };
        [key.clone(), value]
    });
    Value::list(typed)
}
