"""Histories of concurrent operations, and the checks that they satisfy the promises of the platform.

Clients record when each operation started and ended and what its outcome was. After a run the checks look for a contradiction:
a set of outcomes that no correct platform could have produced. They do no I/O and know nothing about processes or faults. The
method is that of Jepsen and Elle: an operation takes effect at one moment between its start and its end, a failed operation
never does, and an operation with an unknown outcome may take effect at any moment after its start, or never.

Every check returns a list of violations; a correct history has none.
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

from tests.journeys.client_state import ClientState, find_differences


class Outcome(Enum):
    """What a client knows about an operation after its end."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    """The operation had no effect and will have none."""
    UNKNOWN = "unknown"
    """The operation may have had its effect, may have it later, or never."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a client. Times are in seconds of one monotonic clock."""

    started: float
    ended: float
    outcome: Outcome

    @property
    def effect_ended(self) -> float:
        """The latest time at which the operation can have taken effect; infinite if the outcome is unknown."""
        return math.inf if self.outcome is Outcome.UNKNOWN else self.ended


@dataclass(frozen=True, kw_only=True)
class Send(Operation):
    """The creation of a message. The content identifies the attempt: repetitions with one nonce have the same content."""

    channel_id: str
    content: str
    author_id: str = ""
    nonce: str = ""
    """The nonce that the platform enforces; empty if the message has none."""
    message_id: int = 0
    """ID of the created message; 0 unless the outcome is `ACKNOWLEDGED`."""


@dataclass(frozen=True, kw_only=True)
class Read(Operation):
    """An acknowledged read of all messages of a channel."""

    channel_id: str
    messages: tuple[tuple[int, str], ...]
    """ID and content of each message, in the order of the response, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Use(Operation):
    """One use of something that can be used a limited number of times, such as an invite."""

    key: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class RightChange(Operation):
    """A grant or a removal of a right."""

    key: str
    """The right and its holder, for example a channel and a member."""
    is_granted: bool


@dataclass(frozen=True, kw_only=True)
class RightUse(Operation):
    """An operation that requires a right, or the delivery of an event that requires it.

    The start of a delivery is that of the operation that caused the event."""

    key: str
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The dispatches of one gateway session from READY to its end, and over all its connections."""

    started: float
    """Time at which READY had arrived."""
    is_open: bool
    """Whether the session existed at the end of the run; otherwise the platform ended it with Invalid Session."""
    sequence_numbers: tuple[int, ...]
    messages: tuple[tuple[str, int, str], ...]
    """Channel ID, message ID and content of each MESSAGE_CREATE, in order of arrival."""


def check_messages(sends: Sequence[Send], reads: Sequence[Read], *, id_lead_seconds: float = 0.0) -> list[str]:
    """Check that every channel is a linearizable set of messages whose IDs follow the order of the sends.

    No acknowledged message is lost, none appears twice, none appears without having been sent, reads never go back, and a message
    that was sent after another one was acknowledged has the higher ID. The last read of a channel should start after all sends.
    `id_lead_seconds` is the time by which IDs of a process may be ahead of those of others."""
    violations: list[str] = []
    sends_by_channel: dict[str, list[Send]] = defaultdict(list)
    reads_by_channel: dict[str, list[Read]] = defaultdict(list)
    for send in sends:
        sends_by_channel[send.channel_id].append(send)
    for read in reads:
        reads_by_channel[read.channel_id].append(read)
    for channel_id in sorted({*sends_by_channel, *reads_by_channel}):
        channel_sends = sends_by_channel[channel_id]
        channel_reads = sorted(reads_by_channel[channel_id], key=lambda read: read.started)
        found = [
            *_check_ids(channel_sends),
            *_check_order(channel_sends, channel_reads, id_lead_seconds),
            *_check_reads(channel_sends, channel_reads),
        ]
        violations += [f"channel {channel_id}: {violation}" for violation in found]
    return violations


def _check_ids(sends: Sequence[Send]) -> list[str]:
    """Check that two attempts never received the same message, and that an attempt never received two."""
    contents_by_id: dict[int, set[str]] = defaultdict(set)
    ids_by_content: dict[str, set[int]] = defaultdict(set)
    for send in sends:
        if send.outcome is Outcome.ACKNOWLEDGED:
            contents_by_id[send.message_id].add(send.content)
            ids_by_content[send.content].add(send.message_id)
    return [
        *(
            f"ID {id} acknowledged for {sorted(contents)}"
            for id, contents in contents_by_id.items()
            if len(contents) > 1
        ),
        *(
            f"{content!r} acknowledged with IDs {sorted(ids)}"
            for content, ids in ids_by_content.items()
            if len(ids) > 1
        ),
    ]


