"""The server's part in the MLS group of one call: it proposes members, orders commits and distributes Welcomes.

DAVE is the end-to-end encryption of voice, based on MLS (RFC 9420); davey is a client library for it.
"""

from collections import Counter
from collections.abc import Mapping

from hubbub.protocol.voice import DAVE_VERSION, ExecuteTransition, PrepareEpoch, PrepareTransition
from hubbub.server.transports.voice.dave import checks, codec, proposals
from hubbub.server.transports.voice.dave.checks import RejectedMessage
from hubbub.server.transports.voice.dave.initial_group import InitialGroup
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import (
    DaveOpcode,
    OutgoingMessage,
    build_message,
)
from hubbub.server.transports.voice.dave.participants import KEY_PACKAGE_TIMEOUT_SECONDS, Participant, Transition
from hubbub.server.transports.voice.dave.proposals import Proposal
from hubbub.server.transports.voice.dave.tree import Tree

COMMIT_SECONDS = 3.0
"""Time in seconds that members have for a commit before the group restarts; doubles after each restart, up to a limit."""

TRANSITION_SECONDS = 2.0
"""Time in seconds that members have to prepare for a transition."""

SETTLE_SECONDS = 0.5
"""Maximum time in seconds that members have to apply a commit before the next proposals are sent."""

UPGRADE_SECONDS = 10.0
"""Maximum time in seconds that plain frames are still forwarded after the last client without encryption has left."""

FOUNDERS_MAX = 4
"""Maximum number of clients that create a group; the others are added to it.

Each additional founder requires another commit of all founders, and twelve of them take seconds. The number doubles after each
restart without a commit, so that a few unresponsive clients cannot keep the others out.
"""

ADDS_PER_COMMIT_MAX = 64
"""Maximum number of Adds in one commit."""

_COMMIT_DOUBLINGS_MAX = 3
"""Maximum number of times that `COMMIT_SECONDS` doubles without a commit."""

_FOUNDER_DOUBLINGS_MAX = 4
"""Maximum number of times that `FOUNDERS_MAX` doubles without a commit."""

_PENALTY_MAX = 2
"""Penalty at which a participant's commits are rejected."""


