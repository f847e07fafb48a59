//! Properties of grants: what the sentence says is what the policy does. What a scope excludes is asked again,
//! what it includes is allowed.

use proptest::prelude::*;

use super::{GrantScope, GrantTerms};
use crate::policy::{DEFAULT_POLICY, GuardPolicies, PolicyFacts, PolicyVerdict};

const UNTIL: i64 = 2_000_000;

/// One proposal, as far as grants look at it.
#[derive(Clone, Debug, PartialEq)]
struct Proposed {
    owner: &'static str,
    by: &'static str,
    target: &'static str,
    action: &'static str,
    file: &'static str,
    heading: &'static str,
    argument: &'static str,
    to: Option<(&'static str, &'static str)>,
    now: i64,
}

impl Proposed {
    fn facts(&self) -> PolicyFacts {
        let Self { owner, by, target, action, file, heading, argument, to, now } = self;
        let argument = match *action {
            "set-state" => format!(":state \"{argument}\""),
            "set-title" => format!(":title \"{argument}\""),
            _ => String::new(),
        };
        let mut found = String::new();
        if !heading.is_empty() {
            found.push_str(&format!(" :heading {heading:?}"));
        }
        let to = to.filter(|_| *action == "refile").map(|(path, place)| {
            found.push_str(&format!(" :destination \"{path} {place}\""));
            format!(":to (:path \"{path}\")")
        });
        let described = format!(
            "(:principal \"uid:1\" :owner t :by :{by} :session-owner \"{owner}\" :target :{target} :now {now} \
             :payload (:action :{action} :path {file:?} :line 3 {argument} {} :prepared (:files () \
             :diff \"{now}\"{found})))",
            to.unwrap_or_default()
        );
        PolicyFacts::described(&described).unwrap_or_else(|why| panic!("{described}: {why}"))
    }
}

fn proposed() -> impl Strategy<Value = Proposed> {
    let actions = ["set-state", "set-title", "delete-subtree", "refile"];
    let files = ["/m/a.org", "/m/b.org", "/m/sub/a.org", "/m2/a.org", "/m/a.orgx", "/x \"y.org"];
    let headings =
        ["", "file", "id:a", "id:b", "outline:(\"Tax\")", "outline:(\"Tax\" \"x\")", "outline:"];
    let places = [("/m/a.org", "file"), ("/m/b.org", "file"), ("/m/b.org", "id:a")];
    (
        prop::sample::select(vec!["uid:1", "uid:2"]),
        prop::sample::select(vec!["thinker", "asker"]),
        prop::sample::select(vec!["memory", "other"]),
        prop::sample::select(actions.to_vec()),
        prop::sample::select(files.to_vec()),
        prop::sample::select(headings.to_vec()),
        prop::sample::select(vec!["DONE", "TODO"]),
        prop::option::of(prop::sample::select(places.to_vec())),
        prop::sample::select(vec![0, UNTIL - 1, UNTIL, UNTIL + 1]),
    )
        .prop_filter_map("a refile goes somewhere", |it| {
            let (owner, by, target, action, file, heading, argument, to, now) = it;
            let to = to.filter(|_| action == "refile");
            let it = Proposed { owner, by, target, action, file, heading, argument, to, now };
            (action != "refile" || it.to.is_some()).then_some(it)
        })
}

/// The same with some of it otherwise.
fn varied(one: &Proposed, other: &Proposed, mask: u16) -> Proposed {
    let pick = |bit: u16| mask & (1 << bit) == 0;
    let action = if pick(3) { one } else { other };
    Proposed {
        owner: if pick(0) { one.owner } else { other.owner },
        by: if pick(1) { one.by } else { other.by },
        target: if pick(2) { one.target } else { other.target },
        action: action.action,
        to: action.to,
        file: if pick(4) { one.file } else { other.file },
        heading: if pick(5) { one.heading } else { other.heading },
        argument: if pick(6) { one.argument } else { other.argument },
        now: if pick(7) { one.now } else { other.now },
    }
}

