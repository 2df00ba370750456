"""Checks docker-compose.yml and the Dockerfile beside it without Docker.

usage: check_compose.py docker-compose.yml SHADOWDIFF_BINARY

Services and volumes refer to what exists, images are pinned and built once, what is waited for has a health check, and every
command is one that the binary knows, with flags that its help lists. Prints each fault; exit code 1 when any.
"""

import pathlib
import re
import subprocess
import sys

import yaml

SERVICES = {"kafka", "primary", "candidate", "proxy", "recorder"}


def pinned(image):
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    return tag not in ("", "latest")


def check_command(name, command, binary):
    subcommand, *rest = command
    shown = subprocess.run([binary, subcommand, "--help"], capture_output=True, text=True)
    if shown.returncode != 0:
        yield f"{name}: shadowdiff has no '{subcommand}'"
        return
    known = set(re.findall(r"--[a-z][a-z-]*", shown.stdout))
    for word in rest:
        flag = word.partition("=")[0]
        if flag.startswith("--") and flag not in known:
            yield f"{name}: shadowdiff {subcommand} has no {flag}"


def check_service(name, service, services, volumes, binary):
    if not pinned(service.get("image", "")):
        yield f"{name}: image {service.get('image')!r} is not pinned"
    for other, wait in service.get("depends_on", {}).items():
        if other not in services:
            yield f"{name}: depends on {other}, which is not there"
        elif wait.get("condition") == "service_healthy" and "healthcheck" not in services[other]:
            yield f"{name}: waits for {other}, which has no health check"
    for mount in service.get("volumes", []):
        source = mount.split(":")[0]
        if not source.startswith((".", "/")) and source not in volumes:
            yield f"{name}: volume {source} is not declared"
    if service["image"] in built(services):
        yield from check_command(name, service["command"], binary)


def built(services):
    return [service["image"] for service in services.values() if "build" in service]


def check_builds(services):
    """Builds run side by side: two of one image fail on a machine that does not have it yet."""
    images = built(services)
    for image in sorted(set(images)):
        if images.count(image) > 1:
            yield f"image {image} is built by {images.count(image)} services: let one build it"
    for name, service in services.items():
        if service["image"] in images and "build" not in service and service.get("pull_policy") != "never":
            yield f"{name}: {service['image']} is built here, but may be pulled: give pull_policy: never"


def check_dockerfile(path):
    text = path.read_text()
    stages = set()
    for image, stage in re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.M):
        if image not in stages and not pinned(image):
            yield f"{path.name}: image {image} is not pinned"
        stages.add(stage)
    for stage in re.findall(r"--from=(\S+)", text):
        if stage not in stages:
            yield f"{path.name}: no stage {stage}"
    users = re.findall(r"^USER (\S+)$", text, re.M)
    if not users or users[-1] in ("root", "0"):
        yield f"{path.name}: runs as root"


def main(compose, binary):
    path = pathlib.Path(compose)
    loaded = yaml.safe_load(path.read_text())
    services, volumes = loaded["services"], loaded.get("volumes", {})
    faults = [f"no service {name}" for name in sorted(SERVICES - set(services))]
    for name, service in services.items():
        faults += check_service(name, service, services, volumes, binary)
    faults += check_builds(services)
    faults += check_dockerfile(path.parent / "Dockerfile")
    for fault in faults:
        print(f"{compose}: {fault}", file=sys.stderr)
    if not faults:
        print(f"{compose}: {len(services)} services, well formed")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
