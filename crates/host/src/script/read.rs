//! A script's text to rules, or the place and reason why it is none.
//!
//! Called once at start by [`super::ScriptedThinker`]. Reads with the reader of the data language, comments
//! included; every key of a rule has one function here. Nothing is guessed: a key that is not known
//! or given twice, a `$2` without a second wildcard, a wait that is too long are errors.

use std::ops::RangeInclusive;
use std::time::Duration;

use bridle_loop::{CallId, KeywordName};
use bridle_sexp::{Category, Comments, Kind, Limits, Node, Place, Progress, Reader, Tree, Value};

use super::pattern::{MAX_WILDCARDS, wildcards};
use super::template::{largest_in_text, largest_reference};
use super::{DraftEnding, ProposalTemplate, RuleKind, ScriptRule, TemplateContent};

/// Rules of one script; all of them are tried for each draft.
pub(crate) const MAX_RULES: usize = 1_024;

/// Lists inside each other in a script. Proposals are shallow, and stay readable with what the
/// record puts around them.
pub(crate) const MAX_SCRIPT_DEPTH: usize = 64;

/// Milliseconds that one rule may wait in all, its stream included: 10 minutes, as long as a turn
/// may take.
pub(crate) const MAX_DELAY_MS: u64 = 600_000;

/// Pieces of one stream.
pub(crate) const MAX_PIECES: usize = 4_096;

/// Proposals of one rule, as many as a turn may carry out.
pub(crate) const MAX_PROPOSALS: usize = 32;

/// Keys of a rule, for the message about one that is not known.
const KEYS: &str = ":when :rejected :result :depth :once :delay :stream :pace :say :text \
                    :propose :model :then-think :explanation :error :retryable";

/// Fault of a script, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptProblem {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) reason: String,
}

/// Reads all rules of `text`, in their order, the default one last. The caller bounds its length.
///
/// # Errors
/// The first thing that is not as it should be.
pub(crate) fn rules(text: &str) -> Result<Vec<ScriptRule>, ScriptProblem> {
    let limits = Limits { depth: MAX_SCRIPT_DEPTH, ..Limits::default() };
    let reader = Reader::new().comments(Comments::Skip).limits(limits);
    let (mut rules, mut default) = (Vec::new(), None);
    let (mut start, mut line) = (0, 1);
    while let Some(tree) = next_form(&reader, text, start)? {
        let here = start + tree.root().span().start;
        line += text[start..here].matches('\n').count();
        let mut rule = form(tree.root()).map_err(|wrong| wrong.in_text(text, start))?;
        rule.line = line;
        match rule.sort {
            RuleKind::Rule if rules.len() == MAX_RULES => {
                let reason = format!("one rule too many, expected at most {MAX_RULES}");
                return Err(FormProblem { at: here, reason }.in_text(text, 0));
            }
            RuleKind::Rule => rules.push(rule),
            RuleKind::Default if default.is_some() => {
                let reason = "a second `default`, expected one".to_owned();
                return Err(FormProblem { at: here, reason }.in_text(text, 0));
            }
            RuleKind::Default => default = Some(rule),
        }
        let end = start + tree.consumed();
        line += text[here..end].matches('\n').count();
        start = end;
    }
    rules.extend(default);
    if rules.is_empty() {
        let reason = "no rule, expected at least one `(rule ..)` or `(default ..)`".to_owned();
        return Err(ScriptProblem { line, column: 1, reason });
    }
    Ok(rules)
}

/// The form that starts at or after `start`; none when only blanks and comments are left.
fn next_form<'s>(
    reader: &Reader,
    text: &'s str,
    start: usize,
) -> Result<Option<Tree<'s>>, ScriptProblem> {
    let rest = &text[start..];
    let error = match reader.read(rest) {
        Ok(Progress::Done(tree)) => return Ok(Some(tree)),
        Ok(Progress::Incomplete) => match reader.read_one(rest) {
            Err(error) if error.category() == Category::Empty => return Ok(None),
            Err(error) => {
                let whole = Place::of(text, start).line;
                let reason = format!("{}; all is whole up to line {whole}", error.reason());
                return Err(FormProblem { at: error.place().offset, reason }.in_text(text, start));
            }
            Ok(tree) => return Ok(Some(tree)),
        },
        Err(error) => error,
    };
    let wrong = FormProblem { at: error.place().offset, reason: error.reason().to_owned() };
    Err(wrong.in_text(text, start))
}

/// Trouble with a node of the form that is being read.
struct FormProblem {
    /// Bytes from where its text starts.
    at: usize,
    reason: String,
}

impl FormProblem {
    fn new(node: Node<'_>, reason: impl Into<String>) -> Self {
        Self { at: node.span().start, reason: reason.into() }
    }

    /// Expected something, got what `node` is.
    fn expected(what: &str, node: Node<'_>) -> Self {
        /// Characters of the offending text that are shown.
        const MAX_SHOWN_CHARS: usize = 40;
        let mut got: String = node.source().chars().take(MAX_SHOWN_CHARS).collect();
        if got.len() < node.source().len() {
            got.push_str("..");
        }
        Self::new(node, format!("expected {what}, got `{got}`"))
    }

