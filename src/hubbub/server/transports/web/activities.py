"""The page behind an activity's link: what it is, and how it is played (activities.md 9)."""

from typing import Final

from aiohttp import web

from hubbub.protocol.resources import activity_links
from hubbub.server.transports.web.visits import Visit, page

ACTIVITY: Final = r"/activities/{application_id:\d{1,19}}"


@page("GET", ACTIVITY, anyone=True)
async def show_activity(visit: Visit) -> web.Response:
    """The activity, and the link that led here."""
    fields = ("link_id", "custom_id", "referrer_id")
    query = {name: [visit.query(name)] for name in fields if visit.query(name)}
    # An address that somebody shortened or made up is still the activity's.
    query = {name: value for name, value in query.items() if len(value[0]) <= activity_links.CUSTOM_ID_MAX}
    opened = await visit.ask(activity_links.OPEN_ACTIVITY_LINK, visit.path("application_id"), query=query)
    picture = None
    if opened.link is not None:
        number = opened.link.link_id.partition("-")[2]
        picture = f"{visit.config.cdn_url}/activity-links/{opened.application.id:d}/{number}.png"
    return visit.show("activity.html", opened=opened, picture=picture)
