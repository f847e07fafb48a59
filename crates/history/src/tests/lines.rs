//! Records as lines, and the head of the chain.

use super::super::head::KeptHead;
use super::super::list::{RecordFormat, write_record};
use super::super::{HistoryError, RecordHistory, RecordSelection, StoreError};
use super::Fixture;
use bridle_loop::RecordKind;
use bridle_record::ForgetRequest;
use bridle_wire::seal::{KeyId, SigningKey};

fn lines(history: &RecordHistory, form: RecordFormat) -> Vec<String> {
    let page = history.page(0, &RecordSelection::default(), 100).unwrap();
    let line = |record| {
        let mut line = String::new();
        write_record(record, form, &mut line);
        line
    };
    page.iter().map(line).collect()
}

fn written() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.begin("a");
    fixture.write("a", &[("signal", Some(1), "(:text \"one\ntwo \\\"\" :v #(1))")]);
    fixture.write("", &[("log", None, "(:text \"up\")")]);
    fixture
}

#[test]
fn every_form_is_exact() {
    let fixture = written();
    let history = fixture.history();
    let head = "(:number 1 :session \"a\" :seq 1 :at \"1970-01-01T00:00:01.000Z\" :cause nil \
                :principal \"uid:7\" :kind :signal :body";
    assert_eq!(
        lines(&history, RecordFormat::Emacs),
        [
            format!("{head} (:text \"one\\ntwo \\\"\" :v [1]))"),
            "(:number 2 :session nil :seq nil :at \"1970-01-01T00:00:01.000Z\" :cause nil \
             :principal \"uid:7\" :kind :log :body (:text \"up\"))"
                .to_owned(),
        ]
    );
    assert_eq!(
        lines(&history, RecordFormat::Lisp)[0],
        format!("{head} (:text \"one\ntwo \\\"\" :v #(1)))")
    );
    assert_eq!(
        lines(&history, RecordFormat::Json),
        [
            "{\"number\":1,\"session\":\"a\",\"seq\":1,\"at\":\"1970-01-01T00:00:01.000Z\",\
             \"cause\":null,\"principal\":\"uid:7\",\"kind\":\"signal\",\
             \"body\":{\"text\":\"one\\ntwo \\\"\",\"v\":[1]}}",
            "{\"number\":2,\"session\":null,\"seq\":null,\"at\":\"1970-01-01T00:00:01.000Z\",\
             \"cause\":null,\"principal\":\"uid:7\",\"kind\":\"log\",\"body\":{\"text\":\"up\"}}",
        ]
    );
}

#[test]
fn what_is_forgotten_is_erased_in_every_form() {
    let fixture = written();
    let dir = fixture.path().to_owned();
    let Fixture { dir: _kept, mut store } = fixture;
    let by = ForgetRequest { principal: "uid:1000".into(), at: 5_000 };
    store.forget_session("a", &by).unwrap();
    let history = RecordHistory::open(&dir).unwrap();
    assert!(lines(&history, RecordFormat::Emacs)[0].ends_with(":kind :signal :body :erased)"));
    assert!(lines(&history, RecordFormat::Lisp)[0].ends_with(":kind :signal :body :erased)"));
    assert!(lines(&history, RecordFormat::Json)[0].ends_with(",\"body\":null,\"erased\":true}"));
    assert!(lines(&history, RecordFormat::Emacs)[2].contains(":kind :forgot"));
    assert_eq!(history.verify(None, &mut |_, _| {}).unwrap().erased, 1);
}

#[test]
fn a_kept_head_is_part_of_the_chain_for_ever() {
    let mut fixture = written();
    let key = SigningKey::from_bytes(KeyId::new("head"), b"a key of many bytes");
    let plain = fixture.history().head_line(None).unwrap();
    let signed = fixture.history().head_line(Some(&key)).unwrap();
    assert!(plain.starts_with("(:number 2 :hash \"") && plain.contains(" :at \"1970-"), "{plain}");
    fixture.write("", &[("log", None, "(:text \"more\")")]);
    for line in [&plain, &signed] {
        let kept = KeptHead::parse(line).unwrap();
        let verified = fixture.history().verify(Some(&kept), &mut |_, _| {}).unwrap();
        assert_eq!(verified.head.number.0, 3);
    }
    KeptHead::parse(&signed).unwrap().check_signature(&key).unwrap();
    let other = SigningKey::from_bytes(KeyId::new("head"), b"another key of many");
    assert!(KeptHead::parse(&signed).unwrap().check_signature(&other).is_err());
    assert!(KeptHead::parse(&plain).unwrap().check_signature(&key).is_err());
    let forged = signed.replace(":number 2", ":number 1");
    assert!(KeptHead::parse(&forged).unwrap().check_signature(&key).is_err());
}

#[test]
fn a_kept_head_shows_what_the_chain_alone_cannot() {
    let fixture = written();
    let line = fixture.history().head_line(None).unwrap();
    let verify = |line: &str| {
        let kept = KeptHead::parse(line).unwrap();
        fixture.history().verify(Some(&kept), &mut |_, _| {}).unwrap_err()
    };
    let cut = verify(&line.replace(":number 2", ":number 3"));
    assert!(
        matches!(&cut, HistoryError::Store(StoreError::Broken(it)) if it.number.0 == 3),
        "{cut}"
    );
    let anew = verify(&line.replace(":number 2", ":number 1"));
    assert!(
        matches!(&anew, HistoryError::Store(StoreError::Broken(it)) if it.number.0 == 1),
        "{anew}"
    );
}

#[test]
fn what_is_no_head_is_refused() {
    for text in ["", "(", "x", "(:number 1)", "(:number -1 :hash \"\")", "(:number 1 :hash \"ab\")"]
    {
        assert!(matches!(KeptHead::parse(text), Err(HistoryError::BadHead { .. })), "{text}");
    }
}

#[test]
fn every_kind_is_explained() {
    let text = include_str!("../../../../docs/record.md");
    let (_, table) = text.split_once("| kind | |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    for kind in RecordKind::ALL {
        assert!(table.contains(&format!("`{kind}`")), "{kind} is not in docs/record.md");
    }
    let n_explained = table.lines().map(|row| row.split('`').count() / 2).sum::<usize>();
    assert_eq!(n_explained, RecordKind::ALL.len());
}

#[test]
fn the_store_writes_kinds_that_are_known() {
    let kinds = [
        (RecordKind::Compacted, bridle_record::compacted_span::COMPACTED),
        (RecordKind::Compaction, bridle_record::compact::COMPACTION),
        (RecordKind::Repaired, bridle_record::repair::REPAIRED),
    ];
    for (kind, word) in kinds {
        assert_eq!(kind.word(), word);
    }
}
