#!/usr/bin/env bash
# Installs what the tests on real servers need into .cache/ of the repository:
#   python   a virtual environment with the clients and readers (e2e/python/requirements.txt)
#   triton   Triton Inference Server for CPU, from its Python wheel (e2e/triton/requirements.txt)
#   kafka    the jars of one Apache Kafka broker (e2e/kafka/pom.xml)
#   perf     Triton's load generator perf_analyzer, from the last Python wheel that holds it (e2e/perf/requirements.txt)
#   tools    curl, wrk, h2load and nghttp, from Debian where they are not there
# Each is installed once and again only when its inputs change, so later runs take seconds and no network.
# Needs cargo, a C compiler, make, python3 and Java 17; what else is missing comes from Debian when run as root.
#
# usage: scripts/setup.sh [--help]
# A component that cannot be had is reported as skipped, with the reason in .cache/COMPONENT.skipped;
# with CI=true or SHADOWDIFF_REQUIRE=all that is an error.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=$root/.cache
log=$cache/logs

if [ "${1:-}" = --help ]; then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
  exit 0
elif [ $# -gt 0 ]; then
  echo "setup.sh: unknown argument '$1', see --help" >&2
  exit 64
fi

mkdir -p "$log"
if command -v flock >/dev/null; then
  exec 9>"$cache/lock"
  flock 9
fi
skipped=()
reason=
running=

# An interrupted set-up leaves no installer behind, which would write into what the next one makes: a command in the
# background does not hear Ctrl-C.
stop_running() {
  if [ -n "$running" ]; then
    kill "$running" 2>/dev/null || true
    wait "$running" 2>/dev/null || true
  fi
}
trap stop_running EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# run LABEL COMMAND…: runs with its output in a log file, says what runs and for how long.
run() {
  local label=$1 file="$log/${1//[^a-zA-Z0-9]/-}.log" from=$SECONDS pid next=15
  shift
  echo "    $label …"
  "$@" >"$file" 2>&1 9>&- </dev/null &
  pid=$!
  running=$pid
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    if [ $((SECONDS - from)) -ge $next ]; then
      echo "    $label … still at it, $((SECONDS - from)) s"
      next=$((next + 15))
    fi
  done
  if wait "$pid"; then
    running=
    echo "    $label: done in $((SECONDS - from)) s"
  else
    running=
    reason="$label failed: $(grep -v '^[[:space:]]*$' "$file" | tail -n 1 | cut -c1-300)"
    echo "    $label: failed after $((SECONDS - from)) s, see ${file#"$root"/}"
    return 1
  fi
}

# fingerprint FILE…: a hash of where we are and what goes in.
fingerprint() {
  (echo "$root" && cat "$root/scripts/setup.sh" "$@") | sha256sum | cut -d' ' -f1
}

# debian PACKAGE…: installs packages when we may.
debian() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    reason="needs $* (apt-get install $*), and this is not root on Debian"
    return 1
  fi
  run "debian update" env DEBIAN_FRONTEND=noninteractive apt-get update -q || return 1
  run "debian $*" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# component NAME INPUT…: installs by calling install_NAME, unless its stamp says it is there.
component() {
  local name=$1 from=$SECONDS stamp
  shift
  stamp=$(fingerprint "$@")
  if [ "$(cat "$cache/$name/stamp" 2>/dev/null)" = "$stamp" ]; then
    rm -f "$cache/$name.skipped"
    echo "==> $name: there already"
    return
  fi
  echo "==> $name"
  rm -rf "${cache:?}/$name" "$cache/$name.skipped"
  mkdir -p "$cache/$name"
  reason="cannot be installed"
  # Within a condition `set -e` is off, so the install functions return on failure themselves.
  if "install_$name"; then
    echo "$stamp" >"$cache/$name/stamp"
    echo "==> $name: ready after $((SECONDS - from)) s"
  else
    rm -rf "${cache:?}/$name"
    echo "$reason" >"$cache/$name.skipped"
    echo "==> skipped: $name: $reason"
    skipped+=("$name")
  fi
}

# python_where CONDITION: prints the first interpreter that can make environments and meets the condition.
python_where() {
  local candidate
  for candidate in python3.11 python3 /usr/bin/python3.11 /usr/bin/python3; do
    if "$candidate" -c "import sys, ensurepip, venv; sys.exit(not ($1))" 2>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  return 1
}

# libpython PYTHON: prints the folder of the interpreter's shared library.
libpython() {
  "$1" - <<'P'
import pathlib, sys, sysconfig
for folder in (sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL"),
               f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}"):
    if folder and (pathlib.Path(folder) / "libpython3.11.so.1.0").exists():
        sys.exit(print(folder))
sys.exit(1)
P
}

install_python() {
  local python
  python=$(python_where 'sys.version_info >= (3, 11)') || {
    debian python3 python3-venv || return 1
    python=$(python_where 'sys.version_info >= (3, 11)') || {
      reason="needs Python 3.11 or later with its venv module"
      return 1
    }
  }
  "$python" -m venv "$cache/python" || { reason="$python -m venv failed"; return 1; }
  run "python packages" "$cache/python/bin/python" -m pip install -q --disable-pip-version-check \
    -r "$root/e2e/python/requirements.txt" || return 1
  run "python check" "$cache/python/bin/python" -c 'import duckdb, hpack, hyperframe, openai, pandas, pyarrow, tritonclient.grpc, tritonclient.http, yaml'
}

install_triton() {
  local python lib site
  # The server's Python back end is built for 3.11 and links its shared library.
  if ! python=$(python_where 'sys.version_info[:2] == (3, 11)') || ! lib=$(libpython "$python"); then
    debian python3.11 python3.11-venv libpython3.11 || return 1
    python=/usr/bin/python3.11
    lib=$(libpython "$python") || { reason="needs Python 3.11 with libpython3.11.so"; return 1; }
  fi
  "$python" -m venv "$cache/triton/venv" || { reason="$python -m venv failed"; return 1; }
  run "triton wheel (55 MB, 310 MB installed)" "$cache/triton/venv/bin/python" -m pip install -q \
    --disable-pip-version-check -r "$root/e2e/triton/requirements.txt" || return 1
  site=$cache/triton/venv/lib/python3.11/site-packages
  mkdir -p "$cache/triton/backends"
  cp -r "$site/pytriton/tritonserver/backends/python" "$cache/triton/backends/" &&
    cp "$site/pytriton/tritonserver/python_backend_stubs/3.11/triton_python_backend_stub" \
      "$cache/triton/backends/python/" || { reason="the wheel holds no Python back end for 3.11"; return 1; }
  cat >"$cache/triton/tritonserver" <<T
#!/bin/sh
# Made by scripts/setup.sh: Triton with its libraries; give it --id, --model-repository and ports.
export PATH="$cache/triton/venv/bin:\$PATH" VIRTUAL_ENV="$cache/triton/venv" PYTHONPATH="$site" PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH="$lib:$site/nvidia_pytriton.libs"
exec "$site/pytriton/tritonserver/bin/tritonserver" --backend-directory "$cache/triton/backends" "\$@"
T
  chmod +x "$cache/triton/tritonserver"
  # Its help text and exit code do not matter, that its libraries are found does.
  run "triton check" sh -c "'$cache/triton/tritonserver' --help 2>&1 | grep -q -- --model-repository"
}

install_kafka() {
  local java
  java=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') || true
  if [ "${java:-0}" -lt 17 ]; then
    reason="needs Java 17 or later (found ${java:-none})"
    return 1
  fi
  command -v mvn >/dev/null || debian maven || return 1
  run "kafka jars" mvn -q -B -f "$root/e2e/kafka/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory="$cache/kafka/lib" -DincludeScope=runtime || return 1
  run "kafka check" java -cp "$cache/kafka/lib/*" kafka.Kafka --version
}

install_perf() {
  local python site
  python=$(python_where 'sys.version_info >= (3, 8)') || { reason="needs Python with its venv module"; return 1; }
  "$python" -m venv "$cache/perf/venv" || { reason="$python -m venv failed"; return 1; }
  # Only the program in the wheel is wanted, not what its Python modules need.
  run "perf_analyzer wheel" "$cache/perf/venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
    -r "$root/e2e/perf/requirements.txt" || return 1
  site=$(echo "$cache/perf/venv/lib/"python3*/site-packages)
  cat >"$cache/perf/perf_analyzer" <<P
#!/bin/sh
# Made by scripts/setup.sh: perf_analyzer with its libraries.
export LD_LIBRARY_PATH="$site/nvidia/cuda_runtime/lib"
exec "$cache/perf/venv/bin/perf_analyzer" "\$@"
P
  chmod +x "$cache/perf/perf_analyzer"
  run "perf check" "$cache/perf/perf_analyzer" --version && return
  # Most likely this one is missing: the wheel does not hold it.
  debian libb64-0d || return 1
  run "perf check" "$cache/perf/perf_analyzer" --version
}

has_tools() {
  command -v curl >/dev/null && command -v wrk >/dev/null && command -v h2load >/dev/null && command -v nghttp >/dev/null
}

install_tools() {
  has_tools || debian curl wrk nghttp2-client
}

component python "$root/e2e/python/requirements.txt"
component triton "$root/e2e/triton/requirements.txt"
component kafka "$root/e2e/kafka/pom.xml"
component perf "$root/e2e/perf/requirements.txt"
# What Debian installed may have gone with the machine, though .cache was kept.
has_tools || rm -f "$cache/tools/stamp"
component tools

if [ ${#skipped[@]} -gt 0 ] && { [ "${CI:-}" = true ] || [ "${SHADOWDIFF_REQUIRE:-}" = all ]; }; then
  echo "setup: nothing may be skipped here, but these were: ${skipped[*]}" >&2
  exit 1
fi
