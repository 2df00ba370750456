//! Building one output from JSON values or raw numbers.

use half::{bf16, f16};

use super::fault::{Fault, Undecodable};
use super::json::{Leaf, View, view};
use crate::{DType, Json, Number, Output};

/// 2^53: every integer up to here is a 64-bit float.
const FLOAT_EXACT: u128 = 1 << 53;

/// An output under construction.
pub(super) struct Builder {
    output: Output,
    /// Whether the answer says the type; an integer of an answer that does not may pass 64 bits.
    declared: bool,
}

impl Builder {
    /// An output without elements yet.
    pub(super) fn new(name: &str, dtype: DType, shape: Vec<u64>) -> Self {
        Self { output: Output::new(name, dtype, shape), declared: true }
    }

    /// The type.
    pub(super) fn dtype(&self) -> DType {
        self.output.dtype
    }

    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.output.values.len() + self.output.text.len()
    }

    /// Adds a number, rounded to the declared type: the decimal text of an `FP32` stands for the nearest `f32`.
    #[inline]
    pub(super) fn float(&mut self, value: f64) {
        self.output.values.push(rounded(value, self.output.dtype));
    }

    /// Adds an integer, kept exactly.
    pub(super) fn int(&mut self, value: i128) {
        if self.output.exact.is_none() && value.unsigned_abs() > FLOAT_EXACT && self.output.nulls == 0 {
            // All values so far are integers that a 64-bit float holds.
            self.output.exact = Some(self.output.values.iter().map(|value| *value as i128).collect());
        }
        if let Some(exact) = &mut self.output.exact {
            exact.push(value);
        }
        self.output.values.push(value as f64);
    }

    /// Adds an integer, when the type holds it.
    pub(super) fn checked(&mut self, value: i128) -> Result<(), Fault> {
        if !self.fits(value) {
            return Err(self.wrong());
        }
        self.int(value);
        Ok(())
    }

    fn fits(&self, value: i128) -> bool {
        fits(value, self.output.dtype) || (!self.declared && self.output.dtype == DType::Int64)
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: String) {
        self.output.text.push(text);
    }

    /// Repeats the last element until there are as many as `count`.
    pub(super) fn repeat_last(&mut self, count: usize) {
        let output = &mut self.output;
        if let Some(last) = output.values.last().copied() {
            output.values.resize(count.max(output.values.len()), last);
        }
        if let Some(exact) = &mut output.exact {
            exact.resize(output.values.len(), exact.last().copied().unwrap_or(0));
        }
        if let Some(last) = output.text.last().cloned() {
            output.text.resize(count.max(output.text.len()), last);
        }
    }

    /// Adds a JSON `null`: NaN among numbers, nothing among text.
    pub(super) fn null(&mut self) {
        self.output.nulls += 1;
        if self.output.dtype == DType::Bytes {
            self.output.text.push(String::new());
        } else {
            self.output.exact = None;
            self.output.values.push(f64::NAN);
        }
    }

    /// Adds a JSON value, or says that it is not of the type.
    pub(super) fn leaf(&mut self, leaf: Leaf<'_>) -> Result<(), Fault> {
        let dtype = self.output.dtype;
        match leaf {
            Leaf::Null => self.null(),
            Leaf::Text(text) if dtype == DType::Bytes => self.text(text.to_owned()),
            Leaf::Bool(value) if dtype == DType::Bool => self.float(value.into()),
            Leaf::Number(number) if dtype.is_float() => self.number(number),
            Leaf::Number(number) => match integer(number).filter(|value| self.fits(*value)) {
                Some(value) => self.int(value),
                None => return Err(self.wrong()),
            },
            Leaf::Text(text) if dtype.is_float() => match non_finite(text) {
                Some(value) => self.float(value),
                None => return Err(self.wrong()),
            },
            _ => return Err(self.wrong()),
        }
        Ok(())
    }

    /// Adds a printed number to a floating output.
    #[inline]
    fn number(&mut self, number: &Number<'_>) {
        if let Some(printed) = number.printed() {
            self.output.printed = Some(self.output.printed.unwrap_or_default().or(printed));
        }
        self.float(number.as_f64());
    }

    /// Adds numbers of the declared type.
    pub(super) fn floats(&mut self, values: impl Iterator<Item = f64>) {
        self.output.values.extend(values);
    }

    /// Makes room for as many numbers.
    fn reserve(&mut self, count: usize) {
        if self.output.dtype != DType::Bytes {
            self.output.values.reserve(count);
        }
    }

    /// The output, when it holds as many elements as its shape says.
    pub(super) fn finish(self) -> Result<Output, Undecodable> {
        let output = self.output;
        let found = (output.values.len() + output.text.len()) as u64;
        match elements(&output.shape) {
            Some(needed) if needed == found => Ok(output),
            needed => {
                let shape = shape_text(&output.shape);
                let fault = Fault::Count { shape, needed: needed.unwrap_or(u64::MAX), found };
                Err(Undecodable::output(&output.name, fault))
            }
        }
    }

    /// A fault of this output.
    pub(super) fn fault(&self, fault: Fault) -> Undecodable {
        Undecodable::output(&self.output.name, fault)
    }

    fn wrong(&self) -> Fault {
        Fault::Element { index: self.len(), dtype: self.output.dtype.as_str() }
    }
}

