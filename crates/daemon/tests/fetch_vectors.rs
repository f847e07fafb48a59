//! Runs `vectors/fetch`: addresses, and whether they may be connected to. Nothing is contacted: what
//! names answer is part of a vector.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use bridle_daemon::fetch::{AllowedHosts, FetchRefusal, FetchUrl};
use bridle_wire::openharness::MessageLimits;
use bridle_wire::openharness::json::{JsonDocument, JsonNode};

/// What a vector says of an address: where it leads, in order.
fn judge(vector: JsonNode<'_>) -> Result<Vec<SocketAddr>, FetchRefusal> {
    let hosts: AllowedHosts = text(vector, "hosts").unwrap_or("*".to_owned()).parse().unwrap();
    let address = text(vector, "in").unwrap();
    let place = match text(vector, "from") {
        // That one was permitted, whatever the settings say by now.
        Some(from) => FetchUrl::read(&from, &"*".parse().unwrap())?.follow(&address, &hosts)?,
        None => FetchUrl::read(&address, &hosts)?,
    };
    let answers: Vec<IpAddr> = match place.literal() {
        Some(address) => vec![address],
        None => texts(vector, "answers").iter().map(|one| one.parse().unwrap()).collect(),
    };
    place.pin(&answers)
}

fn text(node: JsonNode<'_>, key: &str) -> Option<String> {
    node.get(key).and_then(JsonNode::as_str).map(std::borrow::Cow::into_owned)
}

fn texts(node: JsonNode<'_>, key: &str) -> Vec<String> {
    let list = node.get(key).into_iter().flat_map(JsonNode::items);
    list.map(|one| one.as_str().unwrap().into_owned()).collect()
}

#[test]
fn vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/fetch");
    let (mut passed, mut failed) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let lines = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in lines.lines() {
            let document = JsonDocument::read(line.as_bytes(), &MessageLimits::default()).unwrap();
            let vector = document.root();
            let (verdict, to) = match judge(vector) {
                Ok(to) => ("connect", to.iter().map(ToString::to_string).collect()),
                Err(refusal) => (refusal.word(), Vec::new()),
            };
            let expect = text(vector, "verdict").unwrap();
            match verdict == expect && to == texts(vector, "to") {
                true => passed += 1,
                false => failed.push(format!("{line}: {verdict} {to:?}")),
            }
        }
    }
    println!("fetch: {passed} passed, {} failed", failed.len());
    assert!(failed.is_empty() && passed > 100, "{}", failed.join("\n"));
}
