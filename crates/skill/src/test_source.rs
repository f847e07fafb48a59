//! Tests of a skill: tables of examples and forms `(test "name" ..)` below the heading `Tests`.

use bridle_org::{Document, Span};
use bridle_sexp::{Comments, Limits, Progress, Reader, Value};

use crate::fault::SkillFault;
use crate::run::SkillCall;

/// Tests of one skill.
const MAX_TESTS: usize = 2_000;

/// Nesting of the forms of tests.
const MAX_TEST_DEPTH: usize = 128;

/// Subject of a test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TestSubject {
    Call(SkillCall),
    /// Source of a form.
    Form(String),
}

/// Condition that must hold at the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TestExpectation {
    /// The value, or the text if it is one.
    Answer(Value),
    /// Text that is in the answer.
    Contains(String),
    /// Actions that it asked for, in order: target and payload.
    Acts(Vec<Value>),
    /// Value that it saved last.
    Saved(Value),
    /// Failure, with this in the message.
    Fails(String),
    /// Printed value of a form.
    Prints(String),
}

/// A test of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillTest {
    /// Its name.
    pub name: String,
    /// Line of the file, from 1.
    pub line: usize,
    pub(crate) subject: TestSubject,
    /// Outcomes of actions, in the order in which they are asked for.
    pub(crate) results: Vec<Value>,
    pub(crate) state: Value,
    pub(crate) now: i64,
    pub(crate) random: Vec<i64>,
    pub(crate) expected: Vec<TestExpectation>,
}

impl SkillTest {
    fn new(name: String, line: usize, subject: TestSubject) -> Self {
        let (results, random, expected) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, line, subject, results, state: Value::Nil, now: 0, random, expected }
    }
}

/// Reads all tests below the heading.
pub(crate) fn read(
    document: &Document<'_>,
    span: Span,
    text: &str,
    file: &str,
) -> Result<Vec<SkillTest>, SkillFault> {
    let mut reader = TestReader { text, file, tests: Vec::new() };
    let inside = |at: usize| span.start <= at && at < span.end;
    let blocks = document.sources().iter().filter(|block| inside(block.span.start));
    for block in blocks.clone().filter(|block| is_lisp(block.language)) {
        let body = block.body();
        reader.block(&String::from_utf8_lossy(&body), block.line_in_file(1))?;
    }
    let hidden: Vec<Span> = blocks.map(|block| block.span).collect();
    let mut table = TableReader::default();
    let (mut at, mut line) = (span.start, document.line_at(span.start));
    for row in text.get(span.start..span.end).unwrap_or_default().split_inclusive('\n') {
        let is_hidden = hidden.iter().any(|block| block.start <= at && at < block.end);
        match row.trim().strip_prefix('|').filter(|_| !is_hidden) {
            Some(cells) => table.row(cells, line, &mut reader)?,
            None => table = TableReader::default(),
        }
        at += row.len();
        line += 1;
    }
    reader.tests.sort_by_key(|test| test.line);
    if reader.tests.len() > MAX_TESTS {
        let reason = format!("{} tests, expected at most {MAX_TESTS}", reader.tests.len());
        return Err(reader.fault(reason, document.line_at(span.start)));
    }
    Ok(reader.tests)
}

fn is_lisp(language: Option<&[u8]>) -> bool {
    language.is_some_and(|name| name.eq_ignore_ascii_case(b"lisp"))
}

struct TestReader<'t> {
    text: &'t str,
    file: &'t str,
    tests: Vec<SkillTest>,
}

