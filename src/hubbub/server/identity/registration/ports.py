"""Port of the registration slice: mail with an invite."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port
from hubbub.server.identity.registration.store import RegistrationInviteRow


@port
def send_invite(call: Call, row: RegistrationInviteRow, email: str, *, is_creator_limited: bool) -> None:
    """Send the link of an invite to an address. Raise RATE_LIMITED if too many mails were sent.

    `is_creator_limited` also counts the mail for the creator and the IP address, not only for the recipient."""
