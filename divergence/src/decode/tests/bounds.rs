//! Tensors as large as answers are, and numbers that their types do not hold.

use super::wire::{bytes, framed, packed};
use super::*;
use crate::Number;

/// A V2 answer of binary outputs of so many zeros each.
fn zeros(datatype: &str, width: usize, counts: &[usize]) -> Result<Vec<usize>, Undecodable> {
    let output = |count: &usize| {
        format!(
            r#"{{"name":"T","datatype":"{datatype}","shape":[{count}],"parameters":{{"binary_data_size":{}}}}}"#,
            count * width
        )
    };
    let outputs: Vec<String> = counts.iter().map(output).collect();
    let head = format!(r#"{{"outputs":[{}]}}"#, outputs.join(","));
    let mut body = head.clone().into_bytes();
    body.resize(head.len() + counts.iter().sum::<usize>() * width, 0);
    let header = head.len().to_string();
    let found = read(INFER, &[("inference-header-content-length", &header)], &body, &Rules::default())?;
    Ok(found.outputs.iter().map(|output| output.values.len()).collect())
}

#[test]
fn forty_megabytes_are_read_whatever_their_type() {
    for (datatype, width) in [("UINT8", 1), ("FP16", 2), ("FP32", 4), ("INT64", 8)] {
        let count = 40_000_000 / width;
        assert_eq!(zeros(datatype, width, &[count]), Ok(vec![count]), "{datatype}");
    }
}

#[test]
fn binary_tensors_share_one_bound() {
    let too_many = Err(Undecodable::TooMany { what: "elements", limit: MAX_RAW_ELEMENTS });
    assert_eq!(zeros("UINT8", 1, &[1 << 20, MAX_RAW_ELEMENTS]), too_many);
    let mut room = 7;
    let read = |count: u64, room: &mut usize| {
        let builder = tensor::Builder::new("T", DType::Uint8, vec![count]);
        raw::tensor(builder, &vec![0; count as usize], room).map(|output| output.values.len())
    };
    assert_eq!(read(4, &mut room), Ok(4));
    assert_eq!(read(4, &mut room), Err(Undecodable::TooMany { what: "elements", limit: MAX_RAW_ELEMENTS }));
}

#[test]
fn integers_past_their_type_are_named_in_json() {
    let of = |datatype: &str, data: &str| {
        let count = data.split(',').count();
        v2(&format!(r#"{{"name":"T","datatype":"{datatype}","shape":[{count}],"data":[{data}]}}"#))
    };
    for (datatype, good, bad) in [
        ("INT8", "-128,127", "0,128"),
        ("UINT8", "0,255", "0,-1"),
        ("INT16", "-32768,32767", "0,32768"),
        ("UINT16", "0,65535", "0,65536"),
        ("INT32", "-2147483648,2147483647", "0,2147483648"),
        ("UINT32", "0,4294967295", "0,4294967296"),
        ("INT64", "-9223372036854775808,9223372036854775807", "0,9223372036854775808"),
        ("UINT64", "0,18446744073709551615", "0,18446744073709551616"),
        ("BOOL", "1,0", "0,2"),
    ] {
        assert!(of(datatype, good).is_ok(), "{datatype}");
        assert_eq!(reason(of(datatype, bad)), format!("output `T`: element 1 is no {datatype}"));
    }
    // Where no type is declared, an integer is as large as it is.
    let free = plain("/v1/models/m:predict", r#"{"predictions":[9223372036854775808]}"#).unwrap();
    assert_eq!(free.outputs[0].exact, Some(vec![1 << 63]));
    assert_eq!(Number::from_f64(1e30).as_int(), "1000000000000000000000000000000".parse().ok());
}

#[test]
fn integers_past_their_type_are_named_in_calls() {
    let typed = |datatype: &str, field: u64, values: &[u64]| {
        let contents = bytes(5, &packed(field, values));
        let output =
            [bytes(1, b"T"), bytes(2, datatype.as_bytes()), packed(3, &[values.len() as u64]), contents];
        let body = framed(&bytes(5, &output.concat()));
        let path = "/inference.GRPCInferenceService/ModelInfer";
        read(path, &[("content-type", "application/grpc")], &body, &Rules::default())
    };
    let below = |value: i64| value.cast_unsigned();
    for (datatype, field, good, bad) in [
        ("INT8", 2, below(-128), 128),
        ("INT16", 2, below(-32768), 32768),
        ("INT32", 2, below(i32::MIN.into()), 1 << 31),
        ("UINT8", 4, 255, 256),
        ("UINT16", 4, 65535, 65536),
        ("UINT32", 4, u32::MAX.into(), 1 << 32),
    ] {
        assert!(typed(datatype, field, &[good]).is_ok(), "{datatype}");
        let found = reason(typed(datatype, field, &[0, bad, bad]));
        assert_eq!(found, format!("output `T`: element 1 is no {datatype}"));
    }
    // TensorFlow has one field for integers of up to 32 bits, and the bits of halves in it.
    let tensor = |code: u64, field: u64, value: u64| {
        let dimension = bytes(2, &bytes(2, &super::wire::number(1, 1)));
        let message = [super::wire::number(1, code), dimension, packed(field, &[value])].concat();
        crate::decode::tensorflow::tensor("T", &message, &mut { MAX_RAW_ELEMENTS })
    };
    for (code, field, good, bad, dtype) in [
        (6, 7, below(-128), 200, "INT8"),
        (4, 7, 200, 300, "UINT8"),
        (3, 7, below(i32::MIN.into()), 1 << 31, "INT32"),
        (22, 16, u32::MAX.into(), 1 << 32, "UINT32"),
        (19, 13, 0xffff, 0x1_0000, "FP16"),
    ] {
        assert!(tensor(code, field, good).is_ok(), "{dtype}");
        assert_eq!(reason(tensor(code, field, bad)), format!("output `T`: element 0 is no {dtype}"));
    }
}

#[test]
fn an_error_that_says_nothing_is_none() {
    for nothing in ["null", "false", r#""""#, "0", "[]", "{}"] {
        let body = format!(r#"{{"error":{nothing},"score":0.5}}"#);
        assert!(plain("/predict", &body).unwrap().tree.is_some(), "{nothing}");
        let paths: Rules = toml::from_str("[[json_paths]]\nname = \"s\"\npath = \"/nothing\"").unwrap();
        let found = read("/predict", &[], body.as_bytes(), &paths);
        assert_eq!(reason(found), "path `/nothing` of output `s` selects nothing");
        let chat = format!(
            r#"{{"object":"chat.completion","choices":[{{"message":{{"content":"a"}}}}],"error":{nothing}}}"#
        );
        assert_eq!(plain("/v1/chat/completions", &chat).unwrap().outputs.len(), 1, "{nothing}");
        let tgi = format!(r#"{{"generated_text":"a","error":{nothing}}}"#);
        assert_eq!(plain("/generate", &tgi).unwrap().outputs.len(), 1, "{nothing}");
    }
    for error in [r#""no model""#, "true", r#"{"message":"x"}"#, r#"["x"]"#] {
        let body = format!(r#"{{"error":{error},"score":0.5}}"#);
        assert_eq!(plain("/predict", &body), Err(Undecodable::ErrorBody), "{error}");
    }
    // A number of that name is an output beside others, and a code beside a message.
    assert!(plain("/predict", r#"{"error":0.05,"score":0.5}"#).unwrap().tree.is_some());
    assert_eq!(plain("/predict", r#"{"error":503,"message":"busy"}"#), Err(Undecodable::ErrorBody));
}
