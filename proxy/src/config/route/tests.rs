use super::*;
use http::HeaderValue;

fn route(json: &str) -> Result<Route, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn takes(route: &Route, method: Method, path: &str) -> bool {
    route.matches(&method, path, &HeaderMap::new())
}

#[test]
fn by_default_inference_calls_are_mirrored_and_nothing_else() {
    let route = Route::default();
    assert!(takes(&route, Method::POST, "/v2/models/m/infer"));
    assert!(!takes(&route, Method::GET, "/v2/models/m/infer"));
    assert!(!takes(&route, Method::POST, "/orders"));
    let every = Route::every_post();
    assert!(takes(&every, Method::POST, "/orders") && !takes(&every, Method::DELETE, "/orders"));
}

#[test]
fn a_path_is_a_prefix_an_exact_path_or_a_pattern() {
    let written = route(
        r#"{"name": "r", "path": ["/v2/models/", "/v1/models/*:predict"], "exact": "/score", "inference": true}"#,
    )
    .unwrap();
    for path in ["/v2/models/m/infer", "/v1/models/m/versions/2:predict", "/score", "/v1/embeddings"] {
        assert!(takes(&written, Method::PUT, path), "{path}");
    }
    for path in ["/v2/repository", "/v1/models/m:predictx", "/scores", "/x/score"] {
        assert!(!takes(&written, Method::PUT, path), "{path}");
    }
}

#[test]
fn a_header_must_be_there_with_its_value() {
    let route = route(r#"{"name": "r", "headers": {"X-Tenant": "acme-*"}}"#).unwrap();
    let with = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.append("x-tenant", HeaderValue::from_static("other"));
        headers.append("x-tenant", HeaderValue::from_static(value));
        headers
    };
    assert!(route.matches(&Method::POST, "/", &with("acme-1")));
    assert!(!route.matches(&Method::POST, "/", &with("beta")));
    assert!(!takes(&route, Method::POST, "/"));
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, text, wanted) in [
        ("*", "", true),
        ("*", "/a/b", true),
        ("/a*", "/a", true),
        ("/a*b", "/acb", true),
        ("/a*b", "/abcb", true),
        ("/a*b", "/abc", false),
        ("/a*b*c", "/aXbYbZc", true),
        ("/a**c", "/abc", true),
        ("/a", "/ab", false),
        ("/ab", "/a", false),
        ("", "a", false),
        ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false),
    ] {
        assert_eq!(like(pattern.as_bytes(), text.as_bytes()), wanted, "{pattern} {text}");
    }
}

#[test]
fn what_is_no_route_says_why() {
    for (json, wanted) in [
        (r#"{"path": "/"}"#, "no name"),
        (r#"{"name": "r", "path": "v2"}"#, "path `v2` of route r: write one that begins with /"),
        (r#"{"name": "r", "path": "v2*"}"#, "begins with /"),
        (r#"{"name": "r", "exact": ""}"#, "begins with /"),
        (r#"{"name": "r", "methods": ["A B"]}"#, "method `A B` of route r"),
        (r#"{"name": "r", "headers": {"a b": "1"}}"#, "header `a b` of route r"),
        (r#"{"name": "r", "path": 1}"#, "a path is"),
        (r#"{"name": "r", "sample": "200%"}"#, "200%"),
        (r#"{"name": "r", "pth": "/"}"#, "unknown field `pth`"),
    ] {
        let error = route(json).unwrap_err();
        assert!(error.contains(wanted), "{json}: {error}");
    }
}

#[test]
fn a_route_is_written_as_it_is_read() {
    let json = r#"{"name":"r","methods":["POST"],"path":["/a","/b*"],"exact":["/c"],"inference":true,"headers":{"x-a":"1"},"mirror":false,"sample":0.5}"#;
    let written = serde_json::to_string(&route(json).unwrap()).unwrap();
    assert_eq!(written, json);
    assert_eq!(route(&written), route(json));
}
