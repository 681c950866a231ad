"""Words of search queries: phrases, synonyms and keywords for the terms of the API, stop words, and stems."""

import re
from collections.abc import Iterable
from typing import Final

PHRASES: Final[dict[str, str]] = {
    "access token": "oauth2 token",
    "archive thread": "update channel archive",
    "auto mod": "auto moderation",
    "automod": "auto moderation",
    "custom status": "user settings custom",
    "direct message": "dm",
    "friend list": "relationship",
    "friends list": "relationship",
    "group chat": "group dm",
    "invite link": "channel invite",
    "log in": "login",
    "log off": "logout",
    "log out everywhere": "delete other auth sessions",
    "sign out everywhere": "delete other auth sessions",
    "log out": "logout",
    "message history": "list message",
    "message someone": "create dm",
    "my status": "user settings",
    "rich presence image": "application asset",
    "presence image": "application asset",
    "private message": "dm",
    "rich presence": "presence update",
    "sign in": "login",
    "sign out": "logout",
    "sign up": "register",
    "slash command": "application command",
    "slow mode": "slowmode",
    "sound board": "soundboard",
    "time out": "timeout",
    "timed out": "timeout",
    "two factor": "totp",
    "2 factor": "totp",
    "voice chat": "voice",
}
"""Phrases of a query and the words that replace them, in the order of replacement.

A phrase comes before the phrases that it contains. Each phrase stands for its plural with `s` too."""

SYNONYMS: Final[dict[str, str]] = {
    # Verbs
    "acquire": "get",
    "add": "create set",
    "adjust": "update",
    "alter": "update",
    "assign": "add",
    "attach": "create upload",
    "build": "create",
    "buy": "purchase",
    "change": "update set",
    "clear": "delete bulk",
    "configure": "update set",
    "deafen": "deaf",
    "destroy": "delete",
    "drag": "move",
    "dismiss": "delete",
    "display": "get",
    "drop": "delete",
    "edit": "update",
    "enumerate": "list",
    "erase": "delete",
    "fetch": "get list",
    "find": "search list get",
    "give": "add",
    "grant": "add",
    "insert": "create add",
    "load": "get list",
    "lookup": "get search",
    "make": "create",
    "modify": "update",
    "new": "create",
    "open": "create",
    "patch": "update",
    "post": "create",
    "publish": "crosspost create",
    "purge": "bulk delete",
    "put": "create add set",
    "query": "search",
    "redeem": "accept consume",
    "quit": "leave",
    "read": "get list",
    "remove": "delete",
    "rename": "update",
    "reply": "create",
    "respond": "create response",
    "retrieve": "get list",
    "save": "create update",
    "say": "create",
    "see": "get list",
    "send": "create execute",
    "set": "update add",
    "show": "get list",
    "start": "create launch",
    "stop": "delete end expire",
    "take": "delete",
    "talk": "create",
    "unassign": "delete",
    "undo": "delete",
    "unmute": "mute",
    "upload": "create",
    "use": "execute create",
    "view": "get list",
    "write": "create",
    # Objects
    "account": "user register",
    "app": "application",
    "badge": "tag",
    "blocklist": "ban",
    "bot": "application",
    "category": "channel",
    "chat": "message channel",
    "chatroom": "channel",
    "colour": "color",
    "gif": "attachment",
    "clan": "tag",
    "comment": "message",
    "dms": "dm",
    "emote": "emoji",
    "emoticon": "emoji",
    "event": "scheduled",
    "everyone": "member",
    "file": "attachment",
    "friend": "relationship",
    "game": "activity application",
    "group": "dm role",
    "hook": "webhook",
    "image": "attachment",
    "link": "invite",
    "login": "auth",
    "me": "my",
    "member": "user",
    "membership": "member",
    "mfa": "totp",
    "2fa": "totp",
    "myself": "my",
    "nickname": "nick",
    "oauth": "oauth2",
    "people": "member user",
    "permission": "overwrite",
    "person": "user member",
    "player": "user member",
    "pm": "dm",
    "product": "sku",
    "purchase": "entitlement",
    "react": "reaction",
    "room": "channel",
    "server": "guild",
    "session": "auth",
    "shop": "store",
    "someone": "user member",
    "song": "sound",
    "space": "guild",
    "status": "state",
    "survey": "poll",
    "team": "guild",
    "text": "message",
    "topic": "channel",
    "user": "member",
    "vanity": "vanity url",
    "vote": "poll",
    "workspace": "guild",
}
"""For a query word, the words of the API that it may stand for."""

