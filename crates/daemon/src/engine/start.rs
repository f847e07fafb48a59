//! The beginning and the end of a hub, and its timer.
//!
//! long: a start is one order of steps, and the hub has all its fields in one place.

use crate::engine::commit::session_task;
use crate::engine::queries::policy_install;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bridle_history::policy_sets::was_installed;
use bridle_host::Host;
use bridle_loop::{CONTEXT, RecordKind, SessionId, TimerTick};
use bridle_memex::MEMORY;
use bridle_record::{NewRecord, RecordAppend, RecordStore, WakingSession};
use bridle_sexp::Value;
use bridle_skill_host::SkillThinker;

use crate::config::{DaemonConfig, ThinkerChoice};
use crate::engine::clock::MonotonicClock;
use crate::engine::home::action_catalog::ActionCatalog;
use crate::engine::home::effects;
use crate::engine::home::engine_files::EngineFiles;
use crate::engine::home::guard::PolicyGuard;
use crate::engine::home::kept_files::KeptFiles;
use crate::engine::home::models::HomeModels;
use crate::engine::home::own_files::OwnFiles;
use crate::engine::home::principal_usage::PrincipalUsageSums;
use crate::engine::home::readers::ReaderPool;
use crate::engine::home::record_writer::RecordWriter;
use crate::engine::home::refusals::RefusalCounter;
use crate::engine::home::schedules::ScheduleList;
use crate::engine::home::session_usage::SessionUsageSums;
use crate::engine::home::skill_writer::SkillWriter;
use crate::engine::home::spending::RecordBudgetUse;
use crate::engine::home::unsaved_buffers::UnsavedBuffers;
use crate::engine::home::{Home, HomeAbilities, HomeRecord};
use crate::engine::hub::Hub;
use crate::engine::hub::engine_tasks::EngineTasks;
use crate::engine::queries::context_actuator::ContextActuator;
use crate::engine::queries::facts::HubFacts;
use crate::engine::queries::prompt_memory::{self, HubFiles, HubRecall};
use crate::engine::sessions::inbox_item::InboxItem;
use crate::engine::sessions::session_directory::SessionDirectory;
use crate::engine::skills::codec_skills::HubCodecSkills;
use crate::engine::skills::session_proposer::SessionProposer;
use crate::engine::skills::skill_schedules::SkillSchedules;
use crate::engine::skills::{self, HostedSkills};
use crate::error::DaemonError;
use crate::metrics::EngineMetrics;

/// The clock of a daemon that goes on with this record.
fn clock(store: &mut RecordStore, config: &DaemonConfig) -> Result<MonotonicClock, DaemonError> {
    #[cfg(not(feature = "faults"))]
    let _ = config;
    Ok(MonotonicClock::start(
        store.latest_at().map_err(DaemonError::Record)?,
        #[cfg(any(test, feature = "faults"))]
        &config.state,
    ))
}

/// The session that heartbeats go to.
const HEARTBEAT_SESSION: &str = "heartbeat";

/// The principal of what the daemon itself does.
const DAEMON_PRINCIPAL: &str = "daemon";

/// Longest sleep of the timer: so soon it is noticed that the machine slept. In a test build the clock may jump meanwhile.
const MAX_TIMER_SLEEP: Duration =
    if cfg!(feature = "faults") { Duration::from_millis(100) } else { Duration::from_secs(60) };

/// Opens the record, takes up what was left open, and starts the timer. The work does not
/// depend on how much is in the record.
///
/// # Errors
/// The record or the thinker cannot be opened.
pub(crate) async fn start_hub(config: &DaemonConfig) -> Result<Arc<Hub>, DaemonError> {
    let facts = Arc::new(HubFacts::default());
    let host = Host::new(&config.thinker, Arc::clone(&facts) as _).map_err(DaemonError::Thinker)?;
    if config.thinker != ThinkerChoice::Models {
        return start_with(config, facts, host).await;
    }
    let recall = Arc::new(HubRecall::new(&facts, config.memex.clone()));
    let files = Arc::new(HubFiles(Arc::clone(&facts)));
    let codecs = Arc::new(HubCodecSkills(Arc::clone(&facts)));
    let models = Arc::new(HomeModels::open(config, recall, files, codecs).await);
    facts.introduce_completer(models.completer());
    let host = host.with_thinker_before(|inner| models.before(inner));
    let hub = start_with(config, Arc::clone(&facts), host).await?;
    // Set once, before anybody can ask.
    let _ = hub.home.abilities.models.set(Arc::clone(&models));
    hub.running.tasks.spawn(prompt_memory::watch(models, facts, hub.running.quit.clone()));
    Ok(hub)
}

