//! Lives of sessions: what can happen, made at random.
//!
//! long: a match with an arm for each kind of event.
//!
//! A moment says what kind of thing happens; which effect it concerns depends on what the session
//! awaits then, so that most answers are to the point and some are not.

use std::sync::{Arc, LazyLock};

use bridle_loop::{
    ActionHash, ActuatorLocation, ActuatorRef, ApprovalAnswer, ApprovalChoice as LoopAnswer,
    CallId, ConsultFinding, ConsultObjection, ConsultStage, ConsultantRef, Draft, DraftStop,
    Effect, EffectId, Event, GuardPolicies, InstalledPolicies, KeywordName, LOOP_VERSION, ModelRef,
    OpaqueText, Outcome, PrincipalUsage, Privacy, Proposal, Provenance, ReflexAdvice, Seq,
    SessionLimits, SessionStart, SessionState, Signal, SignalKind, SignalSender, TextDigest,
    TextSource, ThinkerFault, TimerTick, TokenUsage, TracedKind, TracedValue, TurnId, UnixMillis,
    WithdrawalReason,
};
use bridle_sexp::Value;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// Whether every plist that others send says that it is approved.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Approved {
    No,
    Everywhere,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// When, in milliseconds; clocks may also go back.
    at: i64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// The version of the loop that it begins with.
    Began(SessionLimits, u32),
    /// A later version, with the State that it goes on from or without.
    Upgraded(bool),
    Signal {
        kind: SignalKind,
        who: usize,
        target: Option<KeywordName>,
        payload: Value,
        patient: bool,
    },
    /// An answer to a question, or to none.
    Answered {
        pick: usize,
        who: usize,
        answer: LoopAnswer,
        /// What the answerer says to have seen.
        seen: Seen,
    },
    Installed(usize),
    /// What somebody did elsewhere, by span.
    Counted {
        who: usize,
        spans: Vec<(i64, i64)>,
    },
    Registered(Vec<ActuatorRef>),
    /// Who is consulted, and at which stages.
    Consultants(Vec<ConsultantRef>),
    /// An answer to something that is awaited.
    Answer {
        pick: usize,
        with: Answer,
    },
    /// An answer to whatever has this number.
    Stray {
        effect: u64,
        with: Answer,
    },
    /// An answer of the wrong kind to something that is awaited.
    Wrong {
        pick: usize,
    },
    Tick(TimerTick),
    Cancelled(u64),
    Withdrawn(u64, WithdrawalReason),
}

#[derive(Clone, Copy, Debug)]
enum Seen {
    Nothing,
    Right,
    Wrong,
}

#[derive(Clone, Debug)]
struct Answer {
    proposals: Vec<Proposal>,
    think: bool,
    fault: bool,
    outcome: Outcome,
    text: Box<str>,
    findings: Vec<ConsultFinding>,
}

pub(crate) fn life() -> impl Strategy<Value = Vec<Moment>> {
    let first = (limits(), 0..=LOOP_VERSION)
        .prop_map(|(limits, version)| Moment { at: 0, what: What::Began(limits, version) });
    (first, vec(moment(), 0..60)).prop_map(|(first, rest)| {
        let mut life = vec![first];
        life.extend(rest);
        life
    })
}

impl Moment {
    /// Whether it installs other policies.
    pub(crate) fn installs(&self) -> bool {
        matches!(self.what, What::Installed(_))
    }

