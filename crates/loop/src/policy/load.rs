//! From the text of a `policy.org` to a set, or to its faults.
//!
//! Called by the daemon at start, after an edit and by `bridle policy`. A set is all or nothing:
//! whatever is wrong with any of it is said, with the line of the file, and nothing is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use cedar_policy::{
    ActionConstraint, EntityUid, PolicyId, PolicySet, Schema, ValidationMode, Validator,
};
use miette::Diagnostic;

use super::asking::{ActionPartition, CompiledPolicy};
use super::cedar_request::{self, CedarTypes};
use super::depth::{DepthLimits, check_depth};
use super::example::{self, ExampleResult};
use super::facts::{ACTS, SessionAccess};
use super::prefilter::PrefilterNumber;
use super::sections::{self, PolicySection, SourceBlock};
use super::{GuardPolicies, PolicyEntry};
use crate::hash::PolicyHash;

/// Policies that no set lifts.
const ALWAYS_POLICIES: &str = include_str!("always.cedar");

const SCHEMA: &str = include_str!("schema.cedarschema");

/// Ids of policies that no set lifts begin with this, and others may not.
const ALWAYS_PREFIX: &str = "built-in";

/// The longest file, in bytes: a thousand policies with prose and examples.
const MAX_POLICY_TEXT_BYTES: usize = 1 << 20;

/// The most policies of a set: each is checked against every action when it is loaded.
const MAX_POLICIES: usize = 1_024;

/// The longest id, in bytes: ids are kept with every decision.
const MAX_POLICY_ID_BYTES: usize = 64;

/// Most faults that are told: more of them say nothing new.
const MAX_TOLD_FAULTS: usize = 32;

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    let (schema, _) = Schema::from_cedarschema_str(SCHEMA).expect("the schema of this crate");
    Validator::new(schema)
});

/// Faults of a text that is no set of policies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.listed())]
pub struct InvalidPolicies {
    /// Faults, in the order of the lines; never empty.
    pub faults: Vec<PolicyFault>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct PolicyFault {
    /// The line of the file, from 1.
    pub line: usize,
    /// Description of the fault.
    pub what: String,
}

impl InvalidPolicies {
    fn of(mut faults: Vec<PolicyFault>) -> Self {
        faults.sort_by_key(|fault| fault.line);
        faults.truncate(MAX_TOLD_FAULTS);
        Self { faults }
    }

    /// The examples that came out otherwise than they should, as faults; nothing if all did as they should.
    pub fn of_failed(tried: &[ExampleResult]) -> Option<Self> {
        let faults: Vec<PolicyFault> = tried.iter().filter_map(ExampleResult::fault).collect();
        (!faults.is_empty()).then(|| Self::of(faults))
    }

    fn listed(&self) -> String {
        let lines: Vec<String> = self.faults.iter().map(PolicyFault::to_string).collect();
        lines.join("\n")
    }
}

impl PolicyFault {
    pub(super) fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl GuardPolicies {
    /// Reads a set, checks its types and runs its examples.
    ///
    /// # Errors
    /// When anything is wrong with it, with the lines of the file.
    pub fn from_org(text: &str) -> Result<Self, InvalidPolicies> {
        Self::tried(text).and_then(all_passed)
    }

    /// Reads a set back that the record holds, and that another version may have taken: what is nested more
    /// deeply than in a file is taken, too. Needs a stack of 64 MiB.
    ///
    /// # Errors
    /// When anything is wrong with it, with the lines of the file.
    pub fn from_record(text: &str) -> Result<Self, InvalidPolicies> {
        Self::tried_within(text, DepthLimits::RECORDED).and_then(all_passed)
    }

    /// Reads a set, checks its types and says how each of its examples came out. For looking at: a
    /// set with an example that fails is installed by nobody.
    ///
    /// # Errors
    /// When anything else is wrong with it, with the lines of the file.
    pub fn tried(text: &str) -> Result<(Self, Vec<ExampleResult>), InvalidPolicies> {
        Self::tried_within(text, DepthLimits::FILE)
    }

    fn tried_within(
        text: &str,
        limits: DepthLimits,
    ) -> Result<(Self, Vec<ExampleResult>), InvalidPolicies> {
        let mut faults = Vec::new();
        if text.len() > MAX_POLICY_TEXT_BYTES {
            let what =
                format!("a file of {} bytes, expected at most {MAX_POLICY_TEXT_BYTES}", text.len());
            return Err(InvalidPolicies { faults: vec![PolicyFault::new(1, what)] });
        }
        let (load, sections) = PolicyLoader::of(text, limits, &mut faults);
        if faults.is_empty() {
            load.validate(&mut faults);
        }
        let set = load.done(PolicyHash::of(text));
        let is_good = faults.is_empty();
        let tried = if is_good { example::run(&set, &sections, &mut faults) } else { Vec::new() };
        if faults.is_empty() {
            return Ok((set, tried));
        }
        faults.extend(tried.iter().filter_map(ExampleResult::fault));
        Err(InvalidPolicies::of(faults))
    }
}

impl GuardPolicies {
    /// Reads a set of this crate's own, whose types and examples its tests check.
    pub(super) fn unchecked(text: &str) -> Self {
        PolicyLoader::of(text, DepthLimits::FILE, &mut Vec::new()).0.done(PolicyHash::of(text))
    }
}

/// A set under construction.
#[derive(Default)]
struct PolicyLoader {
    limits: DepthLimits,
    set: PolicySet,
    policies: Vec<PolicyEntry>,
    /// The text of each policy's block, to which Cedar's faults point.
    blocks: Vec<Arc<str>>,
    ids: BTreeSet<String>,
    /// The policies in order, as they are in the set.
    own: Vec<cedar_policy::Policy>,
}

impl PolicyLoader {
    /// All policies of a text, those that no set lifts last.
    fn of(
        text: &str,
        limits: DepthLimits,
        faults: &mut Vec<PolicyFault>,
    ) -> (Self, Vec<PolicySection>) {
        let sections = sections::read(text, faults);
        let mut load = Self { limits, ..Self::default() };
        for section in &sections {
            load.section(section, faults);
        }
        load.always();
        (load, sections)
    }

