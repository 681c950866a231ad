"""Conversion of PEP 8 names to the specification's names, such as `get_current_user_v2` to `GetCurrentUserV2`."""

from typing import Final

IRREGULAR_PARTS: Final = {"ptt": "PTT", "vad": "VAD"}
"""Parts of names that the specification writes in capitals. `IRREGULAR_NAMES` has whole names with another spelling."""

IRREGULAR_NAMES: Final = {
    "HTTP_ERROR": "HTTPError",
    "RPC_ERROR": "RPCError",
    "IOS": "IOS",
    "PS4": "PS4",
    "PS5": "PS5",
    "OIDC": "OIDC",
    "MODE_UNINIT": "MODE_UNINIT",
    "MODE_VAD": "MODE_VAD",
    "MODE_PTT": "MODE_PTT",
    "vad_threshold": "VadThreshold",
}
"""Names in the specification that do not follow the rule of `to_pascal_case`."""


def to_pascal_case(name: str) -> str:
    """Convert a snake-case name or an uppercase enumerator to the specification's Pascal-case name."""
    if name in IRREGULAR_NAMES:
        return IRREGULAR_NAMES[name]
    return "".join(IRREGULAR_PARTS.get(word, word[:1].upper() + word[1:]) for word in name.lower().split("_"))
