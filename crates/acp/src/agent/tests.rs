//! Tests of the agent: an editor on one side, a scripted daemon on the other.
