"""Who is in a call, and the moves that its clients make together."""

from dataclasses import dataclass, field

from hubbub.server.transports.voice.dave.proposals import Arrival

PACKAGES_BURST = 10
PACKAGES_PER_SECOND = 0.5
"""Key packages taken of one client: each costs all others a commit, and honest ones are rare."""

PACKAGE_SECONDS = 5.0
"""How long a client may owe its key package before it is late."""


@dataclass(slots=True)
class Person:
    """Somebody in the call."""

    user_id: int
    version: int
    """The highest protocol version that the client speaks."""
    packages_at: float
    introduced: bool = False
    """Whether this connection has been told our key: a second time would break it."""
    arrival: Arrival | None = None
    """The last key package; None while the client owes one."""
    leaf_index: int | None = None
    """Where this person is in the group; None for those outside, whatever the tree still says."""
    entered: int = 0
    """The transition that let this person in."""
    owes_since: float | None = None
    late: bool = False
    strikes: int = 0
    """How many members could not follow commits of this person."""
    _packages: float = field(default=PACKAGES_BURST)

    def forget(self, owes_since: float | None) -> None:
        """The client has begun anew: no key package and no group."""
        self.arrival = None
        self.leaf_index = None
        self.owes_since = owes_since
        self.late = False

    def may_send_package(self, now: float) -> bool:
        """Whether there is room for another key package; takes it."""
        self._packages = min(PACKAGES_BURST, self._packages + (now - self.packages_at) * PACKAGES_PER_SECOND)
        self.packages_at = now
        if self._packages < 1:
            return False
        self._packages -= 1
        return True


@dataclass(slots=True)
class Transition:
    """A change that members prepare for, then make at once."""

    id: int
    version: int
    due: float
    """When it is made even though somebody has not answered."""
    recipients: set[int]
    waiting: set[int]
    """Those who have not answered."""
    committer: int | None = None
    judges: set[int] = field(default_factory=set)
    """Those who can tell whether the commit is a good one: the other members, or the newcomers where there are none."""
    failed: set[int] = field(default_factory=set)
    """Those who could not follow."""

    def fail(self, user_id: int) -> bool:
        """Somebody could not follow; says whether with this one most judges could not."""
        if user_id in self.failed or user_id not in self.recipients:
            return False
        self.failed.add(user_id)
        against = len(self.judges & self.failed)
        return user_id in self.judges and (against - 1) * 2 <= len(self.judges) < against * 2
