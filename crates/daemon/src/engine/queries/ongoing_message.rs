//! A message that is known by what it says, among those that are still worked on.
//!
//! Called by `http` for a request that is no longer wanted and that this daemon did not take itself.
//! No index leads from a message to its session, so every session is asked in which something is
//! open: what is not, cannot be called off. The record says what the message was.

use bridle_loop::WithdrawalReason;
use std::sync::Arc;
use std::time::Duration;

use bridle_history::record_source::kind_of;
use bridle_history::session_fold;
use bridle_loop::{Event, Seq, SessionId, Signal};
use tokio::sync::oneshot;

use crate::access::principal::Principal;
use crate::engine::hub::Hub;
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::stream::AttachRole;

/// Sessions that are asked, beside the one in which it is looked for first: some 100 us each.
const MAX_SEARCHED_SESSIONS: usize = 1024;

/// Time that a search takes at most.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Finds a message for which something was begun that can still be given up, in the sessions
/// that a principal may control.
pub(crate) async fn find_ongoing(
    hub: Arc<Hub>,
    who: Principal,
    first: Option<SessionId>,
    is_it: impl Fn(&Signal) -> bool,
) -> Option<(SessionId, u64)> {
    let look = async {
        hub.running.recovered().await;
        let waiting =
            hub.home.readers.read(bridle_record::RecordReader::open_sessions).await.ok()?;
        let open = waiting.iter().filter(|row| row.open > 0);
        let open = open.filter_map(|row| SessionId::parse(&row.session).ok());
        for id in first.into_iter().chain(open.take(MAX_SEARCHED_SESSIONS)) {
            for seq in ongoing(&hub, &who, &id).await {
                let signal = signal(&hub, &id, seq).await;
                if signal.is_some_and(|signal| is_it(&signal)) {
                    return Some((id, seq.0));
                }
            }
        }
        None
    };
    // Whoever asks is not kept for longer; it may ask again.
    tokio::time::timeout(SEARCH_TIMEOUT, look).await.ok().flatten()
}

/// The messages of a session for which something can be given up; none for who may not.
async fn ongoing(hub: &Arc<Hub>, who: &Principal, id: &SessionId) -> Vec<Seq> {
    let Ok(Some(held)) = hub.find(id).await else { return Vec::new() };
    if !held.session.admits(&hub.home, who, AttachRole::Controller) {
        return Vec::new();
    }
    let (back, told) = oneshot::channel();
    held.post(InboxItem::Ongoing(back));
    told.await.unwrap_or_default()
}

/// A message as it was recorded.
async fn signal(hub: &Hub, id: &SessionId, seq: Seq) -> Option<Arc<Signal>> {
    let (id, after) = (id.clone(), seq.0.checked_sub(1)?);
    let read = move |reader: &bridle_record::RecordReader| reader.stream(id.as_str(), after, 1);
    let record = hub.home.readers.read(read).await.ok()?.into_iter().next()?;
    let value = session_fold::parse(record.body.text()?)?;
    match Event::from_value(kind_of(&record)?, &value) {
        Ok(Event::Signal(signal)) => Some(signal),
        _ => None,
    }
}

/// Gives up whatever was begun for a message of a principal in a session, if that is not
/// answered yet; of another principal's message nothing changes.
pub(crate) async fn withdraw(
    hub: Arc<Hub>,
    who: Principal,
    session: SessionId,
    seq: u64,
    how: WithdrawalReason,
) {
    let Ok(Some(held)) = hub.find(&session).await else { return };
    if held.session.admits(&hub.home, &who, AttachRole::Controller) {
        held.post(InboxItem::Withdraw { seq: Seq(seq), how, principal: who.name() });
    }
}
