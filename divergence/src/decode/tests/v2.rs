//! Open Inference Protocol, JSON and binary.

use super::*;

/// An answer with a binary tail.
fn binary(json: &str, tail: &[u8]) -> Result<Decoded, Undecodable> {
    let body = [json.as_bytes(), tail].concat();
    let length = json.len().to_string();
    read(INFER, &[("inference-header-content-length", &length)], &body, &Rules::default())
}

fn one(dtype: &str, shape: &str, tail: &[u8]) -> Result<Output, Undecodable> {
    let size = tail.len();
    let json = format!(
        r#"{{"outputs":[{{"name":"T","datatype":"{dtype}","shape":{shape},"parameters":{{"binary_data_size":{size}}}}}]}}"#
    );
    let decoded = binary(&json, tail)?;
    assert_eq!(decoded.protocol, Protocol::V2Binary);
    Ok(decoded.outputs.into_iter().next().unwrap())
}

#[test]
fn flat_and_nested_data_give_the_same_output() {
    let flat = v2(r#"{"name":"T","datatype":"FP32","shape":[2,2],"data":[1,2.5,3,4]}"#).unwrap();
    let nested = v2(r#"{"name":"T","datatype":"FP32","shape":[2,2],"data":[[1,2.5],[3,4]]}"#).unwrap();
    assert_eq!(flat, nested);
    assert_eq!((flat.dtype, flat.shape, flat.values), (DType::Fp32, vec![2, 2], vec![1.0, 2.5, 3.0, 4.0]));
}

#[test]
fn decimal_text_stands_for_the_nearest_value_of_the_declared_type() {
    let single = v2(r#"{"name":"T","datatype":"FP32","shape":[1],"data":[0.1]}"#).unwrap();
    assert_eq!(single.values, [f64::from(0.1_f32)]);
    let double = v2(r#"{"name":"T","datatype":"FP64","shape":[1],"data":[0.1]}"#).unwrap();
    assert_eq!(double.values, [0.1]);
}

#[test]
fn not_finite_numbers_are_read_and_nulls_counted() {
    let output =
        v2(r#"{"name":"T","datatype":"FP64","shape":[5],"data":[NaN,Infinity,-Infinity,null,"NaN"]}"#)
            .unwrap();
    assert!(output.values[0].is_nan() && output.values[3].is_nan() && output.values[4].is_nan());
    assert_eq!(output.values[1..3], [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(output.nulls, 1);
}

#[test]
fn integers_past_2_to_the_53_are_kept_exactly() {
    let output = v2(
        r#"{"name":"T","datatype":"UINT64","shape":[3],"data":[7,18446744073709551615,9007199254740993]}"#,
    )
    .unwrap();
    assert_eq!(output.exact, Some(vec![7, 18_446_744_073_709_551_615, 9_007_199_254_740_993]));
    let small = v2(r#"{"name":"T","datatype":"INT64","shape":[2],"data":[7,-9007199254740992]}"#).unwrap();
    assert_eq!((small.exact, small.values), (None, vec![7.0, -9_007_199_254_740_992.0]));
}

#[test]
fn booleans_and_text_are_read() {
    let flags = v2(r#"{"name":"T","datatype":"BOOL","shape":[3],"data":[true,false,1]}"#).unwrap();
    assert_eq!(flags.values, [1.0, 0.0, 1.0]);
    let text = v2(r#"{"name":"T","datatype":"BYTES","shape":[2],"data":["0.997527:0","é"]}"#).unwrap();
    assert_eq!((text.text, text.values.len()), (vec!["0.997527:0".to_owned(), "é".to_owned()], 0));
}

#[test]
fn faults_name_the_output_and_what_is_wrong() {
    for (output, says) in [
        (
            r#"{"name":"T","datatype":"FP32","shape":[2,2],"data":[1]}"#,
            "`T`: shape 2x2 needs 4 elements, found 1",
        ),
        (r#"{"name":"T","datatype":"FP32","shape":[-1],"data":[1]}"#, "no usable `shape`"),
        (r#"{"name":"T","datatype":"FP32","data":[1]}"#, "no usable `shape`"),
        (r#"{"name":"T","datatype":"FP32","shape":[1]}"#, "no usable `data`"),
        (r#"{"datatype":"FP32","shape":[1],"data":[1]}"#, "no usable `name`"),
        (r#"{"name":"T","datatype":"FP8","shape":[1],"data":[1]}"#, "unknown datatype `FP8`"),
        (r#"{"name":"T","datatype":"FP32","shape":[2],"data":[1,"a"]}"#, "element 1 is no FP32"),
        (r#"{"name":"T","datatype":"INT8","shape":[1],"data":[300]}"#, "element 0 is no INT8"),
        (r#"{"name":"T","datatype":"INT32","shape":[1],"data":[1.5]}"#, "element 0 is no INT32"),
        (r#"{"name":"T","datatype":"BYTES","shape":[1],"data":[1]}"#, "element 0 is no BYTES"),
        (r#"{"name":"T","datatype":"FP32","shape":[1],"data":[{"a":1}]}"#, "element 0 is no FP32"),
        (
            r#"{"name":"T","datatype":"FP32","shape":[9223372036854775807,9223372036854775807],"data":[1]}"#,
            "found 1",
        ),
    ] {
        let found = reason(v2(output));
        assert!(found.contains(says), "{output}: {found}");
    }
}

#[test]
fn the_model_is_the_answers_or_else_the_paths() {
    let outputs = r#""outputs":[{"name":"T","datatype":"FP32","shape":[1],"data":[1]}]"#;
    let named = plain(INFER, &format!(r#"{{"model_name":"other","model_version":"3",{outputs}}}"#)).unwrap();
    assert_eq!((named.model.as_deref(), named.model_version.as_deref()), (Some("other"), Some("3")));
    let bare = plain(INFER, &format!(r#"{{"model_version":null,{outputs}}}"#)).unwrap();
    assert_eq!((bare.model.as_deref(), bare.model_version), (Some("m"), None));
    let elsewhere = plain("/score", &format!("{{{outputs}}}")).unwrap();
    assert_eq!((elsewhere.protocol, elsewhere.model), (Protocol::V2Json, None));
}

#[test]
fn outputs_are_sorted_by_name() {
    let one = |name| format!(r#"{{"name":"{name}","datatype":"FP32","shape":[1],"data":[1]}}"#);
    let decoded = plain(INFER, &format!(r#"{{"outputs":[{},{}]}}"#, one("b"), one("a"))).unwrap();
    let names: Vec<_> = decoded.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn binary_numbers_of_every_type_are_read() {
    let of = |dtype, tail: &[u8]| one(dtype, "[2]", tail).unwrap().values;
    assert_eq!(of("BOOL", &[0, 1]), [0.0, 1.0]);
    assert_eq!(of("UINT8", &[1, 255]), [1.0, 255.0]);
    assert_eq!(of("INT8", &[1, 255]), [1.0, -1.0]);
    assert_eq!(of("UINT16", &[1, 0, 0, 1]), [1.0, 256.0]);
    assert_eq!(of("INT16", &[1, 0, 255, 255]), [1.0, -1.0]);
    assert_eq!(of("UINT32", &[1, 0, 0, 0, 255, 255, 255, 255]), [1.0, 4_294_967_295.0]);
    assert_eq!(of("INT32", &[1, 0, 0, 0, 255, 255, 255, 255]), [1.0, -1.0]);
    assert_eq!(of("FP16", &[0x00, 0x38, 0x00, 0x34]), [0.5, 0.25]);
    assert_eq!(of("BF16", &[0x00, 0x3f, 0x80, 0x3e]), [0.5, 0.25]);
    assert_eq!(of("FP32", &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]), [1.0, 2.0]);
    assert_eq!(of("FP64", &[1.5_f64.to_le_bytes(), (-2.0_f64).to_le_bytes()].concat()), [1.5, -2.0]);
    let wide = one("INT64", "[2]", &[9_007_199_254_740_993_i64.to_le_bytes(), [0xff; 8]].concat()).unwrap();
    assert_eq!(wide.exact, Some(vec![9_007_199_254_740_993, -1]));
    let unsigned = one("UINT64", "[1]", &[0xff; 8]).unwrap();
    assert_eq!(unsigned.exact, Some(vec![i128::from(u64::MAX)]));
    let text = one("BYTES", "[2]", b"\x03\0\0\0pos\0\0\0\0").unwrap();
    assert_eq!(text.text, ["pos", ""]);
}

#[test]
fn binary_and_json_outputs_mix_and_the_tail_follows_the_order_of_the_answer() {
    let json = r#"{"outputs":[
        {"name":"b","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}},
        {"name":"j","datatype":"INT8","shape":[1],"data":[7]},
        {"name":"a","datatype":"INT8","shape":[2],"parameters":{"binary_data_size":2}}]}"#;
    let decoded = binary(json, &[1, 2, 3]).unwrap();
    let values: Vec<_> = decoded.outputs.iter().map(|o| (o.name.as_str(), o.values.clone())).collect();
    assert_eq!(values, [("a", vec![2.0, 3.0]), ("b", vec![1.0]), ("j", vec![7.0])]);
}

#[test]
fn a_binary_tail_that_does_not_fit_is_named() {
    let json = |size| {
        format!(
            r#"{{"outputs":[{{"name":"T","datatype":"FP32","shape":[2],"parameters":{{"binary_data_size":{size}}}}}]}}"#
        )
    };
    assert!(reason(binary(&json(8), &[0; 7])).contains("7 bytes of binary data where 8 are needed"));
    assert!(reason(binary(&json(8), &[0; 9])).contains("1 bytes left"));
    assert!(reason(binary(&json(7), &[0; 7])).contains("7 bytes of binary data where 8 are needed"));
    assert!(reason(binary(&json(4), &[0; 4])).contains("shape 2 needs 2 elements, found 1"));
    assert!(reason(one("BYTES", "[1]", b"\x09\0\0\0pos")).contains("3 bytes of binary data where 9"));
    assert!(reason(one("BYTES", "[1]", b"\x09\0")).contains("2 bytes of binary data where 4"));
    let unmarked = read(INFER, &[], json(8).as_bytes(), &Rules::default());
    assert!(reason(unmarked).contains("0 bytes of binary data where 8 are needed"));
}

#[test]
fn the_json_length_must_fit_the_body() {
    for length in ["9", "-1", "x", "99999999999999999999"] {
        let result = read(INFER, &[("Inference-Header-Content-Length", length)], b"{}", &Rules::default());
        assert!(reason(result).contains(&format!("json length `{length}`")));
    }
}

#[test]
fn the_json_length_may_be_in_the_media_type() {
    let json =
        r#"{"outputs":[{"name":"T","datatype":"INT8","shape":[1],"parameters":{"binary_data_size":1}}]}"#;
    let media = format!("application/vnd.sagemaker-triton.binary+json;json-header-size={}", json.len());
    let body = [json.as_bytes(), &[5]].concat();
    let decoded = read("/invocations", &[("Content-Type", &media)], &body, &Rules::default()).unwrap();
    assert_eq!((decoded.protocol, decoded.outputs[0].values[0]), (Protocol::V2Binary, 5.0));
}
