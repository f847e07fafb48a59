//! Faults of sloppy clients, each with the case that is meant to find it.
//!
//! long: each list of faults is one table.

use std::sync::Mutex;

/// Changes a message: its text, and the number of its connection from 0.
type Messages = Box<dyn Fn(String, usize) -> Vec<String> + Send + Sync>;
type Bytes = Box<dyn Fn(Vec<u8>) -> Option<Vec<u8>> + Send + Sync>;
type Text = Box<dyn Fn(String) -> String + Send + Sync>;
type Line = Box<dyn Fn(String) -> Vec<String> + Send + Sync>;

/// A planted fault; the default one is none.
pub(crate) struct Fault {
    pub(crate) case: &'static str,
    pub(crate) name: &'static str,
    /// What the client says.
    pub(crate) up: Messages,
    /// What the daemon says.
    pub(crate) down: Messages,
    /// The same, before it is frames; nothing ends the client.
    pub(crate) bytes: Bytes,
    pub(crate) line: Line,
    pub(crate) input: Text,
    /// Takes the end of input for a yes.
    pub(crate) assumes: bool,
    /// Does not use its key.
    pub(crate) unsigned: bool,
}

impl Default for Fault {
    fn default() -> Fault {
        Fault {
            case: "",
            name: "",
            up: Box::new(|text, _| vec![text]),
            down: Box::new(|text, _| vec![text]),
            bytes: Box::new(Some),
            line: Box::new(|line| vec![line]),
            input: Box::new(|line| line),
            assumes: false,
            unsigned: false,
        }
    }
}

pub(crate) fn faults() -> Vec<Fault> {
    [framing(), greeting(), hearing(), saying(), judging()].into_iter().flatten().collect()
}

fn fault(case: &'static str, name: &'static str) -> Fault {
    Fault { case, name, ..Fault::default() }
}

impl Fault {
    /// Says something else.
    fn says(self, old: &'static str, new: &'static str) -> Fault {
        Fault { up: Box::new(move |text, _| vec![text.replace(old, new)]), ..self }
    }

    /// Reads something else.
    fn reads(self, old: &'static str, new: &'static str) -> Fault {
        Fault { down: Box::new(move |text, _| vec![text.replace(old, new)]), ..self }
    }

    /// Does not take messages with this in them.
    fn drops(self, part: &'static str) -> Fault {
        let down = move |text: String, _| if text.contains(part) { Vec::new() } else { vec![text] };
        Fault { down: Box::new(down), ..self }
    }

    /// Dies of bytes with this in them.
    fn dies(self, part: &'static [u8]) -> Fault {
        let bytes = move |bytes: Vec<u8>| {
            let has_it = bytes.windows(part.len()).any(|window| window == part);
            (!has_it).then_some(bytes)
        };
        Fault { bytes: Box::new(bytes), ..self }
    }

    /// Dies of a message with this in it.
    fn ends(self, part: &'static str) -> Fault {
        let down = move |text: String, _| {
            if text.contains(part) {
                std::process::exit(3);
            }
            vec![text]
        };
        Fault { down: Box::new(down), ..self }
    }

    /// Tells a line twice that begins so.
    fn repeats(self, word: &'static str) -> Fault {
        let line = move |line: String| {
            if line.starts_with(word) { vec![line.clone(), line] } else { vec![line] }
        };
        Fault { line: Box::new(line), ..self }
    }

    /// Says something else, from the second connection on.
    fn says_later(self, change: fn(String) -> Vec<String>) -> Fault {
        let up = move |text: String, number| if number == 0 { vec![text] } else { change(text) };
        Fault { up: Box::new(up), ..self }
    }
}

fn framing() -> Vec<Fault> {
    vec![
        Fault {
            bytes: Box::new(|bytes| (bytes.len() > 6).then_some(bytes)),
            ..fault("F-01", "takes each packet for a frame")
        },
        Fault {
            bytes: Box::new(|bytes| {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let second = text.match_indices("(:type :EVENT :meta").nth(1).map(|(at, _)| at - 6);
                Some(bytes[..second.unwrap_or(bytes.len())].to_vec())
            }),
            ..fault("F-02", "takes the first frame of a packet")
        },
        Fault {
            bytes: Box::new(|bytes| {
                // Who counts characters takes more bytes than there are, and waits for ever.
                let has_it = bytes.windows(4).any(|window| window == "\u{1f600}".as_bytes());
                Some(if has_it { [b"000fff".as_slice(), &bytes[6..]].concat() } else { bytes })
            }),
            ..fault("F-03", "counts characters when it reads")
        },
        fault("F-04", "counts characters when it writes").says("\u{1f600}\"", "\u{1f600}"),
        fault("F-05", "does not take much").drops("xxxxxxxxxx"),
        fault("F-06", "does not know upper case").drops(":TYPE"),
        fault("F-10", "dies of a header that is none").dies(b"zzzzzz"),
        fault("F-11", "dies of a cut").dies(b":seq 2 "),
        fault("F-12", "dies of a large number").dies(b"100000"),
        fault("F-13", "dies of text that is no form").ends("(((("),
        fault("F-14", "dies of depth").ends("(((((((("),
        fault("F-15", "dies of bytes that are no text").dies(&[0xff, 0xfe]),
    ]
}

