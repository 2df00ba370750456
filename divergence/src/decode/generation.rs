//! Generated text as its protocols have it in common: choices, each text, why it ended, its tokens and their log probabilities.

use std::collections::BTreeMap;

use super::fault::Undecodable;
use super::{MAX_OUTPUTS, MAX_VALUES};
use crate::{DType, Json, Kind, Number, Output, Printed};

/// Most choices of one answer.
const MAX_CHOICES: u64 = 128;

/// One generated text, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The text.
    pub(super) text: String,
    /// What a reasoning model thought before.
    pub(super) reasoning: String,
    /// Calls of tools: name and arguments, by their place.
    pub(super) tools: BTreeMap<u64, (String, String)>,
    /// Why it ended.
    pub(super) finish: Option<String>,
    /// Tokens as text.
    pub(super) tokens: Vec<String>,
    /// Tokens as numbers.
    pub(super) ids: Vec<f64>,
    /// Log probability of each token; NaN where the answer has `null` (the first of a prompt has none).
    logprobs: Vec<f64>,
    nulls: usize,
    printed: Option<Printed>,
    /// Alternatives at each place.
    tops: Vec<Vec<(String, f64)>>,
    /// Alternatives of all places.
    alternatives: usize,
}

impl Choice {
    /// Adds the log probability of a token.
    pub(super) fn logprob(&mut self, value: Option<&Json<'_>>) {
        match value.and_then(Json::as_number) {
            Some(number) => {
                let value = self.number(number);
                self.logprobs.push(value);
            }
            None => {
                self.nulls += 1;
                self.logprobs.push(f64::NAN);
            }
        }
    }

    /// Adds the alternatives at one place: of each the token and its log probability.
    pub(super) fn top<'t, 'j: 't>(
        &mut self,
        tokens: impl Iterator<Item = (&'t str, Option<&'t Json<'j>>)>,
    ) -> Result<(), Undecodable> {
        let mut place = Vec::new();
        for (token, value) in tokens {
            if let Some(number) = value.and_then(Json::as_number) {
                let value = self.number(number);
                place.push((token.to_owned(), value));
            }
        }
        self.alternatives += place.len();
        if self.alternatives > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        self.tops.push(place);
        Ok(())
    }

    /// A token as `{token, logprob, top_logprobs}`, the form of chat and of responses.
    pub(super) fn token(&mut self, token: &Json<'_>) -> Result<(), Undecodable> {
        self.tokens.push(token.text_field("token").unwrap_or_default().to_owned());
        self.logprob(token.field("logprob"));
        let alternatives = token.field("top_logprobs").and_then(Json::as_array).unwrap_or_default();
        let named = alternatives
            .iter()
            .map(|other| (other.text_field("token").unwrap_or_default(), other.field("logprob")));
        self.top(named)
    }

    fn number(&mut self, number: &Number<'_>) -> f64 {
        if let Some(printed) = number.printed() {
            self.printed = Some(self.printed.unwrap_or_default().or(printed));
        }
        number.as_f64()
    }

    /// The outputs; of a choice after the first, its number in their names.
    fn outputs(self, index: u64, outputs: &mut Vec<Output>) -> Result<(), Undecodable> {
        let name = |name: &str| if index == 0 { name.to_owned() } else { format!("{name}[{index}]") };
        let tops = self.top_logprobs(name("top_logprobs"))?;
        outputs.push(one(name("text"), Kind::Text, self.text));
        if !self.reasoning.is_empty() {
            outputs.push(one(name("reasoning"), Kind::Text, self.reasoning));
        }
        if !self.tools.is_empty() {
            let calls = self.tools.into_values().map(|(name, arguments)| format!("{name}({arguments})"));
            outputs.push(texts(name("tool_calls"), Kind::Text, calls.collect()));
        }
        outputs.extend(self.finish.map(|reason| one(name("finish_reason"), Kind::Reason, reason)));
        if !self.tokens.is_empty() {
            outputs.push(texts(name("tokens"), Kind::Tokens, self.tokens));
        }
        if !self.ids.is_empty() {
            let shape = vec![self.ids.len() as u64];
            let output = Output::new(name("token_ids"), DType::Int64, shape);
            outputs.push(Output { kind: Kind::Tokens, values: self.ids, ..output });
        }
        if self.logprobs.len() > self.nulls {
            let output = Output::new(name("logprobs"), DType::Fp64, vec![self.logprobs.len() as u64]);
            let (values, nulls, printed) = (self.logprobs, self.nulls, self.printed);
            outputs.push(Output { kind: Kind::Logprobs, values, nulls, printed, ..output });
        }
        outputs.extend(tops);
        Ok(())
    }

    /// The alternatives, each place filled up to the most that one has.
    fn top_logprobs(&self, name: String) -> Result<Option<Output>, Undecodable> {
        let width = self.tops.iter().map(Vec::len).max().unwrap_or(0);
        if width == 0 {
            return Ok(None);
        }
        if self.tops.len().saturating_mul(width) > MAX_VALUES {
            return Err(Undecodable::TooMany { what: "elements", limit: MAX_VALUES });
        }
        let mut output = Output::new(name, DType::Fp64, vec![self.tops.len() as u64, width as u64]);
        (output.kind, output.printed) = (Kind::Logprobs, self.printed);
        for place in &self.tops {
            let filling = std::iter::repeat_n((String::new(), f64::NEG_INFINITY), width - place.len());
            for (token, value) in place.iter().cloned().chain(filling) {
                output.keys.push(token);
                output.values.push(value);
            }
        }
        Ok(Some(output))
    }
}

/// The choices of an answer, by their number.
#[derive(Debug, Default)]
pub(super) struct Choices {
    choices: BTreeMap<u64, Choice>,
    counts: BTreeMap<&'static str, f64>,
}

impl Choices {
    /// The choice of that number.
    pub(super) fn at(&mut self, index: u64) -> Result<&mut Choice, Undecodable> {
        if index >= MAX_CHOICES {
            return Err(Undecodable::TooMany { what: "choices", limit: MAX_CHOICES as usize });
        }
        Ok(self.choices.entry(index).or_default())
    }

    /// Whether there is none yet.
    pub(super) fn is_empty(&self) -> bool {
        self.choices.is_empty()
    }

    /// Notes a count of `usage`; the last one stands.
    pub(super) fn count(&mut self, name: &'static str, usage: Option<&Json<'_>>, fields: &[&str]) {
        let found = fields.iter().find_map(|field| usage?.field(field)?.as_number());
        if let Some(number) = found {
            self.counts.insert(name, number.as_f64());
        }
    }

    /// All outputs.
    pub(super) fn outputs(self) -> Result<Vec<Output>, Undecodable> {
        let mut outputs = Vec::new();
        for (index, choice) in self.choices {
            choice.outputs(index, &mut outputs)?;
            if outputs.len() > MAX_OUTPUTS {
                return Err(Undecodable::TooMany { what: "outputs", limit: MAX_OUTPUTS });
            }
        }
        for (name, value) in self.counts {
            let output = Output::new(name, DType::Int64, vec![]);
            outputs.push(Output { kind: Kind::Count, values: vec![value], ..output });
        }
        Ok(outputs)
    }
}

/// An output that is one text.
pub(super) fn one(name: String, kind: Kind, text: String) -> Output {
    Output { kind, text: vec![text], ..Output::new(name, DType::Bytes, vec![]) }
}

/// An output of several texts.
pub(super) fn texts(name: String, kind: Kind, text: Vec<String>) -> Output {
    let shape = vec![text.len() as u64];
    Output { kind, text, ..Output::new(name, DType::Bytes, shape) }
}
