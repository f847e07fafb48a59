//! Faults of sloppy Shells, each with the case that is meant to find it.
//!
//! long: each list of faults is one table.

/// Changes a request: its text, its number from 0, its head.
type Up = Box<dyn Fn(String, usize, &str) -> String + Send + Sync>;
/// Changes an answer, head and all: its text, the id of the request in quotes, its number from 0.
type Down = Box<dyn Fn(String, &str, usize) -> String + Send + Sync>;
type Text = Box<dyn Fn(String) -> String + Send + Sync>;
type Line = Box<dyn Fn(String) -> Vec<String> + Send + Sync>;
/// Decides from a request and its answer.
type Judge = Box<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// A planted fault; the default one is none.
pub(crate) struct Fault {
    pub(crate) case: &'static str,
    pub(crate) name: &'static str,
    pub(crate) up: Up,
    pub(crate) head: Text,
    pub(crate) down: Down,
    pub(crate) line: Line,
    pub(crate) input: Text,
    /// What is heard at the end of input.
    pub(crate) end: Option<&'static str>,
    /// Times that a request is sent again at once, if it is worth it.
    pub(crate) resend: usize,
    pub(crate) resend_if: Judge,
    /// Whether a redirect is followed, with everything.
    pub(crate) follows: bool,
}

impl Default for Fault {
    fn default() -> Fault {
        Fault {
            case: "",
            name: "",
            up: Box::new(|text, _, _| text),
            head: Box::new(|text| text),
            down: Box::new(|text, _, _| text),
            line: Box::new(|line| vec![line]),
            input: Box::new(|line| line),
            end: None,
            resend: 0,
            resend_if: Box::new(|_, _| true),
            follows: false,
        }
    }
}

pub(crate) fn faults() -> Vec<Fault> {
    let lists =
        [asking(), reading(), naming(), ordering(), gating(), going_on(), reporting(), streaming()];
    lists.into_iter().flatten().collect()
}

fn fault(case: &'static str, name: &'static str) -> Fault {
    Fault { case, name, ..Fault::default() }
}

impl Fault {
    /// Says something else in requests.
    fn says(self, old: &'static str, new: &'static str) -> Fault {
        Fault { up: Box::new(move |text, _, _| text.replace(old, new)), ..self }
    }

    /// Reads something else in answers.
    fn reads(self, old: &'static str, new: &'static str) -> Fault {
        Fault { down: Box::new(move |text, _, _| text.replace(old, new)), ..self }
    }

    /// Dies of an answer like this.
    fn dies(self, when: fn(&str) -> bool) -> Fault {
        let down = move |text: String, _: &str, _| {
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            if when(body) {
                std::process::exit(3);
            }
            text
        };
        Fault { down: Box::new(down), ..self }
    }

    /// Shows something else than it should, where it says this.
    fn shows(self, when: &'static str, instead: &'static str) -> Fault {
        let line = move |line: String| {
            if line.contains(when) { vec![instead.to_owned()] } else { vec![line] }
        };
        Fault { line: Box::new(line), ..self }
    }

    /// Does not show what begins so.
    fn hides(self, word: &'static str) -> Fault {
        let line = move |line: String| if line.starts_with(word) { Vec::new() } else { vec![line] };
        Fault { line: Box::new(line), ..self }
    }

    /// Hears something else of the user.
    fn hears(self, old: &'static str, new: &'static str) -> Fault {
        Fault { input: Box::new(move |line| line.replace(old, new)), ..self }
    }

    /// Sends again at once, so often, whatever is worth it.
    fn sends_again(self, times: usize, worth: fn(&str, &str) -> bool) -> Fault {
        Fault { resend: times, resend_if: Box::new(worth), ..self }
    }
}

