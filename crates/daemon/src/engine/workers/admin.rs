//! What the daemon itself carries out: forgetting, forking, making skills.
//!
//! Reached only with an order, as every actuator; started and recorded like every act. The
//! outcome goes to the session that asked.

use bridle_history::record_source::kind_of;
use bridle_history::session_fold::{self, HistoryFold};
use bridle_host::ActContext;
use bridle_loop::{
    Action, FileRequest, ForkPoint, Order, Outcome, RecordKind, SessionId, SessionStart,
    SessionState,
};
use bridle_record::{
    ForgetRequest, ForgetResult, RecordFilter, RecordNumber, RecordReader, RecordStore, StoreError,
};
use bridle_sexp::Value;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::access::principal::Principal;
use crate::engine::error::{EngineError, EngineErrorCode};
use crate::engine::home::own_files::{RESTART, is_change};
use crate::engine::home::skill_writer;
use crate::engine::hub::{Hub, SessionHandle};
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::live_session::{LiveSessionSlot, OwnerWords, SlotState};
use crate::engine::sessions::loaded_session::began;

/// The actuator whose orders are carried out here.
const SYSTEM: &str = "system";

/// Records read at once while a past state is computed.
const REPLAY_PAGE_RECORDS: usize = 1024;

/// Reason that shells of a forgotten session get.
const FORGOTTEN: &str = "this session was forgotten";

/// Tells whether an order is for the daemon itself.
pub(in crate::engine) fn is_for(order: &Order) -> bool {
    order.target().as_str() == SYSTEM
}

/// Carries an order out, for the session that asked.
pub(in crate::engine) async fn carry_out(
    hub: &Arc<Hub>,
    asker: &LiveSessionSlot,
    context: ActContext,
    order: &Order,
) -> Outcome {
    let done = match order.action() {
        Action::File(request) if is_change(request) => change(hub, request, order, context).await,
        Action::Forget { what } => forget(hub, asker, what).await,
        Action::Fork { record, name } => fork(hub, asker, *record, name.as_deref()).await,
        Action::Other(name) if name.as_str() == skill_writer::CREATE_SKILL => {
            skill_writer::carry_out(&hub.home.abilities.skills, order.payload()).await
        }
        other => Err(format!("`{}` is nothing that the daemon does", other.name())),
    };
    match done {
        Ok(result) => Outcome::Done(result),
        Err(reason) => Outcome::Failed(reason.into()),
    }
}

/// Whether an order is to start the daemon anew: its outcome comes from the daemon that starts.
pub(in crate::engine) fn is_restart(order: &Order) -> bool {
    is_for(order) && matches!(order.action(), Action::Other(name) if name.as_str() == RESTART)
}

/// Changes a file of bridle itself; policies hold at once.
async fn change(
    hub: &Arc<Hub>,
    request: &FileRequest,
    order: &Order,
    context: ActContext,
) -> Result<Value, String> {
    let workspace = hub.home.abilities.workspace.clone().ok_or("this daemon changes no files")?;
    let (own, principal) = (hub.home.abilities.own_files.clone(), context.principal.clone());
    let is_policy = own.is_policy(request);
    let (request, order) = (request.clone(), order.clone());
    let work = move || own.change(&workspace, &request, &order, &context);
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())??;
    if !is_policy {
        return Ok(done);
    }
    let installed = (hub.install)(hub, &principal).await;
    let hash = installed.map_err(|error| error.reason)?.to_string();
    let pairs = done.pairs().into_iter().flatten();
    let pairs = pairs.flat_map(|(key, value)| [key.clone(), value.clone()]);
    Ok(Value::list(pairs.chain([Value::keyword("installed"), Value::str(hash)])))
}