KEYWORDS: Final[dict[str, str]] = {
    "accept_invite": "join use redeem guild server",
    "ack_message": "mark read seen unread",
    "add_group_dm_user": "invite member",
    "add_guild_member": "join",
    "add_guild_member_role": "give assign grant set",
    "add_my_message_reaction": "react emoji like",
    "auth_login": "sign in session password",
    "auth_logout": "sign out session end",
    "auth_register": "sign up create account new user",
    "ban_user_from_guild": "member ban block",
    "bulk_ban_users_from_guild": "mass",
    "bulk_delete_messages": "purge clear mass prune several",
    "bulk_update_guild_channels": "move reorder sort position",
    "bulk_update_guild_roles": "move reorder sort position",
    "cancel_my_subscription": "unsubscribe end",
    "channel_search": "find messages direct message group dm history",
    "create_application_asset": "upload picture image art",
    "create_application_command": "slash register",
    "create_channel_invite": "invite user member people someone friend link guild server",
    "create_dm": "direct private message someone open start group",
    "create_guild_channel": "voice text category forum announcement",
    "create_guild_emoji": "upload",
    "create_guild_scheduled_event": "schedule calendar meeting",
    "create_guild_soundboard_sound": "upload",
    "create_guild_sticker": "upload",
    "create_interaction_response": "reply respond defer show modal button autocomplete callback",
    "create_message": "reply embed file image gif attachment poll sticker voice upload forward button component",
    "create_pin": "message",
    "create_purchase": "buy pay order subscribe subscription",
    "create_quick_link": "share",
    "create_thread": "forum post start private public",
    "create_webhook": "hook",
    "bulk_set_application_commands": "sync slash register overwrite",
    "create_or_join_lobby": "join",
    "crosspost_message": "publish announcement to followers",
    "delete_all_message_reactions": "clear remove",
    "delete_account": "close remove my user",
    "delete_guild_member": "kick remove user expel",
    "delete_guild_member_role": "take revoke unassign",
    "delete_my_message_reaction": "unreact",
    "delete_other_auth_sessions": "logout everywhere devices sign out",
    "delete_relationship": "unfriend unblock decline remove friend request",
    "exchange_oauth2_token": "get access refresh code grant login",
    "execute_webhook": "send post message followup follow up",
    "get_bot_gateway": "websocket connect shard",
    "get_gateway": "websocket connect url",
    "get_my_user": "who am i me profile myself",
    "get_user": "profile look up",
    "guild_search": "find messages search message history",
    "guild_role_member_counts": "how many",
    "export_my_data": "download gdpr personal",
    "invite_resolve": "get fetch look up channel invite link",
    "invite_revoke": "delete remove cancel channel invite link",
    "launch_activity": "start play game join",
    "leave_guild": "quit exit server",
    "list_guild_application_commands": "slash",
    "list_guild_audit_log_entries": "history moderation who did",
    "list_messages": "history read channel chat log",
    "list_my_guilds": "servers",
    "list_my_relationships": "friends blocked friend list",
    "partner_sdk_token": "guest provisional account anonymous",
    "poll_expire": "end close stop finish",
    "prune_guild": "inactive members",
    "request_friend": "add friend send request",
    "ring_call": "phone start voice",
    "send_soundboard_sound": "play",
    "set_channel_permission_overwrite": "edit lock private hide channel access",
    "set_relationship": "block user member someone accept friend request add",
    "trigger_typing_indicator": "start is show",
    "unban_user_from_guild": "unban member pardon delete ban revoke",
    "update_channel": "slowmode topic rename lock archive archived unarchive close thread rate limit name nsfw set",
    "update_guild": "rename icon transfer ownership owner settings name",
    "update_guild_incident_actions": "raid lockdown pause invites",
    "update_guild_member": "timeout mute deafen nickname nick move drag disconnect voice channel disabled user someone",
    "update_guild_role": "role color colour icon rename hoist set change",
    "update_message": "suppress embed",
    "update_my_guild_member": "nickname nick avatar set change",
    "update_my_user": "avatar username banner profile pronouns bio rename upload set change",
    "update_self_voice_state": "stage speak raise hand",
    "update_private_channel_settings": "mute unmute silence dm group",
    "update_user_guild_settings": "mute unmute silence notification channel server guild",
    "update_user_settings": "preferences set change custom status locale theme online idle invisible",
    "update_voice_channel_status": "voice status",
    "vote_in_poll": "answer",
}
"""Additional words by which users search for an operation, by the name of the operation."""