    fn in_text(self, text: &str, start: usize) -> ScriptProblem {
        let Place { line, column, .. } = Place::of(text, start + self.at);
        ScriptProblem { line, column, reason: self.reason }
    }
}

fn form(root: Node<'_>) -> Result<ScriptRule, FormProblem> {
    let mut children = root.children();
    let name = children.next().and_then(|head| head.symbol());
    let sort = match name.as_deref() {
        Some(name) if name.eq_ignore_ascii_case("rule") => RuleKind::Rule,
        Some(name) if name.eq_ignore_ascii_case("default") => RuleKind::Default,
        _ => return Err(FormProblem::expected("`(rule ..)` or `(default ..)`", root)),
    };
    let mut given = RuleFields::default();
    given.rule.sort = sort;
    while let Some(key) = children.next() {
        let Some(value) = children.next() else {
            return Err(FormProblem::expected("a key and its value", key));
        };
        given.take(sort, key, value)?;
    }
    given.into_rule(root)
}

/// Keys of a rule, as far as they were read.
#[derive(Default)]
struct RuleFields {
    seen: Vec<String>,
    rule: ScriptRule,
    say: Option<ProposalTemplate>,
    propose: Option<Vec<ProposalTemplate>>,
    error: Option<Box<str>>,
    retryable: bool,
    then_think: bool,
    explanation: Option<Box<str>>,
    /// The largest `$n`, and where it is.
    largest: (usize, usize),
}

impl RuleFields {
    fn take(&mut self, sort: RuleKind, key: Node<'_>, value: Node<'_>) -> Result<(), FormProblem> {
        let name = key.keyword().map(|name| name.to_ascii_lowercase());
        let Some(name) = name else { return Err(FormProblem::expected("a key", key)) };
        if self.seen.contains(&name) {
            return Err(FormProblem::new(key, format!("`:{name}` is given twice")));
        }
        match name.as_str() {
            "when" if sort == RuleKind::Default => {
                return Err(FormProblem::new(
                    key,
                    "`default` has no `:when`: it fits what no rule does",
                ));
            }
            "when" => self.rule.when = Some(when(value)?),
            "rejected" => self.rule.rejected = Some(rejected(value)?),
            "result" => self.rule.result = Some(value.to_value()),
            "depth" => self.rule.depth = Some(depth(value)?),
            "once" => self.rule.once = flag(value)?,
            "delay" => self.rule.delay = milliseconds(value)?,
            "pace" => self.rule.pace = milliseconds(value)?,
            "stream" => self.rule.stream = self.pieces(value)?,
            "text" => self.rule.text = Some(self.text(value)?),
            "model" => self.rule.model = Some(self.text(value)?),
            "say" => self.say = Some(ProposalTemplate::message(self.text(value)?)),
            "propose" => self.propose = Some(self.proposals(value)?),
            "then-think" => self.then_think = flag(value)?,
            "explanation" => self.explanation = Some(self.text(value)?),
            "error" => self.error = Some(self.text(value)?),
            "retryable" => self.retryable = flag(value)?,
            _ => return Err(FormProblem::expected(&format!("one of {KEYS}"), key)),
        }
        self.seen.push(name);
        Ok(())
    }

    fn into_rule(mut self, root: Node<'_>) -> Result<ScriptRule, FormProblem> {
        let count: usize = self.rule.patterns().map(wildcards).sum();
        if count > MAX_WILDCARDS {
            let reason = format!("{count} wildcards, expected at most {MAX_WILDCARDS} in a rule");
            return Err(FormProblem::new(root, reason));
        }
        let (largest, at) = self.largest;
        if largest > count {
            let reason =
                format!("`${largest}`, expected at most the {count} wildcards of the rule");
            return Err(FormProblem { at, reason });
        }
        let pauses = u32::try_from(self.rule.stream.len()).unwrap_or(u32::MAX);
        let wait = self.rule.pace.saturating_mul(pauses).saturating_add(self.rule.delay);
        if wait > Duration::from_millis(MAX_DELAY_MS) {
            let got = wait.as_millis();
            let reason = format!("{got} ms of waiting, expected at most {MAX_DELAY_MS} in a rule");
            return Err(FormProblem::new(root, reason));
        }
        self.rule.ending = self.ending(root)?;
        Ok(self.rule)
    }

    fn ending(&mut self, root: Node<'_>) -> Result<DraftEnding, FormProblem> {
        if let Some(reason) = self.error.take() {
            if self.say.is_some() || self.propose.is_some() || self.rule.text.is_some() {
                return Err(FormProblem::new(
                    root,
                    "`:error` beside `:say`, `:text` or `:propose`, expected one",
                ));
            }
            return Ok(DraftEnding::Fail { reason, retryable: self.retryable });
        }
        if self.retryable {
            return Err(FormProblem::new(root, "`:retryable` without `:error`"));
        }
        let mut proposals: Vec<ProposalTemplate> = self.say.take().into_iter().collect();
        match self.propose.take() {
            Some(more) => proposals.extend(more),
            None if proposals.is_empty() && self.rule.text.is_some() => {}
            None if proposals.is_empty() && !self.rule.stream.is_empty() => {
                proposals.push(ProposalTemplate::of_stream());
            }
            None if proposals.is_empty() => {
                let what = "`:say`, `:text`, `:propose`, `:stream` or `:error` in a rule";
                return Err(FormProblem::expected(what, root));
            }
            None => {}
        }
        for proposal in &mut proposals {
            proposal.then_think |= self.then_think;
            if proposal.explanation.is_none() {
                proposal.explanation.clone_from(&self.explanation);
            }
        }
        Ok(DraftEnding::Propose(proposals))
    }

