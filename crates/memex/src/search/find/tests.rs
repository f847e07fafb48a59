//! Questions and answers: every kind of condition, pages, ranks, scripts of the world, and what is private.

use std::fs;
use std::sync::Arc;

use tempfile::TempDir;

use super::{MAX_CANDIDATES_PER_PAGE, MAX_RANKED_OBJECTS};
use crate::{
    DateSpan, FocusRequest, MemexCatalog, MemexFolder, MemexIndex, MemexQuery, ObjectKind,
    ObjectReach, OutlineRequest, PrivateAccess, QueryCursor, QueryMode, ReadRules, SearchText,
    WallMinute,
};

struct Rig {
    _folder: TempDir,
    _state: TempDir,
    catalog: MemexCatalog,
    memex: Arc<MemexFolder>,
    index: MemexIndex,
}

fn rig(files: &[(&str, &str)]) -> Rig {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let memex = Arc::new(MemexFolder::open(folder.path(), ReadRules::default()).unwrap());
    let mut index = MemexIndex::open(state.path(), &memex).unwrap();
    index.sync(&memex, &memex.scan(), &mut |_| true).unwrap();
    let catalog = MemexCatalog::open(state.path(), Arc::clone(&memex)).unwrap();
    Rig { _folder: folder, _state: state, catalog, memex, index }
}

impl Rig {
    fn titles(&self, query: &MemexQuery, access: PrivateAccess) -> Vec<String> {
        let page = self.catalog.query(query, access, SearchText::Snippets).unwrap();
        page.hits.into_iter().map(|hit| hit.object.title).collect()
    }

    fn check(&self, query: &MemexQuery, expect: &[&str]) {
        assert_eq!(self.titles(query, PrivateAccess::Owner), expect, "{query:?}");
    }

    fn check_text(&self, text: &str, expect: &[&str]) {
        let mut found = self.titles(&words(text), PrivateAccess::Owner);
        found.sort_unstable();
        assert_eq!(found, expect, "{text}");
    }
}

fn words(text: &str) -> MemexQuery {
    MemexQuery { text: Some(text.to_owned()), ..MemexQuery::default() }
}

const WORK: &str = "#+TITLE: Work\n#+FILETAGS: :work:\n#+TODO: TODO NEXT | DONE DROPPED\n\
    * Projects\n** TODO [#A] Roof :house:project:\n   DEADLINE: <2026-11-20 Fri -2d>\n:PROPERTIES:\n:Effort: 2h\n\
    :END:\nThe quick brown fox.\n*** NEXT Ladder\n** DONE Fence :house:\n   CLOSED: [2026-11-01 Sun]\n\
    * Weekly\n  SCHEDULED: <2026-11-02 Mon +1w>\n";
const HOME: &str = "* Trip <2026-11-15 Sun>--<2026-11-18 Wed> :travel:\nA slow fox sleeps, and a fox dreams of foxes.\n";

