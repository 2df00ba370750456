//! Reports, each made from a [`Summary`] alone: one file per form.

mod json;

pub use json::json;