    /// The events of this moment, in a session that is in this state.
    pub(crate) fn events(
        &self,
        state: &SessionState,
        approved: Approved,
    ) -> Vec<(UnixMillis, Event)> {
        let event = match &self.what {
            What::Upgraded(is_folded) => {
                state.upgrade(UnixMillis(self.at), state.limits(), *is_folded)
            }
            What::Began(limits, version) => Some(Event::Began(SessionStart {
                owner: "uid:1".into(),
                limits: limits.clone(),
                version: *version,
                fork: None,
            })),
            What::Signal { kind, who, target, payload, patient } => {
                Some(Event::Signal(Arc::new(Signal {
                    kind: *kind,
                    from: asker(*who),
                    id: Some(Value::int(7)),
                    target: target.clone(),
                    payload: mark(payload.clone(), approved),
                    dropped: target.iter().map(|_| "(:payload :approved)".into()).collect(),
                    patient: *patient,
                })))
            }
            What::Answered { pick, who, answer, seen } => {
                Some(answered(state, *pick, asker(*who), *answer, *seen))
            }
            What::Installed(index) => Some(Event::PolicyInstalled(InstalledPolicies::new(
                sets()[index % sets().len()].clone(),
                vec!["/protected".into()],
            ))),
            What::Counted { who, spans } => Some(Event::Counted(PrincipalUsage {
                principal: asker(*who).principal,
                spans: spans.clone(),
            })),
            What::Registered(actuators) => Some(Event::Registered(actuators.clone())),
            What::Consultants(all) => Some(Event::ConsultantsChanged(all.clone())),
            What::Answer { pick, with } => picked(state, *pick).map(|(id, effect)| match effect {
                Effect::Consult { .. } => with.advice(id, approved),
                Effect::Think { .. } => with.draft(id, approved),
                Effect::Ask { .. } => {
                    answered(state, *pick, asker(0), LoopAnswer::Allow, Seen::Nothing)
                }
                _ => with.acted(id, approved),
            }),
            What::Stray { effect, with } => Some(with.draft(EffectId(*effect), approved)),
            What::Wrong { pick } => picked(state, *pick).map(|(id, effect)| match effect {
                Effect::Act { .. } => {
                    Event::Consulted { effect: id, advice: ReflexAdvice::default() }
                }
                _ => Event::Acted { effect: id, outcome: Outcome::Done(Value::Nil) },
            }),
            What::Tick(tick) => Some(Event::Tick(*tick)),
            What::Cancelled(turn) => {
                Some(Event::Cancelled { turn: TurnId(*turn), reason: "given up".into() })
            }
            What::Withdrawn(seq, how) => Some(Event::Withdrawn { seq: Seq(*seq), how: *how }),
        };
        event.map(|event| (UnixMillis(self.at), event)).into_iter().collect()
    }
}

impl Answer {
    fn proposals(&self, approved: Approved) -> Vec<Proposal> {
        let marked = |proposal: &Proposal| Proposal {
            payload: mark(proposal.payload.clone(), approved),
            ..proposal.clone()
        };
        self.proposals.iter().map(marked).collect()
    }

    fn advice(&self, effect: EffectId, approved: Approved) -> Event {
        let advice = ReflexAdvice {
            proposals: self.proposals(approved),
            think: self.think,
            standing: self.think,
            findings: self.findings.clone(),
            ..ReflexAdvice::default()
        };
        Event::Consulted { effect, advice }
    }

    fn draft(&self, effect: EffectId, approved: Approved) -> Event {
        let draft = if self.fault {
            Err(ThinkerFault { reason: "no model".into(), retryable: self.think })
        } else {
            let model = ModelRef { name: "m".into(), ..ModelRef::default() };
            Ok(Draft {
                text: self.text.clone(),
                calls: self.proposals(approved),
                model: self.think.then_some(model),
                opaque: self.think.then(|| OpaqueText("signed".into())),
                usage: Some(TokenUsage { input: Some(7), ..TokenUsage::default() }),
                stop: if self.think { DraftStop::Calls } else { DraftStop::End },
                privacy: if self.think { Privacy::Secret } else { Privacy::Private },
                manifest: self.think.then(|| Arc::new(Value::plist([("bytes", Value::int(9))]))),
            })
        };
        Event::Drafted { effect, draft }
    }

