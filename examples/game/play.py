"""The game logic: commands of the player, events of the platform, and the text output."""

import secrets
from typing import Any

from login import error_text
from rules import BEATS, Round, commit_to

from hubbub.sdk import (
    Activity,
    ActivityActionTypes,
    ActivityGamePlatforms,
    ActivityInvite,
    ActivityParty,
    ActivitySecrets,
    Client,
    ClientError,
    ClientResult,
    ClientStatus,
    LobbyHandle,
    MessageHandle,
    RelationshipGroupType,
    RelationshipType,
    UserHandle,
)

PARTY_SIZE_MAX = 4
INVALID_TOKEN_CLOSE_CODE = 4004
"""Gateway close code for an invalid token."""
MISSING_PERMISSIONS_CODE = 50013
"""API error code for a missing permission."""
COMMITMENT_KEY, OPENING_KEY = "commitment", "opening"
"""Keys in the metadata of lobby messages: the hash of a throw, and the text that reveals it."""
GROUP_TITLES = {
    RelationshipGroupType.ONLINE_PLAYING_GAME: "in the game",
    RelationshipGroupType.ONLINE_ELSEWHERE: "online",
    RelationshipGroupType.OFFLINE: "offline",
}


class Game:
    """The game of one player."""

    def __init__(self, client: Client, world: dict[str, Any]) -> None:
        self.client = client
        self.is_running = True
        self.is_ready = False
        self.problem: str | None = None
        self._guilds: dict[str, Any] = world["guilds"]
        self._lobby_id = 0
        """Lobby of the party, or 0 without a party."""
        self._secret = ""
        """Secret with which the player joined the lobby, or empty if there is none."""
        self._invite: ActivityInvite | None = None
        self._accepted_message_id = 0
        """Message ID of the last accepted invite, which arrives again after it was accepted."""
        self._round = Round()
        self._opening = ""
        """Text that reveals the player's own throw in this round, or empty before the throw."""
        self._score: dict[int, int] = {}
        client.set_status_changed_callback(self._on_status_changed)
        client.set_message_created_callback(self._on_message_created)
        client.set_activity_invite_created_callback(self._on_invite_created)
        client.set_relationship_created_callback(self._on_relationship_created)
        client.set_lobby_created_callback(self._on_lobby_created)
        client.set_lobby_deleted_callback(self._on_lobby_deleted)
        client.set_lobby_updated_callback(self._on_lobby_updated)
        client.set_lobby_member_added_callback(lambda lobby, user: self._on_member_changed(lobby, user, "joined"))
        client.set_lobby_member_removed_callback(lambda lobby, user: self._on_member_changed(lobby, user, "left"))

    # Commands of the player

    def run_command(self, line: str) -> None:
        """Run a command; text without a slash is sent to the party.

        Each command is a method `do_<name>`. Its docstring is the help text: the arguments, a colon, the description."""
        name, _, argument = line.partition(" ") if line.startswith("/") else ("/say", "", line)
        method = getattr(self, f"do_{name[1:]}", None)
        if method is None:
            self.show(f"Unknown command {name}; type /help for a list.")
        elif line:
            method(argument.strip())

    def do_help(self, _: str) -> None:
        """list the commands"""
        for name in sorted(vars(Game)):
            if name.startswith("do_"):
                arguments, _, description = getattr(self, name).__doc__.rpartition(": ")
                self.show(f"  {f'/{name[3:]} {arguments}':28} {description}")

    def do_friends(self, _: str) -> None:
        """list your friends"""
        for group, title in GROUP_TITLES.items():
            for friend in self.client.get_relationships_by_group(group):
                if friend.user:
                    activity = friend.user.game_activity
                    self.show(
                        f"  {friend.user.display_name} ({friend.user.username}) is {title}", activity and activity.state
                    )

    def do_friend(self, name: str) -> None:
        """NAME: send or accept a friend request in this game"""
        if name:
            self.client.send_game_friend_request(name, self._result_callback(f"You sent {name} a friend request."))

    def do_party(self, _: str) -> None:
        """create a party"""
        if not self._find_lobby():
            self._join(secrets.token_urlsafe(16))
        else:
            self.show("You are already in a party; type /leave first.")

    def do_invite(self, text: str) -> None:
        """NAME [TEXT]: invite a friend to your party"""
        name, _, content = text.partition(" ")
        friend = self._find_friend(name)
        if friend:
            callback = self._result_callback(f"You invited {name}.")
            self.client.send_activity_invite(friend.id, content or "Come and play!", callback)

    def do_join(self, name: str) -> None:
        """NAME: ask to join a friend's party"""
        friend = self._find_friend(name)
        if friend:
            self.client.send_activity_join_request(friend.id, self._result_callback(f"You asked to join {name}."))

    def do_accept(self, _: str) -> None:
        """accept the latest invite or join request"""
        invite, self._invite = self._invite, None
        self._accepted_message_id = invite.message_id if invite else 0
        if invite is None:
            self.show("You have no invite.")
        elif invite.type is ActivityActionTypes.JOIN_REQUEST:
            self.client.send_activity_join_request_reply(invite, self._result_callback("You invited them."))
        else:
            self.client.accept_activity_invite(invite, self._on_invite_accepted)

    def do_say(self, text: str) -> None:
        """TEXT: send a message to your party; the same as text without a slash"""
        if self._find_party_or_explain() and text:
            self.client.send_lobby_message(self._lobby_id, text, self._result_callback())

    def do_dm(self, text: str) -> None:
        """NAME TEXT: send a direct message to a friend"""
        name, _, content = text.partition(" ")
        friend = self._find_friend(name)
        if friend:
            self.client.send_user_message(friend.id, content, self._result_callback())

    def do_throw(self, throw: str) -> None:
        """rock|paper|scissors: play a round"""
        if throw not in BEATS:
            self.show(f"Choose one of {', '.join(BEATS)}.")
        elif self._opening:
            self.show("You have already thrown; wait for the other players.")
        elif self._find_party_or_explain():
            commitment, self._opening = commit_to(throw)
            self._send_with_metadata("throws", {COMMITMENT_KEY: commitment})

    def do_who(self, _: str) -> None:
        """show your party and the score"""
        lobby = self._find_party_or_explain()
        for member in lobby.lobby_members if lobby else ():
            away_note = "" if member.connected else " (away)"
            self.show(f"  {self._display_name(member.id)}{away_note}: {self._score.get(member.id, 0)}")

    def do_link(self, name: str) -> None:
        """CHANNEL: link your party to a channel of a guild, if the game's server allows it"""
        channel_ids = {
            channel_name: int(channel_id)
            for guild in self._guilds.values()
            for channel_name, channel_id in guild["channels"].items()
        }
        if name not in channel_ids:
            self.show(f"Unknown channel {name}; choose one of {', '.join(channel_ids)}.")
        elif self._find_party_or_explain():
            self.client.link_channel_to_lobby(self._lobby_id, channel_ids[name], self._result_callback())

    def do_leave(self, _: str) -> None:
        """leave your party"""
        if self._find_party_or_explain():
            self.client.leave_lobby(self._lobby_id, self._on_left)

    def _on_left(self, result: ClientResult) -> None:
        if result.error_code == MISSING_PERMISSIONS_CODE:
            self.show("Only the game's server can remove you from this party, because it created it.")
        else:
            self._result_callback()(result)

    def do_quit(self, _: str) -> None:
        """end the game"""
        self.is_running = False

    # Events of the platform

    def _on_status_changed(self, status: ClientStatus, error: ClientError, detail: int) -> None:
        user = self.client.get_current_user_v2()
        if user and not self.is_ready:
            self.is_ready = True
            guest_note = ", a guest" if user.is_provisional else ""
            self.show(f"You are {user.display_name}{guest_note}. Type /help for a list of commands.")
            for lobby_id in self.client.get_lobby_ids():
                self._on_lobby_created(lobby_id)
        elif status is ClientStatus.DISCONNECTED and detail == INVALID_TOKEN_CLOSE_CODE:
            self.fail("cannot log in: the token is invalid or expired")
        elif status is ClientStatus.DISCONNECTED and error is not ClientError.NONE:
            self.fail(f"disconnected: {self.client.error_to_string(error)} {detail or ''}".strip())
        elif status is ClientStatus.RECONNECTING:
            self.show("Connection lost; reconnecting ...")

    def _on_message_created(self, message_id: int) -> None:
        message = self.client.get_message_handle(message_id)
        if message is None:
            return
        if message.disclosure_type is not None:
            self.show(f"[{message.content}]")
        elif not message.lobby:
            # The recipient is the other user of the conversation, also in messages from them.
            is_own = message.author_id != message.recipient_id
            recipient = self._display_name(message.recipient_id) if is_own else "you"
            self.show(f"{self._author_name(message)} to {recipient}: {message.content}")
        elif message.lobby.id == self._lobby_id:
            if not message.metadata.keys() & {COMMITMENT_KEY, OPENING_KEY}:
                origin = "" if message.sent_from_game else " (from the channel)"
                self.show(f"{self._author_name(message)}{origin}: {message.content}")
            self._process_throw(message)

    def _on_invite_created(self, invite: ActivityInvite) -> None:
        if invite.message_id == self._accepted_message_id:
            # After an invite was accepted, it is sent again to all devices of the user.
            return
        self._invite = invite
        action = "invited you" if invite.type is ActivityActionTypes.JOIN else "wants to join you"
        self.show(f"{self._display_name(invite.sender_id)} {action}; type /accept")

    def _on_relationship_created(self, user_id: int, _: bool) -> None:
        relationship = self.client.get_relationship_handle(user_id).game_relationship_type
        user = self.client.get_user(user_id)
        if user and relationship is RelationshipType.PENDING_INCOMING:
            self.show(f"{user.display_name} sent you a friend request; accept it with /friend {user.username}")
        elif user and relationship is RelationshipType.FRIEND:
            self.show(f"{user.display_name} is now your friend.")

    def _on_lobby_created(self, lobby_id: int) -> None:
        lobby = self.client.get_lobby_handle(lobby_id)
        if lobby is None or self._find_lobby() or not self.is_ready:
            return
        self._lobby_id = lobby_id
        self._round, self._opening, self._score = Round(), "", {}
        self.show(f"You are in a party of {len(lobby.lobby_member_ids)}.")
        self._on_lobby_updated(lobby_id)
        self._update_presence()

    def _on_lobby_deleted(self, lobby_id: int) -> None:
        if lobby_id == self._lobby_id:
            self._lobby_id, self._secret = 0, ""
            self.client.clear_rich_presence()
            self.show("Your party has ended.")

    def _on_lobby_updated(self, lobby_id: int) -> None:
        lobby = self._find_lobby()
        if lobby and lobby.id == lobby_id and lobby.linked_channel:
            self.show(f"Your party is linked to #{lobby.linked_channel.name}.")

    def _on_member_changed(self, lobby_id: int, user_id: int, change: str) -> None:
        if lobby_id == self._lobby_id:
            self.show(f"{self._display_name(user_id)} {change} the party.")
            self._update_presence()
            self._reveal_if_all_threw()

    # Party

    def _join(self, secret: str) -> None:
        self._secret = secret
        self.client.create_or_join_lobby(secret, self._result_callback())

    def _on_invite_accepted(self, result: ClientResult, secret: str) -> None:
        if not result.successful:
            self.show(f"The invite is no longer valid: {result.error}")
            return
        if self._find_lobby():
            self.client.leave_lobby(self._lobby_id, lambda *_: self._join(secret))
        else:
            self._join(secret)

    def _update_presence(self) -> None:
        lobby = self._find_lobby()
        if lobby is None:
            return
        member_count = len(lobby.lobby_member_ids)
        activity = Activity(details="Rock, paper, scissors", state=f"In a party of {member_count}")
        if self._secret:
            # Required for invites; only invited users receive the secret.
            activity.party = ActivityParty(id=str(lobby.id), current_size=member_count, max_size=PARTY_SIZE_MAX)
            activity.secrets = ActivitySecrets(join=self._secret)
            activity.supported_platforms = ActivityGamePlatforms.DESKTOP
        self.client.update_rich_presence(activity, self._result_callback())

    # Round

    def _process_throw(self, message: MessageHandle) -> None:
        """Record the commitment or the revealed throw in a message's metadata, if there is one."""
        metadata = message.metadata
        if COMMITMENT_KEY in metadata:
            self._round.record_commitment(message.author_id, metadata[COMMITMENT_KEY])
            self.show(f"{self._author_name(message)} has thrown.")
            self._reveal_if_all_threw()
        if OPENING_KEY in metadata:
            self._round.record_reveal(message.author_id, metadata[OPENING_KEY])
            if self._round.is_over():
                self._end_round()

    def _reveal_if_all_threw(self) -> None:
        lobby = self._find_lobby()
        connected_ids = [member.id for member in lobby.lobby_members if member.connected] if lobby else []
        if self._opening and self._round.has_all_commitments(connected_ids):
            self._send_with_metadata("reveals the throw", {OPENING_KEY: self._opening})
            self._opening = ""

    def _end_round(self) -> None:
        finished_round, self._round = self._round, Round()
        for player_id, throw in finished_round.throws.items():
            self.show(f"  {self._display_name(player_id)}: {throw}")
        winners = finished_round.winners()
        for player_id in winners:
            self._score[player_id] = self._score.get(player_id, 0) + 1
        self.show(f"{' and '.join(self._display_name(winner) for winner in winners) or 'No player'} wins the round.")

    def _send_with_metadata(self, text: str, metadata: dict[str, str]) -> None:
        self.client.send_lobby_message_with_metadata(self._lobby_id, text, metadata, self._result_callback())

    # Helpers

    def show(self, *texts: object) -> None:
        """Print a line."""
        print(", ".join(str(text) for text in texts if text), flush=True)

    def fail(self, problem: str) -> None:
        """Record a problem and end the game."""
        self.problem, self.is_running = f"game: {problem}", False

    def _result_callback(self, success: str = "") -> Any:
        """Return a callback that prints the error of an action, or the text `success`."""

        def show_result(result: ClientResult, *_: object) -> None:
            if not result.successful:
                self.show(f"That did not work: {error_text(result.response_body, result.error or result.type.label)}")
            elif success:
                self.show(success)

        return show_result

    def _find_lobby(self) -> LobbyHandle | None:
        return self.client.get_lobby_handle(self._lobby_id) if self._lobby_id else None

    def _find_party_or_explain(self) -> LobbyHandle | None:
        lobby = self._find_lobby()
        if lobby is None:
            self.show("You are not in a party; create one with /party.")
        return lobby

    def _find_friend(self, name: str) -> UserHandle | None:
        for friend in self.client.search_friends_by_username(name):
            if name.casefold() in (friend.username.casefold(), friend.display_name.casefold()):
                return friend
        self.show(f"{name or 'This player'} is not your friend; type /friends for a list.")
        return None

    def _display_name(self, user_id: int) -> str:
        user = self.client.get_user(user_id)
        return user.display_name if user else "Unknown player"

    def _author_name(self, message: MessageHandle) -> str:
        return message.author.display_name if message.author else "Unknown player"