/// Number of elements of a shape; `None` when it passes 64 bits.
pub(super) fn elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
}

/// A shape as in `2x3`; `scalar` without dimensions.
pub(crate) fn shape_text(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    let dimensions: Vec<String> = shape.iter().take(16).map(u64::to_string).collect();
    dimensions.join("x")
}

/// Adds all values of a flat or nested array, row-major.
pub(super) fn fill(builder: &mut Builder, value: &Json<'_>) -> Result<(), Fault> {
    match view(value) {
        View::Leaf(leaf) => builder.leaf(leaf),
        View::Array(items) => {
            builder.reserve(items.len());
            items.iter().try_for_each(|item| match item {
                Json::Number(number) if builder.output.dtype.is_float() => {
                    builder.number(number);
                    Ok(())
                }
                item => fill(builder, item),
            })
        }
        View::Object(_) => Err(builder.wrong()),
    }
}

/// An output of an answer that declares no type. `roots` are one value, or with `list` the items of a list. The type follows
/// from the values ([`DType`]), the shape from the nesting; a ragged nesting counts as flat, and is kept beside.
pub(super) fn undeclared(name: &str, roots: &[&Json<'_>], list: bool) -> Result<Output, Undecodable> {
    let fault = |fault| Undecodable::output(name, fault);
    let mut leaves = Vec::new();
    let mut lengths = Vec::new();
    let mut shapes = roots.iter().map(|root| walk(root, &mut leaves, &mut lengths).map_err(fault));
    let mut shape = shapes.next().transpose()?.unwrap_or(Some(Vec::new()));
    for other in shapes {
        if other? != shape {
            shape = None;
        }
    }
    if let (true, Some(shape)) = (list, &mut shape) {
        shape.insert(0, roots.len() as u64);
    }
    let (shape, nesting) = match shape {
        Some(shape) => (shape, Vec::new()),
        None => (vec![leaves.len() as u64], lengths),
    };
    let mut builder = Builder::new(name, dtype_of(&leaves).map_err(fault)?, shape);
    builder.output.nesting = nesting;
    builder.declared = false;
    builder.reserve(leaves.len());
    leaves.into_iter().try_for_each(|leaf| builder.leaf(leaf)).map_err(fault)?;
    builder.finish()
}

/// What stands for a single value among the lengths of arrays.
const SINGLE: u64 = u64::MAX;

/// Collects the leaves, and the lengths of all arrays; the shape, or `None` when rows differ in theirs.
fn walk<'n>(
    value: &'n Json<'_>,
    leaves: &mut Vec<Leaf<'n>>,
    lengths: &mut Vec<u64>,
) -> Result<Option<Vec<u64>>, Fault> {
    match view(value) {
        View::Leaf(leaf) => {
            leaves.push(leaf);
            Ok(Some(Vec::new()))
        }
        View::Array(items) => {
            let mut common = None;
            let mut ragged = false;
            lengths.push(items.len() as u64);
            let mixed = items.iter().any(|item| matches!(view(item), View::Array(_)));
            for item in items {
                if mixed && matches!(view(item), View::Leaf(_)) {
                    lengths.push(SINGLE);
                }
                let shape = walk(item, leaves, lengths)?;
                ragged |=
                    shape.is_none() || common.as_ref().is_some_and(|common| Some(common) != shape.as_ref());
                common = common.or(shape);
            }
            let mut shape = common.unwrap_or_default();
            shape.insert(0, items.len() as u64);
            Ok((!ragged).then_some(shape))
        }
        View::Object(_) => Err(Fault::Mixed(leaves.len())),
    }
}