    fn acted(&self, effect: EffectId, approved: Approved) -> Event {
        let outcome = match self.outcome.clone() {
            Outcome::Done(result) => Outcome::Done(mark(result, approved)),
            other => other,
        };
        Event::Acted { effect, outcome }
    }
}

/// An answer to one of the open questions; to the first effect there ever was if none is open.
fn answered(
    state: &SessionState,
    pick: usize,
    from: SignalSender,
    answer: LoopAnswer,
    seen: Seen,
) -> Event {
    let open = state.outstanding().into_iter().filter_map(|(id, effect)| match effect {
        Effect::Ask { question, .. } => Some((id, question.intent.hash())),
        _ => None,
    });
    let open: Vec<_> = open.collect();
    let (approval, hash) = match open.len() {
        0 => (EffectId(1), ActionHash::of("")),
        count => open[pick % count],
    };
    let hash = match seen {
        Seen::Nothing => None,
        Seen::Right => Some(hash),
        Seen::Wrong => Some(ActionHash::of("something else")),
    };
    Event::Answered(ApprovalAnswer { approval, hash, answer, from, id: None, always: None })
}

/// Sets of policies that a life may be judged by.
pub(crate) fn sets() -> &'static [Arc<GuardPolicies>] {
    static SETS: LazyLock<Vec<Arc<GuardPolicies>>> = LazyLock::new(|| {
        let anything = "permit (principal, action, resource);";
        let asking = "permit (principal, action, resource) when { context.approved || \
                      context.name == \"approve\" || context.risk == \"safe\" };";
        let nothing = "forbid (principal, action, resource);";
        let sets = [anything, asking, nothing].map(|cedar| {
            let text = format!(
                "* P\n#+begin_src cedar\n{cedar}\n#+end_src\n#+begin_src examples\n#+end_src\n"
            );
            Arc::new(GuardPolicies::from_org(&text).expect("a good set"))
        });
        sets.into_iter().chain([GuardPolicies::built_in()]).collect()
    });
    &SETS
}

/// The shortest answer to an effect.
pub(crate) fn plain_answer(effect: EffectId, what: &Effect) -> Event {
    match what {
        Effect::Consult { .. } => Event::Consulted { effect, advice: ReflexAdvice::default() },
        Effect::Think { .. } => Event::Drafted {
            effect,
            draft: Err(ThinkerFault { reason: "".into(), retryable: false }),
        },
        // Not everybody may answer a question; everybody may take it back.
        Effect::Ask { .. } => Event::Signal(Arc::new(Signal {
            kind: SignalKind::Event,
            from: asker(0),
            id: None,
            target: None,
            payload: Value::plist([("sensor", Value::keyword("interrupt"))]),
            dropped: Vec::new(),
            patient: true,
        })),
        _ => Event::Acted { effect, outcome: Outcome::UnknownOutcome },
    }
}

/// What somebody might claim about a proposal to have it judged otherwise.
const CLAIMS: [&str; 14] = [
    "approved",
    "APPROVED",
    "approved-action",
    "risk",
    "owner",
    "principal",
    "by",
    "policy",
    "policies",
    "protected",
    "session-owner",
    "session-hour",
    "kind",
    "place",
];

/// Adds the claims to a plist and to the plists directly inside it.
fn mark(value: Value, approved: Approved) -> Value {
    if approved == Approved::No || value.pairs().is_none() {
        return value;
    }
    let claim = || CLAIMS.iter().flat_map(|key| [Value::keyword(key), Value::T]);
    let inner = value.elements().unwrap_or(&[]).iter().map(|element| match element {
        Value::List(items) if element.pairs().is_some() => {
            Value::list(items.iter().cloned().chain(claim()))
        }
        other => other.clone(),
    });
    Value::list(inner.chain(claim()))
}

fn picked(state: &SessionState, pick: usize) -> Option<(EffectId, Effect)> {
    let mut outstanding = state.outstanding();
    if outstanding.is_empty() {
        return None;
    }
    let index = pick % outstanding.len();
    Some(outstanding.swap_remove(index))
}

