"""The parity report: operations that are described, served and exercised by tests."""

import json
from pathlib import Path

import pytest

from hubbub.server import cli
from hubbub.server.core.endpoints import EndpointTable
from hubbub.server.parity import (
    DescribedOperation,
    RecordedResponse,
    build_rows,
    operation_key,
    render_page,
    summary,
    undescribed_endpoints,
)
from tests.contract import public_api
from tests.fixtures.validator import TrafficFile

GET_USER = DescribedOperation("get_user", "GET", "/users/{id}")
CREATE_ROLE = DescribedOperation("create_guild_role", "POST", "/guilds/{g}/roles")
UNKNOWN_OPERATION = DescribedOperation("fly", "POST", "/users/{user_id}/fly")
LIST_ROLES = DescribedOperation("list_guild_roles", "GET", "/guilds/{guild_id}/roles")


def test_parameter_names_do_not_matter() -> None:
    assert operation_key("get", "/users/{user_id}/x/{b}") == operation_key("GET", "/users/{u}/x/{other}")
    assert operation_key("get", "/users/{user_id}") != operation_key("get", "/users/@me")


def test_each_operation_has_a_slice_a_state_and_tests(full_table: EndpointTable) -> None:
    traffic = [
        RecordedResponse("get_user", 200, True, "tests/server/test_b.py::test_two"),
        RecordedResponse("get_user", 200, True, "tests/server/test_a.py::test_one"),
        RecordedResponse("get_user", 404, True, "tests/server/test_a.py::test_none"),
        RecordedResponse("create_guild_role", 403, True, "tests/server/test_a.py::test_rejected"),
        # A response that does not match the description does not count.
        RecordedResponse("create_guild_role", 200, False, "tests/server/test_a.py::test_other"),
        RecordedResponse("list_guild_roles", 200, False, "tests/server/test_a.py::test_wrong"),
    ]

    rows = build_rows([GET_USER, CREATE_ROLE, UNKNOWN_OPERATION, LIST_ROLES], full_table, traffic)

    assert [row.state for row in rows] == ["exercised", "errors only", "not served", "not exercised"]
    assert [row.endpoint.tag if row.endpoint else None for row in rows] == ["users", "roles", None, "roles"]
    assert rows[0].tests == ["tests/server/test_a.py::test_one", "tests/server/test_b.py::test_two"]
    assert summary(rows) == "4 operations described, 3 served, 1 exercised by a test with a valid response"
    page = render_page(rows, [], with_traffic=True)
    assert "| get_user | GET /users/{id} | users | exercised | `server/test_a.py` test_one and 1 more |" in page
    assert "| fly | POST /users/{user_id}/fly |  | not served |  |" in page


def test_operations_without_a_description_are_listed(full_table: EndpointTable) -> None:
    undescribed_names = {endpoint.name for endpoint in undescribed_endpoints([GET_USER], full_table)}

    assert "get_user" not in undescribed_names
    assert "create_guild" in undescribed_names


def test_the_command_reads_the_files_it_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    description = {"paths": {"/users/{x}": {"get": {"operationId": "get_user"}, "parameters": []}}}
    (tmp_path / "openapi.json").write_text(json.dumps(description))
    line = {"operation": "get_user", "status": 200, "is_valid": True, "test": "tests/a.py::test_it"}
    (tmp_path / "traffic").write_text(json.dumps(line) + "\n")
    output = tmp_path / "docs" / "parity.md"

    code = cli.main(
        [
            "parity",
            str(tmp_path / "openapi.json"),
            *("--traffic", str(tmp_path / "traffic")),
            *("--output", str(output)),
        ]
    )

    assert code == 0
    assert "1 operations described, 1 served, 1 exercised" in capsys.readouterr().out
    assert "`a.py` test_it" in output.read_text()


def test_the_command_names_a_file_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["parity", str(tmp_path / "missing.json")]) == 1
    assert "missing.json" in capsys.readouterr().err


def test_traffic_has_one_line_for_each_distinct_response_of_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/x.py::test_name[sqlite-2] (call)")
    traffic = TrafficFile(str(tmp_path / "traffic"))

    traffic.write("get_user", 200, True)
    traffic.write("get_user", 200, True)
    traffic.write("get_user", 404, True)

    lines = [json.loads(line) for line in (tmp_path / "traffic").read_text().splitlines()]
    assert [(line["status"], line["test"]) for line in lines] == [
        (200, "tests/x.py::test_name"),
        (404, "tests/x.py::test_name"),
    ]


def test_every_public_operation_is_served_at_its_public_path(full_table: EndpointTable) -> None:
    described_operations = {
        operation["operationId"]: operation_key(method, path)
        for path, item in public_api.document()["paths"].items()
        for method, operation in item.items()
    }
    served_operations = {
        endpoint.name: operation_key(endpoint.operation.method, endpoint.operation.path) for endpoint in full_table
    }
    common = served_operations.keys() & described_operations.keys()

    assert {name: served_operations[name] for name in common} == {name: described_operations[name] for name in common}
    assert {*described_operations.values()} <= {*served_operations.values()}
