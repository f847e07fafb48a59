//! What the registry of skills knows, put into the answers to `:list-all-skills` and `:get-skill-source`.
//!
//! Which files there are, and who may see them, the memory says; whether they serve, the registry.

use bridle_memex::MemexQuestion;
use bridle_sexp::Value;
use bridle_skill_host::{SkillEntry, SkillTable};

/// Reader of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum SkillReader {
    /// The owner, who is told reasons and texts.
    Owner,
    /// Anybody else.
    Other,
}

/// An answer of the memory, with what the registry knows of the skills in it.
pub(in crate::engine) fn enriched(
    question: &MemexQuestion,
    answer: Value,
    table: &SkillTable,
    reader: SkillReader,
) -> Value {
    match question {
        MemexQuestion::Skills => listed(answer, table, reader),
        MemexQuestion::SkillSource(name) => {
            let path = format!("skills/{name}.org");
            let more = standing(table, &path, reader);
            let serving = entry(table, &path).filter(|_| reader == SkillReader::Owner);
            let text = answer.get("source").and_then(Value::as_str);
            let serving = serving.map(|entry| entry.skill.source().text.as_str());
            let other = serving.filter(|serving| Some(*serving) != text);
            let other = other.map(|serving| ("serving", Value::str(serving)));
            with(&answer, more.into_iter().chain(other))
        }
        _ => answer,
    }
}

fn listed(answer: Value, table: &SkillTable, reader: SkillReader) -> Value {
    let Some(skills) = answer.get("skills") else { return answer };
    let skill = |skill: &Value| {
        let path = skill.get("path").and_then(Value::as_str).unwrap_or_default();
        with(skill, standing(table, path, reader))
    };
    let skills = Value::list(skills.elements().unwrap_or_default().iter().map(skill));
    let pairs = answer.elements().unwrap_or_default().chunks_exact(2);
    Value::list(pairs.flat_map(|pair| match pair[0].is_keyword("skills") {
        true => [pair[0].clone(), skills.clone()],
        false => [pair[0].clone(), pair[1].clone()],
    }))
}

/// Whether the skill of a file serves.
fn standing(table: &SkillTable, path: &str, reader: SkillReader) -> Vec<(&'static str, Value)> {
    let problem = table.problems().iter().find(|problem| problem.file.ends_with(path));
    let entry = entry(table, path);
    let status = match (&entry, problem) {
        (Some(_), None) => "serves",
        (Some(_), Some(_)) => "old",
        (None, Some(_)) => "faulty",
        (None, None) => "unread",
    };
    let mut pairs = vec![("status", Value::keyword(status))];
    if let Some(entry) = entry {
        pairs.push(("hash", Value::str(entry.skill.source().hash.as_str())));
    }
    if let Some(problem) = problem.filter(|_| reader == SkillReader::Owner) {
        pairs.push(("reason", Value::str(problem.reason.as_str())));
    }
    pairs
}

fn entry<'t>(table: &'t SkillTable, path: &str) -> Option<&'t SkillEntry> {
    table.skills().find(|entry| entry.file.ends_with(path))
}

fn with(plist: &Value, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let own = plist.elements().unwrap_or_default().iter().cloned();
    let more = more.into_iter().flat_map(|(key, value)| [Value::keyword(key), value]);
    Value::list(own.chain(more))
}