fn asking() -> Vec<Fault> {
    let token = |head: &str| {
        let rest = head.split("Authorization: Bearer ").nth(1).unwrap_or_default();
        rest.lines().next().unwrap_or_default().to_owned()
    };
    vec![
        fault("Q-01", "asks at the top level").says("\"request\":{", "\"question\":{"),
        fault("Q-02", "sends no version").says("\"protocol_version\":\"1.0.0\",", ""),
        fault("Q-02", "sends a short version").says("\"1.0.0\"", "\"1.0\""),
        Fault {
            up: Box::new(|text, _, _| {
                let (head, rest) = text.split_once("\"request_id\":").unwrap();
                format!("{head}{}", rest.split_once(',').unwrap().1)
            }),
            ..fault("Q-03", "sends no id")
        },
        Fault {
            up: Box::new(|text, _, _| {
                let (head, rest) = text.split_once("\"request_id\":").unwrap();
                format!("{head}\"request_id\":\"mine\",{}", rest.split_once(',').unwrap().1)
            }),
            ..fault("Q-04", "has one id for everything")
        },
        fault("Q-05", "lists its capabilities")
            .says("\"capabilities\":{", "\"capabilities\":[],\"x\":{"),
        fault("Q-06", "writes nulls")
            .says("\"request\":{", "\"correlation_id\":null,\"request\":{"),
        Fault {
            head: Box::new(|head| head.replace("application/json", "text/plain")),
            ..fault("Q-07", "posts plain text")
        },
        fault("Q-10", "drops what is beyond two bytes").says("\u{1f600}", ""),
        Fault {
            up: Box::new(|text, number, _| text.replace("\"kit\"", &format!("\"kit-{number}\""))),
            ..fault("Q-11", "begins a session with each request")
        },
        fault("Q-12", "does not say what it is")
            .says("\"shell_kind\":\"command_shell\"", "\"x\":1"),
        fault("Q-13", "tells its state without a tier")
            .says("\"context\":{", "\"context\":{\"environment_state\":{\"os\":\"x\"},"),
        Fault {
            head: Box::new(|head| head.replace("Authorization: Bearer", "X-Token:")),
            ..fault("Q-20", "has a header of its own for the token")
        },
        Fault {
            up: Box::new(move |text, _, head| {
                let auth = format!("\"request\":{{\"auth\":{{\"token\":\"{}\"}},", token(head));
                text.replace("\"request\":{", &auth)
            }),
            ..fault("Q-21", "puts the token into the message")
        },
        Fault {
            line: Box::new(|line| {
                let token = std::env::var("OPENHARNESS_TOKEN").unwrap();
                if line.starts_with("failed") {
                    vec![format!("notice \"with {token}\""), line]
                } else {
                    vec![line]
                }
            }),
            ..fault("Q-22", "shows the token when something fails")
        },
        Fault { follows: true, ..fault("Q-23", "follows redirects with its token") },
    ]
}

fn reading() -> Vec<Fault> {
    vec![
        fault("A-01", "does not show messages").hides("show"),
        fault("A-02", "looks for `text` alone").reads("\"message\":", "\"x\":"),
        Fault {
            down: Box::new(
                |text, _, _| if text.contains("x_new") { text.replace('{', "[") } else { text },
            ),
            ..fault("A-03", "refuses what it does not know")
        },
        fault("A-04", "needs directives").reads("\"status\":\"success\"}", "\"status\":\"\"}"),
        fault("A-05", "refuses later minor versions").reads("\"1.9.0\"", "\"9.0.0\""),
        Fault {
            down: Box::new(|text, _, _| {
                if text.starts_with("HTTP/1.1 200") { text } else { text.replace("{", "<") }
            }),
            ..fault("A-06", "reads answers of status 200 alone")
        },
        fault("A-07", "takes any error for a failure")
            .reads("\"status\":\"success\",\"error\"", "\"status\":\"error\",\"error\""),
        fault("A-10", "acts on errors").reads("\"status\":\"error\"", "\"status\":\"success\""),
        fault("A-11", "acts on what it does not know").reads("\"partial\"", "\"success\""),
        fault("A-12", "acts on any version").reads("\"2.0.0\"", "\"1.0.0\""),
        fault("A-13", "acts without a version")
            .reads("{\"request_id\"", "{\"protocol_version\":\"1.0.0\",\"request_id\""),
        Fault {
            down: Box::new(|text, id, _| text.replace("\"somebody-else\"", id)),
            ..fault("A-14", "acts for somebody else")
        },
        fault("A-15", "acts on the good half of an answer")
            .reads("\"payload\":[\"a\"]", "\"payload\":{}"),
        fault("A-20", "dies of a page").dies(|body| body.starts_with('<')),
        fault("A-21", "dies of nothing").dies(str::is_empty),
        Fault {
            down: Box::new(|text, _, _| {
                if text.is_empty() {
                    std::process::exit(3);
                }
                text
            }),
            ..fault("A-22", "dies of a cut")
        },
        fault("A-23", "dies of a list").dies(|body| body.starts_with('[')),
        fault("A-24", "dies of depth").dies(|body| body.contains("[[[[")),
        fault("A-25", "dies of size").dies(|body| body.len() > 1 << 20),
    ]
}

