# The one binary, built from source, in an image that holds little else.
FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --locked --profile dist --package cli \
    && cp target/dist/shadowdiff /usr/local/bin/shadowdiff

FROM debian:bookworm-slim
# A fixed number, so that a mounted folder can be given to it.
RUN groupadd --gid 10001 shadowdiff \
    && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin shadowdiff \
    && install -d -o shadowdiff -g shadowdiff /data
COPY --from=build /usr/local/bin/shadowdiff /usr/local/bin/shadowdiff
USER shadowdiff
WORKDIR /data
ENTRYPOINT ["shadowdiff"]
CMD ["--help"]
