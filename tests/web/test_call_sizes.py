"""Calls of two, three and six members, pages and native clients mixed; `test_large_calls.py` has more members."""

import pytest

from tests.web.calls import OpenCall
from tests.web.mixed_calls import assert_everyone_hears_everyone, check_changing_members

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


async def test_members_hear_each_other_while_others_come_and_go(call: OpenCall) -> None:
    await assert_everyone_hears_everyone(call)
    await call.add_native()
    await assert_everyone_hears_everyone(call)
    while len(call.member_ids) < 6:
        await call.add_native()
    await assert_everyone_hears_everyone(call)
    await check_changing_members(call)
