//! Runs `vectors/policy`: texts of policies, and whether they are loaded. None may end the process.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test itself")]

use std::path::Path;

use bridle_daemon::policy_load::load;
use bridle_wire::openharness::MessageLimits;
use bridle_wire::openharness::json::{JsonDocument, JsonNode};

/// The text of a vector: texts and counts by turns.
fn written(vector: JsonNode<'_>) -> String {
    if let Some(text) = vector.get("in").and_then(JsonNode::as_str) {
        return text.into_owned();
    }
    let parts: Vec<JsonNode<'_>> = vector.get("in_repeat").unwrap().items().collect();
    let part = |pair: &[JsonNode<'_>]| {
        let count =
            usize::try_from(pair[1].as_number().and_then(|it| it.as_u64()).unwrap()).unwrap();
        pair[0].as_str().unwrap().repeat(count)
    };
    parts.chunks(2).map(part).collect()
}

/// What comes of a block.
fn verdict(cedar: &str) -> &'static str {
    let example = "(refuse (:principal \"x\" :action :approve :by :thinker))";
    let file = format!(
        "* One\n#+begin_src cedar\n{cedar}\n#+end_src\n#+begin_src examples\n{example}\n#+end_src\n"
    );
    match load(&file) {
        Ok(_) => "accept",
        Err(bad) if bad.to_string().contains("deeper than") => "too-deep",
        Err(_) => "refuse",
    }
}

#[test]
fn vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/policy");
    let (mut passed, mut failed) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let lines = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for line in lines.lines() {
            let document = JsonDocument::read(line.as_bytes(), &MessageLimits::default()).unwrap();
            let vector = document.root();
            let found = verdict(&written(vector));
            let expected = vector.get("verdict").and_then(JsonNode::as_str).unwrap();
            match found == &*expected {
                true => passed += 1,
                false => failed.push(format!("{line}: {found}")),
            }
        }
    }
    println!("policy: {passed} passed, {} failed", failed.len());
    assert!(failed.is_empty() && passed > 25, "{}", failed.join("\n"));
}
