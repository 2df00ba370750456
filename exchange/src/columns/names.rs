//! Names of the columns that a reader uses.

macro_rules! names {
    ($($constant:ident = $name:literal),* $(,)?) => {
        $(#[doc = concat!("`", $name, "`")] pub const $constant: &str = $name;)*
    };
}

names! {
    EXCHANGE_ID = "exchange_id",
    REQUEST_ID = "request_id",
    RUN = "run",
    PROXY = "proxy",
    SEQUENCE = "sequence",
    RECEIVED_AT = "received_at",
    PATH = "path",
    ROUTE = "route",
    MODEL = "model",
    PROTOCOL = "protocol",
    SHADOW_TARGET = "shadow_target",
    SHADOW_ROLE = "shadow_role",
    PRIMARY_NODE = "primary_node",
    PRIMARY_STATUS = "primary_status",
    PRIMARY_GRPC_STATUS = "primary_grpc_status",
    PRIMARY_OUTCOME = "primary_outcome",
    PRIMARY_LATENCY_US = "primary_latency_us",
    PRIMARY_INFLIGHT = "primary_inflight",
    PRIMARY_SCORE = "primary_score",
    PRIMARY_DEGENERATE = "primary_degenerate",
    SHADOW_NODE = "shadow_node",
    SHADOW_LABELS = "shadow_labels",
    SHADOW_STATUS = "shadow_status",
    SHADOW_GRPC_STATUS = "shadow_grpc_status",
    SHADOW_OUTCOME = "shadow_outcome",
    SHADOW_LATENCY_US = "shadow_latency_us",
    SHADOW_INFLIGHT = "shadow_inflight",
    SHADOW_INFLIGHT_PEAK = "shadow_inflight_peak",
    SHADOW_SCORE = "shadow_score",
    SHADOW_DEGENERATE = "shadow_degenerate",
    CLASS = "class",
    CLASS_DETAIL = "class_detail",
    SERIOUS = "serious",
    TOLERANCE_UNITS = "tolerance_units",
    MAX_ABSOLUTE = "max_absolute",
    LOG10_RATIO = "log10_ratio",
    WORST_OUTPUT = "worst_output",
    AT = "at",
    SNAPSHOT = "snapshot",
    CLOSING = "closing",
    TARGET = "target",
    ITEM = "item",
    INFLIGHT_FROM = "inflight_from",
    COUNT = "count",
}
