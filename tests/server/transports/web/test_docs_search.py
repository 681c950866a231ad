"""The search of the API reference: results for common words, order and number of results, and stems of words."""

import pytest

from hubbub.server.app import App
from hubbub.server.transports.web.reference import search, search_words
from hubbub.server.transports.web.reference.catalogue import Catalogue
from tests.contract.tables import operations
from tests.world import small_config

FIRST_RESULTS = {
    "send message": "create_message",
    "Send a Message": "create_message",
    "how do I send a message?": "create_message",
    "sending messages": "create_message",
    "post message": "create_message",
    "write message": "create_message",
    "reply to a message": "create_message",
    "send file": "create_message",
    "kick user": "delete_guild_member",
    "remove member": "delete_guild_member",
    "edit message": "update_message",
    "delete channel": "delete_channel",
    "destroy channel": "delete_channel",
    "make role": "create_guild_role",
    "give role": "add_guild_member_role",
    "give user a role": "add_guild_member_role",
    "create server": "create_guild",
    "upload sticker": "create_guild_sticker",
    "list servers": "list_my_guilds",
    "get user": "get_user",
    "fetch channel": "get_channel",
    "direct message": "create_dm",
    "private message": "create_dm",
    "react to message": "add_my_message_reaction",
    "pin message": "create_pin",
    "unpin": "delete_pin",
    "slow mode": "update_channel",
    "rename channel": "update_channel",
    "time out member": "update_guild_member",
    "mute member": "update_guild_member",
    "unban user": "unban_user_from_guild",
    "remove role from user": "delete_guild_member_role",
    "leave server": "leave_guild",
    "purge messages": "bulk_delete_messages",
    "upload emote": "create_guild_emoji",
    "list members": "list_guild_members",
    "search messages": "guild_search",
    "message history": "list_messages",
    "sign up": "auth_register",
    "log in": "auth_login",
    "log out": "auth_logout",
    "who am i": "get_my_user",
    "change avatar": "update_my_user",
    "create slash command": "create_application_command",
    "respond to interaction": "create_interaction_response",
    "start thread": "create_thread",
    "forum post": "create_thread",
    "schedule event": "create_guild_scheduled_event",
    "play sound": "send_soundboard_sound",
    "end poll": "poll_expire",
    "mark as read": "ack_message",
    "export my data": "export_my_data",
    "get access token": "exchange_oauth2_token",
    "send webhook": "execute_webhook",
    "transfer ownership": "update_guild",
    "get server info": "get_guild",
    "friends list": "list_my_relationships",
    "publish message to followers": "crosspost_message",
    "lock channel": "update_channel",
    "invite people": "create_channel_invite",
    "set nickname": "update_my_guild_member",
    "set slowmode": "update_channel",
    "join server": "accept_invite",
    "join guild": "accept_invite",
    "subscribe": "create_purchase",
    "unsubscribe": "cancel_my_subscription",
    "rich presence": "PRESENCE_UPDATE",
    "update presence": "PRESENCE_UPDATE",
    "set avatar": "update_my_user",
    "move member": "update_guild_member",
    "disconnect member": "update_guild_member",
    "timeout user": "update_guild_member",
    "kick member": "delete_guild_member",
    "add role to member": "add_guild_member_role",
    "fetch message": "get_message",
    "fetch member": "get_guild_member",
    "fetch guild": "get_guild",
    "bulk delete": "bulk_delete_messages",
    "create invite": "create_channel_invite",
    "add reaction": "add_my_message_reaction",
    "who reacted": "list_message_reactions_by_emoji",
    "followup message": "execute_webhook",
    "edit webhook message": "update_webhook_message",
    "defer interaction": "create_interaction_response",
    "show modal": "create_interaction_response",
    "register slash commands": "create_application_command",
    "sync commands": "bulk_set_application_commands",
    "create category": "create_guild_channel",
    "create voice channel": "create_guild_channel",
    "set permissions": "set_channel_permission_overwrite",
    "raise hand": "update_self_voice_state",
    "start stage": "create_stage_instance",
    "prune members": "prune_guild",
    "send embed": "create_message",
    "send dm": "create_dm",
    "refresh token": "exchange_oauth2_token",
    "revoke token": "revoke_oauth2_token",
    "join lobby": "create_or_join_lobby",
    "change server icon": "update_guild",
    "buy subscription": "create_purchase",
    "upload avatar": "update_my_user",
    "rich presence image": "create_application_asset",
    "pronouns": "update_my_user",
    "move someone to another channel": "update_guild_member",
    "ban someone": "ban_user_from_guild",
    "kick someone": "delete_guild_member",
    "mute someone": "update_guild_member",
    "invite someone": "create_channel_invite",
    "ban user": "ban_user_from_guild",
    "unban someone": "unban_user_from_guild",
    "message someone": "create_dm",
    "edit a message": "update_message",
    "erase message": "delete_message",
    "forward message": "create_message",
    "send image": "create_message",
    "send gif": "create_message",
    "create role": "create_guild_role",
    "rename role": "update_guild_role",
    "delete role": "delete_guild_role",
    "make webhook": "create_webhook",
    "delete webhook": "delete_webhook",
    "change username": "update_my_user",
    "change password": "change_password",
    "forgot password": "forgot_password",
    "enable 2fa": "enable_totp",
    "delete my account": "delete_account",
    "report message": "create_report",
    "report user": "create_report",
    "accept friend request": "set_relationship",
    "remove friend": "delete_relationship",
    "unblock user": "delete_relationship",
    "join thread": "join_thread",
    "leave thread": "leave_thread",
    "add emoji": "create_guild_emoji",
    "delete emoji": "delete_guild_emoji",
    "change server name": "update_guild",
    "delete server": "delete_guild",
    "vote in a poll": "vote_in_poll",
    "list bans": "list_guild_bans",
    "redeem invite": "accept_invite",
    "suspend user": "suspend_user",
    "log out everywhere": "delete_other_auth_sessions",
    "server template": "create_guild_template",
    "start activity": "launch_activity",
    "cancel subscription": "cancel_my_subscription",
    "crosspost": "crosspost_message",
    "set topic": "update_channel",
    "close thread": "update_channel",
    "role icon": "update_guild_role",
}
"""Queries, each with the operation or gateway event that must be the first result."""

