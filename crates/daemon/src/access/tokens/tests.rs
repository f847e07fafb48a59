//! Tokens made, judged and revoked; files that somebody spoiled; and where a token must not be.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::access::private_file::PrivateFileError as File;

use super::{
    BearerToken, DAY_MS, MAX_DAYS, MAX_NAME, MAX_TOKENS, NewToken, SessionAccess, TOKENS_FILE,
    TokenError, TokenId, TokenOwner, TokenRegistry, TokenScope, TokenScopes, TokenSeed, id_of,
};

/// The time in these tests: some day.
const NOW: i64 = 1_800_000_000_000;

struct Bench {
    dir: TempDir,
    tokens: TokenRegistry,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let tokens = TokenRegistry::load(dir.path()).unwrap();
        Bench { dir, tokens }
    }

    /// A token as another process makes it.
    fn create(&self, scopes: &[TokenScope], expires: Option<i64>) -> BearerToken {
        self.try_create(wanted(scopes, expires)).unwrap()
    }

    fn try_create(&self, new: NewToken) -> Result<BearerToken, TokenError> {
        let other = TokenRegistry::load(self.dir.path()).unwrap();
        other.create(new, &TokenSeed::from_system().unwrap(), NOW)
    }

    fn is_good(&self, token: &str, now: i64) -> bool {
        self.tokens.verify(token, now).is_some()
    }

    fn file(&self) -> std::path::PathBuf {
        self.dir.path().join(TOKENS_FILE)
    }
}

fn wanted(scopes: &[TokenScope], expires: Option<i64>) -> NewToken {
    let scopes = scopes.iter().copied().collect();
    NewToken { name: "phone".into(), owner: TokenOwner::this_user(), scopes, expires }
}

fn id(token: &BearerToken) -> TokenId {
    TokenId::parse(id_of(token.reveal()).unwrap()).unwrap()
}

#[test]
fn a_token_is_good_from_its_creation_to_its_end() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], Some(NOW + DAY_MS));
    let grant = bench.tokens.verify(token.reveal(), NOW).unwrap();
    assert_eq!(grant.id, id(&token));
    assert_eq!(grant.owner, TokenOwner::this_user());
    assert_eq!(grant.scopes, TokenScopes::from_iter([TokenScope::Talk]));
    assert!(bench.is_good(token.reveal(), NOW + DAY_MS - 1));
    assert!(!bench.is_good(token.reveal(), NOW + DAY_MS));
}

#[test]
fn a_token_without_an_end_stays_good() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Observe], None);
    assert!(bench.is_good(token.reveal(), i64::MAX));
}

#[test]
fn a_running_daemon_sees_creation_and_revocation_at_once() {
    let bench = Bench::new();
    let (first, second) =
        (bench.create(&[TokenScope::Talk], None), bench.create(&[TokenScope::Admin], None));
    assert!(bench.is_good(first.reveal(), NOW) && bench.is_good(second.reveal(), NOW));
    TokenRegistry::load(bench.dir.path()).unwrap().revoke(&id(&first)).unwrap();
    assert!(!bench.is_good(first.reveal(), NOW));
    assert!(bench.is_good(second.reveal(), NOW));
    let again = bench.tokens.revoke(&id(&first));
    assert!(matches!(again, Err(TokenError::Unknown { .. })), "{again:?}");
}

#[test]
fn parts_and_neighbors_of_a_token_are_no_token() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], None);
    let text = token.reveal();
    for end in 0..text.len() {
        assert!(!bench.is_good(&text[..end], NOW), "{end}");
    }
    for (at, was) in text.char_indices() {
        let other = if was == '0' { '1' } else { '0' };
        let edited = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert!(!bench.is_good(&edited, NOW), "{at}");
    }
    let odd = [
        format!("{text}0"),
        format!(" {text}"),
        format!("{text}\n"),
        text.to_uppercase(),
        text.replace('_', "\u{e9}"),
        "x".repeat(1 << 20),
    ];
    for text in odd {
        assert!(!bench.is_good(&text, NOW));
    }
}

#[test]
fn the_secret_of_one_token_does_not_fit_another() {
    let bench = Bench::new();
    let (one, two) =
        (bench.create(&[TokenScope::Talk], None), bench.create(&[TokenScope::Admin], None));
    let (head, _) = one.reveal().rsplit_once('_').unwrap();
    let (_, secret) = two.reveal().rsplit_once('_').unwrap();
    assert!(!bench.is_good(&format!("{head}_{secret}"), NOW));
}

