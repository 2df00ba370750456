//! Real clients, unmodified, through the proxy.

mod curl;
mod generators;
mod grpc;
mod openai;
