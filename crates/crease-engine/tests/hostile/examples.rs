//! What was found wrong once.