/// The one type that holds all leaves. `null` and the texts that stand for numbers ("NaN" in quotes, as protobuf's JSON mapping
/// writes it) fit in with others; alone, they are numbers.
fn dtype_of(leaves: &[Leaf<'_>]) -> Result<DType, Fault> {
    let mut found = None;
    let mut not_finite = None;
    for (index, leaf) in leaves.iter().enumerate() {
        let dtype = match leaf {
            Leaf::Null => continue,
            Leaf::Text(text) if non_finite(text).is_some() => {
                not_finite = Some(index);
                continue;
            }
            Leaf::Bool(_) => DType::Bool,
            // Past 128 bits only the magnitude is left.
            Leaf::Number(number) if number.as_int().is_some() => DType::Int64,
            Leaf::Number(_) => DType::Fp64,
            Leaf::Text(_) => DType::Bytes,
        };
        found = match (found, dtype) {
            (None, dtype) => Some(dtype),
            (Some(DType::Int64), DType::Fp64) | (Some(DType::Fp64), DType::Int64) => Some(DType::Fp64),
            (Some(known), dtype) if known == dtype => Some(known),
            _ => return Err(Fault::Mixed(index)),
        };
    }
    match (found, not_finite) {
        (Some(DType::Bool), Some(index)) => Err(Fault::Mixed(index)),
        (Some(DType::Int64), Some(_)) => Ok(DType::Fp64),
        (found, _) => Ok(found.unwrap_or(DType::Fp64)),
    }
}

/// The integer of a number, which may be written as `1.0`.
fn integer(number: &Number<'_>) -> Option<i128> {
    number.as_int().or_else(|| {
        let value = number.as_f64();
        (!number.is_integer() && value.fract() == 0.0 && value.abs() < FLOAT_EXACT as f64)
            .then_some(value as i128)
    })
}

fn non_finite(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The nearest value of the type. Text without a declared type stays a 64-bit float.
#[inline]
fn rounded(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::Fp16 => f16::from_f64(value).to_f64(),
        DType::Bf16 => bf16::from_f64(value).to_f64(),
        DType::Fp32 => f64::from(value as f32),
        _ => value,
    }
}

/// Whether the integer type holds the value.
fn fits(value: i128, dtype: DType) -> bool {
    let (low, high) = match dtype {
        DType::Bool => (0, 1),
        DType::Uint8 => (0, i128::from(u8::MAX)),
        DType::Uint16 => (0, i128::from(u16::MAX)),
        DType::Uint32 => (0, i128::from(u32::MAX)),
        DType::Uint64 => (0, i128::from(u64::MAX)),
        DType::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        DType::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        DType::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        DType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return false,
    };
    (low..=high).contains(&value)
}