/// The built-in set with a grant, and the grant as it is read back from it.
fn granted(terms: &GrantTerms) -> (GuardPolicies, GrantTerms) {
    let cedar = terms.to_cedar();
    let text = format!(
        "{DEFAULT_POLICY}\n* Grant\n:PROPERTIES:\n:CUSTOM_ID: grant\n:END:\n#+begin_src cedar\n{cedar}\n\
         #+end_src\n#+begin_src examples\n#+end_src\n"
    );
    let set = GuardPolicies::from_org(&text).unwrap_or_else(|bad| panic!("{bad}: {cedar}"));
    let policy = set.policies().iter().find(|policy| &*policy.id == "grant").unwrap();
    let read = GrantTerms::of_policy(policy).unwrap_or_else(|| panic!("a grant: {}", policy.text));
    (set, read)
}

/// What the sentence alone says about a proposal: a reader that knows English, and no policy.
fn says(sentence: &str, proposed: &Proposed, facts: &PolicyFacts) -> bool {
    let quoted = |text: &str| format!("{text:?}");
    let has = |part: &str| sentence.contains(part);
    let is_of_owner = has(&format!("in sessions of {}", quoted(proposed.owner)));
    let is_in_time = proposed.now < UNTIL;
    if has("exactly the ") {
        return is_of_owner && is_in_time && has(&format!("(hash {})", facts.hash.as_str()));
    }
    let is_action = has(&format!("{} by {}", quoted(proposed.action), quoted(proposed.target)));
    let arguments = match has("with any arguments") {
        true => true,
        false => has(&format!("(hash {})", facts.edit.arguments)),
    };
    let heading = match () {
        () if has(" at the heading") => is_heading(sentence, proposed),
        () if has(" at the end of ") => {
            proposed.heading == "file" && has(&format!("at the end of {}", quoted(proposed.file)))
        }
        () if has(" anywhere in ") => has(&format!("anywhere in {}", quoted(proposed.file))),
        () => {
            let (_, folder) = sentence.split_once("in any file below \"").unwrap();
            let folder = folder.split('"').next().unwrap();
            proposed.file.starts_with(&format!("{folder}/"))
        }
    };
    let destination = match proposed.to {
        Some((path, "file")) => has(&format!(", to the end of {}", quoted(path))),
        Some((path, place)) => has(&format!(", to {}", quoted(&format!("{path} {place}")))),
        None => !has(", to "),
    };
    is_of_owner && is_in_time && is_action && arguments && heading && destination
}

fn is_heading(sentence: &str, proposed: &Proposed) -> bool {
    let words = match proposed.heading {
        "id:a" => "the heading with the id \"a\"",
        "id:b" => "the heading with the id \"b\"",
        "outline:(\"Tax\")" => "the heading \"Tax\"",
        "outline:(\"Tax\" \"x\")" => "the heading \"Tax\" / \"x\"",
        "outline:" => "the heading named \"outline:\"",
        _ => return false,
    };
    sentence.contains(&format!("at {words} of {:?}", proposed.file))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_a_grant_says_is_what_it_does(
        asked in proposed(),
        others in prop::collection::vec((proposed(), any::<u16>(), 0..4_u8), 24),
        scope in prop::sample::select(GrantScope::ALL.to_vec()),
    ) {
        let asked = Proposed { now: 0, ..asked };
        let facts = asked.facts();
        let Some(terms) = facts.grant(scope, UNTIL) else { return Ok(()) };
        let (set, read) = granted(&terms);
        prop_assert_eq!(&read, &terms, "the policy that is installed is the grant");
        prop_assert!(read.includes(&facts), "{}", read.sentence());
        prop_assert_eq!(set.find(&facts).word, PolicyVerdict::Allow, "{}", read.to_cedar());
        let sentence = read.sentence();
        for (other, mask, few) in others {
            // Few differences more often than many.
            let mask = if few == 0 { mask } else { 1 << (mask % 9) };
            let other = varied(&asked, &other, mask);
            let told = other.facts();
            let is_included = read.includes(&told);
            let expected = if is_included { PolicyVerdict::Allow } else { PolicyVerdict::Ask };
            // Two files are judged each for itself: the first of them here.
            prop_assert_eq!(set.find(&told).word, expected, "{:?} by {}", other, sentence);
            prop_assert_eq!(says(&sentence, &other, &told), is_included, "{:?} by {}", other, sentence);
        }
    }
}

