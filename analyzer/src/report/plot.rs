//! Plots as SVG text, each a pure function of numbers. Colours are CSS classes of the page, so that they follow its light or
//! dark form; text is escaped.

mod frame;
mod heat_map;
mod latency;
mod load;
mod nodes;
mod scores;

pub(super) use heat_map::heat_map;
pub(super) use latency::{latency, latency_by_load};
pub(super) use load::{LoadLine, load};
pub(super) use nodes::nodes;
pub(super) use scores::scores;
