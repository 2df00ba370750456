//! The calls of inference protocols, by their path alone.
//!
//! Paths may have a prefix of a gateway's own before them (`/serving/team-a/v2/models/m/infer`), gRPC methods may not.

/// gRPC services and their methods that compute an answer.
const GRPC: [(&str, &[&str]); 5] = [
    ("inference.GRPCInferenceService", &["ModelInfer", "ModelStreamInfer"]),
    (
        "tensorflow.serving.PredictionService",
        &["Predict", "Classify", "Regress", "MultiInference", "PredictStreamed"],
    ),
    ("seldon.protos.Seldon", &["Predict"]),
    ("seldon.protos.Model", &["Predict"]),
    (
        "org.pytorch.serve.grpc.inference.InferenceAPIsService",
        &["Predictions", "StreamPredictions", "StreamPredictions2"],
    ),
];

/// Verbs behind a colon: TensorFlow Serving, KServe V1 and Vertex AI.
const VERBS: [&str; 5] = ["predict", "classify", "regress", "rawPredict", "streamRawPredict"];

/// Whether a POST to this path asks a model for an answer, as far as the path of a known protocol says.
pub(super) fn is_inference(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let Some((before, last)) = path.rsplit_once('/') else { return false };
    match last {
        // Open Inference Protocol V2, SageMaker's multi-model container.
        "infer" | "invoke" => before.contains("/models/"),
        // TGI and Triton's generate extension; Seldon v1, LitServe, BentoML, TorchServe's first model; SageMaker and MLflow.
        "generate" | "generate_stream" | "predict" | "predictions" | "invocations" => true,
        "invocations-response-stream" => true,
        // OpenAI-shaped; these words alone are common, so most need the version before them.
        "completions" | "embeddings" => true,
        "rerank" | "score" => before.is_empty() || versioned(before),
        "responses" | "classify" | "pooling" => versioned(before),
        _ => verb(last) || torch_serve(before) || grpc(before, last),
    }
}

fn versioned(before: &str) -> bool {
    before.ends_with("/v1") || before.ends_with("/v2")
}

fn verb(last: &str) -> bool {
    last.rsplit_once(':').is_some_and(|(model, verb)| !model.is_empty() && VERBS.contains(&verb))
}

/// `/predictions/MODEL` and `/predictions/MODEL/VERSION`.
fn torch_serve(before: &str) -> bool {
    let service = |path: &str| path == "/predictions" || path.ends_with("/predictions");
    service(before) || before.rsplit_once('/').is_some_and(|(service_path, _)| service(service_path))
}

fn grpc(before: &str, method: &str) -> bool {
    let service = before.strip_prefix('/').unwrap_or(before);
    GRPC.iter().any(|(known, methods)| *known == service && methods.contains(&method))
}

#[cfg(test)]
mod tests {
    use super::is_inference;

    #[test]
    fn every_protocol_is_known_by_its_path() {
        for path in [
            "/v2/models/m/infer",
            "/v2/models/m/versions/1/infer",
            "/serving/team-a/v2/models/m/infer",
            "/v2/models/m/generate",
            "/v2/models/m/generate_stream",
            "/v1/models/m:predict",
            "/v1/models/m/versions/3:classify",
            "/v1/models/m/labels/stable:regress",
            "/v1/projects/p/locations/l/endpoints/1:rawPredict",
            "/invocations",
            "/endpoints/e/invocations",
            "/models/m/invoke",
            "/v1/chat/completions",
            "/openai/deployments/d/chat/completions",
            "/v1/completions",
            "/v1/embeddings",
            "/v1/responses",
            "/v1/rerank",
            "/v2/rerank",
            "/rerank",
            "/v1/score",
            "/score",
            "/v1/classify",
            "/predict",
            "/predictions/m",
            "/predictions/m/1.0",
            "/generate",
            "/generate_stream",
            "/api/v1.0/predictions",
            "/seldon/ns/dep/api/v0.1/predictions",
            "/inference.GRPCInferenceService/ModelInfer",
            "/inference.GRPCInferenceService/ModelStreamInfer",
            "/tensorflow.serving.PredictionService/Predict",
            "/seldon.protos.Seldon/Predict",
            "/org.pytorch.serve.grpc.inference.InferenceAPIsService/Predictions",
        ] {
            assert!(is_inference(path), "{path}");
        }
    }

    #[test]
    fn what_changes_a_server_or_only_asks_about_it_is_no_inference() {
        for path in [
            "/",
            "",
            "*",
            "/v2/repository/models/m/load",
            "/v2/repository/models/m/unload",
            "/v2/repository/index",
            "/v2/models/m/trace/setting",
            "/v2/systemsharedmemory/region/r/register",
            "/v2/models/m/config",
            "/v1/models/m",
            "/v1/models/m:explain",
            "/models?url=m.mar",
            "/models",
            "/v1/files",
            "/v1/responses/r-1/cancel",
            "/v1/load_lora_adapter",
            "/responses",
            "/infer",
            "/tokenize",
            "/orders",
            "/:predict",
            "/inference.GRPCInferenceService/RepositoryModelLoad",
            "/inference.GRPCInferenceService/ServerReady",
            "/grpc.health.v1.Health/Check",
            "/tensorflow.serving.PredictionService/GetModelMetadata",
        ] {
            assert!(!is_inference(path), "{path}");
        }
    }
}
