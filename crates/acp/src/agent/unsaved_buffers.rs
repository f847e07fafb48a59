//! Texts that the editor has and the disk has not. Before a prompt goes out, the editor is asked for the files that
//! the prompt names; the daemon hears which are modified, and writes over none of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::editor_session::{LinkId, PromptState};
use super::{Agent, EditorRequest};
use crate::client_forms;
use crate::protocol::ReadFileAnswer;

/// Longest wait for the editor's texts; the prompt goes out without them then.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Reports that wait for a connection: more files than a prompt names.
const MAX_REPORTS: usize = 64;

/// Files of a question that the editor is asked for; further ones are left to the daemon.
const MAX_TOUCHED: usize = 8;

/// Letters of an unsaved text that are kept, to show it beside a question.
const MAX_SHOWN_UNSAVED: usize = 64 << 10;

/// Largest file that is compared, in bytes.
const MAX_COMPARED_BYTES: u64 = 16 << 20;

impl Agent {
    /// Asks for what the prompt names; returns the state in which the prompt begins.
    pub(super) fn read_buffers(
        &mut self,
        link: LinkId,
        files: Vec<(String, Option<String>)>,
    ) -> PromptState {
        let reads = self.editor.is_some_and(|it| it.reads_files);
        let Some(known) = self.sessions.get(&link) else { return PromptState::Queued(None) };
        let session = known.name.clone().unwrap_or_default();
        // What was not saved may be by now, and nobody else tells the daemon.
        let is_named = |path: &String| files.iter().any(|(named, _)| named == path);
        let again: Vec<String> = known
            .unsaved
            .keys()
            .filter(|path| !is_named(path))
            .take(MAX_TOUCHED)
            .cloned()
            .collect();
        let mut waiting = BTreeSet::new();
        for (path, text) in files.into_iter().chain(again.into_iter().map(|path| (path, None))) {
            match text {
                Some(text) => self.compare(link, &path, &text),
                None if reads => {
                    let params = json!({"sessionId": session, "path": path});
                    let request = EditorRequest::ReadFile { link, path };
                    waiting.insert(self.ask_editor("fs/read_text_file", &params, request));
                }
                None => {}
            }
        }
        match waiting.is_empty() {
            true => PromptState::Queued(None),
            false => {
                PromptState::ReadingBuffers { waiting, deadline: Instant::now() + READ_TIMEOUT }
            }
        }
    }

    /// Asks for the files that a question is about; returns the requests.
    pub(super) fn read_touched(&mut self, link: LinkId, paths: &[String]) -> BTreeSet<i64> {
        if !self.editor.is_some_and(|it| it.reads_files) {
            return BTreeSet::new();
        }
        let session = self.sessions.get(&link).and_then(|it| it.name.clone()).unwrap_or_default();
        let ask = |path: &String| {
            let params = json!({"sessionId": session, "path": path});
            let request = EditorRequest::ReadFile { link, path: path.clone() };
            self.ask_editor("fs/read_text_file", &params, request)
        };
        paths.iter().take(MAX_TOUCHED).map(ask).collect()
    }

    /// Takes the editor's text of a file. One that it cannot read is left to the disk.
    pub(super) fn buffer_read(&mut self, link: LinkId, path: &str, outcome: Result<Value, String>) {
        let text = outcome.ok().and_then(|it| serde_json::from_value::<ReadFileAnswer>(it).ok());
        if let Some(answer) = text {
            self.compare(link, path, &answer.content);
        }
        let is_open = |id: &i64| self.requests.contains_key(id);
        let Some(session) = self.sessions.get_mut(&link) else { return };
        for prompt in &mut session.prompts {
            if let PromptState::ReadingBuffers { waiting, .. } = &mut prompt.state {
                waiting.retain(is_open);
                if waiting.is_empty() {
                    prompt.state = PromptState::Queued(None);
                }
            }
        }
        for held in &mut session.held {
            held.waiting.retain(is_open);
        }
        self.go_on(link);
        self.check_held(link, Instant::now());
    }

    /// Tells the daemon whether a buffer differs from its file.
    fn compare(&mut self, link: LinkId, path: &str, text: &str) {
        let is_modified = on_disk(path).is_none_or(|disk| disk != text.as_bytes());
        let id = self.message_id();
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let form = match is_modified {
            true => {
                let kept: String = text.chars().take(MAX_SHOWN_UNSAVED).collect();
                session.unsaved.insert(path.to_owned(), kept);
                client_forms::unsaved_buffer(&id, path, text)
            }
            false if session.unsaved.remove(path).is_some() => {
                client_forms::saved_buffer(&id, path)
            }
            false => return,
        };
        if session.reports.len() < MAX_REPORTS {
            session.reports.push_back(form);
        }
    }
}

/// The bytes of a plain file; `None` where there is none, or a very large one.
fn on_disk(path: &str) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if meta.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_COMPARED_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
