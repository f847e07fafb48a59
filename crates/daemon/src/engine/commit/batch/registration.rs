//! Registration of actuators and consultants: the State of a session hears of those that it does not know.
//!
//! Used before a message is recorded, so that the message is judged with all of them.

use std::sync::Arc;

use bridle_loop::{ActuatorLocation, ActuatorRef, CatalogBody, Event, KeywordName, RecordKind};
use bridle_record::{NewRecord, RecordCause};

use super::{AppendBatch, ENGINE};
use crate::engine::stream::ShellOffer;

/// Actuators of shells that a session remembers; further names are not registered, and requests
/// to them are answered `unknown-target`.
const MAX_SHELL_ACTUATORS: usize = 64;

/// Tells the State what can be reached, if that is more than it knows. What a shell offered
/// once stays: a request to a shell that is away waits for it.
pub(super) fn register(batch: &mut AppendBatch<'_>, offers: &[ShellOffer]) {
    let catalog = Arc::clone(&batch.services.catalog);
    let host = &*catalog.actuators;
    let known = batch.core.state.actuators();
    let is_known = |offer: &ShellOffer| {
        let is_host = host.iter().any(|actuator| actuator.name == offer.name);
        is_host || known.iter().any(|actuator| offer.is_known_as(actuator))
    };
    let hosts = known.iter().take_while(|actuator| actuator.place == ActuatorLocation::Host);
    if hosts.eq(host) && offers.iter().all(is_known) {
        return;
    }
    let is_host = |name: &KeywordName| host.iter().any(|actuator| actuator.name == *name);
    let kept = known.iter().filter(|a| a.place == ActuatorLocation::Shell && !is_host(&a.name));
    let mut shells: Vec<ActuatorRef> = kept.cloned().collect();
    for offer in offers.iter().filter(|offer| !is_host(&offer.name)) {
        match shells.iter().position(|actuator| actuator.name == offer.name) {
            Some(place) if !offer.is_known_as(&shells[place]) => shells[place] = offer.to_ref(),
            None if shells.len() < MAX_SHELL_ACTUATORS => shells.push(offer.to_ref()),
            Some(_) | None => {}
        }
    }
    let all: Vec<ActuatorRef> = host.iter().cloned().chain(shells).collect();
    if all != known {
        describe(batch, &all, offers);
        batch.event(Event::Registered(all), RecordCause::None, ENGINE);
    }
}

/// Records descriptions that the record does not have, before they are named.
fn describe(batch: &mut AppendBatch<'_>, actuators: &[ActuatorRef], offers: &[ShellOffer]) {
    let catalog = Arc::clone(&batch.services.catalog);
    let host = catalog.actuators.iter().zip(&catalog.specs);
    let host = host.filter_map(|(actuator, spec)| Some((actuator.specs?, spec)));
    let shells = offers.iter().filter_map(|offer| offer.spec.as_ref());
    let shells = shells.map(|(digest, spec)| (*digest, spec));
    for (digest, spec) in host.chain(shells) {
        let is_named = actuators.iter().any(|actuator| actuator.specs == Some(digest));
        if is_named && batch.services.actions.keep(digest, spec) {
            let body = CatalogBody::write(spec);
            let draft = NewRecord::new("", RecordKind::Catalog.word(), batch.at, ENGINE, body);
            batch.append.drafts.push(draft);
            batch.described.push(digest);
        }
    }
}

/// Tells the State who is consulted, if that is news.
pub(super) fn register_consultants(batch: &mut AppendBatch<'_>) {
    let consultants = batch.services.host.consultants();
    if batch.core.state.consultants() != consultants {
        let event = Event::ConsultantsChanged(consultants);
        batch.event(event, RecordCause::None, ENGINE);
    }
}
