"""Settings of the registration of users (decisions/0144)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hubbub.server.core.login_config import Domain


class RegistrationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions under which visitors can register."""

    mode: Literal["open", "invite", "approval", "closed"] = "open"
    """Whether visitors register freely, with an invite, with the approval of an operator, or not at all."""
    allow_member_invites: bool = False
    """Whether users can create invites."""
    member_invites_max: Annotated[int, Meta(ge=1, le=100)] = 5
    """The maximum number of unused invites of a user."""
    allowed_email_domains: tuple[Domain, ...] = ()
    """The domains of email addresses that can register; empty for all. With a value, an address is required."""
    denied_email_domains: tuple[Domain, ...] = ()
    """The domains of email addresses that cannot register, with their subdomains."""

    def allows_email(self, email: str) -> bool:
        """Return whether an address, in lower case, has an allowed domain."""
        domain = email.rpartition("@")[2]
        if self.allowed_email_domains and domain not in self.allowed_email_domains:
            return False
        return not any(
            domain == denied_domain or domain.endswith(f".{denied_domain}")
            for denied_domain in self.denied_email_domains
        )