/// Starts a hub with this host, which asks `facts`.
///
/// # Errors
/// The record cannot be opened.
pub(in crate::engine) async fn start_with(
    config: &DaemonConfig,
    facts: Arc<HubFacts>,
    host: Host,
) -> Result<Arc<Hub>, DaemonError> {
    let skills = skills::open(config).await;
    let host =
        host.with_thinker_before(|inner| Box::new(SkillThinker::new(Arc::clone(&skills), inner)));
    #[cfg(feature = "faults")]
    let host = host.with_tally(config.state.clone());
    let options = bridle_record::StoreOptions::default();
    let mut store = RecordStore::open(&config.state, &options).map_err(DaemonError::Record)?;
    let head = store.head().map_err(DaemonError::Record)?.number.0;
    let clock = Arc::new(clock(&mut store, config)?);
    let files = EngineFiles::of(config, &clock);
    let shelf = KeptFiles::open(config, Arc::clone(&clock))?;
    let host = host.with_actuator(MEMORY, Box::new(files.seat()));
    let host = host.with_actuator(CONTEXT, Box::new(ContextActuator::new(&facts)));
    let workspace = effects::open(config)?;
    let host = effects::equip(host, workspace.as_ref(), config, SkillWriter(Arc::clone(&skills)));
    let memory = files.begin(config.memex.as_deref())?;
    // The memory has actions since it is open.
    host.refresh_actuators();
    let reader = store.reader().map_err(DaemonError::Record)?;
    let waiting = reader.open_sessions().map_err(DaemonError::Record)?;
    let usage = PrincipalUsageSums::read(&reader, clock.now()).map_err(DaemonError::Record)?;
    let buffers =
        Arc::new(UnsavedBuffers::open(&config.state, &reader).map_err(DaemonError::Overlays)?);
    let guard = PolicyGuard::start(config, |hash| was_installed(&reader, hash));
    let spending = Arc::new(RecordBudgetUse::read(&reader, config).map_err(DaemonError::Record)?);
    let actions = ActionCatalog::start(&host.catalog(), &reader).map_err(DaemonError::Record)?;
    drop(reader);
    let metrics = EngineMetrics::default();
    let (writer, keeping) = RecordWriter::start(
        store,
        head,
        &config.state,
        Arc::clone(&clock),
        metrics.commits.clone(),
        &spending,
    )
    .map_err(DaemonError::Thread)?;
    files.attend(config.memex.as_deref(), memory, &buffers)?;
    let limits = config.engine;
    let abilities = HomeAbilities {
        host: Arc::new(host),
        actions,
        models: OnceLock::new(),
        workspace,
        own_files: OwnFiles::of(config),
        skills: Arc::clone(&skills),
    };
    let home = Home {
        record: HomeRecord { clock, writer, spending, refusals: RefusalCounter::default() },
        readers: ReaderPool::new(config.state.clone(), limits.readers),
        abilities,
        files,
        shelf,
        guard,
        usage,
        schedules: ScheduleList::default(),
        buffers,
        secrets: config.secret_store(),
        session_usage: SessionUsageSums::default(),
        settings: Arc::clone(&config.settings),
    };
    let skills = HostedSkills {
        registry: skills,
        host: Arc::clone(&home.abilities.host),
        proposer: Arc::new(SessionProposer(Arc::clone(&facts))),
    };
    skills.publish();
    let hub = Arc::new(Hub {
        limits,
        started: Instant::now(),
        metrics,
        home,
        directory: SessionDirectory::default(),
        running: EngineTasks::new(limits.workers, keeping),
        drive: session_task::drive,
        install: |hub, by| Box::pin(policy_install::install_policies(hub, by)),
    });
    facts.introduce(&hub);
    note(&hub, RecordKind::DaemonUp).await;
    effects::note_recovered(&hub.home).await;
    policy_install::record_first_policies(&hub, DAEMON_PRINCIPAL).await;
    take_up(&hub, &waiting);
    hub.running.tasks.spawn(keep_time(Arc::clone(&hub), config.heartbeat));
    let schedules = SkillSchedules::new(Arc::clone(&hub));
    hub.running.tasks.spawn(skills.watch(schedules, hub.running.quit.clone()));
    Ok(hub)
}