impl TestReader<'_> {
    fn fault(&self, message: impl Into<String>, line: usize) -> SkillFault {
        SkillFault::at_line(message, self.file, self.text, line)
    }

    /// Reads the forms of a block whose first line is line `first` of the file.
    fn block(&mut self, body: &str, first: usize) -> Result<(), SkillFault> {
        let limits = Limits { depth: MAX_TEST_DEPTH, ..Limits::default() };
        let reader = Reader::new().comments(Comments::Skip).limits(limits);
        let mut start = 0;
        loop {
            let rest = &body[start..];
            let line_of = |at: usize| first + body[..at].matches('\n').count();
            match reader.read(rest) {
                Ok(Progress::Done(tree)) => {
                    let here = start + tree.root().span().start;
                    let test = self.form(&tree.root().to_value(), line_of(here))?;
                    self.tests.push(test);
                    start += tree.consumed();
                }
                Ok(Progress::Incomplete) => {
                    let is_rest = reader
                        .read_one(rest)
                        .is_err_and(|error| error.category() == bridle_sexp::Category::Empty);
                    let ends = || self.fault("the block ends inside a test", line_of(start));
                    return if is_rest { Ok(()) } else { Err(ends()) };
                }
                Err(error) => {
                    let line = line_of(start + error.place().offset);
                    return Err(self.fault(error.reason(), line));
                }
            }
        }
    }

    /// Reads `(test "name" :prompt ".." ..)`.
    fn form(&self, form: &Value, line: usize) -> Result<SkillTest, SkillFault> {
        let elements = form.elements().unwrap_or_default();
        let (head, rest) = elements.split_at(elements.len().min(2));
        let name = match head {
            [word, Value::Str(name)] if word.as_symbol() == Some("test") => name.to_string(),
            _ => return Err(self.fault("expected (test \"name\" ..)", line)),
        };
        let fields = Value::list(rest.iter().cloned());
        if fields.pairs().is_none() {
            return Err(self.fault("expected keywords and values behind the name", line));
        }
        let subject = subject(&fields).map_err(|reason| self.fault(reason, line))?;
        let mut test = SkillTest::new(name, line, subject);
        for (key, value) in fields.pairs().into_iter().flatten() {
            let key = key.as_keyword().unwrap_or_default();
            apply(&mut test, key, value).map_err(|reason| self.fault(reason, line))?;
        }
        if test.expected.is_empty() {
            let keys = ":answer, :contains, :acts, :saved, :fails or :prints";
            return Err(self.fault(format!("the test expects nothing: give {keys}"), line));
        }
        Ok(test)
    }
}

const SUBJECTS: &str =
    ":prompt, :command, :think, :perceive, :decide, :tool, :actuator, :encode, :decode or :form";

/// The call that a test is about.
fn subject(fields: &Value) -> Result<TestSubject, String> {
    let get = |key: &str| fields.get(key).cloned();
    let text = |key: &str| get(key).and_then(|value| value.as_str().map(str::to_owned));
    let context = get("context").unwrap_or(Value::Nil);
    let call = if let Some(prompt) = text("prompt") {
        SkillCall::Think { context: prompt_context(&prompt, &context) }
    } else if let Some(command) = text("command") {
        command_call(&command, context)
    } else if let Some(context) = get("think") {
        SkillCall::Think { context }
    } else if let Some(signal) = get("perceive") {
        SkillCall::Perceive { signal }
    } else if let Some(proposal) = get("decide") {
        SkillCall::Decide { proposal, context }
    } else if let Some(name) = text("tool") {
        SkillCall::Tool { name, arguments: get("arguments").unwrap_or(Value::Nil) }
    } else if let Some(actuator) = text("actuator") {
        SkillCall::Act { actuator, action: get("order").unwrap_or(Value::Nil), context }
    } else if let Some(request) = get("encode") {
        SkillCall::Encode { request }
    } else if let Some(answer) = get("decode") {
        SkillCall::Decode { answer }
    } else if let Some(form) = get("form") {
        return Ok(TestSubject::Form(match form {
            Value::Str(source) => source.into(),
            other => other.to_string(),
        }));
    } else {
        return Err(format!("the test calls nothing: give {SUBJECTS}"));
    };
    Ok(TestSubject::Call(call))
}

/// `NAME TEXT`, with or without a slash.
fn command_call(command: &str, context: Value) -> SkillCall {
    let command = command.strip_prefix('/').unwrap_or(command);
    let (name, text) = command.split_once(' ').unwrap_or((command, ""));
    SkillCall::Command { name: name.to_owned(), text: text.trim().to_owned(), context }
}

fn prompt_context(prompt: &str, more: &Value) -> Value {
    let own =
        Value::plist([("sensor", Value::keyword("user-prompt")), ("text", Value::str(prompt))]);
    let both = own.elements().unwrap_or_default().iter().chain(more.elements().unwrap_or_default());
    Value::list(both.cloned())
}

