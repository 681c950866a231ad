"""The game between two frames: what players type, what the platform tells, and what is shown of it."""

import secrets
from typing import Any

from rules import BEATS, Round, seal
from signing_in import in_words

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

PARTY_MOST = 4
TOKEN_REFUSED = 4004
NOT_ONES_OWN = 50013
GROUPS = {
    RelationshipGroupType.ONLINE_PLAYING_GAME: "in the game",
    RelationshipGroupType.ONLINE_ELSEWHERE: "online",
    RelationshipGroupType.OFFLINE: "offline",
}


class Game:
    """One player's game."""

    def __init__(self, client: Client, world: dict[str, Any]) -> None:
        self.client = client
        self.running = True
        self.ready = False
        self.problem: str | None = None
        self._guilds: dict[str, Any] = world["guilds"]
        self._lobby_id = 0
        self._secret = ""
        self._invite: ActivityInvite | None = None
        self._answered = 0
        self._round, self._opening = Round(), ""
        self._score: dict[int, int] = {}
        client.set_status_changed_callback(self._status)
        client.set_message_created_callback(self._message)
        client.set_activity_invite_created_callback(self._invited)
        client.set_relationship_created_callback(self._related)
        client.set_lobby_created_callback(self._enter)
        client.set_lobby_deleted_callback(self._gone)
        client.set_lobby_updated_callback(self._lobby_changed)
        client.set_lobby_member_added_callback(lambda lobby, who: self._came_or_went(lobby, who, "joins"))
        client.set_lobby_member_removed_callback(lambda lobby, who: self._came_or_went(lobby, who, "leaves"))

    # What players type

    def command(self, line: str) -> None:
        """Do what was typed; words without a slash are said."""
        word, _, rest = line.partition(" ") if line.startswith("/") else ("/say", "", line)
        does = getattr(self, f"do_{word[1:]}", None)
        if does is None:
            self.show(f"there is no {word}; /help lists what there is")
        elif line:
            does(rest.strip())

    def do_help(self, _: str) -> None:
        """list the commands"""
        for name in sorted(vars(Game)):
            if name.startswith("do_"):
                first, _, rest = getattr(self, name).__doc__.rpartition(": ")
                self.show(f"  {f'/{name[3:]} {first}':28} {rest}")

    def do_friends(self, _: str) -> None:
        """list your friends"""
        for group, title in GROUPS.items():
            for friend in self.client.get_relationships_by_group(group):
                if friend.user:
                    playing = friend.user.game_activity
                    self.show(
                        f"  {friend.user.display_name} ({friend.user.username}) is {title}", playing and playing.state
                    )

    def do_friend(self, name: str) -> None:
        """NAME: ask somebody to be your friend in this game, or accept it"""
        if name:
            self.client.send_game_friend_request(name, self._told(f"you asked {name} to be friends"))

    def do_party(self, _: str) -> None:
        """begin a party"""
        if not self._lobby():
            self._join(secrets.token_urlsafe(16))
        else:
            self.show("you are in a party already; /leave it first")

    def do_invite(self, words: str) -> None:
        """NAME [WORDS]: invite a friend to your party"""
        name, _, more = words.partition(" ")
        friend = self._friend(name)
        if friend:
            self.client.send_activity_invite(friend.id, more or "Come and throw!", self._told(f"you invited {name}"))

    def do_join(self, name: str) -> None:
        """NAME: ask a friend to let you into their party"""
        friend = self._friend(name)
        if friend:
            self.client.send_activity_join_request(friend.id, self._told(f"you asked {name} to let you in"))

    def do_accept(self, _: str) -> None:
        """accept the newest invite, or let in who asked"""
        invite, self._invite = self._invite, None
        self._answered = invite.message_id if invite else 0
        if invite is None:
            self.show("nobody invited you")
        elif invite.type is ActivityActionTypes.JOIN_REQUEST:
            self.client.send_activity_join_request_reply(invite, self._told("you invited them"))
        else:
            self.client.accept_activity_invite(invite, self._accepted)

    def do_say(self, words: str) -> None:
        """WORDS: talk to your party; words without a slash do the same"""
        if self._need_party() and words:
            self.client.send_lobby_message(self._lobby_id, words, self._told())

    def do_dm(self, words: str) -> None:
        """NAME WORDS: talk to a friend alone"""
        name, _, said = words.partition(" ")
        friend = self._friend(name)
        if friend:
            self.client.send_user_message(friend.id, said, self._told())

    def do_throw(self, throw: str) -> None:
        """rock|paper|scissors: play a round"""
        if throw not in BEATS:
            self.show(f"throw one of {', '.join(BEATS)}")
        elif self._opening:
            self.show("you threw already; wait for the others")
        elif self._need_party():
            sealed, self._opening = seal(throw)
            self._say_with("throws a pebble", {"sealed": sealed})

    def do_who(self, _: str) -> None:
        """show your party and its score"""
        lobby = self._need_party()
        for member in lobby.lobby_members if lobby else ():
            away = "" if member.connected else " (away)"
            self.show(f"  {self._name(member.id)}{away}: {self._score.get(member.id, 0)}")

    def do_link(self, name: str) -> None:
        """CHANNEL: let a channel of a guild hear your party, if the game's server lets you"""
        channels = {each: int(id) for guild in self._guilds.values() for each, id in guild["channels"].items()}
        if name not in channels:
            self.show(f"there is no channel {name}; there are {', '.join(channels)}")
        elif self._need_party():
            self.client.link_channel_to_lobby(self._lobby_id, channels[name], self._told())

    def do_leave(self, _: str) -> None:
        """leave your party"""
        if self._need_party():
            self.client.leave_lobby(self._lobby_id, self._left)

    def _left(self, result: ClientResult) -> None:
        if result.error_code == NOT_ONES_OWN:
            self.show("this party was made by the game's server, which alone can end it or let you go")
        else:
            self._told()(result)

    def do_quit(self, _: str) -> None:
        """end the game"""
        self.running = False

    # What the platform tells

    def _status(self, status: ClientStatus, error: ClientError, detail: int) -> None:
        me = self.client.get_current_user_v2()
        if me and not self.ready:
            self.ready = True
            self.show(
                f"You are {me.display_name}{', a guest' if me.is_provisional else ''}. /help says what you can do."
            )
            for lobby_id in self.client.get_lobby_ids():
                self._enter(lobby_id)
        elif status is ClientStatus.DISCONNECTED and detail == TOKEN_REFUSED:
            self.failed("cannot sign in: the token is not good, or no longer")
        elif status is ClientStatus.DISCONNECTED and error is not ClientError.NONE:
            self.failed(f"the connection ended: {self.client.error_to_string(error)} {detail or ''}".strip())
        elif status is ClientStatus.RECONNECTING:
            self.show("the connection is lost; trying again")

    def _message(self, message_id: int) -> None:
        message = self.client.get_message_handle(message_id)
        if message is None:
            return
        if message.disclosure_type is not None:
            self.show(f"[{message.content}]")
        elif not message.lobby:
            # The recipient is the other side of the conversation, whoever wrote.
            mine = message.author_id != message.recipient_id
            to = self._name(message.recipient_id) if mine else "you"
            self.show(f"{self._author(message)} to {to}: {message.content}")
        elif message.lobby.id == self._lobby_id:
            if not message.metadata.keys() & {"sealed", "open"}:
                where = "" if message.sent_from_game else " (from the channel)"
                self.show(f"{self._author(message)}{where}: {message.content}")
            self._played(message)

    def _invited(self, invite: ActivityInvite) -> None:
        if invite.message_id == self._answered:
            # All devices of whoever accepted hear of an invite again.
            return
        self._invite = invite
        wants = "invites you" if invite.type is ActivityActionTypes.JOIN else "wants to join you"
        self.show(f"{self._name(invite.sender_id)} {wants}; /accept it")

    def _related(self, user_id: int, _: bool) -> None:
        stands = self.client.get_relationship_handle(user_id).game_relationship_type
        user = self.client.get_user(user_id)
        if user and stands is RelationshipType.PENDING_INCOMING:
            self.show(f"{user.display_name} wants to be friends; /friend {user.username} accepts it")
        elif user and stands is RelationshipType.FRIEND:
            self.show(f"{user.display_name} is your friend now.")

    def _enter(self, lobby_id: int) -> None:
        lobby = self.client.get_lobby_handle(lobby_id)
        if lobby is None or self._lobby() or not self.ready:
            return
        self._lobby_id = lobby_id
        self._round, self._opening, self._score = Round(), "", {}
        self.show(f"You are in a party of {len(lobby.lobby_member_ids)}.")
        self._lobby_changed(lobby_id)
        self._show_presence()

    def _gone(self, lobby_id: int) -> None:
        if lobby_id == self._lobby_id:
            self._lobby_id, self._secret = 0, ""
            self.client.clear_rich_presence()
            self.show("Your party is over.")

    def _lobby_changed(self, lobby_id: int) -> None:
        lobby = self._lobby()
        if lobby and lobby.id == lobby_id and lobby.linked_channel:
            self.show(f"Your party is heard in #{lobby.linked_channel.name}.")

    def _came_or_went(self, lobby_id: int, who: int, does: str) -> None:
        if lobby_id == self._lobby_id:
            self.show(f"{self._name(who)} {does} the party.")
            self._show_presence()
            self._open_if_all_threw()

    # The party

    def _join(self, secret: str) -> None:
        self._secret = secret
        self.client.create_or_join_lobby(secret, self._told())

    def _accepted(self, result: ClientResult, secret: str) -> None:
        if not result.successful:
            self.show(f"that invite is over: {result.error}")
            return
        if self._lobby():
            self.client.leave_lobby(self._lobby_id, lambda *_: self._join(secret))
        else:
            self._join(secret)

    def _show_presence(self) -> None:
        lobby = self._lobby()
        if lobby is None:
            return
        size = len(lobby.lobby_member_ids)
        activity = Activity(details="Rock, paper, scissors", state=f"In a party of {size}")
        if self._secret:
            # This is what lets friends be invited; the secret goes to those alone who are.
            activity.party = ActivityParty(id=str(lobby.id), current_size=size, max_size=PARTY_MOST)
            activity.secrets = ActivitySecrets(join=self._secret)
            activity.supported_platforms = ActivityGamePlatforms.DESKTOP
        self.client.update_rich_presence(activity, self._told())

    # The round

    def _played(self, message: MessageHandle) -> None:
        told = message.metadata
        if "sealed" in told:
            self._round.sealed_by(message.author_id, told["sealed"])
            self.show(f"{self._author(message)} has thrown.")
            self._open_if_all_threw()
        if "open" in told:
            self._round.opened_by(message.author_id, told["open"])
            if self._round.is_over():
                self._end_round()

    def _open_if_all_threw(self) -> None:
        lobby = self._lobby()
        here = [member.id for member in lobby.lobby_members if member.connected] if lobby else []
        if self._opening and self._round.all_thrown(here):
            self._say_with("opens a hand", {"open": self._opening})
            self._opening = ""

    def _end_round(self) -> None:
        over, self._round = self._round, Round()
        for player, throw in over.throws.items():
            self.show(f"  {self._name(player)}: {throw}")
        winners = over.winners()
        for player in winners:
            self._score[player] = self._score.get(player, 0) + 1
        self.show(f"{' and '.join(self._name(each) for each in winners) or 'Nobody'} wins the round.")

    def _say_with(self, words: str, metadata: dict[str, str]) -> None:
        self.client.send_lobby_message_with_metadata(self._lobby_id, words, metadata, self._told())

    # Small things

    def show(self, *texts: object) -> None:
        """Put a line on the screen."""
        print(", ".join(str(text) for text in texts if text), flush=True)

    def failed(self, why: str) -> None:
        """The game cannot go on."""
        self.problem, self.running = f"game: {why}", False

    def _told(self, success: str = "") -> Any:
        """A callback that says how something went."""

        def told(result: ClientResult, *_: object) -> None:
            if not result.successful:
                self.show(f"that did not work: {in_words(result.response_body, result.error or result.type.label)}")
            elif success:
                self.show(success)

        return told

    def _lobby(self) -> LobbyHandle | None:
        return self.client.get_lobby_handle(self._lobby_id) if self._lobby_id else None

    def _need_party(self) -> LobbyHandle | None:
        lobby = self._lobby()
        if lobby is None:
            self.show("you are in no party; /party begins one")
        return lobby

    def _friend(self, name: str) -> UserHandle | None:
        for friend in self.client.search_friends_by_username(name):
            if name.casefold() in (friend.username.casefold(), friend.display_name.casefold()):
                return friend
        self.show(f"{name or 'nobody'} is no friend of yours; /friends lists them")
        return None

    def _name(self, user_id: int) -> str:
        user = self.client.get_user(user_id)
        return user.display_name if user else "Somebody"

    def _author(self, message: MessageHandle) -> str:
        return message.author.display_name if message.author else "Somebody"
