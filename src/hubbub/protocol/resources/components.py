"""Message components: kept and given back as they were sent."""

from typing import Any, Final

COMPONENTS_MAX: Final = 40
"""In total, with IS_COMPONENTS_V2."""
ACTION_ROWS_MAX: Final = 5
"""At the top, without IS_COMPONENTS_V2."""
COMPONENT_TEXT_MAX: Final = 4000
"""Characters across all text displays."""

Component = dict[str, Any]
"""One component as JSON; its `type` says which keys it has."""
