"""Jobs that send mail. Unreachable SMTP servers are retried; rejected recipients are not."""

from hubbub.protocol import codec
from hubbub.protocol.resources import account_emails as wire
from hubbub.server.core import translation
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import DropJob, Job, PermanentFailure
from hubbub.server.core.mail import MailRejected
from hubbub.server.identity import registration, users
from hubbub.server.identity.account_emails import actions, composition
from hubbub.server.identity.account_emails.composition import MailDraft


async def send_confirmation(operation: AsyncOperation, job: Job) -> None:
    """Send the link that confirms an address; if it belongs to another account, notify the owner of that account instead."""
    payload = job.decode(actions.ConfirmationMail)

    def build_draft(call: Call) -> MailDraft:
        row = users.find(call.tx, payload.user_id)
        email = None if row is None else actions.find_unconfirmed_email(call, row)
        if row is None or email is None:
            raise DropJob("the user has no address to confirm")
        owner = users.find_by_email(call.tx, email)
        if owner is not None:
            return composition.create_draft(call.config, "address_in_use", email, owner.locale, username=owner.username)
        token = actions.issue_token(call, row.id, email, "confirm")
        values = {"username": row.username, "email": email, "token": token}
        return composition.create_draft(call.config, "confirm", email, row.locale, **values)

    await _send(operation, await operation.write(build_draft))


async def send_reset(operation: AsyncOperation, job: Job) -> None:
    """Send the link that resets a password, if an account has the confirmed address."""
    payload = job.decode(actions.ResetMail)

    def build_draft(call: Call) -> MailDraft | None:
        if call.now_ms >= payload.requested_ms + wire.RESET_TOKEN_SECONDS * 1000:
            raise DropJob("the request is too old")
        row = users.find_by_email(call.tx, payload.email)
        if row is None or row.bot:
            return None
        token = actions.issue_token(call, row.id, payload.email, "reset")
        values = {"username": row.username, "token": token}
        return composition.create_draft(call.config, "reset", payload.email, row.locale, **values)

    draft = await operation.write(build_draft)
    if draft is not None:
        await _send(operation, draft)


async def send_invite(operation: AsyncOperation, job: Job) -> None:
    """Send a registration invite in the language of its creator. Each attempt gives the invite a new code."""
    payload = job.decode(actions.InviteMail)

    def build_draft(call: Call) -> MailDraft:
        invite_and_code = registration.actions.replace_code(call, payload.invite_id)
        if invite_and_code is None:
            raise DropJob("the invite cannot be used any more")
        row, code = invite_and_code
        creator = None if row.creator_id is None else users.find(call.tx, row.creator_id)
        values = {
            "creator": "" if creator is None else creator.global_name or creator.username,
            "code": code,
            "expires": "" if row.expires_ms is None else codec.timestamp(row.expires_ms),
        }
        locale = call.config.web.default_locale if creator is None else creator.locale
        return composition.create_draft(call.config, "registration_invite", payload.email, locale, **values)

    await _send(operation, await operation.write(build_draft))


async def send_notice(operation: AsyncOperation, job: Job) -> None:
    """Report an event of an account to the address that was confirmed when it happened."""
    notice = job.decode(actions.NoticeMail)
    config = await operation.read(lambda call: call.config)
    values = {**notice.details, "username": notice.username, "time": codec.timestamp(notice.created_ms)}
    await _send(operation, composition.create_draft(config, notice.template, notice.to, notice.locale, **values))


async def _send(operation: AsyncOperation, draft: MailDraft) -> None:
    if not translation.is_loaded(draft.language):
        await operation.run_in_thread(translation.load, draft.language)
    try:
        await operation.mailer.send(composition.compose(draft))
    except MailRejected as error:
        raise PermanentFailure(str(error)) from error