#[test]
fn a_file_that_was_cut_off_or_edited_refuses_everybody() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], None);
    bench.create(&[TokenScope::Admin], None);
    let whole = fs::read(bench.file()).unwrap();
    let check = |bytes: &[u8]| {
        fs::write(bench.file(), bytes).unwrap();
        assert!(!bench.is_good(token.reveal(), NOW), "{}", String::from_utf8_lossy(bytes));
        let loaded = TokenRegistry::load(bench.dir.path());
        assert!(matches!(loaded, Err(TokenError::Damaged { .. })), "{loaded:?}");
        // Nor is it overwritten: whoever damaged it wants to know.
        assert!(bench.tokens.revoke(&id(&token)).is_err());
        assert_eq!(fs::read(bench.file()).unwrap(), bytes);
    };
    for end in 0..whole.len() {
        check(&whole[..end]);
    }
    let text = String::from_utf8(whole.clone()).unwrap();
    let first = text.lines().nth(1).unwrap();
    let edits = [
        text.replace("(:bridle-tokens 1)", "(:bridle-tokens 2)"),
        text.replace("(:end 2)", "(:end 3)"),
        text.replace(":talk", ":root"),
        text.replace("(:talk)", "t"),
        text.replace(":owner", ":user"),
        text.replace(":expires nil", ":expires 1.5"),
        text.replace(":hash \"", ":hash \"g"),
        text.replace("\n(:end", " (:end"),
        format!("{text}\n"),
        format!("{text}#.(quit)\n"),
        text.replace("(:end 2)", &format!("{first}\n(:end 3)")),
        "(".repeat(4 << 10),
    ];
    for edited in &edits {
        assert_ne!(edited, &text);
        check(edited.as_bytes());
    }
    check(&[0xff; 64]);
    check(&vec![b' '; (MAX_TOKENS << 10) + 1]);
    fs::write(bench.file(), &whole).unwrap();
    assert!(bench.is_good(token.reveal(), NOW), "mended");
}

#[test]
fn a_file_that_others_can_read_refuses_everybody() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], None);
    let set = |mode| fs::set_permissions(bench.file(), fs::Permissions::from_mode(mode)).unwrap();
    for mode in [0o644, 0o620, 0o606] {
        set(mode);
        assert!(!bench.is_good(token.reveal(), NOW), "{mode:o}");
        let loaded = TokenRegistry::load(bench.dir.path());
        let got = matches!(loaded, Err(TokenError::File(File::OpenToOthers { mode: got, .. })) if got == mode);
        assert!(got, "{loaded:?}");
    }
    set(0o600);
    assert!(bench.is_good(token.reveal(), NOW));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], None);
    let elsewhere = bench.dir.path().join("elsewhere");
    fs::rename(bench.file(), &elsewhere).unwrap();
    assert!(!bench.is_good(token.reveal(), NOW));
    std::os::unix::fs::symlink(&elsewhere, bench.file()).unwrap();
    assert!(!bench.is_good(token.reveal(), NOW));
    fs::remove_file(bench.file()).unwrap();
    fs::create_dir(bench.file()).unwrap();
    assert!(matches!(
        TokenRegistry::load(bench.dir.path()),
        Err(TokenError::File(File::Io { .. }))
    ));
}