fn moment() -> impl Strategy<Value = Moment> {
    let kind = prop_oneof![
        4 => Just(SignalKind::Event),
        2 => Just(SignalKind::Request),
        1 => Just(SignalKind::Log),
    ];
    let signal = (kind, 0..4usize, proptest::option::of(name()), payload(), any::<bool>())
        .prop_map(|(kind, who, target, payload, patient)| What::Signal {
            kind,
            who,
            target,
            payload,
            patient,
        });
    let answer_of = prop_oneof![3 => Just(LoopAnswer::Allow), 1 => Just(LoopAnswer::Deny)];
    let seen =
        prop_oneof![3 => Just(Seen::Nothing), 2 => Just(Seen::Right), 1 => Just(Seen::Wrong)];
    let answering_questions = (any::<usize>(), 0..4usize, answer_of, seen)
        .prop_map(|(pick, who, answer, seen)| What::Answered { pick, who, answer, seen });
    let answering = (any::<usize>(), answer()).prop_map(|(pick, with)| What::Answer { pick, with });
    let stray = (0..9u64, answer()).prop_map(|(effect, with)| What::Stray { effect, with });
    let withdrawal =
        prop_oneof![Just(WithdrawalReason::Cancelled), Just(WithdrawalReason::Expired)];
    let what = prop_oneof![
        8 => signal,
        12 => answering,
        4 => answering_questions,
        1 => any::<usize>().prop_map(What::Installed),
        1 => stray,
        1 => (0..4usize, vec((-1..20_i64, any::<i64>()), 0..4))
            .prop_map(|(who, spans)| What::Counted { who, spans }),
        1 => any::<usize>().prop_map(|pick| What::Wrong { pick }),
        1 => vec(actuator(), 0..5).prop_map(What::Registered),
        1 => vec(consultant(), 0..3).prop_map(What::Consultants),
        2 => Just(What::Tick(TimerTick::Deadline)),
        1 => Just(What::Tick(TimerTick::Heartbeat)),
        1 => (0..9u64).prop_map(What::Cancelled),
        2 => (0..20u64, withdrawal).prop_map(|(seq, how)| What::Withdrawn(seq, how)),
        1 => limits().prop_map(|limits| What::Began(limits, LOOP_VERSION)),
        1 => any::<bool>().prop_map(What::Upgraded),
    ];
    (prop_oneof![99 => 0..5_000i64, 1 => any::<i64>()], what)
        .prop_map(|(at, what)| Moment { at, what })
}

/// Small limits, so that they are reached.
fn limits() -> impl Strategy<Value = SessionLimits> {
    (0..4u32, 0..4u32, 0..4u32, 0..4usize, 0..4usize, 0..3usize, 0..4usize, 0..3usize).prop_map(
        |(depth, tries, acts, queue, history, schedules, side_turns, parked_turns)| SessionLimits {
            depth,
            tries,
            acts,
            queue,
            history,
            decisions: history,
            schedules,
            outstanding: 3,
            proposals: 3,
            history_text: 3,
            schedule_min_ms: 10,
            request_deadline_ms: 1_000,
            turn_deadline_ms: 3_000,
            questions: 2,
            approval_ms: 2_000,
            side_turns,
            parked_turns,
            ..SessionLimits::default()
        },
    )
}

fn asker(who: usize) -> SignalSender {
    match who {
        0 => SignalSender { owner: true, ..SignalSender::new("uid:1") },
        1 => SignalSender {
            owner: true,
            client: Some("e".into()),
            shell: Some(KeywordName::new("emacs")),
            ..SignalSender::new("uid:1")
        },
        2 => SignalSender::new("tcp"),
        _ => SignalSender::new("anonymous"),
    }
}

fn name() -> impl Strategy<Value = KeywordName> {
    let names = vec!["emacs", "system", "log", "asker", "tally", "nowhere", "Ωμ"];
    proptest::sample::select(names).prop_map(KeywordName::new)
}

