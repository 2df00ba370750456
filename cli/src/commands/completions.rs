//! `shadowdiff completions SHELL`.

use clap::CommandFactory;

use crate::{args, logging};

pub(crate) fn run(args: args::Completions) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::Args::command(), "shadowdiff", &mut script);
    logging::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
