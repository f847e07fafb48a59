//! What is wrong with what an engine takes.
//!
//! long: each list of faults is one table.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::middle::{Ask, Habit, Say, Up};
use super::{
    Plant, after, down, edits, edits_success, envelope, good, habit, hangs_up, ignores, plant,
    reads, refuses, refuses_text, success, takes, up,
};

pub(super) fn plants() -> Vec<Plant> {
    let mut all = lenient();
    all.extend(strict());
    all.extend(fragile());
    all.extend(careless());
    all.extend(transport());
    all
}

fn lenient() -> Vec<Plant> {
    vec![
        plant(
            &[
                "E-20", "E-21", "E-22", "E-23", "E-24", "E-25", "E-27", "E-28", "E-29", "E-30",
                "R-01", "R-02", "R-03", "R-04", "R-05", "R-06", "R-07", "R-08", "R-09", "R-10",
                "R-11", "R-12", "R-13", "R-14", "R-15", "R-16", "R-17", "R-19", "R-20", "R-21",
                "R-22", "R-23", "R-24", "R-45", "K-11", "K-12", "K-13", "K-22", "K-30", "K-31",
                "K-32", "K-33", "K-34", "K-35",
            ],
            "carries out whatever it can make of a message",
            takes(""),
        ),
        plant(
            &[
                "V-01", "V-02", "V-03", "V-04", "V-05", "V-06", "V-07", "V-08", "V-09", "V-10",
                "V-11", "V-12", "V-13", "V-14", "V-15", "V-16", "V-17", "V-18", "V-19",
            ],
            "accepts any version",
            takes(""),
        ),
        plant(
            &[
                "N-01", "N-02", "N-03", "N-04", "N-05", "N-06", "N-07", "N-08", "N-09", "N-10",
                "N-11", "N-12", "N-13", "N-14", "N-15",
            ],
            "takes any type for any other",
            takes(""),
        ),
        plant(
            &["R-06", "R-07"],
            "reads numbers that are none",
            up(|mut ask| {
                ask.body = ask.text().replace("NaN", "0").replace("-Infinity", "0").into_bytes();
                Up::Pass(ask)
            }),
        ),
        plant(&["R-17"], "skips a byte order mark", reads("\u{feff}", "")),
        plant(
            &["V-09", "V-10"],
            "trims versions",
            up(|mut ask| {
                ask.body = ask
                    .text()
                    .replace("\" 1.0.0", "\"1.0.0")
                    .replace("1.0.0 \"", "1.0.0\"")
                    .into_bytes();
                Up::Pass(ask)
            }),
        ),
        plant(&["V-19"], "looks at the first digit of a version", reads("\"10.0.0\"", "\"1.0.0\"")),
        plant(
            &["R-20"],
            "takes the last of two keys",
            up(|mut ask| {
                ask.body = ask.text().replace("\"request_id\":\"other\",", "").into_bytes();
                Up::Pass(ask)
            }),
        ),
        plant(&["R-04"], "stops reading at the end of the message", reads("}x", "}")),
        plant(
            &["V-27"],
            "looks at the shape before the version",
            up(|mut ask| {
                if ask.text().contains("of another shape") {
                    ask.body = ask.text().replace("2.0.0", "1.0.0").into_bytes();
                }
                Up::Pass(ask)
            }),
        ),
        plant(&["V-23"], "refuses what a later version may add", refuses_text("1.99.0")),
    ]
}

