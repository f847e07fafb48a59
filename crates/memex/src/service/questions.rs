//! Questions to `:target :context`, read from the payload of a request. Bounded by the limits of frames; a field that
//! is not understood is refused with its key and what was expected.

use crate::{
    AgendaRequest, DateSpan, FocusRequest, MemexQuery, ObjectKind, ObjectReach, OutlineRequest,
    QueryCursor, QueryMode, StampKind, WallMinute,
};
use bridle_sexp::Value;

use super::refusal::MemexRefusal;

/// Log entries in one answer, unless said, and at most.
const DEFAULT_LOG_ENTRIES: usize = 20;
const MAX_LOG_ENTRIES: usize = 100;

/// The last day that a date can have.
const LAST_MINUTE: WallMinute = WallMinute(i64::MAX / 4);

/// A question to the Memex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemexQuestion {
    /// Objects by what they are.
    Query(Box<MemexQuery>, HitDetails),
    /// Titles in order.
    Outline(OutlineRequest),
    /// View around a point.
    Focus(FocusRequest),
    /// Plans of days; the span and the present where they are said.
    Agenda(AgendaDays),
    /// One object with its text.
    Object(String),
    /// Status of the index.
    Status,
    /// List of skills.
    Skills,
    /// The text of one.
    SkillSource(String),
    /// Target of a path.
    Resolve(String),
    /// The text of a file, by its path; asked for by the daemon itself.
    Source(String),
    /// Latest records that the daemon wrote about itself.
    Logs(usize),
}

/// Days of an agenda, as far as they are said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgendaDays {
    /// First day.
    pub from: Option<WallMinute>,
    /// Last day.
    pub to: Option<WallMinute>,
    /// The present.
    pub now: Option<WallMinute>,
}

impl AgendaDays {
    /// Fills what was not said: it is now, and the agenda is of one day.
    #[must_use]
    pub fn at(self, clock: WallMinute) -> AgendaRequest {
        let now = self.now.unwrap_or(clock);
        let from = self.from.unwrap_or(now);
        AgendaRequest { from, to: self.to.unwrap_or(from), now }
    }
}

/// Details of hits that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitDetails {
    /// Places of words.
    pub snippets: SnippetChoice,
    /// Whether a question's hits say why they were found.
    pub reasons: bool,
}

/// Whether the places of words are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetChoice {
    Shown,
    Left,
}

impl MemexQuestion {
    /// Reads the question of a payload.
    ///
    /// # Errors
    /// A field is not understood: its key, and what was expected.
    pub fn of(payload: &Value) -> Result<MemexQuestion, MemexRefusal> {
        let read = QuestionPayload(payload);
        let action = payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
        match action.to_ascii_lowercase().as_str() {
            "query" => read.query(),
            "outline" => read.outline().map(MemexQuestion::Outline),
            "focus" => read.focus().map(MemexQuestion::Focus),
            "agenda" => read.agenda().map(MemexQuestion::Agenda),
            "get-object" => read.needed("id").map(MemexQuestion::Object),
            "memex-status" => Ok(MemexQuestion::Status),
            "list-all-skills" => Ok(MemexQuestion::Skills),
            "get-skill-source" => read.needed("name").map(MemexQuestion::SkillSource),
            "resolve-path" => read.needed("path").map(MemexQuestion::Resolve),
            "get-system-logs" => read.count("limit").map(|limit| {
                MemexQuestion::Logs(limit.unwrap_or(DEFAULT_LOG_ENTRIES).clamp(1, MAX_LOG_ENTRIES))
            }),
            _ => Err(field_refusal("action", "an action of `:context`")),
        }
    }
}

/// The payload of a request.
#[derive(Clone, Copy)]
struct QuestionPayload<'p>(&'p Value);