#[test]
fn every_condition_is_asked_alone_and_together() {
    let rig = rig(&[("work.org", WORK), ("home/trip.org", HOME)]);
    let tags = |tags: &[&str]| MemexQuery {
        tags: tags.iter().map(|t| (*t).into()).collect(),
        ..MemexQuery::default()
    };
    rig.check(&tags(&["house"]), &["Roof", "Ladder", "Fence"]);
    rig.check(&tags(&["house", "project"]), &["Roof", "Ladder"]);
    rig.check(&tags(&["work"]), &["Work", "Projects", "Roof", "Ladder", "Fence", "Weekly"]);
    rig.check(&tags(&["hous"]), &[]);
    rig.check(&MemexQuery { without_tags: vec!["project".into()], ..tags(&["house"]) }, &["Fence"]);
    rig.check(&MemexQuery { todo: vec!["TODO".into()], ..MemexQuery::default() }, &["Roof"]);
    rig.check(
        &MemexQuery { todo: vec!["NEXT".into(), "DONE".into()], ..MemexQuery::default() },
        &["Ladder", "Fence"],
    );
    // Words of a heading without a keyword, and of one that has it.
    rig.check(&MemexQuery { todo: vec!["TODO".into()], ..words("slow") }, &[]);
    rig.check(&MemexQuery { todo: vec!["TODO".into()], ..words("fox") }, &["Roof"]);
    rig.check(&MemexQuery { todo: vec!["TODO".into()], ..words("roof") }, &["Roof"]);
    rig.check(&MemexQuery { done: Some(false), ..MemexQuery::default() }, &["Roof", "Ladder"]);
    rig.check(&MemexQuery { done: Some(true), ..tags(&["house"]) }, &["Fence"]);
    rig.check(&MemexQuery { priority: Some("A".into()), ..MemexQuery::default() }, &["Roof"]);
    let effort = |value: Option<&str>| MemexQuery {
        properties: vec![("effort".into(), value.map(Into::into))],
        ..MemexQuery::default()
    };
    rig.check(&effort(Some("2h")), &["Roof"]);
    rig.check(&effort(None), &["Roof"]);
    rig.check(&effort(Some("3h")), &[]);
    rig.check(
        &MemexQuery { kind: Some(ObjectKind::File), ..MemexQuery::default() },
        &["trip.org", "Work"],
    );
    rig.check(
        &MemexQuery { scope: Some(ObjectReach::Project), ..MemexQuery::default() },
        &["Roof", "Ladder"],
    );
    let under = |under: &str| MemexQuery { under: Some(under.into()), ..MemexQuery::default() };
    rig.check(&under("home"), &["trip.org", "Trip <2026-11-15 Sun>--<2026-11-18 Wed>"]);
    rig.check(&MemexQuery { done: Some(false), ..under("work.org") }, &["Roof", "Ladder"]);
    let roof = rig
        .catalog
        .query(&effort(None), PrivateAccess::Owner, SearchText::None)
        .unwrap()
        .hits
        .remove(0);
    rig.check(&under(&roof.object.key), &["Roof", "Ladder"]);
    rig.check(&under("hom"), &[]);
    let many = MemexQuery { tags: vec!["x".into(); 17], ..MemexQuery::default() };
    assert!(rig.catalog.query(&many, PrivateAccess::Owner, SearchText::None).is_err());
}

#[test]
fn dates_come_again_last_and_are_warned_of() {
    let rig = rig(&[("work.org", WORK), ("home/trip.org", HOME)]);
    let on = |from: &str, to: &str| MemexQuery {
        dates: Some(DateSpan {
            from: WallMinute::parse(from).unwrap(),
            to: WallMinute::parse(to).unwrap().end_of_day(),
            kinds: Vec::new(),
            warnings: true,
        }),
        ..MemexQuery::default()
    };
    let trip = "Trip <2026-11-15 Sun>--<2026-11-18 Wed>";
    rig.check(&on("2026-11-17", "2026-11-17"), &[trip]);
    rig.check(&on("2026-11-18", "2026-11-18"), &[trip, "Roof"]);
    rig.check(&on("2026-11-16", "2026-11-16"), &[trip, "Weekly"]);
    rig.check(&on("2030-01-07", "2030-01-07"), &["Weekly"]);
    rig.check(&on("2026-11-01", "2026-11-01"), &[]);
    rig.check(&on("2026-11-01", "2026-11-30"), &[trip, "Roof", "Weekly"]);
    rig.check(
        &MemexQuery { tags: vec!["house".into()], ..on("2026-11-19", "2026-11-19") },
        &["Roof"],
    );
}