fn strict() -> Vec<Plant> {
    vec![
        plant(
            &[
                "U-01", "U-02", "U-03", "U-04", "U-05", "U-06", "U-07", "U-08", "U-09", "U-10",
                "U-11", "U-12", "U-13", "U-14", "U-15", "R-42", "R-43",
            ],
            "refuses fields that it does not know",
            refuses(|ask| {
                let known = good(&ask.text()).len() + 2;
                ask.body.len() > known
            }),
        ),
        plant(
            &["U-20", "U-21", "U-22", "U-23", "U-24"],
            "refuses words that it does not know",
            refuses(|ask| ask.text().contains("\"shell\"") || ask.text().contains("cosmic")),
        ),
        plant(
            &["K-02", "K-03", "K-04", "K-05", "K-06", "K-07", "K-08", "K-09", "K-10", "K-36"],
            "knows nothing but the intent",
            refuses(|ask| {
                ["auth", "session_id", "environment_state", "attachments"]
                    .iter()
                    .any(|key| ask.text().contains(&format!("\"{key}\"")))
            }),
        ),
        plant(
            &["K-01"],
            "wants a credential in the body",
            refuses(|ask| !ask.text().contains("\"auth\"")),
        ),
        plant(&["N-20", "N-21", "N-22"], "refuses nulls", refuses_text("null")),
        plant(&["N-23"], "reads integers without a fraction", refuses_text("1.0}")),
        plant(
            &["R-30"],
            "refuses blanks before a message",
            refuses(|ask| ask.body.starts_with(b" ")),
        ),
        plant(&["R-31", "R-32"], "does not undo escapes", refuses_text("\\u")),
        plant(&["R-33"], "fails on large numbers", refuses_text("1e400")),
        plant(
            &["R-34"],
            "wants fields in order",
            refuses(|ask| ask.body.starts_with(b"{\"request\":")),
        ),
        plant(&["R-35"], "fails on a zero letter", refuses_text("\\u0000")),
        plant(&["V-20"], "wants the version to the last digit", refuses_text("1.0.7")),
        plant(&["V-21"], "does not know builds", refuses_text("+build")),
        plant(&["V-22"], "does not know drafts", refuses_text("-draft")),
        plant(&["C-01"], "refuses capabilities that it does not know", refuses_text("teleport")),
        plant(&["C-02"], "wants capabilities to be booleans", refuses_text("\"a.b\"")),
        plant(&["C-03"], "wants known capabilities to be booleans", refuses_text("\"version\":9")),
        plant(&["C-04"], "wants capabilities", refuses_text("\"capabilities\":{}")),
        plant(
            &["C-05"],
            "refuses who asks for too much",
            refuses_text("openharness.ui.rich_cards"),
        ),
    ]
}

fn fragile() -> Vec<Plant> {
    vec![
        plant(
            &["E-26"],
            "hangs up when there is nothing to do",
            hangs_up(|ask| ask.text().contains("\"request\":{}")),
        ),
        plant(
            &["R-18"],
            "hangs up on half a surrogate pair",
            hangs_up(|ask| ask.text().contains("\\ud800")),
        ),
        plant(
            &["R-40", "R-41"],
            "reads with recursion",
            hangs_up(|ask| {
                ask.text().contains("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")
                    || ask.text().contains("{\"x\":{\"x\":{\"x\":{\"x\":")
            }),
        ),
        plant(
            &["R-46"],
            "hangs up on long numbers",
            hangs_up(|ask| ask.text().contains(&"9".repeat(1_000))),
        ),
        plant(&["R-44"], "ends with a large body", dies(|ask| ask.body.len() > 16 << 20)),
        plant(
            &["H-31", "H-32"],
            "ends with a large head",
            dies(|ask| {
                ask.headers.len() > 9_000 || ask.headers.iter().any(|it| it.1.len() > 900_000)
            }),
        ),
        plant(
            &["K-14", "K-15", "K-16", "K-17", "K-18", "K-19", "K-20", "K-21"],
            "hangs up on what it does not understand",
            hangs_up(|ask| !ask.text().contains("\"user_intent\":\"help\"}}}")),
        ),
    ]
}

/// Answers nobody any more once something was said.
fn dies(holds: impl Fn(&Ask) -> bool + Send + Sync + 'static) -> super::Made {
    let is_dead = AtomicBool::new(false);
    hangs_up(move |ask| {
        if holds(ask) {
            is_dead.store(true, Ordering::Relaxed);
        }
        is_dead.load(Ordering::Relaxed)
    })
}

fn careless() -> Vec<Plant> {
    vec![
        plant(
            &["K-37"],
            "reads files that are named",
            edits(|ask, value| {
                if ask.text().contains("file:///etc/passwd") {
                    value["response"]["error"]["message"] = "root:x:0:0:root".into();
                }
            }),
        ),
        plant(
            &["K-38"],
            "fetches what is named",
            up(|ask| {
                let address = after(&ask.text(), "uri").and_then(|uri| {
                    Some(uri.strip_prefix("http://")?.split('/').next()?.to_owned())
                });
                // The connection itself is what the kit waits for.
                drop(address.map(TcpStream::connect));
                Up::Pass(ask)
            }),
        ),
        plant(
            &["C-06"],
            "offers what it is asked for",
            edits_success(|ask, value| {
                if ask.text().contains("teleport") {
                    value["supported_capabilities"]["com.example.teleport"] = true.into();
                }
            }),
        ),
        plant(
            &["C-07"],
            "denies nothing",
            edits(|_, value| {
                value.as_object_mut().unwrap().remove("capability_denials");
            }),
        ),
        plant(
            &["C-08"],
            "denies what is off",
            denies("\"openharness.streaming\":false", "openharness.streaming"),
        ),
        plant(
            &["C-09"],
            "denies what it does not know",
            denies("teleport", "com.example.teleport"),
        ),
        plant(&["C-10"], "denies without being asked", denies("", "openharness.ui.rich_cards")),
        plant(&["I-02"], "remembers answers by their id alone", {
            let seen = std::sync::Mutex::new(std::collections::BTreeMap::<String, Say>::new());
            let answered = std::sync::Arc::new(seen);
            let known = std::sync::Arc::clone(&answered);
            let mut made = up(move |ask| {
                let id = after(&ask.text(), "request_id").unwrap_or_default();
                match known.lock().unwrap().get(&id) {
                    Some(say) => Up::Answer(say.clone()),
                    None => Up::Pass(ask),
                }
            });
            made.down = Box::new(move |ask, say| {
                let id = after(&ask.text(), "request_id").unwrap_or_default();
                answered.lock().unwrap().insert(id, say.clone());
                say
            });
            made
        }),
    ]
}