    fn section(&mut self, section: &PolicySection, faults: &mut Vec<PolicyFault>) {
        let mut blocks = section.blocks.iter().filter(|block| block.language == sections::CEDAR);
        let Some(block) = blocks.next() else { return };
        if let Some(second) = blocks.next() {
            let what = "a second `cedar` block under one heading, expected one";
            faults.push(PolicyFault::new(second.line, what));
        }
        if !section.blocks.iter().any(|block| block.language == example::LANGUAGE) {
            let what = format!("`{}` has no `examples` block, expected one", section.title);
            faults.push(PolicyFault::new(section.line, what));
        }
        let id = section.id.clone().unwrap_or_else(|| slug(&section.title));
        if !is_id(&id) {
            let what = format!(
                "id `{id}`, expected 1 to {MAX_POLICY_ID_BYTES} letters, digits, `-`, `_`, `.` and not \
                 `{ALWAYS_PREFIX}` before them"
            );
            faults.push(PolicyFault::new(section.line, what));
            return;
        }
        self.block(section, block, &id, faults);
    }

    fn block(
        &mut self,
        section: &PolicySection,
        block: &SourceBlock,
        id: &str,
        faults: &mut Vec<PolicyFault>,
    ) {
        // Cedar calls itself for what is nested: too much of it would end the process.
        if let Err(deep) = check_depth(&block.text, self.limits) {
            let line = block.line + newlines(&block.text[..deep.offset]);
            faults.push(PolicyFault::new(line, deep.what));
            return;
        }
        let set = match PolicySet::from_str(&block.text) {
            Ok(set) => set,
            Err(errors) => {
                faults.extend(errors.iter().map(|error| fault_at(block.line, &block.text, error)));
                return;
            }
        };
        if set.templates().next().is_some() {
            let what = "a template, expected policies without `?principal` and `?resource`";
            faults.push(PolicyFault::new(block.line, what));
        }
        let count = set.policies().count();
        if count == 0 {
            faults.push(PolicyFault::new(block.line, "no policy, expected one"));
        }
        let text: Arc<str> = block.text.as_str().into();
        let mut policies: Vec<&cedar_policy::Policy> = set.policies().collect();
        // `policy0`, `policy1`, ..: in the order of the text, whatever the set's own order is.
        policies.sort_by_key(|policy| number(policy.id()));
        for (index, policy) in policies.into_iter().enumerate() {
            let id = match policy.annotation("id") {
                Some(own) => own.to_owned(),
                None if count == 1 => id.to_owned(),
                None => format!("{id}.{}", index + 1),
            };
            if !is_id(&id) || !self.ids.insert(id.clone()) {
                let what = format!("id `{id}` of a policy, expected one that is free");
                faults.push(PolicyFault::new(block.line, what));
                continue;
            }
            if self.policies.len() == MAX_POLICIES {
                let what = format!("more than {MAX_POLICIES} policies");
                faults.push(PolicyFault::new(block.line, what));
                return;
            }
            self.add(policy, &id, section, block.line);
            self.blocks.push(text.clone());
        }
    }

