"""`hubbub doctor --url`: checks a deployment from outside, through its proxy (decisions/0063).

It needs only the packages of the base install, so that it also runs on a machine without a server."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from hubbub.server.deployment.account_checks import AccountChecks
from hubbub.server.deployment.public_checks import PublicChecks, is_api_problem
from hubbub.server.deployment.target import DeploymentTarget, parse_url, read_token
from hubbub.server.terminal import Finding, print_error, print_findings


def run(arguments: argparse.Namespace) -> int:
    """Check the deployment at `--url` and print every finding.

    Return the exit code: 0, 1 if any finding is a problem, or 2 if an option is invalid."""
    try:
        url = parse_url(arguments.url)
        token = None if arguments.token_file is None else read_token(Path(arguments.token_file))
    except ValueError as error:
        return print_error(error, 2)
    return asyncio.run(print_findings(run_checks(url, token)))


async def run_checks(url: str, token: str | None) -> AsyncIterator[Finding]:
    """Run all checks one after another. `token` is the token of a user, or None to skip the checks that need one."""
    async with DeploymentTarget(url, token) as target:
        has_api_problem = False
        async for finding in PublicChecks(target).run():
            yield finding
            has_api_problem = has_api_problem or is_api_problem(finding)
        if has_api_problem:
            return
        if token is None:
            yield Finding(
                "note",
                "account",
                "upload, CDN ranges and voice were not checked",
                "pass --token-file FILE with the token of a user; the check creates a guild and deletes it",
            )
            return
        async for finding in AccountChecks(target).run():
            yield finding