#[test]
fn many_at_once_lose_no_token() {
    let bench = Bench::new();
    let tokens: Vec<BearerToken> = std::thread::scope(|scope| {
        let make = || (0..8).map(|_| bench.create(&[TokenScope::Talk], None)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        // The reader never sees a half of it.
        while threads.iter().any(|thread| !thread.is_finished()) {
            bench.tokens.list().unwrap();
        }
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(tokens.len(), 32);
    assert!(tokens.iter().all(|token| bench.is_good(token.reveal(), NOW)));
}

#[test]
fn files_are_private_and_leftovers_do_no_harm() {
    let bench = Bench::new();
    let left = bench.dir.path().join("tokens.new");
    fs::write(&left, "half a fi").unwrap();
    fs::set_permissions(&left, fs::Permissions::from_mode(0o666)).unwrap();
    let token = bench.create(&[TokenScope::Talk], None);
    assert!(bench.is_good(token.reveal(), NOW));
    for entry in fs::read_dir(bench.dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn what_cannot_be_is_not_created() {
    let bench = Bench::new();
    let check = |change: &dyn Fn(&mut NewToken), good: bool| {
        let mut new = wanted(&[TokenScope::Talk], None);
        change(&mut new);
        assert_eq!(bench.try_create(new.clone()).is_ok(), good, "{new:?}");
    };
    let last = NOW + i64::from(MAX_DAYS) * DAY_MS;
    check(&|new| new.name = "n".repeat(MAX_NAME).into(), true);
    check(&|new| new.name = "n".repeat(MAX_NAME + 1).into(), false);
    check(&|new| new.name = "".into(), true);
    check(&|new| new.name = "quote \" and \\ and \u{e9}".into(), true);
    check(&|new| new.name = "two\nlines".into(), false);
    check(&|new| new.scopes = TokenScopes::default(), false);
    check(&|new| new.expires = Some(NOW), false);
    check(&|new| new.expires = Some(last), true);
    check(&|new| new.expires = Some(last + 1), false);
    let names: Vec<_> = bench.tokens.list().unwrap().into_iter().map(|info| info.name).collect();
    assert!(names.contains(&"quote \" and \\ and \u{e9}".into()), "{names:?}");
}

#[test]
fn a_full_file_takes_no_more_and_old_ones_make_room() {
    let bench = Bench::new();
    bench.create(&[TokenScope::Talk], Some(NOW + 1));
    let text = fs::read_to_string(bench.file()).unwrap();
    let line = text.lines().nth(1).unwrap();
    let (old, _) = line.strip_prefix("(:id \"").unwrap().split_at(10);
    let lines: Vec<String> =
        (0..MAX_TOKENS).map(|n| line.replacen(old, &format!("{n:010x}"), 1)).collect();
    let full = format!("(:bridle-tokens 1)\n{}\n(:end {MAX_TOKENS})\n", lines.join("\n"));
    fs::write(bench.file(), full).unwrap();
    let create = |now| {
        let seed = TokenSeed::from_system().unwrap();
        bench.tokens.create(wanted(&[TokenScope::Talk], None), &seed, now)
    };
    assert!(matches!(create(NOW), Err(TokenError::TooMany)));
    create(NOW + 31 * DAY_MS).unwrap();
    assert_eq!(bench.tokens.list().unwrap().len(), 1);
}

#[test]
fn scopes_say_which_questions_may_be_asked() {
    let check = |scopes: &[TokenScope], control: bool, approve: bool, admin: bool| {
        let scopes: TokenScopes = scopes.iter().copied().collect();
        assert!(
            scopes.permits(SessionAccess::Attach) && scopes.permits(SessionAccess::Observe),
            "{scopes}"
        );
        assert_eq!(scopes.permits(SessionAccess::Control), control, "{scopes}");
        assert_eq!(scopes.permits(SessionAccess::Approve), approve, "{scopes}");
        assert_eq!(scopes.administers(), admin, "{scopes}");
    };
    check(&[TokenScope::Observe], false, false, false);
    check(&[TokenScope::Talk], true, false, false);
    check(&[TokenScope::Approve], false, true, false);
    check(&[TokenScope::Approve, TokenScope::Talk], true, true, false);
    check(&[TokenScope::Admin], true, true, true);
    let none = TokenScopes::default();
    assert!(!none.permits(SessionAccess::Observe) && !none.administers());
}

#[test]
fn the_last_use_is_kept_to_the_hour() {
    let bench = Bench::new();
    let token = bench.create(&[TokenScope::Talk], None);
    let last = || bench.tokens.list().unwrap()[0].used;
    assert_eq!(last(), None);
    let hour = 3_600_000;
    assert!(bench.is_good(token.reveal(), NOW + hour / 2));
    let noted = NOW.div_euclid(hour) * hour;
    assert_eq!(last(), Some(noted));
    assert!(bench.is_good(token.reveal(), noted + hour));
    assert_eq!(last(), Some(noted + hour));
    // A clock that went back takes nothing away, and a spoiled file is no fault.
    assert!(bench.is_good(token.reveal(), NOW));
    assert_eq!(last(), Some(noted + hour));
    fs::write(bench.dir.path().join("tokens.used"), [0xff; 9]).unwrap();
    assert_eq!(last(), None);
    assert!(bench.is_good(token.reveal(), NOW));
}

#[test]
fn the_token_is_nowhere_but_in_the_answer() {
    let bench = Bench::new();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let mut said = String::new();
    let token = tracing::subscriber::with_default(subscriber, || {
        let token = bench.create(&[TokenScope::Talk], None);
        said.push_str(&format!("{:?}", bench.tokens.verify(token.reveal(), NOW)));
        said.push_str(&format!("{:?} {token:?}", bench.tokens.list()));
        fs::copy(bench.file(), bench.dir.path().join("copy")).unwrap();
        for spoiled in [token.reveal(), &token.reveal()[1..]] {
            fs::write(bench.file(), spoiled).unwrap();
            assert!(!bench.is_good(token.reveal(), NOW));
            // A test on another thread may have been the first to log there, for nobody.
            tracing::callsite::rebuild_interest_cache();
        }
        said.push_str(&format!("{:?}", TokenRegistry::load(bench.dir.path())));
        fs::remove_file(bench.file()).unwrap();
        said.push_str(&format!("{:?}", bench.tokens));
        token
    });
    let (_, secret) = token.reveal().rsplit_once('_').unwrap();
    said.push_str(&String::from_utf8(log.0.lock().unwrap().clone()).unwrap());
    assert!(said.contains("no token is accepted"), "{said}");
    for part in [token.reveal(), secret, &secret[..16], &secret[48..]] {
        assert!(!said.contains(part), "{said}");
        assert!(!is_in_a_file(bench.dir.path(), part));
    }
}

fn is_in_a_file(dir: &Path, part: &str) -> bool {
    let texts = fs::read_dir(dir).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    texts.into_iter().any(|text| String::from_utf8_lossy(&text).contains(part))
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