fn naming() -> Vec<Fault> {
    let lamp = "\"com.example.lamp\"";
    let nasty = "notice \"start \\u001b[2J end\"";
    vec![
        fault("U-01", "carries out whatever it is told").reads("\"com.evil.exec\"", lamp),
        fault("U-02", "does not mind letter case").reads("\"com.example.Lamp\"", lamp),
        fault("U-03", "trims").reads("\"com.example.lamp \"", lamp),
        fault("U-04", "matches by the beginning").reads("\"com.example.lamp.all\"", lamp),
        fault("U-05", "completes names").reads("\"com.example\"", lamp),
        fault("U-06", "takes one letter for another").reads("\"com.example.l\u{430}mp\"", lamp),
        fault("U-07", "does not mind versions").reads("\"com.example.lamp@2\"", lamp),
        fault("U-08", "does anything after a yes").reads(
            "\"com.evil.exec\",\"requires_user_approval\":true",
            "\"com.example.lamp\",\"requires_user_approval\":true",
        ),
        fault("U-10", "says nothing about what it does not know").hides("notice"),
        fault("U-11", "shows `message` first").reads("fallback_message", "x"),
        fault("U-12", "dies of a fallback that is no text")
            .dies(|body| body.contains("\"fallback_message\":7")),
        Fault {
            line: Box::new(|line| {
                if line.starts_with("notice \"xxx") {
                    vec![format!("notice \"{}\"", "x".repeat(1 << 20))]
                } else {
                    vec![line]
                }
            }),
            ..fault("U-13", "shows a fallback however long it is")
        },
        fault("U-20", "lets a fallback drive the terminal").shows("notice \"start", nasty),
        fault("U-21", "lets a message drive the terminal").shows("show \"start", nasty),
        fault("U-22", "lets an error drive the terminal").shows("notice \"start", nasty),
        fault("U-23", "lets a question drive the terminal")
            .shows("question", "question \"start \\u202e end\""),
    ]
}

fn ordering() -> Vec<Fault> {
    let all_at_once = |case, name| {
        fault(case, name).reads(",\"payload\"", ",\"execution\":\"parallel\",\"payload\"")
    };
    let swapped = |case, name, one: &'static str, other: &'static str| Fault {
        down: Box::new(move |text, _, _| {
            text.replace(one, "\u{1}").replace(other, one).replace('\u{1}', other)
        }),
        ..fault(case, name)
    };
    vec![
        all_at_once("O-01", "begins everything at once"),
        swapped("O-02", "goes by priority", "\"name\":\"a\"", "\"name\":\"b\""),
        Fault {
            down: Box::new(|text, _, _| {
                text.replace("\"render_message\"", "\"render_message\",\"execution\":\"parallel\"")
                    .replace(
                        "\"com.example.door\"",
                        "\"com.example.door\",\"execution\":\"parallel\"",
                    )
            }),
            ..fault("O-03", "shows messages before anything else")
        },
        fault("O-04", "takes any word for `parallel`").reads("\"whenever\"", "\"parallel\""),
        swapped("O-05", "shows messages from the last to the first", "\"first\"", "\"second\""),
        all_at_once("O-10", "does not wait for a group"),
        all_at_once("O-11", "does not wait before a group"),
        fault("O-12", "declares what it does not do")
            .reads("\"execution\":\"parallel\"", "\"x\":1"),
        fault("D-01", "has no clock").reads("\"deadline_ms\"", "\"x\""),
        fault("D-02", "takes no sign").reads("\"deadline_ms\":-1", "\"deadline_ms\":1000"),
        fault("D-03", "gives up what has begun").hides("end"),
        fault("D-04", "reads plain digits only").reads("\"deadline_ms\":1e5", "\"deadline_ms\":-1"),
        fault("D-05", "takes a yes at any time").reads("\"deadline_ms\"", "\"x\""),
    ]
}

