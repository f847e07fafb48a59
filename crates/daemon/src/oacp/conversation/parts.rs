//! Large messages that come in parts, and answers that leave in parts.

use bridle_sexp::Value;
use bridle_wire::OacpCode;
use bridle_wire::oacp::{ErrorReply, MessageId, MessageMeta, response, success};
use bridle_wire::parts::{
    AssemblerLimits, AssemblyStep, CallerMillis, PartAssembler, PartMessage, PartsId, ReceivedPart,
    split,
};

use super::payload_check::{LARGE_PAYLOAD_BYTES, PayloadOrigin, judge_small};
use super::{Conversation, MAX_STRANGER_FRAME_BYTES, ReplyContext};

impl Conversation {
    /// Bytes kept for unfinished messages in parts.
    pub(crate) fn holding(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| parts.held_bytes())
    }

    /// Returns the time at which the oldest unfinished message in parts is given up.
    pub(crate) fn part_deadline(&self) -> Option<CallerMillis> {
        self.parts.as_ref().and_then(|parts| parts.next_deadline())
    }

    /// Forgets messages whose time is over; returns how many answers that leaves owed. A
    /// client without hello is owed none: each of its parts was answered.
    pub(crate) fn expire_parts(&mut self, now: CallerMillis) -> usize {
        let Some(parts) = &mut self.parts else { return 0 };
        let expired = parts.expire(now).len();
        self.drop_empty_parts();
        if self.greeted.is_some() { expired } else { 0 }
    }

    /// Answers a message that is a part of another.
    pub(super) fn part(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        part: &PartMessage<'_>,
    ) {
        match part {
            PartMessage::Part { id: name, n, of, data } => {
                self.accept(batch, id, name, ReceivedPart { n: *n, of: *of, data });
            }
            PartMessage::Abort { id: name } => self.abort(batch, id, name),
        }
    }

    fn accept(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        name: &PartsId,
        part: ReceivedPart<'_>,
    ) {
        let limits = &batch.service.daemon.config.limits;
        let most = match self.source {
            Some(_) => limits.message.min(MAX_STRANGER_FRAME_BYTES),
            None => limits.message,
        };
        let parts = self.parts.get_or_insert_with(|| {
            Box::new(PartAssembler::new(AssemblerLimits {
                payload_bytes: most,
                held_bytes: most,
                ..AssemblerLimits::default()
            }))
        });
        let deadline = batch.service.daemon.tick_after(limits.frame_deadline);
        let accepted = parts.accept(name, part, deadline);
        self.drop_empty_parts();
        match accepted {
            Ok(AssemblyStep::Whole(text)) if text.len() > LARGE_PAYLOAD_BYTES => {
                self.whole = Some(text);
            }
            Ok(AssemblyStep::Whole(text)) => {
                let verdict = judge_small(&text, self.dialect, PayloadOrigin::Whole);
                self.reply(batch, verdict);
            }
            Ok(AssemblyStep::More) if self.greeted.is_some() => {}
            Ok(AssemblyStep::More) => self.receipt(batch, id, name, part),
            Err(error) => {
                let failure = ErrorReply::because(error.code(), error.to_string());
                self.refuse(batch, id, &failure);
            }
        }
    }

    /// The one answer that a client without hello gets for a part that is not the last.
    fn receipt(
        &mut self,
        batch: &mut ReplyContext<'_>,
        id: Option<&MessageId>,
        name: &PartsId,
        part: ReceivedPart<'_>,
    ) {
        let part = Value::plist([
            ("id", Value::str(name.as_str())),
            ("n", Value::int(i64::from(part.n))),
            ("of", Value::int(i64::from(part.of))),
        ]);
        let payload = Value::plist([("status", Value::keyword("partial")), ("part", part)]);
        self.say(batch, &response(id, MessageMeta::default(), payload));
    }

    fn abort(&mut self, batch: &mut ReplyContext<'_>, id: Option<&MessageId>, name: &PartsId) {
        let known = self.parts.as_mut().is_some_and(|parts| parts.abort(name));
        self.drop_empty_parts();
        if known {
            let aborted = [("aborted", Value::str(name.as_str()))];
            return self.say(batch, &success(id, MessageMeta::default(), aborted));
        }
        let failure =
            ErrorReply::because(OacpCode::UnknownId, "no message with that id is under way");
        self.refuse(batch, id, &failure);
    }

    fn drop_empty_parts(&mut self) {
        if self.part_deadline().is_none() {
            self.parts = None;
        }
    }

    /// Appends an answer that is over the client's `:max-frame` in parts; whether that worked.
    pub(super) fn say_in_parts(&mut self, batch: &mut ReplyContext<'_>, text: &str) -> bool {
        let Some(greeted) = self.greeted.as_mut().filter(|greeted| greeted.parts) else {
            return false;
        };
        greeted.said += 1;
        let Some(id) = PartsId::new(&format!("bridle-{}", greeted.said)) else { return false };
        let Ok(parts) = split(text, self.encoder.max_frame(), &id) else { return false };
        for part in parts {
            // Each was cut to fit.
            let _ = self.encoder.encode(&part, batch.out);
            batch.tally.frames_out += 1;
        }
        true
    }
}
