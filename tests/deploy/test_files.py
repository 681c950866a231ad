"""The container, compose, systemd, Kubernetes and workflow files agree with the program: settings, ports, paths and targets.

Docker is not used: `test_containers.py` runs the steps of the image and the services without it, and the release workflow
builds the image.
"""

import configparser
import functools
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from OpenSSL import SSL

from hubbub.server import cli
from hubbub.server.core import config as settings
from tests.contract.language import ROOT

DEPLOY: Final = ROOT / "deploy"
BASE: Final = DEPLOY / "kustomize" / "base"
ROLES: Final = ("api", "gateway", "voice", "worker")
WORKERS_MAX: Final = 32
"""Number of different worker numbers that IDs can contain."""
VARIABLE_PATTERN: Final = re.compile(r"\$\{(\w+)(?::[?-][^}]*)?\}")


@functools.cache
def example_env() -> dict[str, str]:
    """Return the variables of the example of `.env`."""
    lines = (DEPLOY / "compose" / "example.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@functools.cache
def compose() -> dict[str, Any]:
    """Return the compose file with the variables of the example."""
    return load_compose(example_env())


def load_compose(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the compose file with the variables of a `.env` file."""
    text = (ROOT / "compose.yaml").read_text()
    document = VARIABLE_PATTERN.sub(lambda match: variables.get(match[1], match[1].lower()), text)
    document_data: dict[str, Any] = yaml.safe_load(document)
    return document_data


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def image_environment() -> dict[str, str]:
    """Return the `HUBBUB_` variables that the image sets."""
    [text] = [argument for name, argument in dockerfile() if name == "ENV"]
    return {name: value for name, value in (pair.split("=", 1) for pair in text.split()) if name.startswith("HUBBUB_")}


def manifests() -> Iterator[dict[str, Any]]:
    """Yield the Kubernetes objects of the base."""
    kustomization = yaml.safe_load((BASE / "kustomization.yaml").read_text())
    for name in kustomization["resources"]:
        yield from yaml.safe_load_all((BASE / name).read_text())


def workload(role: str) -> dict[str, Any]:
    """Return the StatefulSet of a role."""
    [matching_manifests] = [
        each for each in manifests() if each["kind"] == "StatefulSet" and each["metadata"]["name"] == f"hubbub-{role}"
    ]
    return matching_manifests


def pod_environment(role: str) -> dict[str, str]:
    """Return the variables of a role's pods, with example values for those that Kubernetes provides."""
    lines = (BASE / "settings.env").read_text().splitlines()
    environ = image_environment() | dict(line.split("=", 1) for line in lines)
    environ |= yaml.safe_load((DEPLOY / "kustomize" / "secret.example.yaml").read_text())["stringData"]
    provided_variables = {
        "HUBBUB_WORKER": str(workload(role)["spec"]["ordinals"]["start"]),
        "HUBBUB_VOICE_PUBLIC_ADDRESS": "203.0.113.10",
    }
    for each in container(role)["env"]:
        environ[each["name"]] = each["value"] if "value" in each else provided_variables.get(each["name"], "")
    return {name: value for name, value in environ.items() if name.startswith("HUBBUB_")}


def container(role: str) -> dict[str, Any]:
    """Return the container of a role's pods."""
    [containers] = workload(role)["spec"]["template"]["spec"]["containers"]
    assert isinstance(containers, dict)
    return containers


def load_config(environ: dict[str, str], arguments: list[str]) -> settings.Config:
    """Return the configuration that a command line has with these variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        return cli.load_config(cli.build_parser().parse_args(arguments), cli.SERVE_DEFAULTS)


def test_the_image_contains_what_the_build_needs_and_runs_without_privileges() -> None:
    instructions = dockerfile()
    ignored_paths = (ROOT / ".dockerignore").read_text().splitlines()
    for name, argument in instructions:
        if name == "COPY" and not argument.startswith("--from"):
            for source in argument.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in ignored_paths, source
    assert [argument for name, argument in instructions if name == "USER"] == ["10001:10001"]
    assert ("VOLUME", "/data") in instructions
    assert ("ENTRYPOINT", '["hubbub"]') in instructions
    [health] = [argument for name, argument in instructions if name == "HEALTHCHECK"]
    assert "/healthz" in health
    stages = [argument for name, argument in instructions if name == "FROM"]
    assert [stage.split()[0] for stage in stages] == 2 * ["python:3.13-slim"]


def test_the_image_exposes_the_ports_of_its_settings() -> None:
    config = load_config(image_environment(), ["serve"])
    assert (config.data, config.host, config.port) == ("/data", "0.0.0.0", settings.Config().port)
    [exposed_ports] = [argument.split() for name, argument in dockerfile() if name == "EXPOSE"]
    gateway = load_config(image_environment() | compose()["services"]["gateway"]["environment"], ["serve"])
    assert exposed_ports == [f"{config.port}/tcp", f"{gateway.voice.port}/tcp", f"{gateway.voice.udp_port}/udp"]


def test_every_image_of_the_compose_file_has_a_version() -> None:
    images = {service.get("image", "") for service in compose()["services"].values()}
    for image in images - {compose()["services"]["api"].get("image", "")}:
        assert re.search(r":v?\d", image), image


def test_every_setting_of_the_compose_file_exists_and_is_valid() -> None:
    services = compose()["services"]
    configs = [
        load_config(image_environment() | services[name]["environment"], ["serve"]) for name in ("api", "gateway")
    ]
    assert sorted(role for config in configs for role in config.roles) == sorted(ROLES)
    assert len({config.worker for config in configs}) == len(configs)
    for config in configs:
        assert config.public_url == f"https://{example_env()['CHAT_HOST']}"
        assert config.http.trusted_proxies == 1
    for name in ("api", "gateway"):
        service = services[name]
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert int(service["stop_grace_period"].removesuffix("s")) * 1000 > 2 * configs[0].gateway.drain_ms
    assert services["gateway"]["ports"] == [f"{configs[1].voice.udp_port}:{configs[1].voice.udp_port}/udp"]


def test_the_services_of_the_compose_file_find_each_other() -> None:
    document = compose()
    services = document["services"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith("./") else source in document["volumes"], volume
    environment = services["api"]["environment"]
    for service_name, host in (("DATABASE", "postgres"), ("NATS", "nats"), ("FILES", "files")):
        assert re.search(rf"[@/]{host}\b", environment[f"HUBBUB_{service_name}_URL"]), service_name
        assert host in services
    caddy = services["caddy"]["environment"]
    used_variables = set(re.findall(r"\{\$(\w+):", (DEPLOY / "caddy" / "Caddyfile").read_text()))
    assert set(caddy) == used_variables
    assert (caddy["API_ADDRESS"], caddy["GATEWAY_ADDRESS"], caddy["VOICE_ADDRESS"]) == (
        "api:8080",
        "gateway:8080",
        "gateway:8081",
    )
    required_variables = set(VARIABLE_PATTERN.findall((ROOT / "compose.yaml").read_text())) - {"HUBBUB_IMAGE"}
    assert required_variables == set(example_env())


def test_the_systemd_unit_runs_an_existing_command_with_valid_settings(tmp_path: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read(DEPLOY / "systemd" / "hubbub.service")
    program, *arguments = unit["Service"]["ExecStart"].split()
    assert program == "/opt/hubbub/bin/hubbub"
    assert "/opt/hubbub/bin/pip install 'hubbub[server]'" in (ROOT / "docs" / "operating.md").read_text()
    file = arguments[arguments.index("--config") + 1]
    arguments[arguments.index(file)] = str(DEPLOY / "systemd" / Path(file).name)
    config = load_config({}, arguments)
    assert config.data == f"/var/lib/{unit['Service']['StateDirectory']}"
    assert int(unit["Service"]["TimeoutStopSec"]) * 1000 > 2 * config.gateway.drain_ms
    assert config.http.trusted_proxies == 1


@pytest.mark.program("systemd-analyze", version_min=250)
def test_the_systemd_unit_is_hardened() -> None:
    completed = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(DEPLOY / "systemd" / "hubbub.service")],
        capture_output=True,
        text=True,
    )
    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr


def test_the_systemd_unit_allows_the_callbacks_that_calls_of_browsers_need() -> None:
    unit = (DEPLOY / "systemd" / "hubbub.service").read_text()
    assert "\nMemoryDenyWriteExecute" not in unit
    # The callback for certificates is in executable memory, which the setting would forbid.
    assert "ffi.callback" in Path(SSL.__file__).read_text()


def test_the_image_and_the_wheel_require_the_third_party_files() -> None:
    command = "python tools/third_party.py --required"
    assert command in (ROOT / "Dockerfile").read_text()
    assert command in (ROOT / ".github" / "workflows" / "release.yml").read_text()


@pytest.mark.parametrize("role", ROLES)
def test_the_pods_of_a_role_have_valid_settings_and_drain(role: str) -> None:
    config = load_config(pod_environment(role), container(role)["args"])
    assert config.roles == {role}
    assert config.database_url is not None
    assert config.nats_url is not None
    spec = workload(role)["spec"]["template"]["spec"]
    [pause] = [int(part) for part in container(role)["lifecycle"]["preStop"]["exec"]["command"] if part.isdecimal()]
    assert spec["terminationGracePeriodSeconds"] * 1000 > pause * 1000 + 2 * config.gateway.drain_ms
    assert spec["securityContext"]["runAsNonRoot"]
    assert ("USER", f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}") in dockerfile()
    assert container(role)["securityContext"]["readOnlyRootFilesystem"]
    ports = {port["name"]: port["containerPort"] for port in container(role)["ports"]}
    assert ports["http"] == config.port
    if role == "voice":
        assert (ports["voice"], ports["packets"]) == (config.voice.port, config.voice.udp_port)
        assert (config.voice.endpoint or "").endswith(f":{config.voice.port}")


def test_the_worker_numbers_of_pods_are_unique() -> None:
    starts = sorted(workload(role)["spec"]["ordinals"]["start"] for role in ROLES)
    replicas = {workload(role)["spec"]["ordinals"]["start"]: workload(role)["spec"]["replicas"] for role in ROLES}
    for start, next_start in zip(starts, [*starts[1:], WORKERS_MAX], strict=True):
        assert start + replicas[start] <= next_start


def test_every_role_has_a_disruption_budget_and_a_service_for_its_pods() -> None:
    for role in ROLES:
        labels = workload(role)["spec"]["template"]["metadata"]["labels"]
        assert workload(role)["spec"]["selector"]["matchLabels"] == labels
        found_files = {
            each["kind"]: each["spec"]["selector"]
            for each in manifests()
            if each["metadata"]["name"] == f"hubbub-{role}" and each["kind"] != "StatefulSet"
        }
        assert found_files == {"PodDisruptionBudget": {"matchLabels": labels}, "Service": labels}
    [ingress] = [each for each in manifests() if each["kind"] == "Ingress"]
    backends = [path["backend"]["service"]["name"] for path in ingress["spec"]["rules"][0]["http"]["paths"]]
    assert backends == ["hubbub-gateway", "hubbub-api"]


def example_overlay() -> dict[str, Any]:
    """Return the kustomization of the example overlay."""
    overlay: dict[str, Any] = yaml.safe_load((DEPLOY / "kustomize" / "example" / "kustomization.yaml").read_text())
    return overlay


def test_the_example_overlay_changes_what_the_base_contains() -> None:
    overlay = example_overlay()
    assert [(DEPLOY / "kustomize" / "example" / path).resolve() for path in overlay["resources"]] == [BASE]
    names = {(each["kind"], each["metadata"]["name"]) for each in manifests()}
    assert {(patch["target"]["kind"], patch["target"]["name"]) for patch in overlay["patches"]} <= names
    assert {("StatefulSet", each["name"]) for each in overlay["replicas"]} <= names
    [generated_settings] = overlay["configMapGenerator"]
    values = dict(literal.split("=", 1) for literal in generated_settings["literals"])
    host_name = values["HUBBUB_PUBLIC_URL"].removeprefix("https://")
    environ = pod_environment("voice") | values
    [voice_patch] = [
        yaml.safe_load(patch["patch"]) for patch in overlay["patches"] if patch["target"]["kind"] == "StatefulSet"
    ]
    [patched_container] = voice_patch["spec"]["template"]["spec"]["containers"]
    environ |= {each["name"]: each["value"] for each in patched_container["env"] if "value" in each}
    config = load_config(environ, container("voice")["args"])
    assert (config.voice.endpoint or "").endswith(f".voice.{host_name}:{config.voice.port}")
    [ingress_patch] = [
        yaml.safe_load(patch["patch"]) for patch in overlay["patches"] if patch["target"]["kind"] == "Ingress"
    ]
    assert {operation["value"] for operation in ingress_patch} == {host_name}


@pytest.mark.program("kubectl")
@pytest.mark.parametrize("folder", ["base", "example"])
def test_kustomize_builds_pods_whose_references_resolve(folder: str) -> None:
    command = ["kubectl", "kustomize", str(DEPLOY / "kustomize" / folder)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert completed.returncode == 0, completed.stderr
    objects = list(yaml.safe_load_all(completed.stdout))
    assert len(objects) == len(list(manifests())) + 1, "the base and its ConfigMap"
    [settings_name] = [each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"]
    pods = [each["spec"]["template"]["spec"]["containers"][0] for each in objects if each["kind"] == "StatefulSet"]
    assert len(pods) == len(ROLES)
    for pod in pods:
        assert [next(iter(source.values()))["name"] for source in pod["envFrom"]] == [settings_name, "hubbub-secrets"]
        assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+", pod["image"])
        # Kubernetes expands a reference only to a variable that the list contains before.
        earlier_names: set[str] = set()
        for variable in pod["env"]:
            assert set(re.findall(r"\$\((\w+)\)", variable.get("value", ""))) <= earlier_names, variable
            earlier_names.add(variable["name"])


def test_the_workflows_use_existing_targets_and_the_supported_versions() -> None:
    makefile = (ROOT / "Makefile").read_text()
    workflows = {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    assert set(workflows) == {"test.yml", "release.yml"}
    for workflow in workflows.values():
        for job in workflow["jobs"].values():
            for step in job.get("steps", ()):
                for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
                    assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
                # Every action has a version, except that of this repository.
                assert step.get("uses", "./") == "./" or re.fullmatch(r"[\w./-]+@[\w./]+", step["uses"]), step
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = workflows["test.yml"]["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert project["requires-python"] == f">={versions[0]}"
    prefix = "Programming Language :: Python :: "
    classifiers = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(f"{prefix}3.")]
    assert classifiers == versions
    publish = workflows["release.yml"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert set(publish["needs"]) == {"test", "build"}
    # The release runs the tests as a reusable workflow.
    assert workflows["release.yml"]["jobs"]["test"]["uses"] == "./.github/workflows/test.yml"
