//! The configuration file: what it may say ([`raw`]) and what it means together with the flags.

pub(crate) mod file;
mod identity;
pub(crate) mod raw;
pub(crate) mod record;
mod redact;
pub(crate) mod resolve;
mod rewrite;
mod sampling;
mod secret;
mod selftest;
mod target;
mod traces;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
