//! Paths that a source file names: `crate::a::b`, `super::c`, and groups of them in braces.

use std::collections::BTreeSet;

use crate::tidy::mask::mask;

/// The paths, from the root of the crate, that the product code of `module` names.
pub(super) fn paths_of(text: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let code = mask(text.split("#[cfg(test)]\nmod ").next().unwrap_or(text));
    let mut paths = BTreeSet::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_later = code[..at].ends_with(|c: char| is_name(c) || c == ':');
            if !is_later {
                read_tree(&code[at..], &mut module.to_vec(), &mut paths);
            }
        }
    }
    paths
}

/// Reads one tree of paths that begins below `at`; returns the text behind it.
fn read_tree<'t>(
    mut text: &'t str,
    at: &mut Vec<String>,
    paths: &mut BTreeSet<Vec<String>>,
) -> &'t str {
    loop {
        text = text.trim_start();
        if let Some(mut group) = text.strip_prefix('{') {
            loop {
                group = read_tree(group, &mut at.clone(), paths).trim_start();
                match group.strip_prefix(',') {
                    Some(rest) if !rest.trim_start().starts_with('}') => group = rest,
                    rest => {
                        let end = rest.unwrap_or(group).trim_start();
                        return end.strip_prefix('}').unwrap_or(end);
                    }
                }
            }
        }
        let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        match name {
            "crate" => at.clear(),
            "super" => drop(at.pop()),
            "" | "self" => {}
            name => at.push(name.to_owned()),
        }
        match rest.trim_start().strip_prefix("::") {
            Some(next) if !name.is_empty() => text = next,
            _ => {
                paths.insert(std::mem::take(at));
                // A new name of what is used is no path.
                let alias = rest.trim_start().strip_prefix("as ");
                return alias.map_or(rest, |alias| alias.trim_start().trim_start_matches(is_name));
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::paths_of;

    fn paths(text: &str) -> Vec<String> {
        let module = ["a".to_owned(), "b".to_owned()];
        paths_of(text, &module).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn trees_are_read_from_the_root() {
        assert_eq!(
            paths("use crate::x::{self, y::{Z, w as v}, q};"),
            ["x", "x::q", "x::y::Z", "x::y::w"]
        );
        assert_eq!(
            paths("use super::{c, d::E,\n};\nuse super::super::f;"),
            ["a::c", "a::d::E", "f"]
        );
        assert_eq!(
            paths("fn f() -> crate::g::H { super::i::<crate::j::K>() }"),
            ["a::i", "g::H", "j::K"]
        );
    }

    #[test]
    fn comments_strings_and_tests_name_nothing() {
        let text = "// crate::x\nlet y = \"crate::z\"; use my_crate::a;\n#[cfg(test)]\nmod tests { use super::w; }";
        assert!(paths(text).is_empty());
    }
}
