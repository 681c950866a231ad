"""Operations, events and models of `hubbub.protocol.resources`, as modules that are imported on first use.

    disclosures = await core.call(resources.user_messages.GET_DISCLOSURES, application_id=application_id)

Importing a resource creates the models of most other resources, which a game should not wait for at startup. Access a
module only in code that runs on the network thread (decisions/0074).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.protocol.resources import channels as channels
    from hubbub.protocol.resources import direct_messages as direct_messages
    from hubbub.protocol.resources import gateway as gateway
    from hubbub.protocol.resources import guilds as guilds
    from hubbub.protocol.resources import identities as identities
    from hubbub.protocol.resources import lobbies as lobbies
    from hubbub.protocol.resources import lobby_calls as lobby_calls
    from hubbub.protocol.resources import messages as messages
    from hubbub.protocol.resources import oauth2 as oauth2
    from hubbub.protocol.resources import presence as presence
    from hubbub.protocol.resources import relationships as relationships
    from hubbub.protocol.resources import user_messages as user_messages
    from hubbub.protocol.resources import users as users
else:
    from importlib import import_module

    def __getattr__(name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = globals()[name] = import_module(f"hubbub.protocol.resources.{name}")
        return module
