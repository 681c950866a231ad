"""Tests that do not use the plugin."""

import sys

import pytest


def test_the_plugin_imports_nothing_when_unused() -> None:
    hubbub_modules = sorted(name for name in sys.modules if name.partition(".")[0] == "hubbub")
    assert hubbub_modules == ["hubbub", "hubbub.testing", "hubbub.testing.plugin"]
    assert not {"aiohttp", "msgspec"} & set(sys.modules)


def test_the_marker_is_known(pytestconfig: pytest.Config) -> None:
    assert [line for line in pytestconfig.getini("markers") if line.startswith("hubbub(")]