fn greeting() -> Vec<Fault> {
    vec![
        fault("H-01", "forgets its cursor").says(":cursor 7", ":cursor 0"),
        fault("H-02", "does not take to what it does not know").drops(":teleport"),
        fault("H-03", "has a new name for each connection")
            .says_later(|text| vec![text.replace(":client \"", ":client \"x")]),
        fault("H-04", "takes `shutting-down` for the end").ends(":shutting-down"),
        fault("H-05", "asks again and again for what is not there").drops(":unknown-session"),
    ]
}

fn hearing() -> Vec<Fault> {
    vec![
        fault("E-01", "tells everything twice").repeats("event"),
        fault("E-02", "dies of a type that it does not know").ends(":TELEGRAM"),
        fault("E-03", "counts deltas").reads(
            "(:type :EVENT :meta (:session \"kit\") :payload (:action :delta",
            "(:type :EVENT :meta (:session \"kit\" :seq 9) :payload (:action :delta",
        ),
        Fault {
            down: {
                let count = Mutex::new(0);
                Box::new(move |text: String, _| {
                    let mut count = count.lock().unwrap();
                    *count += usize::from(text.contains(":seq 1 "));
                    vec![if *count == 2 { text.replace(":seq 1 ", ":seq 7 ") } else { text }]
                })
            },
            ..fault("E-04", "does not know an event again")
        },
        fault("E-05", "dies of an answer that it did not ask for").ends(":health-response"),
        fault("E-06", "does not count what was left out").drops(":omitted"),
        fault("E-10", "comes back to the beginning")
            .says_later(|text| vec![text.replace(":cursor 2", ":cursor 0")]),
        Fault {
            line: {
                let told = Mutex::new(false);
                Box::new(move |line: String| {
                    let mut told = told.lock().unwrap();
                    let again = line == "event \"3\"" && !std::mem::replace(&mut *told, true);
                    if again { vec!["event \"1\"".to_owned(), line] } else { vec![line] }
                })
            },
            ..fault("E-11", "tells again what it hears again")
        },
        fault("E-12", "comes back where it began")
            .says_later(|text| vec![text.replace(":cursor 3", ":cursor 1")]),
        fault("E-13", "hears everything whatever it was told").repeats("event \"6"),
        fault("E-20", "offers parts and takes none").says(
            ":payload (:action :handshake",
            ":payload (:capabilities (:parts) :action :handshake",
        ),
        Fault {
            down: Box::new(|text, _| {
                if text.contains(":abort") { std::process::exit(3) } else { vec![text] }
            }),
            ..fault("E-21", "dies of parts that are called off").says(
                ":payload (:action :handshake",
                ":payload (:capabilities (:parts) :action :handshake",
            )
        },
    ]
}

fn saying() -> Vec<Fault> {
    let numbered = |case, name| Fault {
        up: {
            let count = Mutex::new(0);
            Box::new(move |text: String, _| {
                let mut count = count.lock().unwrap();
                *count += 1;
                vec![text.replace(":EVENT :id \"", &format!(":EVENT :id \"{count}-"))]
            })
        },
        ..fault(case, name)
    };
    vec![
        fault("S-01", "drops backslashes").says("\\\\", "/"),
        fault("S-02", "does not hear its answer").drops("good day"),
        Fault {
            up: Box::new(|text, _| {
                let Some((head, rest)) = text.split_once(":EVENT :id \"") else {
                    return vec![text];
                };
                vec![format!("{head}:EVENT :id \"mine\"{}", rest.split_once('"').unwrap().1)]
            }),
            ..fault("S-03", "has one id for everything")
        },
        Fault {
            line: Box::new(|line| vec![line.replace("refused \"refused\"", "answer \"\"")]),
            ..fault("S-04", "takes an error for an answer")
        },
        fault("S-05", "takes any answer for its own").reads(":answers 1)", ":answers 2)"),
        numbered("S-10", "has a new id for each try"),
        fault("S-11", "says everything again").drops(":admitted"),
        fault("S-12", "tells an answer as often as it comes").repeats("answer"),
        fault("S-13", "takes `overloaded` for the end").reads(":overloaded", ":refused"),
        fault("S-14", "tells its own words as somebody's").reads(" :own t", ""),
        fault("R-01", "says that it did what it cannot")
            .says(":status :denied", ":status :success"),
    ]
}

fn judging() -> Vec<Fault> {
    vec![
        fault("P-01", "has its own word for yes").says(":verdict :allow", ":verdict :yes"),
        Fault {
            input: Box::new(|line| line.replace("deny", "allow")),
            ..fault("P-02", "takes any answer for a yes")
        },
        fault("P-03", "does not say what the yes is for").says(" :hash", " :x"),
        Fault {
            line: Box::new(|line| vec![line.replace("(lamp)", "..")]),
            ..fault("P-04", "does not show what is wanted")
        },
        Fault { assumes: true, ..fault("P-10", "takes silence for a yes") },
        fault("P-11", "asks again what was decided").repeats("question"),
        Fault {
            up: Box::new(|text, _| {
                if text.contains(":verdict") { vec![text.clone(), text] } else { vec![text] }
            }),
            ..fault("P-12", "answers twice")
        },
        Fault { unsigned: true, ..fault("X-01", "does not sign") },
        Fault {
            down: Box::new(|_, _| Vec::new()),
            unsigned: true,
            ..fault("X-02", "does not look at signatures")
        },
        Fault { unsigned: true, ..fault("X-03", "talks to whoever is there") },
    ]
}
