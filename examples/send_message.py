"""Send a message as a user over HTTP, like a chat client, wait for an answer, and print the newest messages."""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ANSWER_SECONDS_MAX = 3.0

if len(sys.argv) != 5:
    sys.exit(
        "usage: send_message.py READY_FILE USER CHANNEL TEXT, "
        'such as send_message.py hubbub-data/ready.json alice general "!ping"'
    )
ready_file, user, channel, text = sys.argv[1:]
try:
    world = json.loads(Path(ready_file).read_text())
    users, channels = world["users"], world["guilds"]["Town Square"]["channels"]
except (OSError, ValueError, LookupError) as error:
    sys.exit(f"send_message: {ready_file} is not a ready file of the demo world ({error}); see examples/README.md")
for kind, name, valid_names in (("user", user, users), ("channel", channel, channels)):
    if name not in valid_names:
        sys.exit(f"send_message: unknown {kind} {name}; choose one of {', '.join(valid_names)}")
messages_url = f"{world['api']}/channels/{channels[channel]}/messages"


def send_request(method: str, url: str, body: object = None) -> Any:
    """Send an API request as the user and return the decoded response; exit with a message if it fails."""
    # A user's token has no prefix; a bot's token has the prefix "Bot".
    headers = {"Authorization": users[user]["token"], "Content-Type": "application/json"}
    encoded_body = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, encoded_body, headers, method=method)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        sys.exit(f"send_message: {user} cannot do this in {channel}: {json.load(error)['message']}")
    except urllib.error.URLError as error:
        sys.exit(f"send_message: cannot connect to {world['api']} ({error.reason}); is `make run` running?")


sent_message = send_request("POST", messages_url, {"content": text})
# A client that stays connected receives the answer over the gateway; this program asks for it a few times.
deadline = time.monotonic() + ANSWER_SECONDS_MAX
while not send_request("GET", f"{messages_url}?after={sent_message['id']}") and time.monotonic() < deadline:
    time.sleep(0.2)
for message in reversed(send_request("GET", f"{messages_url}?limit=5")):
    print(f"{message['author']['username']}: {message['content']}")
