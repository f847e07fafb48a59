//! Faults of sloppy peers, each with the case that is meant to find it.
//!
//! long: each list of faults is one table.

use std::sync::atomic::{AtomicU32, Ordering};

use super::spoiler::{End, Fault, Spoil};

/// A planted fault.
pub(crate) struct Plant {
    pub(crate) name: &'static str,
    pub(crate) case: &'static str,
    pub(crate) spoil: Spoil,
}

pub(crate) fn plants() -> Vec<Plant> {
    let mut all = framing();
    all.extend(reading());
    all.extend(answering());
    all.extend(greeting());
    all.extend(remembering());
    all
}

fn plant(case: &'static str, name: &'static str, spoil: Spoil) -> Plant {
    Plant { name, case, spoil }
}

/// A fault that changes what the daemon says.
struct Down<F>(F);

impl<F: FnMut(String) -> Vec<String> + Send> Fault for Down<F> {
    fn down(&mut self, payload: String) -> Vec<String> {
        (self.0)(payload)
    }
}

/// A fault that changes what the client says, as if it were read differently.
struct Up<F>(F);

impl<F: FnMut(String) -> Vec<String> + Send> Fault for Up<F> {
    fn up(&mut self, payload: String) -> Vec<String> {
        (self.0)(payload)
    }
}

fn down(change: impl Fn(String) -> Vec<String> + Clone + Send + 'static) -> Spoil {
    Box::new(move || Box::new(Down(change.clone())))
}

fn up(change: impl Fn(String) -> Vec<String> + Clone + Send + 'static) -> Spoil {
    Box::new(move || Box::new(Up(change.clone())))
}

/// Replaces a text in what the daemon says.
fn says(old: &'static str, new: &'static str) -> Spoil {
    down(move |text| vec![text.replace(old, new)])
}

/// Replaces a text in what the client says.
fn reads(old: &'static str, new: &'static str) -> Spoil {
    up(move |text| vec![text.replace(old, new)])
}

/// Keeps messages of the daemon back that hold a text.
fn keeps(part: &'static str) -> Spoil {
    down(move |text| if text.contains(part) { Vec::new() } else { vec![text] })
}

fn framing() -> Vec<Plant> {
    vec![
        plant(
            "F-01",
            "writes headers in upper case",
            Box::new(|| Box::new(Frames(|text| format!("{:06X}{text}", text.len())))),
        ),
        plant(
            "F-01",
            "writes headers of four digits",
            Box::new(|| Box::new(Frames(|text| format!("{:04x}{text}", text.len())))),
        ),
        plant(
            "F-13",
            "writes lengths that are one too small",
            Box::new(|| Box::new(Frames(|text| format!("{:06x}{text}", text.len() - 1)))),
        ),
        plant(
            "F-13",
            "counts the newline that it adds",
            Box::new(|| Box::new(Frames(|text| format!("{:06x}{text}\r", text.len() + 3)))),
        ),
        plant(
            "F-03",
            "takes a blank for a header",
            Box::new(|| Box::new(Bytes(|bytes| (!bytes.starts_with(b" ")).then_some(bytes)))),
        ),
        plant(
            "F-12",
            "takes each packet for a frame",
            Box::new(|| Box::new(Bytes(|bytes| (bytes.len() > 6).then_some(bytes)))),
        ),
        plant(
            "F-02",
            "does not read upper case",
            Box::new(|| Box::new(Bytes(|bytes| (!bytes.starts_with(b"00001D")).then_some(bytes)))),
        ),
        plant("F-05", "keeps quiet about empty frames", keeps(":empty-frame")),
        plant(
            "F-06",
            "goes on after a header that is none",
            Box::new(|| {
                Box::new(Bytes(|bytes| {
                    Some(if bytes.starts_with(b"00zz15") { b"000015".to_vec() } else { bytes })
                }))
            }),
        ),
        plant(
            "F-11",
            "closes when text is not UTF-8",
            Box::new(|| Box::new(Bytes(|bytes| (!bytes.contains(&0xff)).then_some(bytes)))),
        ),
        plant("F-16", "carries a frame out that the end cut", Box::new(|| Box::new(Completes))),
        plant("T-03", "hangs up when the sending side ends", Box::new(|| Box::new(HangsUp))),
        plant(
            "F-21",
            "counts bytes whatever the hello says",
            reads(":length :chars", ":length :bytes"),
        ),
    ]
}

/// Writes frames in its own way.
struct Frames(fn(&str) -> String);

impl Fault for Frames {
    fn frame(&mut self, payload: &str) -> Vec<u8> {
        (self.0)(payload).into_bytes()
    }
}

/// Looks at bytes as they come.
struct Bytes(fn(Vec<u8>) -> Option<Vec<u8>>);

impl Fault for Bytes {
    fn bytes(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        (self.0)(bytes)
    }
}

/// Adds what is missing of a frame.
struct Completes;

impl Fault for Completes {
    fn end(&mut self) -> End {
        End::Pass(b" ".to_vec())
    }
}

struct HangsUp;

impl Fault for HangsUp {
    fn end(&mut self) -> End {
        End::HangUp
    }
}

