//! `session/list` and `session/close`.

use serde_json::{Value, json};

use super::{Agent, AgentInput, params};
use crate::json_rpc::{RequestId, RpcError};
use crate::protocol::{CloseParams, ListParams};
use crate::session_directory::ListCursor;

impl Agent {
    pub(super) fn list_sessions(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        let given: ListParams = params(given)?;
        let after = match given.cursor.as_deref().map(ListCursor::read) {
            None => None,
            Some(Some(cursor)) => Some(cursor),
            Some(None) => return Err(RpcError::params("expected `cursor` from the page before")),
        };
        if given.cwd.as_deref().is_some_and(|cwd| !cwd.starts_with('/')) {
            return Err(RpcError::params("expected `cwd` to be an absolute path"));
        }
        let (directory, targets) = (self.directory.clone(), self.targets.clone());
        let (inputs, id) = (self.inputs.clone(), id.clone());
        let look = move || {
            let page = directory.page(&targets, given.cwd.as_deref(), after.as_ref());
            let outcome = page.map_err(|error| RpcError::internal(error.to_string())).map(|page| {
                let mut answer = json!({"sessions": page.sessions});
                if let (Some(next), Some(fields)) = (page.next, answer.as_object_mut()) {
                    fields.insert("nextCursor".to_owned(), Value::from(next));
                }
                answer
            });
            // Nobody listens when the editor has left.
            let _ = inputs.send(AgentInput::Done(id, outcome));
        };
        std::thread::Builder::new()
            .name("session-list".to_owned())
            .spawn(look)
            .map_err(|error| RpcError::internal(format!("cannot start a thread: {error}")))?;
        Ok(None)
    }

    /// Gives up what runs, and lets the editor's hold on the session go. The session itself stays.
    pub(super) fn close_session(&mut self, given: Value) -> Result<Value, RpcError> {
        let given: CloseParams = params(given)?;
        let link = self.open_link(&given.session_id)?;
        self.cancel_link(link);
        if let Some(session) = self.sessions.get_mut(&link) {
            let prompts = std::mem::take(&mut session.prompts);
            for prompt in prompts {
                self.respond_cancelled(&prompt.request);
            }
        }
        self.drop_session(link);
        Ok(json!({}))
    }
}