def _check_order(sends: Sequence[Send], reads: Sequence[Read], id_lead_seconds: float) -> list[str]:
    """Check that IDs follow the real-time order of sends; reads provide the IDs of sends with an unknown outcome."""
    stored_ids = {content: id for read in reads for id, content in read.messages}
    first_starts: dict[int, tuple[float, str]] = {}
    acknowledged_sends: list[tuple[float, int, str]] = []
    for send in sends:
        message_id = send.message_id or stored_ids.get(send.content, 0)
        if not message_id or send.outcome is Outcome.FAILED:
            continue
        # A repetition with the same nonce returns the earlier message, so the first attempt may have created it.
        first_starts[message_id] = min(first_starts.get(message_id, (math.inf, "")), (send.started, send.content))
        if send.outcome is Outcome.ACKNOWLEDGED:
            acknowledged_sends.append((send.ended, message_id, send.content))
    acknowledged_sends.sort()
    ends = [ended_at for ended_at, _, _ in acknowledged_sends]
    highest: list[tuple[int, str]] = []
    for _, message_id, content in acknowledged_sends:
        highest.append(max((message_id, content), highest[-1]) if highest else (message_id, content))
    violations = []
    for message_id, (started_at, content) in first_starts.items():
        index = bisect_left(ends, started_at - id_lead_seconds)
        if index and highest[index - 1][0] > message_id:
            earlier_id, earlier_content = highest[index - 1]
            violations.append(
                f"{content!r} was sent after {earlier_content!r} was acknowledged, but its ID {message_id} "
                f"is lower than {earlier_id}"
            )
    return violations


def _check_reads(sends: Sequence[Send], reads: Sequence[Read]) -> list[str]:
    violations: list[str] = []
    acknowledged_sends = sorted(
        (send for send in sends if send.outcome is Outcome.ACKNOWLEDGED), key=lambda send: send.ended
    )
    starts_by_content: dict[str, float] = {}
    for send in sends:
        if send.outcome is not Outcome.FAILED:
            starts_by_content[send.content] = min(send.started, starts_by_content.get(send.content, math.inf))
    required_messages: set[tuple[int, str]] = set()
    position = 0
    for read in reads:
        while position < len(acknowledged_sends) and acknowledged_sends[position].ended < read.started:
            required_messages.add((acknowledged_sends[position].message_id, acknowledged_sends[position].content))
            position += 1
        violations += _check_read(read, required_messages, starts_by_content)
    return violations + _check_read_order(reads)


def _check_read(read: Read, required: set[tuple[int, str]], starts_by_content: Mapping[str, float]) -> list[str]:
    """Check one read against the messages that it must contain and those that it may contain."""
    ids = [id for id, _ in read.messages]
    counts = Counter(content for _, content in read.messages)
    violations = [f"{content!r} was acknowledged and is lost" for _, content in sorted(required - set(read.messages))]
    violations += [f"{content!r} appears {count} times" for content, count in counts.items() if count > 1]
    violations += [
        f"{content!r} appears, but no client sent it before, or its send failed"
        for content in counts
        if starts_by_content.get(content, math.inf) > read.ended
    ]
    if ids != sorted(set(ids)):
        violations.append(f"a read returned the IDs {ids}, which are not in order")
    return violations


def _check_read_order(reads: Sequence[Read]) -> list[str]:
    """Check that reads agree on the order in which messages became visible, and that no read goes back in time."""
    violations = []
    reads_by_size = sorted(reads, key=lambda read: len(read.messages))
    for smaller, larger in pairwise(reads_by_size):
        if not set(smaller.messages) <= set(larger.messages):
            missing_contents = sorted(content for _, content in set(smaller.messages) - set(larger.messages))
            violations.append(f"two reads saw different messages; the larger one lacks {missing_contents}")
    largest: Read | None = None
    reads_by_end: list[Read] = sorted(reads, key=lambda read: read.ended)
    position = 0
    for read in reads:
        while position < len(reads_by_end) and reads_by_end[position].ended < read.started:
            if largest is None or len(reads_by_end[position].messages) > len(largest.messages):
                largest = reads_by_end[position]
            position += 1
        if largest is not None and (missing_messages := set(largest.messages) - set(read.messages)):
            contents = sorted(content for _, content in missing_messages)
            violations.append(f"a later read lacks {contents}, which an earlier read returned")
    return violations


def check_nonces(sends: Sequence[Send], final_reads: Iterable[Read]) -> list[str]:
    """Check that all sends with one nonce created one message, or none if none was acknowledged."""
    stored_contents = {read.channel_id: Counter(content for _, content in read.messages) for read in final_reads}
    attempts: dict[tuple[str, str, str], list[Send]] = defaultdict(list)
    for send in sends:
        if send.nonce:
            attempts[send.channel_id, send.author_id, send.nonce].append(send)
    violations = []
    for (channel_id, _, nonce), group in attempts.items():
        ids = {send.message_id for send in group if send.outcome is Outcome.ACKNOWLEDGED}
        count = sum(stored_contents.get(channel_id, Counter())[content] for content in {send.content for send in group})
        if len(ids) > 1:
            violations.append(f"nonce {nonce} was acknowledged with the IDs {sorted(ids)}")
        if count > 1 or count < len(ids):
            violations.append(f"nonce {nonce} has {count} messages and {len(ids)} acknowledged IDs")
    return violations


