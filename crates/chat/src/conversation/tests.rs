//! Conversations without a terminal: messages and keys in, lines and forms out.

use super::{ChatOptions, Conversation};
use crate::event::{ChatEffect, ChatEvent, ChatKey, GrantOffer, GrantScopeOffer};
use crate::painter::TerminalSize;

/// A conversation with a clock of its own.
struct HeldConversation {
    it: Conversation,
    now: u64,
    printed: Vec<String>,
    sent: Vec<String>,
    others: Vec<ChatEffect>,
}

impl HeldConversation {
    fn new() -> HeldConversation {
        let it = Conversation::new(ChatOptions {
            size: TerminalSize { columns: 60, rows: 20 },
            client: "me".to_owned(),
            folder: None,
            history: vec!["older".to_owned()],
            greeting: None,
        });
        let mut held = HeldConversation {
            it,
            now: 10_000,
            printed: Vec::new(),
            sent: Vec::new(),
            others: Vec::new(),
        };
        held.attach(0, 0);
        held
    }

    fn take(&mut self, event: ChatEvent) {
        for effect in self.it.take(event, self.now) {
            match effect {
                ChatEffect::Print(lines) => {
                    self.printed.extend(lines.iter().map(crate::style::StyledLine::plain));
                }
                ChatEffect::Send(form) => self.sent.push(form),
                other => self.others.push(other),
            }
        }
    }

    fn attach(&mut self, head: u64, cursor: u64) {
        let (session, state) = ("work".to_owned(), "idle".to_owned());
        self.take(ChatEvent::Attached { session, head, cursor, state });
    }

    fn hear(&mut self, frame: &str) {
        self.take(ChatEvent::Frame(frame.to_owned()));
    }

    fn type_in(&mut self, text: &str) {
        text.chars().for_each(|letter| self.take(ChatEvent::Key(ChatKey::Letter(letter))));
    }

    fn press(&mut self, key: ChatKey) {
        self.take(ChatEvent::Key(key));
    }

    fn wait(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        self.take(ChatEvent::Tick);
    }

    fn shown(&self) -> String {
        let lines = self.it.area().lines;
        lines.iter().map(|line| line.plain() + "\n").collect()
    }

    fn ask(&mut self) {
        self.hear(
            "(:type :REQUEST :id \"work-5\" :target :approval :meta (:session \"work\" :seq 4 :at 1 :deadline 9) \
             :payload (:action :approve :approval \"work-5\" :question \"the thinker wants it\" :risk :dangerous \
             :hash \"9f2c\" :wanted (:action :forget :session \"x\")))",
        );
    }
}

#[test]
fn a_prompt_is_printed_when_it_is_on_disk_and_its_answer_once() {
    let mut it = HeldConversation::new();
    it.type_in("hello");
    it.press(ChatKey::Enter);
    assert!(it.sent.last().expect("sent").contains("\"hello\""), "{:?}", it.sent);
    assert!(!it.printed.iter().any(|line| line.contains("hello")));
    assert!(it.shown().contains("sending: hello"));
    it.hear("(:type :STATUS :id \"me-p1\" :payload (:status :admitted :session \"work\" :seq 1))");
    assert_eq!(it.printed.last().map(String::as_str), Some("❯ hello"));
    it.hear("(:type :EVENT :payload (:action :delta :turn 1 :text \"hi the\"))");
    assert!(it.shown().contains("hi the"));
    let answer = "(:type :RESPONSE :id \"me-p1\" :meta (:session \"work\" :seq 2 :at 1 :answers 1) \
                  :payload (:status :success :action :message :text \"hi there\"))";
    it.hear(answer);
    it.hear(answer);
    assert_eq!(it.printed.iter().filter(|line| *line == "hi there").count(), 1);
    assert!(!it.shown().contains("hi the"));
    assert_eq!(it.it.cursor(), 2);
}

#[test]
fn a_prompt_without_a_receipt_is_sent_again_after_a_lost_connection() {
    let mut it = HeldConversation::new();
    it.type_in("hello");
    it.press(ChatKey::Enter);
    let first = it.sent.last().expect("sent").clone();
    it.take(ChatEvent::Lost("gone".to_owned()));
    it.type_in("second");
    it.press(ChatKey::Enter);
    it.attach(0, 0);
    assert_eq!(it.sent.iter().filter(|form| **form == first).count(), 2);
    assert!(it.shown().contains("queued: second"));
}

#[test]
fn streamed_text_whose_connection_was_lost_is_marked_or_recorded() {
    let mut it = HeldConversation::new();
    it.hear("(:type :STATUS :payload (:status :thinking :turn 1))");
    it.hear("(:type :EVENT :payload (:action :delta :turn 1 :text \"never \"))");
    it.take(ChatEvent::Lost("gone".to_owned()));
    assert!(it.shown().contains("✗ not recorded"), "{}", it.shown());
    it.attach(0, 0);
    it.wait(4_000);
    assert!(it.printed.iter().any(|line| line.starts_with("✗ not recorded")), "{:?}", it.printed);
    assert!(it.printed.iter().any(|line| line == "┆ never "), "{:?}", it.printed);
}

