"""What identities do when others tell that something happened."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hubbub.protocol import wire as json
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, oauth2
from hubbub.server.resources.accounts import AccountBanned
from hubbub.server.resources.identities import actions, rules, store
from hubbub.server.resources.identities.facts import ProfileChanged
from hubbub.server.resources.oauth2 import ApplicationDeauthorized, LinkAsked
from hubbub.server.resources.users import DataAsked, UserDeleted


def link(call: Call, asked: LinkAsked) -> None:
    """A person lets an application in who plays it already under another account."""
    application, credential = asked.application, asked.credential
    rules.require_enabled(application)
    if credential.verified is None:
        identity = actions.identity_of_token(call, application, credential.token)
        actions.link(call, application, asked.user_id, identity)
        return
    found = actions.find_identity(call, application.family_id, credential.verified)
    if found is None:
        actions.link_new(call, application, asked.user_id, credential.verified)
    else:
        actions.link(call, application, asked.user_id, found)


def unlink(call: Call, fact: ApplicationDeauthorized) -> None:
    """A person takes back what they gave the head of a family, whichever way; a game's own tokens are no link."""
    if applications.family_id(call.tx, fact.application_id) == fact.application_id:
        actions.detach(call, fact.application_id, fact.user_id)


def ban(call: Call, fact: AccountBanned) -> None:
    """A person's account is closed: it leaves every application."""
    oauth2.deauthorize_all(call, fact.user_id)
    # Where there was nothing but an identity, nothing was told.
    actions.forget(call, fact.user_id)


def forget(call: Call, fact: UserDeleted) -> None:
    """A user is gone."""
    actions.forget(call, fact.user_id)


def harvest(call: Call, asked: DataAsked) -> None:
    """Who a person is elsewhere, for their copy of all that is kept of them."""
    asked.records["identities"] = [
        {
            "application_id": str(int(row.family_id)),
            "provider_type": row.provider_type,
            "provider_id": row.provider_id or None,
            "provider_issued_user_id": row.provider_user_id,
            "username": row.username,
            "metadata": json.decode(row.metadata, dict[str, str]),
        }
        for family_id in store.families_of(call.tx, asked.user_id)
        for row in store.list_identities(call.tx, family_id, [asked.user_id])
    ]


def show_profile(call: Call, fact: ProfileChanged) -> None:
    """A game knows a player otherwise: their own sessions there see it."""
    actions.show_profile(call, fact.told, [fact.told.user_id])


HEARS: Final[Mapping[type, Callable[[Call, Any], None]]] = {
    LinkAsked: link,
    ApplicationDeauthorized: unlink,
    AccountBanned: ban,
    UserDeleted: forget,
    DataAsked: harvest,
    ProfileChanged: show_profile,
}
