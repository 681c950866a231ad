"""Actions of `hubbub admin` and their arguments on the command line."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

AddAction = Callable[[str, str], argparse.ArgumentParser]
"""Function that adds an action with its name and help text, and returns the parser of its arguments."""


def add_actions(add_action: AddAction) -> None:
    """Add all actions with their arguments to the command line."""
    create_user_parser = add_action("create-user", "create a user and print their token")
    create_user_parser.add_argument("username", metavar="USERNAME", help="name of the user")
    create_user_parser.add_argument("--email", metavar="ADDRESS", help="email address of the user")
    create_user_parser.add_argument("--global-name", metavar="NAME", help="display name of the user")
    create_user_parser.add_argument(
        "--password-stdin", action="store_true", help="read the password from standard input"
    )

    set_password_parser = add_action("set-password", "set a user's password, read from standard input")
    set_password_parser.add_argument("username", metavar="USERNAME", help="name of the user")

    create_application_parser = add_action("create-application", "create an application and print its secrets once")
    create_application_parser.add_argument("name", metavar="NAME", help="name of the application")
    create_application_parser.add_argument(
        "--owner", required=True, metavar="USERNAME", help="owner of the application"
    )
    create_application_parser.add_argument("--no-bot", action="store_true", help="do not create a bot user")
    create_application_parser.add_argument(
        "--intent", action="append", default=[], metavar="NAME", help="privileged intent to enable (repeatable)"
    )
    create_application_parser.add_argument(
        "--redirect-uri", action="append", default=[], metavar="URI", help="redirect URI for OAuth2 (repeatable)"
    )

    reset_bot_token_parser = add_action("reset-bot-token", "revoke a bot's token and print the new one once")
    reset_bot_token_parser.add_argument("application_id", metavar="APPLICATION_ID", help="ID of the application")

    add_action("list-approvals", "list the scopes and intents that applications have requested")
    approve_scope_parser = add_action("approve-scope", "allow an application to request a scope that needs approval")
    approve_intent_parser = add_action("approve-intent", "grant a large application a privileged intent for one year")
    deny_approval_parser = add_action("deny-approval", "deny an application's request for a scope or an intent")
    for decision_parser in (approve_scope_parser, approve_intent_parser, deny_approval_parser):
        decision_parser.add_argument("application_id", metavar="APPLICATION_ID", help="ID of the application")
        decision_parser.add_argument("name", metavar="NAME", help="name of the scope or intent")

    ban_user_parser = add_action("ban-user", "disable an account, revoke all its tokens and remove it from all games")
    ban_user_parser.add_argument("username", metavar="USERNAME", help="name of the user")
    ban_user_parser.add_argument(
        "--until", metavar="TIME", help="end of the ban, such as 2026-12-01T00:00:00Z (default: permanent)"
    )
    ban_user_parser.add_argument("--reason", help="reason, which the affected account sees")

    unban_user_parser = add_action("unban-user", "enable a disabled account again")
    unban_user_parser.add_argument("username", metavar="USERNAME", help="name of the user")

    list_users_parser = add_action("list-users", "search the accounts of the server")
    list_users_parser.add_argument(
        "query", nargs="?", default="", metavar="TEXT", help="part of a name, an email address or an ID"
    )
    list_users_parser.add_argument(
        "--state", choices=("suspended", "deleting"), help="list accounts in this state only"
    )

    show_user_parser = add_action("show-user", "show an account with its storage and its login sessions")
    end_sessions_parser = add_action("end-sessions", "log a user out everywhere")
    list_sessions_parser = add_action("list-sessions", "search the login sessions of the server")
    list_sessions_parser.add_argument(
        "address", nargs="?", default="", metavar="ADDRESS", help="IP address, or its beginning and *: 192.0.2.*"
    )
    list_sessions_parser.add_argument("--user", metavar="USERNAME", help="list sessions of this user only")
    end_session_parser = add_action("end-session", "end one login session")
    end_session_parser.add_argument("session_id", metavar="SESSION_ID", help="number of the session in list-sessions")
    delete_user_parser = add_action("delete-user", "delete an account and its messages after a grace period")
    delete_user_parser.add_argument("--reason", required=True, help="reason for the audit log")
    delete_user_parser.add_argument(
        "--grace-days",
        type=int,
        default=30,
        metavar="DAYS",
        help="days in which the account can be restored (default: 30)",
    )
    restore_user_parser = add_action("restore-user", "cancel the deletion of an account")
    export_user_parser = add_action(
        "export-user", "print the stored data of a user as JSON, for example of a suspended one"
    )
    export_user_parser.add_argument("--reason", help="reason for the audit log")

    _add_guild_actions(add_action)
    _add_application_actions(add_action)
    _add_feature_actions(add_action)
    _add_announcement_actions(add_action)
    _add_file_actions(add_action)
    _add_report_actions(add_action)
    _add_registration_actions(add_action)
    _add_document_actions(add_action)

    add_action("list-jobs", "list the queues of background jobs, such as deliveries and mail, and their failures")
    retry_jobs_parser = add_action("retry-jobs", "retry the background jobs of a kind that failed permanently")
    retry_jobs_parser.add_argument("kind", metavar="KIND", help="kind of the jobs, such as webhook_events.deliver")
    retry_job_parser = add_action("retry-job", "retry a background job whose attempts failed")
    discard_job_parser = add_action("discard-job", "delete a background job that failed permanently")
    for job_parser in (retry_job_parser, discard_job_parser):
        job_parser.add_argument("job_id", metavar="JOB_ID", help="number of the job in list-jobs")

    add_action("list-operators", "list the operators of the server")
    set_operator_parser = add_action("set-operator", "let a user manage the server at /admin")
    remove_operator_parser = add_action("remove-operator", "remove the role of an operator")
    for account_parser in (
        show_user_parser,
        end_sessions_parser,
        delete_user_parser,
        restore_user_parser,
        export_user_parser,
        set_operator_parser,
        remove_operator_parser,
    ):
        account_parser.add_argument("username", metavar="USERNAME", help="name of the user")
    for reason_parser in (
        end_session_parser,
        end_sessions_parser,
        set_operator_parser,
        remove_operator_parser,
        retry_job_parser,
        discard_job_parser,
    ):
        reason_parser.add_argument("--reason", help="reason for the audit log")
    set_operator_parser.add_argument("role", choices=("owner", "moderator", "auditor"), help="role of the operator")
    audit_log_parser = add_action("audit-log", "list the newest actions of operators")
    audit_log_parser.add_argument("--operator", metavar="USERNAME", help="list actions of this operator only")
    audit_log_parser.add_argument("--action", metavar="NAME", help="list actions of this kind only: user.suspend")
    audit_log_parser.add_argument(
        "--target", metavar="ID", help="list actions on this user, guild or other object only"
    )

    link_publisher_parser = add_action("link-publisher", "make an application a game of a publisher, permanently")
    link_publisher_parser.add_argument("application_id", metavar="APPLICATION_ID", help="ID of the application")
    link_publisher_parser.add_argument("parent_id", metavar="PARENT_ID", help="ID of the publisher's application")
    link_publisher_parser.add_argument(
        "--yes", action="store_true", help="confirm that the application's player data is deleted"
    )

    add_bot_parser = add_action("add-bot", "add an application's bot to a guild")
    add_bot_parser.add_argument("application_id", metavar="APPLICATION_ID", help="ID of the application")
    add_bot_parser.add_argument("guild_id", metavar="GUILD_ID", help="ID of the guild")
    add_bot_parser.add_argument(
        "--permission",
        action="append",
        default=[],
        metavar="NAME",
        help="permission to give the bot's role (repeatable)",
    )

    change_guild_parser = add_action("guild", "show or change a guild's boost tier and features")
    change_guild_parser.add_argument("guild_id", metavar="GUILD_ID", help="ID of the guild")
    change_guild_parser.add_argument("--tier", type=int, choices=range(4), help="boost tier to set")
    change_guild_parser.add_argument(
        "--add-feature", action="append", default=[], metavar="NAME", help="feature to add, such as VANITY_URL"
    )
    change_guild_parser.add_argument(
        "--remove-feature", action="append", default=[], metavar="NAME", help="feature to remove"
    )

    change_user_parser = add_action("user", "show or change a user's premium tier")
    change_user_parser.add_argument("username", metavar="USERNAME", help="name of the user")
    change_user_parser.add_argument(
        "--premium", choices=("none", "tier_0", "tier_1", "tier_2"), help="premium tier to set"
    )

    split_permissions_parser = add_action(
        "split-permissions",
        "add the permissions that were split off older ones to every role and overwrite that has the older ones",
    )
    split_permissions_parser.add_argument("guild_id", metavar="GUILD_ID", help="ID of the guild")


def _add_guild_actions(add_action: AddAction) -> None:
    list_guilds_parser = add_action("list-guilds", "search the guilds of the server")
    list_guilds_parser.add_argument("query", nargs="?", default="", metavar="TEXT", help="part of a name, or an ID")
    list_guilds_parser.add_argument("--state", choices=("suspended", "deleting"), help="list guilds in this state only")
    show_guild_parser = add_action("show-guild", "show the owner and the amount of data of a guild")
    suspend_guild_parser = add_action("suspend-guild", "make a guild unavailable to its members")
    unsuspend_guild_parser = add_action("unsuspend-guild", "make a suspended guild available again")
    delete_guild_parser = add_action("delete-guild", "delete a guild and its messages after a grace period")
    restore_guild_parser = add_action("restore-guild", "cancel the deletion of a guild")
    transfer_guild_parser = add_action("transfer-guild", "make another member the owner of a guild")
    for parser in (
        show_guild_parser,
        suspend_guild_parser,
        unsuspend_guild_parser,
        delete_guild_parser,
        restore_guild_parser,
        transfer_guild_parser,
    ):
        parser.add_argument("guild_id", metavar="GUILD_ID", help="ID of the guild")
    transfer_guild_parser.add_argument(
        "username", metavar="USERNAME", help="name of the new owner, who must be a member"
    )
    for parser in (suspend_guild_parser, delete_guild_parser):
        parser.add_argument("--reason", required=True, help="reason, which the members see")
    for parser in (unsuspend_guild_parser, restore_guild_parser, transfer_guild_parser):
        parser.add_argument("--reason", help="reason for the audit log")
    delete_guild_parser.add_argument(
        "--grace-days",
        type=int,
        default=30,
        metavar="DAYS",
        help="days in which the guild can be restored (default: 30)",
    )


def _add_application_actions(add_action: AddAction) -> None:
    list_applications_parser = add_action("list-applications", "search the applications of the server")
    list_applications_parser.add_argument(
        "query", nargs="?", default="", metavar="TEXT", help="part of a name, or an ID"
    )
    list_applications_parser.add_argument("--disabled", action="store_true", help="list disabled applications only")
    show_application_parser = add_action("show-application", "show the owner and the use of an application")
    disable_application_parser = add_action("disable-application", "refuse all tokens of an application")
    enable_application_parser = add_action("enable-application", "accept the tokens of a disabled application again")
    delete_application_parser = add_action("delete-application", "delete an application after a grace period")
    restore_application_parser = add_action("restore-application", "cancel the deletion of an application")
    for parser in (
        show_application_parser,
        disable_application_parser,
        enable_application_parser,
        delete_application_parser,
        restore_application_parser,
    ):
        parser.add_argument("application_id", metavar="APPLICATION_ID", help="ID of the application")
    for parser in (disable_application_parser, delete_application_parser):
        parser.add_argument("--reason", required=True, help="reason for the audit log")
    for parser in (enable_application_parser, restore_application_parser):
        parser.add_argument("--reason", help="reason for the audit log")
    delete_application_parser.add_argument(
        "--grace-days",
        type=int,
        default=30,
        metavar="DAYS",
        help="days in which the application can be restored (default: 30)",
    )
    delete_application_parser.add_argument(
        "--delete-messages", action="store_true", help="also delete everything that the bot wrote"
    )


def _add_feature_actions(add_action: AddAction) -> None:
    add_action("list-features", "list the features that can be switched off")
    switch_feature_parser = add_action("switch-feature", "switch a feature on or off for all users")
    switch_feature_parser.add_argument(
        "feature",
        choices=("registration", "guild_creation", "uploads", "voice", "applications", "push", "link_previews"),
        help="feature to switch",
    )
    switch_feature_parser.add_argument("state", choices=("on", "off"), help="new state of the feature")
    switch_feature_parser.add_argument("--message", help="message that users see while the feature is off")
    switch_feature_parser.add_argument("--reason", help="reason for the audit log")


def _add_announcement_actions(add_action: AddAction) -> None:
    add_action("list-announcements", "list the newest announcements")
    announce_parser = add_action("announce", "show a banner to all users")
    announce_parser.add_argument("text", metavar="TEXT", help="text of the banner")
    announce_parser.add_argument(
        "--level",
        choices=("info", "warning", "critical"),
        default="info",
        help="importance of the announcement (default: info)",
    )
    announce_parser.add_argument(
        "--from", dest="starts_at", metavar="TIME", help="start, such as 2026-12-01T00:00:00Z (default: now)"
    )
    announce_parser.add_argument(
        "--until", dest="ends_at", required=True, metavar="TIME", help="end of the announcement"
    )
    end_announcement_parser = add_action("end-announcement", "end an announcement")
    end_announcement_parser.add_argument(
        "announcement_id", metavar="ANNOUNCEMENT_ID", help="ID of the announcement in list-announcements"
    )
    for parser in (announce_parser, end_announcement_parser):
        parser.add_argument("--reason", help="reason for the audit log")


def _add_registration_actions(add_action: AddAction) -> None:
    list_registrations_parser = add_action("list-registrations", "list the accounts that wait for approval")
    list_registrations_parser.add_argument(
        "--state",
        choices=("pending", "rejected"),
        default="pending",
        help="list registrations in this state only (default: pending)",
    )
    approve_parser = add_action("approve-registration", "let a new user log in")
    reject_parser = add_action("reject-registration", "reject a new user, who sees the reason")
    for parser in (approve_parser, reject_parser):
        parser.add_argument("username", metavar="USERNAME", help="name of the user")
    add_action("list-registration-invites", "list the invites with which visitors can register")
    create_invite_parser = add_action(
        "create-registration-invite", "create an invite, and print its code or send it by mail"
    )
    create_invite_parser.add_argument("--note", default="", metavar="TEXT", help="for example the recipient")
    create_invite_parser.add_argument("--email", metavar="ADDRESS", help="address to which the link is sent")
    create_invite_parser.add_argument(
        "--uses", type=int, default=1, metavar="N", help="registrations; 0 for any number (default: 1)"
    )
    create_invite_parser.add_argument(
        "--days", type=int, default=7, metavar="N", help="validity; 0 for no limit (default: 7)"
    )
    delete_invite_parser = add_action("delete-registration-invite", "delete an invite")
    delete_invite_parser.add_argument(
        "invite_id", metavar="INVITE_ID", help="ID of the invite in list-registration-invites"
    )
    for parser in (approve_parser, reject_parser, create_invite_parser, delete_invite_parser):
        parser.add_argument("--reason", help="reason for the audit log")


def _add_document_actions(add_action: AddAction) -> None:
    publish_parser = add_action("publish-document", "publish the terms or the privacy notice from a Markdown file")
    publish_parser.add_argument("kind", choices=("terms", "privacy"), help="kind of the document")
    publish_parser.add_argument(
        "text", metavar="FILE", type=_read_text, help="Markdown file in UTF-8, or - for standard input"
    )
    publish_parser.add_argument(
        "--keep-acceptance", action="store_true", help="do not ask users who accepted an earlier version"
    )
    publish_parser.add_argument("--reason", help="reason for the audit log")


def _read_text(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise argparse.ArgumentTypeError(f"{path} cannot be read as UTF-8 text") from None


def _add_report_actions(add_action: AddAction) -> None:
    list_reports_parser = add_action("list-reports", "list the messages, users and guilds that users reported")
    list_reports_parser.add_argument(
        "--state", choices=("open", "decided"), default="open", help="list cases in this state only (default: open)"
    )
    list_reports_parser.add_argument("--assignee", metavar="USERNAME", help="list cases of this operator only")
    show_report_parser = add_action("show-report", "show a reported object with its evidence")
    assign_report_parser = add_action("assign-report", "assign the reports of an object to an operator")
    unassign_report_parser = add_action("unassign-report", "assign the reports of an object to no operator")
    decide_report_parser = add_action("decide-report", "close the reports of an object with a decision")
    for parser in (show_report_parser, assign_report_parser, unassign_report_parser, decide_report_parser):
        parser.add_argument("case_id", metavar="CASE_ID", help="ID of the case in list-reports")
    assign_report_parser.add_argument("username", metavar="USERNAME", help="a moderator or owner")
    decide_report_parser.add_argument(
        "decision",
        choices=("dismiss", "warn", "delete_message", "suspend_user", "suspend_guild"),
        help="decision about the case",
    )
    decide_report_parser.add_argument("--reason", help="reason, which the affected account sees")
    decide_report_parser.add_argument("--until", metavar="TIME", help="end of the suspension of an account")
    decide_report_parser.add_argument("--delete-message", action="store_true", help="delete the reported message too")
    list_decisions_parser = add_action("list-decisions", "list the decisions about accounts")
    list_decisions_parser.add_argument("--user", metavar="USERNAME", help="list decisions about this user only")
    add_action("list-appeals", "list the open appeals against decisions")
    decide_appeal_parser = add_action("decide-appeal", "grant or reject an appeal")
    decide_appeal_parser.add_argument("decision_id", metavar="DECISION_ID", help="ID of the decision in list-decisions")
    decide_appeal_parser.add_argument("outcome", choices=("grant", "reject"), help="decision about the appeal")
    decide_appeal_parser.add_argument("--answer", help="answer, which the affected account sees")


def _add_file_actions(add_action: AddAction) -> None:
    add_action("storage", "show the storage of the server, and the accounts and guilds with the most files")
    list_files_parser = add_action("list-files", "list the largest uploaded files")
    list_files_parser.add_argument("name", nargs="?", default="", metavar="NAME", help="part of the name of a file")
    list_files_parser.add_argument("--guild", metavar="GUILD_ID", help="list files of this guild only")
    list_files_parser.add_argument("--user", metavar="USERNAME", help="list files of this user only")
    delete_file_parser = add_action("delete-file", "delete a file of a message")
    delete_file_parser.add_argument("file_id", metavar="FILE_ID", help="ID of the file in list-files")
    delete_file_parser.add_argument("--reason", required=True, help="reason for the audit log")
    set_quota_parser = add_action("set-quota", "set the storage quota of an account or guild")
    target_group = set_quota_parser.add_mutually_exclusive_group(required=True)
    target_group.add_argument("--user", metavar="USERNAME", help="account whose quota is set")
    target_group.add_argument("--guild", metavar="GUILD_ID", help="guild whose quota is set")
    set_quota_parser.add_argument("bytes", metavar="BYTES", help="number of bytes, or default")
    set_quota_parser.add_argument("--reason", help="reason for the audit log")
