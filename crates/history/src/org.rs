//! The thought trace as an Org file: what came in, what was known, what was proposed, which rules were
//! asked and what they said, who approved, and how it ended.
//!
//! One heading a session, one a turn. Sections are written as their turns end, so memory holds only
//! what is open. `text` knows Org's syntax; here is what goes where.

mod text;
mod trace;

use std::io::Write;

use super::{HistoryError, RecordHistory, RecordSelection, SessionRow};
use text::OrgDocument;
use trace::SessionTrace;

/// Head of the document: Emacs must not guess the coding of text that anybody may have sent.
const DOCUMENT_HEAD: &str =
    "# -*- mode: org; coding: utf-8-unix -*-\n#+title: Record of bridle\n\n";

impl RecordHistory {
    /// Writes the trace of one session, or of all.
    ///
    /// # Errors
    /// The session is unknown, the record cannot be read, or the output cannot be written.
    pub fn export_org(
        &self,
        session: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<(), HistoryError> {
        if let Some(name) = session {
            self.expect_session(name)?;
        }
        let rows = self.sessions()?;
        out.write_all(DOCUMENT_HEAD.as_bytes()).map_err(HistoryError::Output)?;
        let wanted = rows.iter().filter(|row| session.is_none_or(|name| &*row.name == name));
        for row in wanted {
            self.export_session(row, out)?;
        }
        out.flush().map_err(HistoryError::Output)
    }

    fn export_session(&self, row: &SessionRow, out: &mut dyn Write) -> Result<(), HistoryError> {
        let mut doc = OrgDocument::default();
        doc.heading(1, &format!("Session {}", row.name));
        doc.drawer(&[
            ("OWNER", row.owner.to_string()),
            ("BEGAN", bridle_wire::time::rfc3339(row.created)),
            ("RECORDS", row.records.to_string()),
            ("EVENTS", row.head_seq.to_string()),
        ]);
        if row.forgotten {
            doc.paragraph("Forgotten: its records are kept and cannot be read.");
            return out.write_all(doc.take().as_bytes()).map_err(HistoryError::Output);
        }
        let mut trace = SessionTrace::new(doc);
        let wanted = RecordSelection { session: Some(row.name.clone()), to: None };
        self.walk(&wanted, |record| {
            trace.take(&record);
            out.write_all(trace.ready().as_bytes()).map_err(HistoryError::Output)
        })?;
        out.write_all(trace.end().as_bytes()).map_err(HistoryError::Output)
    }
}
