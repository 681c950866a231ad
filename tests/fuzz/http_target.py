"""Fuzzing of the HTTP API: requests for every operation, from valid ones to broken bytes."""

import base64
import json
import random
from typing import Any, Self
from urllib.parse import quote, urlencode

from hubbub.protocol.operation import Auth
from hubbub.server.core.endpoints import Endpoint
from tests.fixtures.validator import find_undeclared
from tests.fuzz.mutations import encode_json, mutate_value, mutate_wire
from tests.fuzz.platform import Platform
from tests.fuzz.recipes import ValidRequest, build_request
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget, InvalidResponse
from tests.fuzz.values import IDS, TEXTS, ObjectPool, ValueSource
from tests.fuzz.wire import WireClient, WireRequest, WireResponse
from tests.world import Actor, ApiResponse

DESTRUCTIVE_OPERATIONS = frozenset(
    {
        "administratively_delete_application",
        "administratively_delete_guild",
        "auth_logout",
        "delete_account",
        "delete_application",
        "delete_auth_session",
        "delete_guild",
        "delete_guild_integration",
        "delete_guild_member",
        "delete_oauth2_authorization",
        "delete_other_auth_sessions",
        "delete_user",
        "disable_application",
        "end_session",
        "end_user_sessions",
        "leave_guild",
        "remove_operator",
        "reset_bot_token",
        "set_feature",
        "set_operator",
        "suspend_guild",
        "suspend_user",
        "transfer_guild",
    }
)
"""Operations that act only on the objects of their recipe, because other requests need the shared objects."""

SLOW_OPERATIONS = frozenset({"claim_placeholder"})
"""Operations with a slow recipe, which `start` uses and `step` does not."""

MINIMIZATION_REQUESTS_MAX = 60

QUERY_ITEMS_MAX = 105
"""Number of values that a query repeats for one parameter; no limit of a parameter is larger than 100."""


