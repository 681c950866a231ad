"""Which operation writes what into the audit log: every operation that changes a guild is done once, with a reason; it says one of
its events, and the log has the entries of its row in http.md 4, no fewer and no others. Then those deeds that the rows tell
apart, until each kind of entry was seen."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import pytest

from hubbub.protocol.enums import AuditLogAction as A
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.operation import Auth
from hubbub.protocol.permissions import Permissions as P
from hubbub.server.core.dispatch import Endpoint
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.resources import channels
from tests.contract.prepared import prepare
from tests.contract.ready import DAY, Ready
from tests.contract.tables import operations
from tests.contract.test_permission_matrix import MEMBERS_HAVE_NONE, OWNERS_ONLY, walked
from tests.world import Actor, World

WRITES: dict[str, set[int]] = {
    "update_guild": {A.GUILD_UPDATE},
    "set_guild_mfa_level": {A.GUILD_UPDATE},
    "update_guild_profile": {A.GUILD_PROFILE_UPDATE},
    "update_guild_welcome_screen": {A.GUILD_UPDATE},
    "update_guild_widget_settings": {A.GUILD_UPDATE},
    "update_guild_vanity_url": {A.GUILD_UPDATE},
    "update_guild_incident_actions": {A.GUILD_UPDATE},
    "update_guild_member_verification": {A.MEMBER_VERIFICATION_UPDATE, A.GUILD_UPDATE},
    "update_guild_role_connections_configuration": {A.ROLE_UPDATE},
    "put_guilds_onboarding": {A.ONBOARDING_CREATE, A.ONBOARDING_PROMPT_CREATE},
    "set_guild_new_member_welcome": {A.HOME_SETTINGS_CREATE},
    "create_guild_channel": {A.CHANNEL_CREATE},
    "update_channel": {A.CHANNEL_UPDATE},
    "bulk_update_guild_channels": {A.CHANNEL_UPDATE},
    "delete_channel": {A.CHANNEL_DELETE},
    "set_channel_permission_overwrite": {A.CHANNEL_OVERWRITE_CREATE},
    "delete_channel_permission_overwrite": {A.CHANNEL_OVERWRITE_DELETE},
    "delete_guild_member": {A.MEMBER_KICK},
    "prune_guild": {A.MEMBER_PRUNE},
    "ban_user_from_guild": {A.MEMBER_BAN_ADD},
    "bulk_ban_users_from_guild": {A.MEMBER_BAN_ADD},
    "unban_user_from_guild": {A.MEMBER_BAN_REMOVE},
    "update_guild_member": {A.MEMBER_UPDATE},
    "update_my_guild_member": {A.MEMBER_UPDATE},
    "update_my_guild_member_nick": {A.MEMBER_UPDATE},
    "update_voice_state": {A.MEMBER_UPDATE},
    "add_guild_member_role": {A.MEMBER_ROLE_UPDATE},
    "delete_guild_member_role": {A.MEMBER_ROLE_UPDATE},
    "authorize_oauth2_application": {A.BOT_ADD, A.INTEGRATION_CREATE},
    "delete_guild_integration": {A.INTEGRATION_DELETE, A.MEMBER_KICK},
    "create_guild_role": {A.ROLE_CREATE},
    "update_guild_role": {A.ROLE_UPDATE},
    "bulk_update_guild_roles": {A.ROLE_UPDATE},
    "delete_guild_role": {A.ROLE_DELETE},
    "create_channel_invite": {A.INVITE_CREATE},
    "update_invite_target_users": {A.INVITE_UPDATE},
    "invite_revoke": {A.INVITE_DELETE},
    "create_webhook": {A.WEBHOOK_CREATE},
    "follow_channel": {A.WEBHOOK_CREATE},
    "update_webhook": {A.WEBHOOK_UPDATE},
    "delete_webhook": {A.WEBHOOK_DELETE},
    "create_guild_emoji": {A.EMOJI_CREATE},
    "update_guild_emoji": {A.EMOJI_UPDATE},
    "delete_guild_emoji": {A.EMOJI_DELETE},
    "create_guild_sticker": {A.STICKER_CREATE},
    "update_guild_sticker": {A.STICKER_UPDATE},
    "delete_guild_sticker": {A.STICKER_DELETE},
    "create_guild_soundboard_sound": {A.SOUNDBOARD_SOUND_CREATE},
    "update_guild_soundboard_sound": {A.SOUNDBOARD_SOUND_UPDATE},
    "delete_guild_soundboard_sound": {A.SOUNDBOARD_SOUND_DELETE},
    "delete_message": {A.MESSAGE_DELETE},
    "bulk_delete_messages": {A.MESSAGE_BULK_DELETE},
    "create_pin": {A.MESSAGE_PIN},
    "deprecated_create_pin": {A.MESSAGE_PIN},
    "delete_pin": {A.MESSAGE_UNPIN},
    "deprecated_delete_pin": {A.MESSAGE_UNPIN},
    "create_stage_instance": {A.STAGE_INSTANCE_CREATE},
    "update_stage_instance": {A.STAGE_INSTANCE_UPDATE},
    "delete_stage_instance": {A.STAGE_INSTANCE_DELETE},
    "create_guild_scheduled_event": {A.GUILD_SCHEDULED_EVENT_CREATE},
    "update_guild_scheduled_event": {A.GUILD_SCHEDULED_EVENT_UPDATE},
    "delete_guild_scheduled_event": {A.GUILD_SCHEDULED_EVENT_DELETE},
    "create_guild_scheduled_event_exception": {A.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE},
    "update_guild_scheduled_event_exception": {A.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE},
    "delete_guild_scheduled_event_exception": {A.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE},
    "create_thread": {A.THREAD_CREATE},
    "create_thread_from_message": {A.THREAD_CREATE},
    "create_auto_moderation_rule": {A.AUTO_MODERATION_RULE_CREATE},
    "update_auto_moderation_rule": {A.AUTO_MODERATION_RULE_UPDATE},
    "delete_auto_moderation_rule": {A.AUTO_MODERATION_RULE_DELETE},
    "unlink_channel_lobby": {A.CHANNEL_UPDATE},
    "update_voice_channel_status": {A.VOICE_CHANNEL_STATUS_UPDATE},
}
"""What is not here writes nothing."""

NEVER = {
    A.INTEGRATION_UPDATE: "an integration changes with its application, which is no deed of anybody in the guild",
    A.CREATOR_MONETIZATION_REQUEST_CREATED: "guilds sell nothing here",
    A.CREATOR_MONETIZATION_TERMS_ACCEPTED: "guilds sell nothing here",
    A.GUILD_HOME_FEATURE_ITEM: "no operation features anything on a guild's home",
    A.GUILD_HOME_REMOVE_ITEM: "no operation features anything on a guild's home",
    A.HARMFUL_LINKS_BLOCKED_MESSAGE: "no list of harmful links is kept",
}
"""Kinds of entries that nobody writes."""


UNTOLD = {
    "put_guilds_onboarding": "GUILD_UPDATE comes with switching it on, which takes seven channels: test_guild_pages.py",
}
"""What says its events only sometimes, and here does not."""


class Log:
    """A guild's audit log, read as it grows."""

    def __init__(self, ready: Ready) -> None:
        self.ready = ready
        self.ids: set[str] = set()
        self._last = "0"

    async def since(self) -> list[Any]:
        """The entries that came since the last look."""
        found: list[Any] = []
        while True:
            query = {"limit": "100", "after": self._last}
            page = (await self.ready.owner.get(f"{self.ready.place}/audit-logs", params=query)).ok()
            if not page["audit_log_entries"]:
                break
            found += page["audit_log_entries"]
            self._last = max((each["id"] for each in page["audit_log_entries"]), key=int)
        self.ids |= {each["id"] for each in found}
        return found


