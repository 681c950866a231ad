"""A person speaks over HTTP, as the chat client would: say.py READY_FILE alice general "!ping". Prints the newest messages."""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

if len(sys.argv) != 5:
    sys.exit(
        'usage: say.py READY_FILE PERSON CHANNEL WORDS, such as say.py hubbub-data/ready.json alice general "!ping"'
    )
ready_file, user, channel, words = sys.argv[1:]
try:
    world = json.loads(Path(ready_file).read_text())
    people, channels = world["users"], world["guilds"]["Town Square"]["channels"]
except (OSError, ValueError, LookupError) as error:
    sys.exit(f"say: {ready_file} is no ready file of the demo world ({error}); see examples/README.md")
for kind, name, known in (("person", user, people), ("channel", channel, channels)):
    if name not in known:
        sys.exit(f"say: there is no {kind} {name}; there are {', '.join(known)}")
messages = f"{world['api']}/channels/{channels[channel]}/messages"


def call(method: str, url: str, body: object = None) -> Any:
    # A person's token has no prefix; a bot's would be "Bot ...".
    headers = {"Authorization": people[user]["token"], "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        sys.exit(f"say: {user} may not do this in {channel}: {json.load(refusal)['message']}")
    except urllib.error.URLError as error:
        sys.exit(f"say: nobody answers at {world['api']} ({error.reason}); is `make run` running?")


call("POST", messages, {"content": words})
for message in reversed(call("GET", f"{messages}?limit=5")):
    print(f"{message['author']['username']}: {message['content']}")