#[test]
fn a_key_answers_only_what_was_looked_at() {
    let mut it = HeldConversation::new();
    it.ask();
    // Typed before anybody could read the question.
    it.press(ChatKey::Letter('a'));
    assert!(it.shown().contains("clear the input"));
    it.press(ChatKey::Ctrl('u'));
    it.wait(1_000);
    it.press(ChatKey::Letter('a'));
    let answer = it.sent.last().expect("sent").clone();
    assert!(answer.contains(":allow") && answer.contains("9f2c"), "{answer}");
    assert!(!it.printed.iter().any(|line| line.contains("work-5")));
    it.hear(
        "(:type :EVENT :meta (:session \"work\" :seq 5 :at 1) \
         :payload (:action :answered :approval \"work-5\" :answer :allow :by \"uid:1\"))",
    );
    let told: Vec<&String> = it.printed.iter().filter(|line| line.contains("work-5")).collect();
    assert_eq!(told, ["? work-5: the thinker wants it", "✓ work-5 allowed by uid:1"]);
    assert!(!it.shown().contains("a allow"));
}

#[test]
fn a_lasting_yes_names_its_scope_and_what_was_seen() {
    let mut it = HeldConversation::new();
    it.ask();
    it.wait(1_000);
    it.press(ChatKey::Letter('A'));
    assert_eq!(it.others, [ChatEffect::PreviewGrant("work-5".to_owned())]);
    let scope = |word: &str| GrantScopeOffer {
        scope: word.to_owned(),
        sentence: format!("allows {word}"),
        matched: 1,
        decisions: 2,
        examples: Vec::new(),
    };
    let hash = Some("77".to_owned());
    let offer = GrantOffer {
        approval: "work-5".to_owned(),
        hash: hash.clone(),
        scopes: vec![scope("action"), scope("tool")],
    };
    it.take(ChatEvent::Grant(Ok(offer)));
    let page = it.it.page().expect("a page");
    assert!(page.iter().any(|line| line.plain() == "2  allows tool"));
    it.press(ChatKey::Letter('7'));
    it.press(ChatKey::Letter('2'));
    let (approval, scope) = ("work-5".to_owned(), "tool".to_owned());
    assert_eq!(it.others.last(), Some(&ChatEffect::WriteGrant { approval, scope, hash }));
    assert!(it.it.page().is_none());
}

#[test]
fn what_is_typed_while_a_turn_runs_waits_and_escape_stops_the_turn() {
    let mut it = HeldConversation::new();
    it.hear("(:type :STATUS :payload (:status :thinking :turn 1))");
    it.type_in("later");
    it.press(ChatKey::Enter);
    assert!(it.shown().contains("queued: later"));
    it.press(ChatKey::Escape);
    assert!(it.sent.last().expect("sent").contains(":interrupt"));
    it.press(ChatKey::Up);
    assert!(it.shown().contains("❯ later") && !it.shown().contains("queued"));
    it.press(ChatKey::Enter);
    it.hear("(:type :STATUS :payload (:status :idle))");
    assert!(it.sent.last().expect("sent").contains("\"later\""));
}

const OFFERS: &str = "(:type :RESPONSE :id \"me-offers\" :payload (:status :success :action :offers \
    :commands ((:name \"weekly\" :about \"a review\") (:name \"x;y\")) \
    :models ((:model \"lab/small\" :privacy :local) (:model \"far/large\" :images t))))";

#[test]
fn commands_of_skills_complete_and_models_are_chosen() {
    let mut it = HeldConversation::new();
    assert!(it.sent.iter().any(|form| form.contains(":offers")), "{:?}", it.sent);
    it.hear(OFFERS);
    it.type_in("/we");
    assert!(it.shown().contains("/weekly  a review"), "{}", it.shown());
    it.press(ChatKey::Tab);
    assert!(it.shown().contains("❯ /weekly "), "{}", it.shown());
    it.press(ChatKey::Ctrl('u'));
    it.type_in("/model far");
    it.press(ChatKey::Tab);
    it.press(ChatKey::Enter);
    it.type_in("hello");
    it.press(ChatKey::Enter);
    assert!(it.sent.last().expect("sent").contains(":model \"far/large\""), "{:?}", it.sent);
    it.type_in("/model nobody");
    it.press(ChatKey::Enter);
    assert!(it.shown().contains("no model `nobody`"), "{}", it.shown());
}

#[test]
fn headings_of_the_memory_complete_as_links() {
    let mut it = HeldConversation::new();
    it.type_in("see @wat");
    let asked: Vec<&String> = it.sent.iter().filter(|form| form.contains(":query")).collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("\"wat*\""), "{asked:?}");
    it.hear(
        "(:type :RESPONSE :id \"me-h2\" :payload (:status :success :action :query \
         :objects ((:id \"1\" :path \"garden.org\" :title \"Water the beds\"))))",
    );
    assert!(it.shown().contains("@Water the beds  garden.org"), "{}", it.shown());
    it.press(ChatKey::Tab);
    it.press(ChatKey::Enter);
    let sent = it.sent.last().expect("sent");
    assert!(sent.contains("see [[file:garden.org::*Water the beds][Water the beds]]"), "{sent}");
}

