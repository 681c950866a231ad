"""What GitHub tells a webhook: of its payloads as much as becomes a message."""

from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

GITHUB_EVENTS: Final = frozenset(
    {
        "check_run",
        "check_suite",
        "commit_comment",
        "create",
        "delete",
        "discussion",
        "discussion_comment",
        "fork",
        "issue_comment",
        "issues",
        "member",
        "public",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "push",
        "release",
        "watch",
    }
)
"""The events that become messages."""


class GithubUser(Struct, kw_only=True):
    """Somebody on GitHub."""

    id: int
    login: str
    html_url: str
    avatar_url: str


class GithubAuthor(Struct, kw_only=True):
    """Who wrote a commit; `username` where GitHub knows them."""

    name: str
    username: str | None | UnsetType = UNSET


class GithubCommit(Struct, kw_only=True):
    """A commit."""

    id: str
    url: str
    message: str
    author: GithubAuthor


class GithubComment(Struct, kw_only=True):
    """A comment, on anything."""

    id: int
    html_url: str
    user: GithubUser
    body: str
    commit_id: str | None | UnsetType = UNSET


class GithubIssue(Struct, kw_only=True):
    """An issue or a pull request."""

    id: int
    number: int
    html_url: str
    user: GithubUser
    title: str
    body: str | None | UnsetType = UNSET
    pull_request: Any = UNSET
    """There when the issue is a pull request."""


class GithubRepository(Struct, kw_only=True):
    """A repository."""

    id: int
    html_url: str
    name: str
    full_name: str


class GithubRelease(Struct, kw_only=True):
    """A release."""

    id: int
    tag_name: str
    html_url: str
    author: GithubUser


class GithubReview(Struct, kw_only=True):
    """A review of a pull request."""

    user: GithubUser
    html_url: str
    state: str
    body: str | None | UnsetType = UNSET


class GithubCheckApp(Struct, kw_only=True):
    """The service that checks."""

    name: str


class GithubCheckPullRequest(Struct, kw_only=True):
    """A pull request that is checked."""

    number: int


class GithubCheckSuite(Struct, kw_only=True):
    """All checks of a commit by one service."""

    head_sha: str
    app: GithubCheckApp
    conclusion: str | None | UnsetType = UNSET
    head_branch: str | None | UnsetType = UNSET
    pull_requests: list[GithubCheckPullRequest] | None | UnsetType = UNSET


class GithubCheckOutput(Struct, kw_only=True):
    """What a check has to say."""

    title: str | None | UnsetType = UNSET
    summary: str | None | UnsetType = UNSET


class GithubCheckRun(Struct, kw_only=True):
    """One check of a commit."""

    name: str
    html_url: str
    check_suite: GithubCheckSuite
    conclusion: str | None | UnsetType = UNSET
    details_url: str | None | UnsetType = UNSET
    output: GithubCheckOutput | None | UnsetType = UNSET
    pull_requests: list[GithubCheckPullRequest] | None | UnsetType = UNSET


class GithubDiscussion(Struct, kw_only=True):
    """A discussion."""

    title: str
    number: int
    html_url: str
    user: GithubUser
    answer_html_url: str | None | UnsetType = UNSET
    body: str | None | UnsetType = UNSET


class GithubWebhook(Struct, kw_only=True):
    """An event of GitHub; which one it is says the header X-GitHub-Event."""

    sender: GithubUser
    action: str | None | UnsetType = UNSET
    ref: str | None | UnsetType = UNSET
    ref_type: str | None | UnsetType = UNSET
    comment: GithubComment | None | UnsetType = UNSET
    issue: GithubIssue | None | UnsetType = UNSET
    pull_request: GithubIssue | None | UnsetType = UNSET
    repository: GithubRepository | None | UnsetType = UNSET
    forkee: GithubRepository | None | UnsetType = UNSET
    member: GithubUser | None | UnsetType = UNSET
    release: GithubRelease | None | UnsetType = UNSET
    head_commit: GithubCommit | None | UnsetType = UNSET
    commits: list[GithubCommit] | None | UnsetType = UNSET
    forced: bool | None | UnsetType = UNSET
    compare: str | None | UnsetType = UNSET
    review: GithubReview | None | UnsetType = UNSET
    check_run: GithubCheckRun | None | UnsetType = UNSET
    check_suite: GithubCheckSuite | None | UnsetType = UNSET
    discussion: GithubDiscussion | None | UnsetType = UNSET
    answer: GithubComment | None | UnsetType = UNSET