fn reading() -> Vec<Plant> {
    vec![
        plant("L-30", "evaluates what it reads", reads("#.(print 1)", "1")),
        plant("L-32", "reads what cannot be read as nil", reads("#<stream>", "nil")),
        plant("L-35", "opens path names", reads("#P\"/etc/passwd\"", "\"root\"")),
        plant("L-37", "knows features", reads("#+sbcl a", "nil")),
        plant("L-40", "builds circles", reads("#1=(a . #1#)", "(a)")),
        plant("L-44", "skips comments", reads("a ;b\n", "a")),
        plant("L-50", "divides by zero", reads("1/0", "0")),
        plant("L-52", "closes lists by itself", reads(":x (a)", ":x (a))")),
        plant("L-16", "does not know vectors of Emacs", reads("[1 2]", "#<vector>")),
        plant("L-07", "does not take newlines in strings", reads("a\nb", "a\" #<newline> \"b")),
        plant(
            "L-60",
            "takes the first of two forms and forgets the rest",
            reads(") (:type :health-check)", ")"),
        ),
        plant("L-63", "answers what is too deep with silence", keeps("limit-depth")),
        plant(
            "L-65",
            "does not say where",
            down(|text| {
                vec![
                    text.split_once(" :at (")
                        .map_or(text.clone(), |(head, _)| format!("{head} :retryable nil))")),
                ]
            }),
        ),
        plant("M-04", "takes upper case for another key", reads(":TYPE", ":kind")),
        plant(
            "M-06",
            "lets the last of two keys count",
            reads(":type :health-check :type :telegram", ":type :telegram"),
        ),
        plant("M-08", "takes nil for a value", reads(":payload nil", ":payload 5")),
    ]
}

fn answering() -> Vec<Plant> {
    vec![
        plant(
            "M-01",
            "says more about its health",
            says(":checked-p t)", ":checked-p t :mood :fine)"),
        ),
        plant(
            "M-02",
            "puts an id on its health",
            says(":status :healthy", ":id 7 :status :healthy"),
        ),
        plant("M-15", "has codes of its own", says(":code :unknown-type", ":code :no-such-type")),
        plant("M-16", "does not say whether to try again", says(" :retryable nil", "")),
        plant(
            "M-16",
            "has no words for people",
            down(|text| {
                let cut = text
                    .split_once(":message \"")
                    .and_then(|(head, rest)| Some((head, rest.split_once("\" ")?.1)));
                vec![cut.map_or(text.clone(), |(head, rest)| format!("{head}:message \"\" {rest}"))]
            }),
        ),
        plant("M-09", "does not say which key", says(":path (:payload :sensor)", ":path nil")),
        plant("M-30", "invents ids", says(":id 7", ":id 1")),
        plant("M-33", "writes ids as it likes", says(":id \"a b\"", ":id |a b|")),
        plant(
            "M-36",
            "guesses the id of what it could not read",
            says(":id nil :payload (:status :error", ":id 7 :payload (:status :error"),
        ),
        plant("M-37", "takes answers that nobody asked for", keeps(":unknown-id")),
        plant("T-01", "forgets to answer", keeps(":answers")),
        plant(
            "T-02",
            "answers twice",
            down(|text| {
                if text.contains(":type :RESPONSE") { vec![text.clone(), text] } else { vec![text] }
            }),
        ),
        plant("T-02", "answers out of order", Box::new(|| Box::new(Shuffles::default()))),
        plant("T-07", "swallows requests to nobody", keeps(":unknown-target")),
        plant("T-08", "answers a request without an id with nil", Box::new(|| Box::new(Nameless))),
        plant("X-01", "repeats what it could not read", Box::new(|| Box::new(Repeats::default()))),
        plant("X-02", "repeats values in errors", Box::new(|| Box::new(Repeats::default()))),
    ]
}

/// Holds each answer back until the next.
#[derive(Default)]
struct Shuffles(Option<String>);

impl Fault for Shuffles {
    fn down(&mut self, payload: String) -> Vec<String> {
        if !payload.contains(":type :RESPONSE") {
            return vec![payload];
        }
        match self.0.take() {
            Some(first) => vec![payload, first],
            None => {
                self.0 = Some(payload);
                Vec::new()
            }
        }
    }
}

/// Takes the id off an answer.
struct Nameless;

impl Fault for Nameless {
    fn down(&mut self, payload: String) -> Vec<String> {
        let named = payload.split_once(":type :RESPONSE :id ");
        let rest = named.and_then(|(_, rest)| rest.split_once(' '));
        vec![rest.map_or(payload.clone(), |(_, rest)| format!("(:type :RESPONSE :id nil {rest}"))]
    }
}

/// Puts what was sent into errors.
#[derive(Default)]
struct Repeats(String);

impl Fault for Repeats {
    fn up(&mut self, payload: String) -> Vec<String> {
        self.0 = payload.replace(['"', '\\', '#', '<'], " ");
        vec![payload]
    }

    fn down(&mut self, payload: String) -> Vec<String> {
        vec![payload.replace(":message \"", &format!(":message \"in {}: ", self.0))]
    }
}