/// Forgets a session by its name, or a record by its number.
async fn forget(hub: &Arc<Hub>, asker: &LiveSessionSlot, what: &Value) -> Result<Value, String> {
    let by = ForgetRequest { principal: (*asker.owner).into(), at: hub.home.now() };
    if let Some(name) = what.as_str() {
        let id = SessionId::parse(name).map_err(|error| error.to_string())?;
        return forget_session(hub, asker, id, by).await;
    }
    let number = what.as_i64().and_then(|number| u64::try_from(number).ok());
    let Some(number) = number else { return Err("expected a session or a record".to_owned()) };
    forget_record(hub, RecordNumber(number), by).await
}

async fn forget_session(
    hub: &Arc<Hub>,
    asker: &LiveSessionSlot,
    id: SessionId,
    by: ForgetRequest,
) -> Result<Value, String> {
    if id == asker.id {
        return Err("a session cannot forget itself; ask from another one".to_owned());
    }
    let held = find(hub, &id).await?;
    held.session.lock().gone =
        Some(EngineError::because(EngineErrorCode::UnknownSession, FORGOTTEN));
    close(&held).await;
    let name: Box<str> = id.as_str().into();
    // First, so that nothing is left of it whenever the daemon dies.
    let forgot = match hub.home.buffers.forget(&name, None).await {
        Ok(()) => with_store(hub, move |store| store.forget_session(&name, &by)).await,
        Err(reason) => Err(reason),
    };
    let forgot = forgot.inspect_err(|_| held.session.lock().gone = None)?;
    hub.directory.wakes.set(&id, None);
    hub.home.schedules.forget(&id);
    let_go(&mut held.session.lock());
    forget_versions(hub, &id, None).await?;
    told(forgot, "session", Value::str(id.as_str()))
}

async fn forget_record(
    hub: &Arc<Hub>,
    record: RecordNumber,
    by: ForgetRequest,
) -> Result<Value, String> {
    let found = read(hub, move |reader| reader.record(record)).await?;
    let Some(kept) = found else { return Err(format!("no record `{record}`")) };
    let Ok(id) = SessionId::parse(&kept.session) else {
        return Err(format!("record `{record}` belongs to the daemon and cannot be forgotten"));
    };
    let held = find(hub, &id).await?;
    let (done, erased) = oneshot::channel();
    held.post(InboxItem::Erase { record, by, done });
    let forgot = erased.await.map_err(|_| "the daemon stops".to_owned())??;
    // Read again from what is left.
    held.session.lock().known.words = OwnerWords::default();
    forget_versions(hub, &id, Some(record.0)).await?;
    told(forgot, "record", int(record.0))
}

/// Takes leave of the shells of a session that is forgotten.
fn let_go(inner: &mut SlotState) {
    inner.open.requests.clear();
    inner.open.questions.clear();
    for feed in &mut inner.feeds {
        feed.end(EngineError::because(EngineErrorCode::UnknownSession, FORGOTTEN));
    }
}

/// Forgets which versions of the user's files follow from it; the files stay as they are.
async fn forget_versions(hub: &Hub, id: &SessionId, record: Option<u64>) -> Result<(), String> {
    let Some(memory) = hub.home.memory().cloned() else { return Ok(()) };
    let session = id.clone();
    let forgot = tokio::task::spawn_blocking(move || memory.forget(session.as_str(), record));
    let forgot = forgot.await.map_err(|error| error.to_string())?;
    forgot.map(drop).map_err(|error| format!("versions of files were not forgotten: {error}"))
}

fn told(forgot: ForgetResult, key: &str, what: Value) -> Result<Value, String> {
    Ok(Value::plist([
        ("action", Value::keyword("forget")),
        (key, what),
        ("forgot", int(forgot.number.0)),
        ("scrubbed", Value::bool(forgot.scrubbed)),
    ]))
}

