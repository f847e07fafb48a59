//! Tests of cutting and assembling, limits first.

use proptest::prelude::*;

use super::*;

fn id(name: &str) -> PartsId {
    PartsId::new(name).expect("a short name")
}

fn part(n: u32, of: u32, data: &str) -> ReceivedPart<'_> {
    ReceivedPart { n, of, data }
}

#[test]
fn messages_are_read_as_parts() {
    let read = |text: &str| {
        let tree = bridle_sexp::read_one(text).unwrap();
        PartMessage::read(tree.root()).map(|message| match message {
            PartMessage::Part { id, n, of, data } => (id, n, of, data.into_owned()),
            PartMessage::Abort { id } => (id, 0, 0, "abort".to_owned()),
        })
    };
    let whole = "(:TYPE :EVENT :PART (:ID \"a\" :N 1 :OF 2) :DATA \"x\\\"y\")";
    assert_eq!(read(whole), Some((id("a"), 1, 2, "x\"y".to_owned())));
    assert_eq!(read(&abort_message(&id("q\""))), Some((id("q\""), 0, 0, "abort".to_owned())));
    assert_eq!(read("(:type :EVENT :part (:id \"a\" :abort nil))"), None);
    assert_eq!(read("(:type :EVENT :part (:id \"a\" :n -1 :of 2) :data \"\")"), None);
    assert_eq!(read("(:type :EVENT :part (:id \"\" :n 1 :of 2) :data \"\")"), None);
    assert_eq!(read("(:type :EVENT :part (:id \"a\" :n 1 :of 2) :data 7)"), None);
    assert_eq!(read("(:type :EVENT)"), None);
}

#[test]
fn a_small_payload_is_one_part() {
    let parts: Vec<String> = split("(:a \"b\\c\")", 200, &id("x")).unwrap().collect();
    assert_eq!(
        parts,
        ["(:type :EVENT :part (:id \"x\" :n 1 :of 1) :data \"(:a \\\"b\\\\c\\\")\")"]
    );
}

#[test]
fn an_empty_payload_is_one_empty_part() {
    let parts: Vec<String> = split("", 200, &id("x")).unwrap().collect();
    assert_eq!(parts, ["(:type :EVENT :part (:id \"x\" :n 1 :of 1) :data \"\")"]);
}

#[test]
fn an_id_is_escaped_and_bounded() {
    let message = split("a", 200, &id("q\"\\")).unwrap().next().unwrap();
    assert!(message.starts_with("(:type :EVENT :part (:id \"q\\\"\\\\\" :n 1 :of 1)"), "{message}");
    assert_eq!(PartsId::new(""), None);
    assert_eq!(PartsId::new(&"i".repeat(MAX_ID + 1)), None);
    assert_eq!(abort_message(&id("q\"")), "(:type :EVENT :part (:id \"q\\\"\" :abort t))");
}

#[test]
fn frames_without_room_for_one_character_are_refused() {
    let least = match split("abc", 10, &id("x")) {
        Err(SplitError::FrameTooSmall { max_frame: 10, least }) => least,
        other => panic!("{other:?}"),
    };
    assert!(split("abc", least - 1, &id("x")).is_err());
    let parts: Vec<String> = split("😀\"😀", least, &id("x")).unwrap().collect();
    assert!(parts.iter().all(|part| part.len() <= least), "{parts:?}");
    assert_eq!(parts.len(), 3);
}

#[test]
fn too_many_parts_are_refused() {
    let least = split("", 1, &id("x")).map_err(|error| match error {
        SplitError::FrameTooSmall { least, .. } => least,
        SplitError::TooMany { .. } => 0,
    });
    let least = least.err().unwrap();
    let fits = "a".repeat(9_999 * 4);
    assert_eq!(split(&fits, least, &id("x")).unwrap().len(), 9_999);
    let error = split(&format!("{fits}a"), least, &id("x")).unwrap_err();
    assert_eq!(error, SplitError::TooMany { bytes: 39_997 });
}

#[test]
fn two_payloads_may_alternate() {
    let mut assembler = PartAssembler::new(AssemblerLimits::default());
    let (a, b) = (id("a"), id("b"));
    let later = CallerMillis(10);
    assert_eq!(assembler.accept(&a, part(1, 2, "a1"), later), Ok(AssemblyStep::More));
    assert_eq!(assembler.accept(&b, part(1, 2, "b1"), later), Ok(AssemblyStep::More));
    assert_eq!(assembler.held_bytes(), 4);
    let whole = AssemblyStep::Whole("a1a2".to_owned());
    assert_eq!(assembler.accept(&a, part(2, 2, "a2"), later), Ok(whole));
    let whole = AssemblyStep::Whole("b1b2".to_owned());
    assert_eq!(assembler.accept(&b, part(2, 2, "b2"), later), Ok(whole));
    assert_eq!((assembler.held_bytes(), assembler.next_deadline()), (0, None));
}