#[test]
fn words_are_found_in_every_script_and_the_best_come_first() {
    let rig = rig(&[
        ("work.org", WORK),
        ("home/trip.org", HOME),
        (
            "w.org",
            "* مرحبا\nأهلا بالعالم الكبير\n* 日本語\n東京都に住んでいます\n* Deploy 🚀🎉\nCafé Zürich naïve\n* 한국어\n서울에서 만나요\n",
        ),
    ]);
    rig.check_text("fox", &["Roof", "Trip <2026-11-15 Sun>--<2026-11-18 Wed>"]);
    rig.check_text("\"quick brown\"", &["Roof"]);
    rig.check_text("fox -quick", &["Trip <2026-11-15 Sun>--<2026-11-18 Wed>"]);
    rig.check_text("dre*", &["Trip <2026-11-15 Sun>--<2026-11-18 Wed>"]);
    rig.check_text("بالعالم", &["مرحبا"]);
    rig.check_text("京都", &["日本語"]);
    rig.check_text("日本", &["日本語"]);
    rig.check_text("本日", &[]);
    rig.check_text("서울", &["한국어"]);
    rig.check_text("🚀", &["Deploy 🚀🎉"]);
    rig.check_text("🎉", &["Deploy 🚀🎉"]);
    rig.check_text("cafe zurich", &["Deploy 🚀🎉"]);
    rig.check_text("AND OR NOT", &[]);
    // The title counts more.
    let rig = self::rig(&[("a.org", "* One\nneedle in hay and more hay\n* Needle\nhay\n")]);
    rig.check(&words("needle"), &["Needle", "One"]);
    let page =
        rig.catalog.query(&words("needle"), PrivateAccess::Owner, SearchText::Snippets).unwrap();
    assert_eq!(page.hits[1].snippet.as_deref(), Some("* One needle in hay and more hay"));
}

#[test]
fn pages_follow_one_another_while_the_memex_changes() {
    let text: String =
        (0..100).map(|n| format!("* H{n:02} :t:\nword {}\n", "word ".repeat(n))).collect();
    let mut rig = rig(&[("a.org", &text)]);
    for base in [MemexQuery { tags: vec!["t".into()], ..MemexQuery::default() }, words("word")] {
        let mut seen = Vec::new();
        let mut query = MemexQuery { limit: 7, ..base.clone() };
        for turn in 0.. {
            let page = rig.catalog.query(&query, PrivateAccess::Owner, SearchText::None).unwrap();
            seen.extend(page.hits.iter().map(|hit| hit.object.title.clone()));
            let Some(next) = page.next else { break };
            // As it goes over the wire.
            query.cursor = QueryCursor::parse(&next.to_string());
            assert_eq!(query.cursor, Some(next));
            if turn == 3 && base.text.is_none() {
                let new = format!("* New :t:\n{text}");
                fs::write(rig.memex.root().join("a.org"), new).unwrap();
                rig.index.update(&rig.memex, &["a.org".to_owned()]).unwrap();
            }
            assert!(base.text.is_some() || page.changed == (turn == 4), "{turn}");
        }
        seen.retain(|title| title != "New");
        let all: std::collections::HashSet<&String> = seen.iter().collect();
        assert_eq!((seen.len(), all.len()), (100, 100));
    }
    for bad in ["", "x", "1", "1.2.3.4", "1.2.7ff8000000000000", "-1.2", "1.ffffffffffffffff"] {
        assert_eq!(QueryCursor::parse(bad), None, "{bad}");
    }
}

#[test]
fn a_page_looks_at_so_many_and_no_more() {
    let most = MAX_CANDIDATES_PER_PAGE + 10;
    let text: String = (0..most).map(|_| "* TODO A\n").collect::<String>() + "* TODO Last :x:\n";
    let rig = rig(&[("a.org", &text)]);
    let query = MemexQuery {
        todo: vec!["TODO".into()],
        priority: None,
        scope: Some(ObjectReach::Project),
        ..MemexQuery::default()
    };
    let first = rig.catalog.query(&query, PrivateAccess::Owner, SearchText::None).unwrap();
    assert!(first.hits.is_empty() && first.next.is_some());
    let second = rig
        .catalog
        .query(&MemexQuery { cursor: first.next, ..query }, PrivateAccess::Owner, SearchText::None)
        .unwrap();
    assert!(second.hits.is_empty() && second.next.is_none());
    // The rarest condition leads to what is last at once.
    rig.check(
        &MemexQuery { todo: vec!["TODO".into()], tags: vec!["x".into()], ..MemexQuery::default() },
        &["Last"],
    );
}