    fn text(&mut self, node: Node<'_>) -> Result<Box<str>, FormProblem> {
        let Some(text) = node.as_str() else { return Err(FormProblem::expected("a string", node)) };
        self.refer(largest_in_text(&text), node);
        Ok(text.into())
    }

    fn pieces(&mut self, node: Node<'_>) -> Result<Vec<Box<str>>, FormProblem> {
        if node.kind() != Kind::List || node.len() > MAX_PIECES {
            return Err(FormProblem::expected(
                &format!("a list of at most {MAX_PIECES} strings"),
                node,
            ));
        }
        node.children().map(|piece| self.text(piece)).collect()
    }

    fn proposals(&mut self, node: Node<'_>) -> Result<Vec<ProposalTemplate>, FormProblem> {
        let is_list = matches!(node.kind(), Kind::List | Kind::Nil);
        if !is_list || node.len() > MAX_PROPOSALS {
            let what = format!(
                "a list of at most {MAX_PROPOSALS} proposals such as `((:action :message :text \"hi\"))`"
            );
            return Err(FormProblem::expected(&what, node));
        }
        node.children().map(|proposal| self.proposal(proposal)).collect()
    }

    fn proposal(&mut self, node: Node<'_>) -> Result<ProposalTemplate, FormProblem> {
        let Some(pairs) = node.pairs().filter(|_| !node.is_nil()) else {
            return Err(FormProblem::expected(
                "a proposal: keys and values, `:action` among them",
                node,
            ));
        };
        let mut template = ProposalTemplate::of_stream();
        let mut payload = Vec::new();
        for (key, value) in pairs {
            if key.is_keyword("target") {
                let Some(name) = value.keyword() else {
                    return Err(FormProblem::expected("the keyword of an actuator", value));
                };
                template.target = Some(KeywordName::new(&name));
            } else if key.is_keyword("explanation") {
                template.explanation = Some(self.text(value)?);
            } else if key.is_keyword("call") {
                let Some(name) = value.as_str() else {
                    return Err(FormProblem::expected("the id of a call, a string", value));
                };
                template.call = Some(CallId::new(&name));
            } else if key.is_keyword("then-think") {
                template.then_think = flag(value)?;
            } else {
                payload.push(key.to_value());
                payload.push(value.to_value());
            }
        }
        let payload = Value::list(payload);
        self.refer(largest_reference(&payload), node);
        template.content = TemplateContent::Payload(payload);
        Ok(template)
    }

    fn refer(&mut self, largest: usize, node: Node<'_>) {
        self.largest = self.largest.max((largest, node.span().start));
    }
}

fn when(node: Node<'_>) -> Result<Value, FormProblem> {
    match node.kind() {
        Kind::String => Ok(node.to_value()),
        Kind::List if node.pairs().is_some() => Ok(node.to_value()),
        _ => Err(FormProblem::expected("a string, or keys and values of the payload", node)),
    }
}

fn rejected(node: Node<'_>) -> Result<Value, FormProblem> {
    match node.kind() {
        Kind::String | Kind::T | Kind::Nil => Ok(node.to_value()),
        _ => Err(FormProblem::expected("`t`, `nil`, or a string that the reason fits", node)),
    }
}

fn depth(node: Node<'_>) -> Result<RangeInclusive<u32>, FormProblem> {
    let number = |node: Node<'_>| node.as_i64().and_then(|number| u32::try_from(number).ok());
    let ends: Option<Vec<u32>> = match node.kind() {
        Kind::List => node.children().map(number).collect(),
        _ => number(node).map(|depth| vec![depth]),
    };
    match ends.as_deref() {
        Some([depth]) => Ok(*depth..=*depth),
        Some([least, most]) if least <= most => Ok(*least..=*most),
        _ => Err(FormProblem::expected("a depth, or the least and the most as `(1 3)`", node)),
    }
}

fn flag(node: Node<'_>) -> Result<bool, FormProblem> {
    match node.kind() {
        Kind::T => Ok(true),
        Kind::Nil => Ok(false),
        _ => Err(FormProblem::expected("`t` or `nil`", node)),
    }
}

fn milliseconds(node: Node<'_>) -> Result<Duration, FormProblem> {
    let number = node.as_i64().and_then(|number| u64::try_from(number).ok());
    match number.filter(|number| *number <= MAX_DELAY_MS) {
        Some(number) => Ok(Duration::from_millis(number)),
        None => Err(FormProblem::expected(&format!("milliseconds, at most {MAX_DELAY_MS}"), node)),
    }
}

#[cfg(test)]
mod tests;
