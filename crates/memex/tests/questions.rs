//! Whole questions over a made set of notes: people who tell what they did, one note for each telling, and a question for
//! each, in other forms of its words. Most of the notes that answer must be among the first ten; a query for all words finds
//! next to nothing, which is why there is another mode.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Arc;

use bridle_memex::{
    MemexCatalog, MemexFolder, MemexIndex, MemexQuery, PrivateAccess, QueryMode, ReadRules,
    SearchText, WallMinute,
};
use tempfile::TempDir;

/// Least share of the notes that answer among the first ten, in percent.
const LEAST_FOUND: usize = 65;

/// Most that a query for all words may find for the set to be one of questions, in percent.
const MOST_BY_ALL_WORDS: usize = 10;

const PEOPLE: [&str; 20] = [
    "Caroline", "Melanie", "Joanna", "Nate", "Tim", "Gina", "Jon", "Maria", "John", "Audrey",
    "Andrew", "Deborah", "Jolene", "Evan", "Sam", "Calvin", "Dave", "Ingrid", "Omar", "Yuki",
];

const PLACES: [&str; 12] = [
    "the harbor",
    "Lisbon",
    "the old mill",
    "Lake Como",
    "the community center",
    "Oslo",
    "the botanical garden",
    "Kyoto",
    "the church hall",
    "Vermont",
    "the night market",
    "Galway",
];

const THINGS: [&str; 12] = [
    "a violin",
    "two kittens",
    "a pottery bowl",
    "the blue bicycle",
    "a telescope",
    "her grandmother's ring",
    "a sourdough starter",
    "an adventure novel",
    "the broken radio",
    "a cactus",
    "running shoes",
    "a quilt",
];

/// What somebody tells, and how somebody asks for it later: `{p}` is who, `{l}` where, `{t}` what.
const TELLINGS: [(&str, &str); 16] = [
    (
        "{p} ran a charity race near {l} and raised money for the shelter.",
        "When did {p} run the charity race at {l}?",
    ),
    ("{p} painted a sunset over {l} last weekend.", "What has {p} been painting around {l}?"),
    (
        "{p} finally bought {t} after saving for months.",
        "Which thing did {p} buy after the long saving, was it {t}?",
    ),
    (
        "{p} is researching adoption agencies in {l}.",
        "Where does {p} research agencies for an adoption?",
    ),
    ("{p} lost {t} on the train and cried about it.", "What did {p} lose on a train?"),
    ("{p} started a new job as a counselor in {l}.", "What kind of job is {p} starting in {l}?"),
    (
        "{p} taught the neighbours' children how to care for {t}.",
        "Whom did {p} teach to care for {t}?",
    ),
    ("{p} went camping by {l} with the whole family.", "Who camped with {p} by {l}?"),
    ("{p} gave a speech about courage at {l}.", "What were {p}'s speeches at {l} about?"),
    ("{p} repaired {t} with glue and patience.", "How was {t} being repaired by {p}?"),
    (
        "{p} was diagnosed with a pollen allergy while in {l}.",
        "Which allergies does {p} have since {l}?",
    ),
    ("{p} won second prize with {t} in a local contest.", "Which prize did {p} win with {t}?"),
    ("{p} plans to move to {l} next spring.", "When will {p} be moving to {l}?"),
    ("{p} sold {t} to a collector for charity.", "To whom did {p} sell {t}?"),
    ("{p} broke an ankle while hiking at {l}.", "What was broken when {p} hiked at {l}?"),
    ("{p} wrote a letter about {t} to an old teacher.", "Who got letters from {p} about {t}?"),
];

/// Words between the tellings.
const CHATTER: [&str; 8] = [
    "We talked about the weather and about dinner.",
    "It was good to hear from them after such a long time.",
    "Remember to call back about the weekend.",
    "They asked how the family is and what the kids are up to.",
    "Work has been busy for everybody lately.",
    "The coffee was terrible, the company was not.",
    "More on this another time.",
    "We agreed to meet again soon.",
];

struct Told {
    title: String,
    question: String,
}

/// The notes of every person, a file each, and the questions.
fn make(folder: &std::path::Path) -> Vec<Told> {
    let mut all = Vec::new();
    for (number, person) in PEOPLE.iter().enumerate() {
        let mut text = String::new();
        for (kind, (telling, question)) in TELLINGS.iter().enumerate() {
            let place = PLACES[(number * 5 + kind * 7) % PLACES.len()];
            let thing = THINGS[(number * 7 + kind * 5) % THINGS.len()];
            let fill = |text: &str| {
                text.replace("{p}", person).replace("{l}", place).replace("{t}", thing)
            };
            let title = format!("Talk {} of file {number}", kind + 1);
            let (before, after) = (CHATTER[(number + kind) % 8], CHATTER[(number * 3 + kind) % 8]);
            let (month, day) = (1 + kind % 12, 1 + (number * 3 + kind) % 28);
            writeln!(
                text,
                "* {title}\n[2026-{month:02}-{day:02}]\n{before}\n{}\n{after}",
                fill(telling)
            )
            .unwrap();
            all.push(Told { title, question: fill(question) });
        }
        std::fs::write(folder.join(format!("{}.org", person.to_lowercase())), text).unwrap();
    }
    all
}

/// Share of the questions whose note is among the first ten, in percent.
fn found(catalog: &MemexCatalog, told: &[Told], mode: QueryMode) -> usize {
    let is_found = |one: &&Told| {
        let text = Some(one.question.clone());
        let query = MemexQuery { text, mode, limit: 10, ..MemexQuery::default() };
        let page = catalog.query(&query, PrivateAccess::Owner, SearchText::None).unwrap();
        page.hits.iter().any(|hit| hit.object.title == one.title)
    };
    told.iter().filter(is_found).count() * 100 / told.len()
}

#[test]
fn most_questions_find_their_note_among_the_first_ten() {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let told = make(folder.path());
    let memex = Arc::new(MemexFolder::open(folder.path(), ReadRules::default()).unwrap());
    let mut index = MemexIndex::open(state.path(), &memex).unwrap();
    index.sync(&memex, &memex.scan(), &mut |_| true).unwrap();
    let catalog = MemexCatalog::open(state.path(), memex).unwrap();
    let now = WallMinute::parse("2026-11-19 12:00");
    let by_question = found(&catalog, &told, QueryMode::Question { now });
    let by_all_words = found(&catalog, &told, QueryMode::AllWords);
    println!(
        "{} questions: {by_question} % as questions, {by_all_words} % by all words",
        told.len()
    );
    assert!(by_question >= LEAST_FOUND, "{by_question} %");
    assert!(by_all_words <= MOST_BY_ALL_WORDS, "{by_all_words} %");
}