impl QuestionPayload<'_> {
    fn query(self) -> Result<MemexQuestion, MemexRefusal> {
        let snippets = match self.0.get("snippets").is_some_and(Value::is_nil) {
            true => SnippetChoice::Left,
            false => SnippetChoice::Shown,
        };
        let cursor = match self.text("cursor")? {
            None => None,
            Some(cursor) => Some(
                QueryCursor::parse(&cursor)
                    .ok_or_else(|| field_refusal("cursor", "a cursor of a query"))?,
            ),
        };
        let done = match self.word("state", "`:open` or `:done`")?.as_deref() {
            None => None,
            Some("open") => Some(false),
            Some("done") => Some(true),
            Some(_) => return Err(field_refusal("state", "`:open` or `:done`")),
        };
        let kind = match self.word("type", "`:heading` or `:file`")?.as_deref() {
            None => None,
            Some("heading" | "headline") => Some(ObjectKind::Heading),
            Some("file") => Some(ObjectKind::File),
            Some(_) => return Err(field_refusal("type", "`:heading` or `:file`")),
        };
        let query = MemexQuery {
            text: self.text("text")?,
            mode: self.mode()?,
            tags: self.texts("tag")?.into_iter().chain(self.texts("tags")?).collect(),
            without_tags: self.texts("without")?,
            todo: self.texts("todo")?,
            done,
            priority: self.text("priority")?,
            properties: self.properties()?,
            dates: self.dates()?,
            kind,
            scope: self.scope()?,
            under: self.text("under")?,
            limit: self.count("limit")?.unwrap_or(0),
            cursor,
        };
        let reasons = self.0.get("why").is_some_and(|why| !why.is_nil());
        Ok(MemexQuestion::Query(Box::new(query), HitDetails { snippets, reasons }))
    }

    fn mode(self) -> Result<QueryMode, MemexRefusal> {
        const EXPECTED: &str = "`:words` or `:question`";
        let now = self.minute("now", "a time such as `2026-11-15 10:30`")?;
        match self.word("mode", EXPECTED)?.as_deref() {
            None | Some("words") => Ok(QueryMode::AllWords),
            Some("question") => Ok(QueryMode::Question { now }),
            Some(_) => Err(field_refusal("mode", EXPECTED)),
        }
    }

    fn minute(
        self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<Option<WallMinute>, MemexRefusal> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        WallMinute::parse(&text).map(Some).ok_or_else(|| field_refusal(key, expected))
    }

    fn agenda(self) -> Result<AgendaDays, MemexRefusal> {
        const EXPECTED: &str = "a date such as `2026-11-15`";
        Ok(AgendaDays {
            from: self.minute("from", EXPECTED)?,
            to: self.minute("to", EXPECTED)?,
            now: self.minute("now", "a time such as `2026-11-15 10:30`")?,
        })
    }

    fn outline(self) -> Result<OutlineRequest, MemexRefusal> {
        Ok(OutlineRequest {
            under: self.text("under")?.unwrap_or_default(),
            depth: self.count("depth")?.map(|depth| depth as u64),
            limit: self.count("limit")?.unwrap_or(0),
            cursor: self.text("cursor")?,
        })
    }

    fn focus(self) -> Result<FocusRequest, MemexRefusal> {
        let at = self.text("id")?.or(self.text("at")?).unwrap_or_default();
        Ok(FocusRequest { at, budget: self.count("budget")?.unwrap_or(0) })
    }

    fn scope(self) -> Result<Option<ObjectReach>, MemexRefusal> {
        const EXPECTED: &str = "`:memex`, `:project` or `:session`";
        let Some(word) = self.word("scope", EXPECTED)? else { return Ok(None) };
        ObjectReach::parse(&word).map(Some).ok_or_else(|| field_refusal("scope", EXPECTED))
    }

    fn dates(self) -> Result<Option<DateSpan>, MemexRefusal> {
        let moment = |key: &'static str| -> Result<Option<(WallMinute, bool)>, MemexRefusal> {
            let Some(text) = self.text(key)? else { return Ok(None) };
            let read = WallMinute::parse(&text)
                .ok_or_else(|| field_refusal(key, "a date such as `2026-11-15`"))?;
            Ok(Some((read, text.trim().len() <= "2026-11-15".len())))
        };
        let (from, to) = (moment("from")?, moment("to")?);
        if from.is_none() && to.is_none() {
            return Ok(None);
        }
        let mut kinds = Vec::new();
        for word in self.words("dates")? {
            let kind = StampKind::ALL.into_iter().find(|kind| kind.word() == word);
            kinds.push(kind.ok_or_else(|| {
                field_refusal("dates", "some of `:scheduled :deadline :closed :active :inactive`")
            })?);
        }
        Ok(Some(DateSpan {
            from: from.map_or(WallMinute(0), |(from, _)| from),
            to: to.map_or(LAST_MINUTE, |(to, is_day)| if is_day { to.end_of_day() } else { to }),
            kinds,
            warnings: !self.0.get("warning").is_some_and(Value::is_nil),
        }))
    }

    /// `:property ("KEY" "VALUE")`, `:property "KEY"`, and `:properties` with a list of such.
    fn properties(self) -> Result<Vec<(String, Option<String>)>, MemexRefusal> {
        const EXPECTED: &str = "a name, or a list of a name and a value";
        let one = |value: &Value| match (value.as_str(), value.elements()) {
            (Some(key), _) => Some((key.to_owned(), None)),
            (_, Some([key])) => Some((key.as_str()?.to_owned(), None)),
            (_, Some([key, value])) => {
                Some((key.as_str()?.to_owned(), Some(value.as_str()?.to_owned())))
            }
            _ => None,
        };
        let mut all = Vec::new();
        if let Some(value) = self.0.get("property") {
            all.push(one(value).ok_or_else(|| field_refusal("property", EXPECTED))?);
        }
        if let Some(values) = self.0.get("properties") {
            let values = values.elements().ok_or_else(|| field_refusal("properties", "a list"))?;
            for value in values {
                all.push(one(value).ok_or_else(|| field_refusal("properties", EXPECTED))?);
            }
        }
        Ok(all)
    }

    fn needed(self, key: &'static str) -> Result<String, MemexRefusal> {
        self.text(key)?.ok_or_else(|| field_refusal(key, "a string"))
    }

    fn text(self, key: &'static str) -> Result<Option<String>, MemexRefusal> {
        match self.0.get(key) {
            None => Ok(None),
            Some(value) if value.is_nil() => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(field_refusal(key, "a string")),
            },
        }
    }

    /// One string, or a list of them.
    fn texts(self, key: &'static str) -> Result<Vec<String>, MemexRefusal> {
        let Some(value) = self.0.get(key) else { return Ok(Vec::new()) };
        if let Some(text) = value.as_str() {
            return Ok(vec![text.to_owned()]);
        }
        let texts =
            value.elements().map(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        match texts.flatten() {
            Some(texts) => Ok(texts.into_iter().map(str::to_owned).collect()),
            None => Err(field_refusal(key, "a string or a list of strings")),
        }
    }

    /// A keyword or a string, in lower case.
    fn word(
        self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<Option<String>, MemexRefusal> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else { return Ok(None) };
        let word = value.as_keyword().or_else(|| value.as_str());
        word.map(|word| Some(word.to_ascii_lowercase())).ok_or_else(|| field_refusal(key, expected))
    }

    fn words(self, key: &'static str) -> Result<Vec<String>, MemexRefusal> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else {
            return Ok(Vec::new());
        };
        let one = |value: &Value| {
            let word = value.as_keyword().or_else(|| value.as_str());
            word.map(str::to_ascii_lowercase).ok_or_else(|| field_refusal(key, "keywords"))
        };
        match value.elements() {
            Some(values) => values.iter().map(one).collect(),
            None => Ok(vec![one(value)?]),
        }
    }

    fn count(self, key: &'static str) -> Result<Option<usize>, MemexRefusal> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else { return Ok(None) };
        let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
        count.map(Some).ok_or_else(|| field_refusal(key, "a number that is not negative"))
    }
}

fn field_refusal(key: &'static str, expected: &str) -> MemexRefusal {
    MemexRefusal::Field { key, expected: expected.to_owned() }
}
