"""Facts about the public HTTP API: operations, fields, types and limits, in `facts.txt`.

`notation.py` describes the form of the table. The facts include the corrections of `corrections.py`. `make parity`
compares the table with a copy of the public OpenAPI description, which is not part of the repository."""

import functools
from pathlib import Path
from typing import Any

from tests.contract.public_api import notation

FACTS = Path(__file__).parent / "facts.txt"


@functools.cache
def document() -> dict[str, Any]:
    """Return the facts as an OpenAPI document."""
    return notation.parse(FACTS.read_text())
