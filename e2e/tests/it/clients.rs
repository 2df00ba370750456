//! Real clients, unmodified, through the proxy.

mod curl;
mod grpc;
mod openai;
