//! Promises by name, one file a concept.
