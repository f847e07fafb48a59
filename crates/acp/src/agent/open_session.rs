//! `session/new`, `session/load` and `session/resume`: a session of the daemon is opened on a connection of its own.
//! The daemon chooses the names of new sessions, and gives none twice.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::editor_session::{EditorSession, LinkId, OPENING_TIMEOUT, Opening, OpeningKind};
use super::{Agent, AgentInput, params, session_choices};
use crate::client_forms;
use crate::json_rpc::{RequestId, RpcError, RpcErrorCode};
use crate::protocol::{ContentBlock, SessionParams, SessionUpdate};
use crate::render::extras;
use crate::session_link::{self, LinkEvent, LinkOrder, LinkState};

use bridle_shell::client::DaemonWriter;

/// Sessions that an editor may have open at a time: each is a connection and a thread.
const MAX_OPEN_SESSIONS: usize = 64;

impl Agent {
    pub(super) fn new_session(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        let given: SessionParams = params(given)?;
        self.open(id, OpeningKind::New, None, given)
    }

    pub(super) fn load_session(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        self.open_known(id, OpeningKind::Load, given)
    }

    pub(super) fn resume_session(
        &mut self,
        id: &RequestId,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        self.open_known(id, OpeningKind::Resume, given)
    }

    fn open_known(
        &mut self,
        id: &RequestId,
        kind: OpeningKind,
        given: Value,
    ) -> Result<Option<Value>, RpcError> {
        let mut given: SessionParams = params(given)?;
        let name = given.session_id.take();
        let name = name.ok_or_else(|| RpcError::params("expected `sessionId`"))?;
        if !is_session_name(&name) {
            return Err(no_such_session());
        }
        let is_opening =
            |it: &EditorSession| it.name.as_deref() == Some(&name) && it.opening.is_some();
        if self.sessions.values().any(is_opening) {
            return Err(RpcError::new(
                RpcErrorCode::InvalidRequest,
                "this session is being opened",
            ));
        }
        if let Some(link) = self.link_of(&name) {
            if self.sessions.get(&link).is_some_and(|it| !it.prompts.is_empty()) {
                let what = "a prompt is under way in this session; cancel it first";
                return Err(RpcError::new(RpcErrorCode::InvalidRequest, what));
            }
            self.drop_session(link);
        }
        self.open(id, kind, Some(name), given)
    }

    fn open(
        &mut self,
        id: &RequestId,
        kind: OpeningKind,
        name: Option<String>,
        given: SessionParams,
    ) -> Result<Option<Value>, RpcError> {
        if !given.cwd.starts_with('/') {
            return Err(RpcError::params("expected `cwd` to be an absolute path"));
        }
        if self.sessions.len() >= MAX_OPEN_SESSIONS {
            let what = format!("{MAX_OPEN_SESSIONS} sessions are open; close one: `session/close`");
            return Err(RpcError::internal(what));
        }
        let opening = Opening {
            request: id.clone(),
            kind,
            until: None,
            deadline: Instant::now() + OPENING_TIMEOUT,
            trouble: None,
            mcp_servers: given.mcp_servers.into_iter().map(|server| server.name).collect(),
            questions: Vec::new(),
        };
        let link = LinkId(self.number());
        let state: Arc<LinkState> = Arc::default();
        let order = LinkOrder {
            targets: self.targets.clone(),
            launcher: self.launcher.clone(),
            session: name.clone(),
            cursor: match kind {
                OpeningKind::New | OpeningKind::Load => Some(0),
                OpeningKind::Resume => None,
            },
            client: self.client.clone(),
            has_terminal: self.offers_terminal(),
        };
        let inputs = self.inputs.clone();
        let tell = move |event| inputs.send(AgentInput::Link(link, event)).is_ok();
        session_link::start(order, Arc::clone(&state), tell)
            .map_err(|error| RpcError::internal(format!("cannot start a thread: {error}")))?;
        let session = EditorSession::new(name, given.cwd, opening, state);
        session.publish();
        self.sessions.insert(link, session);
        Ok(None)
    }

    /// Takes news of a session's connection.
    pub(super) fn take_link_event(&mut self, link: LinkId, event: LinkEvent) {
        if !self.sessions.contains_key(&link) {
            // It was closed meanwhile.
            if let LinkEvent::Attached { writer, .. } = event {
                writer.close();
            }
            return;
        }
        match event {
            LinkEvent::Attached { writer, session, head } => {
                self.attached(link, *writer, session, head);
            }
            LinkEvent::Frame(frame) => self.hear(link, &frame),
            LinkEvent::Idle => self.say(link, "(:type :health-check)"),
            LinkEvent::Lost(why) => self.lost(link, &why),
            LinkEvent::Refused { why, is_missing } => self.refused(link, &why, is_missing),
        }
        if let Some(session) = self.sessions.get(&link) {
            session.publish();
        }
    }