const CANARY: &str = "zanzibar";

/// Every kind of question, about everything that is private.
fn questions() -> Vec<MemexQuery> {
    let year = DateSpan {
        from: WallMinute::parse("2026-01-01").unwrap(),
        to: WallMinute::parse("2026-12-31").unwrap(),
        kinds: Vec::new(),
        warnings: true,
    };
    vec![
        MemexQuery::default(),
        words(CANARY),
        words("public"),
        words("zan*"),
        MemexQuery { tags: vec![CANARY.into()], ..MemexQuery::default() },
        MemexQuery { tags: vec!["private".into()], ..MemexQuery::default() },
        MemexQuery { todo: vec!["TODO".into()], ..MemexQuery::default() },
        MemexQuery { priority: Some("B".into()), ..MemexQuery::default() },
        MemexQuery { properties: vec![(CANARY.into(), None)], ..MemexQuery::default() },
        MemexQuery { dates: Some(year), ..MemexQuery::default() },
        MemexQuery { kind: Some(ObjectKind::File), ..MemexQuery::default() },
        MemexQuery { under: Some("b.org".into()), ..MemexQuery::default() },
        MemexQuery { scope: Some(ObjectReach::Memex), ..MemexQuery::default() },
    ]
}

#[test]
fn what_is_private_is_in_no_answer_for_others() {
    let rig = rig(&[
        (
            "a.org",
            "* Open\npublic text\n:PRIVATE:\nzanzibar hush\n:END:\n** Inner :private:\nzanzibar\n*** Below zanzibar\n",
        ),
        (
            "b.org",
            "#+TITLE: zanzibar\n#+FILETAGS: :private:\n* TODO [#B] H zanzibar :zanzibar:\n  SCHEDULED: <2026-11-15 Sun>\n:PROPERTIES:\n:ZANZIBAR: zanzibar\n:ID: zanzibar\n:END:\n",
        ),
        ("c.org", "* Seen\n:PROPERTIES:\n:ID: zanzibar\n:END:\n"),
    ]);
    for query in questions() {
        let page = rig.catalog.query(&query, PrivateAccess::Public, SearchText::Snippets).unwrap();
        for hit in page.hits {
            let told = format!(
                "{} {} {:?} {:?} {:?}",
                hit.object.title,
                hit.object.path,
                hit.object.tags,
                hit.object.inherited,
                hit.snippet
            );
            assert!(!told.contains(CANARY) && hit.object.path != "b.org", "{query:?}: {told}");
            assert!(!hit.object.private);
        }
    }
    assert_eq!(rig.titles(&words(CANARY), PrivateAccess::Public), [""; 0]);
    for at in ["", "a.org"] {
        let focus = FocusRequest { at: at.into(), budget: 5000 };
        let vision = format!("{:?}", rig.catalog.focus(&focus, PrivateAccess::Public).unwrap());
        assert!(!vision.contains("hush") && !vision.contains("zanzibar\\n"), "{vision}");
        assert!(!vision.contains("b.org"), "{vision}");
    }
    let outline = rig.catalog.outline(&OutlineRequest::default(), PrivateAccess::Public).unwrap();
    let titles: Vec<&str> = outline.objects.iter().map(|object| &object.title[..]).collect();
    assert_eq!(titles, ["a.org", "Open", "c.org", "Seen"]);
    assert!(rig.catalog.object("b.org", PrivateAccess::Public).is_err());
    let hidden = OutlineRequest { under: "b.org".into(), ..OutlineRequest::default() };
    assert!(rig.catalog.outline(&hidden, PrivateAccess::Public).is_err());
    let status = rig.catalog.status(PrivateAccess::Public).unwrap();
    assert_eq!((status.files, status.headings), (2, 2));
    // The owner sees it, and that it is private.
    let hits =
        rig.catalog.query(&words(CANARY), PrivateAccess::Owner, SearchText::Snippets).unwrap().hits;
    assert!(hits.len() >= 4);
    assert!(
        hits.iter().filter(|hit| hit.object.title.contains(CANARY)).all(|hit| hit.object.private)
    );
}

