//! Headings made at random, each with a change of it: the same ones for the same seed. Everything that a change of a heading
//! looks at is in them: keywords and their marks, settings, planning, repeaters, drawers, logs, cookies, odd blanks.

use std::fmt::Write as _;

use crate::chaos::random::SplitMix;

/// A case as Emacs reads it.
pub(super) struct MadeCase {
    pub(super) form: String,
}

/// Sequences of keywords, with the keywords of each.
const SEQUENCES: &[(&str, &[&str])] = &[
    ("#+TODO: TODO NEXT WAIT | DONE GONE\n", &["TODO", "NEXT", "WAIT", "DONE", "GONE"]),
    ("#+TODO: TODO(t!) WAIT(w@/!) | DONE(d@/!) GONE(g@)\n", &["TODO", "WAIT", "DONE", "GONE"]),
    ("#+TODO: TODO(t) | DONE(d!)\n", &["TODO", "DONE"]),
    ("#+SEQ_TODO: OPEN SHUT\n", &["OPEN", "SHUT"]),
    ("#+TYP_TODO: ANN BEN | DONE\n", &["ANN", "BEN", "DONE"]),
    ("#+TODO: TODO | DONE\n#+TODO: BUG(b/!) | FIXED(f!)\n", &["TODO", "DONE", "BUG", "FIXED"]),
    ("#+TODO: 待つ(w) TODO | DONE 済(s!)\n", &["待つ", "TODO", "DONE", "済"]),
];

/// Words of `#+STARTUP:` that logs depend on.
const STARTUP: &[&str] = &[
    "logdone",
    "lognotedone",
    "nologdone",
    "logrepeat",
    "lognoterepeat",
    "nologrepeat",
    "logdrawer",
    "nologdrawer",
    "LogDone",
    "nologstatesreversed",
    "logstatesreversed",
    "logreschedule",
    "lognotereschedule",
    "logredeadline",
    "logrefile",
    "overview",
];

const TITLES: &[&str] = &[
    "water the beans",
    "Zahnarzt anrufen",
    "会議の準備",
    "a  b   c",
    "see [[id:1][the plan]] today",
    "with =code= and /slant/",
    "half [1/2] done",
    "déjà vu 🌱",
    "x",
    "TODOLIST of things",
    "a: b; c",
    "one\ttab",
];

const TAGS: &[&str] = &["home", "@work", "毎日", "a_b", "x1", "big#1", "p%"];

/// Source of random cases.
pub(super) struct CaseMaker {
    random: SplitMix,
    /// The keywords of the text.
    words: Vec<&'static str>,
    text: String,
    /// The line, from 1, of the heading that is changed, and of others that can be a target.
    target: usize,
    others: Vec<usize>,
    boxes: Vec<usize>,
    options: String,
}

/// The case of that number.
pub(super) fn case(seed: u64, number: u64) -> MadeCase {
    let mut random = SplitMix::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
    let random = random.split();
    let mut maker = CaseMaker {
        random,
        words: vec!["TODO", "DONE"],
        text: String::new(),
        target: 0,
        others: Vec::new(),
        boxes: Vec::new(),
        options: String::new(),
    };
    maker.head();
    maker.outline();
    let (operation, arguments) = maker.operation(number);
    let line = match operation {
        "checkbox" => maker.boxes[maker.random.index(maker.boxes.len())],
        _ => maker.target,
    };
    if operation != "archive" && maker.random.chance(8) {
        maker.text = maker.text.replace('\n', "\r\n");
    }
    if maker.random.chance(8) {
        let ended = maker.text.trim_end_matches(['\r', '\n']).len();
        maker.text.truncate(ended);
    }
    let text = quoted(&maker.text);
    let options = &maker.options;
    let form = format!("(m{number} {operation} {line} ({arguments}) {text} ({options}))");
    MadeCase { form }
}

/// A string that both readers read.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