fn consultant() -> impl Strategy<Value = ConsultantRef> {
    let stages = vec(proptest::sample::select(ConsultStage::ALL.to_vec()), 0..3);
    (name(), stages, any::<bool>()).prop_map(|(name, stages, is_guard)| ConsultantRef {
        name,
        stages,
        is_guard,
    })
}

fn finding() -> impl Strategy<Value = ConsultFinding> {
    let objection = prop_oneof![
        Just(ConsultObjection::Veto),
        Just(ConsultObjection::Ask),
        name().prop_map(ConsultObjection::Withhold),
        (0..60_i64).prop_map(|times| {
            ConsultObjection::Narrow(Box::new(Value::plist([("times", Value::int(times))])))
        }),
    ];
    (name(), proptest::option::of(0..3usize), objection).prop_map(|(by, proposal, objection)| {
        ConsultFinding { by, proposal, objection, reason: "no".into() }
    })
}

fn actuator() -> impl Strategy<Value = ActuatorRef> {
    let place = prop_oneof![Just(ActuatorLocation::Shell), Just(ActuatorLocation::Host)];
    let actions = prop_oneof![
        Just(Vec::new()),
        Just(vec![KeywordName::new("log"), KeywordName::new("tally"), KeywordName::new("reboot")]),
    ];
    let specs = prop_oneof![Just(None), Just(Some(TextDigest::of("described")))];
    (name(), place, actions, specs).prop_map(|(name, place, actions, specs)| ActuatorRef {
        name,
        place,
        actions,
        specs,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    let outcome = prop_oneof![
        3 => payload().prop_map(Outcome::Done),
        1 => (1_usize..80_000).prop_map(|bytes| Outcome::Done(large_result(bytes))),
        1 => Just(Outcome::Denied("no".into())),
        1 => Just(Outcome::Expired),
        1 => Just(Outcome::Superseded),
        1 => Just(Outcome::Failed("broken".into())),
        1 => Just(Outcome::UnknownOutcome),
    ];
    let text = prop_oneof![Just(""), Just("so far"), Just("done")];
    let findings = prop_oneof![3 => Just(Vec::new()), 1 => vec(finding(), 0..3)];
    (vec(proposal(), 0..5), any::<bool>(), any::<bool>(), outcome, text, findings).prop_map(
        |(proposals, think, fault, outcome, text, findings)| Answer {
            findings,
            proposals,
            think,
            fault,
            outcome,
            text: text.into(),
        },
    )
}

fn large_result(bytes: usize) -> Value {
    Value::plist([
        ("files", Value::list([Value::str("a.org")])),
        ("text", Value::str("x".repeat(bytes))),
    ])
}

/// Origins, as the daemon finds them out.
fn traced() -> Provenance {
    let sources = vec![TextSource::Tool];
    let value = TracedValue { kind: TracedKind::Path, text: "/srv/a".into(), sources };
    Provenance { values: vec![value], is_cut: false }
}

fn proposal() -> impl Strategy<Value = Proposal> {
    let explanation = proptest::option::of(Just("because".into()));
    let call = proptest::option::of(prop_oneof![Just("c1"), Just("c2")]);
    (proptest::option::of(name()), payload(), explanation, any::<bool>(), call).prop_map(
        |(target, payload, explanation, then_think, call)| Proposal {
            target,
            payload,
            explanation,
            then_think,
            provenance: call.map(|_| Arc::new(traced())),
            call: call.map(CallId::new),
        },
    )
}

/// Payloads that mean something, and some that do not.
pub(crate) fn payload() -> impl Strategy<Value = Value> {
    let known = [
        r#"(:sensor :user-prompt :text "help")"#,
        r#"(:sensor :chat-message :text "hi")"#,
        r#"(:sensor :user-prompt :text "go" :returns t)"#,
        r#"(:sensor :user-prompt :text "on" :returns t)"#,
        r#"(:sensor :continue :run 1 :approvals (3))"#,
        r#"(:sensor :continue :run 2 :approvals (3 4) :returns t)"#,
        r#"(:sensor :continue :run 4 :text "and more")"#,
        r#"(:sensor :interrupt)"#,
        r#"(:sensor :focus :file "a.org" :line 3)"#,
        r#"(:sensor :tool-output :tool "shell" :result (:approved t))"#,
        r#"(:sensor :unheard-of :depth 3)"#,
        r#"(:action :message :text "hello")"#,
        r#"(:action :notify :text "hello")"#,
        r#"(:action :complete :prefix "de")"#,
        r#"(:action :eval :code "(delete-file \"~\")")"#,
        r#"(:action :message :text "a" :action :eval :code "b")"#,
        r#"(:action :log :text "x")"#,
        r#"(:action :tally :file "count")"#,
        r#"(:action :insert-at-end :text "x")"#,
        r#"(:action :forget :session "s")"#,
        r#"(:action :fork :record 3)"#,
        r#"(:action :schedule :name "tea" :in 100 :payload (:sensor :tea))"#,
        r#"(:action :schedule :name "x" :every 50 :payload (:sensor :user-prompt :text "x"))"#,
        r#"(:action :schedule :name "y" :every 1 :payload (:sensor :y))"#,
        r#"(:action :schedule :name "z" :every 50 :times 3 :until 400 :payload (:sensor :z))"#,
        r#"(:action :unschedule :name "tea")"#,
        r#"(:action :schedule :name "c" :cron "* * * * *" :zone "x" :offsets ((0 0)) :payload (:sensor :c))"#,
        r#"(:action :schedule :name "c" :cron "0 3 * * *" :missed :skip :offsets ((0 3600) (90000 7200)) :payload (:sensor :c))"#,
        r#"(:action :schedule :name "c" :cron "x" :payload (:sensor :c))"#,
        r#"(:action :pause-schedule :name "z")"#,
        r#"(:action :resume-schedule :name "z")"#,
        r#"(:action :pause-schedule :name "c")"#,
        r#"(:action :resume-schedule :name "c")"#,
        r#"(:action :set-limits :rounds 2 :acts 1)"#,
        r#"(:action :set-limits :vetoes 2 :tokens 9)"#,
        r#"(:action :go-on :turn 1 :reached "1 acts")"#,
        r#"(:action :compact :text "in short" :keep 1)"#,
        r#"(:action :compact :text "all")"#,
        r#"(:action :release :exchange 1 :asked "help" :said "so far")"#,
        r#"(:sensor :user-prompt :text "pin" :privacy :secret)"#,
        r#"(:action :reboot)"#,
        r#"(:action "message" :text "x")"#,
        "nil",
        "(:action)",
        "(1 . 2)",
    ];
    let known: Vec<Value> = known
        .iter()
        .map(|text| bridle_sexp::read_one(text).expect("a form").root().to_value())
        .collect();
    prop_oneof![9 => proptest::sample::select(known), 1 => garbage()]
}

pub(crate) fn garbage() -> impl Strategy<Value = Value> {
    let atom = prop_oneof![
        any::<i64>().prop_map(Value::int),
        any::<String>().prop_map(Value::from),
        "[a-zA-Z:|. ]{0,6}".prop_map(|name| Value::keyword(&name)),
        "[a-zA-Z:|. ]{0,6}".prop_map(|name| Value::symbol(&name)),
        Just(Value::keyword("action")),
        Just(Value::keyword("sensor")),
        Just(Value::T),
        Just(Value::Nil),
    ];
    atom.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::list),
            vec(inner.clone(), 0..5).prop_map(Value::vector),
            (vec(inner.clone(), 1..3), inner).prop_map(|(list, tail)| Value::dotted(list, tail)),
        ]
    })
}
