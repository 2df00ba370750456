//! Reports, each made from a [`Summary`](crate::Summary) alone: one file per form.
//!
//! `tables` lays the summary out as tables of text, which both the terminal and the page show; `plot` draws. What comes from
//! the recorded traffic (names of nodes, labels, ids) is untrusted: it is escaped on the page and freed of control characters
//! on the terminal.

mod html;
mod json;
mod plot;
mod table;
mod tables;
mod terminal;

pub use html::html;
pub use json::json;
pub use terminal::{TerminalStyle, terminal};
