"""With hubbub_scope = module: one world for all tests of a file."""

import pytest

from hubbub.testing import Platform

pytestmark = pytest.mark.hubbub(now="2031-05-01T12:00:00Z")


def test_one_says_something(hubbub: Platform) -> None:
    hubbub.users["alice"].say("general", "hello")


def test_the_next_one_reads_it(hubbub: Platform) -> None:
    [message] = hubbub.users["bob"].read("general")
    assert message["content"] == "hello"
    assert message["timestamp"].startswith("2031-05-01T12:0")