@pytest.fixture
async def ready(small_world: World) -> Ready:
    return Ready(await prepare(small_world))


async def moderator(ready: Ready, is_bot: bool) -> Actor:
    """Somebody who may do everything, to things that are not theirs."""
    person = await ready.world.bot(ready.guild) if is_bot else await ready.member()
    role = await ready.guild.role("highest", P.ADMINISTRATOR)
    await ready.guild.give(person, role)
    (await ready.owner.patch(f"{ready.place}/roles", json=[{"id": str(role), "position": 20}])).ok()
    return person


@pytest.mark.timeout(600)
async def test_every_deed_is_told_and_written_down_as_its_row_says(ready: Ready) -> None:
    people, bots = await moderator(ready, is_bot=False), await moderator(ready, is_bot=True)
    session = await ready.session(ready.owner)
    log, wrong, said = Log(ready), list[str](), set[str]()
    publish = ready.world.app.database.on_commit

    def listen(dispatches: Iterable[Dispatch]) -> None:
        found = list(dispatches)
        said.update(each.event for each in found)
        publish(found)

    ready.world.app.database.on_commit = listen
    await log.since()
    log.ids.clear()
    for endpoint in deeds():
        caller = people if Auth.USER in endpoint.operation.auth else bots
        caller = ready.owner if endpoint.name in OWNERS_ONLY else caller
        request = await ready.request(endpoint, caller)
        if endpoint.name == "prune_guild":
            await ready.member()
            ready.world.clock.advance(31 * DAY)
            request.body = {"days": 30}
        await log.since()
        said.clear()
        reason = f"because of {endpoint.name} ☂"
        (await request.send(endpoint, caller, headers={"X-Audit-Log-Reason": quote(reason)})).ok()
        declared = {event.name for event in endpoint.operation.emits}
        if declared and not declared & said and endpoint.name not in UNTOLD:
            wrong.append(f"{endpoint.name}: said {sorted(said)}, and none of {sorted(declared)}")
        entries = await log.since()
        kinds = {each["action_type"] for each in entries}
        if kinds != WRITES.get(endpoint.name, set()):
            wrong.append(f"{endpoint.name}: {sorted(kinds)}, not {sorted(WRITES.get(endpoint.name, ()))}")
        for entry in entries:
            if (entry["user_id"], entry.get("reason")) != (str(caller.id), reason):
                wrong.append(f"{endpoint.name}: {entry}")

    assert not wrong, "\n".join(wrong)
    await session.settle()
    told = {frame["d"]["id"] for frame in session.seen if frame["t"] == "GUILD_AUDIT_LOG_ENTRY_CREATE"}
    assert log.ids - told == set()


