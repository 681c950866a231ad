"""The parity ledger: which operations of the public description are served, by which slice, and which test has seen them answer.

Nothing of it is kept by hand. What is described is read from the file that the caller names, what is served from the operation
table, and what was exercised from the traffic that a run of the tests recorded (`make parity`)."""

import argparse
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import wire
from hubbub.server.core.dispatch import Endpoint, Table

METHODS: Final = ("get", "post", "put", "patch", "delete")
OUTPUT: Final = "docs/parity.md"

_PARAMETER = re.compile(r"\{[^}]*\}")

Place = tuple[str, str]
"""A method and a path whose parameters have no names, since ours need not be called like the description's."""


class Seen(msgspec.Struct, frozen=True):
    """One answer that a test saw, as a line of the traffic file."""

    operation: str
    """Our id of the operation."""
    status: int
    valid: bool | None
    """Whether it fits the public description; None where that was not at hand."""
    test: str


class Described(NamedTuple):
    """One operation of the public description."""

    id: str
    method: str
    path: str


class Line(NamedTuple):
    """One operation in the ledger."""

    described: Described
    endpoint: Endpoint | None
    tests: list[str]
    """Those that saw a success which fits the description."""
    refused: bool
    """Whether a test saw it refuse, in words that fit the description."""

    @property
    def state(self) -> str:
        """How far it is."""
        if self.endpoint is None:
            return "not served"
        if self.tests:
            return "exercised"
        return "refusals only" if self.refused else "not exercised"


def run(arguments: argparse.Namespace) -> int:
    """Print the ledger's sums and what is missing, and write the whole of it."""
    from hubbub.server.app import SLICES

    described = read_description(Path(arguments.openapi))
    traffic = read_traffic(Path(arguments.traffic)) if arguments.traffic else []
    table = Table(SLICES)
    lines = ledger(described, table, traffic)
    beyond = served_beyond(described, table)
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(lines, beyond, with_traffic=bool(traffic)))
    print(summary(lines))
    for line in lines:
        if line.state != "exercised":
            print(f"  {line.state}: {line.described.method} {line.described.path} ({line.described.id})")
    print(f"written to {output}")
    return 0


def read_description(file: Path) -> list[Described]:
    """The operations of an OpenAPI file, in its order."""
    paths: dict[str, dict[str, Any]] = wire.decode(file.read_bytes(), dict[str, Any])["paths"]
    return [
        Described(operations[method]["operationId"], method.upper(), path)
        for path, operations in paths.items()
        for method in METHODS
        if method in operations
    ]


def read_traffic(file: Path) -> list[Seen]:
    """What the tests of a run saw."""
    return [wire.decode(line, Seen) for line in file.read_bytes().splitlines() if line]


def place(method: str, path: str) -> Place:
    """Where an operation is found, whatever its parameters are called."""
    return method.upper(), _PARAMETER.sub("{}", path)


def ledger(described: Iterable[Described], table: Iterable[Endpoint], traffic: Iterable[Seen]) -> list[Line]:
    """The described operations with who serves them and who has seen them."""
    served: Mapping[Place, Endpoint] = {place(each.operation.method, each.operation.path): each for each in table}
    succeeded: dict[str, set[str]] = {}
    refused: set[str] = set()
    for seen in traffic:
        if seen.valid is not True:
            continue
        if seen.status < 400:
            succeeded.setdefault(seen.operation, set()).add(seen.test)
        else:
            refused.add(seen.operation)
    lines = []
    for each in described:
        endpoint = served.get(place(each.method, each.path))
        name = endpoint.name if endpoint is not None else ""
        lines.append(Line(each, endpoint, sorted(succeeded.get(name, ())), name in refused))
    return lines


def served_beyond(described: Iterable[Described], table: Iterable[Endpoint]) -> list[Endpoint]:
    """What we serve and the public description does not name: first-party operations, older forms."""
    known = {place(each.method, each.path) for each in described}
    found = [each for each in table if place(each.operation.method, each.operation.path) not in known]
    return sorted(found, key=lambda each: (each.operation.path, each.operation.method))


def summary(lines: list[Line]) -> str:
    """The sums in one sentence."""
    served = sum(line.endpoint is not None for line in lines)
    exercised = sum(bool(line.tests) for line in lines)
    return f"{len(lines)} operations described, {served} served, {exercised} exercised by a test with a valid answer"


def page(lines: list[Line], beyond: list[Endpoint], *, with_traffic: bool) -> str:
    """The ledger as a page."""
    parts = [
        "# Parity with the public description",
        "",
        "Made by `make parity` (`hubbub parity OPENAPI.json --traffic FILE`) from the operation table and the traffic of the",
        "tests; do not edit. *Exercised* means that the named test got a success whose shape the public description allows",
        "(of several tests, one is named).",
        "",
        f"**{summary(lines)}.**" if with_traffic else f"**{summary(lines)} (no traffic was read).**",
        "",
        "| Operation | Method and path | Slice | State | Test |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        described = line.described
        slice_ = line.endpoint.tag if line.endpoint is not None else ""
        test = _named(line.tests)
        parts.append(f"| {described.id} | {described.method} {described.path} | {slice_} | {line.state} | {test} |")
    parts += ["", "## Served beyond it", "", "| Operation | Method and path | Slice |", "|---|---|---|"]
    parts += [f"| {each.name} | {each.operation.method} {each.operation.path} | {each.tag} |" for each in beyond]
    return "\n".join(parts) + "\n"


def _named(tests: list[str]) -> str:
    if not tests:
        return ""
    file, _, name = tests[0].partition("::")
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"`{file.removeprefix('tests/')}` {name}{more}"
