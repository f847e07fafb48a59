//! Facts are told in the types of the schema: what the policies were checked against is what they
//! get.

use std::sync::Arc;

use bridle_sexp::read_one;
use cedar_policy::{Context, Entities, Request, Schema};

use super::{ApprovalQuestion, CedarTypes};
use crate::action::Action;
use crate::budget::HourlyCounts;
use crate::effect::ProposalAuthor;
use crate::event::{ActuatorLocation, SignalSender};
use crate::ids::{KeywordName, SessionId, UnixMillis};
use crate::policy::facts::{PolicyFacts, ProposalCircumstances, RequestedAction, SessionAccess};

const SCHEMA: &str = include_str!("../schema.cedarschema");

/// One payload of each kind.
const PAYLOADS: [&str; 22] = [
    r#"(:action :message :text "x")"#,
    r#"(:action :notify :text "x")"#,
    r#"(:action :complete :prefix "x")"#,
    r#"(:action :eval :code "x")"#,
    r#"(:action :log :text "x")"#,
    r#"(:action :insert-at-end :text "x")"#,
    r#"(:action :refactor-subtree :target-id "x")"#,
    r#"(:action :schedule :name "x" :in 1 :payload (:sensor :x))"#,
    r#"(:action :unschedule :name "x")"#,
    r#"(:action :pause-schedule :name "x")"#,
    r#"(:action :forget :session "x")"#,
    r#"(:action :fork :record 1)"#,
    r#"(:action :read :path "/a/b c/\"d")"#,
    r#"(:action :write :path "/a" :text "x")"#,
    r#"(:action :exec :argv ("a" "" "b"))"#,
    r#"(:action :exec :argv ("a") :cwd "/a")"#,
    r#"(:action :net :host "a.b-c.org" :port 80)"#,
    r#"(:action :net :host "::1")"#,
    r#"(:action :spend :amount 9223372036854775807 :currency "usd")"#,
    r#"(:action :tally :file "x")"#,
    r#"(:action :think)"#,
    r#"(:action :attach)"#,
];

fn check(schema: &Schema, facts: &PolicyFacts) {
    let mut world = CedarTypes::new().world(facts).unwrap();
    // The action comes from the schema then.
    let entities = world.entities.iter().filter(|entity| entity.uid() != world.action).cloned();
    Entities::from_entities(entities, Some(schema)).unwrap();
    for approved in [ApprovalQuestion::No, ApprovalQuestion::Yes] {
        let request = world.question(facts, approved).unwrap().0.clone();
        let context: &Context = request.context().unwrap();
        let (principal, action) = (world.principal.clone(), world.action.clone());
        let resource = world.resource.clone();
        Request::new(principal, action, resource, context.clone(), Some(schema)).unwrap();
    }
}

#[test]
fn every_kind_of_fact_has_the_types_of_the_schema() {
    let (schema, warnings) = Schema::from_cedarschema_str(SCHEMA).unwrap();
    assert_eq!(warnings.count(), 0, "warnings of the schema");
    let check = |facts: &PolicyFacts| check(&schema, facts);
    let session = SessionId::parse("main").unwrap();
    for principal in ["uid:1", "key:\"\\\n", "local-tcp", "anonymous", "schedule", "stdio", ""] {
        let asker = SignalSender { owner: principal == "uid:1", ..SignalSender::new(principal) };
        for by in [ProposalAuthor::Asker, ProposalAuthor::Reflex, ProposalAuthor::Thinker] {
            let around = ProposalCircumstances {
                by,
                asker: &asker,
                session: &session,
                session_owner: "uid:1",
                now: UnixMillis(-1),
                counts: HourlyCounts { session: 1, asker: i64::MAX, action: 0 },
            };
            for payload in PAYLOADS {
                let payload = Arc::new(read_one(payload).unwrap().root().to_value());
                let action = Action::from_payload(&payload).unwrap();
                let target = KeywordName::new("Ωμ");
                let wanted = RequestedAction {
                    action: &action,
                    target: &target,
                    place: ActuatorLocation::Shell,
                    payload: &payload,
                    protected: true,
                };
                check(&PolicyFacts::of(&around, &wanted));
                if by == ProposalAuthor::Asker {
                    check(&PolicyFacts::approve(&around, &wanted));
                }
            }
            if by == ProposalAuthor::Asker {
                for access in SessionAccess::ALL {
                    check(&PolicyFacts::access(&around, access));
                }
                check(&PolicyFacts::think(&around));
            }
        }
    }
}
