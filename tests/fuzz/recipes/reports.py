"""Recipes for reports, decisions of operators and appeals."""

import itertools
from typing import Any

from hubbub.protocol.operator_roles import OperatorRole
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.server.identity.accounts import PASSWORD, create_user_with_password
from tests.server.identity.operators import create_operator
from tests.world import Actor

_numbers = itertools.count()
"""Numbers that make the names of created accounts unique."""


async def _report_user(platform: Platform) -> tuple[Actor, str]:
    """Report a new user; return the user and the ID of the case."""
    user = await platform.world.user()
    body = {"kind": "user", "id": str(user.id), "reason": "spam"}
    (await platform.owner.post("/reports", json=body)).ok()
    cases: list[dict[str, Any]] = (await platform.operator.get("/admin/reports", params={"state": "open"})).ok()
    return user, next(case["id"] for case in cases if case["target_id"] == str(user.id))


async def _warn_user(platform: Platform) -> tuple[Actor, str]:
    """Warn a new user as a new operator; return the user and the ID of the decision."""
    user, case_id = await _report_user(platform)
    moderator = await create_operator(platform.world, f"moderator{next(_numbers)}", OperatorRole.MODERATOR)
    (await moderator.post(f"/admin/reports/{case_id}/decide", json={"action": "warn", "note": "Stay polite"})).ok()
    decisions: list[dict[str, Any]] = (await user.get("/users/@me/decisions")).ok()
    return user, decisions[0]["id"]


@recipe("create_report")
async def _report(platform: Platform) -> ValidRequest:
    body = {"kind": "user", "id": str((await platform.world.user()).id), "reason": "spam"}
    return ValidRequest(platform.owner, body=body)


@recipe("get_report_case")
async def _case(platform: Platform) -> ValidRequest:
    _, case_id = await _report_user(platform)
    return ValidRequest(platform.operator, {"case_id": case_id})


@recipe("assign_report_case")
async def _assigned_case(platform: Platform) -> ValidRequest:
    _, case_id = await _report_user(platform)
    return ValidRequest(platform.operator, {"case_id": case_id}, {"assigned": True})


@recipe("decide_report_case")
async def _decided_case(platform: Platform) -> ValidRequest:
    _, case_id = await _report_user(platform)
    return ValidRequest(platform.operator, {"case_id": case_id}, {"action": "dismiss"})


@recipe("create_appeal")
async def _appeal(platform: Platform) -> ValidRequest:
    user, decision_id = await _warn_user(platform)
    return ValidRequest(user, {"decision_id": decision_id}, {"text": "Sorry"})


@recipe("decide_appeal")
async def _decided_appeal(platform: Platform) -> ValidRequest:
    user, decision_id = await _warn_user(platform)
    (await user.post(f"/users/@me/decisions/{decision_id}/appeal", json={"text": "Sorry"})).ok()
    return ValidRequest(platform.operator, {"decision_id": decision_id}, {"grant": True})


@recipe("auth_appeal")
async def _appeal_with_password(platform: Platform) -> ValidRequest:
    user = await create_user_with_password(platform.world, f"appellant{next(_numbers)}")
    (await platform.operator.post(f"/admin/users/{user.id}/suspend", json={"reason": "Spam"})).ok()
    return ValidRequest(None, body={"login": user.name, "password": PASSWORD, "text": "Sorry"})