#[test]
fn a_yes_for_one_heading_is_no_yes_for_the_next() {
    let asked = Proposed {
        owner: "uid:1",
        by: "thinker",
        target: "memory",
        action: "set-state",
        file: "/m/a.org",
        heading: "outline:(\"Tax\")",
        argument: "DONE",
        to: None,
        now: 0,
    };
    let another = Proposed { heading: "outline:(\"House\")", ..asked.clone() };
    let undone = Proposed { argument: "TODO", ..asked.clone() };
    let word = |scope, it: &Proposed| {
        let terms = asked.facts().grant(scope, UNTIL).unwrap();
        granted(&terms).0.find(&it.facts()).word
    };
    assert_eq!(word(GrantScope::Action, &asked), PolicyVerdict::Allow);
    assert_eq!(word(GrantScope::Action, &another), PolicyVerdict::Ask);
    assert_eq!(word(GrantScope::Action, &undone), PolicyVerdict::Ask);
    assert_eq!(word(GrantScope::Heading, &undone), PolicyVerdict::Allow);
    assert_eq!(word(GrantScope::Heading, &another), PolicyVerdict::Ask);
    assert_eq!(word(GrantScope::File, &another), PolicyVerdict::Allow);
}

#[test]
fn what_is_no_memory_is_granted_by_its_hash_alone() {
    let facts = PolicyFacts::described(
        "(:principal \"owner\" :by :thinker :target :emacs :action :eval :code \"1\")",
    );
    let facts = facts.unwrap();
    let scopes = GrantScope::ALL.into_iter().filter(|scope| facts.grant(*scope, 1).is_some());
    assert_eq!(scopes.collect::<Vec<_>>(), [GrantScope::Action]);
    let sentence = facts.grant(GrantScope::Action, 1).unwrap().sentence();
    assert!(sentence.contains("exactly the \"eval\" that was asked for (hash "), "{sentence}");
    assert!(sentence.ends_with("to the actuator \"emacs\"."), "{sentence}");
}

#[test]
fn a_policy_that_says_more_is_no_grant() {
    let set = GuardPolicies::built_in();
    assert!(set.policies().iter().all(|policy| GrantTerms::of_policy(policy).is_none()));
}

#[test]
fn administration_that_a_model_proposes_is_never_granted() {
    let asked =
        "(:principal \"owner\" :by :thinker :target :system :action :forget :session \"main\")";
    let facts = PolicyFacts::described(asked).unwrap();
    let (set, _) = granted(&facts.grant(GrantScope::Action, UNTIL).unwrap());
    let found = set.find_unapproved(&facts);
    assert_eq!(
        (found.word, &*found.policies),
        (PolicyVerdict::Deny, &["built-in.administration".into()][..])
    );
}

#[test]
fn commits_are_granted_for_their_project_and_no_other() {
    let facts = |project: &str| {
        let described = format!(
            "(:principal \"uid:1\" :owner t :by :reflex :session-owner \"uid:1\" :target :stage :payload \
             (:action :commit :stage \"0a\" :prepared (:project {project:?} :inside t :changes (:files 1))))"
        );
        PolicyFacts::described(&described).unwrap_or_else(|why| panic!("{described}: {why}"))
    };
    let terms = facts("/p").grant(GrantScope::Folder, UNTIL).expect("a scope");
    assert!(terms.includes(&facts("/p")) && !terms.includes(&facts("/p/q")));
    assert!(terms.sentence().contains("\"commit\" by \"stage\""), "{}", terms.sentence());
    assert!(terms.sentence().ends_with("in \"/p\"."), "{}", terms.sentence());
}

