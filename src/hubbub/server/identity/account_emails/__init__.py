"""Email addresses of accounts: confirmation, password reset, and mail about logins and account changes."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity import (
    accounts,
    administration,
    login_providers,
    passkeys,
    registration_administration,
    users,
)
from hubbub.server.identity.account_emails import actions, jobs, listeners, routes
from hubbub.server.identity.account_emails.actions import enqueue_invite, export_data

SLICE = Slice(
    name="account_emails",
    modules=(routes,),
    jobs={
        actions.CONFIRMATION_JOB: jobs.send_confirmation,
        actions.RESET_JOB: jobs.send_reset,
        actions.NOTICE_JOB: jobs.send_notice,
        actions.INVITE_JOB: jobs.send_invite,
    },
    listeners={
        accounts.signals.AccountRegistered: listeners.on_account_registered,
        accounts.signals.SignedIn: listeners.on_signed_in,
        accounts.signals.PasswordChanged: listeners.on_password_changed,
        accounts.signals.SecondFactorChanged: listeners.on_second_factor_changed,
        accounts.signals.BackupCodesReplaced: listeners.on_backup_codes_replaced,
        administration.signals.UserSuspended: listeners.on_user_suspended,
        administration.signals.DeletionScheduled: listeners.on_deletion_scheduled,
        administration.signals.DeletionCanceled: listeners.on_deletion_canceled,
        passkeys.signals.PasskeyCreated: listeners.on_passkey_created,
        passkeys.signals.PasskeyDeleted: listeners.on_passkey_deleted,
        login_providers.signals.IdentityLinked: listeners.on_identity_linked,
        login_providers.signals.IdentityUnlinked: listeners.on_identity_unlinked,
        registration_administration.signals.RegistrationApproved: listeners.on_registration_approved,
        registration_administration.signals.RegistrationRejected: listeners.on_registration_rejected,
        users.signals.UserDeleting: listeners.on_user_deleting,
    },
)

__all__ = ["SLICE", "enqueue_invite", "export_data"]
