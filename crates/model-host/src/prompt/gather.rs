//! Everything that a prompt takes from somewhere: the user's instructions, notes that fit the question, the project
//! file, the user's place, long results of this turn. Read once for a thought, whichever model is asked in the end; of
//! what is private both versions are gathered, so that nothing has to be read again for a model elsewhere.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bridle_host::ThoughtIo;
use bridle_loop::{CallEnd, Privacy, SessionId, ThinkerPrompt, TurnId};
use bridle_sexp::Value;

use super::attached::{self, AttachedFile};
use super::words::question_of;
use crate::citation::link_of;
use crate::prompt_files::PromptFiles;
use crate::recall::{MemoryRecall, RecallQuestion, RecallReach};
use crate::tools::value_json::to_json;

/// Name of the file of the user's instructions, in the folder of the memory.
pub const INSTRUCTIONS_FILE: &str = "agent.org";

/// Name of the file that a project has for agents.
const PROJECT_FILE: &str = "AGENTS.md";

/// Bytes of instructions and of a project file that are read.
const MAX_INSTRUCTION_BYTES: usize = 16 << 10;
const MAX_PROJECT_BYTES: usize = 8 << 10;

/// Notes that are looked up for a question.
const MAX_NOTES: usize = 8;

/// Bytes of a note that are kept.
const MAX_NOTE_BYTES: usize = 2 << 10;

/// Words from which on notes are looked up.
const MIN_QUESTION_WORDS: usize = 2;

/// Bytes of the description of the user's place.
const MAX_FOCUS_BYTES: usize = 600;

/// Rounds, the latest ones, whose long results are read whole.
const MAX_WHOLE_ROUNDS: usize = 12;

/// Turns whose notes are remembered for their later rounds.
const MAX_KEPT_TURNS: usize = 64;

/// Flags of `open`: no link, no waiting for the writer of a pipe.
const O_NOFOLLOW_NONBLOCK: i32 = 0o400_000 | 0o4000;

/// A note that may answer the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecalledNote {
    pub(crate) id: String,
    pub(crate) link: String,
    pub(crate) hash: Option<Box<str>>,
    /// As its owner sees it.
    pub(crate) text: String,
    /// As everybody may see it; `None` for a private one.
    pub(crate) open: Option<String>,
}

/// Text of a file, as its owner and as everybody may see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelledText {
    pub(crate) whole: String,
    pub(crate) open: Option<String>,
}

/// Everything that was gathered for a thought.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatheredContext {
    pub(crate) question: String,
    pub(crate) instructions: Option<LabelledText>,
    /// Files that came with it.
    pub(crate) attached: Vec<AttachedFile>,
    /// Path and text.
    pub(crate) project: Option<(String, String)>,
    pub(crate) notes: Vec<RecalledNote>,
    pub(crate) focus: Option<(String, Privacy)>,
    /// Labels of what calls brought back, where it is not the default, by round and call.
    pub(crate) labels: BTreeMap<(usize, usize), Privacy>,
    /// Long results, by round and call.
    pub(crate) results: BTreeMap<(usize, usize), Value>,
}

/// Notes by the turn that they were looked up for.
type KeptNotes = HashMap<(SessionId, TurnId), Vec<RecalledNote>>;

/// Gatherer of a home.
pub(crate) struct PromptGatherer {
    recall: Arc<dyn MemoryRecall>,
    files: Arc<dyn PromptFiles>,
    kept: Mutex<KeptNotes>,
}

impl PromptGatherer {
    pub(crate) fn new(recall: Arc<dyn MemoryRecall>, files: Arc<dyn PromptFiles>) -> Self {
        Self { recall, files, kept: Mutex::default() }
    }

    /// Gathers everything for a prompt.
    pub(crate) async fn gather(&self, prompt: &ThinkerPrompt, io: &ThoughtIo) -> GatheredContext {
        let question = question_of(&prompt.context.signal.payload).unwrap_or_default().to_owned();
        let (instructions, project) = self.texts(prompt, io).await;
        GatheredContext {
            attached: attached::gather(prompt, &*self.files).await,
            instructions,
            project,
            notes: self.notes_of_turn(prompt, &question).await,
            focus: self.focus(prompt).await,
            results: long_results(prompt, io).await,
            labels: self.labels(prompt).await,
            question,
        }
    }

