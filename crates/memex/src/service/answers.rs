//! Answers to questions to `:target :context`: from rows of the index to the plist that a shell gets.

use std::path::{Path, PathBuf};

use crate::search::focus::ShownAmount;
use crate::{
    AgendaEntry, AgendaPage, AgendaRequest, AgendaStanding, FocusView, IndexCompleteness,
    MemexCatalog, MemexObject, ObjectKind, OutlinePage, OutlineRequest, PrivateAccess, QueryHit,
    QueryMode, QueryPage, SearchText, WallMinute, resolve,
};
use bridle_record::StoreError;
use bridle_sexp::Value;
use bridle_sexp::byte_text::hex;

use super::questions::{HitDetails, MemexQuestion, SnippetChoice};
use super::refusal::{MemexRefusal, UNREADABLE};
use super::{IndexActivity, MemexShared, WatchMethod};

/// Bytes of objects in one answer; a page that is larger is cut, and goes on behind its cursor.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Characters of a day, such as `2026-11-15`.
const DAY_CHARS: usize = 10;

/// The folder of skills, in the Memex.
const SKILLS_FOLDER: &str = "skills";

/// Skills in one answer.
const MAX_LISTED_SKILLS: usize = 500;

/// Note that goes with a list of skills.
const SKILLS_NOTE: &str = "skills are files of the folder `skills` in the memex; one that is not in order serves as it was before";

/// Children of an object in one answer.
const MAX_LISTED_CHILDREN: usize = 500;

/// Rights of an asker, as far as they matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemexAsker {
    /// Access to private text.
    pub access: PrivateAccess,
}

impl MemexShared {
    /// Answers a question.
    pub(super) fn answer(
        &self,
        ask: &MemexQuestion,
        asked: &MemexAsker,
    ) -> Result<Value, MemexRefusal> {
        let access = asked.access;
        self.answer_for(ask, access).map_err(|refusal| match (access, refusal) {
            // The reason names folders and files.
            (PrivateAccess::Public, MemexRefusal::Unavailable(_)) => {
                MemexRefusal::Unavailable(UNREADABLE.to_owned())
            }
            (_, refusal) => refusal,
        })
    }

    fn answer_for(
        &self,
        ask: &MemexQuestion,
        access: PrivateAccess,
    ) -> Result<Value, MemexRefusal> {
        match ask {
            MemexQuestion::Query(..)
            | MemexQuestion::Outline(_)
            | MemexQuestion::Focus(_)
            | MemexQuestion::Agenda(_)
            | MemexQuestion::Object(_) => {
                let now = WallMinute((self.clock)().div_euclid(60_000));
                self.read(|catalog| from_catalog(catalog, ask, now, access))
            }
            MemexQuestion::Status => self.status(access),
            MemexQuestion::Skills => self.read(|catalog| skills(catalog, access)),
            MemexQuestion::SkillSource(name) => self.skill_source(name, access),
            MemexQuestion::Resolve(path) => self.resolved(path, access),
            MemexQuestion::Source(path) => self.source(path, access),
            // Answered by the hub, which has the record.
            MemexQuestion::Logs(_) => Err(MemexRefusal::Internal),
        }
    }

    fn status(&self, access: PrivateAccess) -> Result<Value, MemexRefusal> {
        let (activity, watched, memex) = {
            let now = self.now();
            (now.activity.clone(), now.watched, now.memex.clone())
        };
        let mut pairs = Vec::new();
        if access == PrivateAccess::Owner {
            pairs.push(("folder", text(&self.folder.to_string_lossy())));
        }
        pairs.extend(activity.fields(access));
        let how = if watched == WatchMethod::Notified { "told" } else { "polled" };
        pairs.push(("changes", Value::keyword(how)));
        if memex.is_some() {
            pairs.extend(self.read(|catalog| indexed(catalog, access))?);
        }
        Ok(success("memex-status", pairs))
    }

