"""The parity report: which operations of the public API description are served, by which slice, and which are tested.

Nothing in it is maintained by hand. The described operations come from the given file, the served ones from the
operation table, and the tested ones from the traffic recorded by a test run (`make parity`)."""

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
"""A method and a path with unnamed parameters, since our parameter names may differ from the description's."""


class Seen(msgspec.Struct, frozen=True):
    """One response recorded by a test, as a line of the traffic file."""

    operation: str
    """The operation id."""
    status: int
    valid: bool | None
    """Whether the response matches the public description; None if the description was not available."""
    test: str


class Described(NamedTuple):
    """One operation of the public API description."""

    id: str
    method: str
    path: str


class Line(NamedTuple):
    """One operation in the report."""

    described: Described
    endpoint: Endpoint | None
    tests: list[str]
    """Tests that got a success response that matches the description."""
    refused: bool
    """Whether a test got an error response that matches the description."""

    @property
    def state(self) -> str:
        """The state of the operation."""
        if self.endpoint is None:
            return "not served"
        if self.tests:
            return "exercised"
        return "errors only" if self.refused else "not exercised"


def run(arguments: argparse.Namespace) -> int:
    """Print the totals and the gaps, and write the report."""
    from hubbub.server.app import SLICES

    described = read_description(Path(arguments.openapi))
    traffic = read_traffic(Path(arguments.traffic)) if arguments.traffic else []
    table = Table(SLICES)
    rows = ledger(described, table, traffic)
    extra = served_beyond(described, table)
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page(rows, extra, with_traffic=bool(traffic)))
    print(summary(rows))
    for row in rows:
        if row.state != "exercised":
            print(f"  {row.state}: {row.described.method} {row.described.path} ({row.described.id})")
    print(f"Report written to {output}")
    return 0


def read_description(file: Path) -> list[Described]:
    """Read the operations of an OpenAPI file, in its order."""
    paths: dict[str, dict[str, Any]] = wire.decode(file.read_bytes(), dict[str, Any])["paths"]
    return [
        Described(operations[method]["operationId"], method.upper(), path)
        for path, operations in paths.items()
        for method in METHODS
        if method in operations
    ]


def read_traffic(file: Path) -> list[Seen]:
    """Read the responses recorded by a test run."""
    return [wire.decode(line, Seen) for line in file.read_bytes().splitlines() if line]


def place(method: str, path: str) -> Place:
    """Return the key of an operation, independent of its parameter names."""
    return method.upper(), _PARAMETER.sub("{}", path)


def ledger(described: Iterable[Described], table: Iterable[Endpoint], traffic: Iterable[Seen]) -> list[Line]:
    """Combine the described operations with the endpoints that serve them and the tests that covered them."""
    served: Mapping[Place, Endpoint] = {
        place(endpoint.operation.method, endpoint.operation.path): endpoint for endpoint in table
    }
    succeeded: dict[str, set[str]] = {}
    rejected: set[str] = set()
    for response in traffic:
        if response.valid is not True:
            continue
        if response.status < 400:
            succeeded.setdefault(response.operation, set()).add(response.test)
        else:
            rejected.add(response.operation)
    rows = []
    for operation in described:
        endpoint = served.get(place(operation.method, operation.path))
        name = endpoint.name if endpoint is not None else ""
        rows.append(Line(operation, endpoint, sorted(succeeded.get(name, ())), name in rejected))
    return rows


def served_beyond(described: Iterable[Described], table: Iterable[Endpoint]) -> list[Endpoint]:
    """Return the endpoints that the public description does not contain: first-party operations and older forms."""
    known = {place(operation.method, operation.path) for operation in described}
    found = [endpoint for endpoint in table if place(endpoint.operation.method, endpoint.operation.path) not in known]
    return sorted(found, key=lambda endpoint: (endpoint.operation.path, endpoint.operation.method))


def summary(rows: list[Line]) -> str:
    """Return the totals in one sentence."""
    served = sum(row.endpoint is not None for row in rows)
    exercised = sum(bool(row.tests) for row in rows)
    return f"{len(rows)} operations described, {served} served, {exercised} exercised by a test with a valid response"


def page(rows: list[Line], extra: list[Endpoint], *, with_traffic: bool) -> str:
    """Render the report as Markdown."""
    parts = [
        "# Parity with the public description",
        "",
        "Generated by `make parity` (`hubbub parity OPENAPI.json --traffic FILE`) from the operation table and the recorded",
        "traffic of the tests; do not edit. *Exercised* means that the named test got a success response that matches the",
        "public description (if there are several, one is named).",
        "",
        f"**{summary(rows)}.**" if with_traffic else f"**{summary(rows)} (without recorded traffic).**",
        "",
        "| Operation | Method and path | Slice | State | Test |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        described = row.described
        slice_ = row.endpoint.tag if row.endpoint is not None else ""
        test = _describe_tests(row.tests)
        parts.append(f"| {described.id} | {described.method} {described.path} | {slice_} | {row.state} | {test} |")
    parts += ["", "## Additional operations", "", "| Operation | Method and path | Slice |", "|---|---|---|"]
    parts += [
        f"| {endpoint.name} | {endpoint.operation.method} {endpoint.operation.path} | {endpoint.tag} |"
        for endpoint in extra
    ]
    return "\n".join(parts) + "\n"


def _describe_tests(tests: list[str]) -> str:
    if not tests:
        return ""
    file, _, name = tests[0].partition("::")
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"`{file.removeprefix('tests/')}` {name}{more}"