fn greeting() -> Vec<Plant> {
    vec![
        plant(
            "H-01",
            "changes the order of the hello",
            says(":action :handshake :version", ":x 1 :action :handshake :version"),
        ),
        plant("H-02", "offers texts", says(":capabilities (:parts ", ":capabilities (\"parts\" ")),
        plant("H-03", "offers signatures that are off", says("(:parts ", "(:auth :parts ")),
        plant("H-04", "does not say its limits", says(":limits", ":bounds")),
        plant("H-10", "does not say what holds", says(":dialect :emacs", ":dialect :lisp")),
        plant(
            "H-13",
            "takes a dialect that is none for Lisp",
            reads(":dialect :klingon", ":dialect :lisp"),
        ),
        plant("H-14", "takes any largest frame", reads(":max-frame 1023", ":max-frame 1024")),
        plant(
            "H-19",
            "does not keep to the largest frame",
            reads(":max-frame 1024", ":max-frame 1000000"),
        ),
        plant(
            "H-20",
            "does not know the dialect that it agreed to",
            up(|text| vec![if text.contains("?a") { text.replace("?a", "#<char>") } else { text }]),
        ),
        plant(
            "P-01",
            "joins parts with a newline",
            up(|text| vec![text.replace(":data \"eck", ":data \" eck")]),
        ),
        plant(
            "P-04",
            "takes parts in any order",
            up(|text| vec![text.replace(":n 2 :of 2", ":n 1 :of 1")]),
        ),
        plant("P-06", "keeps what it should forget", keeps(":part-mismatch")),
    ]
}

fn remembering() -> Vec<Plant> {
    vec![
        plant(
            "S-02",
            "puts everybody into a session of its own",
            up(|text| vec![text.replace(":session \"kit", ":session \"sloppy")]),
        ),
        plant("S-05", "lets observers speak", reads(":role :observer", ":role :controller")),
        plant("S-08", "has one session for all", Box::new(|| Box::new(OneForAll))),
        plant("S-12", "loses an event", keeps(":seq 3 ")),
        plant(
            "S-12",
            "sends an event twice",
            down(
                |text| {
                    if text.contains(":seq 3 ") { vec![text.clone(), text] } else { vec![text] }
                },
            ),
        ),
        plant(
            "S-13",
            "sends everything whatever the cursor",
            up(|text| {
                let head =
                    text.split_once(":cursor ").map(|(head, _)| format!("{head}:cursor 0))"));
                vec![head.unwrap_or(text)]
            }),
        ),
        plant(
            "S-15",
            "sends the past to whoever comes",
            up(|text| {
                vec![text.replace(":length :bytes :session", ":cursor 0 :length :bytes :session")]
            }),
        ),
        plant("S-18", "does not know a shell again", reads(":client", ":somebody")),
        plant("S-20", "gives no receipts", keeps(":admitted")),
        plant("S-21", "does again what was done", Forgets::spoil()),
        plant("S-22", "does not notice another body", keeps(":id-conflict")),
        plant(
            "S-23",
            "takes all clients for one",
            up(|text| {
                let cut = text
                    .split_once(":client \"")
                    .and_then(|(head, rest)| Some((head, rest.split_once('"')?.1)));
                vec![
                    cut.map_or(text.clone(), |(head, rest)| format!("{head}:client \"one\"{rest}")),
                ]
            }),
        ),
        plant("Q-01", "sends requests without a deadline", says(":deadline", ":some-day")),
        plant(
            "Q-03",
            "tells failures as success",
            says(":status :error :code :engine-failed", ":status :success :code :engine-failed"),
        ),
        plant("Q-04", "takes a second answer", keeps(":unknown-id")),
        plant(
            "X-11",
            "passes on that somebody approved",
            says("\"kit-forged\"", "\"kit-forged\" :approved t"),
        ),
        plant(
            "X-13",
            "passes on that the system speaks",
            down(|text| {
                vec![if text.contains("kit-forged") {
                    text.replacen(":meta (", ":meta (:source :system ", 1)
                } else {
                    text
                }]
            }),
        ),
    ]
}

/// Puts all sessions of a run together.
struct OneForAll;

impl Fault for OneForAll {
    fn up(&mut self, payload: String) -> Vec<String> {
        let cut = payload
            .split_once(":session \"")
            .and_then(|(head, rest)| Some((head, rest.split_once('"')?.1)));
        vec![
            cut.map_or(payload.clone(), |(head, rest)| format!("{head}:session \"kit-all\"{rest}")),
        ]
    }
}

/// Takes each connection for another client, so that nothing is a repeat.
struct Forgets(u32);

impl Forgets {
    fn spoil() -> Spoil {
        let made = AtomicU32::new(0);
        Box::new(move || Box::new(Forgets(made.fetch_add(1, Ordering::Relaxed))))
    }
}

impl Fault for Forgets {
    fn up(&mut self, payload: String) -> Vec<String> {
        vec![payload.replace(":client \"", &format!(":client \"{}-", self.0))]
    }
}