def deeds() -> list[Endpoint]:
    """Every operation that changes something in a guild; pruning comes late, for it needs time to pass."""
    found = {each.name: each for each in (*walked(Auth.USER), *walked(Auth.BOT))}
    gone = {"leave_guild", "delete_guild", *MEMBERS_HAVE_NONE}
    some = [each for each in found.values() if each.operation.method != "GET" and each.name not in gone]
    return sorted(some, key=lambda each: each.name == "prune_guild")


def test_the_table_above_names_only_deeds_and_what_they_declare() -> None:
    declared = {endpoint.name: set(endpoint.operation.audits) for endpoint in deeds()}

    assert set(WRITES) - declared.keys() == set()
    assert {name: kinds - declared[name] for name, kinds in WRITES.items() if kinds - declared[name]} == {}
    # Those that the walk does not do: of whoever holds a webhook's token or an OAuth2 token, of a lobby that is linked to a
    # channel, and an invite that gives roles.
    others = {name for name, operation in operations().items() if operation.audits} - WRITES.keys()
    assert others == {
        "update_webhook_by_token",
        "delete_webhook_by_token",
        "set_guild_application_command_permissions",
        "edit_lobby",
        "edit_lobby_channel_link",
        "create_linked_lobby_guild_invite_for_user",
        "create_linked_lobby_guild_invite_for_self",
        "accept_invite",
    }


def test_every_kind_of_entry_is_declared_by_an_operation() -> None:
    declared = {action for operation in operations().values() for action in operation.audits}
    # Auto moderation acts upon what people do; the operator's own deeds are no operations.
    consequences = {action for action in A if action.name.startswith(("AUTO_MODERATION_", "GUILD_MIGRATE_"))}

    assert set(A) - declared - consequences == set(NEVER)


