"""The page behind an activity link (spec/activities.md#9)."""

from typing import Final

from aiohttp import web

from hubbub.protocol.resources import activity_links
from hubbub.server.transports.web.page_requests import PageRequest, page

ACTIVITY_PATH: Final = r"/activities/{application_id:\d{1,19}}"


@page("GET", ACTIVITY_PATH, is_public=True)
async def show_activity(request: PageRequest) -> web.Response:
    """Show an activity and the link that was followed."""
    fields = ("link_id", "custom_id", "referrer_id")
    query = {name: [request.query_parameter(name)] for name in fields if request.query_parameter(name)}
    # Ignore parameters that are too long: an edited URL still leads to the activity.
    query = {name: values for name, values in query.items() if len(values[0]) <= activity_links.LINK_CUSTOM_ID_MAX}
    activity = await request.call(
        activity_links.OPEN_ACTIVITY_LINK, request.path_parameter("application_id"), query=query
    )
    image = None
    if activity.link is not None:
        link_number = activity.link.link_id.partition("-")[2]
        image = f"{request.config.cdn_url}/activity-links/{activity.application.id:d}/{link_number}.png"
    return request.render("activity.html", activity=activity, image=image)
