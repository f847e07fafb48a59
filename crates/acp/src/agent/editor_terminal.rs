//! `terminal/*`: commands that the editor runs. Off unless the user's flag offers it, the editor has terminals, and the
//! policies allow the act; what runs there is in no jail and cannot be undone, and its outcome says so.
//!
//! A request of the engine is carried out once: this process remembers what it began, and one that was asked before a
//! session was opened here may have been carried out by another process, so it is refused.

use bridle_sexp::Value;
use serde_json::json;

use super::editor_session::LinkId;
use super::{Agent, EditorRequest};
use crate::client_forms;
use crate::daemon_event::text;
use crate::render::tool_call;
use crate::terminal_actuator::{RUN, TERMINAL_ACTUATOR};

/// Bytes of output that the editor keeps.
const MAX_TERMINAL_BYTES: usize = 256 << 10;

/// Commands that are remembered, so that none runs twice.
const MAX_TERMINAL_RUNS: usize = 256;

/// Words in front of every outcome.
const CAUTION: &str = "run by the editor, not jailed, no undo";

/// Command that the editor runs, or ran.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TerminalRun {
    /// Request of the engine.
    pub(super) request: String,
    /// Name of the terminal, once the editor made it.
    pub(super) terminal: Option<String>,
    /// Exit code, or the signal that ended it.
    exit: Option<String>,
    /// The answer, once there is one: it is said again when the engine asks again.
    answer: Option<String>,
}

/// Step of a command at the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalStep {
    Create,
    Wait,
    Output,
    /// Its answer changes nothing.
    Release,
}

impl Agent {
    /// Whether a request is one for a terminal; `is_old` says that it was asked before this process came.
    pub(super) fn run_in_terminal(
        &mut self,
        link: LinkId,
        id: &str,
        request: &Value,
        is_old: bool,
    ) -> bool {
        let is_run = request.get("action").is_some_and(|it| it.is_keyword(RUN));
        if !is_run || !self.offers_terminal() {
            return false;
        }
        let Some(session) = self.sessions.get_mut(&link) else { return true };
        if let Some(run) = session.runs.iter().find(|run| run.request == id) {
            if let Some(answer) = run.answer.clone() {
                session.say(&answer);
            }
            return true;
        }
        if session.runs.len() == MAX_TERMINAL_RUNS {
            session.runs.pop_front();
        }
        let run = TerminalRun { request: id.to_owned(), terminal: None, exit: None, answer: None };
        session.runs.push_back(run);
        let Some(command) = text(request, "command").filter(|_| !is_old) else {
            let why = "another process may have run this already, or no command is named";
            self.end_run(link, id, Err(why));
            return true;
        };
        let args = request.get("args").and_then(Value::elements).unwrap_or_default();
        let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
        let cwd = text(request, "cwd").filter(|it| it.starts_with('/'));
        let params = json!({
            "sessionId": session.name,
            "command": command,
            "args": args,
            "cwd": cwd.unwrap_or_else(|| session.folder.clone()),
            "outputByteLimit": MAX_TERMINAL_BYTES,
        });
        let name = session.act_begins(id, TERMINAL_ACTUATOR, request);
        self.call_begun(link, tool_call::running(&name, TERMINAL_ACTUATOR, request));
        let waits = EditorRequest::Terminal { link, id: id.to_owned(), step: TerminalStep::Create };
        self.ask_editor("terminal/create", &params, waits);
        true
    }

    /// Whether the user's flag and the editor's abilities offer terminals.
    pub(super) fn offers_terminal(&self) -> bool {
        self.takes_terminal && self.editor.is_some_and(|it| it.runs_programs)
    }

    /// Takes an answer of the editor about a terminal, and goes on to the next step.
    pub(super) fn terminal_answered(
        &mut self,
        link: LinkId,
        id: &str,
        step: TerminalStep,
        outcome: Result<serde_json::Value, String>,
    ) {
        let answer = match outcome {
            _ if step == TerminalStep::Release => return,
            Ok(answer) => answer,
            Err(why) => return self.end_run(link, id, Err(&why)),
        };
        let Some(session) = self.sessions.get_mut(&link) else { return };
        let name = session.name.clone();
        let Some(run) = session.runs.iter_mut().find(|run| run.request == id) else { return };
        let (method, next) = match step {
            TerminalStep::Create => {
                run.terminal = answer["terminalId"].as_str().map(str::to_owned);
                ("terminal/wait_for_exit", TerminalStep::Wait)
            }
            TerminalStep::Wait => {
                run.exit = Some(exit_words(&answer));
                ("terminal/output", TerminalStep::Output)
            }
            TerminalStep::Output => {
                let output = answer["output"].as_str().unwrap_or_default().to_owned();
                let cut =
                    if answer["truncated"] == true { " (its beginning is cut off)" } else { "" };
                let exit = run.exit.clone().unwrap_or_default();
                let told = format!("{CAUTION}\n{exit}{cut}\n{output}");
                return self.end_run(link, id, Ok(&told));
            }
            TerminalStep::Release => return,
        };
        let Some(terminal) = run.terminal.clone() else {
            return self.end_run(link, id, Err("the editor named no terminal"));
        };
        let params = json!({"sessionId": name, "terminalId": terminal});
        let waits = EditorRequest::Terminal { link, id: id.to_owned(), step: next };
        self.ask_editor(method, &params, waits);
    }

    /// Kills what runs in a session that is given up; how it ended is told as always.
    pub(super) fn kill_terminals(&mut self, link: LinkId) {
        let Some(session) = self.sessions.get(&link) else { return };
        let open = session.runs.iter().filter(|run| run.answer.is_none());
        let open: Vec<_> =
            open.filter_map(|run| Some((run.request.clone(), run.terminal.clone()?))).collect();
        let name = session.name.clone();
        for (id, terminal) in open {
            let params = json!({"sessionId": name, "terminalId": terminal});
            let waits = EditorRequest::Terminal { link, id, step: TerminalStep::Release };
            self.ask_editor("terminal/kill", &params, waits);
        }
    }

    /// Tells the engine how a command ended, and lets the terminal go.
    fn end_run(&mut self, link: LinkId, id: &str, told: Result<&str, &str>) {
        let form = match told {
            Ok(text) => client_forms::shell_result(id, text),
            Err(why) => client_forms::shell_response(id, Some(why)),
        };
        let Some(session) = self.sessions.get_mut(&link) else { return };
        session.say(&form);
        let name = session.name.clone();
        let run = session.runs.iter_mut().find(|run| run.request == id);
        let terminal = run.and_then(|run| {
            run.answer = Some(form);
            run.terminal.clone()
        });
        if let Some(terminal) = terminal {
            let params = json!({"sessionId": name, "terminalId": terminal});
            let waits =
                EditorRequest::Terminal { link, id: id.to_owned(), step: TerminalStep::Release };
            self.ask_editor("terminal/release", &params, waits);
        }
    }
}

fn exit_words(answer: &serde_json::Value) -> String {
    // Some editors nest it, others do not.
    let status = if answer["exitStatus"].is_object() { &answer["exitStatus"] } else { answer };
    match (status["exitCode"].as_i64(), status["signal"].as_str()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::exit_words;

    #[test]
    fn ends_are_told_in_words() {
        assert_eq!(exit_words(&json!({"exitCode": 2})), "exit code 2");
        assert_eq!(
            exit_words(&json!({"exitStatus": {"signal": "SIGTERM"}})),
            "ended by signal SIGTERM"
        );
        assert_eq!(exit_words(&json!({})), "ended");
    }
}
