//! Questions to `:target :context`, read from the payload of a request. Bounded by the limits of frames; what is said
//! wrongly is answered with the key and what was expected.

use crate::{
    DateSpan, FocusRequest, MemexQuery, ObjectKind, ObjectReach, OutlineRequest, QueryCursor,
    StampKind, WallMinute,
};
use bridle_sexp::Value;
use bridle_wire::OacpCode;
use bridle_wire::oacp::{ErrorReply, MessagePath};

/// Log entries in one answer, unless said, and at most.
const LOGS: usize = 20;
const MAX_LOGS: usize = 100;

/// The last day that a date can have.
const FOREVER: WallMinute = WallMinute(i64::MAX / 4);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemexQuestion {
    /// Objects by what they are.
    Query(Box<MemexQuery>, SnippetChoice),
    /// Titles in order.
    Outline(OutlineRequest),
    /// What stands around a point.
    Focus(FocusRequest),
    /// One object with its text.
    Object(String),
    /// How it stands with the index.
    Status,
    /// Which skills there are.
    Skills,
    /// The text of one.
    SkillSource(String),
    /// Where a path leads.
    Resolve(String),
    /// The text of a file, by its path; asked for by the daemon itself.
    Source(String),
    /// What went wrong in the daemon lately.
    Logs(usize),
}

/// Whether the places of words are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetChoice {
    Shown,
    Left,
}

impl MemexQuestion {
    /// What a payload asks.
    ///
    /// # Errors
    /// It is not understood: the key, and what was expected.
    pub fn of(payload: &Value) -> Result<MemexQuestion, ErrorReply> {
        let read = QuestionPayload(payload);
        let action = payload.get("action").and_then(Value::as_keyword).unwrap_or_default();
        match action.to_ascii_lowercase().as_str() {
            "query" => read.query(),
            "outline" => read.outline().map(MemexQuestion::Outline),
            "focus" => read.focus().map(MemexQuestion::Focus),
            "get-object" => read.needed("id").map(MemexQuestion::Object),
            "memex-status" => Ok(MemexQuestion::Status),
            "list-all-skills" => Ok(MemexQuestion::Skills),
            "get-skill-source" => read.needed("name").map(MemexQuestion::SkillSource),
            "resolve-path" => read.needed("path").map(MemexQuestion::Resolve),
            "get-system-logs" => read
                .count("limit")
                .map(|limit| MemexQuestion::Logs(limit.unwrap_or(LOGS).clamp(1, MAX_LOGS))),
            _ => Err(fault("action", "an action of `:context`")),
        }
    }
}

/// The payload of a request.
#[derive(Clone, Copy)]
struct QuestionPayload<'p>(&'p Value);

