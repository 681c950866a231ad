"""GitHub webhooks: the fields of GitHub's event payloads from which messages are created."""

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
"""GitHub events that are turned into messages; others are ignored."""


class GithubUser(Struct, kw_only=True):
    """A GitHub account."""

    id: int
    """GitHub ID of the account."""
    login: str
    """Username of the GitHub account."""
    html_url: str
    """URL of the profile."""
    avatar_url: str
    """URL of the avatar."""


class GithubAuthor(Struct, kw_only=True):
    """Author of a commit."""

    name: str
    """Name of the author, from the commit."""
    username: str | None | UnsetType = UNSET
    """GitHub username; absent or null if the author has no known account."""


class GithubCommit(Struct, kw_only=True):
    """A commit in a push event of GitHub."""

    id: str
    """SHA of the commit."""
    url: str
    """URL of the commit."""
    message: str
    """Message of the commit."""
    author: GithubAuthor
    """Author of the commit."""


class GithubComment(Struct, kw_only=True):
    """A comment on a commit, issue, pull request or discussion."""

    id: int
    """GitHub ID of the comment."""
    html_url: str
    """URL of the comment."""
    user: GithubUser
    """Author of the comment."""
    body: str
    """Text of the comment."""
    commit_id: str | None | UnsetType = UNSET
    """SHA of the commit; absent or null for comments on other objects."""


class GithubIssue(Struct, kw_only=True):
    """An issue or pull request."""

    id: int
    """GitHub ID of the issue."""
    number: int
    """Number of the issue in its repository."""
    html_url: str
    """URL of the issue."""
    user: GithubUser
    """User who opened the issue."""
    title: str
    """Title of the issue."""
    body: str | None | UnsetType = UNSET
    """Text of the issue; absent or null if empty."""
    pull_request: Any = UNSET
    """Links of the pull request; absent if the issue is not a pull request."""


class GithubRepository(Struct, kw_only=True):
    """The repository in which an event of GitHub occurred."""

    id: int
    """GitHub ID of the repository."""
    html_url: str
    """URL of the repository."""
    name: str
    """Name of the repository."""
    full_name: str
    """Name of the repository, prefixed with its owner."""


class GithubRelease(Struct, kw_only=True):
    """A release in an event of GitHub."""

    id: int
    """GitHub ID of the release."""
    tag_name: str
    """Tag of the release."""
    html_url: str
    """URL of the release."""
    author: GithubUser
    """User who published the release."""


class GithubReview(Struct, kw_only=True):
    """A pull request review."""

    user: GithubUser
    """User who submitted the review."""
    html_url: str
    """URL of the review."""
    state: str
    """State of the review, such as `approved` or `changes_requested`."""
    body: str | None | UnsetType = UNSET
    """Text of the review; null if empty."""


class GithubCheckApp(Struct, kw_only=True):
    """The GitHub App that runs checks."""

    name: str
    """Name of the app."""


class GithubCheckPullRequest(Struct, kw_only=True):
    """A pull request that a check ran for."""

    number: int
    """Number of the pull request."""


class GithubCheckSuite(Struct, kw_only=True):
    """All checks of a commit by one app; absent and null fields are unknown."""

    head_sha: str
    """SHA of the commit."""
    app: GithubCheckApp
    """App that runs the checks."""
    conclusion: str | None | UnsetType = UNSET
    """Result of the check suite, such as `success` or `failure`; absent or null until completed."""
    head_branch: str | None | UnsetType = UNSET
    """Branch of the commit; absent or null if unknown."""
    pull_requests: list[GithubCheckPullRequest] | None | UnsetType = UNSET
    """Pull requests that contain the commit."""


class GithubCheckOutput(Struct, kw_only=True):
    """Report of a check run; absent and null fields are empty."""

    title: str | None | UnsetType = UNSET
    """Title of the report."""
    summary: str | None | UnsetType = UNSET
    """Summary of the report."""


class GithubCheckRun(Struct, kw_only=True):
    """One check of a commit; absent and null fields are unknown."""

    name: str
    """Name of the check."""
    html_url: str
    """URL of the check run on GitHub."""
    check_suite: GithubCheckSuite
    """Check suite that contains the check run."""
    conclusion: str | None | UnsetType = UNSET
    """Result of the check run, such as `success` or `failure`; absent or null until completed."""
    details_url: str | None | UnsetType = UNSET
    """URL of the details on the app's website."""
    output: GithubCheckOutput | None | UnsetType = UNSET
    """Report of the check run."""
    pull_requests: list[GithubCheckPullRequest] | None | UnsetType = UNSET
    """Pull requests that contain the commit."""


class GithubDiscussion(Struct, kw_only=True):
    """A discussion in an event of GitHub."""

    title: str
    """Title of the discussion."""
    number: int
    """Number of the discussion in its repository."""
    html_url: str
    """URL of the discussion."""
    user: GithubUser
    """User who started the discussion."""
    answer_html_url: str | None | UnsetType = UNSET
    """URL of the accepted answer; null if there is none."""
    body: str | None | UnsetType = UNSET
    """Text of the discussion; null if empty."""


class GithubWebhook(Struct, kw_only=True):
    """Payload of a GitHub event, which the header `X-GitHub-Event` names; fields that it does not have are absent or null."""

    sender: GithubUser
    """User who caused the event."""
    action: str | None | UnsetType = UNSET
    """Action of the event, such as `opened` or `closed`."""
    ref: str | None | UnsetType = UNSET
    """Git reference that was pushed, created or deleted."""
    ref_type: str | None | UnsetType = UNSET
    """Type of the created or deleted reference: `branch` or `tag`."""
    comment: GithubComment | None | UnsetType = UNSET
    """Comment that was created."""
    issue: GithubIssue | None | UnsetType = UNSET
    """Issue that the event concerns."""
    pull_request: GithubIssue | None | UnsetType = UNSET
    """Pull request that the event concerns."""
    repository: GithubRepository | None | UnsetType = UNSET
    """Repository in which the event occurred."""
    forkee: GithubRepository | None | UnsetType = UNSET
    """Repository that a fork created."""
    member: GithubUser | None | UnsetType = UNSET
    """User who was added as a collaborator."""
    release: GithubRelease | None | UnsetType = UNSET
    """Release that was published."""
    head_commit: GithubCommit | None | UnsetType = UNSET
    """Newest commit of a push."""
    commits: list[GithubCommit] | None | UnsetType = UNSET
    """Commits of a push."""
    forced: bool | None | UnsetType = UNSET
    """Whether the push was a force push."""
    compare: str | None | UnsetType = UNSET
    """URL that compares the branch before and after the push."""
    review: GithubReview | None | UnsetType = UNSET
    """Pull request review that was submitted."""
    check_run: GithubCheckRun | None | UnsetType = UNSET
    """Check run that the event concerns."""
    check_suite: GithubCheckSuite | None | UnsetType = UNSET
    """Check suite that the event concerns."""
    discussion: GithubDiscussion | None | UnsetType = UNSET
    """Discussion that the event concerns."""
    answer: GithubComment | None | UnsetType = UNSET
    """Comment that was accepted as the answer of a discussion."""
