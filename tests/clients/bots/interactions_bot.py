"""A bot with interactions.py, which `test_library_bots.py` runs.

The library has no end-to-end encryption, so this bot joins a call without audio."""

# mypy: ignore-errors

import aiohttp
import interactions
from interactions.api.http.route import Route
from runner import (
    CHANNEL_ID,
    EMOJI,
    EVENT_END,
    EVENT_START,
    GUILD_ID,
    ROLE_ID,
    SETTINGS,
    VOICE_CHANNEL_ID,
    image_file,
    prepare,
    report,
    run_steps,
    wait_commands,
    wait_until,
)

Route.BASE = SETTINGS["api"]
interactions.models.discord.asset.Asset.BASE = SETTINGS["cdn"]

bot = interactions.Client(
    intents=interactions.Intents.ALL, debug_scope=GUILD_ID, sync_interactions=True, fetch_members=False
)


@interactions.slash_command("greet", description="Greets")
@interactions.slash_option("name", "Name", interactions.OptionType.STRING, required=True)
async def greet(context, name: str):
    """Respond with a greeting."""
    await context.send(f"hello {name}")


@interactions.slash_command("ask", description="Asks")
async def ask(context):
    """Respond with a modal."""
    text = interactions.ShortText(label="Answer", custom_id="answer")
    await context.send_modal(interactions.Modal(text, title="Question", custom_id="form"))


@interactions.modal_callback("form")
async def form(context, answer: str):
    """Respond with the text."""
    await context.send(f"answer: {answer}")


@interactions.slash_command("panel", description="Shows components")
async def panel(context):
    """Respond with components."""
    button = interactions.Button(style=interactions.ButtonStyle.GRAY, label="Press", custom_id="press")
    await context.send(
        "panel",
        components=interactions.spread_to_rows(button, interactions.StringSelectMenu("a", "b", custom_id="pick")),
    )


@interactions.component_callback("press")
async def press(context):
    """Edit the message."""
    await context.edit_origin(content="pressed")


@interactions.component_callback("pick")
async def pick(context):
    """Respond with the chosen value."""
    await context.send(f"picked {context.values[0]}", ephemeral=True)


is_in_call = False


@interactions.listen("raw_voice_state_update")
async def on_voice_state(event):
    """Record whether the bot is in a call; the cache of the library has only the voice states of other users."""
    global is_in_call
    if int(event.data["user_id"]) == bot.user.id:
        is_in_call = event.data["channel_id"] is not None


@interactions.slash_command("join", description="Joins the call")
async def join(context):
    """Join the voice channel without audio."""
    await bot.ws.voice_state_update(GUILD_ID, VOICE_CHANNEL_ID)
    await wait_until(lambda: is_in_call)
    await context.send("joined")


@interactions.slash_command("leave", description="Leaves the call")
async def leave(context):
    """Leave the voice channel."""
    await bot.ws.voice_state_update(GUILD_ID, None)
    await wait_until(lambda: not is_in_call)
    await context.send("left")


@interactions.listen(interactions.events.MessageReactionAdd)
async def on_reaction(event):
    """Give the role to the user who reacts."""
    if event.emoji.name == EMOJI:
        await event.author.add_role(ROLE_ID)


def guild():
    return bot.get_guild(GUILD_ID)


def channel():
    return bot.get_channel(CHANNEL_ID)


async def files():
    file = interactions.File(image_file(), "pixel.png", description="one pixel")
    attachment = (await channel().send("a file", file=file)).attachments[0]
    return [attachment.filename, attachment.description, attachment.size]


async def threads():
    message = await channel().send("chapter one")
    thread = await message.create_thread("story", auto_archive_duration=60)
    await thread.send("once upon a time")
    return [thread.name, int(thread.parent_id) == CHANNEL_ID]


async def forums():
    forum = await guild().create_forum_channel("ideas", available_tags=[{"name": "new"}])
    post = await forum.create_post("first", "text", applied_tags=["new"])
    message = await post.fetch_message(post.id)
    tag_names = await fetch_tag_names(forum, post)
    await forum.edit(available_tags=[*forum.available_tags, {"name": "old"}])
    await post.edit(applied_tags=[forum.get_tag("old")])
    assert await fetch_tag_names(forum, post) == ["old"]
    return [post.name, message.content, tag_names]


async def fetch_tag_names(forum, post):
    """Return the names of a post's tags. The library drops them from its own objects."""
    tag_ids = (await bot.http.get_channel(post.id))["applied_tags"]
    return [tag.name for tag in forum.available_tags if str(tag.id) in tag_ids]


async def polls():
    message = await channel().send(poll=interactions.Poll.create("Lunch?", duration=1, answers=["Soup", "Bread"]))
    ended_poll = await message.end_poll()
    return [message.poll.question.text, [answer.poll_media.text for answer in (ended_poll or message).poll.answers]]


async def stickers():
    # The library's own method names the file files[0] instead of file.
    form = aiohttp.FormData({"name": "wave", "description": "waves", "tags": "wave"})
    form.add_field("file", image_file(), filename="wave.png", content_type="image/png")
    created_sticker = await bot.http.request(
        Route("POST", "/guilds/{guild_id}/stickers", guild_id=GUILD_ID), payload=form
    )
    sticker = await guild().fetch_custom_sticker(created_sticker["id"])
    message = await channel().send(stickers=[sticker])
    return [sticker.name, [item.name for item in message.sticker_items]]


async def catalog():
    # The library's own method iterates over the keys of the response.
    response = await bot.http.list_nitro_sticker_packs()
    packs = interactions.StickerPack.from_list(response["sticker_packs"], bot)
    return [[pack.name for pack in packs], bot.app.name != ""]


async def events():
    event = await guild().create_scheduled_event(
        "Fair",
        interactions.ScheduledEventType.EXTERNAL,
        interactions.Timestamp.fromdatetime(EVENT_START),
        end_time=interactions.Timestamp.fromdatetime(EVENT_END),
        external_location="Park",
    )
    return [event.name, event.location, len(await guild().list_scheduled_events(with_user_count=True))]


async def auto_moderation():
    # The library cannot serialize its own trigger, so the rule is sent as JSON.
    rule = {
        "name": "No fish",
        "event_type": 1,
        "trigger_type": 1,
        "trigger_metadata": {"keyword_filter": ["fish"]},
        "actions": [{"type": 1}],
        "enabled": True,
    }
    await bot.http.create_auto_moderation_rule(GUILD_ID, rule)
    rules = await guild().fetch_auto_moderation_rules()
    return [rules[0].name, rules[0].trigger.keyword_filter]


async def templates():
    template = await guild().create_guild_template("Plan", "a plan")
    return [
        template.name,
        [fetched_template.code for fetched_template in await guild().fetch_guild_templates()] == [template.code],
    ]


async def commands_registered():
    async def fetch_names():
        registered_commands = await bot.http.get_application_commands(bot.app.id, GUILD_ID)
        return [command["name"] for command in registered_commands]

    return await wait_commands(fetch_names)


@interactions.listen(interactions.events.Startup)
async def on_startup():
    """Run the steps once."""
    await run_steps(
        [files, threads, forums, polls, stickers, catalog, events, auto_moderation, templates, commands_registered]
    )


prepare()
report(step="version", result=interactions.__version__)
bot.start(SETTINGS["token"])