#[test]
fn words_that_are_everywhere_do_not_count_and_titles_with_them_come_first() {
    let many: String = (0..MAX_RANKED_OBJECTS + 10)
        .map(|n| {
            format!("* H{n}\nthe common {}\n", if n % 1000 == 7 { "rare rare" } else { "word" })
        })
        .collect();
    let rig = rig(&[("a.org", &(many + "* The common title\n* Last\nthe common rare\n"))]);
    // The rare word ranks, whatever stands beside it.
    rig.check(&words("rare"), &["H2007", "H1007", "H7", "Last"]);
    rig.check(&words("the common rare"), &["H2007", "H1007", "H7", "Last"]);
    rig.check(&words("the rare -common"), &[]);
    let query = MemexQuery { limit: 3, ..words("the common") };
    let page = rig.catalog.query(&query, PrivateAccess::Owner, SearchText::None).unwrap();
    let titles: Vec<&str> = page.hits.iter().map(|hit| &hit.object.title[..]).collect();
    assert_eq!(titles, ["The common title", "Last", &format!("H{}", MAX_RANKED_OBJECTS + 9)]);
    assert_eq!(page.ranked, Some(MAX_RANKED_OBJECTS));
    let next = MemexQuery { cursor: page.next, limit: 1, ..query };
    rig.check(&next, &[&format!("H{}", MAX_RANKED_OBJECTS + 8)]);
}

#[test]
fn what_is_private_changes_no_rank_and_no_place_for_others() {
    let open = "* One\nfox and hound\n* Two\nfox fox\n* Three\nhound alone\n";
    let shut: String =
        (0..300).map(|n| format!("* Shut{n} :private:\nfox fox hound zanzibar\n")).collect();
    let drawer = "* Four\nhound\n:PRIVATE:\nfox fox fox zanzibar\n:END:\n";
    let (bare, four) = (open.to_owned() + "* Four\nhound\n", open.to_owned() + drawer);
    let without = rig(&[("a.org", &bare), ("z.org", "")]);
    let with = rig(&[("a.org", &four), ("z.org", &shut)]);
    let told = |rig: &Rig, query: &MemexQuery| -> Vec<(String, Option<String>, Option<String>)> {
        let page = rig.catalog.query(query, PrivateAccess::Public, SearchText::Snippets).unwrap();
        assert_eq!((page.ranked, page.next), (None, None));
        let rank = |hit: &crate::QueryHit| hit.rank.map(|rank| format!("{rank:.9}"));
        page.hits
            .iter()
            .map(|hit| (hit.object.title.clone(), rank(hit), hit.snippet.clone()))
            .collect()
    };
    for text in ["fox", "hound", "fox hound", "fox -hound", "zanzibar", "fo*"] {
        assert_eq!(told(&with, &words(text)), told(&without, &words(text)), "{text}");
    }
    // The owner finds all of it, and nothing twice; a word of a drawer counts for what is not to be there.
    let query = MemexQuery { limit: 500, ..words("fox") };
    let mut titles = with.titles(&query, PrivateAccess::Owner);
    titles.sort_unstable();
    let all = titles.len();
    titles.dedup();
    assert_eq!((titles.len(), all), (303, 303));
    assert_eq!(with.titles(&words("hound -fox"), PrivateAccess::Owner), ["Three"]);
    assert_eq!(with.titles(&words("hound -fox"), PrivateAccess::Public), ["Four", "Three"]);
}

