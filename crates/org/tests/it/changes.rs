//! Cases of changes, `(NAME OPERATION LINE ARGUMENTS TEXT OPTIONS)`, and what the crate makes of each. Shared with the task
//! that compares them with Emacs.

use bridle_org::{Edit, EditError, Moment, NodeId, Origin, Plan, Preset, StateChange, Tree, Type};
use bridle_sexp::Value;

/// The archive that subtrees are put into, as the counterpart in Emacs has it.
pub(crate) const ARCHIVE: &[u8] = b"* before\n";

/// The present of a case that names none.
pub(crate) const NOW: &str = "[2026-11-15 Sun 10:00]";

/// One change of one text.
pub(crate) struct ChangeCase {
    pub(crate) name: String,
    pub(crate) operation: String,
    pub(crate) line: usize,
    pub(crate) arguments: Vec<Value>,
    pub(crate) source: Vec<u8>,
    pub(crate) options: Value,
}

/// The texts after a change, the archive behind the text itself; or why there is none.
pub(crate) type Changed = Result<Vec<Vec<u8>>, EditError>;

impl ChangeCase {
    /// Reads a case.
    pub(crate) fn read(form: &Value) -> Option<Self> {
        let (head, options) = match form.elements()? {
            [head @ .., options] if head.len() == 5 => (head, options.clone()),
            head => (head, Value::Nil),
        };
        let [name, operation, line, arguments, source] = head else { return None };
        Some(Self {
            name: name.to_string(),
            operation: operation.to_string(),
            line: usize::try_from(line.as_i64()?).ok()?,
            arguments: arguments.elements().unwrap_or_default().to_vec(),
            source: text(source)?,
            options,
        })
    }

    fn texts(&self) -> Vec<Option<Vec<u8>>> {
        self.arguments.iter().map(text).collect()
    }

    /// Carries the change out. Each edit is shown to `check` with the text that it is of.
    pub(crate) fn carry_out(&self, check: &dyn Fn(&[u8], &Edit<'_>)) -> Changed {
        let said = |key| self.options.get(key).and_then(Value::as_str).unwrap_or_default();
        let todo = self.options.get("todo").and_then(Value::elements).unwrap_or_default();
        let preset = Preset {
            todo: todo.iter().filter_map(Value::as_str).map(str::as_bytes).collect(),
            startup: said("startup").as_bytes(),
            enforce_dependencies: self.options.get("enforce").is_some_and(|it| !it.is_nil()),
        };
        let now = if said("now").is_empty() { NOW } else { said("now") };
        let now = Moment::read(now.as_bytes()).ok_or(EditError::Unreadable)?;
        let tree = Tree::read_with_preset(&self.source, &preset);
        if self.operation == "archive" {
            return self.archived(&tree, check);
        }
        let id = at_line(&tree, self.line).ok_or(EditError::Missing)?;
        if self.operation == "clock-out" {
            let texts = self.texts();
            let [Some(began), Some(ended)] = &texts[..] else { return Err(EditError::Missing) };
            let running = tree.clock_in(id, began)?.apply();
            let tree = Tree::read(&running);
            let id = at_line(&tree, self.line).ok_or(EditError::Missing)?;
            return Ok(vec![tree.clock_out(id, ended)?.apply()]);
        }
        let edit = self.edit(&tree, id, now)?;
        check(&self.source, &edit);
        Ok(vec![edit.apply()])
    }

    fn edit<'t>(&self, tree: &Tree<'t>, id: NodeId, now: Moment) -> Result<Edit<'t>, EditError> {
        let texts = self.texts();
        let first = texts.first().and_then(Option::as_deref);
        let second = texts.get(1).and_then(Option::as_deref);
        let given = first.ok_or(EditError::Missing);
        match self.operation.as_str() {
            "todo" => {
                let note = second.unwrap_or_default();
                tree.change_state(id, &StateChange { keyword: first, now, note })
            }
            "priority" => tree.set_priority(id, first.map(|letter| letter[0])),
            "title" => tree.set_title(id, given?),
            "tags" => {
                tree.set_tags(id, &texts.iter().flatten().map(Vec::as_slice).collect::<Vec<_>>())
            }
            "archive-tag" => tree.archive(id),
            "property" => tree.set_property(id, given?, second),
            "scheduled" => tree.set_planning(id, Plan::Scheduled, first, now),
            "deadline" => tree.set_planning(id, Plan::Deadline, first, now),
            "closed" => tree.set_planning(id, Plan::Closed, first, now),
            "checkbox" => tree.toggle_checkbox(id),
            "clock-in" => tree.clock_in(id, given?),
            "move-up" => tree.move_up(id),
            "cut" => tree.cut_subtree(id),
            "insert" => tree.insert_subtree(id, given?),
            "append" => tree.append_subtree(id, given?),
            "refile" => {
                let line = self.arguments.first().and_then(Value::as_i64).unwrap_or(0);
                let line = usize::try_from(line).unwrap_or(0);
                tree.refile(id, at_line(tree, line).ok_or(EditError::Missing)?, now)
            }
            _ => Err(EditError::OtherType),
        }
    }

    fn archived(&self, tree: &Tree<'_>, check: &dyn Fn(&[u8], &Edit<'_>)) -> Changed {
        let texts = self.texts();
        let [Some(file), Some(time)] = &texts[..] else { return Err(EditError::Missing) };
        let id = at_line(tree, self.line).ok_or(EditError::Missing)?;
        let archived = tree.archive_subtree(id, &Origin { file, time })?;
        let put = archived.append_to(ARCHIVE);
        check(ARCHIVE, &put);
        check(&self.source, &archived.cut);
        Ok(vec![archived.cut.apply(), put.apply()])
    }
}

/// What came of a change, as it is compared: a refusal is a text that stays, and a last line has no end, which Emacs adds
/// only when it saves.
pub(crate) fn compared(case: &ChangeCase, texts: Option<&[Vec<u8>]>) -> Vec<Vec<u8>> {
    let unchanged = [case.source.clone()];
    let ended = |text: &Vec<u8>| {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        text.strip_suffix(b"\r").unwrap_or(text).to_vec()
    };
    texts.unwrap_or(&unchanged).iter().map(ended).collect()
}

/// The texts that a record of Emacs has; `None` where Emacs refused.
pub(crate) fn recorded(form: &Value) -> Option<Vec<Vec<u8>>> {
    form.elements()?.get(1..)?.iter().map(text).collect()
}

/// The bytes of a string.
pub(crate) fn text(value: &Value) -> Option<Vec<u8>> {
    value.as_str().map(|text| text.as_bytes().to_vec())
}

/// The headline or item of a line, from 1.
fn at_line(tree: &Tree<'_>, line: usize) -> Option<NodeId> {
    let source = tree.source();
    let before = source.split_inclusive(|byte| *byte == b'\n').take(line.checked_sub(1)?);
    let start: usize = before.map(<[u8]>::len).sum();
    tree.ids().find(|id| {
        tree.node(*id).is_some_and(|node| {
            matches!(node.kind, Type::Headline | Type::Item) && node.span().start == start
        })
    })
}
