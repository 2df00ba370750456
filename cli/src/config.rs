//! The configuration file: what it may say ([`raw`]) and what it means together with the flags.

pub(crate) mod file;
pub(crate) mod raw;
pub(crate) mod record;
pub(crate) mod redact;
pub(crate) mod resolve;
mod rewrite;
mod sampling;
pub(crate) mod secret;
mod target;
mod traces;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