    fn add(
        &mut self,
        policy: &cedar_policy::Policy,
        id: &str,
        section: &PolicySection,
        line: usize,
    ) {
        self.policies.push(PolicyEntry {
            id: id.into(),
            title: section.title.as_str().into(),
            prose: section.prose.as_str().into(),
            text: policy.to_string().into(),
            line,
        });
        let policy = policy.new_id(PolicyId::new(id));
        let added = self.set.add(policy.clone());
        added.expect("ids are unique, and it is no template");
        self.own.push(policy);
    }

    /// Adds what no set lifts.
    fn always(&mut self) {
        let set = PolicySet::from_str(ALWAYS_POLICIES).expect("the policies of this crate");
        let mut policies: Vec<&cedar_policy::Policy> = set.policies().collect();
        policies.sort_by_key(|policy| number(policy.id()));
        for policy in policies {
            let id = policy.annotation("id").expect("each of them has an id").to_owned();
            self.add(policy, &id, &PolicySection::default(), 0);
        }
    }

    /// Checks the types: a policy that could fail when it is asked is refused now.
    fn validate(&self, faults: &mut Vec<PolicyFault>) {
        let result = VALIDATOR.validate(&self.set, ValidationMode::Strict);
        for error in result.validation_errors() {
            let id: &str = error.policy_id().as_ref();
            let mut found = self.policies.iter().zip(&self.blocks);
            let found = found.find(|(policy, _)| &*policy.id == id);
            let (line, text) = found.map_or((0, ""), |(policy, text)| (policy.line, &**text));
            faults.push(fault_at(line, text, error));
        }
    }

    fn done(self, hash: PolicyHash) -> GuardPolicies {
        let rules: Vec<CompiledPolicy> = self
            .own
            .iter()
            .zip(&self.policies)
            .map(|(own, policy)| CompiledPolicy::new(own, &policy.text))
            .collect();
        let kinds = ACTS.into_iter().chain(SessionAccess::ALL.map(SessionAccess::word));
        let parts: BTreeMap<&'static str, ActionPartition> = kinds
            .map(|kind| {
                let mut part = ActionPartition::default();
                for (place, (rule, own)) in rules.iter().zip(&self.own).enumerate() {
                    if is_about(own, kind, cedar_request::group(kind)) {
                        part.add(place, rule);
                    }
                }
                (kind, part)
            })
            .collect();
        let budgets_askers =
            rules.iter().any(|rule| rule.named.is_named(PrefilterNumber::AskerHour));
        let types = CedarTypes::new();
        GuardPolicies { hash, policies: self.policies, rules, parts, types, budgets_askers }
    }
}

/// Whether a policy can apply to an action.
fn is_about(policy: &cedar_policy::Policy, kind: &str, group: &str) -> bool {
    let names = |uid: &EntityUid| {
        let id: &str = uid.id().as_ref();
        id == kind || id == group
    };
    match policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => names(&uid),
        ActionConstraint::In(uids) => uids.iter().any(names),
    }
}

/// A fault of Cedar, at the line of the file that it points to.
fn fault_at(first: usize, text: &str, fault: &dyn Diagnostic) -> PolicyFault {
    let label = fault.labels().and_then(|mut labels| labels.next());
    let offset = label.map_or(0, |label| label.offset()).min(text.len());
    PolicyFault::new(first + newlines(&text[..text.floor_char_boundary(offset)]), fault.to_string())
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The set, if all of its examples came out as they should.
fn all_passed(
    (set, tried): (GuardPolicies, Vec<ExampleResult>),
) -> Result<GuardPolicies, InvalidPolicies> {
    InvalidPolicies::of_failed(&tried).map_or(Ok(set), Err)
}

fn number(id: &PolicyId) -> usize {
    let id: &str = id.as_ref();
    id.strip_prefix("policy").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
}

fn is_id(id: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=MAX_POLICY_ID_BYTES).contains(&id.len())
        && id.chars().all(is_plain)
        && !id.starts_with(ALWAYS_PREFIX)
}

/// A title as an id: words in lower case with `-` between them.
fn slug(title: &str) -> String {
    let words: Vec<String> = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let slug = words.join("-");
    slug[..slug.floor_char_boundary(MAX_POLICY_ID_BYTES)].to_owned()
}