fn apply(test: &mut SkillTest, key: &str, value: &Value) -> Result<(), String> {
    let list = || value.elements().map(<[Value]>::to_vec).ok_or(format!(":{key} is no list"));
    let text = || value.as_str().map(str::to_owned).ok_or(format!(":{key} is no text"));
    match key {
        "prompt" | "command" | "think" | "perceive" | "decide" | "tool" | "actuator" | "encode"
        | "decode" | "form" | "arguments" | "order" | "context" => {}
        "results" => test.results = list()?,
        "state" => test.state = value.clone(),
        "now" => test.now = value.as_i64().ok_or(":now is no number")?,
        "random" => test.random = list()?.iter().filter_map(Value::as_i64).collect(),
        "answer" => test.expected.push(TestExpectation::Answer(value.clone())),
        "contains" => test.expected.push(TestExpectation::Contains(text()?)),
        "acts" => test.expected.push(TestExpectation::Acts(list()?)),
        "saved" => test.expected.push(TestExpectation::Saved(value.clone())),
        "fails" => test.expected.push(TestExpectation::Fails(text()?)),
        "prints" => test.expected.push(TestExpectation::Prints(text()?)),
        other => return Err(format!(":{other} is no key of a test")),
    }
    Ok(())
}

/// Rows of one table.
#[derive(Default)]
struct TableReader {
    columns: Option<Vec<TableColumn>>,
}

/// Column of a table of examples.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableColumn {
    Prompt,
    Command,
    Form,
    Answer,
    Contains,
    Value,
}

impl TableColumn {
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "prompt" => Some(Self::Prompt),
            "command" => Some(Self::Command),
            "form" => Some(Self::Form),
            "answer" => Some(Self::Answer),
            "contains" => Some(Self::Contains),
            "value" => Some(Self::Value),
            _ => None,
        }
    }
}

impl TableReader {
    fn row(
        &mut self,
        cells: &str,
        line: usize,
        reader: &mut TestReader<'_>,
    ) -> Result<(), SkillFault> {
        let cells = cells.trim_end();
        if cells.starts_with('-') {
            return Ok(());
        }
        let cells = cells.strip_suffix('|').unwrap_or(cells);
        let cells = cells.split('|').map(|cell| cell.trim().replace("\\vert{}", "|"));
        let cells: Vec<String> = cells.map(|cell| cell.replace("\\vert", "|")).collect();
        let Some(columns) = &self.columns else {
            let columns = cells.iter().map(|name| TableColumn::of(name)).collect();
            let expected =
                "expected the columns prompt, command or form, and answer, contains or value";
            let columns: Option<Vec<TableColumn>> = columns;
            self.columns = Some(columns.ok_or_else(|| reader.fault(expected, line))?);
            return Ok(());
        };
        let cell = |wanted: TableColumn| {
            let at = columns.iter().position(|column| *column == wanted)?;
            cells.get(at).filter(|cell| !cell.is_empty()).cloned()
        };
        let subject = if let Some(prompt) = cell(TableColumn::Prompt) {
            let context = prompt_context(&prompt, &Value::Nil);
            (prompt, TestSubject::Call(SkillCall::Think { context }))
        } else if let Some(command) = cell(TableColumn::Command) {
            let call = command_call(&command, Value::Nil);
            (command, TestSubject::Call(call))
        } else if let Some(form) = cell(TableColumn::Form) {
            (form.clone(), TestSubject::Form(form))
        } else {
            return Err(reader.fault("the row has no prompt, command or form", line));
        };
        let mut test = SkillTest::new(subject.0, line, subject.1);
        let answer = |text: String| TestExpectation::Answer(Value::str(text));
        test.expected.extend(cell(TableColumn::Answer).map(answer));
        test.expected.extend(cell(TableColumn::Contains).map(TestExpectation::Contains));
        test.expected.extend(cell(TableColumn::Value).map(TestExpectation::Prints));
        if test.expected.is_empty() {
            return Err(reader.fault("the row expects nothing", line));
        }
        reader.tests.push(test);
        Ok(())
    }
}
