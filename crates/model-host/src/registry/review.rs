//! A saved file of providers beside what its owner approved: which providers are in force, and which settings wait for
//! a yes. Computed from texts alone, so that the commands show without a daemon what a daemon does.

use bridle_models::{
    ParsedProviders, Provider, ProviderChange, ProviderNotice, ProviderProblem, ProviderSet,
};

use super::approvals::ApprovedByName;

/// Providers of a saved file, and what holds some of them back.
#[derive(Clone, Debug, Default)]
pub struct ProviderReview {
    /// Providers in force.
    pub in_force: ProviderSet,
    /// Providers whose settings wait for a yes, in the order of the file.
    pub waiting: Vec<WaitingProvider>,
    /// Faults of the file.
    pub problems: Vec<ProviderProblem>,
    /// Remarks on the file.
    pub notices: Vec<ProviderNotice>,
    /// Providers that need no yes since they are new and harmless.
    pub(super) harmless: Vec<Provider>,
}

/// Provider with settings that wait for a yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingProvider {
    /// The provider as it is saved.
    pub saved: Provider,
    /// Settings that wait, each with what is in force.
    pub changes: Vec<ProviderChange>,
}

impl WaitingProvider {
    /// Whether nothing of it is in force.
    pub fn is_new(&self) -> bool {
        self.changes.iter().all(|change| change.before.is_none())
    }
}

impl ProviderReview {
    /// Compares a saved file with the approvals; a provider with a fault stays as it was before.
    pub fn of(parsed: ParsedProviders, before: &ProviderSet, approved: &ApprovedByName) -> Self {
        let saved = parsed.over(before);
        let mut review =
            Self { problems: parsed.problems, notices: parsed.notices, ..Self::default() };
        for provider in saved.providers {
            review.add(provider, approved);
        }
        review
    }

    fn add(&mut self, saved: Provider, approved: &ApprovedByName) {
        let Some(settings) = approved.get(&saved.name) else {
            if saved.is_harmless() {
                self.harmless.push(saved.clone());
                return self.in_force.providers.push(saved);
            }
            let changes = saved.new_settings();
            return self.waiting.push(WaitingProvider { saved, changes });
        };
        let changes = settings.changes(&saved);
        self.in_force.providers.push(settings.over(&saved));
        if !changes.is_empty() {
            self.waiting.push(WaitingProvider { saved, changes });
        }
    }
}
