"""A person speaks over HTTP, as the chat client would: say.py READY_FILE alice general "!ping". Prints the newest messages."""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

ready_file, user, channel, words = sys.argv[1:5]
world = json.loads(Path(ready_file).read_text())
messages = f"{world['api']}/channels/{world['guilds']['Town Square']['channels'][channel]}/messages"


def call(method: str, url: str, body: object = None) -> Any:
    # A person's token has no prefix; a bot's would be "Bot ...".
    headers = {"Authorization": world["users"][user]["token"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
        return json.load(answer)


call("POST", messages, {"content": words})
for message in reversed(call("GET", f"{messages}?limit=5")):
    print(f"{message['author']['username']}: {message['content']}")
