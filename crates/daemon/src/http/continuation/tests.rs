//! Tokens and who may use them; answers and which of them are answers.

use bridle_loop::{ActionHash, ApprovalChoice, SessionId};
use bridle_wire::openharness::{MessageLimits, OpenHarnessCode, RequestMessage, read};

use super::{AllowedContinuation, OfferedQuestion, TokenPresenter, is_results_alone, issue, take};
use crate::access::principal::Principal;
use crate::http::run_location::RunLocation;
use crate::http::session_key;
use crate::http::token_sealer::TokenSealer;

const ME: Principal = Principal::LocalHttp(1000);

/// When the question of these tests ends.
const END: i64 = 50_000;

fn seals() -> (tempfile::TempDir, TokenSealer) {
    let dir = tempfile::tempdir().unwrap();
    let seals = TokenSealer::open(dir.path()).unwrap();
    (dir, seals)
}

/// A request with this context, and nothing else.
fn request(context: &str) -> RequestMessage {
    let text = format!(r#"{{"protocol_version":"1.0.0","request":{{"context":{{{context}}}}}}}"#);
    read(text.as_bytes(), &MessageLimits::default()).unwrap()
}

/// A token for two questions of the run `desk-7`, asked in the session `desk`.
fn token(seals: &TokenSealer) -> String {
    let asked = [1, 2].map(|index| OfferedQuestion {
        index,
        effect: 40 + index as u64,
        hash: ActionHash::parse(&"ab".repeat(32)).unwrap(),
        expires: END + index as i64,
    });
    let run = RunLocation { session: SessionId::parse("desk").unwrap(), seq: 7 };
    let place = session_key::named(&request(r#""session_id":"desk","user_intent":"x""#));
    let continuation = issue(seals, &ME, &place, &run, 1_000, &asked).unwrap();
    assert_eq!(continuation.run_id.unwrap().as_str(), "desk-7");
    continuation.continuation_token.unwrap().as_str().to_owned()
}

fn come(
    seals: &TokenSealer,
    who: &Principal,
    now: i64,
    context: &str,
) -> Result<AllowedContinuation, OpenHarnessCode> {
    let message = request(context);
    let taken = take(seals, TokenPresenter { who, message: &message, now });
    taken.map(Option::unwrap).map_err(|error| error.known().unwrap())
}

fn with(token: &str, rest: &str) -> String {
    format!(r#""session_id":"desk","continuation":{{"continuation_token":"{token}"}}{rest}"#)
}

#[test]
fn a_token_is_for_one_principal_in_one_place() {
    let (_dir, seals) = seals();
    let token = token(&seals);
    let step = come(&seals, &ME, 2_000, &with(&token, "")).unwrap();
    assert_eq!((step.session.as_str(), step.run, step.is_late), ("desk", 7, false));
    assert!(come(&seals, &ME, END + 1, &with(&token, "")).unwrap().is_late);
    let check = |who: &Principal, context: &str, code: OpenHarnessCode| {
        assert_eq!(come(&seals, who, 2_000, context).unwrap_err(), code, "{context}");
    };
    check(&Principal::LocalHttp(1001), &with(&token, ""), OpenHarnessCode::ContinuationMismatch);
    let elsewhere = with(&token, "").replacen("desk", "sofa", 1);
    check(&ME, &elsewhere, OpenHarnessCode::ContinuationMismatch);
    check(&ME, &with(&token, r#","conversation_id":"c""#), OpenHarnessCode::ContinuationMismatch);
    let other_run = with(&token, "").replacen("{\"cont", "{\"run_id\":\"desk-8\",\"cont", 1);
    check(&ME, &other_run, OpenHarnessCode::ContinuationMismatch);
    check(&ME, &with(&token.replacen('a', "b", 1), ""), OpenHarnessCode::ContinuationInvalid);
    check(&ME, &with("x", ""), OpenHarnessCode::ContinuationInvalid);
    check(
        &ME,
        r#""session_id":"desk","continuation":{"run_id":"desk-7"}"#,
        OpenHarnessCode::ContinuationInvalid,
    );
}

#[test]
fn a_yes_is_a_persons_and_a_no_wins() {
    let (_dir, seals) = seals();
    let token = token(&seals);
    let check = |results: &str, expect: &[(u64, ApprovalChoice)]| {
        let results =
            format!(r#","extensions":{{"dev.bridle":{{"directive_results":[{results}]}}}}"#);
        let step = come(&seals, &ME, 2_000, &with(&token, &results)).unwrap();
        let found: Vec<_> = step.verdicts.iter().map(|it| (it.effect, it.answer)).collect();
        assert_eq!(found, expect, "{results}");
        step.results.len()
    };
    let result = |id: &str, outcome: &str, by: &str, option: &str| {
        format!(
            r#"{{"directive_id":"{id}","outcome":"{outcome}","decision":{{"by":"{by}","option_id":"{option}"}}}}"#
        )
    };
    let yes = result("desk-7.1", "completed", "user", "allow_once");
    let no = result("desk-7.1", "rejected", "user", "reject_once");
    assert_eq!(check(&yes, &[(41, ApprovalChoice::Allow)]), 1);
    check(&no, &[(41, ApprovalChoice::Deny)]);
    check(&format!("{yes},{yes}"), &[(41, ApprovalChoice::Allow)]);
    check(&format!("{yes},{no}"), &[(41, ApprovalChoice::Deny)]);
    check(&format!("{no},{yes}"), &[(41, ApprovalChoice::Deny)]);
    check(&result("desk-7.1", "completed", "policy", "allow_once"), &[]);
    check(&result("desk-7.1", "rejected", "policy", "reject_once"), &[(41, ApprovalChoice::Deny)]);
    check(&result("desk-7.1", "failed", "user", "allow_once"), &[]);
    check(&result("desk-7.1", "completed", "user", "allow_always"), &[]);
    check(r#"{"directive_id":"desk-7.1","outcome":"completed"}"#, &[]);
    // What is not of this run is not even noted; what is and was not asked for is.
    assert_eq!(check(&result("desk-8.1", "completed", "user", "allow_once"), &[]), 0);
    assert_eq!(check(r#"{"directive_id":"desk-7.0","outcome":"completed"}"#, &[]), 1);
    let both = result("desk-7.2", "completed", "user", "allow_once");
    check(&format!("{both},{no}"), &[(42, ApprovalChoice::Allow), (41, ApprovalChoice::Deny)]);
}

#[test]
fn a_yes_to_something_else_is_refused_and_results_alone_belong_to_nothing() {
    let (_dir, seals) = seals();
    let token = token(&seals);
    let edited = r#","extensions":{"dev.bridle":{"directive_results":[{"directive_id":"desk-7.1","outcome":"completed","decision":{"by":"user","option_id":"allow_once","edited_payload":{"code":"OHCANARY"}}}]}}"#;
    let message = request(&with(&token, edited));
    let error =
        take(&seals, TokenPresenter { who: &ME, message: &message, now: 2_000 }).unwrap_err();
    assert_eq!(error.known(), Some(OpenHarnessCode::InvalidRequest));
    assert!(!format!("{error:?}").contains("OHCANARY"), "{error:?}");
    let results = r#""extensions":{"dev.bridle":{"directive_results":[{"directive_id":"d","outcome":"completed"}]}}"#;
    assert!(is_results_alone(&request(results)));
    let message = request(&format!(r#"{results},"user_intent":"hello""#));
    assert!(!is_results_alone(&message) && !is_results_alone(&request(&with(&token, edited))));
    assert!(
        take(&seals, TokenPresenter { who: &ME, message: &message, now: 1 }).unwrap().is_none()
    );
}
