"""The Grafana dashboard and the alert rules use only metrics and labels that a running server has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from hubbub.server.app import App
from hubbub.server.core.config import Config
from hubbub.server.core.metric_families import CounterFamily, HistogramFamily

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "hubbub.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"

METRIC_PATTERN = re.compile(r"\b(?:hubbub|process)_[a-z_]+\b")
GROUPING_PATTERN = re.compile(r"\bby \(([^)]*)\)")
SELECTOR_PATTERN = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)\s*\"")
TARGET_LABELS = {"instance", "job", "le"}
"""Labels that Prometheus adds, and the bound of a bucket."""


def find_panels(panels: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        yield panel
        yield from find_panels(panel.get("panels", []))


def dashboard_expressions() -> list[str]:
    dashboard = json.loads(DASHBOARD.read_text())
    panels = find_panels(dashboard["panels"])
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    return expressions + [
        variable["definition"] for variable in dashboard["templating"]["list"] if "definition" in variable
    ]


def alert_expressions() -> list[str]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


@pytest.fixture
async def metrics() -> tuple[set[str], set[str]]:
    """The names of all samples, and of all labels, of a running server."""
    app = App(Config(port=0))
    await app.start()
    async with aiohttp.ClientSession() as client, client.get(f"{app.config.web_url}/metrics") as response:
        text = await response.text()
    await app.stop()
    names: set[str] = set()
    for family in text_string_to_metric_families(text):
        suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "info": ("_info",)}
        names |= {family.name + suffix for suffix in suffixes.get(family.type, ("",))}
        names |= {sample.name for sample in family.samples}
    label_names = {label for metric in vars(app.metrics).values() for label in _label_names(metric)}
    return names, label_names


def _label_names(metric: Any) -> tuple[str, ...]:
    if isinstance(metric, CounterFamily | HistogramFamily):
        return metric.labels
    return getattr(metric, "_labelnames", ())


@pytest.mark.parametrize("expressions", [dashboard_expressions(), alert_expressions()], ids=["dashboard", "alerts"])
async def test_every_metric_and_label_exists(metrics: tuple[set[str], set[str]], expressions: list[str]) -> None:
    names, label_names = metrics
    used_names = {name for expression in expressions for name in METRIC_PATTERN.findall(expression)}
    assert len(used_names) > 5
    assert used_names - names == set()
    used_labels = {
        label.strip()
        for expression in expressions
        for labels in GROUPING_PATTERN.findall(expression)
        for label in labels.split(",")
    }
    used_labels |= {label for expression in expressions for label in SELECTOR_PATTERN.findall(expression)}
    assert used_labels - label_names - TARGET_LABELS == set()


async def test_the_dashboard_shows_every_metric_of_the_server_except_some(metrics: tuple[set[str], set[str]]) -> None:
    used_text = " ".join(dashboard_expressions())
    families = {re.sub(r"_(total|bucket|sum|count|created)$", "", name) for name in metrics[0] if "hubbub_" in name}
    assert {family for family in families if family not in used_text} == {
        "hubbub_bus_published",
        "hubbub_bus_received",
        "hubbub_gateway_resumes",
        "hubbub_spans_exported",
        "hubbub_voice_packets",
    }


def test_the_dashboard_has_a_row_for_each_golden_signal() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    rows = [panel["title"] for panel in dashboard["panels"] if panel["type"] == "row"]
    assert rows == ["Latency", "Traffic", "Errors", "Saturation"]
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in panels:
        assert panel["description"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        grid_position = panel["gridPos"]
        assert grid_position["x"] + grid_position["w"] <= 24


def test_panels_of_errors_say_that_there_are_none() -> None:
    panels = list(find_panels(json.loads(DASHBOARD.read_text())["panels"]))
    titles = [panel["title"] for panel in panels if panel["type"] == "row"]
    rows = [panels.index(panel) for panel in panels if panel["title"] in ("Errors", titles[titles.index("Errors") + 1])]
    for panel in panels[rows[0] + 1 : rows[1]]:
        # Prometheus has no series of an error that has not occurred yet.
        expressions = [target["expr"] for target in panel["targets"]]
        assert panel["fieldConfig"]["defaults"].get("noValue") or all("or vector(0)" in each for each in expressions), (
            panel["title"]
        )


def test_every_alert_explains_itself() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]