#[test]
fn bad_numbers_are_refused() {
    let refuse = |part, error: PartError, code| {
        let mut assembler = PartAssembler::new(AssemblerLimits::default());
        assert_eq!(assembler.accept(&id("a"), part, CallerMillis(1)), Err(error.clone()));
        assert_eq!(error.code().as_str(), code);
        assert_eq!(assembler.held_bytes(), 0);
    };
    refuse(part(0, 2, ""), PartError::Numbers { n: 0, of: 2 }, "part-mismatch");
    refuse(part(3, 2, ""), PartError::Numbers { n: 3, of: 2 }, "part-mismatch");
    refuse(part(0, 0, ""), PartError::Numbers { n: 0, of: 0 }, "part-mismatch");
    refuse(part(2, 2, ""), PartError::OutOfOrder { expected: 1, n: 2 }, "part-mismatch");
    let many = PartError::TooManyParts { max: MAX_PARTS, of: u32::MAX };
    refuse(part(1, u32::MAX, ""), many, "part-too-large");
}

#[test]
fn a_fault_forgets_the_payload() {
    for (second, error) in [
        (part(1, 3, "x"), PartError::OutOfOrder { expected: 2, n: 1 }),
        (part(3, 3, "x"), PartError::OutOfOrder { expected: 2, n: 3 }),
        (part(2, 4, "x"), PartError::CountChanged { expected: 3, of: 4 }),
    ] {
        let mut assembler = PartAssembler::new(AssemblerLimits::default());
        assembler.accept(&id("a"), part(1, 3, "first"), CallerMillis(1)).unwrap();
        assert_eq!(assembler.accept(&id("a"), second, CallerMillis(1)), Err(error));
        assert_eq!(assembler.held_bytes(), 0);
        let late = PartError::OutOfOrder { expected: 1, n: 2 };
        assert_eq!(assembler.accept(&id("a"), part(2, 3, "x"), CallerMillis(1)), Err(late));
        assert_eq!(
            assembler.accept(&id("a"), part(1, 3, "x"), CallerMillis(1)),
            Ok(AssemblyStep::More)
        );
    }
}

#[test]
fn limits_hold() {
    let limits = AssemblerLimits { payload_bytes: 10, held_bytes: 12, parts: 3, payloads: 2 };
    let mut assembler = PartAssembler::new(limits);
    let mut accept = |name, part| assembler.accept(&id(name), part, CallerMillis(1));
    assert_eq!(accept("a", part(1, 4, "")), Err(PartError::TooManyParts { max: 3, of: 4 }));
    assert_eq!(accept("a", part(1, 3, "01234567890")), Err(PartError::TooLarge { max: 10 }));
    assert_eq!(accept("a", part(1, 3, "0123456789")), Ok(AssemblyStep::More));
    assert_eq!(accept("b", part(1, 2, "012")), Err(PartError::TooLarge { max: 12 }));
    assert_eq!(accept("b", part(1, 2, "01")), Ok(AssemblyStep::More));
    let error = PartError::TooManyPayloads { max: 2 };
    assert_eq!(error.code().as_str(), "overloaded");
    assert_eq!(accept("c", part(1, 1, "")), Err(error));
    assert_eq!(accept("a", part(2, 3, "x")), Err(PartError::TooLarge { max: 10 }));
    assert_eq!(assembler.held_bytes(), 2);
}

#[test]
fn aborts_and_deadlines_forget() {
    let mut assembler = PartAssembler::new(AssemblerLimits::default());
    assembler.accept(&id("a"), part(1, 3, "aa"), CallerMillis(5)).unwrap();
    assembler.accept(&id("b"), part(1, 3, "bb"), CallerMillis(7)).unwrap();
    assembler.accept(&id("c"), part(1, 3, "cc"), CallerMillis(9)).unwrap();
    // A later part does not move the deadline.
    assembler.accept(&id("a"), part(2, 3, "aa"), CallerMillis(99)).unwrap();
    assert_eq!(assembler.next_deadline(), Some(CallerMillis(5)));
    assert!(assembler.expire(CallerMillis(4)).is_empty());
    assert_eq!(assembler.expire(CallerMillis(5)), [id("a")]);
    assert!(assembler.abort(&id("b")));
    assert!(!assembler.abort(&id("b")));
    assert_eq!(assembler.held_bytes(), 2);
    assert_eq!(assembler.expire(CallerMillis(100)), [id("c")]);
    assert_eq!(assembler.held_bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_cut_is_put_together(
        payload in r#"([\PC\\"\n]|日|😀){0,300}"#,
        max_frame in 70usize..200,
    ) {
        let id = id("p");
        let parts = split(&payload, max_frame, &id).unwrap();
        let of = u32::try_from(parts.len()).unwrap();
        let mut assembler = PartAssembler::new(AssemblerLimits::default());
        let mut whole = None;
        for (index, message) in parts.enumerate() {
            prop_assert!(message.len() <= max_frame);
            let tree = bridle_sexp::read_one(&message).unwrap();
            let message = PartMessage::read(tree.root()).unwrap();
            let part = message.part().unwrap();
            let n = u32::try_from(index).unwrap() + 1;
            prop_assert_eq!((part.n, part.of), (n, of));
            match assembler.accept(&id, part, CallerMillis(1)).unwrap() {
                AssemblyStep::More => prop_assert!(n < of),
                AssemblyStep::Whole(text) => whole = Some(text),
            }
        }
        prop_assert_eq!(whole, Some(payload));
    }
}
