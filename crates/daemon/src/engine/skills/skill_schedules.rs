//! Schedules of skills: when the time of one has come, its skill is woken in a session of the owner's.

use std::collections::BTreeMap;
use std::sync::Arc;

use bridle_loop::{SessionId, SignalKind};
use bridle_sexp::Value;
use bridle_skill_host::{SKILL_SCHEDULE, SkillTable};

use crate::access::principal::Principal;
use crate::byte_budget::ByteBudget;
use crate::engine::home::time_zones;
use crate::engine::hub::Hub;
use crate::engine::sessions::inbound_message::ShellSignal;
use crate::engine::shells::join::attach;
use crate::engine::stream::{AttachRequest, AttachRole, StreamMode};

/// Session in which schedules wake skills.
const SKILL_SESSION: &str = "skills";

/// Times at which skills are to be woken.
pub(in crate::engine) struct SkillSchedules {
    hub: Arc<Hub>,
    /// Next time of each schedule, in milliseconds since 1970, by skill and schedule.
    due: BTreeMap<(String, String), Option<i64>>,
}

impl SkillSchedules {
    /// No schedules yet.
    pub(in crate::engine) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, due: BTreeMap::new() }
    }

    /// Wakes the skills whose time has come. After a long sleep a schedule fires once.
    pub(in crate::engine) async fn send_due(&mut self, table: &SkillTable) {
        let now = self.hub.home.now();
        let mut present = BTreeMap::new();
        for (skill, schedule) in table.schedules() {
            let key = (skill.to_string(), schedule.to_owned());
            let due = self.due.get(&key).copied();
            let due = due.unwrap_or_else(|| next_time(schedule, now));
            let is_due = due.is_some_and(|due| due <= now);
            if is_due {
                self.send(&key.0, schedule).await;
            }
            present.insert(key, if is_due { next_time(schedule, now) } else { due });
        }
        self.due = present;
    }

    async fn send(&self, skill: &str, schedule: &str) {
        let who = Principal::Uid(rustix::process::geteuid().as_raw());
        let session = SessionId::parse(SKILL_SESSION).expect("letters are a name");
        let want = AttachRequest {
            session: Some(session),
            role: AttachRole::Controller,
            mode: StreamMode::Follow,
            ..AttachRequest::answers()
        };
        let payload = Value::plist([
            ("sensor", Value::keyword(SKILL_SCHEDULE)),
            ("skill", Value::str(skill)),
            ("schedule", Value::str(schedule)),
        ]);
        let signal = ShellSignal {
            kind: SignalKind::Event,
            id: None,
            target: None,
            shell: None,
            payload,
            dropped: Vec::new(),
            ast: None,
            files: Vec::new(),
        };
        let load = Arc::new(ByteBudget::new(0)).load(0);
        let sent = match attach(&self.hub, who, want).await {
            Ok(attached) => attached.admit(signal, load),
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            tracing::warn!(skill, schedule, error = error.reason, "a schedule was left out");
        }
    }
}

/// The first time of a schedule after `now`, in milliseconds since 1970: of a cron expression, with a time zone behind it or in
/// that of the machine, or of `every 5m`. `None` for one that never comes.
fn next_time(schedule: &str, now: i64) -> Option<i64> {
    let Some(every) = schedule.strip_prefix("every ") else {
        return time_zones::next_time(schedule, now).unwrap_or_else(|reason| {
            tracing::warn!(schedule, %reason, "a schedule of a skill never comes");
            None
        });
    };
    let every = every.trim();
    let (last, _) = every.char_indices().next_back()?;
    let (number, unit) = every.split_at(last);
    let unit = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let every = number.trim().parse::<i64>().ok()?.checked_mul(unit)?;
    (every > 0).then(|| now.checked_add(every))?
}
