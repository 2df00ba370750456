#!/usr/bin/env bash
# Runs every test: set-up of the real servers, format, lints, documentation, unit, integration and end-to-end tests,
# and the check of docker-compose.yml. Says what was skipped, by name.
#
# usage: ./test.sh [--quick] [--help]
#   --quick   no set-up and no real servers: only what needs no more than cargo, a C compiler and make; the rest is listed as skipped
# With CI=true or SHADOWDIFF_REQUIRE=all a skipped test is a failure.
set -euo pipefail
cd "$(dirname "$0")"

quick=
for argument in "$@"; do
  case $argument in
    --quick) quick=yes ;;
    --help)
      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
      exit 0
      ;;
    *)
      echo "test.sh: unknown argument '$argument', see --help" >&2
      exit 64
      ;;
  esac
done

export CARGO_INCREMENTAL=0 RUST_BACKTRACE=1
export SHADOWDIFF_QUICK=$quick
skips=.cache/skipped.log
mkdir -p .cache
: >"$skips"
times=()

# step NAME COMMAND…: runs it, times it, ends the run when it fails.
step() {
  local name=$1 from=$SECONDS
  shift
  echo "=== $name"
  if ! "$@"; then
    echo "=== failed: $name, after $((SECONDS - from)) s" >&2
    exit 1
  fi
  times+=("$(printf '%5d s  %s' $((SECONDS - from)) "$name")")
}

compose() {
  if docker compose version >/dev/null 2>&1; then
    docker compose -f docker-compose.yml config -q || return 1
  fi
  if [ -z "$quick" ] && [ -x .cache/python/bin/python ]; then
    .cache/python/bin/python scripts/check_compose.py docker-compose.yml "$SHADOWDIFF_BIN"
  else
    echo "skipped: docker-compose.yml: needs the Python environment" | tee -a "$skips"
  fi
}

target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
export SHADOWDIFF_BIN=$target/debug/shadowdiff

[ -n "$quick" ] || step "set-up" bash scripts/setup.sh
step "format" cargo fmt --all --check
step "lints" cargo clippy --workspace --all-targets -- -D warnings
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
# Binaries in the same command, so that dependencies are built with the same features, once.
step "build" cargo build --workspace --bins --tests
step "tests" cargo test --workspace --no-fail-fast
step "docker-compose.yml" compose

echo "=== passed in $SECONDS s"
printf '%s\n' "${times[@]}"
if [ -s "$skips" ]; then
  sort -u "$skips"
  if [ "${CI:-}" = true ] || [ "${SHADOWDIFF_REQUIRE:-}" = all ]; then
    echo "=== failed: nothing may be skipped here" >&2
    exit 1
  fi
else
  echo "nothing skipped"
fi
