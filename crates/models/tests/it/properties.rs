//! The property of `fuzz/models.rs` on stable, in every test run: the vectors, mutations of them, and cuts into many
//! pieces.

use bridle_models::CodecName;
use proptest::collection;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::streams;

#[path = "../../../../fuzz/models.rs"]
mod models;

fn inputs() -> Vec<(CodecName, Vec<u8>)> {
    streams::vectors().map(|vector| (vector.codec, vector.input)).collect()
}

#[test]
fn vectors_keep_the_property() {
    for (_, input) in inputs() {
        models::model_stream(&input);
    }
}

/// Changes of a text: a byte replaced, put in or taken out, or a piece of another text put in.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, u8),
    Insert(Index, u8),
    Cut(Index, Index),
    Splice(Index, Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte =
        prop_oneof![Just(b'\n'), Just(b'"'), Just(b'{'), Just(b'}'), Just(b'\\'), any::<u8>()];
    prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (any::<Index>(), byte).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        (any::<Index>(), any::<Index>()).prop_map(|(at, length)| Mutation::Cut(at, length)),
        (any::<Index>(), any::<Index>(), any::<Index>())
            .prop_map(|(at, other, from)| Mutation::Splice(at, other, from)),
    ]
}

fn mutate(mut text: Vec<u8>, mutations: &[Mutation], inputs: &[(CodecName, Vec<u8>)]) -> Vec<u8> {
    for mutation in mutations {
        match mutation {
            _ if text.is_empty() => {}
            Mutation::Replace(at, byte) => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Mutation::Insert(at, byte) => text.insert(at.index(text.len()), *byte),
            Mutation::Cut(at, length) => {
                let at = at.index(text.len());
                let end = (at + length.index(40)).min(text.len());
                text.drain(at..end);
            }
            Mutation::Splice(at, other, from) => {
                let other = &inputs[other.index(inputs.len())].1;
                let from = from.index(other.len());
                let piece = other[from..(from + 80).min(other.len())].to_vec();
                let at = at.index(text.len());
                text.splice(at..at, piece);
            }
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutations_keep_the_property(pick in any::<Index>(), mutations in collection::vec(mutation(), 1..6)) {
        let inputs = inputs();
        let text = inputs[pick.index(inputs.len())].1.clone();
        models::model_stream(&mutate(text, &mutations, &inputs));
    }

    #[test]
    fn many_cuts_are_as_none(pick in any::<Index>(), cuts in collection::vec(any::<Index>(), 1..20)) {
        let inputs = inputs();
        let (codec, text) = &inputs[pick.index(inputs.len())];
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        assert_eq!(models::events(*codec, &pieces), models::events(*codec, &[text]));
    }
}
