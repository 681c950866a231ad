"""The queue page of the operator console: numbers of background jobs, and the jobs that failed or are retried."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.operation import Operation
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, ngettext
from hubbub.server.transports.web.console.common import CONSOLE_PATH, console_page, render
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/queues"
"""Path of the page, relative to `CONSOLE_PATH`."""
JOBS_PAGE_SIZE: Final = 50


@console_page("GET", PATH)
async def show_queues(request: PageRequest, operator: Operator) -> web.Response:
    """Show the queues, and the jobs that failed or, if the query requests it, are retried."""
    state = "retrying" if request.query_parameter("state") == "retrying" else "failed"
    query = {"state": [state], "limit": [str(JOBS_PAGE_SIZE + 1)]}
    after = request.query_parameter("after")
    if after.isascii() and after.isdigit():
        query["after"] = [after]
    jobs = await request.call(wire.LIST_JOBS, query=query)
    next_path = None
    if len(jobs) > JOBS_PAGE_SIZE:
        next_path = f"{CONSOLE_PATH}{PATH}?state={state}&after={int(jobs[JOBS_PAGE_SIZE - 1].id)}"
    queues = await request.call(wire.LIST_JOB_QUEUES)
    return render(
        request, "queues.html", operator, queues=queues, jobs=jobs[:JOBS_PAGE_SIZE], state=state, next_path=next_path
    )


@console_page("POST", PATH + "/retry")
async def retry_queue(request: PageRequest, operator: Operator) -> web.Response:
    """Retry the failed jobs of a queue."""
    retried_jobs = await request.call(wire.RETRY_JOB_QUEUE, request.form.trimmed("kind"), body={})
    notice = ngettext("Retrying {count} job.", "Retrying {count} jobs.", retried_jobs.count)
    return request.redirect(CONSOLE_PATH + PATH, notice=notice)


@console_page("POST", PATH + r"/jobs/{job_id:\d{1,18}}/retry")
async def retry_job(request: PageRequest, operator: Operator) -> web.Response:
    """Retry a job, unless it has finished in the meantime."""
    return await _run_operation(request, wire.RETRY_JOB, gettext("Retrying the job."))


@console_page("POST", PATH + r"/jobs/{job_id:\d{1,18}}/discard")
async def discard_job(request: PageRequest, operator: Operator) -> web.Response:
    """Discard a job that failed permanently, unless it has finished in the meantime."""
    return await _run_operation(request, wire.DISCARD_JOB, gettext("Job discarded."))


async def _run_operation(request: PageRequest, operation: Operation[Any, Any], notice: str) -> web.Response:
    try:
        await request.call(operation, request.path_parameter("job_id"), body={})
    except ApiError as error:
        if error.kind is not errors.NOT_FOUND:
            raise
        notice = gettext("This job has finished in the meantime.")
    return request.redirect(CONSOLE_PATH + PATH, notice=notice)
