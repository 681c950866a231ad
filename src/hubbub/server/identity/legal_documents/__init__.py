"""Terms and privacy notice that operators write, and their acceptance by users."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.legal_documents import routes, store
from hubbub.server.identity.legal_documents.actions import (
    accept,
    export_data,
    publish,
    require_accepted,
    require_kind,
)
from hubbub.server.identity.users.signals import UserDeleting


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.delete_acceptances(call.tx, signal.user_id)


SLICE = Slice(name="legal_documents", modules=(routes,), listeners={UserDeleting: _on_user_deleting})

__all__ = ["SLICE", "accept", "export_data", "publish", "require_accepted", "require_kind"]