AMONG_FIRST_RESULTS = {
    "ban member": "ban_user_from_guild",
    "ban members": "ban_user_from_guild",
    "banned users": "ban_user_from_guild",
    "slash command": "create_application_command",
    "dm": "create_dm",
    "kick": "delete_guild_member",
    "change nickname": "update_my_guild_member",
    "find member": "search_guild_members",
    "add friend": "request_friend",
    "block user": "set_relationship",
    "read messages": "list_messages",
    "pinned messages": "list_pins",
    "remove reaction": "delete_my_message_reaction",
    "audit log": "list_guild_audit_log_entries",
    "automod rule": "create_auto_moderation_rule",
    "connect to gateway": "get_gateway",
    "typing": "trigger_typing_indicator",
    "clear reactions": "delete_all_message_reactions",
    "fetch invite": "invite_resolve",
    "set role": "add_guild_member_role",
    "set status": "update_user_settings",
    "welcome screen": "get_guild_welcome_screen",
    "delete my message": "delete_message",
    "delete invite": "invite_revoke",
    "list channels": "list_guild_channels",
    "send poll": "create_message",
    "create poll": "create_message",
    "rich presence images": "create_application_asset",
    "move user to voice channel": "update_guild_member",
    "drag user to voice channel": "update_guild_member",
    "invite link": "create_channel_invite",
    "invite a friend": "create_channel_invite",
    "archive thread": "update_channel",
    "set custom status": "update_user_settings",
    "change my status": "update_user_settings",
    "send sticker": "create_message",
    "send voice message": "create_message",
    "role color": "update_guild_role",
    "mute channel": "update_user_guild_settings",
    "mute server": "update_user_guild_settings",
    "notification settings": "update_user_guild_settings",
    "change role colour": "update_guild_role",
    "hide channel": "set_channel_permission_overwrite",
    "unmute channel": "update_user_guild_settings",
    "deafen someone": "update_guild_member",
    "private thread": "create_thread",
    "block someone": "set_relationship",
}
"""Queries, each with the operation that must be one of the first three results."""


@pytest.fixture(scope="module")
def entries() -> list[search.Entry]:
    return search.entries(Catalogue(App(small_config()).table.endpoints))


@pytest.mark.parametrize(("query", "name"), FIRST_RESULTS.items())
def test_the_operation_comes_first(entries: list[search.Entry], query: str, name: str) -> None:
    assert [entry.title for entry in search.find(entries, query)][:1] == [name]


@pytest.mark.parametrize(("query", "name"), AMONG_FIRST_RESULTS.items())
def test_the_operation_is_one_of_the_first_three(entries: list[search.Entry], query: str, name: str) -> None:
    assert name in [entry.title for entry in search.find(entries, query)[:3]]


def test_every_operation_is_found_first_by_its_name(entries: list[search.Entry]) -> None:
    for index, name in enumerate(operations()):
        # A query is slow in a loop, so only some names are also searched in the other forms.
        queries = (name, name.replace("_", " "), name.upper()) if index % 10 == 0 else (name.replace("_", " "),)
        for query in queries:
            assert search.find(entries, query)[0].title.lower() == name, query


def test_deprecated_operations_come_after_their_replacement(entries: list[search.Entry]) -> None:
    titles = [entry.title for entry in search.find(entries, "list pins")]

    assert titles.index("list_pins") < titles.index("deprecated_list_pins")


def test_words_that_no_entry_contains_are_ignored(entries: list[search.Entry]) -> None:
    assert search.find(entries, "send message xyzzy")[0].title == "create_message"
    assert search.find(entries, "xyzzy") == []


def test_results_are_bounded(entries: list[search.Entry]) -> None:
    assert len(search.find(entries, "e")) == search.RESULTS_MAX
    assert len(search.find(entries, "get list create the of a to in my all guild message")) <= search.RESULTS_MAX


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        ("delete deletes deleted deleting", "delet"),
        ("pin pins pinned pinning", "pin"),
        ("message messages messaging", "messag"),
        ("reply replies", "reply"),
        ("add adds added adding", "add"),
        ("settings setting", "setting"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str, expected: str) -> None:
    assert {search_words.stem(form) for form in forms.split()} == {expected}


def test_keywords_name_existing_operations() -> None:
    assert search_words.KEYWORDS.keys() <= operations().keys()


@pytest.mark.parametrize("phrase", search_words.PHRASES)
def test_a_phrase_is_replaced_before_the_phrases_that_it_contains(phrase: str) -> None:
    replacement = search_words.PHRASES[phrase].split()

    assert search_words.replace_phrases(phrase.split()) == replacement
    assert search_words.replace_phrases(f"{phrase}s".split()) == replacement
