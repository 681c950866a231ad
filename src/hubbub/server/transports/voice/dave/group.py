"""The server's part in the MLS group of one call: it proposes members, orders commits and distributes Welcomes."""

from collections import Counter
from collections.abc import Iterable, Mapping

from hubbub.server.transports.voice.dave import checks, codec, proposals
from hubbub.server.transports.voice.dave.checks import Refused
from hubbub.server.transports.voice.dave.founding import Founding
from hubbub.server.transports.voice.dave.keys import ExternalSender
from hubbub.server.transports.voice.dave.messages import (
    ExecuteTransition,
    Op,
    PrepareEpoch,
    PrepareTransition,
    Sending,
    sending,
)
from hubbub.server.transports.voice.dave.people import PACKAGE_SECONDS, Person, Transition
from hubbub.server.transports.voice.dave.proposals import Proposal
from hubbub.server.transports.voice.dave.tree import Tree

VERSION = 1
"""The supported DAVE protocol version; 0 means a call without end-to-end encryption."""

COMMIT_SECONDS = 3.0
"""Seconds that members have for a commit before the group restarts; doubles up to three times without a commit."""

TRANSITION_SECONDS = 2.0
"""Time in seconds that members have to prepare for a transition."""

SETTLE_SECONDS = 0.5
"""Time in seconds that members have to apply a commit before the next proposals are sent."""

UPGRADE_SECONDS = 10.0
"""Time in seconds that plain frames are still forwarded after the last client without encryption has left."""

FOUNDERS_MOST = 4
"""Number of clients that create a group; the others are added to it.

Each additional founder costs all founders a commit, and twelve at once take seconds. The number doubles while no commit
arrives, so that a few unresponsive clients cannot keep the others out.
"""

BATCH_MOST = 64
"""Number of Adds in one commit."""

_STRIKES_MAX = 2


