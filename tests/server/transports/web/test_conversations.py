"""The pages of channels and direct messages without JavaScript, and their content security policy."""

import re
from typing import Any

import pytest

from hubbub.protocol import rpc
from hubbub.protocol.enums import ChannelType, ComponentType, MessageReferenceType, OverwriteType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.config import ActivitiesConfig, Config
from hubbub.server.transports.web.page_requests import client_policy
from tests.pages import Browser
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.talk.private_channels import create_group, open_dm, send_message
from tests.server.talk.uploads import PNG, send_files
from tests.server.transports.web.test_invitations import sign_in_browser
from tests.world import Actor, Guild, World


def page_path(guild: Guild, message: Any = None, channel_id: int | None = None) -> str:
    """Return the path of a guild channel, or of a message in it."""
    path = f"/app/channels/{guild.id}/{channel_id or guild.general}"
    return path if message is None else f"{path}/{message['id']}"


def message_ids(body: str) -> list[int]:
    """Return the IDs of the messages on a page, in order."""
    return [int(message_id) for message_id in re.findall(r'<li id="message-(\d+)"', body)]


def highlighted_ids(body: str) -> list[int]:
    """Return the IDs of the highlighted messages on a page."""
    return [
        int(message_id)
        for message_id in re.findall(r'<li id="message-(\d+)" class="marked" aria-current="true">', body)
    ]


