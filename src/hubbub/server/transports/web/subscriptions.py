"""What a person pays for every month, and the way to stop it."""

from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import guilds
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.transports.web.visits import Visit, page

HERE: Final = "/settings/subscriptions"
ONE: Final = HERE + r"/{subscription_id:\d{1,19}}"


@page("GET", HERE)
async def show_subscriptions(visit: Visit) -> web.Response:
    """All of them, those that are over last."""
    found = await visit.ask(wire.LIST_MY_SUBSCRIPTIONS)
    going_on = [each for each in found if each.status is not SubscriptionStatus.INACTIVE]
    named: dict[int, str] = {}
    if any(each.guild_id is not None for each in found):
        named = {int(guild.id): guild.name for guild in await visit.ask(guilds.LIST_MY_GUILDS)}
    return visit.show(
        "subscriptions.html",
        going_on=going_on,
        over=[each for each in found if each not in going_on],
        guilds=named,
        renews=SubscriptionStatus.ACTIVE,
    )


@page("GET", f"{ONE}/cancel")
async def show_cancel(visit: Visit) -> web.Response:
    """What canceling means, and the last question."""
    mine = await _find(visit)
    if mine.status is not SubscriptionStatus.ACTIVE:
        return visit.go(HERE)
    return visit.show("subscription_cancel.html", mine=mine)


@page("POST", f"{ONE}/cancel")
async def cancel(visit: Visit) -> web.Response:
    """Pay no more; what is paid stays."""
    mine = await _find(visit)
    try:
        await visit.ask(wire.CANCEL_MY_SUBSCRIPTION, mine.id)
    except ApiError as error:
        return _over(visit, error)
    return visit.go(HERE, say=f"{mine.sku.name} is canceled. It is yours until the end of what you paid for.")


@page("POST", f"{ONE}/resume")
async def resume(visit: Visit) -> web.Response:
    """Pay again after all."""
    mine = await _find(visit)
    try:
        await visit.ask(wire.RESUME_MY_SUBSCRIPTION, mine.id)
    except ApiError as error:
        return _over(visit, error)
    return visit.go(HERE, say=f"{mine.sku.name} goes on.")


async def _find(visit: Visit) -> wire.MySubscription:
    for each in await visit.ask(wire.LIST_MY_SUBSCRIPTIONS):
        if each.id == int(visit.path("subscription_id")):
            return each
    raise errors.NOT_FOUND(message="You have no such subscription.")


def _over(visit: Visit, error: ApiError) -> web.Response:
    """It came to its end while the page was open."""
    if error.kind is not errors.INVALID_FORM_BODY:
        raise error
    return visit.go(HERE, say="That subscription is over already.")
