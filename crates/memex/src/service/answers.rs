//! Answers to questions to `:target :context`: from what the index says to what a shell is told.

use std::path::{Path, PathBuf};

use crate::search::focus::ShownAmount;
use crate::{
    FocusView, IndexCompleteness, MemexCatalog, MemexObject, ObjectKind, OutlinePage,
    OutlineRequest, PrivateAccess, QueryHit, QueryPage, SearchText, resolve,
};
use bridle_record::StoreError;
use bridle_sexp::Value;
use bridle_wire::OacpCode;
use bridle_wire::oacp::ErrorReply;

use super::questions::{MemexQuestion, SnippetChoice};
use super::{IndexActivity, MemexShared, UNREADABLE, WatchMethod};

/// Bytes of objects in one answer; a page that is larger is cut, and goes on behind its cursor.
const MAX_ANSWER: usize = 1 << 20;

/// The folder of skills, in the Memex.
const SKILLS: &str = "skills";

/// Skills in one answer.
const MAX_SKILLS: usize = 500;

/// What is said with a list of skills.
const NOT_RUN: &str =
    "skills are files of the folder `skills` in the memex; this version lists them and runs none";

/// Children of an object in one answer.
const MAX_CHILDREN: usize = 500;

/// Who asks, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemexAsker {
    /// What they may see.
    pub eyes: PrivateAccess,
}

impl MemexShared {
    /// Answers a question.
    pub(super) fn answer(
        &self,
        ask: &MemexQuestion,
        asked: &MemexAsker,
    ) -> Result<Value, ErrorReply> {
        let eyes = asked.eyes;
        self.answer_for(ask, eyes).map_err(|failure| match (eyes, failure.code) {
            // Why the index cannot be read names folders and files.
            (PrivateAccess::Public, OacpCode::StoreUnavailable) => {
                ErrorReply::because(OacpCode::StoreUnavailable, UNREADABLE)
            }
            _ => failure,
        })
    }

    fn answer_for(&self, ask: &MemexQuestion, eyes: PrivateAccess) -> Result<Value, ErrorReply> {
        match ask {
            MemexQuestion::Query(query, snippets) => {
                let text = match snippets {
                    SnippetChoice::Shown => SearchText::Snippets,
                    SnippetChoice::Left => SearchText::None,
                };
                self.read(|catalog| catalog.query(query, eyes, text)).map(|it| page(it, eyes))
            }
            MemexQuestion::Outline(outline) => {
                self.read(|catalog| catalog.outline(outline, eyes)).map(|it| outlined(it, eyes))
            }
            MemexQuestion::Focus(focus) => {
                self.read(|catalog| catalog.focus(focus, eyes)).map(|it| seen(&it, eyes))
            }
            MemexQuestion::Object(name) => self.read(|catalog| object_of(catalog, name, eyes)),
            MemexQuestion::Status => self.status(eyes),
            MemexQuestion::Skills => self.read(|catalog| skills(catalog, eyes)),
            MemexQuestion::SkillSource(name) => self.skill_source(name, eyes),
            MemexQuestion::Resolve(path) => self.resolved(path, eyes),
            MemexQuestion::Source(path) => self.source(path, eyes),
            // Answered by the hub, which has the record.
            MemexQuestion::Logs(_) => Err(OacpCode::Internal.into()),
        }
    }

    fn status(&self, eyes: PrivateAccess) -> Result<Value, ErrorReply> {
        let (doing, watched, memex) = {
            let now = self.now();
            (now.doing.clone(), now.watched, now.memex.clone())
        };
        let mut pairs = Vec::new();
        if eyes == PrivateAccess::Owner {
            pairs.push(("folder", text(&self.folder.to_string_lossy())));
        }
        pairs.extend(doing.told(eyes));
        let how = if watched == WatchMethod::Told { "told" } else { "polled" };
        pairs.push(("changes", Value::keyword(how)));
        if memex.is_some() {
            pairs.extend(self.read(|catalog| indexed(catalog, eyes))?);
        }
        Ok(success("memex-status", pairs))
    }

