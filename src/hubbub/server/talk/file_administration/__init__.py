"""Administration of uploaded files and storage quotas by operators."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.file_administration import routes
from hubbub.server.talk.file_administration.actions import delete_file, set_quota
from hubbub.server.talk.file_administration.views import guild_storage, storage_summary, user_storage

SLICE = Slice(name="file_administration", modules=(routes,), tags={routes: "administration"})

__all__ = ["SLICE", "delete_file", "guild_storage", "set_quota", "storage_summary", "user_storage"]
