"""Previews of links in messages: embeds that the server builds from the linked pages (decisions/0142)."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.link_previews import jobs
from hubbub.server.talk.messages.signals import MessageChanged, MessageCreated

SLICE = Slice(
    name="link_previews",
    modules=(),
    jobs={jobs.FETCH_JOB: jobs.fetch_link, jobs.TRIM_JOB: jobs.trim_cache},
    listeners={MessageCreated: jobs.on_message_changed, MessageChanged: jobs.on_message_changed},
)

__all__ = ["SLICE"]