class Group:
    """The end-to-end encryption of one call. It performs no I/O: each method returns the messages to send."""

    def __init__(self, group_id: int, sender: ExternalSender, *, mixed: bool = False) -> None:
        self.refused: Counter[str] = Counter()
        """Number of rejected messages by reason."""
        self._id = codec.u64(group_id)
        self._sender = sender
        self._mixed = mixed
        self._version = VERSION
        self._people: dict[int, Person] = {}
        self._tree: Tree | None = None
        self._founding = Founding(sender, self._id)
        self._batch: dict[bytes, Proposal] = {}
        """The proposals sent in this epoch, by reference; empty while there is no group.

        There is one batch per epoch: if Adds and Removes arrive in two messages, davey makes a commit without a
        Welcome.
        """
        self._commit_due: float | None = None
        self._restarts = 0
        self._transitions: dict[int, Transition] = {}
        self._last_transition = 0
        self._settle_due: float | None = None
        self._plain_until: float | None = None

    # Queries of the voice server.

    def version_for(self, version: int) -> int:
        """Return the `dave_protocol_version` of op 4 for a new client that supports up to this version."""
        return min(self._version, max(version, 0))

    def ready(self, user_id: int) -> bool:
        """Return whether this member's frames are end-to-end encrypted now."""
        participant = self._people.get(user_id)
        if participant is None or participant.leaf_index is None:
            return False
        transition = self._transitions.get(participant.entered)
        return transition is None or user_id not in transition.waiting

    def plain_allowed(self, now: float) -> bool:
        """Return whether frames without end-to-end encryption may be forwarded: at version 0 and during an upgrade."""
        return self._version == 0 or (self._plain_until is not None and now < self._plain_until)

    @property
    def late(self) -> frozenset[int]:
        """User ids of clients whose key package is overdue; such a client must identify again (close 4006)."""
        return frozenset(participant.user_id for participant in self._people.values() if participant.late)

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` must be called, or None. Every other call may change it."""
        times = [transition.due for transition in self._transitions.values()]
        times += [time for time in (self._commit_due, self._settle_due) if time is not None]
        times += [
            participant.owes_since + PACKAGE_SECONDS
            for participant in self._people.values()
            if participant.owes_since is not None and not participant.late
        ]
        return min(times, default=None)

    # Events from the voice server.

    def joined(self, user_id: int, now: float, version: int = VERSION) -> list[Sending]:
        """Add a client that was sent op 4 and was announced to the others (op 11)."""
        if version < VERSION and not self._mixed:
            raise ValueError("this call does not accept clients without end-to-end encryption")
        sendings = self.left(user_id, now) if user_id in self._people else []
        participant = self._people[user_id] = Person(user_id, min(version, VERSION), packages_at=now)
        if participant.version == 0:
            return sendings + self._downgrade(now)
        if self._version:
            sendings += self._introduce(participant)
            participant.owes_since = now
        return sendings + self._advance(now)

    def left(self, user_id: int, now: float) -> list[Sending]:
        """Remove a client whose session has ended; not for a client that may still resume."""
        if self._people.pop(user_id, None) is None:
            return []
        sendings = self._drop_from_transitions(user_id)
        if not self._people:
            self._version = VERSION
            self._plain_until = None
            self._clear()
        elif self._version == 0 and all(participant.version for participant in self._people.values()):
            sendings += self._upgrade(now)
        elif user_id in self._founding:
            sendings += self._withdraw(user_id, now)
        return sendings + self._advance(now)

    def received(self, user_id: int, op: int, payload: bytes | Mapping[str, object], now: float) -> list[Sending]:
        """Handle op 23, 26, 28 or 31 of a client. Invalid messages are counted in `refused` and otherwise ignored."""
        participant = self._people.get(user_id)
        try:
            if participant is None or (self._version == 0 and op != Op.TRANSITION_READY):
                raise Refused("not in a call with end-to-end encryption")
            match op:
                case Op.KEY_PACKAGE:
                    sendings = self._handle_package(participant, _bytes(payload), now)
                case Op.COMMIT_WELCOME:
                    sendings = self._handle_commit(participant, _bytes(payload), now)
                case Op.TRANSITION_READY:
                    sendings = self._handle_ready(participant, _transition_id(payload))
                case Op.INVALID_COMMIT_WELCOME:
                    sendings = self._handle_invalid(participant, _transition_id(payload), now)
                case _:
                    raise Refused("opcode")
        except codec.Malformed:
            self.refused["malformed"] += 1
            return []
        except Refused as refused:
            self.refused[str(refused)] += 1
            return []
        return sendings + self._advance(now)

    def tick(self, now: float) -> list[Sending]:
        """Handle the timeouts that are due."""
        sendings: list[Sending] = []
        for transition in [each for each in self._transitions.values() if each.due <= now]:
            sendings += self._execute(transition)
        for participant in self._people.values():
            participant.late = participant.owes_since is not None and participant.owes_since + PACKAGE_SECONDS <= now
        if self._settle_due is not None and self._settle_due <= now:
            self._settle_due = None
        if self._commit_due is not None and self._commit_due <= now:
            self._restarts += 1
            sendings += self._restart(now)
        return sendings + self._advance(now)

    # Key packages.

    def _handle_package(self, participant: Person, data: bytes, now: float) -> list[Sending]:
        if not participant.may_send_package(now):
            raise Refused("key package: too many")
        arrival = checks.read_arrival(data, participant.user_id)
        checks.require_own_keys(arrival, self._keys_besides(participant.user_id))
        if len(self._founding) > 1 and participant.user_id in self._founding:
            # The client may have restarted before or after the last proposals arrived, so its proposals are unknown.
            return self._restart_one(participant, now)
        if participant.user_id in self._founding:
            self._founding.clear()
        # A client that sends a key package has restarted and is no longer in the group, even if the tree has its leaf.
        participant.forget(None)
        participant.arrival = arrival
        return []

    def _keys_besides(self, user_id: int) -> set[bytes]:
        """Return all keys of other participants in the group or waiting for it."""
        arrivals = [participant.arrival for participant in self._people.values() if participant.arrival is not None]
        leaves = [arrival.package.leaf for arrival in arrivals] + [leaf for _, leaf in self._tree or ()]
        own = codec.u64(user_id)
        keys = {arrival.package.init_key for arrival in arrivals if arrival.user_id != user_id}
        for leaf in leaves:
            if leaf.identity != own:
                keys |= {leaf.encryption_key, leaf.signature_key}
        return keys

    def _handle_invalid(self, participant: Person, transition_id: int, now: float) -> list[Sending]:
        transition = self._transitions.get(transition_id)
        if transition is not None and transition.fail(participant.user_id):
            committer = self._people.get(transition.committer or 0)
            if committer is not None:
                # A single judge may itself be wrong, so its first report is not enough to exclude the committer.
                committer.strikes += min(len(transition.judges), _STRIKES_MAX)
        sendings = self._drop_from_transitions(participant.user_id)
        if participant.user_id in self._founding:
            return sendings + self._restart_one(participant, now)
        if participant.owes_since is None:
            participant.forget(now)
        return sendings

    def _restart_one(self, participant: Person, now: float) -> list[Sending]:
        participant.forget(now)
        return [
            *self._withdraw(participant.user_id, now),
            sending([participant.user_id], Op.PREPARE_EPOCH, PrepareEpoch(VERSION)),
        ]

    # Proposals.

    def _advance(self, now: float) -> list[Sending]:
        """Send the proposals that the current state requires; called after every event."""
        if self._version == 0:
            return []
        if self._tree is None:
            return self._propose_founders(now)
        inside = self._inside()
        if len(self._people) == 1 or all(participant.strikes >= _STRIKES_MAX for participant in inside):
            # No member is left that could commit, or only one participant is left in the call.
            to = self._with_package(self._people.values())
            return [
                *self._restart(now),
                *([sending(to, Op.PREPARE_TRANSITION, PrepareTransition(VERSION, 0))] if to else []),
            ]
        if self._batch or self._settle_due is not None:
            return []
        return self._open_batch(self._tree, inside, now)

    def _propose_founders(self, now: float) -> list[Sending]:
        """Propose waiting clients to each other while there is no group."""
        sendings: list[Sending] = []
        limit = FOUNDERS_MOST << min(self._restarts, 4)
        for participant in self._people.values():
            if (
                participant.arrival is not None
                and participant.user_id not in self._founding
                and len(self._founding) < limit
            ):
                sendings += self._founding.propose(participant.arrival)
        if sendings:
            self._await_commit(now)
        founders = [self._people[user_id] for user_id in self._founding]
        if all(participant.strikes >= _STRIKES_MAX for participant in founders):
            for participant in founders:
                participant.strikes = 0
        return sendings

    def _withdraw(self, user_id: int, now: float) -> list[Sending]:
        sendings = self._founding.withdraw(user_id)
        self._commit_due = None
        if len(self._founding) > 1:
            self._await_commit(now)
        return sendings

    def _open_batch(self, tree: Tree, inside: list[Person], now: float) -> list[Sending]:
        """Propose the whole difference between the group and the call in one message."""
        used = {participant.leaf_index for participant in inside}
        batch = [proposals.remove(self._sender, self._id, tree.epoch, index) for index, _ in tree if index not in used]
        coming = [
            participant.arrival
            for participant in self._people.values()
            if participant.leaf_index is None and participant.arrival
        ]
        batch += [proposals.add(self._sender, self._id, tree.epoch, arrival) for arrival in coming[:BATCH_MOST]]
        if not batch:
            return []
        self._batch = {proposal.ref: proposal for proposal in batch}
        self._await_commit(now)
        return [sending((participant.user_id for participant in inside), Op.PROPOSALS, proposals.append(batch))]

    def _await_commit(self, now: float) -> None:
        self._commit_due = now + COMMIT_SECONDS * 2 ** min(self._restarts, 3)

    # Commits.

    def _handle_commit(self, participant: Person, data: bytes, now: float) -> list[Sending]:
        if len(data) > checks.COMMIT_BASE + checks.COMMIT_PER_MEMBER * (len(self._people) + len(self._batch)):
            raise Refused("commit: too long")
        if participant.strikes >= _STRIKES_MAX:
            raise Refused("commit: earlier commits failed")
        commit, message, welcome = codec.read_commit_and_welcome(data)
        tree, index = self._tree, participant.leaf_index
        if tree is None:
            if participant.user_id not in self._founding or participant.arrival is None:
                raise Refused("commit: not a member")
            tree, index = Tree(participant.arrival.package.leaf), 0
            batch = self._founding.besides(participant.user_id)
        elif index is None:
            raise Refused("commit: not a member")
        else:
            batch = self._batch
        checks.require_commit(
            commit,
            welcome,
            group_id=self._id,
            epoch=tree.epoch,
            leaf_index=index,
            leaf=tree.leaf(index),
            proposals=batch,
        )
        participant.leaf_index = index
        self._tree = tree
        return self._accept_commit(participant, tree, batch, commit, message, welcome, now)

    def _accept_commit(
        self,
        committer: Person,
        tree: Tree,
        batch: dict[bytes, Proposal],
        commit: codec.Commit,
        message: bytes,
        welcome: codec.Welcome | None,
        now: float,
    ) -> list[Sending]:
        """Apply a valid commit, and send it to the members and the Welcome to new members."""
        placed = tree.apply(commit, batch)
        members = [participant.user_id for participant in self._inside()]
        transition = self._new_transition(now, VERSION)
        transition.committer = committer.user_id
        prefix = codec.u16(transition.id)
        sendings = [sending(members, Op.ANNOUNCE_COMMIT, prefix + message)]
        newcomers: list[int] = []
        for proposal in batch.values():
            arrival = proposal.arrival
            participant = self._people.get(arrival.user_id) if arrival is not None else None
            # A client that left or restarted meanwhile cannot use the Welcome; the next batch corrects the group.
            if arrival is None or welcome is None or participant is None or participant.arrival is not arrival:
                continue
            participant.leaf_index = placed[arrival.ref]
            participant.entered = transition.id
            newcomers.append(participant.user_id)
            sendings.append(sending([participant.user_id], Op.WELCOME, prefix + welcome.only(arrival.ref).encode()))
        if tree.epoch == 1:
            committer.entered = transition.id
        transition.recipients.update(members, newcomers)
        transition.waiting.update(transition.recipients)
        transition.judges = set(members) - {committer.user_id} or set(newcomers)
        self._founding.clear()
        self._batch = {}
        self._commit_due = None
        self._restarts = 0
        self._settle_due = now + SETTLE_SECONDS
        return sendings

    # Transitions.

    def _new_transition(self, now: float, version: int) -> Transition:
        self._last_transition = self._last_transition % 0xFFFF + 1
        transition = Transition(self._last_transition, version, now + TRANSITION_SECONDS, set(), set())
        self._transitions[transition.id] = transition
        return transition

    def _handle_ready(self, participant: Person, transition_id: int) -> list[Sending]:
        transition = self._transitions.get(transition_id)
        if transition is None or participant.user_id not in transition.waiting:
            return []
        return self._complete(transition, participant.user_id)

    def _complete(self, transition: Transition, user_id: int) -> list[Sending]:
        transition.waiting.discard(user_id)
        if transition.waiting:
            return []
        committer = self._people.get(transition.committer or 0)
        if committer is not None and not transition.failed:
            committer.strikes = 0
        return self._execute(transition)

    def _execute(self, transition: Transition) -> list[Sending]:
        del self._transitions[transition.id]
        if transition.id == self._last_transition:
            self._settle_due = None
        if transition.version:
            self._plain_until = None
        to = transition.recipients - transition.failed
        return [sending(to, Op.EXECUTE_TRANSITION, ExecuteTransition(transition.id))] if to else []

    def _drop_from_transitions(self, user_id: int) -> list[Sending]:
        sendings: list[Sending] = []
        for transition in list(self._transitions.values()):
            if user_id not in transition.failed:
                transition.recipients.discard(user_id)
            if user_id in transition.waiting:
                sendings += self._complete(transition, user_id)
        return sendings

    # Restarting the group.

    def _inside(self) -> list[Person]:
        return [participant for participant in self._people.values() if participant.leaf_index is not None]

    def _with_package(self, participants: Iterable[Person]) -> list[int]:
        """Return the ids of participants with a key package; the others have just started and will send one."""
        return [participant.user_id for participant in participants if participant.owes_since is None]

    def _clear(self) -> None:
        self._tree = None
        self._founding.clear()
        self._batch = {}
        self._commit_due = self._settle_due = None
        self._transitions.clear()

    def _restart(self, now: float) -> list[Sending]:
        self._clear()
        to = self._with_package(self._people.values())
        for user_id in to:
            self._people[user_id].forget(now)
        return [sending(to, Op.PREPARE_EPOCH, PrepareEpoch(VERSION))] if to else []

    # Clients without end-to-end encryption (`mixed` only).

    def _downgrade(self, now: float) -> list[Sending]:
        if self._version == 0:
            return []
        self._version = 0
        self._plain_until = None
        self._clear()
        others = [participant for participant in self._people.values() if participant.version]
        for participant in others:
            participant.forget(None)
        if not others:
            return []
        transition = self._new_transition(now, 0)
        transition.recipients.update(participant.user_id for participant in others)
        transition.waiting.update(transition.recipients)
        return [sending(transition.recipients, Op.PREPARE_TRANSITION, PrepareTransition(0, transition.id))]

    def _upgrade(self, now: float) -> list[Sending]:
        self._version = VERSION
        self._plain_until = now + UPGRADE_SECONDS
        # A pending downgrade must not be executed: it would take effect after the new epoch.
        self._clear()
        sendings = [sending(self._people, Op.PREPARE_EPOCH, PrepareEpoch(VERSION))]
        for participant in self._people.values():
            participant.forget(now)
            sendings += self._introduce(participant)
        return sendings

    def _introduce(self, participant: Person) -> list[Sending]:
        if participant.introduced:
            return []
        participant.introduced = True
        return [sending([participant.user_id], Op.EXTERNAL_SENDER, self._sender.package)]


def _bytes(payload: object) -> bytes:
    if not isinstance(payload, bytes):
        raise Refused("not binary")
    return payload


def _transition_id(payload: object) -> int:
    if not isinstance(payload, Mapping):
        raise Refused("no transition id")
    value = payload.get("transition_id")
    if type(value) is not int:
        raise Refused("no transition id")
    return value
