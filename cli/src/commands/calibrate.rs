//! `shadowdiff calibrate PRIMARY CONTROL …`.

use anyhow::{Context, anyhow};
use divergence::{Added, Calibration, Decoded, Rules};

use super::saved::{self, Saved};
use super::shown::short;
use crate::exit::Usage;
use crate::{args, logging};

pub(crate) fn run(args: args::Calibrate) -> anyhow::Result<u8> {
    if !args.answers.len().is_multiple_of(2) {
        let count = args.answers.len();
        return Err(Usage::of(anyhow!(
            "{count} files are no pairs: give each primary's answer and its control's in turn"
        )));
    }
    if args.answers.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Usage::of(anyhow!("only one answer can be standard input: save the others")));
    }
    let rules = saved::rules(args.about.rules.as_deref())?;
    let mut calibration = Calibration::default();
    let (mut last, mut left_out) = (None, 0);
    for pair in args.answers.chunks_exact(2) {
        let [primary, control] = pair else { continue };
        let names = format!("{} {}", primary.display(), control.display());
        let decoded = |path: &std::path::Path| -> anyhow::Result<Option<Decoded>> {
            match Saved::read(path, &args.about, &args.about.headers)?.decode(&rules) {
                Ok(decoded) => Ok(Some(decoded)),
                Err(reason) => {
                    logging::say(&format!("error: {}: {reason}", path.display()));
                    Ok(None)
                }
            }
        };
        let (Some(primary), Some(control)) = (decoded(primary)?, decoded(control)?) else {
            return Ok(saved::UNDECODABLE);
        };
        match calibration.add(&primary, &control, &rules) {
            Added::Elements(_) => last = Some(primary),
            Added::LeftOut(why) => {
                left_out += 1;
                logging::say(&format!("left out: {names}: {why}"));
            }
        }
    }
    let pairs = args.answers.len() / 2;
    if left_out > 0 && left_out == pairs {
        return Err(Usage::of(anyhow!("calibration: none of {pairs} pairs could be measured, see above")));
    }
    let Some(answer) = last else { return Err(Usage::of(anyhow!("no pair was given"))) };
    let widened =
        calibration.rules(&answer, &rules, args.accept_noise).context("calibration").map_err(Usage::of)?;
    let counted = match left_out {
        0 => String::new(),
        left_out => format!("# {left_out} of {pairs} pairs are left out\n"),
    };
    logging::print(&(counted + &table(&calibration, &rules, &widened)))?;
    Ok(0)
}

/// The tolerances that changed, as a part of a configuration file.
fn table(calibration: &Calibration, rules: &Rules, widened: &Rules) -> String {
    let mut text = String::from("[compare.outputs]\n");
    for (name, factor) in calibration.factors() {
        let rule = widened.output(name);
        if rule == rules.output(name) {
            text += &format!("# {name}: the tolerance is wide enough\n");
        } else if let (Some(rtol), Some(atol)) = (rule.rtol, rule.atol) {
            let name = toml::Value::String(name.to_owned());
            text += &format!(
                "{name} = {{ rtol = {rtol:e}, atol = {atol:e} }} # {} times as wide\n",
                short(factor)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(factor: f64) -> Decoded {
        let data: Vec<String> =
            (0..2000).map(|index| ((0.5 + f64::from(index) / 4000.0) * factor).to_string()).collect();
        let data = data.join(",");
        let body =
            format!(r#"{{"outputs":[{{"name":"a b","datatype":"FP32","shape":[2000],"data":[{data}]}}]}}"#);
        divergence::decode(&divergence::Answer::new("/", 200, &[], body.as_bytes()), &Rules::default())
            .unwrap()
    }

    #[test]
    fn the_table_is_a_part_of_a_configuration_and_makes_the_noise_pass() {
        let (primary, control, rules) = (answer(1.0), answer(1.002), Rules::default());
        let mut calibration = Calibration::default();
        calibration.add(&primary, &control, &rules);
        let widened = calibration.rules(&primary, &rules, false).unwrap();
        let text = table(&calibration, &rules, &widened);
        let read = crate::config::file::parse(&text).unwrap().compare;
        let rule = read.output("a b");
        assert!(rule.rtol.is_some_and(|rtol| (5e-3..8e-3).contains(&rtol)), "{text}");
        assert!(text.contains("times as wide"), "{text}");
        let unchanged = table(&calibration, &rules, &rules);
        assert!(unchanged.contains("# a b: the tolerance is wide enough"), "{unchanged}");
    }

    #[test]
    fn pairs_that_are_no_noise_are_left_out_and_all_of_them_are_an_error() {
        use clap::Parser;

        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, factor: f64, shape: u32| {
            let data: Vec<String> =
                (0..shape).map(|index| ((0.5 + f64::from(index) / 4000.0) * factor).to_string()).collect();
            let data = data.join(",");
            let body = format!(
                r#"{{"outputs":[{{"name":"s","datatype":"FP32","shape":[{shape}],"data":[{data}]}}]}}"#
            );
            let path = dir.path().join(name);
            std::fs::write(&path, body).unwrap();
            path
        };
        let (good, near) = (write("good", 1.0, 2000), write("near", 1.001, 2000));
        let (short, zero) = (write("short", 1.0, 10), write("zero", 0.0, 2000));
        let code = |files: &[&std::path::PathBuf]| {
            let words = ["shadowdiff".into(), "calibrate".into()].into_iter();
            let line = words.chain(files.iter().map(|file| file.as_os_str().to_owned()));
            match args::Args::try_parse_from(line).unwrap().command {
                args::Command::Calibrate(args) => run(args),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(code(&[&good, &near, &good, &short, &good, &zero]).unwrap(), 0);
        let error = code(&[&good, &short, &good, &zero]).unwrap_err();
        assert!(error.downcast_ref::<Usage>().is_some());
        assert!(format!("{error:#}").contains("none of 2 pairs"), "{error:#}");
    }
}
