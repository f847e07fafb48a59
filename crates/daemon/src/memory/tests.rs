//! What is shown before a yes is what is done after it.