#[test]
fn earlier_prompts_are_searched() {
    let mut it = HeldConversation::new();
    for text in ["water the beds", "pay the rent", "water the roof"] {
        it.type_in(text);
        it.press(ChatKey::Enter);
    }
    it.press(ChatKey::Ctrl('r'));
    it.type_in("WAT");
    assert!(it.shown().contains("search `WAT`: water the roof"), "{}", it.shown());
    it.press(ChatKey::Ctrl('r'));
    it.press(ChatKey::Ctrl('r'));
    assert!(it.shown().contains("search `WAT`: water the beds"), "{}", it.shown());
    let sent = it.sent.len();
    it.press(ChatKey::Enter);
    assert!(it.shown().contains("❯ water the beds"), "{}", it.shown());
    assert_eq!(it.sent.len(), sent, "it was sent at once");
    it.press(ChatKey::Ctrl('u'));
    it.press(ChatKey::Ctrl('r'));
    it.type_in("rent");
    it.press(ChatKey::Escape);
    assert!(!it.shown().contains("search") && !it.shown().contains("❯ pay the rent"));
}

#[test]
fn pictures_go_along_with_a_prompt() {
    let mut it = HeldConversation::new();
    it.hear(OFFERS);
    it.take(ChatEvent::Paste("/tmp/a\\ b.png".to_owned()));
    let path = std::path::PathBuf::from("/tmp/a b.png");
    assert_eq!(it.others, [ChatEffect::ReadImage { path }]);
    let image = crate::image::PromptImage {
        name: "a b.png".to_owned(),
        mime_type: "image/png",
        data: "iVBO".to_owned(),
    };
    it.take(ChatEvent::Image(Ok(image.clone())));
    assert!(it.shown().contains("▣ a b.png"), "{}", it.shown());
    it.press(ChatKey::Backspace);
    assert!(!it.shown().contains('▣'), "{}", it.shown());
    it.take(ChatEvent::Image(Ok(image)));
    it.press(ChatKey::Enter);
    let sent = it.sent.last().expect("sent");
    let wanted = "(:mime-type \"image/png\" :filename \"a b.png\" :data \"iVBO\")";
    assert!(sent.contains(wanted) && sent.contains("Look at a b.png."), "{sent}");
    assert!(!it.shown().contains("Backspace"), "{}", it.shown());
    it.take(ChatEvent::Image(Err("x.png cannot be read".to_owned())));
    assert!(it.shown().contains("x.png cannot be read"));
}

#[test]
fn what_a_session_used_stands_in_its_line() {
    let mut it = HeldConversation::new();
    it.hear("(:type :STATUS :payload (:status :thinking :turn 1))");
    it.sent.clear();
    it.hear("(:type :STATUS :payload (:status :idle))");
    assert!(it.sent.iter().any(|form| form.contains(":usage")), "{:?}", it.sent);
    it.hear(
        "(:type :RESPONSE :id \"me-usage\" :payload (:status :success :action :usage :session \"work\" \
         :model \"lab/m\" :context 1000 :context-length 8000 :cost-microdollars 12345 :thoughts 2 :unpriced 1))",
    );
    assert!(it.shown().contains("lab/m · $0.0123 + unknown · context 12%"), "{}", it.shown());
}

#[test]
fn what_is_typed_before_another_session_is_there_goes_to_it() {
    let mut it = HeldConversation::new();
    it.hear("(:type :STATUS :payload (:status :thinking :turn 1))");
    it.type_in("for the old one");
    it.press(ChatKey::Enter);
    it.press(ChatKey::Alt('n'));
    it.type_in("for the new one");
    it.press(ChatKey::Enter);
    it.sent.clear();
    let (session, state) = ("new".to_owned(), "idle".to_owned());
    it.take(ChatEvent::Attached { session, head: 0, cursor: 0, state });
    let prompts: Vec<&String> = it.sent.iter().filter(|form| form.contains("one\"")).collect();
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert!(prompts[0].contains("for the new one"), "{prompts:?}");
}

#[test]
fn the_area_fits_every_size() {
    let mut it = HeldConversation::new();
    it.ask();
    it.hear("(:type :EVENT :payload (:action :delta :turn 1 :text \"a\nb\nc\n日本語日本語\"))");
    it.take(ChatEvent::Paste("x\n".repeat(5)));
    for (columns, rows) in [(80, 24), (20, 5), (1, 1), (2, 3), (5, 2), (200, 50), (8, 4)] {
        it.take(ChatEvent::Resize(columns, rows));
        let area = it.it.area();
        assert!(area.lines.len() <= rows.saturating_sub(1).max(1), "{columns}x{rows}: {area:?}");
        assert!(area.cursor_row < area.lines.len() && area.cursor_column < columns);
        let widest = area.lines.iter().map(crate::style::StyledLine::width).max();
        assert!(widest <= Some(columns.max(2)), "{columns}x{rows}: {area:?}");
    }
}