class DaveGroup:
    """The end-to-end encryption of one call. It performs no I/O: each method returns the messages to send."""

    def __init__(self, group_id: int, sender: ExternalSender, *, allows_plain_clients: bool = False) -> None:
        self.rejections: Counter[str] = Counter()
        """Number of rejected messages by reason."""
        self._id = codec.u64(group_id)
        self._sender = sender
        self._allows_plain_clients = allows_plain_clients
        self._version = DAVE_VERSION
        """The DAVE version of the call; 0 while a client without encryption is in it."""
        self._participants: dict[int, Participant] = {}
        self._tree: Tree | None = None
        """The leaves of the group; None while there is no group."""
        self._initial_group = InitialGroup(sender, self._id)
        self._sent_proposals: dict[bytes, Proposal] = {}
        """The proposals sent in this epoch, by reference; empty while there is no group.

        There is one batch per epoch: if Adds and Removes arrive in two messages, davey makes a commit without a
        Welcome.
        """
        self._commit_due_at: float | None = None
        """Time at which the group restarts if no commit has arrived; None while none is expected."""
        self._restart_count = 0
        """Number of restarts since the last commit."""
        self._transitions: dict[int, Transition] = {}
        self._last_transition_id = 0
        self._settle_due_at: float | None = None
        """Time from which the next proposals may be sent; None if they may be sent now."""
        self._plain_until: float | None = None
        """Time until which plain frames are forwarded after an upgrade, or None."""

    # Queries of the voice server.

    def version_for(self, supported_version: int) -> int:
        """Return the `dave_protocol_version` of SESSION_DESCRIPTION for a new client that supports up to this version."""
        return min(self._version, max(supported_version, 0))

    def is_encrypted(self, user_id: int) -> bool:
        """Return whether this member's frames are end-to-end encrypted now."""
        participant = self._participants.get(user_id)
        if participant is None or participant.leaf_index is None:
            return False
        transition = self._transitions.get(participant.entry_transition_id)
        return transition is None or user_id not in transition.pending

    def allows_unencrypted(self, now: float) -> bool:
        """Return whether frames without end-to-end encryption may be forwarded: at version 0 and during an upgrade."""
        return self._version == 0 or (self._plain_until is not None and now < self._plain_until)

    @property
    def overdue(self) -> frozenset[int]:
        """User IDs of clients whose key package is overdue; such a client must identify again (close 4006)."""
        return frozenset(participant.user_id for participant in self._participants.values() if participant.is_overdue)

    @property
    def deadline(self) -> float | None:
        """Time in seconds at which `tick` must be called, or None. Every call of a method may change it."""
        due_times = [transition.deadline for transition in self._transitions.values()]
        due_times += [time for time in (self._commit_due_at, self._settle_due_at) if time is not None]
        due_times += [
            participant.missing_since + KEY_PACKAGE_TIMEOUT_SECONDS
            for participant in self._participants.values()
            if participant.missing_since is not None and not participant.is_overdue
        ]
        return min(due_times, default=None)

    # Events from the voice server.

    def add_participant(self, user_id: int, now: float, version: int = DAVE_VERSION) -> list[OutgoingMessage]:
        """Add a client that was sent SESSION_DESCRIPTION and was announced to the others with CLIENTS_CONNECT.

        Raise ValueError for a client without encryption, unless the group allows such clients.
        """
        if version < DAVE_VERSION and not self._allows_plain_clients:
            raise ValueError("this call does not accept clients without end-to-end encryption")
        messages = self.remove_participant(user_id, now) if user_id in self._participants else []
        participant = self._participants[user_id] = Participant(
            user_id, min(version, DAVE_VERSION), last_package_at=now
        )
        if participant.version == 0:
            return messages + self._downgrade(now)
        if self._version:
            messages += self._external_sender_messages(participant)
            participant.missing_since = now
        return messages + self._advance(now)

    def remove_participant(self, user_id: int, now: float) -> list[OutgoingMessage]:
        """Remove a client whose session has ended; not for a client that may still resume."""
        if self._participants.pop(user_id, None) is None:
            return []
        messages = self._drop_from_transitions(user_id)
        if not self._participants:
            self._version = DAVE_VERSION
            self._plain_until = None
            self._clear_group()
        elif self._version == 0 and all(participant.version for participant in self._participants.values()):
            messages += self._upgrade(now)
        elif user_id in self._initial_group:
            messages += self._remove_founder(user_id, now)
        return messages + self._advance(now)

    def handle_message(
        self, user_id: int, op: int, payload: bytes | Mapping[str, object], now: float
    ) -> list[OutgoingMessage]:
        """Handle a message of a client. Invalid messages are counted in `rejections` and otherwise ignored.

        `payload` is the data after the opcode of a binary message, or the mapping of a JSON message.
        """
        participant = self._participants.get(user_id)
        try:
            if participant is None or (self._version == 0 and op != DaveOpcode.TRANSITION_READY):
                raise RejectedMessage("not in a call with end-to-end encryption")
            match op:
                case DaveOpcode.KEY_PACKAGE:
                    messages = self._handle_key_package(participant, _require_bytes(payload), now)
                case DaveOpcode.COMMIT_WELCOME:
                    messages = self._handle_commit(participant, _require_bytes(payload), now)
                case DaveOpcode.TRANSITION_READY:
                    messages = self._handle_ready(participant, _require_transition_id(payload))
                case DaveOpcode.INVALID_COMMIT_WELCOME:
                    messages = self._handle_invalid_commit(participant, _require_transition_id(payload), now)
                case _:
                    raise RejectedMessage("opcode")
        except codec.Malformed:
            self.rejections["malformed"] += 1
            return []
        except RejectedMessage as rejection:
            self.rejections[str(rejection)] += 1
            return []
        return messages + self._advance(now)

    def tick(self, now: float) -> list[OutgoingMessage]:
        """Handle the timeouts that are due."""
        messages: list[OutgoingMessage] = []
        for transition in [transition for transition in self._transitions.values() if transition.deadline <= now]:
            messages += self._execute_transition(transition)
        for participant in self._participants.values():
            participant.is_overdue = (
                participant.missing_since is not None and participant.missing_since + KEY_PACKAGE_TIMEOUT_SECONDS <= now
            )
        if self._settle_due_at is not None and self._settle_due_at <= now:
            self._settle_due_at = None
        if self._commit_due_at is not None and self._commit_due_at <= now:
            self._restart_count += 1
            messages += self._restart(now)
        return messages + self._advance(now)

    # Key packages.

    def _handle_key_package(
        self, participant: Participant, encoded_package: bytes, now: float
    ) -> list[OutgoingMessage]:
        """Handle KEY_PACKAGE: the client wants to be added to the group with this key package."""
        if not participant.consume_package_allowance(now):
            raise RejectedMessage("key package: too many")
        key_package = checks.validate_key_package(encoded_package, participant.user_id)
        checks.require_unique_keys(key_package, self._keys_of_others(participant.user_id))
        if len(self._initial_group) > 1 and participant.user_id in self._initial_group:
            # The client may have restarted before or after the last proposals arrived, so its proposals are unknown.
            return self._restart_participant(participant, now)
        if participant.user_id in self._initial_group:
            self._initial_group.clear()
        # A client that sends a key package is not in the group, even if the tree has its leaf: then it has restarted.
        participant.reset(None)
        participant.key_package = key_package
        return []

    def _keys_of_others(self, user_id: int) -> set[bytes]:
        """Return all keys of other participants in the group or waiting for it."""
        key_packages = [
            participant.key_package
            for participant in self._participants.values()
            if participant.key_package is not None
        ]
        leaves = [key_package.package.leaf for key_package in key_packages] + [leaf for _, leaf in self._tree or ()]
        own_identity = codec.u64(user_id)
        keys = {key_package.package.init_key for key_package in key_packages if key_package.user_id != user_id}
        for leaf in leaves:
            if leaf.identity != own_identity:
                keys |= {leaf.encryption_key, leaf.signature_key}
        return keys

    def _handle_invalid_commit(self, participant: Participant, transition_id: int, now: float) -> list[OutgoingMessage]:
        """Handle INVALID_COMMIT_WELCOME: the client could not apply a commit or Welcome."""
        transition = self._transitions.get(transition_id)
        if transition is not None and transition.record_failure(participant.user_id):
            committer = self._participants.get(transition.committer_id or 0)
            if committer is not None:
                # A single validator may itself be wrong, so its first report is not enough to exclude the committer.
                committer.penalty += min(len(transition.validators), _PENALTY_MAX)
        messages = self._drop_from_transitions(participant.user_id)
        if participant.user_id in self._initial_group:
            return messages + self._restart_participant(participant, now)
        if participant.missing_since is None:
            participant.reset(now)
        return messages

    def _restart_participant(self, participant: Participant, now: float) -> list[OutgoingMessage]:
        """Remove a founder and request a new key package from it."""
        participant.reset(now)
        return [
            *self._remove_founder(participant.user_id, now),
            build_message([participant.user_id], DaveOpcode.PREPARE_EPOCH, PrepareEpoch(DAVE_VERSION)),
        ]

    # Proposals.

    def _advance(self, now: float) -> list[OutgoingMessage]:
        """Return the proposals that the current state requires, or restart a group that cannot continue.

        Called after every event.
        """
        if self._version == 0:
            return []
        if self._tree is None:
            return self._propose_founders(now)
        members = self._group_members()
        if len(self._participants) == 1 or all(participant.penalty >= _PENALTY_MAX for participant in members):
            # Only one participant is left in the call, or no member that could commit.
            recipient_ids = self._user_ids_with_key_package()
            return [
                *self._restart(now),
                *(
                    [build_message(recipient_ids, DaveOpcode.PREPARE_TRANSITION, PrepareTransition(DAVE_VERSION, 0))]
                    if recipient_ids
                    else []
                ),
            ]
        if self._sent_proposals or self._settle_due_at is not None:
            return []
        return self._open_batch(self._tree, members, now)

    def _propose_founders(self, now: float) -> list[OutgoingMessage]:
        """Propose waiting clients to each other while there is no group.

        If the commits of all founders are rejected because of penalties, reset the penalties.
        """
        messages: list[OutgoingMessage] = []
        founders_max = FOUNDERS_MAX << min(self._restart_count, _FOUNDER_DOUBLINGS_MAX)
        for participant in self._participants.values():
            if (
                participant.key_package is not None
                and participant.user_id not in self._initial_group
                and len(self._initial_group) < founders_max
            ):
                messages += self._initial_group.propose(participant.key_package)
        if messages:
            self._await_commit(now)
        founders = [self._participants[user_id] for user_id in self._initial_group]
        if all(participant.penalty >= _PENALTY_MAX for participant in founders):
            for participant in founders:
                participant.penalty = 0
        return messages

    def _remove_founder(self, user_id: int, now: float) -> list[OutgoingMessage]:
        """Remove a founder from the group that does not exist yet."""
        messages = self._initial_group.remove(user_id)
        self._commit_due_at = None
        if len(self._initial_group) > 1:
            self._await_commit(now)
        return messages

    def _open_batch(self, tree: Tree, members: list[Participant], now: float) -> list[OutgoingMessage]:
        """Propose the difference between the group and the call in one message, with at most `ADDS_PER_COMMIT_MAX` Adds.

        `members` are the participants who are in the group.
        """
        used_indexes = {participant.leaf_index for participant in members}
        new_proposals = [
            proposals.sign_remove(self._sender, self._id, tree.epoch, index)
            for index, _ in tree
            if index not in used_indexes
        ]
        key_packages = [
            participant.key_package
            for participant in self._participants.values()
            if participant.leaf_index is None and participant.key_package
        ]
        new_proposals += [
            proposals.sign_add(self._sender, self._id, tree.epoch, key_package)
            for key_package in key_packages[:ADDS_PER_COMMIT_MAX]
        ]
        if not new_proposals:
            return []
        self._sent_proposals = {proposal.ref: proposal for proposal in new_proposals}
        self._await_commit(now)
        return [
            build_message(
                (participant.user_id for participant in members),
                DaveOpcode.PROPOSALS,
                proposals.encode_append(new_proposals),
            )
        ]

    def _await_commit(self, now: float) -> None:
        self._commit_due_at = now + COMMIT_SECONDS * 2 ** min(self._restart_count, _COMMIT_DOUBLINGS_MAX)

    # Commits.

    def _handle_commit(self, participant: Participant, encoded_commit: bytes, now: float) -> list[OutgoingMessage]:
        """Handle COMMIT_WELCOME: validate a commit with its Welcome, and accept it."""
        if len(encoded_commit) > checks.COMMIT_BASE_BYTES_MAX + checks.COMMIT_BYTES_PER_MEMBER * (
            len(self._participants) + len(self._sent_proposals)
        ):
            raise RejectedMessage("commit: too long")
        if participant.penalty >= _PENALTY_MAX:
            raise RejectedMessage("commit: earlier commits failed")
        commit, commit_bytes, welcome = codec.read_commit_and_welcome(encoded_commit)
        tree, leaf_index = self._tree, participant.leaf_index
        if tree is None:
            if participant.user_id not in self._initial_group or participant.key_package is None:
                raise RejectedMessage("commit: not a member")
            tree, leaf_index = Tree(participant.key_package.package.leaf), 0
            pending_proposals = self._initial_group.proposals_for(participant.user_id)
        elif leaf_index is None:
            raise RejectedMessage("commit: not a member")
        else:
            pending_proposals = self._sent_proposals
        checks.require_valid_commit(
            commit,
            welcome,
            group_id=self._id,
            epoch=tree.epoch,
            leaf_index=leaf_index,
            leaf=tree.leaf(leaf_index),
            proposals=pending_proposals,
        )
        participant.leaf_index = leaf_index
        self._tree = tree
        return self._accept_commit(participant, tree, pending_proposals, commit, commit_bytes, welcome, now)

    def _accept_commit(
        self,
        committer: Participant,
        tree: Tree,
        applied_proposals: dict[bytes, Proposal],
        commit: codec.Commit,
        commit_bytes: bytes,
        welcome: codec.Welcome | None,
        now: float,
    ) -> list[OutgoingMessage]:
        """Apply a valid commit, and send it to the members and the Welcome to new members."""
        leaf_indexes = tree.apply(commit, applied_proposals)
        member_ids = [participant.user_id for participant in self._group_members()]
        transition = self._new_transition(now, DAVE_VERSION)
        transition.committer_id = committer.user_id
        transition_prefix = codec.u16(transition.id)
        messages = [build_message(member_ids, DaveOpcode.ANNOUNCE_COMMIT, transition_prefix + commit_bytes)]
        new_member_ids: list[int] = []
        for proposal in applied_proposals.values():
            key_package = proposal.key_package
            participant = self._participants.get(key_package.user_id) if key_package is not None else None
            # A client that left or restarted meanwhile cannot use the Welcome; the next batch corrects the group.
            if (
                key_package is None
                or welcome is None
                or participant is None
                or participant.key_package is not key_package
            ):
                continue
            participant.leaf_index = leaf_indexes[key_package.ref]
            participant.entry_transition_id = transition.id
            new_member_ids.append(participant.user_id)
            messages.append(
                build_message(
                    [participant.user_id],
                    DaveOpcode.WELCOME,
                    transition_prefix + welcome.only(key_package.ref).encode(),
                )
            )
        if tree.epoch == 1:
            # The first commit creates the group, so its committer enters with it.
            committer.entry_transition_id = transition.id
        transition.recipients.update(member_ids, new_member_ids)
        transition.pending.update(transition.recipients)
        transition.validators = set(member_ids) - {committer.user_id} or set(new_member_ids)
        self._initial_group.clear()
        self._sent_proposals = {}
        self._commit_due_at = None
        self._restart_count = 0
        self._settle_due_at = now + SETTLE_SECONDS
        return messages

    # Transitions.

    def _new_transition(self, now: float, version: int) -> Transition:
        self._last_transition_id = self._last_transition_id % 0xFFFF + 1
        transition = Transition(self._last_transition_id, version, now + TRANSITION_SECONDS, set(), set())
        self._transitions[transition.id] = transition
        return transition

    def _handle_ready(self, participant: Participant, transition_id: int) -> list[OutgoingMessage]:
        """Handle TRANSITION_READY: the client is ready for a transition."""
        transition = self._transitions.get(transition_id)
        if transition is None or participant.user_id not in transition.pending:
            return []
        return self._stop_waiting_for(transition, participant.user_id)

    def _stop_waiting_for(self, transition: Transition, user_id: int) -> list[OutgoingMessage]:
        """Stop waiting for a member, and execute the transition if it was the last one."""
        transition.pending.discard(user_id)
        if transition.pending:
            return []
        committer = self._participants.get(transition.committer_id or 0)
        if committer is not None and not transition.failed:
            committer.penalty = 0
        return self._execute_transition(transition)

    def _execute_transition(self, transition: Transition) -> list[OutgoingMessage]:
        del self._transitions[transition.id]
        if transition.id == self._last_transition_id:
            self._settle_due_at = None
        if transition.version:
            self._plain_until = None
        recipient_ids = transition.recipients - transition.failed
        return (
            [build_message(recipient_ids, DaveOpcode.EXECUTE_TRANSITION, ExecuteTransition(transition.id))]
            if recipient_ids
            else []
        )

    def _drop_from_transitions(self, user_id: int) -> list[OutgoingMessage]:
        """Remove a member from all transitions, and execute the transitions that waited only for this member."""
        messages: list[OutgoingMessage] = []
        for transition in list(self._transitions.values()):
            if user_id not in transition.failed:
                transition.recipients.discard(user_id)
            if user_id in transition.pending:
                messages += self._stop_waiting_for(transition, user_id)
        return messages

    # Restarting the group.

    def _group_members(self) -> list[Participant]:
        """Return the participants who are in the group."""
        return [participant for participant in self._participants.values() if participant.leaf_index is not None]

    def _user_ids_with_key_package(self) -> list[int]:
        """Return the IDs of participants whose key package is not missing; the others have yet to send one."""
        return [participant.user_id for participant in self._participants.values() if participant.missing_since is None]

    def _clear_group(self) -> None:
        self._tree = None
        self._initial_group.clear()
        self._sent_proposals = {}
        self._commit_due_at = self._settle_due_at = None
        self._transitions.clear()

    def _restart(self, now: float) -> list[OutgoingMessage]:
        """Discard the group and request new key packages."""
        self._clear_group()
        recipient_ids = self._user_ids_with_key_package()
        for user_id in recipient_ids:
            self._participants[user_id].reset(now)
        return (
            [build_message(recipient_ids, DaveOpcode.PREPARE_EPOCH, PrepareEpoch(DAVE_VERSION))]
            if recipient_ids
            else []
        )

    # Clients without end-to-end encryption (`allows_plain_clients` only).

    def _downgrade(self, now: float) -> list[OutgoingMessage]:
        """Disable the encryption of the call, because a client without encryption joined."""
        if self._version == 0:
            return []
        self._version = 0
        self._plain_until = None
        self._clear_group()
        dave_participants = [participant for participant in self._participants.values() if participant.version]
        for participant in dave_participants:
            participant.reset(None)
        if not dave_participants:
            return []
        transition = self._new_transition(now, 0)
        transition.recipients.update(participant.user_id for participant in dave_participants)
        transition.pending.update(transition.recipients)
        return [
            build_message(transition.recipients, DaveOpcode.PREPARE_TRANSITION, PrepareTransition(0, transition.id))
        ]

    def _upgrade(self, now: float) -> list[OutgoingMessage]:
        """Enable the encryption of the call after the last client without encryption has left."""
        self._version = DAVE_VERSION
        self._plain_until = now + UPGRADE_SECONDS
        # A pending downgrade must not be executed: it would take effect after the new epoch.
        self._clear_group()
        messages = [build_message(self._participants, DaveOpcode.PREPARE_EPOCH, PrepareEpoch(DAVE_VERSION))]
        for participant in self._participants.values():
            participant.reset(now)
            messages += self._external_sender_messages(participant)
        return messages

    def _external_sender_messages(self, participant: Participant) -> list[OutgoingMessage]:
        """Return EXTERNAL_SENDER for a client that was not sent it yet."""
        if participant.has_external_sender:
            return []
        participant.has_external_sender = True
        return [build_message([participant.user_id], DaveOpcode.EXTERNAL_SENDER, self._sender.package)]


def _require_bytes(payload: object) -> bytes:
    if not isinstance(payload, bytes):
        raise RejectedMessage("not binary")
    return payload


def _require_transition_id(payload: object) -> int:
    if not isinstance(payload, Mapping):
        raise RejectedMessage("no transition ID")
    transition_id = payload.get("transition_id")
    if type(transition_id) is not int:
        raise RejectedMessage("no transition ID")
    return transition_id
