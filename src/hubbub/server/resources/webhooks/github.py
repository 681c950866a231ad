"""What GitHub tells, as embeds: one function for each event that becomes a message (webhooks-and-interactions.md 6)."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET

from hubbub.protocol.resources import embeds
from hubbub.protocol.resources.embeds import EmbedAuthorRequest, EmbedRequest
from hubbub.protocol.resources.github import GithubCheckSuite, GithubCommit, GithubIssue, GithubUser, GithubWebhook
from hubbub.server.resources.webhooks.cutting import cut

SHA_LENGTH: Final = 7
COMMITS_MAX: Final = 20
"""So many commits of a push are listed."""
COMMIT_LINE_MAX: Final = 50
BODY_MAX: Final = 500
"""Of what people wrote; the rest is a click away."""

BLUE: Final = 0x7289DA
GREEN: Final = 0x009800
RED: Final = 0xFC2929
ORANGE: Final = 0xEB6420
YELLOW: Final = 0xFCBD1F
SAND: Final = 0xE68D60
PINK: Final = 0xBE8ABF

Formatter = Callable[[GithubWebhook], EmbedRequest | None]


def embed(event: str, told: GithubWebhook) -> EmbedRequest | None:
    """The embed that tells of an event; None for one that is not told, or that lacks what would be told."""
    formatter = FORMATTERS.get(event)
    found = None if formatter is None else formatter(told)
    if found is None:
        return None
    who = told.sender
    found.author = EmbedAuthorRequest(
        name=cut(who.login, embeds.EMBED_AUTHOR_MAX), url=who.html_url, icon_url=who.avatar_url
    )
    return found


def _told(told: GithubWebhook, what: str, url: str, *, text: str | None = None, color: int = 0) -> EmbedRequest:
    where = told.repository.full_name if told.repository else told.sender.login
    return EmbedRequest(
        title=cut(f"[{where}] {what}", embeds.EMBED_TITLE_MAX),
        url=url,
        description=cut(text, BODY_MAX) if text else UNSET,
        color=color or UNSET,
    )


def _home(told: GithubWebhook) -> str:
    return told.repository.html_url if told.repository else told.sender.html_url


def _numbered(issue: GithubIssue) -> str:
    return f"#{issue.number} {issue.title}"


# Commits


def _push(told: GithubWebhook) -> EmbedRequest | None:
    branch = (told.ref or "").removeprefix("refs/heads/").removeprefix("refs/tags/")
    where = told.repository.name if told.repository else told.sender.login
    url = told.compare or _home(told)
    if told.forced:
        head = told.head_commit.id[:SHA_LENGTH] if told.head_commit else ""
        return EmbedRequest(
            title=cut(f"[{where}] Branch {branch} was force-pushed to `{head}`", embeds.EMBED_TITLE_MAX),
            url=url,
            description=f"[Compare changes]({url})",
            color=RED,
        )
    commits = told.commits or []
    if not commits:
        return None
    number = f"{len(commits)} new commit{'' if len(commits) == 1 else 's'}"
    return EmbedRequest(
        title=cut(f"[{where}:{branch}] {number}", embeds.EMBED_TITLE_MAX),
        url=commits[0].url if len(commits) == 1 else url,
        description=cut("\n".join(map(_line, commits[:COMMITS_MAX])), embeds.EMBED_DESCRIPTION_MAX),
        color=BLUE,
    )


def _line(commit: GithubCommit) -> str:
    said = cut((commit.message.splitlines() or [""])[0], COMMIT_LINE_MAX)
    who = commit.author.username or commit.author.name
    return f"[`{commit.id[:SHA_LENGTH]}`]({commit.url}) {said} - {who}"


def _commit_comment(told: GithubWebhook) -> EmbedRequest | None:
    comment = told.comment
    if not comment:
        return None
    commit = (comment.commit_id or "")[:SHA_LENGTH]
    return _told(told, f"New comment on commit `{commit}`", comment.html_url, text=comment.body)


def _create(told: GithubWebhook) -> EmbedRequest | None:
    return _told(told, f"New {told.ref_type or 'ref'} created: {told.ref or ''}", _home(told))


def _delete(told: GithubWebhook) -> EmbedRequest | None:
    kind = (told.ref_type or "ref").capitalize()
    return _told(told, f"{kind} deleted: {told.ref or ''}", _home(told))


# Issues and pull requests


def _issues(told: GithubWebhook) -> EmbedRequest | None:
    issue, action = told.issue, told.action
    if not issue or action not in ("opened", "closed", "reopened"):
        return None
    color = {"opened": ORANGE, "reopened": YELLOW}.get(action, 0)
    text = issue.body or None if action == "opened" else None
    return _told(told, f"Issue {action}: {_numbered(issue)}", issue.html_url, text=text, color=color)


def _issue_comment(told: GithubWebhook) -> EmbedRequest | None:
    issue, comment = told.issue, told.comment
    if not issue or not comment or told.action not in ("created", None, UNSET):
        return None
    pull = issue.pull_request is not UNSET and issue.pull_request is not None
    kind, color = ("pull request", PINK) if pull else ("issue", SAND)
    what = f"New comment on {kind} #{issue.number}: {issue.title}"
    return _told(told, what, comment.html_url, text=comment.body, color=color)


def _pull_request(told: GithubWebhook) -> EmbedRequest | None:
    pull, action = told.pull_request, told.action
    if not pull or action not in ("opened", "closed", "reopened"):
        return None
    color = {"opened": GREEN, "reopened": YELLOW}.get(action, 0)
    text = pull.body or None if action == "opened" else None
    return _told(told, f"Pull request {action}: {_numbered(pull)}", pull.html_url, text=text, color=color)


def _pull_request_review(told: GithubWebhook) -> EmbedRequest | None:
    pull, review = told.pull_request, told.review
    if not pull or not review or told.action != "submitted":
        return None
    state = review.state.lower().replace("_", " ")
    what = {"approved": "Pull request approved", "changes requested": "Changes requested on pull request"}.get(
        state, "Pull request review submitted"
    )
    color = {"approved": GREEN, "changes requested": RED}.get(state, PINK)
    return _told(told, f"{what}: {_numbered(pull)}", review.html_url, text=review.body or None, color=color)


def _pull_request_review_comment(told: GithubWebhook) -> EmbedRequest | None:
    pull, comment = told.pull_request, told.comment
    if not pull or not comment or told.action not in ("created", None, UNSET):
        return None
    what = f"New review comment on pull request #{pull.number}: {pull.title}"
    return _told(told, what, comment.html_url, text=comment.body, color=PINK)


# The repository


def _fork(told: GithubWebhook) -> EmbedRequest | None:
    if not told.forkee:
        return None
    return _told(told, f"Fork created: {told.forkee.full_name}", told.forkee.html_url)


def _member(told: GithubWebhook) -> EmbedRequest | None:
    member: GithubUser | None = told.member or None
    if member is None or told.action not in ("added", None, UNSET):
        return None
    return _told(told, f"New collaborator added: {member.login}", member.html_url)


def _public(told: GithubWebhook) -> EmbedRequest | None:
    return _told(told, "Now open sourced!", _home(told))


def _release(told: GithubWebhook) -> EmbedRequest | None:
    release = told.release
    if not release or told.action not in ("published", None, UNSET):
        return None
    return _told(told, f"New release published: {release.tag_name}", release.html_url)


def _watch(told: GithubWebhook) -> EmbedRequest | None:
    return _told(told, "New star added", _home(told))


# Checks


def _check_run(told: GithubWebhook) -> EmbedRequest | None:
    run = told.check_run
    if not run or not run.conclusion or told.action not in ("completed", None, UNSET):
        return None
    text = (run.output.title or run.output.summary or None) if run.output else None
    what = f"{run.name} {run.conclusion} on {_checked(run.check_suite)}"
    url = run.details_url or run.html_url
    return _told(told, what, url, text=text, color=_verdict(run.conclusion))


def _check_suite(told: GithubWebhook) -> EmbedRequest | None:
    suite = told.check_suite
    if not suite or not suite.conclusion or told.action not in ("completed", None, UNSET):
        return None
    what = f"{suite.app.name} checks {suite.conclusion} on {_checked(suite)}"
    return _told(told, what, _home(told), color=_verdict(suite.conclusion))


def _checked(suite: GithubCheckSuite) -> str:
    pulls = ", ".join(f"#{pull.number}" for pull in suite.pull_requests or ())
    return pulls or suite.head_branch or f"`{suite.head_sha[:SHA_LENGTH]}`"


def _verdict(conclusion: str) -> int:
    if conclusion == "success":
        return GREEN
    return RED if conclusion in ("failure", "timed_out", "action_required") else YELLOW


# Discussions


def _discussion(told: GithubWebhook) -> EmbedRequest | None:
    found = told.discussion
    if not found:
        return None
    if told.action == "created":
        what = f"New discussion #{found.number}: {found.title}"
        return _told(told, what, found.html_url, text=found.body or None, color=SAND)
    if told.action == "answered":
        text = told.answer.body if told.answer else None
        what = f"Answer marked for discussion #{found.number}: {found.title}"
        return _told(told, what, found.answer_html_url or found.html_url, text=text, color=GREEN)
    return None


def _discussion_comment(told: GithubWebhook) -> EmbedRequest | None:
    found, comment = told.discussion, told.comment
    if not found or not comment or told.action not in ("created", None, UNSET):
        return None
    what = f"New comment on discussion #{found.number}: {found.title}"
    return _told(told, what, comment.html_url, text=comment.body, color=SAND)


FORMATTERS: Final[Mapping[str, Formatter]] = {
    "commit_comment": _commit_comment,
    "create": _create,
    "delete": _delete,
    "fork": _fork,
    "issue_comment": _issue_comment,
    "issues": _issues,
    "member": _member,
    "public": _public,
    "pull_request": _pull_request,
    "pull_request_review": _pull_request_review,
    "pull_request_review_comment": _pull_request_review_comment,
    "push": _push,
    "release": _release,
    "watch": _watch,
    "check_run": _check_run,
    "check_suite": _check_suite,
    "discussion": _discussion,
    "discussion_comment": _discussion_comment,
}
