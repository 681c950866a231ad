"""Tests that share one world (`hubbub_scope = module`). `test_plugin.py` runs this file in a separate project."""

import pytest

from hubbub.testing import Platform

pytestmark = pytest.mark.hubbub(now="2031-05-01T12:00:00Z")


def test_one_test_sends_a_message(hubbub: Platform) -> None:
    hubbub.users["alice"].send_message("general", "hello")


def test_the_next_test_reads_the_message(hubbub: Platform) -> None:
    [message] = hubbub.users["bob"].read("general")
    assert message["content"] == "hello"
    assert message["timestamp"].startswith("2031-05-01T12:0")
