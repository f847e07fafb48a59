//! What is carried out after something went wrong (section 10): cases `F`.
//!
//! long: the list of cases is one table, a requirement after the other.

use super::ShellUnderTest;
use super::scene::{act, acting, message};
use super::stage::StageReply;
use crate::case::{ConformanceCase, RequirementLevel};

pub(super) fn cases() -> Vec<ConformanceCase<ShellUnderTest>> {
    let broken = || acting("com.example.door", "a", "", ",\"fail\":true");
    vec![
        ConformanceCase::new(
            "F-01",
            RequirementLevel::Should,
            "10",
            "after a failure later effects are not attempted, and messages are shown",
            "the rest was planned for a world that is not there",
            move |peer: &mut ShellUnderTest| {
                let items = format!("{},{},{}", broken(), act("b", ""), message("sorry"));
                let mut scene = peer.scene(vec![StageReply::directives(&items)])?;
                scene.asks("hello")?;
                scene.once("a")?;
                scene.never("b")?;
                scene.shows("sorry")
            },
        ),
        ConformanceCase::new(
            "F-02",
            RequirementLevel::Should,
            "10",
            "after a no later effects are not attempted",
            "the rest was planned for a yes",
            |peer: &mut ShellUnderTest| {
                let gated = act("a", ",\"requires_user_approval\":true");
                let mut scene =
                    peer.scene(vec![StageReply::directives(&format!("{gated},{}", act("b", "")))])?;
                scene.asks("hello")?;
                scene.never("a")?;
                scene.never("b")
            },
        ),
        ConformanceCase::new(
            "F-03",
            RequirementLevel::Should,
            "10",
            "a failure holds for its own answer only",
            "the next request is a new plan",
            move |peer: &mut ShellUnderTest| {
                let replies =
                    vec![StageReply::directives(&broken()), StageReply::directives(&act("b", ""))];
                let mut scene = peer.scene(replies)?;
                scene.asks("one")?;
                scene.asks("two")?;
                scene.once("b")
            },
        ),
        ConformanceCase::new(
            "F-04",
            RequirementLevel::Profile("feedback"),
            "10",
            "what depends on something that failed is not attempted",
            "the Engine said so",
            |peer: &mut ShellUnderTest| {
                let id = ",\"execution\":\"parallel\",\"extensions\":{\"dev.bridle\":{\"directive_id\":\"one\"}}";
                let after = ",\"extensions\":{\"dev.bridle\":{\"depends_on\":[\"one\"]}}";
                let first = acting("com.example.door", "a", id, ",\"fail\":true");
                let mut scene = peer
                    .scene(vec![StageReply::directives(&format!("{first},{}", act("b", after)))])?;
                scene.asks("hello")?;
                super::results::offers_feedback(&mut scene)?;
                scene.once("a")?;
                scene.never("b")
            },
        ),
    ]
}