#[test]
fn a_host_is_granted_for_reading_and_for_its_port() {
    let facts = |action: &str, url: &str, more: &str| {
        let described = format!(
            "(:principal \"uid:1\" :owner t :by :thinker :session-owner \"uid:1\" :target :http \
             :payload (:action :{action} :url {url:?} {more}))"
        );
        PolicyFacts::described(&described).unwrap_or_else(|why| panic!("{described}: {why}"))
    };
    let asked = facts("get", "https://example.org/a", "");
    let terms = asked.grant(GrantScope::Host, UNTIL).expect("a scope");
    let (set, read) = granted(&terms);
    assert_eq!(read, terms, "read back: {}", terms.to_cedar());
    let allowed = |it: &PolicyFacts| {
        let is_allowed = set.find(it).word == PolicyVerdict::Allow;
        assert_eq!(read.includes(it), is_allowed, "{}", read.sentence());
        is_allowed
    };
    assert!(allowed(&facts("get", "https://example.org/b?c", "")));
    for (action, url, more) in [
        ("get", "https://example.org.evil.net/", ""),
        ("get", "https://www.example.org/", ""),
        ("get", "https://example.org:8443/", ""),
        ("get", "http://example.org/", ""),
        ("head", "https://example.org/", ""),
        ("post", "https://example.org/", ":body \"x\""),
        ("get", "https://example.org/", ":secrets (\"authorization: bot\")"),
        ("get", "https://example.org/", ":prepared (:keys t)"),
    ] {
        assert!(!allowed(&facts(action, url, more)), "{action} {url} {more}");
    }
    let sentence = terms.sentence();
    assert!(
        sentence.contains("\"get\" by \"http\" to the host \"example.org\", port 443"),
        "{sentence}"
    );
    assert!(facts("post", "https://example.org/", "").grant(GrantScope::Host, 1).is_none());
}

#[test]
fn runs_are_read_back_as_they_were_granted() {
    let facts = |inside: bool, more: &str| {
        let inside = if inside { ":inside t :staged t" } else { "" };
        let described = format!(
            "(:principal \"uid:1\" :owner t :by :thinker :session-owner \"uid:1\" :target :exec \
             :payload (:action :exec :argv (\"git\" \"fetch\") :cwd \"/p/src\" :network (\"b.example\" \"a.example\") \
             :prepared (:project \"/p\" {inside} :commands (\"git fetch\") {more})))"
        );
        PolicyFacts::described(&described).unwrap_or_else(|why| panic!("{described}: {why}"))
    };
    for (inside, scopes) in [(true, 2), (false, 1)] {
        let asked = facts(inside, "");
        let terms: Vec<GrantTerms> = [GrantScope::Command, GrantScope::Host]
            .into_iter()
            .filter_map(|scope| asked.grant(scope, UNTIL))
            .collect();
        assert_eq!(terms.len(), scopes);
        for terms in terms {
            let (set, read) = granted(&terms);
            assert_eq!(read, terms, "{}", terms.to_cedar());
            assert_eq!(set.find(&asked).word, PolicyVerdict::Allow, "{}", terms.to_cedar());
            assert!(read.includes(&asked));
            for more in [":keys t", ":commands ()"] {
                let other = facts(inside, more);
                assert_eq!(read.includes(&other), set.find(&other).word == PolicyVerdict::Allow);
            }
            // What is granted in the project is for the project alone.
            assert!(!inside || !read.includes(&facts(false, "")), "{}", read.sentence());
        }
    }
    let sentence = facts(true, "").grant(GrantScope::Command, UNTIL).unwrap().sentence();
    let said = "to run nothing but \"git fetch\", with any arguments by \"exec\" in the project \"/p\", with no host \
                but \"a.example\" and \"b.example\"";
    assert!(sentence.contains(said), "{sentence}");
    let code = facts(true, ":code (\"dynamic\")");
    assert!(code.grant(GrantScope::Command, UNTIL).is_none());
    assert!(facts(true, ":keys t").grant(GrantScope::Host, UNTIL).is_none());
}
