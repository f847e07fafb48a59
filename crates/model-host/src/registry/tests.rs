//! The file of providers, read and read again, beside what its owner approved.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use bridle_models::ModelTier;
use tempfile::TempDir;

use super::{MODELS_FILE, ProviderApprovals, ProviderRegistry, review_folder};

const LOCAL: &str = "* box\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:8080/v1\n:CODEC: openai-chat\n\
:PRIVACY: local\n:END:\n";

/// Folder of the memory and state directory.
struct Rig {
    folder: TempDir,
    state: TempDir,
}

impl Rig {
    fn new() -> Rig {
        Rig { folder: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() }
    }

    fn registry(&self) -> ProviderRegistry {
        ProviderRegistry::new(Some(self.folder.path()), self.approvals())
    }

    fn approvals(&self) -> ProviderApprovals {
        ProviderApprovals::new(self.state.path())
    }

    fn save(&self, text: &str) {
        std::fs::write(self.folder.path().join(MODELS_FILE), text).unwrap();
    }

    fn approvals_file(&self) -> PathBuf {
        self.state.path().join("providers.approved")
    }

    /// The owner's yes to everything that waits.
    fn approve(&self) {
        let review = review_folder(self.folder.path(), &self.approvals()).unwrap();
        for waiting in &review.waiting {
            self.approvals().approve(&waiting.saved).unwrap();
        }
    }
}

fn remote(host: &str, more: &str) -> String {
    format!(
        "* lab\n:PROPERTIES:\n:ADDRESS: https://{host}/v1\n:CODEC: openai-chat\n:PRIVACY: remote\n\
         :KEY: env:LAB_KEY\n{more}:END:\n** m :cognition:\n"
    )
}

fn hosts(registry: &ProviderRegistry) -> Vec<String> {
    registry.current().providers.iter().map(|it| it.address.host.clone()).collect()
}

#[test]
fn a_file_is_read_when_it_changes() {
    let rig = Rig::new();
    let registry = rig.registry();
    assert!(!registry.refresh() && !registry.has_model());
    rig.save(&format!("{LOCAL}** small :reflex:\n** large :cognition:\n"));
    assert!(registry.refresh() && registry.has_model());
    // What it keeps itself is no change.
    registry.refresh();
    assert!(!registry.refresh(), "it is as it was");
    let names = |tier| -> Vec<String> {
        registry.cascade(tier).iter().map(super::ModelSeat::name).collect()
    };
    assert_eq!(names(ModelTier::Reflex), ["box/small"]);
    assert_eq!(names(ModelTier::Reasoning), ["box/large"]);
    assert_eq!(registry.named("large").map(|seat| seat.name()).as_deref(), Some("box/large"));
    rig.save("* box\n:PROPERTIES:\n:ADDRESS: nonsense\n:END:\n");
    assert!(registry.refresh());
    assert!(registry.has_model(), "a provider with a fault stays as it was");
    assert!(!registry.problems().is_empty());
    let again = rig.registry();
    assert!(again.refresh() && again.has_model(), "after a start too");
    std::fs::remove_file(rig.folder.path().join(MODELS_FILE)).unwrap();
    assert!(registry.refresh() && !registry.has_model(), "without the file there is no provider");
}

#[test]
fn a_provider_with_a_key_waits_for_the_first_yes() {
    let rig = Rig::new();
    let registry = rig.registry();
    rig.save(&remote("a.example", ""));
    assert!(registry.refresh() && !registry.has_model());
    assert!(registry.waiting()[0].is_new());
    rig.approve();
    assert!(registry.refresh(), "a yes is noticed without a save");
    assert_eq!(hosts(&registry), ["a.example"]);
    assert!(registry.waiting().is_empty());
    let mode = std::fs::metadata(rig.approvals_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_changed_address_or_key_waits_and_the_rest_does_not() {
    let rig = Rig::new();
    let registry = rig.registry();
    rig.save(&remote("a.example", ""));
    rig.approve();
    registry.refresh();
    let evil = remote("evil.example", ":RETRIES: 0\n").replace("LAB_KEY", "OTHER_KEY");
    rig.save(&evil);
    assert!(registry.refresh());
    let check = |registry: &ProviderRegistry| {
        let provider = registry.current().providers[0].clone();
        assert_eq!(provider.address.host, "a.example");
        assert!(provider.may_send_key_to("a.example") && !provider.may_send_key_to("evil.example"));
        assert_eq!(provider.key.unwrap().to_string(), "env:LAB_KEY");
        assert_eq!(provider.patience.retries, 0, "everything else is in force on save");
    };
    check(&registry);
    let shown: Vec<String> = registry.waiting()[0]
        .changes
        .iter()
        .map(|it| format!("{} {:?}", it.field.as_str(), it.after.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(
        shown,
        ["ADDRESS \"https://evil.example/v1\"", "KEY \"env:OTHER_KEY\"", "HOSTS \"evil.example\""]
    );
    // A daemon that starts has the approved ones.
    let again = rig.registry();
    again.refresh();
    check(&again);
    // A yes is for what was seen, not for what is saved meanwhile.
    let seen = registry.waiting()[0].saved.clone();
    rig.save(&remote("worse.example", ""));
    rig.approvals().approve(&seen).unwrap();
    registry.refresh();
    assert_eq!(hosts(&registry), ["evil.example"]);
    assert_eq!(registry.waiting().len(), 1);
}

#[test]
fn a_provider_on_this_machine_may_not_move_away_unseen() {
    let rig = Rig::new();
    let registry = rig.registry();
    rig.save(&format!("{LOCAL}** m :reflex:\n"));
    assert!(registry.refresh() && registry.has_model());
    rig.save(&format!("{}** m :reflex:\n", LOCAL.replace("127.0.0.1:8080", "192.0.2.1")));
    assert!(registry.refresh());
    assert_eq!(hosts(&registry), ["127.0.0.1"]);
    // Neither by leaving and coming back under its name.
    rig.save("");
    registry.refresh();
    rig.save(&format!("{}** m :reflex:\n", LOCAL.replace("127.0.0.1:8080", "192.0.2.1")));
    registry.refresh();
    assert_eq!(hosts(&registry), ["127.0.0.1"]);
    rig.approvals().forget("box").unwrap();
    registry.refresh();
    assert!(hosts(&registry).is_empty(), "and not without any yes");
}

#[test]
fn approvals_that_cannot_be_trusted_approve_nothing() {
    let rig = Rig::new();
    rig.save(&remote("a.example", ""));
    rig.approve();
    let file = rig.approvals_file();
    let good = std::fs::read(&file).unwrap();
    for (bytes, mode) in [(&good[..], 0o644), (b"junk", 0o600), (&good[..good.len() / 2], 0o600)] {
        std::fs::write(&file, bytes).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let registry = rig.registry();
        registry.refresh();
        assert!(!registry.has_model(), "{mode:o}");
        assert!(review_folder(rig.folder.path(), &rig.approvals()).is_err());
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    assert!(rig.approvals().read().is_err());
}
