//! Lines of `.bridleignore` and the paths they are for.

use super::IgnorePatterns;

fn check(lines: &str, ignored: &[&str], kept: &[&str]) {
    let patterns = IgnorePatterns::read(lines);
    let ignores = |path: &str| match path.strip_suffix('/') {
        Some(folder) => patterns.ignores(folder, true),
        None => patterns.ignores(path, false),
    };
    for path in ignored {
        assert!(ignores(path), "`{lines}` should ignore `{path}`");
    }
    for path in kept {
        assert!(!ignores(path), "`{lines}` should keep `{path}`");
    }
}

#[test]
fn a_name_is_for_every_folder_and_a_slash_ties_it_to_the_top() {
    check("*.tmp.org", &["a.tmp.org", "x/y/a.tmp.org"], &["a.org", "tmp.org"]);
    check("/drafts", &["drafts/", "drafts"], &["x/drafts"]);
    check("x/drafts", &["x/drafts"], &["y/x/drafts", "drafts"]);
    check("build/", &["build/", "a/build/"], &["build", "a/build"]);
}

#[test]
fn two_stars_stand_for_any_number_of_folders() {
    check("a/**/z.org", &["a/z.org", "a/b/z.org", "a/b/c/z.org"], &["z.org", "b/a/z.org"]);
    check("**/old/*.org", &["old/a.org", "x/old/a.org"], &["old/x/a.org"]);
    check("a/**", &["a/b", "a/b/c"], &["b"]);
}

#[test]
fn the_last_line_that_fits_counts() {
    check("*.org\n!keep.org", &["a.org"], &["keep.org", "x/keep.org"]);
    check("!keep.org\n*.org", &["keep.org"], &[]);
    check("# *.org\n\n   \n", &[], &["a.org", "# *.org"]);
}

#[test]
fn classes_and_quotes_mean_what_they_mean_in_a_shell() {
    check("[a-c]?.org", &["a1.org", "c2.org"], &["d1.org", "a.org"]);
    check("[!a].org", &["b.org"], &["a.org"]);
    check("[]x].org", &["].org", "x.org"], &["y.org"]);
    check("[a", &["[a"], &["a"]);
    check(r"\*.org", &["*.org"], &["a.org"]);
}

#[test]
fn many_stars_take_no_longer_than_the_name_times_the_pattern() {
    let pattern = "*a".repeat(500);
    let name = "a".repeat(4000) + "b";
    check(&pattern, &[], &[&name]);
}