async def test_every_kind_of_entry_has_somebody_who_writes_it(ready: Ready) -> None:
    guild, owner, world, log = ready.guild, ready.owner, ready.world, Log(ready)
    place, general, prepared = ready.place, ready.general, ready.prepared
    person = await ready.member()
    member = f"{place}/members/{person.id}"
    (await owner.patch(member, json={"flags": MemberFlags.BYPASSES_VERIFICATION})).ok()
    seen = set[int]().union(*WRITES.values())

    async def write(*kinds: int, answer: Any) -> None:
        assert answer.status < 300 or kinds[0] >= A.AUTO_MODERATION_BLOCK_MESSAGE, answer.body
        entries = await log.since()
        assert {each["action_type"] for each in entries} == set(kinds), answer.body
        seen.update(kinds)

    # Who is in a voice channel is moved, then put out of it.
    await guild.allow(person, P.VIEW_CHANNEL | P.CONNECT | P.SEND_MESSAGES | P.CHANGE_NICKNAME)
    await ready.join(person, prepared.voice)
    other = str(await guild.channel("other", type=2))
    await log.since()
    await write(A.MEMBER_MOVE, answer=await owner.patch(member, json={"channel_id": other}))
    await write(A.MEMBER_DISCONNECT, answer=await owner.patch(member, json={"channel_id": None}))
    status = f"/channels/{prepared.voice}/voice-status"
    await write(A.VOICE_CHANNEL_STATUS_UPDATE, answer=await owner.put(status, json={"status": "here"}))
    await write(A.VOICE_CHANNEL_STATUS_DELETE, answer=await owner.put(status, json={"status": ""}))

    # What was there is changed, and goes.
    overwrite = f"{general}/permissions/{guild.id}"
    for kind, bits in ((A.CHANNEL_OVERWRITE_CREATE, "1"), (A.CHANNEL_OVERWRITE_UPDATE, "2")):
        body = {"type": 0, "allow": "0", "deny": bits}
        await write(kind, answer=await owner.put(overwrite, json=body))
    thread = f"/channels/{prepared.thread}"
    await write(A.THREAD_UPDATE, answer=await owner.patch(thread, json={"name": "anew"}))
    await write(A.THREAD_DELETE, answer=await owner.delete(thread))
    endpoints = {each.name: each for each in deeds()}
    for name, again in (
        ("put_guilds_onboarding", {A.ONBOARDING_PROMPT_CREATE, A.ONBOARDING_PROMPT_DELETE}),
        ("set_guild_new_member_welcome", {A.HOME_SETTINGS_UPDATE}),
    ):
        for kinds in (WRITES[name], again):
            request = await ready.request(endpoints[name], owner)
            await write(*kinds, answer=await request.send(endpoints[name], owner))
    (prompt,) = (await owner.get(f"{place}/onboarding")).ok()["prompts"]
    body = {"prompts": [prompt | {"title": "anew"}], "enabled": False, "mode": 1}
    kinds = (A.ONBOARDING_UPDATE, A.ONBOARDING_PROMPT_UPDATE)
    await write(*kinds, answer=await owner.put(f"{place}/onboarding", json=body))

    # Who holds a webhook's token changes and ends it, being nobody.
    hook = f"/webhooks/{prepared.common['webhook_id']}/{prepared.common['webhook_token']}"
    await write(A.WEBHOOK_UPDATE, answer=await world.request("PATCH", hook, json={"name": "anew"}))
    await write(A.WEBHOOK_DELETE, answer=await world.request("DELETE", hook))

    # An application's commands are let and forbidden.
    bot = prepared.bot
    commands = f"/applications/{bot.application_id}/guilds/{guild.id}/commands"
    command = await ready.made(commands, actor=bot, json={"name": "greet", "description": "says hello"})
    body = {"permissions": [{"id": str(guild.id), "type": 1, "permission": False}]}
    token = await ready.bearer(owner, bot.application_id, "applications.commands.permissions.update")
    headers = {"Authorization": f"Bearer {token}"}
    answer = await world.request("PUT", f"{commands}/{command}/permissions", json=body, headers=headers)
    await write(A.APPLICATION_COMMAND_PERMISSION_UPDATE, answer=answer)

    # Auto moderation acts.
    rules = await ready.emptied("auto-moderation/rules")
    alert = {"type": 2, "metadata": {"channel_id": str(guild.general)}}
    words = {"enabled": True, "trigger_metadata": {"keyword_filter": ["forbidden"]}}
    await ready.made(
        rules,
        json={
            "name": "words",
            "event_type": 1,
            "trigger_type": 1,
            "actions": [{"type": 1}, alert, {"type": 3, "metadata": {"duration_seconds": 60}}],
            **words,
        },
    )
    await ready.made(
        rules, json={"name": "names", "event_type": 2, "trigger_type": 6, "actions": [{"type": 4}], **words}
    )
    await log.since()
    answer = await person.post(f"{general}/messages", json={"content": "forbidden"})
    kinds = (
        A.AUTO_MODERATION_BLOCK_MESSAGE,
        A.AUTO_MODERATION_FLAG_TO_CHANNEL,
        A.AUTO_MODERATION_USER_COMMUNICATION_DISABLED,
    )
    await write(*kinds, answer=answer)
    answer = await owner.patch(member, json={"nick": "forbidden"})
    await write(A.AUTO_MODERATION_QUARANTINE_USER, A.MEMBER_UPDATE, answer=answer)

    # And the operator gives what was split off to who held the old permissions.
    await guild.role("old", P.MANAGE_MESSAGES)
    await log.since()
    assert await world.write(lambda call: channels.split_permissions(call, guild.id))
    seen |= {each["action_type"] for each in await log.since()}

    assert set(A) - seen == set(NEVER)
