"""From PEP 8 names to the specification's: `get_current_user_v2` is `GetCurrentUserV2`, `HTTP_ERROR` is `HTTPError`."""

from typing import Final

WORDS: Final = {
    "aec": "Aec",
    "http": "Http",
    "pid": "Pid",
    "ptt": "PTT",
    "url": "Url",
    "v2": "V2",
    "vad": "VAD",
}
"""Words that are not simply capitalized; the specification is not of one mind, so the rest stands in NAMES."""

NAMES: Final = {
    "HTTP_ERROR": "HTTPError",
    "RPC_ERROR": "RPCError",
    "IOS": "IOS",
    "PS4": "PS4",
    "PS5": "PS5",
    "S256": "S256",
    "OIDC": "OIDC",
    "MODE_UNINIT": "MODE_UNINIT",
    "MODE_VAD": "MODE_VAD",
    "MODE_PTT": "MODE_PTT",
    "IM_USED": "ImUsed",
    "URI_TOO_LONG": "UriTooLong",
    "PAYLOAD_TOO_LARGE": "PayloadTooLarge",
    "vad_threshold": "VadThreshold",
}


def pascal(name: str) -> str:
    """The specification's form of a name in snake case, or of an enumerator in capitals."""
    if name in NAMES:
        return NAMES[name]
    return "".join(WORDS.get(word, word[:1].upper() + word[1:]) for word in name.lower().split("_"))
