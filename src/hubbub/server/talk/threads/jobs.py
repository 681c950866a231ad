"""Job that archives an inactive thread."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places import channels
from hubbub.server.talk.threads import actions


def archive(call: Call, job: Job) -> None:
    """Archive a thread that has been inactive for long enough, otherwise schedule the job again.

    Archived threads, pinned posts and deleted threads are skipped."""
    row = channels.find(call.tx, job.decode(actions.ArchiveJob).thread_id)
    if row is None:
        return
    due_ms = actions.compute_archive_due_ms(row)
    if due_ms is None:
        return
    if due_ms > call.now_ms:
        actions.schedule_archive(call.tx, row)
        return
    actions.update(call, row, row._replace(archived=1), is_audited=False)
