//! The file of providers, read and read again.

use bridle_models::ModelTier;

use super::{MODELS_FILE, ProviderRegistry};

const LOCAL: &str = "* box\n:PROPERTIES:\n:ADDRESS: http://127.0.0.1:8080/v1\n:CODEC: openai-chat\n\
:PRIVACY: local\n:END:\n";

#[test]
fn a_file_is_read_when_it_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = ProviderRegistry::new(Some(folder.path()));
    assert!(!registry.refresh() && !registry.has_model());
    let file = folder.path().join(MODELS_FILE);
    std::fs::write(&file, format!("{LOCAL}** small :reflex:\n** large :cognition:\n")).unwrap();
    assert!(registry.refresh() && registry.has_model());
    assert!(!registry.refresh(), "it is as it was");
    let names = |tier| -> Vec<String> {
        registry.cascade(tier).iter().map(super::ModelSeat::name).collect()
    };
    assert_eq!(names(ModelTier::Reflex), ["box/small"]);
    assert_eq!(names(ModelTier::Reasoning), ["box/large"]);
    assert_eq!(registry.named("large").map(|seat| seat.name()).as_deref(), Some("box/large"));
    std::fs::write(&file, "* box\n:PROPERTIES:\n:ADDRESS: nonsense\n:END:\n").unwrap();
    assert!(registry.refresh());
    assert!(registry.has_model(), "a provider with a fault stays as it was");
    assert!(!registry.problems().is_empty());
    std::fs::remove_file(&file).unwrap();
    assert!(registry.refresh() && !registry.has_model(), "without the file there is no provider");
}
