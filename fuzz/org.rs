//! What must hold for any text that is read as Org: the fuzz target `org_read` panics when it does not. Included by path
//! in the target and in `crates/org/tests/it`, which runs for seconds in every test run. Not a place for examples:
//! those are vectors.

use bridle_org::{Count, Node, Objects, Scratch, Span, Tree};

/// Reading loses no byte; every node is inside the one that it is in, behind the one before it, and so are the objects;
/// there are no more nodes than the text can have; what nodes say and where Emacs sees them can be asked.
pub(crate) fn org_read(data: &[u8]) {
    let tree = Tree::read(data);
    assert_eq!(tree.first_loss(), None);
    let nodes = tree.nodes();
    // A line is at most a list, an item and a paragraph, or a headline, a section and an element; cells are objects.
    assert!(nodes.len() <= 4 * data.len() + 2, "{} nodes", nodes.len());
    nested(nodes, Span { start: 0, end: data.len() }, |index| tree.inside(index));
    let (mut scratch, mut objects) = (Scratch::default(), Objects::default());
    for (id, node) in tree.ids().zip(nodes) {
        tree.objects_into(id, &mut scratch, &mut objects);
        nested(objects.nodes(), node.span(), |index| objects.inside(index));
    }
    let (mut shown, mut last) = (0, 0);
    tree.show(Count::Characters, |node| {
        assert!(node.span.start <= node.span.end && node.span.end <= data.len() + 1);
        assert!(node.span.start >= last || node.depth > 0);
        last = node.span.start;
        shown += node.sexp().len();
    });
    assert!(shown > 0);
}

/// Each node begins where the one before it has ended, or inside it; its contents are inside it.
fn nested(nodes: &[Node], whole: Span, inside: impl Fn(usize) -> usize) {
    let mut open: Vec<(usize, Span)> = Vec::new();
    let mut at = whole.start;
    for (index, node) in nodes.iter().enumerate() {
        while open
            .pop_if(|(end, span)| {
                *end <= index && {
                    at = at.max(span.end);
                    true
                }
            })
            .is_some()
        {}
        let outer = open.last().map_or(whole, |(_, span)| *span);
        let span = node.span();
        assert!(at <= span.start && span.start <= span.end, "{node:?} begins before {at}");
        assert!(outer.start <= span.start && span.end <= outer.end, "{node:?} is not in {outer:?}");
        let inner = node.contents().unwrap_or(span);
        assert!(
            span.start <= inner.start && inner.start <= inner.end && inner.end <= span.end,
            "{node:?}"
        );
        let end = index + 1 + inside(index);
        assert!(end <= open.last().map_or(nodes.len(), |(end, _)| *end), "{node:?} holds too much");
        open.push((end, span));
        at = span.start;
    }
}
