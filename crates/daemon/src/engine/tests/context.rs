//! What is asked with `:target :context`, and by whom.

use std::sync::Arc;

use bridle_sexp::Value;

use super::rig::{self, Rig, owner};
use crate::access::principal::Principal;
use crate::engine::DaemonQuery;
use crate::engine::error::EngineErrorCode;

fn query(payload: &str) -> Result<DaemonQuery, EngineErrorCode> {
    let text = format!("(:type :REQUEST :id 9 :target :context :payload {payload})");
    let query = rig::query(&text);
    query.map_err(|failure| failure.code)
}

async fn ask(rig: &Rig, who: Principal, payload: &str) -> Result<Value, EngineErrorCode> {
    let query = query(payload).expect("an action");
    crate::engine::ask_daemon(Arc::clone(&rig.hub), who, query, None)
        .await
        .map_err(|failure| failure.code)
}

#[test]
fn an_action_that_is_not_in_the_table_is_refused_by_name() {
    for payload in ["(:action :get-soul)", "(:file \"a.org\")", "nil"] {
        assert_eq!(query(payload).err(), Some(EngineErrorCode::Unsupported), "{payload}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_unknown_is_informed() {
    let rig = Rig::start().await;
    let payload = "(:action :get-ast :file \"a.org\")";
    assert_eq!(ask(&rig, Principal::Anonymous, payload).await, Err(EngineErrorCode::NotPermitted));
    assert_eq!(ask(&rig, owner(), payload).await, Err(EngineErrorCode::InvalidValue));
    assert_eq!(
        ask(&rig, owner(), "(:action :GET-AST :file 5)").await,
        Err(EngineErrorCode::InvalidValue)
    );
}
