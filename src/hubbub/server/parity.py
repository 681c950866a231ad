"""The parity report: the operations of the public API description, with the slices that serve them and the tests that cover them.

No part of the report is maintained by hand. The described operations come from the given file, the served ones from the
operation table, and the tested ones from the traffic recorded by a test run (`make parity`)."""

import argparse
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.endpoints import Endpoint, EndpointTable

METHODS: Final = ("get", "post", "put", "patch", "delete")

_PARAMETER_PATTERN = re.compile(r"\{[^}]*\}")

OperationKey = tuple[str, str]
"""A method and a path with unnamed parameters, since our parameter names may differ from the description's."""


class RecordedResponse(msgspec.Struct, frozen=True):
    """One response recorded by a test, as a line of the traffic file."""

    operation: str
    """The operation ID."""
    status: int
    is_valid: bool
    """Whether the response matches the public description."""
    test: str
    """The ID of the test in pytest."""


class DescribedOperation(NamedTuple):
    """One operation of the public API description."""

    id: str
    method: str
    path: str


class ParityRow(NamedTuple):
    """One described operation in the report, with its endpoint and tests."""

    operation: DescribedOperation
    endpoint: Endpoint | None
    """The endpoint that serves the operation; None if it is not served."""
    tests: list[str]
    """Tests that got a success response that matches the description."""
    has_error: bool
    """Whether a test got an error response that matches the description."""

    @property
    def state(self) -> str:
        """The state of the operation: not served, exercised, errors only, or not exercised."""
        if self.endpoint is None:
            return "not served"
        if self.tests:
            return "exercised"
        return "errors only" if self.has_error else "not exercised"


def run(arguments: argparse.Namespace) -> int:
    """Print the totals and the gaps, and write the report."""
    from hubbub.server.composition import SLICES

    described_operations = read_description(Path(arguments.openapi))
    traffic = read_traffic(Path(arguments.traffic)) if arguments.traffic else []
    endpoint_table = EndpointTable(SLICES)
    rows = build_rows(described_operations, endpoint_table, traffic)
    additional_endpoints = undescribed_endpoints(described_operations, endpoint_table)
    output = Path(arguments.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(render_page(rows, additional_endpoints, with_traffic=bool(traffic)))
    print(summary(rows))
    for row in rows:
        if row.state != "exercised":
            print(f"  {row.state}: {row.operation.method} {row.operation.path} ({row.operation.id})")
    print(f"Report written to {output}")
    return 0


def read_description(file: Path) -> list[DescribedOperation]:
    """Read the operations of an OpenAPI file, in its order."""
    paths: dict[str, dict[str, Any]] = codec.decode(file.read_bytes(), dict[str, Any])["paths"]
    return [
        DescribedOperation(operations[method]["operationId"], method.upper(), path)
        for path, operations in paths.items()
        for method in METHODS
        if method in operations
    ]


def read_traffic(file: Path) -> list[RecordedResponse]:
    """Read the responses recorded by a test run."""
    return [codec.decode(line, RecordedResponse) for line in file.read_bytes().splitlines() if line]


def operation_key(method: str, path: str) -> OperationKey:
    """Return the key of an operation, independent of its parameter names."""
    return method.upper(), _PARAMETER_PATTERN.sub("{}", path)


def build_rows(
    described_operations: Iterable[DescribedOperation],
    endpoint_table: Iterable[Endpoint],
    traffic: Iterable[RecordedResponse],
) -> list[ParityRow]:
    """Combine the described operations with the endpoints that serve them and the tests that covered them."""
    endpoints_by_key: Mapping[OperationKey, Endpoint] = {
        operation_key(endpoint.operation.method, endpoint.operation.path): endpoint for endpoint in endpoint_table
    }
    tests_by_operation: dict[str, set[str]] = {}
    operations_with_errors: set[str] = set()
    for response in traffic:
        if not response.is_valid:
            continue
        if response.status < 400:
            tests_by_operation.setdefault(response.operation, set()).add(response.test)
        else:
            operations_with_errors.add(response.operation)
    rows = []
    for operation in described_operations:
        endpoint = endpoints_by_key.get(operation_key(operation.method, operation.path))
        name = endpoint.name if endpoint is not None else ""
        rows.append(
            ParityRow(operation, endpoint, sorted(tests_by_operation.get(name, ())), name in operations_with_errors)
        )
    return rows


def undescribed_endpoints(
    described_operations: Iterable[DescribedOperation], endpoint_table: Iterable[Endpoint]
) -> list[Endpoint]:
    """Return the endpoints that the public description does not contain: first-party operations and older forms."""
    described_keys = {operation_key(operation.method, operation.path) for operation in described_operations}
    endpoints = [
        endpoint
        for endpoint in endpoint_table
        if operation_key(endpoint.operation.method, endpoint.operation.path) not in described_keys
    ]
    return sorted(endpoints, key=lambda endpoint: (endpoint.operation.path, endpoint.operation.method))


def summary(rows: list[ParityRow]) -> str:
    """Return the totals in one sentence."""
    served_count = sum(row.endpoint is not None for row in rows)
    exercised_count = sum(bool(row.tests) for row in rows)
    return f"{len(rows)} operations described, {served_count} served, {exercised_count} exercised by a test with a valid response"


def render_page(rows: list[ParityRow], additional_endpoints: list[Endpoint], *, with_traffic: bool) -> str:
    """Render the report as Markdown."""
    lines = [
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
        operation = row.operation
        tag = row.endpoint.tag if row.endpoint is not None else ""
        test = _describe_tests(row.tests)
        lines.append(f"| {operation.id} | {operation.method} {operation.path} | {tag} | {row.state} | {test} |")
    lines += ["", "## Additional operations", "", "| Operation | Method and path | Slice |", "|---|---|---|"]
    lines += [
        f"| {endpoint.name} | {endpoint.operation.method} {endpoint.operation.path} | {endpoint.tag} |"
        for endpoint in additional_endpoints
    ]
    return "\n".join(lines) + "\n"


def _describe_tests(tests: list[str]) -> str:
    if not tests:
        return ""
    file, _, name = tests[0].partition("::")
    suffix = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return f"`{file.removeprefix('tests/')}` {name}{suffix}"