/// Begins a session from a past point of another; nothing that was done is done again.
async fn fork(
    hub: &Arc<Hub>,
    asker: &LiveSessionSlot,
    record: u64,
    name: Option<&str>,
) -> Result<Value, String> {
    let id = match name {
        Some(name) => SessionId::parse(name).map_err(|error| error.to_string())?,
        None => hub.directory.fresh_name(),
    };
    let sets = Arc::clone(&hub.home.guard.sets);
    let look = move |reader: &RecordReader| {
        past(HistoryFold { reader, sets: &sets }, RecordNumber(record))
    };
    let (session, state) = read(hub, look).await??;
    let source = session.as_str().to_owned();
    let source_owner = find(hub, &session).await?.session.owner.clone();
    // A fork of the owner's own session stays the owner's, whoever may see who asks for it.
    let owner = match Principal::is_owners_alone(&asker.owner) {
        true => &asker.owner,
        false => &source_owner,
    };
    let fork = ForkPoint { session, record, state: state.to_value() };
    let began = SessionStart { fork: Some(fork), ..began(owner, &hub.limits) };
    let held = hub.find_or_make(&id, owner, 0);
    if held.session.owner != *owner {
        return Err(format!("a session `{id}` exists already"));
    }
    let (done, begun) = oneshot::channel();
    held.post(InboxItem::Begin { began: Box::new(began), done });
    if !begun.await.unwrap_or(false) {
        return Err(format!("a session `{id}` exists already, or cannot be recorded"));
    }
    Ok(Value::plist([
        ("action", Value::keyword("fork")),
        ("session", Value::str(id.as_str())),
        ("from", Value::str(source)),
        ("record", int(record)),
    ]))
}

/// The State of a record's session right after that record.
fn past(
    past: HistoryFold<'_>,
    number: RecordNumber,
) -> Result<Result<(SessionId, SessionState), String>, StoreError> {
    let reader = past.reader;
    let Some(record) = reader.record(number)? else {
        return Ok(Err(format!("no record `{number}`")));
    };
    if kind_of(&record) == Some(RecordKind::Compacted) {
        return Ok(Err(format!("record `{number}` was compacted: nothing is left to fork from")));
    }
    let Ok(id) = SessionId::parse(&record.session) else {
        return Ok(Err(format!("record `{number}` belongs to no session")));
    };
    let mut state = SessionState::new(id.clone());
    let filter =
        RecordFilter { session: Some(record.session), to: Some(number), ..RecordFilter::default() };
    let mut after = RecordNumber(0);
    loop {
        let page = reader.records(after, &filter, REPLAY_PAGE_RECORDS)?;
        let Some(last) = page.last() else { return Ok(Ok((id, state))) };
        after = last.number;
        for record in &page {
            if kind_of(record) == Some(RecordKind::Compacted) {
                return Ok(Err(format!("records from `{}` on were compacted", record.number)));
            }
            if record.body.text().is_none() {
                return Ok(Err(format!("record `{}` was forgotten", record.number)));
            }
            session_fold::apply(past, &mut state, record)?;
        }
    }
}

/// Has a session let go of everything.
async fn close(held: &SessionHandle) {
    let (done, closed) = oneshot::channel();
    held.post(InboxItem::Close(done));
    // An error says that the daemon stops.
    let _ = closed.await;
}

async fn find(hub: &Arc<Hub>, id: &SessionId) -> Result<SessionHandle, String> {
    let found = hub.find(id).await.map_err(|failure| failure.reason)?;
    found.ok_or_else(|| format!("no session `{id}`"))
}

async fn read<T: Send + 'static>(
    hub: &Arc<Hub>,
    work: impl FnOnce(&RecordReader) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, String> {
    hub.home.readers.read(work).await.map_err(|failure| failure.reason)
}

pub(in crate::engine) async fn with_store(
    hub: &Arc<Hub>,
    work: impl FnOnce(&mut RecordStore) -> Result<ForgetResult, StoreError> + Send + 'static,
) -> Result<ForgetResult, String> {
    match hub.home.record.writer.with_store(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn int(number: u64) -> Value {
    Value::int(i64::try_from(number).unwrap_or(i64::MAX))
}
