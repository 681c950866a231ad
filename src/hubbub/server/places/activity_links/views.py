"""Build the wire models of activity links."""

from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import activity_links as wire
from hubbub.server.places.activity_links.store import LinkRow


def link(row: LinkRow) -> wire.ActivityLink:
    """Build an activity link, whose ID starts with its type."""
    link_view = wire.ActivityLink(
        application_id=ApplicationId(row.application_id),
        link_id=f"{row.type}-{row.id}",
        title=row.title,
        description=row.description,
        custom_id=row.custom_id,
    )
    if row.type == wire.LINK_TYPE_QUICK:
        link_view.asset_path = f"activity-links/{row.application_id}/{row.id}.png"
    else:
        link_view.asset_id = str(row.id)
    return link_view