class HttpTarget(FuzzTarget):
    """Sends requests to the HTTP API."""

    name = "http"

    def __init__(self, platform: Platform, rng: random.Random, report: Report) -> None:
        super().__init__(platform, rng, report)
        self.endpoints = sorted(platform.world.app.table, key=lambda endpoint: endpoint.name)
        if self.name == HttpTarget.name:
            report.operations |= {endpoint.name for endpoint in self.endpoints}
        self._client = WireClient(*platform.address)
        self._pool = ObjectPool(rng)
        self._value_source = ValueSource(rng, self._pool)
        self._valid_requests: dict[str, ValidRequest] = {}
        """The last valid request of each operation."""
        self._remaining_endpoints: list[Endpoint] = []
        self._created_parameters = _created_parameters(self.endpoints)
        self._last_request: tuple[Endpoint, WireRequest, dict[str, Any]] | None = None
        self._is_mutated = False
        """Whether bytes of the last request were mutated, so that it may belong to another operation."""

    async def start(self) -> None:
        """Send the valid request of every operation: first those that read, last those that delete."""
        for name, value in self.platform.prepared_guild.object_ids.items():
            self._pool.add(name, value)
        for caller in self.platform.callers.values():
            if caller is not None:
                self._pool.add("user_id", str(caller.id))
        self.random.shuffle(self.endpoints)
        for endpoint in sorted(self.endpoints, key=_method_order):
            await self._send_valid(endpoint)

    def clone(self, rng: random.Random) -> Self:
        """Return a target with its own connection, which shares the pool and the valid requests."""
        target = super().clone(rng)
        target._pool, target._valid_requests = self._pool, self._valid_requests
        target._value_source = ValueSource(rng, self._pool)
        return target

    async def step(self) -> None:
        """Send a request for the next operation."""
        if not self._remaining_endpoints:
            self._remaining_endpoints = self.random.sample(self.endpoints, len(self.endpoints))
        endpoint = self._remaining_endpoints.pop()
        choice = self.random.random()
        if choice < 0.02 and endpoint.name not in SLOW_OPERATIONS:
            await self._send_valid(endpoint)
            return
        valid_request = self._valid_requests.get(endpoint.name) or ValidRequest(
            self.platform.owner, self._path_values(endpoint)
        )
        path_values, query, body, multipart = (
            dict(valid_request.values),
            dict(valid_request.query),
            valid_request.body,
            valid_request.multipart,
        )
        if choice < 0.45:
            body, multipart = self._generate_body(endpoint, body, multipart)
            query = self._generate_query(endpoint, query)
            if endpoint.name not in DESTRUCTIVE_OPERATIONS and self.random.random() < 0.5:
                path_values = self._path_values(endpoint)
        elif choice < 0.9:
            part_choice = self.random.randrange(10)
            if part_choice < 6 and body is not None:
                body = mutate_value(body, self.random)
            elif part_choice < 8:
                query = self._mutate_query(endpoint, query)
            elif endpoint.operation.parameters and endpoint.name not in DESTRUCTIVE_OPERATIONS:
                path_values = self._mutate_path(endpoint, path_values)
        caller_kind, caller = self._choose_caller(endpoint, valid_request)
        wire = await self._encode(endpoint, caller, path_values, query, body, multipart, valid_request.headers)
        self._is_mutated = choice >= 0.9 or self.random.random() < 0.03
        if self._is_mutated:
            wire = mutate_wire(wire, self.random)
        await self._send(endpoint, wire, {"caller": caller_kind, "values": valid_request.values})

    async def replay(self, stored_input: Any) -> None:
        """Send a stored request, with the IDs of this platform."""
        endpoint = next(endpoint for endpoint in self.endpoints if endpoint.name == stored_input["operation"])
        valid_request = await build_request(self.platform, endpoint)
        replacements = {f"${{{name}}}": value for name, value in self.platform.prepared_guild.object_ids.items()}
        replacements |= {f"${{{name}}}": str(value) for name, value in valid_request.values.items()}

        def fill(text: str) -> str:
            for name, value in replacements.items():
                text = text.replace(name, quote(value, safe=""))
            return text

        body = (
            base64.b64decode(stored_input["base64"])
            if "base64" in stored_input
            else fill(stored_input["body"]).encode()
        )
        caller = (
            valid_request.caller
            if stored_input["caller"] == "recipe"
            else self.platform.callers[stored_input["caller"]]
        )
        headers = [(name, value) for name, value in stored_input["headers"]]
        if caller is not None:
            headers.append(("Authorization", caller.header))
        wire = WireRequest(
            stored_input["method"], fill(stored_input["target"]), headers, body, stored_input["is_truncated"]
        )
        await self._send(endpoint, wire, {"caller": stored_input["caller"], "values": valid_request.values})

    async def close(self) -> None:
        """Close the connection."""
        self._client.close()

    # Building requests

    async def _send_valid(self, endpoint: Endpoint) -> None:
        """Build a new valid request and send it."""
        self._is_mutated = False
        try:
            valid_request = await build_request(self.platform, endpoint)
        except (AssertionError, ConnectionError):
            # Earlier requests changed an object or closed a session that the recipe needs, or a limit is reached.
            self.report.outcome_counts["http recipe failed"] += 1
            return
        self._valid_requests[endpoint.name] = valid_request
        for name, value in valid_request.values.items():
            self._pool.add(name, str(value))
        multipart = None if valid_request.multipart is None else await _multipart_bytes(valid_request.multipart)
        valid_request.multipart = multipart  # type: ignore[assignment]
        wire = await self._encode(
            endpoint,
            valid_request.caller,
            valid_request.values,
            valid_request.query,
            valid_request.body,
            multipart,
            valid_request.headers,
            is_exact=True,
        )
        await self._send(endpoint, wire, {"caller": "recipe", "values": valid_request.values})

    async def _encode(
        self,
        endpoint: Endpoint,
        caller: Actor | None,
        values: dict[str, str],
        query: dict[str, Any],
        body: Any,
        multipart: Any,
        extra_headers: dict[str, str],
        *,
        is_exact: bool = False,
    ) -> WireRequest:
        operation = endpoint.operation
        path = operation.url(**{name: _quote(value) for name, value in values.items()})
        target = f"/api/v10{path}" + (f"?{_encode_query(query)}" if query else "")
        headers = list(extra_headers.items())
        if caller is not None:
            headers.append(("Authorization", caller.header))
        body_bytes = b""
        if multipart is not None:
            content_type, body_bytes = multipart
            headers.append(("Content-Type", content_type))
        elif operation.is_form:
            headers.append(("Content-Type", "application/x-www-form-urlencoded"))
            body_bytes = _encode_query(body if isinstance(body, dict) else {"a": body}).encode()
        elif body is not None and operation.body is not type(None):
            headers.append(("Content-Type", "application/json"))
            body_bytes = json.dumps(body).encode() if is_exact else encode_json(body, self.random)
        return WireRequest(operation.method, target, headers, body_bytes)

    def _generate_body(self, endpoint: Endpoint, body: Any, multipart: Any) -> tuple[Any, Any]:
        kind = endpoint.operation.body
        if kind is type(None) or endpoint.operation.is_form:
            return (mutate_value(body, self.random) if body is not None else None), multipart
        generated_body = self._value_source.build(kind)
        if isinstance(body, dict) and isinstance(generated_body, dict) and self.random.random() < 0.5:
            generated_body = generated_body | body if self.random.random() < 0.7 else body | generated_body
        return generated_body, multipart if self.random.random() < 0.5 else None

    def _generate_query(self, endpoint: Endpoint, query: dict[str, Any]) -> dict[str, Any]:
        kind = endpoint.operation.query
        if kind is type(None):
            return query
        generated_query = self._value_source.build(kind)
        return query | generated_query if isinstance(generated_query, dict) else query

    def _mutate_query(self, endpoint: Endpoint, query: dict[str, Any]) -> dict[str, Any]:
        query = self._generate_query(endpoint, query)
        mutated_query = mutate_value(query, self.random)
        return mutated_query if isinstance(mutated_query, dict) else {"limit": mutated_query}

    def _path_values(self, endpoint: Endpoint) -> dict[str, str]:
        defaults = self.platform.prepared_guild.path_values(endpoint)
        return {
            name: self._pool.find(name) or defaults[name] if self.random.random() < 0.95 else self.random.choice(IDS)
            for name in endpoint.operation.parameters
        }

    def _mutate_path(self, endpoint: Endpoint, values: dict[str, str]) -> dict[str, str]:
        name = self.random.choice(endpoint.operation.parameters)
        replacement = self.random.choice((self._pool.pick(name), self.random.choice(TEXTS), self.random.choice(IDS)))
        return values | {name: replacement}

    def _choose_caller(self, endpoint: Endpoint, valid: ValidRequest) -> tuple[str, Actor | None]:
        if self.random.random() < 0.7 or endpoint.operation.auth is Auth.NONE:
            return "recipe", valid.caller
        if endpoint.name in DESTRUCTIVE_OPERATIONS:
            return "stranger", self.platform.callers["stranger"]
        kind = self.random.choice(list(self.platform.callers))
        return kind, self.platform.callers[kind]

    # Sending and checking

    async def _send(self, endpoint: Endpoint, wire: WireRequest, context: dict[str, Any]) -> WireResponse:
        self._last_request = endpoint, wire, context
        self.report.attempt_counts[endpoint.name] += 1
        response = await self._client.send(wire)
        self.report.count(self.name, str(response.status or "closed"))
        self._check(endpoint, wire, response)
        return response

    def _check(self, endpoint: Endpoint, wire: WireRequest, response: WireResponse) -> None:
        if response.status == 503 and self.platform.consume_overload():
            return
        if response.status >= 500:
            raise InvalidResponse(f"{endpoint.name} returned {response.status}")
        is_original = wire.method == endpoint.operation.method and not wire.is_truncated
        is_original &= wire.target.startswith("/api/v10/") and not self._is_mutated
        # With an empty value at the end of the path, the server finds the operation of the path without that parameter.
        is_original &= not wire.target.partition("?")[0].endswith("/") or endpoint.operation.path.endswith("/")
        if 200 <= response.status < 400 and is_original:
            self._record_success(endpoint, response)
        if not wire.target.startswith("/api/") or not response.body or b"application/json" not in response.head:
            return
        body = json.loads(response.body)
        if response.status >= 400 and not isinstance(body, dict):
            raise InvalidResponse(f"{endpoint.name} returned an error without an object")
        if is_original and "error" not in body and response.status in (400, 403, 404) and "code" in body:
            problem = find_undeclared(endpoint, ApiResponse(response.status, {}, response.body))
            if problem is not None:
                raise InvalidResponse(problem)

    def _record_success(self, endpoint: Endpoint, response: WireResponse) -> None:
        self.report.succeeded_operations.add(endpoint.name)
        if not response.body or b"application/json" not in response.head:
            return
        body = json.loads(response.body)
        self._pool.collect_ids(body)
        parameter = self._created_parameters.get(endpoint.name)
        if parameter and isinstance(body, dict):
            key = "code" if parameter == "code" else "id"
            if isinstance(body.get(key), str):
                self._pool.add(parameter, body[key])

    # Seeds

    @property
    def last_input(self) -> Any:  # type: ignore[override]
        """The request that was sent last."""
        return None if self._last_request is None else self._serialize(*self._last_request)

    def _serialize(self, endpoint: Endpoint, wire: WireRequest, context: dict[str, Any]) -> dict[str, Any]:
        names = {value: name for name, value in self.platform.prepared_guild.object_ids.items() if len(value) > 6}
        names |= {str(value): name for name, value in context["values"].items() if len(str(value)) > 3}

        def replace(text: str) -> str:
            for value, name in names.items():
                text = text.replace(_quote(value), f"${{{name}}}") if value in text else text
            return text

        replay_input: dict[str, Any] = {
            "operation": endpoint.name,
            "caller": context["caller"],
            "method": wire.method,
            "target": replace(wire.target),
            "headers": [[name, value] for name, value in wire.headers if name != "Authorization"],
            "is_truncated": wire.is_truncated,
        }
        if wire.body.isascii():
            replay_input["body"] = replace(wire.body.decode())
        else:
            replay_input["base64"] = base64.b64encode(wire.body).decode()
        return replay_input

    async def minimize(self, summary: str) -> Any:
        """Return the last input with the smallest JSON body found that still causes a server error.

        The input is unchanged if its body is not JSON, or if no smaller body causes a server error."""
        assert self._last_request is not None
        endpoint, wire, context = self._last_request
        try:
            body = json.loads(wire.body)
        except ValueError:
            return self.last_input
        smallest = self._serialize(endpoint, wire, context)
        request_count = 0
        is_smaller = True
        while is_smaller and request_count < MINIMIZATION_REQUESTS_MAX:
            is_smaller = False
            for candidate in _smaller_values(body):
                request_count += 1
                trial = WireRequest(wire.method, wire.target, wire.headers, json.dumps(candidate).encode())
                response = await self._client.send(trial)
                if response.status >= 500:
                    body, is_smaller = candidate, True
                    smallest = self._serialize(endpoint, trial, context)
                    break
                if request_count >= MINIMIZATION_REQUESTS_MAX:
                    break
        return smallest