impl QuestionPayload<'_> {
    fn query(self) -> Result<MemexQuestion, ErrorReply> {
        let snippets = match self.0.get("snippets").is_some_and(Value::is_nil) {
            true => SnippetChoice::Left,
            false => SnippetChoice::Shown,
        };
        let cursor = match self.text("cursor")? {
            None => None,
            Some(cursor) => Some(
                QueryCursor::parse(&cursor)
                    .ok_or_else(|| fault("cursor", "a cursor of a query"))?,
            ),
        };
        let done = match self.word("state", "`:open` or `:done`")?.as_deref() {
            None => None,
            Some("open") => Some(false),
            Some("done") => Some(true),
            Some(_) => return Err(fault("state", "`:open` or `:done`")),
        };
        let kind = match self.word("type", "`:heading` or `:file`")?.as_deref() {
            None => None,
            Some("heading" | "headline") => Some(ObjectKind::Heading),
            Some("file") => Some(ObjectKind::File),
            Some(_) => return Err(fault("type", "`:heading` or `:file`")),
        };
        let query = MemexQuery {
            text: self.text("text")?,
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
        Ok(MemexQuestion::Query(Box::new(query), snippets))
    }

    fn outline(self) -> Result<OutlineRequest, ErrorReply> {
        Ok(OutlineRequest {
            under: self.text("under")?.unwrap_or_default(),
            depth: self.count("depth")?.map(|depth| depth as u64),
            limit: self.count("limit")?.unwrap_or(0),
            cursor: self.text("cursor")?,
        })
    }

    fn focus(self) -> Result<FocusRequest, ErrorReply> {
        let at = self.text("id")?.or(self.text("at")?).unwrap_or_default();
        Ok(FocusRequest { at, budget: self.count("budget")?.unwrap_or(0) })
    }

    fn scope(self) -> Result<Option<ObjectReach>, ErrorReply> {
        const EXPECTED: &str = "`:memex`, `:project` or `:session`";
        let Some(word) = self.word("scope", EXPECTED)? else { return Ok(None) };
        ObjectReach::parse(&word).map(Some).ok_or_else(|| fault("scope", EXPECTED))
    }

    fn dates(self) -> Result<Option<DateSpan>, ErrorReply> {
        let moment = |key: &'static str| -> Result<Option<(WallMinute, bool)>, ErrorReply> {
            let Some(text) = self.text(key)? else { return Ok(None) };
            let read = WallMinute::parse(&text)
                .ok_or_else(|| fault(key, "a date such as `2026-11-15`"))?;
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
                fault("dates", "some of `:scheduled :deadline :closed :active :inactive`")
            })?);
        }
        Ok(Some(DateSpan {
            from: from.map_or(WallMinute(0), |(from, _)| from),
            to: to.map_or(FOREVER, |(to, is_day)| if is_day { to.end_of_day() } else { to }),
            kinds,
            warnings: !self.0.get("warning").is_some_and(Value::is_nil),
        }))
    }

    /// `:property ("KEY" "VALUE")`, `:property "KEY"`, and `:properties` with a list of such.
    fn properties(self) -> Result<Vec<(String, Option<String>)>, ErrorReply> {
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
            all.push(one(value).ok_or_else(|| fault("property", EXPECTED))?);
        }
        if let Some(values) = self.0.get("properties") {
            let values = values.elements().ok_or_else(|| fault("properties", "a list"))?;
            for value in values {
                all.push(one(value).ok_or_else(|| fault("properties", EXPECTED))?);
            }
        }
        Ok(all)
    }

    fn needed(self, key: &'static str) -> Result<String, ErrorReply> {
        self.text(key)?.ok_or_else(|| fault(key, "a string"))
    }

    fn text(self, key: &'static str) -> Result<Option<String>, ErrorReply> {
        match self.0.get(key) {
            None => Ok(None),
            Some(value) if value.is_nil() => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(fault(key, "a string")),
            },
        }
    }

    /// One string, or a list of them.
    fn texts(self, key: &'static str) -> Result<Vec<String>, ErrorReply> {
        let Some(value) = self.0.get(key) else { return Ok(Vec::new()) };
        if let Some(text) = value.as_str() {
            return Ok(vec![text.to_owned()]);
        }
        let texts =
            value.elements().map(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        match texts.flatten() {
            Some(texts) => Ok(texts.into_iter().map(str::to_owned).collect()),
            None => Err(fault(key, "a string or a list of strings")),
        }
    }

    /// A keyword or a string, in lower case.
    fn word(self, key: &'static str, expected: &'static str) -> Result<Option<String>, ErrorReply> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else { return Ok(None) };
        let word = value.as_keyword().or_else(|| value.as_str());
        word.map(|word| Some(word.to_ascii_lowercase())).ok_or_else(|| fault(key, expected))
    }

    fn words(self, key: &'static str) -> Result<Vec<String>, ErrorReply> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else {
            return Ok(Vec::new());
        };
        let one = |value: &Value| {
            let word = value.as_keyword().or_else(|| value.as_str());
            word.map(str::to_ascii_lowercase).ok_or_else(|| fault(key, "keywords"))
        };
        match value.elements() {
            Some(values) => values.iter().map(one).collect(),
            None => Ok(vec![one(value)?]),
        }
    }

    fn count(self, key: &'static str) -> Result<Option<usize>, ErrorReply> {
        let Some(value) = self.0.get(key).filter(|value| !value.is_nil()) else { return Ok(None) };
        let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
        count.map(Some).ok_or_else(|| fault(key, "a number that is not negative"))
    }
}

fn fault(key: &'static str, expected: &str) -> ErrorReply {
    let path = MessagePath::of(&["payload", key]);
    ErrorReply {
        path,
        ..ErrorReply::because(OacpCode::InvalidValue, format!("expected {expected}"))
    }
}