    /// Notes that may answer a question, the best first; first those of the whole memory, then open ones that private
    /// ones had pushed out.
    pub(crate) async fn notes(&self, question: &str, reach: RecallReach) -> Vec<RecalledNote> {
        let mut notes: Vec<RecalledNote> = Vec::new();
        let reaches: &[RecallReach] = match reach {
            RecallReach::Open => &[RecallReach::Open],
            RecallReach::Whole => &[RecallReach::Whole, RecallReach::Open],
        };
        for each in reaches {
            let ask = RecallQuestion::Ask { text: question.to_owned(), limit: MAX_NOTES };
            let Some(found) = self.recall.answer(ask, *each).await else { continue };
            for hit in found.get("objects").and_then(Value::elements).unwrap_or_default() {
                let id = hit.get("id").and_then(Value::as_str).unwrap_or_default();
                if id.is_empty() || notes.iter().any(|note| note.id == id) {
                    continue;
                }
                notes.extend(self.note(hit, id, *each).await);
            }
        }
        notes
    }

    async fn note(&self, hit: &Value, id: &str, reach: RecallReach) -> Option<RecalledNote> {
        let link = link_of(hit)?;
        let text = async |reach| {
            let found = self.recall.answer(RecallQuestion::Object(id.to_owned()), reach).await?;
            let text = found.get("object")?.get("text")?.as_str()?;
            Some(text[..text.floor_char_boundary(MAX_NOTE_BYTES)].to_owned())
        };
        let open = text(RecallReach::Open).await;
        let whole = match reach {
            RecallReach::Open => open.clone()?,
            RecallReach::Whole => text(reach).await?,
        };
        let hash = hit.get("hash").and_then(Value::as_str).map(Into::into);
        Some(RecalledNote { id: id.to_owned(), link, hash, text: whole, open })
    }