async def test_the_app_page_lists_direct_messages_and_visible_channels(world: World) -> None:
    alice, bob, carol = await world.user("alice"), await world.user("bob"), await world.user("carol")
    (await carol.patch("/users/@me", json={"global_name": "carol <b>"})).ok()
    guild = await world.guild(bob, alice, carol, name="Town & Square")
    staff_channel_id = await guild.channel("staff")
    await guild.overwrite(staff_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    ideas_channel_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    first_channel, second_channel = await open_dm(alice, bob), await open_dm(alice, carol)
    await send_message(alice, second_channel["id"])
    await send_message(alice, first_channel["id"])
    named_group = await create_group(alice, bob, carol)
    (await alice.patch(f"/channels/{named_group['id']}", json={"name": "We three"})).ok()
    browser = sign_in_browser(alice)

    page = await browser.open("/app")

    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    private_links = [(text, url) for text, url in page.links if url.startswith("/app/channels/@me/")]
    assert private_links == [
        ("We three", f"/app/channels/@me/{named_group['id']}"),
        ("bob", f"/app/channels/@me/{first_channel['id']}"),
        ("carol <b>", f"/app/channels/@me/{second_channel['id']}"),
    ]
    assert ("Town & Square", f"/app/channels/{guild.id}") in page.links
    assert ("#general", page_path(guild)) in page.links
    assert ("#ideas", page_path(guild, channel_id=ideas_channel_id)) in page.links
    assert "staff" not in page.text
    assert "Text Channels" in page.text
    assert "carol <b>" not in page.body
    for _, url in page.links:
        if url.startswith("/app"):
            assert (await browser.open(url)).status == 200, url
    assert (await browser.open("/app/channels/@me")).url == "/app"
    assert "staff" in (await sign_in_browser(bob).open(f"/app/channels/{guild.id}")).text


async def test_the_app_page_has_empty_states_and_lists_the_channels_of_ten_guilds(world: World) -> None:
    alice = await world.user()
    page = await sign_in_browser(alice).open("/app")
    assert "No direct messages yet." in page.text
    assert "You are not in any guild yet." in page.text

    for number in range(11):
        last_guild = await world.guild(alice, name=f"Guild {number}")
    page = await sign_in_browser(alice).open("/app")

    assert sum(text == "#general" for text, _ in page.links) == 10
    assert ("Guild 10", f"/app/channels/{last_guild.id}") in page.links


async def test_a_linked_message_is_highlighted_among_its_neighbors(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    messages = [await guild.send_message(alice, f"word {number}") for number in range(120)]
    ids = [int(message["id"]) for message in messages]
    browser = sign_in_browser(alice)

    page = await browser.open(page_path(guild, messages[60]))
    assert page.status == 200
    assert highlighted_ids(page.body) == [ids[60]]
    assert message_ids(page.body) == ids[35:86]
    assert "Linked message" in page.text

    links = dict(page.links)
    earlier = await browser.open(links["Earlier messages"])
    assert message_ids(earlier.body) == ids[:35]
    assert "Earlier messages" not in dict(earlier.links)
    earlier_page = await browser.open(dict(earlier.links)["Later messages"])
    assert message_ids(earlier_page.body) == ids[35:85]
    later_page = await browser.open(dict(earlier_page.links)["Later messages"])
    assert message_ids(later_page.body) == ids[85:]
    assert "Later messages" not in dict(later_page.links)
    newest = await browser.open(links["Newest messages"])
    assert message_ids(newest.body) == ids[70:]
    assert highlighted_ids(newest.body) == []
    assert "No more messages." in (await browser.open(f"{page_path(guild)}?after={ids[-1]}")).text
    for query in ("?before=x", "?after=-1", "?before=" + "9" * 40):
        assert message_ids((await browser.open(page_path(guild) + query)).body) == ids[70:]


async def test_a_deleted_message_shows_its_neighbors(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    earlier_message, deleted_message = (
        await guild.send_message(alice, "before"),
        await guild.send_message(alice, "gone"),
    )
    (await alice.delete(f"/channels/{guild.general}/messages/{deleted_message['id']}")).ok()

    page = await sign_in_browser(alice).open(page_path(guild, deleted_message))

    assert page.status == 200
    assert "The linked message was deleted" in page.text
    assert message_ids(page.body) == [int(earlier_message["id"])]


async def test_user_text_is_escaped(world: World) -> None:
    malicious = "<script>alert(1)</script> & \"'"
    alice = await world.user()
    guild = await world.guild(alice, name=malicious)
    role_id = await guild.role(malicious)
    (await alice.patch(f"/channels/{guild.general}", json={"topic": malicious})).ok()
    (await alice.patch("/users/@me", json={"global_name": "<b>Ali</b>"})).ok()
    await guild.send_message(
        alice,
        f"{malicious} javascript:alert(1) <javascript:alert(2)> data:text/html,x <@&{role_id}>",
        embeds=[
            {
                "title": malicious,
                "description": malicious,
                "url": 'https://example.com/"><script>',
                "fields": [{"name": malicious, "value": malicious}],
                "footer": {"text": malicious},
                "author": {"name": malicious},
            }
        ],
        poll={"question": {"text": malicious}, "answers": [{"poll_media": {"text": malicious}}] * 2},
    )

    for path in (page_path(guild), "/app", f"/app/channels/{guild.id}"):
        page = await sign_in_browser(alice).open(path)
        assert page.status == 200
        assert malicious in page.text
        # Only the two scripts of the chat client are allowed.
        body = re.sub(
            r'<script (?:type="module" )?src="/static/app/[0-9a-f]{12}/(?:bootstrap|start)\.js"></script>',
            "",
            page.body,
        )
        for bad in ("<script", "<b>Ali", "style=", "onerror="):
            assert bad not in body, bad
        for _, url in page.links:
            assert url.startswith(("/", "https://", "#")), url
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy


async def test_mentions_links_and_times_are_rendered(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    ideas_channel_id = await guild.channel("ideas")
    role_id = await guild.role("mods")
    content = (
        f"Hi <@{bob.id}>, ask <@&{role_id}> in <#{ideas_channel_id}> <:wave:123> at <t:1700000000:R>: "
        f"see (https://example.com/a_(b)?x=1&y=2), <http://example.org/>! <@1> <t:99999999999999:R>"
    )
    await guild.send_message(alice, content)

    page = await sign_in_browser(bob).open(page_path(guild))

    assert "Hi @bob, ask @mods in #unknown channel :wave: at 14 November 2023, 22:13 UTC: see (https" in page.text
    assert "<http://example.org/>! @unknown user <t:99999999999999:R>" in page.text
    assert ("https://example.com/a_(b)?x=1&y=2", "https://example.com/a_(b)?x=1&y=2") in page.links
    assert ("http://example.org/", "http://example.org/") in page.links
    assert ("#unknown channel", page_path(guild, channel_id=ideas_channel_id)) in page.links
    assert 'href="http://example.org/" rel="noopener noreferrer nofollow"' in page.body


async def test_replies_edits_files_and_reactions_are_shown(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    first_message = await guild.send_message(alice, "the first word")
    reference = {"message_id": first_message["id"]}
    await guild.send_message(bob, "an answer", message_reference=reference)
    deleted_message = await guild.send_message(alice, "soon gone")
    await guild.send_message(bob, "too late", message_reference={"message_id": deleted_message["id"]})
    (await alice.delete(f"/channels/{guild.general}/messages/{deleted_message['id']}")).ok()
    (
        await alice.patch(f"/channels/{guild.general}/messages/{first_message['id']}", json={"content": "the new word"})
    ).ok()
    (await bob.put(f"/channels/{guild.general}/messages/{first_message['id']}/reactions/%F0%9F%91%8D/@me")).ok()
    files = [{"id": 0, "description": "a cat"}, {"id": 1}, {"id": 2}]
    names = (("cat.png", PNG), ("notes.txt", b"hello"), ("SPOILER_end.png", PNG))
    (await send_files(alice, f"/channels/{guild.general}/messages", *names, attachments=files)).ok()
    forwarded_body = {
        "type": MessageReferenceType.FORWARD,
        "message_id": first_message["id"],
        "channel_id": str(guild.general),
    }
    (await bob.post(f"/channels/{guild.general}/messages", json={"message_reference": forwarded_body})).ok()
    browser = sign_in_browser(bob)

    page = await browser.open(page_path(guild))

    assert "(edited) the new word" in page.text
    assert "👍 1" in page.text
    assert ("alice: the new word", f"{page_path(guild, first_message)}#message-{first_message['id']}") in page.links
    assert "Reply to a deleted message" in page.text
    assert "Forwarded: the new word" in page.text
    (image,) = re.findall(r'<img src="(/cdn/attachments/[^"]+)" alt="a cat"', page.body)
    assert (await browser.request("HEAD", image.replace("&amp;", "&"))).status == 200
    links = dict(page.links)
    for name in ("cat.png", "notes.txt", "SPOILER_end.png"):
        assert (await browser.request("HEAD", links[name])).status == 200, name


async def test_system_messages_are_rendered_as_text(world: World) -> None:
    alice, bob, carol, dave = [await world.user(name) for name in ("alice", "bob", "carol", "dave")]
    guild = await world.guild(alice, bob, carol, dave)
    first_message = await guild.send_message(alice, "a plan")
    (await alice.put(f"/channels/{guild.general}/messages/pins/{first_message['id']}")).ok()
    await guild.send_message(alice, "something between")
    thread = (
        await alice.post(f"/channels/{guild.general}/messages/{first_message['id']}/threads", json={"name": "Plans"})
    ).ok()
    created_group = await create_group(alice, bob, dave)
    (await alice.put(f"/channels/{created_group['id']}/recipients/{carol.id}")).ok()
    (await alice.patch(f"/channels/{created_group['id']}", json={"name": "We three"})).ok()
    (await carol.delete(f"/channels/{created_group['id']}")).ok()
    browser = sign_in_browser(bob)

    page = await browser.open(page_path(guild))
    assert "alice pinned a message." in page.text
    assert "alice started a thread: Plans" in page.text
    assert ("Plans", page_path(guild, channel_id=thread["id"])) in page.links
    page = await browser.open(page_path(guild, channel_id=thread["id"]))
    assert "alice started this thread from a message." in page.text
    assert ("Parent channel", page_path(guild)) in page.links
    page = await browser.open(f"/app/channels/@me/{created_group['id']}")
    for text in ("alice added carol.", "alice changed the name to We three.", "carol left the group."):
        assert text in page.text, text


async def test_a_message_is_sent_once_and_shown(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    direct_id = (await open_dm(bob, alice))["id"]
    browser = sign_in_browser(bob)

    for path in (page_path(guild), f"/app/channels/@me/{direct_id}"):
        old_page = await browser.open(path)
        page = await browser.submit(old_page, "Send", content="Good\nmorning <friends>")
        channel = path.rpartition("/")[2]
        (message,) = (await alice.get(f"/channels/{channel}/messages")).ok()
        assert (message["content"], message["author"]["id"]) == ("Good\nmorning <friends>", str(bob.id))
        assert browser.history[-1].url == f"{path}/{message['id']}#message-{message['id']}"
        assert highlighted_ids(page.body) == [int(message["id"])]
        assert "Good\nmorning &lt;friends&gt;" in page.body
        # Submitting the same form again creates no second message, unless the content differs.
        await browser.submit(old_page, "Send", content="Good\nmorning <friends>")
        assert len((await alice.get(f"/channels/{channel}/messages")).ok()) == 1
        await browser.submit(old_page, "Send", content="Good evening")
        assert len((await alice.get(f"/channels/{channel}/messages")).ok()) == 2


async def test_a_rejected_message_keeps_its_text_and_shows_an_error(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    browser = sign_in_browser(bob)
    page = await browser.open(page_path(guild))

    empty_page = await browser.submit(page, "Send", content="  ")
    assert (empty_page.status, "Enter a message first." in empty_page.text) == (400, True)
    long_page = await browser.submit(page, "Send", content="x" * 2001)
    assert (long_page.status, 'id="error-content"' in long_page.body) == (400, True)
    assert dict(long_page.form("Send").values)["content"] == "x" * 2001
    await guild.overwrite(guild.general, bob.id, deny=Permissions.SEND_MESSAGES)
    forbidden = await browser.submit(page, "Send", content="but I wanted to")

    assert (forbidden.status, "You do not have permission to send messages" in forbidden.text) == (403, True)
    assert dict(forbidden.form("Send").values)["content"] == "but I wanted to"
    assert (await alice.get(f"/channels/{guild.general}/messages")).ok() == []


async def test_forged_and_unauthenticated_forms_send_no_message(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    browser = sign_in_browser(alice)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    for origin in ("https://evil.example", "http://[::1", "null", "://", world.url):
        response = await browser.request(
            "POST", page_path(guild), headers=headers | {"Origin": origin}, data="content=hello"
        )
        assert response.status == 403
    response = await Browser(world).request("POST", page_path(guild), headers=headers, data="content=hello")

    assert response.location == f"/login?next={page_path(guild)}"
    assert (await alice.get(f"/channels/{guild.general}/messages")).ok() == []


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
async def test_a_form_that_cannot_be_decompressed_is_an_error_of_the_client(world: World, encoding: str) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": encoding}

    response = await sign_in_browser(alice).request("POST", page_path(guild), headers=headers, data=b"content=hello")

    assert response.status == 400


async def test_inaccessible_channels_show_an_error_page(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, carol)
    message = await guild.send_message(alice, "a secret")
    direct_id = (await open_dm(alice, carol))["id"]
    direct_message = await send_message(alice, direct_id, "another secret")
    browser = sign_in_browser(bob)

    for path in (
        page_path(guild, message),
        page_path(guild),
        f"/app/channels/@me/{direct_id}/{direct_message['id']}",
        f"/app/channels/@me/{guild.general}",
        f"/app/channels/{guild.id}",
    ):
        page = await browser.open(path)
        assert page.status == 403, path
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "secret" not in page.text
        assert "does not have access" in page.text, page.text
    for path, status in (
        ("/app/channels/@me/1", 404),
        ("/app/channels/1/2/3", 404),
        ("/app/channels/@me/9999999999999999999", 400),
        ("/app/channels/5", 404),
    ):
        page = await browser.open(path)
        assert page.status == status, path
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"


async def test_without_read_message_history_no_message_is_shown(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    message = await guild.send_message(alice, "an old story")
    await guild.overwrite(guild.general, bob.id, deny=Permissions.READ_MESSAGE_HISTORY)
    browser = sign_in_browser(bob)

    assert "permission to read them" in (await browser.open(page_path(guild))).text
    page = await browser.open(page_path(guild, message))

    assert page.status == 200
    assert "or you cannot read it" in page.text
    assert "an old story" not in page.text


async def test_a_link_with_the_wrong_guild_redirects_to_the_right_one(world: World) -> None:
    alice = await world.user()
    guild, other_guild = await world.guild(alice), await world.guild(alice)
    message = await guild.send_message(alice, "here")
    browser = sign_in_browser(alice)

    for guild_part in ("@me", str(other_guild.id)):
        await browser.open(f"/app/channels/{guild_part}/{guild.general}/{message['id']}")
        assert browser.history[-1].url == page_path(guild, message)
    category_id = guild.channels["Text Channels"]
    await browser.open(page_path(guild, channel_id=category_id))
    assert browser.history[-1].url == f"/app/channels/{guild.id}"


async def test_embeds_polls_and_components_are_shown(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild, name="Weather")
    field = {"name": "Wind", "value": "from https://example.com/west"}
    embed = {"title": "Today", "description": "Rain", "url": "https://example.com/rain", "fields": [field]}
    await guild.send_message(bot, "", embeds=[embed])
    answers = [{"poll_media": {"text": text}} for text in ("Sun", "Snow")]
    await guild.send_message(alice, "", poll={"question": {"text": "And tomorrow?"}, "answers": answers})
    parts = [
        {
            "type": ComponentType.CONTAINER,
            "components": [{"type": ComponentType.TEXT_DISPLAY, "content": "Deep inside"}],
        },
        {"type": ComponentType.SEPARATOR},
    ]
    (
        await bot.post(
            f"/channels/{guild.general}/messages", json={"flags": MessageFlags.IS_COMPONENTS_V2, "components": parts}
        )
    ).ok()
    (
        await bot.post(
            f"/channels/{guild.general}/messages",
            json={"flags": MessageFlags.IS_COMPONENTS_V2, "components": [{"type": ComponentType.SEPARATOR}]},
        )
    ).ok()

    page = await sign_in_browser(alice).open(page_path(guild))

    assert "Weather App" in page.text
    for text in ("Today", "Rain", "Wind", "Poll: And tomorrow?", "Sun: 0 votes", "Deep inside"):
        assert text in page.text, text
    assert page.text.count("This page cannot display this message.") == 1
    assert {"https://example.com/rain", "https://example.com/west"} <= {url for _, url in page.links}


async def test_a_forum_lists_its_posts_and_a_locked_one_offers_no_form(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    browser = sign_in_browser(alice)
    assert "No active posts." in (await browser.open(page_path(guild, channel_id=forum_id))).text
    body = {"name": "A boat", "message": {"content": "Let us build one."}}
    post = (await alice.post(f"/channels/{forum_id}/threads", json=body)).ok()

    page = await browser.open(page_path(guild, channel_id=forum_id))
    assert ("A boat", page_path(guild, channel_id=post["id"])) in page.links
    page = await browser.open(page_path(guild, channel_id=post["id"]))
    assert "Let us build one." in page.text
    page.form("Send").action = page_path(guild, channel_id=forum_id)
    rejected_page = await browser.submit(page, "Send", content="not here")
    assert (rejected_page.status, "Open a post" in rejected_page.text) == (400, True)
    (await alice.patch(f"/channels/{post['id']}", json={"locked": True})).ok()
    page = await browser.open(page_path(guild, channel_id=post["id"]))

    assert "This thread is locked" in page.text
    assert all(not form.action.startswith("/app") for form in page.forms)


async def test_the_login_returns_to_the_message(world: World) -> None:
    mary, alice = await register_user(world), await world.user()
    guild = await world.guild(alice, mary)
    message = await guild.send_message(alice, "for mary")
    browser = Browser(world)

    page = await browser.open(page_path(guild, message))
    assert browser.history[-1].url.startswith("/login?next=")
    page = await browser.log_in("mary", PASSWORD, path=browser.history[-1].url)

    assert highlighted_ids(page.body) == [int(message["id"])]


@pytest.mark.parametrize("path", ["/app", "/app/channels/@me/1"])
async def test_bots_cannot_open_the_pages(world: World, path: str) -> None:
    bot: Actor = await world.bot()
    browser = sign_in_browser(bot)

    assert (await browser.request("GET", path)).location.startswith("/login")


def test_the_content_security_policy_allows_sockets_of_the_agent_on_this_machine() -> None:
    sources = client_policy(Config()).partition("connect-src ")[2].partition(";")[0].split()
    assert {source for source in sources if "127.0.0.1:64" in source} == {
        f"ws://127.0.0.1:{port}" for port in rpc.WEBSOCKET_PORTS
    }


def test_the_content_security_policy_allows_only_activity_frames() -> None:
    config = Config(public_url="https://hub.example:8443", activities=ActivitiesConfig(proxy_host="play.example"))
    assert "; frame-src https://*.play.example:8443; " in client_policy(config)
    assert config.activity_origin(123) == "https://123.play.example:8443"
    assert "; frame-src 'none'; " in client_policy(Config())