fn gating() -> Vec<Fault> {
    let gate = "\"requires_user_approval\":";
    let opens = |case, name, value: &'static str| Fault {
        down: Box::new(move |text, _, _| text.replace(&format!("{gate}{value}"), "\"x\":1")),
        ..fault(case, name)
    };
    vec![
        opens("P-01", "asks nobody", "true"),
        opens("P-02", "asks for the word `true` alone", "\"true\""),
        opens("P-03", "takes a number for a no", "1"),
        opens("P-04", "takes null for a no", "null"),
        fault("P-05", "does not know tiers").reads("\"dangerous\"", "\"safe\""),
        fault("P-06", "takes an unknown tier for a safe one").reads("\"apocalyptic\"", "\"safe\""),
        fault("P-07", "believes the tier")
            .reads("\"risk_tier\":\"safe\",\"requires_user_approval\":true", "\"x\":1"),
        fault("P-08", "believes `false`")
            .reads("\"risk_tier\":\"dangerous\",\"requires_user_approval\":false", "\"x\":1"),
        fault("P-09", "asks about everything").reads(
            "\"risk_tier\":\"safe\",\"requires_user_approval\":false",
            "\"risk_tier\":\"dangerous\"",
        ),
        fault("P-20", "takes any answer for a yes").hears("deny", "allow"),
        Fault {
            down: Box::new(|text, _, _| {
                let (head, tail) = text.rsplit_once("\"requires_user_approval\":true").unwrap();
                format!("{head}\"x\":1{tail}")
            }),
            ..fault("P-21", "takes a yes for all that follows")
        },
        fault("P-22", "asks without saying what").shows("question", "question \"allow?\""),
        fault("P-23", "does not ask in groups")
            .reads("\"requires_user_approval\":true,\"execution\"", "\"execution\""),
        Fault { end: Some("allow"), ..fault("P-24", "takes silence for a yes") },
        fault("P-25", "does not say that it asks").says("\"openharness.ui.approval\":true,", ""),
    ]
}

/// Requests that went wrong.
fn is_error(_: &str, answer: &str) -> bool {
    answer.contains("\"status\":\"error\"")
}

fn going_on() -> Vec<Fault> {
    let changed = |case, name, change: fn(String, usize) -> String| Fault {
        up: Box::new(move |text, number, _| change(text, number)),
        ..fault(case, name)
    };
    vec![
        fault("F-01", "does not see failures").reads("\"fail\":true", "\"fail\":false"),
        fault("F-02", "goes on after a no").reads(
            "\"requires_user_approval\":true",
            "\"requires_user_approval\":true,\"execution\":\"parallel\"",
        ),
        Fault {
            down: Box::new(|text, _, number| {
                if number > 0 { text.replace("com.example", "com.blocked") } else { text }
            }),
            ..fault("F-03", "never forgets a failure")
        },
        fault("F-04", "does not look at dependencies").reads("depends_on", "x"),
        fault("R-01", "sends everything again").sends_again(1, is_error),
        fault("R-02", "sends everything again that failed").sends_again(1, is_error),
        fault("R-03", "waits as long as it is told, which is not at all")
            .reads("retry-after", "x-retry"),
        changed("R-10", "has a new id for each try", |text, number| {
            text.replace("\"request_id\":\"", &format!("\"request_id\":\"try-{number}-"))
        }),
        changed("R-11", "counts its tries in the body", |text, number| {
            text.replace("\"request\":{", &format!("\"x_try\":{number},\"request\":{{"))
        }),
        fault("R-12", "tries again at once").sends_again(2, is_error),
        fault("R-13", "does not read `Retry-After`").reads("retry-after", "x-retry"),
        fault("R-14", "tries for ever").sends_again(11, is_error),
        Fault {
            up: Box::new(
                |text, number, _| {
                    if number > 0 { text.replace("\"1.0.0\"", "\"2.0.0\"") } else { text }
                },
            ),
            ..fault("V-01", "speaks any version it is asked for").sends_again(1, is_error)
        },
        fault("V-02", "tries one version after the other").sends_again(4, is_error),
    ]
}

