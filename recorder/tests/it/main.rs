//! The recorder from outside: messages in, the set read back.

#[cfg(test)]
#[path = "../../src/fixture.rs"]
mod fixture;
#[cfg(test)]
mod kafka;
#[cfg(test)]
mod local;