def check_uses(uses: Sequence[Use], limits: Mapping[str, int], final_user_ids: Mapping[str, set[str]]) -> list[str]:
    """Check that nothing was used more often than its limit, and that exactly the acknowledged uses had their effect.

    `final_user_ids` are the users on which each key had its effect, read after the run."""
    violations = []
    for key, limit in limits.items():
        group = [use for use in uses if use.key == key]
        acknowledged_users = {use.user_id for use in group if use.outcome is Outcome.ACKNOWLEDGED}
        possible = acknowledged_users | {use.user_id for use in group if use.outcome is Outcome.UNKNOWN}
        final = final_user_ids[key]
        if len(final) > limit or len(acknowledged_users) > limit:
            violations.append(f"{key}: {len(final)} effects and {len(acknowledged_users)} acknowledged uses of {limit}")
        if lost_users := acknowledged_users - final:
            violations.append(f"{key}: the acknowledged uses of {sorted(lost_users)} have no effect")
        if unexpected_users := final - possible:
            violations.append(f"{key}: {sorted(unexpected_users)} used it without an acknowledged or unknown use")
    return violations


def check_rights(changes: Sequence[RightChange], uses: Sequence[RightUse], bound_seconds: float = 0.0) -> list[str]:
    """Check that no use succeeds that started after the acknowledged removal of its right, beyond a bound in seconds.

    Every right is granted at first. Only acknowledged uses count; a delivered event is an acknowledged use."""
    changes_by_key: dict[str, list[RightChange]] = defaultdict(list)
    for change in changes:
        if change.outcome is not Outcome.FAILED:
            changes_by_key[change.key].append(change)
    violations = []
    for use in uses:
        if use.outcome is not Outcome.ACKNOWLEDGED:
            continue
        removals = [
            change.started
            for change in changes_by_key[use.key]
            if not change.is_granted
            and change.outcome is Outcome.ACKNOWLEDGED
            and change.ended + bound_seconds < use.started
        ]
        # A grant allows the use if it can have taken effect after every such removal, and before the end of the use.
        if removals and not any(
            change.is_granted and change.effect_ended >= max(removals) and change.started <= use.ended
            for change in changes_by_key[use.key]
        ):
            violations.append(f"{use.key} was removed before {use.description or 'a use'} started, which succeeded")
    return violations


def check_stream(stream: Stream, sends: Sequence[Send]) -> list[str]:
    """Check the dispatches of a session whose user can see all messages: none is repeated, and none is missing.

    A session that the platform ended with Invalid Session may lack the last messages before that."""
    violations = []
    expected_numbers = tuple(range(1, len(stream.sequence_numbers) + 1))
    if stream.sequence_numbers != expected_numbers:
        violations.append("the sequence numbers have gaps or repetitions")
    counts = Counter(stream.messages)
    violations += [f"{content!r} was delivered {count} times" for (_, _, content), count in counts.items() if count > 1]
    sent_messages = {(send.channel_id, send.content) for send in sends if send.outcome is not Outcome.FAILED}
    violations += [
        f"{content!r} was delivered, but not sent" for id, _, content in counts if (id, content) not in sent_messages
    ]
    if stream.is_open:
        # A send that repeats an earlier one with its nonce is acknowledged, although READY may contain the message.
        first_starts: dict[tuple[str, str], float] = {}
        for send in sends:
            key = (send.channel_id, send.content)
            first_starts[key] = min(send.started, first_starts.get(key, send.started))
        expected = {
            (send.channel_id, send.message_id, send.content)
            for send in sends
            if send.outcome is Outcome.ACKNOWLEDGED and first_starts[send.channel_id, send.content] > stream.started
        }
        missing_messages = sorted(expected - counts.keys(), key=lambda message: message[1])
        violations += [f"{content!r} was acknowledged and not delivered" for _, _, content in missing_messages]
    return violations


def check_client_state(
    dispatches: Sequence[Mapping[str, Any]], fresh_dispatches: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Check that the client state from the last READY and the dispatches after it equals the state of a fresh session."""
    last_ready = max(index for index, frame in enumerate(dispatches) if frame["t"] == "READY")
    updated_state, fresh_state = ClientState(dispatches[last_ready:]), ClientState(fresh_dispatches)
    fresh_state.unknown_last_message_channels = updated_state.unknown_last_message_channels
    return find_differences(updated_state.snapshot(), fresh_state.snapshot())
