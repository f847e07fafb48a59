//! The scripted thinker: drafts from rules in a file, the same ones each time.
//!
//! Made by [`Host`](crate::Host) at start, asked on worker threads. It stands in for a model in
//! demos, tests and conformance runs: what it proposes is judged like every other proposal. The
//! language is in `docs/scripted.md`; [`read`] makes rules, [`pattern`] finds the one that fits,
//! [`template`] fills in what it says.

pub(crate) mod pattern;
pub(crate) mod read;
pub(crate) mod template;

use bridle_loop::{
    CallId, Deed, Draft, DraftStop, KeywordName, ModelRef, Outcome, Proposal, ReflexAdvice,
    SessionId, SignalContext, ThinkerFault, ThinkerPrompt,
};
use bridle_sexp::Value;
use std::collections::{HashSet, VecDeque};
use std::io::Read as _;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::builtin::{self, BuiltinInput, CommandSpelling, ProseAnswerer};
use crate::error::{HostError, MAX_SCRIPT_BYTES};
use crate::facts::DaemonFacts;
use crate::io::{HostFuture, ThoughtChannel, ThoughtIo};
use crate::thinker::Thinker;
use pattern::{PatternCapture, fits, text_fits};
use template::{TemplateError, TemplateFiller};

/// Uses of `:once` rules that are remembered, over all sessions; the oldest are forgotten first.
pub(crate) const MAX_USED_RULES: usize = 16_384;

/// Rules that are tried before other tasks have their turn: some milliseconds over the longest text.
const RULES_AT_ONCE: usize = 16;

/// Sensors that carry what a person has written.
const PROSE_SENSORS: [&str; 3] = ["user-prompt", "user-input", "chat-message"];

/// Rules of one file.
#[derive(Debug)]
pub(crate) struct ScriptedThinker {
    rules: Vec<ScriptRule>,
    used: Mutex<UsedRules>,
}

/// The part of a prompt that rules look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptStimulus<'p> {
    pub(crate) session: &'p SessionId,
    /// Of the signal that began the turn.
    pub(crate) payload: &'p Value,
    /// Reason of the last refusal in this turn.
    pub(crate) rejected: Option<&'p str>,
    /// Outcome of the last act of this turn.
    pub(crate) result: Option<&'p Value>,
    pub(crate) depth: u32,
}

impl Thinker for ScriptedThinker {
    fn consult(&self, context: &SignalContext, facts: &dyn DaemonFacts) -> ReflexAdvice {
        match BuiltinInput::of(&context.signal.payload) {
            // A person who has lost their way gets help, whatever the script is about.
            BuiltinInput::Word(word, CommandSpelling::With) => {
                builtin::advice(builtin::answer(word, context, facts, ProseAnswerer::Script))
            }
            _ => ReflexAdvice { think: true, ..ReflexAdvice::default() },
        }
    }

    fn think<'a>(
        &'a self,
        prompt: &'a ThinkerPrompt,
        io: &'a ThoughtIo,
    ) -> HostFuture<'a, Result<Draft, ThinkerFault>> {
        Box::pin(async move {
            let result = prompt.results.last().map(|deed| deed_value(deed));
            let stimulus = ScriptStimulus {
                session: &prompt.context.session,
                payload: &prompt.context.signal.payload,
                rejected: prompt.rejected.last().map(|rejection| &*rejection.reason),
                result: result.as_ref(),
                depth: prompt.depth,
            };
            let draft = self.draft(stimulus, io).await?;
            Ok(Draft { privacy: prompt.privacy(), ..draft })
        })
    }

    fn answers_prose(&self) -> bool {
        true
    }
}

impl ScriptedThinker {
    /// Reads a file.
    ///
    /// # Errors
    /// No such file, no script in it.
    pub(crate) fn open(path: &Path) -> Result<Self, HostError> {
        let unreadable = |source| HostError::Unreadable { path: path.into(), source };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to know that there are too many.
        let most = u64::try_from(MAX_SCRIPT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > MAX_SCRIPT_BYTES {
            return Err(HostError::TooLong { path: path.into() });
        }
        let text = String::from_utf8(bytes).map_err(|error| HostError::NotText {
            path: path.into(),
            source: error.utf8_error(),
        })?;
        Self::parse(&text).map_err(|problem| {
            let read::ScriptProblem { line, column, reason } = problem;
            HostError::Script { path: path.into(), line, column, reason }
        })
    }

    /// Reads a script.
    ///
    /// # Errors
    /// The place and the reason why it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, read::ScriptProblem> {
        Ok(Self { rules: read::rules(text)?, used: Mutex::default() })
    }