def _smaller_values(value: Any) -> Any:
    """Yield copies of a value, each without one key or item at any depth."""
    if isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key in value:
            for smaller in _smaller_values(value[key]):
                yield value | {key: smaller}
    elif isinstance(value, list):
        for position in range(len(value)):
            yield value[:position] + value[position + 1 :]
        for position in range(len(value)):
            for smaller in _smaller_values(value[position]):
                yield [*value[:position], smaller, *value[position + 1 :]]


def _created_parameters(endpoints: list[Endpoint]) -> dict[str, str]:
    """Return the path parameter that takes the ID or code of a created object, by the name of the operation."""
    parameters = {}
    endpoints_by_path = {endpoint.operation.path: endpoint for endpoint in endpoints}
    for endpoint in endpoints:
        if endpoint.operation.method in ("POST", "PUT"):
            prefix = endpoint.operation.path.rstrip("/") + "/{"
            for path in endpoints_by_path:
                if path.startswith(prefix) and path.endswith("}") and "/" not in path[len(prefix) :]:
                    parameters[endpoint.name] = path[len(prefix) : -1]
    return parameters


def _method_order(endpoint: Endpoint) -> int:
    """Return 0 for operations that read, 2 for those that delete, and 1 for all others."""
    return {"GET": 0, "DELETE": 2}.get(endpoint.operation.method, 1)


def _quote(value: Any) -> str:
    return quote(str(value).encode("utf-8", "surrogatepass"), safe="@")


def _encode_query(query: dict[str, Any]) -> str:
    pairs = []
    for name, value in query.items():
        for item in value[:QUERY_ITEMS_MAX] if isinstance(value, list) else [value]:
            if item is not None:
                text = str(item).lower() if isinstance(item, bool) else str(item)
                pairs.append((name.encode("utf-8", "surrogatepass"), text.encode("utf-8", "surrogatepass")))
    return urlencode(pairs)


async def _multipart_bytes(form: Any) -> tuple[str, bytes]:
    if isinstance(form, tuple):
        return form
    payload = form()
    return payload.headers["Content-Type"], await payload.as_bytes()
