"""The participants of an end-to-end encrypted call (DAVE), and the transitions that their clients make together."""

from dataclasses import dataclass, field

from hubbub.server.transports.voice.dave.proposals import ValidatedKeyPackage

KEY_PACKAGES_BURST = 10
"""Number of key packages that a client may send without a pause. For each one, all other members must process a commit."""
KEY_PACKAGES_PER_SECOND = 0.5
"""Number of key packages per second that a client may send after a burst."""

KEY_PACKAGE_TIMEOUT_SECONDS = 5.0
"""Time in seconds that a client has to send its key package before it counts as overdue."""


@dataclass(slots=True)
class Participant:
    """A client in the call, and its state in the MLS group."""

    user_id: int
    version: int
    """DAVE version of the client, at most `DAVE_VERSION`; 0 for a client without DAVE."""
    last_package_at: float
    """Time in seconds of the last received key package, even if it was rejected; before the first one, time of the join."""
    has_external_sender: bool = False
    """Whether the client was sent the external sender; sending it twice would break the client."""
    key_package: ValidatedKeyPackage | None = None
    """The last key package; None before the first one and after `reset`."""
    leaf_index: int | None = None
    """Leaf index in the group; None outside the group, even if the tree still has a leaf."""
    entry_transition_id: int = 0
    """ID of the transition that added the participant to the group."""
    missing_since: float | None = None
    """Time since which a key package is missing, or None."""
    is_overdue: bool = False
    """Whether a key package has been missing for too long."""
    penalty: int = 0
    """Penalty for commits that other members could not apply.

    It is 0 again after a commit that all members applied, and when all founders of a group have the maximum."""
    _package_allowance: float = field(default=KEY_PACKAGES_BURST)
    """Number of key packages that the client may send now."""

    def reset(self, missing_since: float | None) -> None:
        """Reset the participant to a client that has no key package and is not in the group.

        `missing_since` is the time since which a key package is missing, or None if none is expected.
        """
        self.key_package = None
        self.leaf_index = None
        self.missing_since = missing_since
        self.is_overdue = False

    def consume_package_allowance(self, now: float) -> bool:
        """Consume the rate limit for one key package; return False if the limit is exceeded."""
        self._package_allowance = min(
            KEY_PACKAGES_BURST, self._package_allowance + (now - self.last_package_at) * KEY_PACKAGES_PER_SECOND
        )
        self.last_package_at = now
        if self._package_allowance < 1:
            return False
        self._package_allowance -= 1
        return True


@dataclass(slots=True)
class Transition:
    """A change that members prepare for and then execute at the same time."""

    id: int
    version: int
    """DAVE version after the transition; 0 disables the encryption."""
    deadline: float
    """Time in seconds at which the transition is executed even if members have not responded."""
    recipients: set[int]
    """User IDs of the members that take part in the transition."""
    pending: set[int]
    """User IDs of the members that have not responded."""
    committer_id: int | None = None
    """User ID of the member whose commit caused the transition; None for a change of version."""
    validators: set[int] = field(default_factory=set)
    """User IDs of the members that can validate the commit.

    These are the members before the commit without the committer, or the new members if the committer was the only member.
    """
    failed: set[int] = field(default_factory=set)
    """User IDs of the members that could not apply the commit."""

    def record_failure(self, user_id: int) -> bool:
        """Record that a member could not apply the commit; return whether this failure makes the
        failed validators a majority, which is true only once."""
        if user_id in self.failed or user_id not in self.recipients:
            return False
        self.failed.add(user_id)
        failed_validators = len(self.validators & self.failed)
        return (
            user_id in self.validators and (failed_validators - 1) * 2 <= len(self.validators) < failed_validators * 2
        )
