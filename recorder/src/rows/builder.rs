//! One growing column, and the cells that go into it.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field};
use exchange::columns::{Column, Kind};

/// A value of one row and column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// For 32- and 64-bit columns and timestamps; beyond 32 bits, a 32-bit column holds the nearest it can.
    Int(i64),
    Float(f64),
    Bool(bool),
    Bytes(&'a [u8]),
    Texts(&'a [String]),
    Floats(&'a [f64]),
}

macro_rules! from {
    ($($type:ty => $cell:ident),* $(,)?) => {
        $(impl<'a> From<$type> for Cell<'a> {
            fn from(value: $type) -> Self {
                Self::$cell(value.into())
            }
        })*
    };
}

from! {
    &'a str => Text, i64 => Int, i32 => Int, u32 => Int, u16 => Int, f64 => Float, bool => Bool,
    &'a [u8] => Bytes, &'a [String] => Texts, &'a [f64] => Floats,
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A growing column.
pub(super) enum Builder {
    Text(StringBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Bool(BooleanBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Binary(BinaryBuilder),
    TextList(ListBuilder<StringBuilder>),
    Float64List(ListBuilder<Float64Builder>),
}

impl Builder {
    pub(super) fn new(kind: Kind) -> Self {
        let item = |kind| Field::new("item", kind, false);
        match kind {
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Int32 => Self::Int32(Int32Builder::new()),
            Kind::Int64 => Self::Int64(Int64Builder::new()),
            Kind::Float64 => Self::Float64(Float64Builder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Timestamp => Self::Timestamp(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Kind::Binary => Self::Binary(BinaryBuilder::new()),
            Kind::TextList => {
                Self::TextList(ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8)))
            }
            Kind::Float64List => {
                Self::Float64List(ListBuilder::new(Float64Builder::new()).with_field(item(DataType::Float64)))
            }
        }
    }

    /// Appends a value and gives the bytes it takes.
    pub(super) fn append(&mut self, cell: Cell<'_>, column: &Column) -> usize {
        const FIXED: usize = 8;
        match (self, cell) {
            (Self::Text(to), Cell::Null) => to.append_null(),
            (Self::Text(to), Cell::Text(value)) => {
                to.append_value(value);
                return FIXED + value.len();
            }
            (Self::Int32(to), Cell::Null) => to.append_null(),
            (Self::Int32(to), Cell::Int(value)) => {
                let nearest = value.clamp(i32::MIN.into(), i32::MAX.into());
                to.append_value(i32::try_from(nearest).expect("clamped to 32 bits"));
            }
            (Self::Int64(to), Cell::Null) => to.append_null(),
            (Self::Int64(to), Cell::Int(value)) => to.append_value(value),
            (Self::Float64(to), Cell::Null) => to.append_null(),
            (Self::Float64(to), Cell::Float(value)) => to.append_value(value),
            (Self::Bool(to), Cell::Null) => to.append_null(),
            (Self::Bool(to), Cell::Bool(value)) => to.append_value(value),
            (Self::Timestamp(to), Cell::Null) => to.append_null(),
            (Self::Timestamp(to), Cell::Int(value)) => to.append_value(value),
            (Self::Binary(to), Cell::Null) => to.append_null(),
            (Self::Binary(to), Cell::Bytes(value)) => {
                to.append_value(value);
                return FIXED + value.len();
            }
            (Self::TextList(to), Cell::Texts(values)) => {
                values.iter().for_each(|value| to.values().append_value(value));
                to.append(true);
                return FIXED + values.iter().map(|value| FIXED + value.len()).sum::<usize>();
            }
            (Self::Float64List(to), Cell::Floats(values)) => {
                to.values().append_slice(values);
                to.append(true);
                return FIXED + FIXED * values.len();
            }
            (_, cell) => unreachable!("{} holds {:?}, not {cell:?}", column.name, column.kind),
        }
        FIXED
    }

    /// Takes the column.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(from) => Arc::new(from.finish()),
            Self::Int32(from) => Arc::new(from.finish()),
            Self::Int64(from) => Arc::new(from.finish()),
            Self::Float64(from) => Arc::new(from.finish()),
            Self::Bool(from) => Arc::new(from.finish()),
            Self::Timestamp(from) => Arc::new(from.finish()),
            Self::Binary(from) => Arc::new(from.finish()),
            Self::TextList(from) => Arc::new(from.finish()),
            Self::Float64List(from) => Arc::new(from.finish()),
        }
    }
}
