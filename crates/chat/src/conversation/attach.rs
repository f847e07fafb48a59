//! What goes along with a prompt: pictures, and the name of a model.

use super::Conversation;
use crate::complete::AUTO_MODEL;
use crate::event::ChatEffect;
use crate::image::{self, MAX_PROMPT_IMAGES_BYTES, PromptImage};
use crate::style::{StyledLine, TextStyle};

impl Conversation {
    /// Asks for the picture that a paste names; `false` if it names none.
    pub(super) fn drop_image(&mut self, pasted: &str) -> bool {
        let Some(path) = image::dropped_path(pasted) else { return false };
        self.effects.push(ChatEffect::ReadImage { path });
        true
    }

    /// Attaches a picture to the prompt that is being typed.
    pub(super) fn take_image(&mut self, found: Result<PromptImage, String>) {
        let image = match found {
            Ok(image) => image,
            Err(reason) => return self.note(&reason),
        };
        let bytes: usize = self.images.iter().map(|it| it.data.len()).sum();
        if bytes + image.data.len() > MAX_PROMPT_IMAGES_BYTES {
            return self.note("the pictures of a prompt have at most 540 KiB together");
        }
        self.images.push(image);
        if !self.sees_images() {
            self.note("attached; no model here takes pictures");
        }
    }

    /// Whether the model of the next prompt takes pictures, as far as that is known.
    fn sees_images(&self) -> bool {
        match &self.chosen_model {
            Some(name) => self.models.iter().any(|it| it.name == *name && it.takes_images),
            None => self.models.iter().any(|it| it.takes_images),
        }
    }

    /// Takes the last picture away.
    pub(super) fn drop_last_image(&mut self) -> bool {
        self.images.pop().is_some()
    }

    /// `/model`: tells the models, or chooses one for further prompts.
    pub(super) fn choose_model(&mut self, name: &str) {
        if name.is_empty() {
            let mut lines =
                vec![StyledLine::of("/model NAME chooses one, /model auto none", TextStyle::DIM)];
            let chosen = self.chosen_model.as_deref();
            lines.extend(self.models.iter().map(|model| {
                let mark = if chosen == Some(&*model.name) { "❯ " } else { "  " };
                let images = if model.takes_images { "  takes pictures" } else { "" };
                StyledLine::of(&format!("{mark}{}", model.name), TextStyle::PLAIN)
                    .with(images, TextStyle::DIM)
            }));
            if self.models.is_empty() {
                lines
                    .push(StyledLine::of("no model is set up: bridle model add", TextStyle::PLAIN));
            }
            return self.open_pager("models".to_owned(), &lines, None);
        }
        if name == AUTO_MODEL {
            self.chosen_model = None;
            return self.note("the daemon chooses the model");
        }
        if !self.models.iter().any(|it| it.name == name) {
            return self.note(&format!("no model `{name}`: /model lists them"));
        }
        self.chosen_model = Some(name.to_owned());
        self.note(&format!("further prompts go to {name}"));
    }
}
