"""HTTP handlers with which users report objects and list their own reports."""

from hubbub.protocol.resources import reports as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.talk.reports import actions, views


@handles(wire.CREATE_REPORT)
def create_report(call: Call, body: wire.CreateReport) -> wire.Report:
    """Report a message, user or guild to the operators.

    A second report of the same object by the same user replaces reason and comment of the first while the case is
    open.
    """
    return views.report(*actions.create(call, body))


@handles(wire.LIST_MY_REPORTS)
def list_my_reports(call: Call) -> list[wire.Report]:
    """List the reports of the current user, newest first."""
    return views.own_reports(call, call.user_id)
