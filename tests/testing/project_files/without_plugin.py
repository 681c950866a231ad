"""Tests that do not use Hubbub's pytest plugin: loading the plugin imports nothing else.

`test_plugin.py` runs this file in a separate process."""

import sys

import pytest


def test_an_unused_plugin_imports_only_itself() -> None:
    hubbub_modules = sorted(name for name in sys.modules if name.partition(".")[0] == "hubbub")
    assert hubbub_modules == ["hubbub", "hubbub.testing", "hubbub.testing.plugin"]
    assert not {"aiohttp", "msgspec"} & set(sys.modules)


def test_the_marker_is_known(pytestconfig: pytest.Config) -> None:
    assert [line for line in pytestconfig.getini("markers") if line.startswith("hubbub(")]