STOP_WORDS: Final = frozenset(
    {
        "a",
        "an",
        "and",
        "are",
        "another",
        "as",
        "at",
        "by",
        "can",
        "do",
        "for",
        "from",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "of",
        "on",
        "or",
        "please",
        "that",
        "the",
        "this",
        "to",
        "via",
        "want",
        "with",
    }
)
"""Stop words, which are ignored unless the query has no other words."""

OPTIONAL_WORDS: Final = frozenset(
    {"all", "api", "current", "data", "detail", "endpoint", "info", "information", "me", "my", "own"}
)
"""Words of a query that an entry may lack, unless the query has no others."""

_UNCHANGED_WORDS: Final = frozenset(
    {"ping", "pricing", "setting", "string", "typing", "onboarding", "embed", "linking"}
)
"""Singular words whose ending `ing` or `ed` is not removed: it is not a suffix, or the word without it means something else."""
_CAMEL_BOUNDARY_PATTERN: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD_PATTERN: Final = re.compile(r"[a-z0-9]+")
_STEM_LENGTH_MIN: Final = 3


def stem(word: str) -> str:
    """Return a form that is equal for singular and plural, and for the tenses of a verb."""
    if len(word) > _STEM_LENGTH_MIN and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > _STEM_LENGTH_MIN and word.endswith("s") and not word.endswith(("ss", "us")):
        word = word[:-1]
    if word in _UNCHANGED_WORDS:
        return word
    for suffix in ("ing", "ed"):
        base = word.removesuffix(suffix)
        if base != word and len(base) >= _STEM_LENGTH_MIN:
            # "pinned" is "pin", but "adding" is "add".
            is_doubled = base[-1] == base[-2] and base[-1] not in "lsd"
            word = base[:-1] if is_doubled else base
            break
    return word[:-1] if len(word) > _STEM_LENGTH_MIN and word.endswith("e") else word


def list_stems(text: str) -> list[str]:
    """Return the stem of each word of a name or a sentence, in order."""
    return [stem(word) for word in _WORD_PATTERN.findall(_CAMEL_BOUNDARY_PATTERN.sub(" ", text).lower())]


def replace_phrases(words: Iterable[str]) -> list[str]:
    """Replace the phrases of a query by terms of the API."""
    query = f" {' '.join(words)} "
    for phrase, replacement in PHRASES.items():
        for form in (phrase, f"{phrase}s"):
            query = query.replace(f" {form} ", f" {replacement} ")
    return query.split()


SYNONYM_STEMS: Final[dict[str, frozenset[str]]] = {
    stem(word): frozenset(stem(meaning) for meaning in meanings.split()) for word, meanings in SYNONYMS.items()
}
"""The synonyms of each stem, as stems."""
