"""Embeds for GitHub events, with one function for each supported event (spec/webhooks-and-interactions.md#6)."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET

from hubbub.protocol.resources import embeds
from hubbub.protocol.resources.embeds import EmbedAuthorRequest, EmbedRequest
from hubbub.protocol.resources.github import GithubCheckSuite, GithubCommit, GithubIssue, GithubUser, GithubWebhook
from hubbub.server.talk.webhooks.execution.truncation import truncate

SHA_LENGTH: Final = 7
"""Number of characters of an abbreviated commit hash."""
LISTED_COMMITS_MAX: Final = 20
"""Maximum number of listed commits of a push."""
COMMIT_SUMMARY_MAX: Final = 50
"""Maximum length of a commit summary, in characters."""
QUOTED_TEXT_MAX: Final = 500
"""Maximum length of quoted text, in characters; the embed links to the rest."""

BLUE: Final = 0x7289DA
GREEN: Final = 0x009800
RED: Final = 0xFC2929
ORANGE: Final = 0xEB6420
YELLOW: Final = 0xFCBD1F
SAND: Final = 0xE68D60
PINK: Final = 0xBE8ABF

EmbedBuilder = Callable[[GithubWebhook], EmbedRequest | None]
"""A function that returns the embed for an event, or None if the event is ignored."""


def build_embed(event: str, payload: GithubWebhook) -> EmbedRequest | None:
    """Return the embed for an event, or None if the event is not supported or is ignored."""
    build_event_embed = EMBED_BUILDERS.get(event)
    embed_request = None if build_event_embed is None else build_event_embed(payload)
    if embed_request is None:
        return None
    sender = payload.sender
    embed_request.author = EmbedAuthorRequest(
        name=truncate(sender.login, embeds.EMBED_AUTHOR_MAX), url=sender.html_url, icon_url=sender.avatar_url
    )
    return embed_request


def _new_titled_embed(
    payload: GithubWebhook, title: str, url: str, *, text: str | None = None, color: int = 0
) -> EmbedRequest:
    """Build an embed whose title starts with the name of the repository or, without one, of the sender."""
    source_name = payload.repository.full_name if payload.repository else payload.sender.login
    return EmbedRequest(
        title=truncate(f"[{source_name}] {title}", embeds.EMBED_TITLE_MAX),
        url=url,
        description=truncate(text, QUOTED_TEXT_MAX) if text else UNSET,
        color=color or UNSET,
    )


def _source_url(payload: GithubWebhook) -> str:
    return payload.repository.html_url if payload.repository else payload.sender.html_url


def _numbered_title(issue: GithubIssue) -> str:
    return f"#{issue.number} {issue.title}"


# Commits


def _push_embed(payload: GithubWebhook) -> EmbedRequest | None:
    ref_name = (payload.ref or "").removeprefix("refs/heads/").removeprefix("refs/tags/")
    repository_name = payload.repository.name if payload.repository else payload.sender.login
    url = payload.compare or _source_url(payload)
    if payload.forced:
        head_sha = payload.head_commit.id[:SHA_LENGTH] if payload.head_commit else ""
        return EmbedRequest(
            title=truncate(
                f"[{repository_name}] Branch {ref_name} was force-pushed to `{head_sha}`", embeds.EMBED_TITLE_MAX
            ),
            url=url,
            description=f"[Compare changes]({url})",
            color=RED,
        )
    commits = payload.commits or []
    if not commits:
        return None
    commit_count = f"{len(commits)} new commit{'' if len(commits) == 1 else 's'}"
    return EmbedRequest(
        title=truncate(f"[{repository_name}:{ref_name}] {commit_count}", embeds.EMBED_TITLE_MAX),
        url=commits[0].url if len(commits) == 1 else url,
        description=truncate("\n".join(map(_commit_line, commits[:LISTED_COMMITS_MAX])), embeds.EMBED_DESCRIPTION_MAX),
        color=BLUE,
    )


def _commit_line(commit: GithubCommit) -> str:
    summary = truncate((commit.message.splitlines() or [""])[0], COMMIT_SUMMARY_MAX)
    author = commit.author.username or commit.author.name
    return f"[`{commit.id[:SHA_LENGTH]}`]({commit.url}) {summary} - {author}"


def _commit_comment_embed(payload: GithubWebhook) -> EmbedRequest | None:
    comment = payload.comment
    if not comment:
        return None
    sha = (comment.commit_id or "")[:SHA_LENGTH]
    return _new_titled_embed(payload, f"New comment on commit `{sha}`", comment.html_url, text=comment.body)


def _create_embed(payload: GithubWebhook) -> EmbedRequest | None:
    return _new_titled_embed(
        payload, f"New {payload.ref_type or 'ref'} created: {payload.ref or ''}", _source_url(payload)
    )


def _delete_embed(payload: GithubWebhook) -> EmbedRequest | None:
    ref_type = (payload.ref_type or "ref").capitalize()
    return _new_titled_embed(payload, f"{ref_type} deleted: {payload.ref or ''}", _source_url(payload))


# Issues and pull requests


def _issues_embed(payload: GithubWebhook) -> EmbedRequest | None:
    issue, action = payload.issue, payload.action
    if not issue or action not in ("opened", "closed", "reopened"):
        return None
    color = {"opened": ORANGE, "reopened": YELLOW}.get(action, 0)
    text = issue.body or None if action == "opened" else None
    return _new_titled_embed(
        payload, f"Issue {action}: {_numbered_title(issue)}", issue.html_url, text=text, color=color
    )


def _issue_comment_embed(payload: GithubWebhook) -> EmbedRequest | None:
    issue, comment = payload.issue, payload.comment
    if not issue or not comment or payload.action not in ("created", None, UNSET):
        return None
    is_pull_request = issue.pull_request is not UNSET and issue.pull_request is not None
    subject, color = ("pull request", PINK) if is_pull_request else ("issue", SAND)
    title = f"New comment on {subject} #{issue.number}: {issue.title}"
    return _new_titled_embed(payload, title, comment.html_url, text=comment.body, color=color)


def _pull_request_embed(payload: GithubWebhook) -> EmbedRequest | None:
    pull_request, action = payload.pull_request, payload.action
    if not pull_request or action not in ("opened", "closed", "reopened"):
        return None
    color = {"opened": GREEN, "reopened": YELLOW}.get(action, 0)
    text = pull_request.body or None if action == "opened" else None
    return _new_titled_embed(
        payload,
        f"Pull request {action}: {_numbered_title(pull_request)}",
        pull_request.html_url,
        text=text,
        color=color,
    )


def _pull_request_review_embed(payload: GithubWebhook) -> EmbedRequest | None:
    pull_request, review = payload.pull_request, payload.review
    if not pull_request or not review or payload.action != "submitted":
        return None
    state = review.state.lower().replace("_", " ")
    title = {"approved": "Pull request approved", "changes requested": "Changes requested on pull request"}.get(
        state, "Pull request review submitted"
    )
    color = {"approved": GREEN, "changes requested": RED}.get(state, PINK)
    return _new_titled_embed(
        payload, f"{title}: {_numbered_title(pull_request)}", review.html_url, text=review.body or None, color=color
    )


def _pull_request_review_comment_embed(payload: GithubWebhook) -> EmbedRequest | None:
    pull_request, comment = payload.pull_request, payload.comment
    if not pull_request or not comment or payload.action not in ("created", None, UNSET):
        return None
    title = f"New review comment on pull request #{pull_request.number}: {pull_request.title}"
    return _new_titled_embed(payload, title, comment.html_url, text=comment.body, color=PINK)


# The repository


def _fork_embed(payload: GithubWebhook) -> EmbedRequest | None:
    if not payload.forkee:
        return None
    return _new_titled_embed(payload, f"Fork created: {payload.forkee.full_name}", payload.forkee.html_url)


def _member_embed(payload: GithubWebhook) -> EmbedRequest | None:
    member: GithubUser | None = payload.member or None
    if member is None or payload.action not in ("added", None, UNSET):
        return None
    return _new_titled_embed(payload, f"New collaborator added: {member.login}", member.html_url)


def _public_embed(payload: GithubWebhook) -> EmbedRequest | None:
    return _new_titled_embed(payload, "Now open sourced!", _source_url(payload))


def _release_embed(payload: GithubWebhook) -> EmbedRequest | None:
    release = payload.release
    if not release or payload.action not in ("published", None, UNSET):
        return None
    return _new_titled_embed(payload, f"New release published: {release.tag_name}", release.html_url)


def _watch_embed(payload: GithubWebhook) -> EmbedRequest | None:
    return _new_titled_embed(payload, "New star added", _source_url(payload))


# Checks


def _check_run_embed(payload: GithubWebhook) -> EmbedRequest | None:
    check_run = payload.check_run
    if not check_run or not check_run.conclusion or payload.action not in ("completed", None, UNSET):
        return None
    text = (check_run.output.title or check_run.output.summary or None) if check_run.output else None
    title = f"{check_run.name} {check_run.conclusion} on {_check_subject(check_run.check_suite)}"
    url = check_run.details_url or check_run.html_url
    return _new_titled_embed(payload, title, url, text=text, color=_conclusion_color(check_run.conclusion))


def _check_suite_embed(payload: GithubWebhook) -> EmbedRequest | None:
    check_suite = payload.check_suite
    if not check_suite or not check_suite.conclusion or payload.action not in ("completed", None, UNSET):
        return None
    title = f"{check_suite.app.name} checks {check_suite.conclusion} on {_check_subject(check_suite)}"
    return _new_titled_embed(payload, title, _source_url(payload), color=_conclusion_color(check_suite.conclusion))


def _check_subject(check_suite: GithubCheckSuite) -> str:
    pull_request_numbers = ", ".join(f"#{pull_request.number}" for pull_request in check_suite.pull_requests or ())
    return pull_request_numbers or check_suite.head_branch or f"`{check_suite.head_sha[:SHA_LENGTH]}`"


def _conclusion_color(conclusion: str) -> int:
    if conclusion == "success":
        return GREEN
    return RED if conclusion in ("failure", "timed_out", "action_required") else YELLOW


# Discussions


def _discussion_embed(payload: GithubWebhook) -> EmbedRequest | None:
    discussion = payload.discussion
    if not discussion:
        return None
    if payload.action == "created":
        title = f"New discussion #{discussion.number}: {discussion.title}"
        return _new_titled_embed(payload, title, discussion.html_url, text=discussion.body or None, color=SAND)
    if payload.action == "answered":
        text = payload.answer.body if payload.answer else None
        title = f"Answer marked for discussion #{discussion.number}: {discussion.title}"
        return _new_titled_embed(
            payload, title, discussion.answer_html_url or discussion.html_url, text=text, color=GREEN
        )
    return None


def _discussion_comment_embed(payload: GithubWebhook) -> EmbedRequest | None:
    discussion, comment = payload.discussion, payload.comment
    if not discussion or not comment or payload.action not in ("created", None, UNSET):
        return None
    title = f"New comment on discussion #{discussion.number}: {discussion.title}"
    return _new_titled_embed(payload, title, comment.html_url, text=comment.body, color=SAND)


EMBED_BUILDERS: Final[Mapping[str, EmbedBuilder]] = {
    "commit_comment": _commit_comment_embed,
    "create": _create_embed,
    "delete": _delete_embed,
    "fork": _fork_embed,
    "issue_comment": _issue_comment_embed,
    "issues": _issues_embed,
    "member": _member_embed,
    "public": _public_embed,
    "pull_request": _pull_request_embed,
    "pull_request_review": _pull_request_review_embed,
    "pull_request_review_comment": _pull_request_review_comment_embed,
    "push": _push_embed,
    "release": _release_embed,
    "watch": _watch_embed,
    "check_run": _check_run_embed,
    "check_suite": _check_suite_embed,
    "discussion": _discussion_embed,
    "discussion_comment": _discussion_comment_embed,
}