fn reporting() -> Vec<Fault> {
    let outcome = |case, name, old: &'static str, new: &'static str| Fault {
        up: Box::new(move |text, _, _| {
            text.replace(&format!("\"outcome\":\"{old}\""), &format!("\"outcome\":\"{new}\""))
        }),
        ..fault(case, name)
    };
    vec![
        outcome("B-01", "reports nothing as done", "completed", "failed"),
        outcome("B-02", "reports everything as done", "failed", "completed"),
        outcome("B-03", "takes a no for a failure", "rejected", "failed"),
        outcome("B-04", "says that it did what it does not know", "skipped_unknown", "completed"),
        outcome("B-05", "says that it did what was too late", "expired", "completed"),
        outcome("B-06", "says that it did what it has not begun", "not_attempted", "completed"),
        fault("B-07", "reports its stack")
            .says("\"message\":\"\"", "\"message\":\"told to fail\\n  at line 7\""),
        fault("B-10", "does not say what was chosen").says("\"option_id\":\"go\"", "\"x\":1"),
        outcome("B-11", "takes every option for a yes", "rejected", "completed"),
        outcome("B-12", "takes any word for a yes", "rejected", "completed"),
        fault("B-20", "forgets where it was").says("\"continuation_token\"", "\"x\""),
        fault("B-21", "reports nothing that is optional").says("directive_results", "x"),
        Fault {
            up: Box::new(|text, _, _| {
                text.replace("\"d\"", "\u{1}").replace("\"e\"", "\"d\"").replace('\u{1}', "\"e\"")
            }),
            ..fault("B-22", "reports in the order of the ends")
        },
        fault("B-23", "goes on for ever")
            .sends_again(45, |body, _| body.contains("directive_results")),
        fault("C-01", "keeps what it knows of a continuation").says(",\"x_new\":[1,{}]", ""),
        Fault {
            up: Box::new(|text, number, _| {
                let again = "\"context\":{\"continuation\":{\"run_id\":\"u-1\"},";
                if number == 2 { text.replace("\"context\":{", again) } else { text }
            }),
            ..fault("C-02", "uses a continuation again and again")
        },
        fault("C-03", "does not look at the time").reads("expires_at", "x"),
    ]
}

fn streaming() -> Vec<Fault> {
    vec![
        fault("S-01", "does not read the end").reads("event: final", "event: x"),
        Fault {
            line: Box::new(|line| {
                if line.starts_with("show") { vec![line.clone(), line] } else { vec![line] }
            }),
            ..fault("S-02", "shows a message as it comes and when it is whole")
        },
        Fault {
            down: Box::new(|text, _, _| {
                let error = "\"status\":\"error\",\"error\":{\"code\":\"odd\",\"retryable\":false}";
                let act = "{\"action_type\":\"com.example.lamp\",\"payload\":{\"name\":\"a\"}}";
                text.replace(
                    error,
                    &format!("\"status\":\"success\",\"action_directives\":[{act}]"),
                )
            }),
            ..fault("S-03", "acts before the end")
        },
        Fault {
            down: Box::new(|text, _, _| match text.split_once("event: com.example.mood") {
                Some((head, _)) => head.to_owned(),
                None => text,
            }),
            ..fault("S-04", "stops at what it does not know")
        },
        fault("S-05", "takes streams alone")
            .reads("content-type: application/json", "content-type: text/event-stream"),
        Fault {
            head: Box::new(|head| head.replace("Last-Event-ID", "X-Last")),
            ..fault("S-10", "begins a stream anew")
        },
        fault("S-11", "does not count events").reads("\"seq\":5", "\"seq\":1"),
        Fault {
            down: Box::new(|text, id, number| {
                let act = "{\"action_type\":\"com.example.lamp\",\"payload\":{\"name\":\"a\"}}";
                let answer = format!(
                    "{{\"protocol_version\":\"1.0.0\",\"request_id\":{id},\"response\":{{\"status\":\"success\",\"action_directives\":[{act}]}}}}"
                );
                let last = format!(
                    "event: final\ndata: {{\"stream_id\":\"s\",\"seq\":3,\"message\":{answer}}}\n\n"
                );
                if number == 0 { text + &last } else { text }
            }),
            ..fault("S-12", "takes the end of a connection for the end of an answer")
        },
    ]
}