#[test]
fn text_that_becomes_private_is_found_by_its_owner_alone() {
    let mut rig = rig(&[("a.org", "* Up\n** Below\nneedle\n")]);
    assert_eq!(rig.titles(&words("needle"), PrivateAccess::Public), ["Below"]);
    for (tag, public) in [(" :private:", &[][..]), ("", &["Below"][..])] {
        let text = format!("* Up{tag}\n** Below\nneedle\n");
        fs::write(rig.memex.root().join("a.org"), text).unwrap();
        rig.index.update(&rig.memex, &["a.org".to_owned()]).unwrap();
        assert_eq!(rig.titles(&words("needle"), PrivateAccess::Public), public, "{tag}");
        assert_eq!(rig.titles(&words("needle"), PrivateAccess::Owner), ["Below"], "{tag}");
    }
}

#[test]
fn text_is_not_shown_when_the_file_is_not_as_it_was_judged() {
    let rig = rig(&[("a.org", "* Open\nneedle\n")]);
    fs::write(rig.memex.root().join("a.org"), "* Open :private:\nneedle zanzibar\n").unwrap();
    let hit = rig
        .catalog
        .query(&words("needle"), PrivateAccess::Public, SearchText::Snippets)
        .unwrap()
        .hits
        .remove(0);
    assert_eq!(hit.snippet, None);
    assert_eq!(rig.catalog.text(&hit.object, PrivateAccess::Public), None);
}

#[test]
fn the_focus_is_in_full_and_the_rest_fits_the_budget() {
    let far: String = (0..200).map(|n| format!("* Far {n}\nfar text\n")).collect();
    let near = "* Up\nabove\n** Focus\nthe text of it\n*** Child\nchild text\n** Beside\n";
    let rig = rig(&[("a.org", near), ("z.org", &far)]);
    let all = rig
        .catalog
        .query(
            &MemexQuery { limit: 10, ..MemexQuery::default() },
            PrivateAccess::Owner,
            SearchText::None,
        )
        .unwrap();
    let key = all.hits.iter().find(|hit| hit.object.title == "Focus").unwrap().object.key.clone();
    for budget in [100, 400, 4000, 100_000] {
        let vision = rig
            .catalog
            .focus(&FocusRequest { at: key.clone(), budget }, PrivateAccess::Owner)
            .unwrap();
        assert!(vision.tokens <= budget, "{} of {budget}", vision.tokens);
        let text = format!("{:?}", vision.parts);
        assert!(budget < 400 || text.contains("the text of it"), "{budget}");
        assert!(budget < 4000 || text.contains("child text") && text.contains("Beside"));
        let left: usize = vision.left.iter().map(|left| left.count).sum();
        assert_eq!(left > 0, budget < 4000, "{budget}: {:?}", vision.left);
        assert!(!text.contains("far text"));
    }
    assert!(
        rig.catalog
            .focus(&FocusRequest { at: "none".into(), budget: 0 }, PrivateAccess::Owner)
            .is_err()
    );
}

#[test]
fn a_question_is_answered_by_notes_and_not_by_what_was_written_for_the_agent() {
    let rig = rig(&[
        ("garden.org", "* Roses\nThe roses are watered on Monday.\n"),
        ("skills/garden.org", "* Program\nroses watered\n"),
        ("skillset.org", "* Skillset\nroses\n"),
        ("models.org", "* Model\nroses watered\n"),
        ("agent.org", "* Instructions\nroses watered\n"),
    ]);
    let question = MemexQuery {
        text: Some("when are the roses watered?".into()),
        mode: QueryMode::Question { now: None },
        ..MemexQuery::default()
    };
    let titles = rig.titles(&question, PrivateAccess::Owner);
    assert_eq!(titles.iter().filter(|title| *title == "Roses" || *title == "Skillset").count(), 2);
    for title in ["Program", "Model", "Instructions"] {
        assert!(!titles.iter().any(|found| found == title), "{titles:?}");
    }
    let skills = MemexQuery { under: Some("skills".into()), ..question };
    assert_eq!(rig.titles(&skills, PrivateAccess::Owner), ["Program"]);
}
