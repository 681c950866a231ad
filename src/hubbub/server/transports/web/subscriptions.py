"""The page with the user's subscriptions, where the user can cancel and resume them."""

from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.enums import SubscriptionStatus
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import guilds
from hubbub.protocol.resources import subscriptions as wire
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page

PATH: Final = "/settings/subscriptions"
SUBSCRIPTION_PATH: Final = PATH + r"/{subscription_id:\d{1,19}}"


@page("GET", PATH)
async def show_subscriptions(request: PageRequest) -> web.Response:
    """List the user's subscriptions, ended ones last."""
    subscriptions = await request.call(wire.LIST_MY_SUBSCRIPTIONS)
    current_subscriptions = [
        subscription for subscription in subscriptions if subscription.status is not SubscriptionStatus.INACTIVE
    ]
    guild_names: dict[int, str] = {}
    if any(subscription.guild_id is not None for subscription in subscriptions):
        guild_names = {int(guild.id): guild.name for guild in await request.call(guilds.LIST_MY_GUILDS)}
    return request.render(
        "subscriptions.html",
        current=current_subscriptions,
        ended=[subscription for subscription in subscriptions if subscription not in current_subscriptions],
        guild_names=guild_names,
        active_status=SubscriptionStatus.ACTIVE,
    )


@page("GET", f"{SUBSCRIPTION_PATH}/cancel")
async def show_cancel(request: PageRequest) -> web.Response:
    """Show the confirmation page of a cancellation."""
    subscription = await _require_subscription(request)
    if subscription.status is not SubscriptionStatus.ACTIVE:
        return request.redirect(PATH)
    return request.render("subscription_cancel.html", subscription=subscription)


@page("POST", f"{SUBSCRIPTION_PATH}/cancel")
async def cancel(request: PageRequest) -> web.Response:
    """Cancel a subscription at the end of the paid period."""
    subscription = await _require_subscription(request)
    try:
        await request.call(wire.CANCEL_MY_SUBSCRIPTION, subscription.id)
    except ApiError as error:
        return _redirect_ended(request, error)
    return request.redirect(
        PATH,
        notice=gettext(
            "{name} was canceled. You keep access until the end of the paid period.", name=subscription.sku.name
        ),
    )


@page("POST", f"{SUBSCRIPTION_PATH}/resume")
async def resume(request: PageRequest) -> web.Response:
    """Resume a canceled subscription."""
    subscription = await _require_subscription(request)
    try:
        await request.call(wire.RESUME_MY_SUBSCRIPTION, subscription.id)
    except ApiError as error:
        return _redirect_ended(request, error)
    return request.redirect(PATH, notice=gettext("{name} was resumed.", name=subscription.sku.name))


async def _require_subscription(request: PageRequest) -> wire.MySubscription:
    for subscription in await request.call(wire.LIST_MY_SUBSCRIPTIONS):
        if subscription.id == int(request.path_parameter("subscription_id")):
            return subscription
    raise errors.NOT_FOUND(message=gettext("You do not have this subscription."))


def _redirect_ended(request: PageRequest, error: ApiError) -> web.Response:
    """Handle a subscription that ended while the page was open."""
    if error.kind is not errors.INVALID_FORM_BODY:
        raise error
    return request.redirect(PATH, notice=gettext("This subscription has already ended."))
