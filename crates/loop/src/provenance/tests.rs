//! What provenance says of its values, and that its record is read back.

use super::{Provenance, TextSource, TracedKind, TracedValue};

fn value(text: &str, sources: &[TextSource]) -> TracedValue {
    TracedValue { kind: TracedKind::Host, text: text.into(), sources: sources.into() }
}

#[test]
fn a_value_is_trusted_by_what_speaks_for_the_owner_alone() {
    for source in TextSource::ALL {
        let known = Provenance { values: vec![value("example.org", &[source])], is_cut: false };
        let trusts =
            matches!(source, TextSource::User | TextSource::Configuration | TextSource::Grant);
        assert_eq!(known.untrusted().count() == 0, trusts, "{source:?}");
        assert_eq!(known.is_of_user(), source == TextSource::User, "{source:?}");
    }
    let mixed = Provenance {
        values: vec![value("a.org", &[TextSource::User]), value("b.org", &[])],
        is_cut: false,
    };
    assert_eq!(mixed.untrusted_sources(), ["model"]);
    assert!(!mixed.is_of_user());
    assert!(!Provenance::default().is_of_user(), "nothing was said");
    let cut = Provenance { values: vec![value("a.org", &[TextSource::User])], is_cut: true };
    assert!(!cut.is_of_user(), "what is left out was not looked at");
}

#[test]
fn what_is_written_is_read_back() {
    let known = Provenance {
        values: vec![
            value("example.org", &[TextSource::Memory, TextSource::Web]),
            TracedValue { kind: TracedKind::Path, text: "/a \"b\"".into(), sources: Vec::new() },
        ],
        is_cut: true,
    };
    assert_eq!(Provenance::from_value(&known.to_value()), Ok(known));
}