fn denies(part: &'static str, name: &'static str) -> super::Made {
    edits_success(move |ask, value| {
        if ask.text().contains(part) {
            value["capability_denials"] =
                serde_json::json!([{"capability": name, "code": "not_supported"}]);
            value.as_object_mut().unwrap().remove("supported_capabilities");
        }
    })
}

fn transport() -> Vec<Plant> {
    let in_chunks = |ask: &Ask| ask.header("transfer-encoding").is_some();
    vec![
        plant(
            &["H-01", "H-04", "H-05", "H-06"],
            "carries out what is cut off",
            habit(Habit::Completes),
        ),
        plant(&["H-13", "H-14", "H-15"], "closes after each answer", habit(Habit::HangsUp)),
        plant(&["H-34"], "looks at one connection at a time", habit(Habit::OneByOne)),
        plant(
            &["H-02"],
            "takes chunks for an empty body",
            up(move |ask| {
                if in_chunks(&ask) {
                    Up::Answer(envelope(&Ask { body: Vec::new(), ..ask }, success()))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(&["H-03"], "does not read chunks", refuses(in_chunks)),
        plant(&["H-07"], "does not look how a body is packed", ignores("content-encoding")),
        plant(
            &["H-10"],
            "compares media types to the letter",
            refuses(|ask| ask.header("content-type").is_some_and(|it| it.contains(';'))),
        ),
        plant(
            &["H-11"],
            "reads headers in one case",
            refuses(|ask| ask.headers.iter().any(|it| it.0 == "CONTENT-TYPE")),
        ),
        plant(&["H-12"], "takes the first piece for all", habit(Habit::OnePiece)),
        plant(&["H-16"], "does not know `Expect`", refuses(|ask| ask.header("expect").is_some())),
        plant(
            &["H-20", "H-21", "H-22"],
            "takes any method for `POST`",
            up(|mut ask| {
                let path = ask.line.split(' ').nth(1).unwrap_or_default().to_owned();
                ask.line = format!("POST {path} HTTP/1.1");
                Up::Pass(ask)
            }),
        ),
        plant(
            &["H-23"],
            "answers `HEAD` with a body",
            up(|ask| {
                if ask.line.starts_with("HEAD ") {
                    Up::Answer(Say::json(200, "{}"))
                } else {
                    Up::Pass(ask)
                }
            }),
        ),
        plant(
            &["H-24", "M-20"],
            "streams to who could read one",
            down(|ask, mut say| {
                if ask.text().contains("\"openharness.streaming\":true") {
                    say.headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
                    say.body = [b"event: final\ndata: ", say.body.as_slice(), b"\n\n"].concat();
                }
                say
            }),
        ),
        plant(
            &["H-25"],
            "wants its type to be accepted by name",
            refuses(|ask| ask.header("accept") == Some("*/*")),
        ),
        plant(&["H-26"], "wants `Accept`", refuses(|ask| ask.header("accept").is_none())),
        plant(
            &["H-30"],
            "writes ids into headers as they are",
            down(|ask, mut say| {
                if ask.text().contains("X-Injected") {
                    say.headers.push(("x-injected".to_owned(), "1".to_owned()));
                }
                say
            }),
        ),
        plant(
            &["H-33"],
            "refuses traces that are none",
            refuses(|ask| ask.header("traceparent").is_some()),
        ),
        plant(&["O-01", "O-02", "W-03"], "does not look at origins", ignores("origin")),
        plant(
            &["O-03"],
            "does not look at names of hosts",
            up(|mut ask| {
                if ask.header("host") == Some("evil.example") {
                    ask.set("Host", "localhost");
                }
                Up::Pass(ask)
            }),
        ),
        plant(
            &["O-04"],
            "lets every page in",
            down(|_, mut say| {
                say.headers.push(("access-control-allow-origin".to_owned(), "*".to_owned()));
                say
            }),
        ),
    ]
}