    fn attached(&mut self, link: LinkId, writer: DaemonWriter, name: String, head: u64) {
        let (note, offers) = (self.message_id(), self.message_id());
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.writer = Some(writer);
        session.say(&client_forms::offers(&offers));
        let Some(opening) = &mut session.opening else {
            let line = format!("attached to session {name} again");
            self.say_to_log(&line);
            self.say_again(link);
            return;
        };
        opening.until = Some(head);
        opening.deadline = Instant::now() + OPENING_TIMEOUT;
        let kind = opening.kind;
        session.name = Some(name);
        match kind {
            OpeningKind::New => {
                let note = client_forms::session_note(&note, &session.folder);
                session.say(&note);
                self.opened(link);
            }
            OpeningKind::Resume => {
                session.seen = head;
                self.opened(link);
            }
            OpeningKind::Load if head == 0 => self.opened(link),
            OpeningKind::Load => {}
        }
    }

    /// Answers the request that opened a session, and says what follows from it.
    pub(super) fn opened(&mut self, link: LinkId) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(opening) = session.opening.take() else { return };
        let name = session.name.clone().unwrap_or_default();
        if opening.kind != OpeningKind::New {
            session.answer.doubt();
            session.thought.doubt();
        }
        let mut answer = json!({
            "modes": session_choices::modes(&session.choices),
            "configOptions": session_choices::config_options(&session.choices, &self.offers),
        });
        if opening.kind == OpeningKind::New {
            answer["sessionId"] = json!(name);
        }
        self.respond(&opening.request, Ok(answer));
        self.tell_commands(link);
        if !opening.mcp_servers.is_empty() {
            self.tell_about_mcp(link, &name, &opening.mcp_servers);
        }
        for question in opening.questions {
            self.ask_permission(link, question);
        }
    }

    /// Says that the editor's MCP servers are not used; nothing else of the session depends on them.
    fn tell_about_mcp(&mut self, link: LinkId, session: &str, servers: &[String]) {
        let names = servers.join("`, `");
        let names = bridle_shell::screen::neutral_line(&names).into_owned();
        let title = format!("bridle does not use MCP servers yet: `{names}` is left out.");
        let update = match self.editor.is_some_and(|it| it.shows_notices) {
            true => SessionUpdate::Notice { severity: "info", title },
            false => {
                let message_id = self.next_message(link);
                SessionUpdate::AgentMessageChunk { content: ContentBlock::text(title), message_id }
            }
        };
        self.update(session, &update);
    }

    fn lost(&mut self, link: LinkId, why: &str) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.writer = None;
        session.status.clear();
        session.answer.doubt();
        session.thought.doubt();
        if let Some(opening) = &mut session.opening {
            opening.trouble = Some(why.to_owned());
        }
        self.say_to_log(&format!("{why}; trying again"));
    }

    /// The daemon refuses for good: whoever waits is told.
    fn refused(&mut self, link: LinkId, why: &str, is_missing: bool) {
        let error = || match is_missing {
            true => no_such_session(),
            false => RpcError::internal(why),
        };
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let opening = session.opening.take().map(|it| it.request);
        let prompts = std::mem::take(&mut session.prompts);
        for request in opening.into_iter().chain(prompts.into_iter().map(|it| it.request)) {
            self.respond(&request, Err(error()));
        }
        self.drop_session(link);
    }

    /// Gives up a session that does not open, or takes what was replayed for all of it.
    pub(super) fn check_opening(&mut self, link: LinkId, now: Instant) {
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let Some(opening) = session.opening.as_mut().filter(|it| it.deadline <= now) else {
            return;
        };
        if opening.until.is_some() && session.writer.is_some() {
            return self.opened(link);
        }
        let why = opening.trouble.clone().unwrap_or_else(|| "it does not answer".to_owned());
        let request = opening.request.clone();
        let what = format!("the bridle daemon cannot be reached: {why}. Start it with: bridle up");
        self.respond(&request, Err(RpcError::internal(what)));
        self.drop_session(link);
    }

    /// Forgets a session of the editor; the daemon's goes on.
    pub(super) fn drop_session(&mut self, link: LinkId) {
        if let Some(session) = self.sessions.remove(&link) {
            for question in session.questions.values() {
                if let Some(request) = question.request {
                    self.withdraw(request);
                }
            }
        }
    }

    /// Tells which commands a prompt may begin with.
    pub(super) fn tell_commands(&mut self, link: LinkId) {
        let Some(name) = self.sessions.get(&link).and_then(|it| it.name.clone()) else { return };
        let commands = extras::commands(&self.offers);
        self.update(&name, &commands);
    }

    pub(super) fn say(&mut self, link: LinkId, form: &str) {
        if let Some(session) = self.sessions.get_mut(&link) {
            session.say(form);
        }
    }
}

fn no_such_session() -> RpcError {
    RpcError::new(RpcErrorCode::ResourceNotFound, "no such session; `session/list` lists them")
}

fn is_session_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}