    /// The text of a skill, by the name that the list has.
    fn skill_source(&self, name: &str, eyes: PrivateAccess) -> Result<Value, ErrorReply> {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(no_skill());
        }
        let path = format!("{SKILLS}/{name}.org");
        let found = self.source(&path, eyes).map_err(|_| no_skill())?;
        let source = found.get("source").and_then(Value::as_str).unwrap_or_default();
        Ok(success(
            "get-skill-source",
            [("name", text(name)), ("path", text(&path)), ("source", text(source))],
        ))
    }

    /// The text of a file of the Memex, without what is hidden from whoever asks.
    fn source(&self, path: &str, eyes: PrivateAccess) -> Result<Value, ErrorReply> {
        let found = self.resolved(path, eyes)?;
        let within = found.get("relative").and_then(Value::as_str).map(str::to_owned);
        let within = within.ok_or_else(|| ErrorReply::from(OacpCode::UnknownId))?;
        let object = self.read(|catalog| catalog.object(&within, eyes))?;
        let memex = self.now().memex.clone().filter(|_| eyes == PrivateAccess::Owner);
        let source = match memex.and_then(|memex| memex.read(&within).ok()) {
            Some((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
            None => self.read(|catalog| public_text(catalog, &object))?,
        };
        Ok(success("source", [("source", text(&source))]))
    }

    /// Where a path leads, if it stays below the Memex or one of the folders that are set.
    fn resolved(&self, path: &str, eyes: PrivateAccess) -> Result<Value, ErrorReply> {
        let nowhere = || {
            ErrorReply::because(
                OacpCode::InvalidValue,
                "no such path in the memex or the folders that are set",
            )
        };
        let own = self.now().memex.as_ref().map(|memex| memex.root().to_path_buf());
        let own = own.or_else(|| self.folder.canonicalize().ok()).ok_or_else(nowhere)?;
        let more = self.config.roots.iter().filter_map(|root| root.canonicalize().ok());
        let roots: Vec<PathBuf> = [own.clone()].into_iter().chain(more).collect();
        let named = ["$MEMEX_DIR/", "$MEMEX/"].iter().find_map(|start| path.strip_prefix(start));
        let named = named.unwrap_or(path);
        let found = match eyes {
            PrivateAccess::Owner => resolve(named, &roots),
            PrivateAccess::Public => self.indexed_path(named, &own),
        };
        let found = found.ok_or_else(nowhere)?;
        let within = found.strip_prefix(&own).ok().and_then(Path::to_str);
        let whole = found.to_str().ok_or_else(nowhere)?;
        let mut pairs = vec![("path", text(whole))];
        pairs.extend(within.map(|within| ("relative", text(within))));
        Ok(success("resolve-path", pairs))
    }
}

impl MemexShared {
    /// Where a path leads for those who do not see everything. Only the index is asked, once, whatever there is: that a
    /// file exists is told only of what is seen anyway.
    fn indexed_path(&self, path: &str, own: &Path) -> Option<PathBuf> {
        let below = Path::new(path).strip_prefix(own).ok().and_then(Path::to_str).unwrap_or(path);
        let names: Vec<&str> = below.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let name = names.join("/");
        let found = self.read(|catalog| catalog.object(&name, PrivateAccess::Public)).ok()?;
        let is_it = found.kind() == ObjectKind::File && found.path == name;
        (is_it && !below.starts_with('/')).then(|| own.join(name))
    }
}

impl IndexActivity {
    /// What is told of it.
    fn told(&self, eyes: PrivateAccess) -> Vec<(&'static str, Value)> {
        let state = |word| ("state", Value::keyword(word));
        match self {
            IndexActivity::Starting => vec![state("starting")],
            IndexActivity::Waiting => vec![state("ready")],
            // How much there is has what is private in it.
            IndexActivity::Reading(_) if eyes == PrivateAccess::Public => vec![state("indexing")],
            IndexActivity::Reading(progress) => vec![
                state("indexing"),
                ("done-files", size(progress.files)),
                ("all-files", size(progress.all_files)),
                ("done-bytes", number(progress.bytes)),
                ("all-bytes", number(progress.all_bytes)),
            ],
            IndexActivity::Stuck(why) if eyes == PrivateAccess::Owner => {
                vec![state("stuck"), ("reason", text(why))]
            }
            IndexActivity::Stuck(_) => vec![state("stuck")],
        }
    }
}

/// What is told of the index.
fn indexed(
    catalog: &MemexCatalog,
    eyes: PrivateAccess,
) -> Result<Vec<(&'static str, Value)>, StoreError> {
    let status = catalog.status(eyes)?;
    let mut pairs = vec![
        ("whole", Value::bool(status.standing == IndexCompleteness::Whole)),
        ("files", number(status.files)),
        ("headings", number(status.headings)),
    ];
    // Each of them changes with files that others do not see.
    if eyes == PrivateAccess::Owner {
        pairs.push(("other-files", number(status.others)));
        pairs.push(("generation", number(status.generation)));
        let skipped = catalog.skipped()?;
        let skipped = skipped.iter().map(|it| {
            Value::plist([("path", text(&it.path)), ("why", Value::keyword(it.why.word()))])
        });
        pairs.push(("hash", text(&hex(&status.hash))));
        pairs.push(("skipped-count", number(status.skipped)));
        pairs.push(("skipped", Value::list(skipped)));
        // That an id is taken tells of what has it.
        let duplicates = catalog.duplicates(eyes)?;
        let duplicates = duplicates.iter().map(|it| {
            Value::plist([
                ("declared", text(&it.declared)),
                ("id", text(&it.key)),
                ("path", text(&it.path)),
                ("line", number(it.line)),
            ])
        });
        pairs.push(("duplicates", Value::list(duplicates)));
    }
    Ok(pairs)
}

fn no_skill() -> ErrorReply {
    ErrorReply::because(OacpCode::UnknownId, "no skill of that name")
}

fn page(mut page: QueryPage, eyes: PrivateAccess) -> Value {
    let mut objects = Vec::new();
    let mut bytes = 0;
    for hit in &page.hits {
        let object = found(hit, eyes);
        bytes += object.to_string().len();
        if bytes > MAX_ANSWER && !objects.is_empty() {
            break;
        }
        objects.push(object);
    }
    page.cut(objects.len());
    let mut pairs = vec![("objects", Value::list(objects))];
    pairs.extend(page.next.map(|next| ("next", text(&next.to_string()))));
    pairs.extend(page.changed.then(|| ("changed", Value::bool(true))));
    pairs.extend(page.ranked.map(|ranked| ("ranked", size(ranked))));
    success("query", pairs)
}

fn outlined(mut page: OutlinePage, eyes: PrivateAccess) -> Value {
    let mut objects = Vec::new();
    let mut bytes = 0;
    for object in &page.objects {
        let value = Value::plist(facts(object, eyes));
        bytes += value.to_string().len();
        if bytes > MAX_ANSWER && !objects.is_empty() {
            break;
        }
        objects.push(value);
    }
    page.cut(objects.len());
    let mut pairs = vec![("objects", Value::list(objects))];
    pairs.extend(page.next.as_deref().map(|next| ("next", text(next))));
    success("outline", pairs)
}

fn seen(vision: &FocusView, eyes: PrivateAccess) -> Value {
    let parts = vision.parts.iter().map(|part| {
        let mut pairs = facts(&part.object, eyes);
        match &part.shown {
            ShownAmount::Text(shown) => pairs.push(("text", text(shown))),
            ShownAmount::Beginning(shown) => {
                pairs.push(("text", text(shown)));
                pairs.push(("cut", Value::bool(true)));
            }
            ShownAmount::Title => {}
        }
        Value::plist(pairs)
    });
    let left = vision
        .left
        .iter()
        .map(|left| Value::plist([("what", text(left.what)), ("count", size(left.count))]));
    success(
        "focus",
        [
            ("parts", Value::list(parts)),
            ("left-out", Value::list(left)),
            ("tokens", size(vision.tokens)),
            ("budget", size(vision.budget)),
        ],
    )
}

fn object_of(catalog: &MemexCatalog, name: &str, eyes: PrivateAccess) -> Result<Value, StoreError> {
    let object = catalog.object(name, eyes)?;
    let mut pairs = facts(&object, eyes);
    let properties = catalog.properties(&object)?;
    let properties = properties.iter().map(|(key, value)| Value::list([text(key), text(value)]));
    pairs.push(("properties", Value::list(properties)));
    pairs.extend(catalog.text(&object, eyes).map(|shown| ("text", text(&shown))));
    let above = catalog.above(&object)?;
    pairs.extend(above.last().map(|parent| ("parent", text(&parent.key))));
    let children = catalog.children(&object, eyes, MAX_CHILDREN)?;
    let children = children.iter().map(|child| text(&child.key));
    pairs.push(("children", Value::list(children)));
    Ok(success("get-object", [("object", Value::plist(pairs))]))
}

fn skills(catalog: &MemexCatalog, eyes: PrivateAccess) -> Result<Value, StoreError> {
    let under = OutlineRequest {
        under: SKILLS.to_owned(),
        depth: Some(0),
        limit: MAX_SKILLS,
        cursor: None,
    };
    let files = match catalog.outline(&under, eyes) {
        Ok(page) => page.objects,
        Err(StoreError::NoObject(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut all = Vec::new();
    for file in files {
        let name = file.path.strip_prefix("skills/").and_then(|name| name.strip_suffix(".org"));
        let Some(name) = name.filter(|name| !name.contains('/')) else { continue };
        let properties = catalog.properties(&file)?;
        let property = |wanted: &str| {
            let found = properties.iter().find(|(key, _)| key == wanted);
            found.map_or(Value::Nil, |(_, value)| text(value))
        };
        all.push(Value::plist([
            ("name", text(name)),
            ("title", text(&file.title)),
            ("path", text(&file.path)),
            ("priority", property("PRIORITY")),
            ("dependencies", property("DEPENDS-ON")),
        ]));
    }
    Ok(success("list-all-skills", [("skills", Value::list(all)), ("note", text(NOT_RUN))]))
}

/// The text of a file as others than the owner see it.
fn public_text(catalog: &MemexCatalog, file: &MemexObject) -> Result<String, StoreError> {
    let mut source = String::new();
    let mut outline =
        OutlineRequest { under: file.key.clone(), limit: MAX_SKILLS, ..OutlineRequest::default() };
    loop {
        let page = catalog.outline(&outline, PrivateAccess::Public)?;
        for object in &page.objects {
            source.push_str(&catalog.text(object, PrivateAccess::Public).unwrap_or_default());
        }
        match page.next {
            Some(next) => outline.cursor = Some(next),
            None => return Ok(source),
        }
    }
}

/// An object that was found.
fn found(hit: &QueryHit, eyes: PrivateAccess) -> Value {
    let mut pairs = facts(&hit.object, eyes);
    pairs.extend(hit.rank.map(|rank| ("rank", Value::float(rank))));
    pairs.extend(hit.snippet.as_deref().map(|snippet| ("snippet", text(snippet))));
    Value::plist(pairs)
}

fn facts(object: &MemexObject, eyes: PrivateAccess) -> Vec<(&'static str, Value)> {
    let list = |tags: &[String]| Value::list(tags.iter().map(|tag| text(tag)));
    let mut pairs = vec![
        ("id", text(&object.key)),
        ("type", Value::keyword(object.kind().word())),
        ("path", text(&object.path)),
        ("title", text(&object.title)),
        ("scope", Value::keyword(object.scope.word())),
    ];
    // It has what is private below it in it: whoever guesses that could see that they are right.
    if eyes == PrivateAccess::Owner {
        pairs.push(("hash", text(&hex(&object.hash))));
    }
    if object.kind() == ObjectKind::Heading {
        pairs.push(("line", number(object.line)));
        pairs.push(("level", number(object.level)));
    }
    pairs.extend(object.todo.as_deref().map(|todo| ("todo", text(todo))));
    pairs.extend(object.done.then(|| ("done", Value::bool(true))));
    pairs.extend(object.priority.as_deref().map(|priority| ("priority", text(priority))));
    pairs.extend((!object.tags.is_empty()).then(|| ("tags", list(&object.tags))));
    pairs.extend((!object.inherited.is_empty()).then(|| ("inherited", list(&object.inherited))));
    pairs.extend(object.private.then(|| ("private", Value::bool(true))));
    match (object.encrypted, object.in_clear) {
        (true, false) => pairs.push(("encrypted", Value::bool(true))),
        (true, true) if eyes == PrivateAccess::Owner => pairs.push(("in-clear", Value::bool(true))),
        _ => {}
    }
    pairs
}

pub fn success<'k>(action: &str, rest: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let head = [("status", Value::keyword("success")), ("action", Value::keyword(action))];
    Value::plist(head.into_iter().chain(rest))
}

fn text(text: &str) -> Value {
    Value::str(text)
}

fn number(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn size(size: usize) -> Value {
    Value::int(i64::try_from(size).unwrap_or(i64::MAX))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