    /// The draft of the first rule that fits: waits, streams and fails as the rule says.
    ///
    /// # Errors
    /// The rule says so, there is no rule, the draft grows too long, or it is canceled.
    pub(crate) async fn draft(
        &self,
        stimulus: ScriptStimulus<'_>,
        io: &ThoughtIo,
    ) -> Result<Draft, ThinkerFault> {
        let Some((rule, captures)) = self.choose(stimulus, io).await else {
            return if io.is_canceled() { Err(canceled()) } else { no_rule(stimulus) };
        };
        let filled = rule.fill(TemplateFiller::new(captures));
        let (pieces, ending) = filled.map_err(|reason| {
            fault(format!("rule at line {} of the script: {reason}", rule.line))
        })?;
        if io.cancel().wait(rule.delay).await {
            return Err(canceled());
        }
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 && io.cancel().wait(rule.pace).await {
                return Err(canceled());
            }
            io.show(ThoughtChannel::Text, &piece);
        }
        ending
    }

    /// The rule to use. A thousand of them over a long text take 0.3 s: it listens between rules, and
    /// lets others run.
    async fn choose<'p>(
        &self,
        stimulus: ScriptStimulus<'p>,
        io: &ThoughtIo,
    ) -> Option<(&ScriptRule, Vec<PatternCapture<'p>>)> {
        for (index, rule) in self.rules.iter().enumerate() {
            if index % RULES_AT_ONCE == RULES_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            if io.is_canceled() {
                return None;
            }
            let Some(captures) = rule.captures(stimulus) else { continue };
            if !rule.once || self.first_use(stimulus.session, index) {
                return Some((rule, captures));
            }
        }
        None
    }

    fn first_use(&self, session: &SessionId, rule: usize) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(session, rule)
    }
}

/// A deed as the patterns of a script see it.
fn deed_value(deed: &Deed) -> Value {
    let mut pairs = vec![
        ("target", deed.target.to_value()),
        ("action", deed.action.to_value()),
        ("outcome", Value::keyword(deed.outcome.word())),
    ];
    match &deed.outcome {
        Outcome::Done(value) => pairs.push(("value", value.clone())),
        Outcome::Denied(reason) | Outcome::Failed(reason) => {
            pairs.push(("reason", Value::str(reason.clone())));
        }
        Outcome::Expired | Outcome::Superseded | Outcome::UnknownOutcome => {}
    }
    Value::plist(pairs)
}

/// Answers what no rule fits. A person gets to know why there is no answer; everything else ends
/// quietly, as there is nothing to propose.
fn no_rule(stimulus: ScriptStimulus<'_>) -> Result<Draft, ThinkerFault> {
    let proposals = match (stimulus.rejected, stimulus.result) {
        (_, Some(_)) => Vec::new(),
        (Some(reason), None) => vec![Proposal {
            target: None,
            payload: message(format!("What I proposed was refused: {reason}")),
            explanation: Some("no rule of the script is about this refusal".into()),
            then_think: false,
            call: None,
        }],
        (None, None) if BuiltinInput::of(stimulus.payload) == BuiltinInput::Nothing => Vec::new(),
        (None, None) => {
            let reason = "no rule of the script fits, expected one, or a `(default ..)`";
            return Err(fault(reason.to_owned()));
        }
    };
    Ok(Draft::of_calls(proposals))
}

fn fault(reason: String) -> ThinkerFault {
    ThinkerFault { reason: reason.into(), retryable: false }
}

fn canceled() -> ThinkerFault {
    fault("canceled".to_owned())
}

/// One rule: what it fits, and what it does then.
#[derive(Debug, Default)]
pub(crate) struct ScriptRule {
    /// Line of the file, from 1.
    line: usize,
    sort: RuleKind,
    /// A string fits the text of a prompt; anything else the payload.
    when: Option<Value>,
    /// A string fits the reason, `t` every reason, `nil` none at all. Without this and without
    /// `result`, the rule is about the first draft of a turn.
    rejected: Option<Value>,
    /// As `rejected`, with a pattern that fits the outcome.
    result: Option<Value>,
    depth: Option<RangeInclusive<u32>>,
    once: bool,
    delay: Duration,
    /// Between two pieces of the stream.
    pace: Duration,
    stream: Vec<Box<str>>,
    /// Text of the draft itself, beside its calls or in place of them.
    text: Option<Box<str>>,
    /// Name under which the draft is recorded.
    model: Option<Box<str>>,
    ending: DraftEnding,
}

/// The two sorts of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RuleKind {
    #[default]
    Rule,
    /// For what a person says and no rule fits.
    Default,
}

/// End of a draft.
#[derive(Debug)]
enum DraftEnding {
    Propose(Vec<ProposalTemplate>),
    Fail { reason: Box<str>, retryable: bool },
}

impl Default for DraftEnding {
    fn default() -> Self {
        Self::Propose(Vec::new())
    }
}

/// A proposal before its captures are put in.
#[derive(Debug)]
struct ProposalTemplate {
    target: Option<KeywordName>,
    content: TemplateContent,
    explanation: Option<Box<str>>,
    then_think: bool,
    call: Option<CallId>,
}

#[derive(Debug)]
enum TemplateContent {
    Payload(Value),
    /// A message of all that was streamed.
    Streamed,
}

impl ProposalTemplate {
    fn message(text: Box<str>) -> Self {
        Self { content: TemplateContent::Payload(message(text)), ..Self::of_stream() }
    }