    /// The text of a skill, by the name that the list has.
    fn skill_source(&self, name: &str, access: PrivateAccess) -> Result<Value, MemexRefusal> {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(no_skill());
        }
        let path = format!("{SKILLS_FOLDER}/{name}.org");
        let found = self.source(&path, access).map_err(|_| no_skill())?;
        let source = found.get("source").and_then(Value::as_str).unwrap_or_default();
        Ok(success(
            "get-skill-source",
            [("name", text(name)), ("path", text(&path)), ("source", text(source))],
        ))
    }

    /// The text of a file of the Memex, without what is hidden from whoever asks.
    fn source(&self, path: &str, access: PrivateAccess) -> Result<Value, MemexRefusal> {
        let found = self.resolved(path, access)?;
        let within = found.get("relative").and_then(Value::as_str).map(str::to_owned);
        let within = within.ok_or(MemexRefusal::NotFound("no such file in the memex"))?;
        let object = self.read(|catalog| catalog.object(&within, access))?;
        let memex = self.now().memex.clone().filter(|_| access == PrivateAccess::Owner);
        let source = match memex.and_then(|memex| memex.read(&within).ok()) {
            Some((bytes, _)) => String::from_utf8_lossy(&bytes).into_owned(),
            None => self.read(|catalog| public_text(catalog, &object))?,
        };
        Ok(success("source", [("source", text(&source))]))
    }

    /// Resolves a path that stays below the Memex or one of the folders that are set.
    fn resolved(&self, path: &str, access: PrivateAccess) -> Result<Value, MemexRefusal> {
        let nowhere =
            || MemexRefusal::Invalid("no such path in the memex or the folders that are set");
        let own = self.now().memex.as_ref().map(|memex| memex.root().to_path_buf());
        let own = own.or_else(|| self.folder.canonicalize().ok()).ok_or_else(nowhere)?;
        let more = self.config.roots.iter().filter_map(|root| root.canonicalize().ok());
        let roots: Vec<PathBuf> = [own.clone()].into_iter().chain(more).collect();
        let named = ["$MEMEX_DIR/", "$MEMEX/"].iter().find_map(|start| path.strip_prefix(start));
        let named = named.unwrap_or(path);
        let found = match access {
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
    /// Resolves a path for askers who do not see everything. Only the index is asked, once, whatever exists: a file
    /// is confirmed only if it is visible anyway.
    fn indexed_path(&self, path: &str, own: &Path) -> Option<PathBuf> {
        let below = Path::new(path).strip_prefix(own).ok().and_then(Path::to_str).unwrap_or(path);
        let names: Vec<&str> = below.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let name = names.join("/");
        let found = self.read(|catalog| catalog.object(&name, PrivateAccess::Public)).ok()?;
        let is_it = found.kind() == ObjectKind::File && found.path == name;
        (is_it && !below.starts_with('/')).then(|| own.join(name))
    }
}

/// Answers a question that the index alone can answer; `NoObject` for any other.
pub(super) fn from_catalog(
    catalog: &MemexCatalog,
    ask: &MemexQuestion,
    clock: WallMinute,
    access: PrivateAccess,
) -> Result<Value, StoreError> {
    match ask {
        MemexQuestion::Query(query, details) => {
            let text = match details.snippets {
                SnippetChoice::Shown => SearchText::Snippets,
                SnippetChoice::Left => SearchText::None,
            };
            let mut query = query.clone();
            if let QueryMode::Question { now } = &mut query.mode {
                now.get_or_insert(clock);
            }
            catalog.query(&query, access, text).map(|it| page(it, &query.mode, *details, access))
        }
        MemexQuestion::Outline(outline) => {
            catalog.outline(outline, access).map(|it| outlined(it, access))
        }
        MemexQuestion::Focus(focus) => catalog.focus(focus, access).map(|it| seen(&it, access)),
        MemexQuestion::Agenda(days) => {
            let asked = days.at(clock);
            catalog.agenda(&asked, access).map(|it| agenda(&it, &asked, access))
        }
        MemexQuestion::Object(name) => object_of(catalog, name, access),
        MemexQuestion::Status
        | MemexQuestion::Skills
        | MemexQuestion::SkillSource(_)
        | MemexQuestion::Resolve(_)
        | MemexQuestion::Source(_)
        | MemexQuestion::Logs(_) => Err(StoreError::Search("a question for a daemon")),
    }
}

/// An agenda, as long as it fits an answer.
fn agenda(found: &AgendaPage, asked: &AgendaRequest, access: PrivateAccess) -> Value {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for entry in &found.entries {
        let value = planned(entry, access);
        bytes += value.to_string().len();
        if bytes > MAX_ANSWER_BYTES {
            break;
        }
        entries.push(value);
    }
    let is_cut = found.is_cut || entries.len() < found.entries.len();
    let pairs = [
        ("from", day(asked.from)),
        ("to", day(asked.to)),
        ("today", day(asked.now)),
        ("entries", Value::list(entries)),
    ];
    let cut = is_cut.then(|| ("cut", Value::bool(true)));
    success("agenda", pairs.into_iter().chain(cut))
}

/// An entry of an agenda.
fn planned(entry: &AgendaEntry, access: PrivateAccess) -> Value {
    let (standing, days) = match entry.standing {
        AgendaStanding::OnDay => ("on-day", None),
        AgendaStanding::Overdue(days) => ("overdue", Some(days)),
        AgendaStanding::Upcoming(days) => ("upcoming", Some(days)),
    };
    let mut pairs = vec![
        ("day", day(entry.day)),
        ("kind", Value::keyword(entry.kind.word())),
        ("standing", Value::keyword(standing)),
        ("date", day(entry.start)),
    ];
    pairs.extend(days.map(|days| ("days", Value::int(days))));
    if entry.is_timed {
        pairs.push(("time", clock_time(entry.start)));
        pairs.extend((entry.stop > entry.start).then(|| ("until", clock_time(entry.stop))));
    }
    pairs.extend(entry.repeats.then(|| ("repeats", Value::bool(true))));
    pairs.extend(facts(&entry.object, access));
    Value::plist(pairs)
}

/// A day such as `2026-11-15`.
fn day(minute: WallMinute) -> Value {
    Value::str(&minute.to_string()[..DAY_CHARS])
}

/// A time of day such as `10:30`.
fn clock_time(minute: WallMinute) -> Value {
    let minutes = minute.0.rem_euclid(24 * 60);
    Value::str(format!("{:02}:{:02}", minutes / 60, minutes % 60))
}

impl IndexActivity {
    /// Returns the fields of a status answer.
    fn fields(&self, access: PrivateAccess) -> Vec<(&'static str, Value)> {
        let state = |word| ("state", Value::keyword(word));
        match self {
            IndexActivity::Starting => vec![state("starting")],
            IndexActivity::Waiting => vec![state("ready")],
            // How much there is has what is private in it.
            IndexActivity::Reading(_) if access == PrivateAccess::Public => vec![state("indexing")],
            IndexActivity::Reading(progress) => vec![
                state("indexing"),
                ("done-files", size(progress.files)),
                ("all-files", size(progress.all_files)),
                ("done-bytes", number(progress.bytes)),
                ("all-bytes", number(progress.all_bytes)),
            ],
            IndexActivity::Stuck(why) if access == PrivateAccess::Owner => {
                vec![state("stuck"), ("reason", text(why))]
            }
            IndexActivity::Stuck(_) => vec![state("stuck")],
        }
    }
}

/// Returns the fields of a status answer about the index.
fn indexed(
    catalog: &MemexCatalog,
    access: PrivateAccess,
) -> Result<Vec<(&'static str, Value)>, StoreError> {
    let status = catalog.status(access)?;
    let mut pairs = vec![
        ("whole", Value::bool(status.standing == IndexCompleteness::Whole)),
        ("files", number(status.files)),
        ("headings", number(status.headings)),
    ];
    // Each of them changes with files that others do not see.
    if access == PrivateAccess::Owner {
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
        let duplicates = catalog.duplicates(access)?;
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

fn no_skill() -> MemexRefusal {
    MemexRefusal::NotFound("no skill of that name")
}

fn page(
    mut page: QueryPage,
    mode: &QueryMode,
    details: HitDetails,
    access: PrivateAccess,
) -> Value {
    let mut objects = Vec::new();
    let mut bytes = 0;
    for hit in &page.hits {
        let object = found(hit, details, access);
        bytes += object.to_string().len();
        if bytes > MAX_ANSWER_BYTES && !objects.is_empty() {
            break;
        }
        objects.push(object);
    }
    page.cut(objects.len());
    let mut pairs = vec![("objects", Value::list(objects))];
    pairs.extend(page.next.map(|next| ("next", text(&next.to_string()))));
    pairs.extend(page.changed.then(|| ("changed", Value::bool(true))));
    pairs.extend(page.ranked.map(|ranked| ("ranked", size(ranked))));
    if let QueryMode::Question { .. } = mode {
        pairs.push(("mode", Value::keyword("question")));
        pairs.extend(
            page.dates
                .as_ref()
                .map(|dates| ("dates", Value::list([day(dates.from), day(dates.to)]))),
        );
    }
    success("query", pairs)
}

fn outlined(mut page: OutlinePage, access: PrivateAccess) -> Value {
    let mut objects = Vec::new();
    let mut bytes = 0;
    for object in &page.objects {
        let value = Value::plist(facts(object, access));
        bytes += value.to_string().len();
        if bytes > MAX_ANSWER_BYTES && !objects.is_empty() {
            break;
        }
        objects.push(value);
    }
    page.cut(objects.len());
    let mut pairs = vec![("objects", Value::list(objects))];
    pairs.extend(page.next.as_deref().map(|next| ("next", text(next))));
    success("outline", pairs)
}

fn seen(vision: &FocusView, access: PrivateAccess) -> Value {
    let parts = vision.parts.iter().map(|part| {
        let mut pairs = facts(&part.object, access);
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

fn object_of(
    catalog: &MemexCatalog,
    name: &str,
    access: PrivateAccess,
) -> Result<Value, StoreError> {
    let object = catalog.object(name, access)?;
    let mut pairs = facts(&object, access);
    let properties = catalog.properties(&object)?;
    let properties = properties.iter().map(|(key, value)| Value::list([text(key), text(value)]));
    pairs.push(("properties", Value::list(properties)));
    pairs.extend(catalog.text(&object, access).map(|shown| ("text", text(&shown))));
    let above = catalog.above(&object)?;
    pairs.extend(above.last().map(|parent| ("parent", text(&parent.key))));
    let children = catalog.children(&object, access, MAX_LISTED_CHILDREN)?;
    let children = children.iter().map(|child| text(&child.key));
    pairs.push(("children", Value::list(children)));
    Ok(success("get-object", [("object", Value::plist(pairs))]))
}

fn skills(catalog: &MemexCatalog, access: PrivateAccess) -> Result<Value, StoreError> {
    let under = OutlineRequest {
        under: SKILLS_FOLDER.to_owned(),
        depth: Some(0),
        limit: MAX_LISTED_SKILLS,
        cursor: None,
    };
    let files = match catalog.outline(&under, access) {
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
    Ok(success("list-all-skills", [("skills", Value::list(all)), ("note", text(SKILLS_NOTE))]))
}

/// The text of a file as others than the owner see it.
fn public_text(catalog: &MemexCatalog, file: &MemexObject) -> Result<String, StoreError> {
    let mut source = String::new();
    let mut outline = OutlineRequest {
        under: file.key.clone(),
        limit: MAX_LISTED_SKILLS,
        ..OutlineRequest::default()
    };
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
fn found(hit: &QueryHit, details: HitDetails, access: PrivateAccess) -> Value {
    let mut pairs = facts(&hit.object, access);
    pairs.extend(hit.rank.map(|rank| ("rank", Value::float(rank))));
    pairs.extend(hit.snippet.as_deref().map(|snippet| ("snippet", text(snippet))));
    if details.reasons && !hit.reasons.is_empty() {
        let reasons = hit.reasons.iter().map(|reason| {
            Value::plist([
                ("term", text(&reason.term)),
                ("place", Value::keyword(reason.place.word())),
                ("weight", Value::float((reason.weight * 100.0).round() / 100.0)),
            ])
        });
        pairs.push(("why", Value::list(reasons)));
    }
    Value::plist(pairs)
}

fn facts(object: &MemexObject, access: PrivateAccess) -> Vec<(&'static str, Value)> {
    let list = |tags: &[String]| Value::list(tags.iter().map(|tag| text(tag)));
    let mut pairs = vec![
        ("id", text(&object.key)),
        ("type", Value::keyword(object.kind().word())),
        ("path", text(&object.path)),
        ("title", text(&object.title)),
        ("scope", Value::keyword(object.scope.word())),
    ];
    // It has what is private below it in it: whoever guesses that could see that they are right.
    if access == PrivateAccess::Owner {
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
        (true, true) if access == PrivateAccess::Owner => {
            pairs.push(("in-clear", Value::bool(true)));
        }
        _ => {}
    }
    pairs
}

/// Makes an answer `(:status :success :action ACTION ...)`.
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