/// Ends everything in order: nothing new is taken, what is being recorded is recorded, what
/// runs is canceled, states are saved, and the record is closed.
pub(crate) async fn stop_hub(hub: &Arc<Hub>, grace: Duration) {
    hub.running.stopping.store(true, Ordering::Relaxed);
    hub.running.quit.cancel();
    for session in hub.directory.present() {
        let mut inner = session.lock();
        for worker in inner.open.workers.values().filter(|worker| !worker.is_paid) {
            worker.cancel.cancel();
        }
        inner.inbox.work.push_back(InboxItem::Evict);
        hub.wake_drive(&session, &mut inner);
    }
    hub.running.tasks.close();
    let ending = async {
        let paid_thoughts = end_paid_thoughts(hub, grace / 2);
        tokio::select! {
            () = hub.running.tasks.wait() => return,
            () = paid_thoughts => {}
        }
        hub.running.tasks.wait().await;
    };
    if tokio::time::timeout(grace, ending).await.is_err() {
        tracing::warn!(left = hub.running.tasks.len(), "work of sessions did not end in time");
    }
    hub.home.files.stop().await;
    note(hub, RecordKind::DaemonDown).await;
    hub.home.record.writer.close();
    let keeping = hub.running.keeping.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(keeping) = keeping {
        let ended = tokio::task::spawn_blocking(move || keeping.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::error!("the record writer broke off");
        }
    }
}

/// Has thoughts that cost something end after a while: a draft that comes until then is kept.
async fn end_paid_thoughts(hub: &Hub, wait: Duration) {
    tokio::time::sleep(wait).await;
    for session in hub.directory.present() {
        for worker in session.lock().open.workers.values() {
            worker.cancel.cancel();
        }
    }
}

/// Records what the daemon itself does. A record that is full now is no reason not to start.
async fn note(hub: &Hub, kind: RecordKind) {
    let version = Value::plist([("version", Value::str(env!("CARGO_PKG_VERSION")))]);
    let draft =
        NewRecord::new("", kind.word(), hub.home.now(), DAEMON_PRINCIPAL, version.to_string());
    let append = RecordAppend { drafts: vec![draft], ..RecordAppend::default() };
    if let Err(error) = hub.home.keep(append).await {
        tracing::warn!(%error, %kind, "could not be recorded");
    }
}

/// Wakes sessions that wait for something, or will.
fn take_up(hub: &Arc<Hub>, waiting: &[WakingSession]) {
    for row in waiting {
        let Ok(id) = SessionId::parse(&row.session) else { continue };
        hub.directory.wakes.set(&id, row.wake);
        // Of one that has only something planned, the schedules are counted and listed.
        if row.open > 0 || row.wake.is_some() {
            tell(hub, id, InboxItem::Recover(hub.running.recovering.token()));
        }
    }
    hub.running.recovering.close();
}

/// Hands work to a session that need not be in memory.
fn tell(hub: &Arc<Hub>, id: SessionId, work: InboxItem) {
    let (hub, tasks) = (Arc::clone(hub), hub.running.tasks.clone());
    tasks.spawn(async move {
        match hub.find(&id).await {
            Ok(Some(held)) => held.post(work),
            Ok(None) => {}
            // Later, then: the wish is not lost.
            Err(_) => hub.directory.wakes.set(&id, Some(hub.home.now() + 1000)),
        }
    });
}

/// Tells sessions that time passed: one timer for all of them.
async fn keep_time(hub: Arc<Hub>, heartbeat: Option<Duration>) {
    let mut next_beat = heartbeat.map(|every| Instant::now() + every);
    loop {
        let due = hub
            .directory
            .wakes
            .next()
            .map_or(MAX_TIMER_SLEEP, |at| hub.home.record.clock.until(at).min(MAX_TIMER_SLEEP));
        let beat =
            next_beat.map_or(MAX_TIMER_SLEEP, |at| at.saturating_duration_since(Instant::now()));
        tokio::select! {
            () = tokio::time::sleep(due.min(beat)) => {}
            () = hub.directory.wakes.changed() => {}
            () = hub.running.quit.cancelled() => return,
        }
        while let Some(id) = hub.directory.wakes.take_due(hub.home.now()) {
            tell(&hub, id, InboxItem::Tick(TimerTick::Deadline));
        }
        if let (Some(every), Some(at)) = (heartbeat, next_beat)
            && at <= Instant::now()
        {
            next_beat = Some(Instant::now() + every);
            send_heartbeat(&hub);
        }
    }
}

fn send_heartbeat(hub: &Arc<Hub>) {
    let (hub, tasks) = (Arc::clone(hub), hub.running.tasks.clone());
    tasks.spawn(async move {
        let id = SessionId::parse(HEARTBEAT_SESSION).expect("letters are a name");
        match hub.find(&id).await {
            Ok(Some(held)) => held.post(InboxItem::Tick(TimerTick::Heartbeat)),
            Ok(None) => {
                let held = hub.find_or_make(&id, &DAEMON_PRINCIPAL.into(), 0);
                held.post(InboxItem::Tick(TimerTick::Heartbeat));
            }
            Err(failure) => tracing::warn!(%failure, "a heartbeat was left out"),
        }
    });
}