    fn of_stream() -> Self {
        Self {
            target: None,
            content: TemplateContent::Streamed,
            explanation: None,
            then_think: false,
            call: None,
        }
    }
}

fn message(text: impl Into<Box<str>>) -> Value {
    Value::plist([("action", Value::keyword("message")), ("text", Value::str(text))])
}

/// Pieces to stream, then how it ends.
type Filled = (Vec<String>, Result<Draft, ThinkerFault>);

impl ScriptRule {
    /// The patterns, in the order in which their captures count.
    fn patterns(&self) -> impl Iterator<Item = &Value> {
        [&self.when, &self.rejected, &self.result].into_iter().flatten()
    }

    /// Texts that the wildcards stand for, if the rule fits.
    fn captures<'p>(&self, stimulus: ScriptStimulus<'p>) -> Option<Vec<PatternCapture<'p>>> {
        if self.depth.as_ref().is_some_and(|depth| !depth.contains(&stimulus.depth)) {
            return None;
        }
        let mut captures = Vec::new();
        let when = match &self.when {
            None => {
                self.sort == RuleKind::Rule
                    || BuiltinInput::of(stimulus.payload) != BuiltinInput::Nothing
            }
            Some(Value::Str(glob)) => match prompt_text(stimulus.payload) {
                Some(text) => text_fits(glob, text, &mut captures),
                None => false,
            },
            Some(pattern) => fits(pattern, stimulus.payload, &mut captures),
        };
        when.then_some(())?;
        let is_first = stimulus.rejected.is_none() && stimulus.result.is_none();
        if self.rejected.is_none() && self.result.is_none() && !is_first {
            return None;
        }
        let rejected = match (&self.rejected, stimulus.rejected) {
            (None, _) | (Some(Value::Nil), None) | (Some(Value::T), Some(_)) => true,
            (Some(Value::Str(glob)), Some(reason)) => text_fits(glob, reason, &mut captures),
            _ => false,
        };
        let result = match (&self.result, stimulus.result) {
            (None, _) | (Some(Value::Nil), None) | (Some(Value::T), Some(_)) => true,
            (Some(pattern), Some(result)) => fits(pattern, result, &mut captures),
            (Some(_), None) => false,
        };
        (rejected && result).then_some(captures)
    }

    fn fill(&self, mut filler: TemplateFiller<'_>) -> Result<Filled, TemplateError> {
        let pieces: Vec<String> =
            self.stream.iter().map(|piece| filler.text(piece)).collect::<Result<_, _>>()?;
        let ending = match &self.ending {
            DraftEnding::Fail { reason, retryable } => {
                Err(ThinkerFault { reason: filler.text(reason)?.into(), retryable: *retryable })
            }
            DraftEnding::Propose(templates) => {
                let propose = |template| self.proposal(template, &pieces, &mut filler);
                let proposals = templates.iter().map(propose).collect::<Result<_, _>>()?;
                let text = self.text.as_ref().map(|text| filler.text(text)).transpose()?;
                Ok(self.draft(text.unwrap_or_default(), proposals))
            }
        };
        Ok((pieces, ending))
    }

    fn draft(&self, text: String, calls: Vec<Proposal>) -> Draft {
        let waits = calls.iter().any(|call| call.call.is_some());
        let stop = if waits { DraftStop::Calls } else { DraftStop::End };
        let model =
            self.model.as_ref().map(|name| ModelRef { name: name.clone(), ..ModelRef::default() });
        Draft { text: text.into(), calls, model, stop, ..Draft::default() }
    }

    fn proposal(
        &self,
        template: &ProposalTemplate,
        pieces: &[String],
        filler: &mut TemplateFiller<'_>,
    ) -> Result<Proposal, TemplateError> {
        let payload = match &template.content {
            TemplateContent::Payload(payload) => filler.value(payload)?,
            TemplateContent::Streamed => message(pieces.concat()),
        };
        let explanation = match &template.explanation {
            Some(explanation) => filler.text(explanation)?,
            None => format!("rule at line {} of the script", self.line),
        };
        Ok(Proposal {
            target: template.target.clone(),
            payload,
            explanation: Some(explanation.into()),
            then_think: template.then_think,
            call: template.call.clone(),
        })
    }
}

fn prompt_text(payload: &Value) -> Option<&str> {
    let sensor = payload.get("sensor")?;
    PROSE_SENSORS
        .iter()
        .any(|name| sensor.is_keyword(name))
        .then(|| payload.get("text")?.as_str())?
}

/// Uses of `:once` rules, by session.
#[derive(Debug, Default)]
struct UsedRules {
    uses: HashSet<(SessionId, usize)>,
    order: VecDeque<(SessionId, usize)>,
}

impl UsedRules {
    /// Whether it is the first use.
    fn insert(&mut self, session: &SessionId, rule: usize) -> bool {
        let entry = (session.clone(), rule);
        if !self.uses.insert(entry.clone()) {
            return false;
        }
        self.order.push_back(entry);
        if self.order.len() > MAX_USED_RULES
            && let Some(oldest) = self.order.pop_front()
        {
            self.uses.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests;