    /// Notes for the question of a turn: the same in all of its rounds.
    async fn notes_of_turn(&self, prompt: &ThinkerPrompt, question: &str) -> Vec<RecalledNote> {
        let context = &prompt.context;
        let is_short = question.split_whitespace().nth(MIN_QUESTION_WORDS - 1).is_none();
        if is_short || !self.recall.is_open() {
            return Vec::new();
        }
        let key = (context.session.clone(), context.turn);
        let known = self.kept().get(&key).filter(|_| !prompt.rounds.is_empty()).cloned();
        if let Some(known) = known {
            return known;
        }
        let Some(reach) = self.recall.reach(context).await else { return Vec::new() };
        let notes = self.notes(question, reach).await;
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT_TURNS {
            kept.clear();
        }
        kept.insert(key, notes.clone());
        notes
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, KeptNotes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user's instructions, and the project's path and text.
    ///
    /// Whoever reads the session is told them with the answer: they are the owner's where not everybody may see them.
    async fn texts(
        &self,
        prompt: &ThinkerPrompt,
        io: &ThoughtIo,
    ) -> (Option<LabelledText>, Option<(String, String)>) {
        let context = &prompt.context;
        let reach = match self.recall.is_open() {
            true => self.recall.reach(context).await,
            false => None,
        };
        let folder = self.recall.folder().filter(|_| reach.is_some());
        let instructions = folder.map(|folder| folder.join(INSTRUCTIONS_FILE));
        let is_owners = reach == Some(RecallReach::Whole) || context.signal.from.owner;
        let project = self.files.project(&context.session).filter(|_| is_owners);
        let project = project.map(|project| project.join(PROJECT_FILE));
        if instructions.is_none() && project.is_none() {
            return (None, None);
        }
        let read = move || {
            let whole = instructions.and_then(|path| beginning(&path, MAX_INSTRUCTION_BYTES));
            let project = project.and_then(|path| {
                Some((path.display().to_string(), beginning(&path, MAX_PROJECT_BYTES)?))
            });
            (whole, project)
        };
        let (whole, project) = io.run_blocking(read).await.unwrap_or_default();
        let Some(whole) = whole else { return (None, project) };
        let source = RecallQuestion::Source(INSTRUCTIONS_FILE.to_owned());
        let open = self.recall.answer(source, RecallReach::Open).await.and_then(|found| {
            let text = found.get("source")?.as_str()?;
            Some(text[..text.floor_char_boundary(MAX_INSTRUCTION_BYTES)].to_owned())
        });
        let instructions = match (reach, open) {
            (Some(RecallReach::Whole), open) => Some(LabelledText { whole, open }),
            (_, Some(open)) => Some(LabelledText { whole: open.clone(), open: Some(open) }),
            (_, None) => None,
        };
        (instructions, project)
    }

    /// Labels of what the calls of this turn brought back.
    async fn labels(&self, prompt: &ThinkerPrompt) -> BTreeMap<(usize, usize), Privacy> {
        let mut labels = BTreeMap::new();
        if !self.recall.is_open() {
            return labels;
        }
        for (number, round) in prompt.rounds.iter().enumerate() {
            for (place, call) in round.calls.iter().enumerate() {
                let label = self.recall.act_label(&prompt.context.session, call).await;
                if label != Privacy::default() {
                    labels.insert((number, place), label);
                }
            }
        }
        labels
    }

    /// The user's place, in few words, and its label.
    async fn focus(&self, prompt: &ThinkerPrompt) -> Option<(String, Privacy)> {
        let focus = prompt.context.focus.as_deref()?;
        let mut told = to_json(focus);
        told.truncate(told.floor_char_boundary(MAX_FOCUS_BYTES));
        let text = |key| focus.get(key).and_then(Value::as_str);
        let names: Vec<&str> = ["id", "file", "path"].into_iter().filter_map(text).collect();
        if !self.recall.is_open() || names.is_empty() {
            return Some((told, Privacy::default()));
        }
        let reach = self.recall.reach(&prompt.context).await?;
        for name in names {
            let is_elsewhere = self.recall.folder().is_some_and(|folder| {
                let path = Path::new(name);
                path.is_absolute() && !path.starts_with(folder)
            });
            let object = || RecallQuestion::Object(relative(name, self.recall.folder()));
            if is_elsewhere || self.recall.answer(object(), RecallReach::Open).await.is_some() {
                continue;
            }
            // Private, or new: whoever reads along without being the owner is not told of it.
            return (reach == RecallReach::Whole).then_some((told, Privacy::Secret));
        }
        Some((told, Privacy::default()))
    }
}

/// A path as the memory names it.
fn relative(name: &str, folder: Option<PathBuf>) -> String {
    let within = folder
        .and_then(|folder| Some(Path::new(name).strip_prefix(folder).ok()?.to_str()?.to_owned()));
    within.unwrap_or_else(|| name.to_owned())
}

/// The beginning of a text file; `None` if there is none. Blocks.
fn beginning(path: &Path, most: usize) -> Option<String> {
    let file =
        std::fs::OpenOptions::new().read(true).custom_flags(O_NOFOLLOW_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end_matches('\u{fffd}').trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The whole of results that the turn has the place of alone.
async fn long_results(prompt: &ThinkerPrompt, io: &ThoughtIo) -> BTreeMap<(usize, usize), Value> {
    let mut results = BTreeMap::new();
    let first = prompt.rounds.len().saturating_sub(MAX_WHOLE_ROUNDS);
    for (number, round) in prompt.rounds.iter().enumerate().skip(first) {
        for (place, call) in round.calls.iter().enumerate() {
            let CallEnd::Deed(deed) = &call.end else { continue };
            let Some(stored) = &deed.stored else { continue };
            if let Some(whole) = io.result(stored).await {
                results.insert((number, place), whole);
            }
        }
    }
    results
}