impl CaseMaker {
    fn chance(&mut self, percent: u64) -> bool {
        self.random.chance(percent)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.index(from.len())]
    }

    fn number(&mut self, low: u64, high: u64) -> u64 {
        self.random.between(low, high)
    }

    /// A blank, mostly.
    fn blanks(&mut self) -> &'static str {
        if self.chance(85) { " " } else { self.pick(&["  ", "   "]) }
    }

    fn line(&self) -> usize {
        self.text.matches('\n').count() + 1
    }

    /// Writes the text before the first heading, and the options.
    fn head(&mut self) {
        let now = self.moment(true);
        let _ = write!(self.options, ":now \"[{now}]\"");
        if self.chance(45) {
            let (lines, words) = self.pick(SEQUENCES);
            self.text.push_str(lines);
            self.words = words.to_vec();
        } else if self.chance(25) {
            self.options.push_str(" :todo (\"TODO(t) NEXT(n) WAIT(w@/!) | DONE(d!) GONE(g)\")");
            self.words = vec!["TODO", "NEXT", "WAIT", "DONE", "GONE"];
        }
        if self.chance(50) {
            let words: Vec<&str> = (0..self.number(1, 3)).map(|_| self.pick(STARTUP)).collect();
            let _ = writeln!(self.text, "#+STARTUP: {}", words.join(" "));
        } else if self.chance(15) {
            let words: Vec<&str> =
                (0..2).map(|_| self.pick(STARTUP)).filter(|word| *word != "LogDone").collect();
            let _ = write!(self.options, " :startup \"{}\"", words.join(" "));
        }
        if self.chance(6) {
            self.text.push_str("#+PROPERTY: LOGGING logdone\n");
        }
        if self.chance(5) {
            self.text.push_str("#+PROPERTY: LOG_INTO_DRAWER t\n");
        }
        if self.chance(8) {
            self.text.push_str("#+FILETAGS: :file:\n");
        }
        if self.chance(8) {
            self.options.push_str(" :enforce t");
        }
        if self.chance(20) {
            self.text.push_str("some words\n\n");
        }
    }

    /// Headings above, beside and below the one that is changed.
    fn outline(&mut self) {
        let depth = usize::try_from(self.number(1, 3)).unwrap_or(1);
        for level in 1..depth {
            self.others.push(self.line());
            self.parent(level);
            if self.chance(40) {
                self.others.push(self.line());
                self.plain_heading(level + 1);
            }
        }
        if self.chance(40) {
            self.others.push(self.line());
            self.plain_heading(depth);
        }
        self.target = self.line();
        self.changed(depth);
        for _ in 0..self.number(0, 2) {
            self.plain_heading(depth + 1);
        }
        if self.chance(50) {
            self.others.push(self.line());
            self.plain_heading(depth);
        }
        if self.chance(40) {
            self.others.push(self.line());
            self.plain_heading(1);
        }
    }

    fn keyword(&mut self) -> &'static str {
        let words = self.words.clone();
        self.pick(&words)
    }

    /// A heading that counts what is below it, perhaps.
    fn parent(&mut self, level: usize) {
        let keyword = if self.chance(50) { format!("{} ", self.keyword()) } else { String::new() };
        let cookie = self.pick(&["", " [0/0]", " [1/3]", " [33%]", " [/]", " [%] [/]", " =[/]="]);
        let _ = writeln!(self.text, "{} {keyword}parent{cookie}", "*".repeat(level));
        let mut lines = Vec::new();
        for (chance, line) in [
            (12, ":COOKIE_DATA: todo recursive"),
            (6, ":COOKIE_DATA: checkbox"),
            (20, ":ORDERED: t"),
            (6, ":LOGGING: nil"),
            (6, ":LOGGING: lognoterepeat logdone"),
            (5, ":LOG_INTO_DRAWER: NOTES"),
        ] {
            if self.chance(chance) {
                lines.push(line);
            }
        }
        if !lines.is_empty() {
            let _ = writeln!(self.text, ":PROPERTIES:\n{}\n:END:", lines.join("\n"));
        }
        if self.chance(25) {
            self.text.push_str("text of it\n");
        }
    }

    fn plain_heading(&mut self, level: usize) {
        let keyword = if self.chance(70) { format!("{} ", self.keyword()) } else { String::new() };
        let title = self.pick(TITLES);
        let _ = writeln!(self.text, "{} {keyword}{title}", "*".repeat(level));
        if self.chance(25) {
            self.text.push_str("more text\n");
        }
        if self.chance(15) {
            self.text.push('\n');
        }
    }

    /// The heading that is changed, with all that can stand below it.
    fn changed(&mut self, level: usize) {
        let blanks = self.blanks();
        let _ = write!(self.text, "{}{blanks}", "*".repeat(level));
        if self.chance(75) {
            let (keyword, blanks) = (self.keyword(), self.blanks());
            let _ = write!(self.text, "{keyword}{blanks}");
        }
        if self.chance(20) {
            let (letter, blanks) = (self.pick(&["A", "B", "C"]), self.blanks());
            let _ = write!(self.text, "[#{letter}]{blanks}");
        }
        let title = self.pick(TITLES);
        self.text.push_str(title);
        if self.chance(6) {
            let stamp = self.stamp(true);
            let _ = write!(self.text, " {stamp}");
        }
        if self.chance(25) {
            let blanks = self.pick(&[" ", "   ", "\t", "      "]);
            let tags: Vec<&str> = (0..self.number(1, 3)).map(|_| self.pick(TAGS)).collect();
            let _ = write!(self.text, "{blanks}:{}:", tags.join(":"));
        }
        if self.chance(6) {
            let blanks = self.pick(&[" ", "  "]);
            self.text.push_str(blanks);
        }
        self.text.push('\n');
        let indent = if self.chance(75) { "" } else { self.pick(&["  ", "   ", "\t"]) };
        if self.chance(70) {
            self.planning(indent);
        }
        if self.chance(45) {
            self.drawer(indent);
        }
        self.body(indent);
    }

    fn planning(&mut self, indent: &str) {
        let mut plans = Vec::new();
        for (chance, word) in [(65, "SCHEDULED:"), (45, "DEADLINE:"), (25, "CLOSED:")] {
            if self.chance(chance) {
                let stamp = if word == "CLOSED:" {
                    format!("[{}]", self.moment(true))
                } else {
                    self.stamp(true)
                };
                let blanks = self.blanks();
                plans.push(format!("{word}{blanks}{stamp}"));
            }
        }
        if plans.is_empty() {
            return;
        }
        let first = self.random.index(plans.len());
        plans.rotate_left(first);
        let blanks = self.blanks();
        let _ = write!(self.text, "{indent}{}", plans.join(blanks));
        let end = if self.chance(6) { "  \n" } else { "\n" };
        self.text.push_str(end);
        if self.chance(4) {
            let stamp = self.stamp(true);
            let _ = writeln!(self.text, "{indent}DEADLINE: {stamp}");
        }
    }

    fn drawer(&mut self, indent: &str) {
        let _ = writeln!(self.text, "{indent}:PROPERTIES:");
        let keyword = self.keyword();
        let stamp = self.stamp(true);
        let lines = [
            (20, ":STYLE: habit".to_owned()),
            (15, ":STYLE:    habit".to_owned()),
            (20, ":LAST_REPEAT: [2026-01-05 Mon 08:00]".to_owned()),
            (25, ":Effort:   1:00".to_owned()),
            (10, format!(":REPEAT_TO_STATE: {keyword}")),
            (10, ":LOGGING: nil".to_owned()),
            (8, ":LOGGING: logdone lognoterepeat".to_owned()),
            (6, ":LOGGING: TODO(!) DONE(@)".to_owned()),
            (10, ":LOG_INTO_DRAWER: t".to_owned()),
            (5, ":LOG_INTO_DRAWER: nil".to_owned()),
            (8, ":KEY: old".to_owned()),
            (5, ":KEY+: more".to_owned()),
            (5, format!(":WHEN: {stamp}")),
            (5, ":ORDERED: t".to_owned()),
            (4, ":NOBLOCKING: t".to_owned()),
            (4, ":EMPTY:".to_owned()),
        ];
        for (chance, line) in lines {
            if self.chance(chance) {
                let _ = writeln!(self.text, "{indent}{line}");
            }
        }
        let _ = writeln!(self.text, "{indent}:END:");
    }

    fn body(&mut self, indent: &str) {
        if self.chance(25) {
            self.logbook(indent);
        }
        if self.chance(15) {
            self.text.push('\n');
        }
        if self.chance(12) {
            let _ = writeln!(
                self.text,
                "{indent}- State \"DONE\"       from \"TODO\"       [2026-10-01 Thu 09:00]"
            );
            if self.chance(50) {
                let _ = writeln!(
                    self.text,
                    "{indent}- State \"WAIT\"       from \"TODO\"       [2026-09-01 Tue 09:00] \\\\\n{indent}  because"
                );
            }
        }
        for _ in 0..self.number(0, 3) {
            self.paragraph();
        }
        if self.chance(20) {
            self.boxes.push(self.line());
            self.text.push_str("- [ ] one box [0/1]\n");
            self.boxes.push(self.line());
            self.text.push_str("  - [X] inner\n- [-] other\n");
        }
    }

    fn logbook(&mut self, indent: &str) {
        let name = self.pick(&["LOGBOOK", "logbook", "NOTES"]);
        let _ = writeln!(self.text, "{indent}:{name}:");
        if self.chance(60) {
            let _ = writeln!(
                self.text,
                "{indent}- State \"DONE\"       from \"TODO\"       [2026-10-01 Thu 09:00]"
            );
        }
        if self.chance(30) {
            let _ = writeln!(
                self.text,
                "{indent}CLOCK: [2026-10-01 Thu 09:00]--[2026-10-01 Thu 10:30] =>  1:30"
            );
        }
        let _ = writeln!(self.text, "{indent}:END:");
    }

    fn paragraph(&mut self) {
        let (one, two) = (self.stamp(true), self.stamp(false));
        let plain = self.moment(true);
        let text = match self.number(0, 11) {
            0 => "plain words\nof two lines\n".to_owned(),
            1 => format!("meet at {one} there\n"),
            2 => format!("was [{plain}] and {two}\n"),
            3 => format!("from {two}--{two}\n"),
            4 => format!("- item {one}\n  more of it\n"),
            5 => format!("#+begin_src sh\necho \"{one}\"\n#+end_src\n"),
            6 => format!("| a | {one} |\n"),
            7 => format!("# comment {one}\n"),
            8 => format!("=verbatim {one}=\n"),
            9 => "\n".to_owned(),
            10 => "    indented text\n\twith a tab\n".to_owned(),
            _ => "文章です。\n".to_owned(),
        };
        self.text.push_str(&text);
    }

    /// A date with the name of its day, and perhaps a time, as in a timestamp.
    fn moment(&mut self, with_time: bool) -> String {
        let (year, month) = (self.number(2024, 2028), self.number(1, 12));
        let day = if self.chance(25) { self.number(28, 31) } else { self.number(1, 28) };
        let time = with_time.then(|| (self.number(0, 23), self.number(0, 59)));
        let clock =
            time.map(|(hour, minute)| format!(" {hour:02}:{minute:02}")).unwrap_or_default();
        let raw = format!("{year:04}-{month:02}-{day:02}");
        let moment = bridle_org::Moment::read(raw.as_bytes());
        // A day that the month does not have counts into the next one: written as the calendar has it.
        let date = moment.map_or(raw, |moment| moment.text(false));
        format!("{date}{clock}")
    }

    /// An active timestamp, perhaps with a repeater and a warning.
    fn stamp(&mut self, repeats: bool) -> String {
        let with_time = self.chance(35);
        let mut stamp = self.moment(false);
        if with_time {
            let (hour, minute) = (self.number(0, 22), self.number(0, 59));
            let _ = write!(stamp, " {hour:02}:{minute:02}");
            if self.chance(20) {
                let _ = write!(stamp, "-{:02}:{minute:02}", hour + 1);
            }
        }
        if repeats && self.chance(70) {
            let mark = self.pick(&["+", "++", ".+"]);
            let units: &[&str] = if with_time || self.chance(3) {
                &["h", "d", "w", "m", "y"]
            } else {
                &["d", "w", "m", "y"]
            };
            let (count, unit) = (self.number(1, 6), self.pick(units));
            let _ = write!(stamp, " {mark}{count}{unit}");
            if mark == ".+" && self.chance(40) {
                let _ = write!(stamp, "/{}{unit}", count + 2);
            }
        }
        if self.chance(15) {
            let sign = self.pick(&["-", "--"]);
            let _ = write!(stamp, " {sign}{}d", self.number(0, 9));
        }
        format!("<{stamp}>")
    }

    /// Chooses an operation for the heading.
    fn operation(&mut self, number: u64) -> (&'static str, String) {
        // Every other one changes the state: that is where most happens.
        if number.is_multiple_of(2) {
            let done = self.chance(60);
            let words = self.words.clone();
            let word = if done { self.pick(&words[words.len() / 2..]) } else { self.pick(&words) };
            let word = if self.chance(8) { "nil".to_owned() } else { quoted(word) };
            let note = match self.number(0, 9) {
                0 => " \"one line\"",
                1 => " \"two\\nlines\"",
                _ => "",
            };
            return ("todo", format!("{word}{note}"));
        }
        let operations = [
            "priority",
            "title",
            "tags",
            "archive-tag",
            "property",
            "property",
            "scheduled",
            "scheduled",
            "deadline",
            "deadline",
            "closed",
            "checkbox",
            "clock-in",
            "clock-out",
            "move-up",
            "cut",
            "insert",
            "append",
            "refile",
            "archive",
        ];
        let operation = self.pick(&operations);
        match operation {
            "checkbox" if self.boxes.is_empty() => ("cut", String::new()),
            "refile" if self.others.is_empty() => ("cut", String::new()),
            "refile" => {
                let others = self.others.clone();
                ("refile", self.pick(&others).to_string())
            }
            operation => (operation, self.arguments(operation)),
        }
    }

    fn arguments(&mut self, operation: &str) -> String {
        match operation {
            "priority" => self.pick(&["\"A\"", "\"B\"", "\"c\"", "nil"]).to_owned(),
            "title" => quoted(self.pick(&["new words", "新しい", "see [[x]]", "a  b"])),
            "tags" => {
                let count = self.number(0, 3);
                let tags: Vec<String> = (0..count).map(|_| quoted(self.pick(TAGS))).collect();
                tags.join(" ")
            }
            "property" => {
                let key = self.pick(&["KEY", "Effort", "key", "NEW", "STYLE", "EMPTY"]);
                let value = self.pick(&["\"value\"", "\"two words\"", "nil", "\"値\""]);
                format!("{} {value}", quoted(key))
            }
            "scheduled" | "deadline" if self.chance(25) => "nil".to_owned(),
            "scheduled" | "deadline" => {
                let mut stamp = self.moment(false);
                if self.chance(40) {
                    let (hour, minute) = (self.number(0, 22), self.number(0, 59));
                    let _ = write!(stamp, " {hour:02}:{minute:02}");
                    if self.chance(25) {
                        let _ = write!(stamp, "-{:02}:{minute:02}", hour + 1);
                    }
                }
                if self.chance(25) {
                    let _ =
                        write!(stamp, " {}{}w", self.pick(&["+", "++", ".+"]), self.number(1, 4));
                }
                quoted(&format!("<{stamp}>"))
            }
            "closed" if self.chance(30) => "nil".to_owned(),
            "closed" | "clock-in" => quoted(&format!("[{}]", self.moment(true))),
            "clock-out" => "\"[2026-11-15 Sun 23:10]\" \"[2026-11-16 Mon 00:15]\"".to_owned(),
            "insert" | "append" => {
                quoted(self.pick(&["* new\n", "** new\ntext\n*** below\n", "* TODO x"]))
            }
            "archive" => "\"notes.org\" \"2026-11-15 Sun 10:00\"".to_owned(),
            _ => String::new(),
        }
    }
}
