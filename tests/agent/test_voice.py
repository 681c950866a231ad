"""Audio of the agent: voice settings and devices act on the calls of two machines in one voice channel."""

from typing import Any

import pytest

from hubbub.protocol.rpc import RpcErrorCode
from hubbub.sdk.media.devices import DeviceEngine
from tests import oauth
from tests.machine import Machine, NewMachine, Program
from tests.sdk.audio import FULL_AMPLITUDE, AudioRecorder, Tone
from tests.sdk.virtual_devices import VirtualDriver
from tests.world import Actor, Guild, World

pytestmark = pytest.mark.voice_certificate

DESK_HZ, STUDIO_HZ, ZOE_HZ = 440.0, 1000.0, 660.0
SCOPES = "rpc rpc.voice.read rpc.voice.write"
UNPROCESSED = dict.fromkeys(("echo_cancellation", "noise_suppression", "automatic_gain_control"), False)
"""Voice settings that leave a pure tone unchanged."""


class Talker:
    """A machine with virtual devices, and a program that controls its agent."""

    def __init__(self, user: Actor, machine: Machine, program: Program, driver: VirtualDriver) -> None:
        self.user, self.machine, self.program, self.driver = user, machine, program, driver
        self.speaker = driver.recorders["head"]

    async def set(self, **settings: Any) -> Any:
        """Change voice settings."""
        return await self.program.call("SET_VOICE_SETTINGS", settings)

    async def wait_for_loudness(self, loudness: float) -> None:
        """Wait until the speaker plays with an amplitude."""
        await self.speaker.wait_until(lambda: self.speaker.loudness(0) == pytest.approx(loudness, rel=0.1))


class VoiceSetup:
    """A guild with a voice channel, a game, and machines of its members."""

    def __init__(
        self, world: World, new_machine: NewMachine, guild: Guild, game: oauth.Client, users: tuple[Actor, Actor]
    ) -> None:
        self.world, self._new_machine, self.guild, self.game = world, new_machine, guild, game
        self.users = users
        """Mary and Zoe."""
        self.channel_id = str(guild.channels["General"])

    async def add_talker(self, user: Actor, **tones: float) -> Talker:
        """Start an agent on a machine with microphones of these names and tones, and connect a program to it."""
        driver = VirtualDriver(*tones)
        driver.tones = {name: Tone(hertz) for name, hertz in tones.items()}
        driver.recorders["head"] = AudioRecorder()
        machine = await self._new_machine(user, is_started=False)
        machine.agent_options = {
            "audio": DeviceEngine(driver, poll_seconds=0.05),
            "voice_authority": self.world.app.config.voice.ca_file,
        }
        await machine.start()
        account = machine.agent.account
        assert await account.wait_until(lambda: str(self.guild.id) in account.state.guilds, 10)
        program = await machine.connect_authenticated(self.game.id, SCOPES)
        talker = Talker(user, machine, program, driver)
        await talker.set(**UNPROCESSED)
        return talker

    async def add_two_talkers(self) -> tuple[Talker, Talker]:
        """Let Mary, with two microphones, and Zoe join the voice channel, and wait until Zoe hears Mary."""
        [mary_user, zoe_user] = self.users
        mary = await self.add_talker(mary_user, desk=DESK_HZ, studio=STUDIO_HZ)
        zoe = await self.add_talker(zoe_user, desk=ZOE_HZ)
        for talker in (mary, zoe):
            await talker.program.call("SELECT_VOICE_CHANNEL", {"channel_id": self.channel_id})
        await zoe.speaker.wait_for_tone(0, DESK_HZ)
        return mary, zoe


@pytest.fixture
async def voice_setup(world: World, new_machine: NewMachine) -> VoiceSetup:
    """A guild of Mary and Zoe, and a game."""
    mary, zoe = await world.user("mary"), await world.user("zoe")
    guild = await world.guild(mary, zoe)
    game = await oauth.create_application(world, name="Puddle")
    return VoiceSetup(world, new_machine, guild, game, (mary, zoe))


async def test_agents_in_one_voice_channel_transmit_the_microphones_of_their_users(voice_setup: VoiceSetup) -> None:
    [mary_user, zoe_user] = voice_setup.users
    mary = await voice_setup.add_talker(mary_user, desk=DESK_HZ)
    for event in ("SPEAKING_START", "SPEAKING_STOP"):
        await mary.program.subscribe(event, channel_id=voice_setup.channel_id)
    await mary.program.subscribe("VOICE_CONNECTION_STATUS")
    zoe = await voice_setup.add_talker(zoe_user, desk=ZOE_HZ)

    for talker in (mary, zoe):
        selected_channel = await talker.program.call("SELECT_VOICE_CHANNEL", {"channel_id": voice_setup.channel_id})
        assert selected_channel["id"] == voice_setup.channel_id

    await mary.speaker.wait_for_tone(0, ZOE_HZ)
    await zoe.speaker.wait_for_tone(0, DESK_HZ)
    await mary.program.next("VOICE_CONNECTION_STATUS", lambda data: data["state"] == "VOICE_CONNECTED")
    assert await mary.program.next("SPEAKING_START", lambda data: data["user_id"] == str(zoe_user.id)) == {
        "user_id": str(zoe_user.id),
        "channel_id": voice_setup.channel_id,
    }
    assert await zoe.program.call("SELECT_VOICE_CHANNEL", {}) is None
    await mary.program.next("SPEAKING_STOP", lambda data: data["user_id"] == str(zoe_user.id))
    assert await zoe.program.call("GET_SELECTED_VOICE_CHANNEL") is None


async def test_voice_settings_change_what_is_sent_and_played(voice_setup: VoiceSetup) -> None:
    mary, zoe = await voice_setup.add_two_talkers()

    await mary.set(input={"volume": 50})
    await zoe.wait_for_loudness(FULL_AMPLITUDE / 2)
    await zoe.set(output={"volume": 200})
    await zoe.wait_for_loudness(FULL_AMPLITUDE)
    await mary.set(mute=True)
    await zoe.wait_for_loudness(0)
    await mary.set(mute=False, mode={"type": "PUSH_TO_TALK"})
    await mary.program.call("PUSH_TO_TALK", {"active": True})
    await zoe.wait_for_loudness(FULL_AMPLITUDE)
    await mary.program.call("PUSH_TO_TALK", {"active": False})
    await zoe.wait_for_loudness(0)
    await mary.program.call("PUSH_TO_TALK", {"active": True})
    await zoe.wait_for_loudness(FULL_AMPLITUDE)
    other_program = await mary.machine.connect_authenticated(voice_setup.game.id, SCOPES)
    await other_program.call("PUSH_TO_TALK", {"active": True})
    other_program.close()
    await zoe.wait_for_loudness(0)
    await mary.set(mode={"type": "VOICE_ACTIVITY", "auto_threshold": False, "threshold": -60})
    await zoe.wait_for_loudness(FULL_AMPLITUDE)


async def test_the_settings_of_another_user_change_the_playback_of_that_user(voice_setup: VoiceSetup) -> None:
    mary, zoe = await voice_setup.add_two_talkers()
    mary_id = str(mary.user.id)

    await zoe.program.call("SET_USER_VOICE_SETTINGS", {"user_id": mary_id, "volume": 50})
    await zoe.wait_for_loudness(FULL_AMPLITUDE / 2)
    await zoe.program.call("SET_USER_VOICE_SETTINGS", {"user_id": mary_id, "pan": {"left": 0}})
    await zoe.program.call("SET_USER_VOICE_SETTINGS", {"user_id": mary_id, "pan": {"right": 0}})
    await zoe.wait_for_loudness(0)
    await zoe.program.call(
        "SET_USER_VOICE_SETTINGS", {"user_id": mary_id, "pan": {"left": 1, "right": 1}, "volume": 100}
    )
    await zoe.wait_for_loudness(FULL_AMPLITUDE)
    await zoe.program.call("SET_USER_VOICE_SETTINGS", {"user_id": mary_id, "mute": True})
    await zoe.wait_for_loudness(0)


async def test_devices_are_listed_selected_and_replaced_when_lost(voice_setup: VoiceSetup) -> None:
    mary, zoe = await voice_setup.add_two_talkers()
    await mary.program.subscribe("VOICE_SETTINGS_UPDATE")

    settings = await mary.program.call("GET_VOICE_SETTINGS")
    assert [device["id"] for device in settings["input"]["available_devices"]] == ["default", "desk", "studio"]
    assert [device["id"] for device in settings["output"]["available_devices"]] == ["default", "head"]
    await mary.set(input={"device_id": "studio"})
    await zoe.speaker.wait_for_tone(0, STUDIO_HZ)
    mary.driver.input_names.remove("studio")
    await zoe.speaker.wait_for_tone(0, DESK_HZ)

    changed_settings = await mary.program.next(
        "VOICE_SETTINGS_UPDATE", lambda data: len(data["input"]["available_devices"]) == 2
    )
    assert changed_settings["input"]["device_id"] == "studio"
    code, message = await mary.program.call_error("SET_VOICE_SETTINGS", {"output": {"device_id": "studio"}})
    assert code == RpcErrorCode.INVALID_PAYLOAD
    assert '"output"' in message


async def test_certified_devices_are_offered_and_replace_processing(voice_setup: VoiceSetup) -> None:
    mary = await voice_setup.add_talker(voice_setup.users[0], desk=DESK_HZ)
    client = mary.machine.agent.context.voice_client
    assert client is not None
    await mary.set(input={"device_id": "desk"}, noise_suppression=True, echo_cancellation=True)
    assert (client.options["noise_suppression"], client.options["echo_cancellation"]) == (True, True)
    model = {"name": "Desk Two", "url": "https://maker.example/desk-two"}

    await mary.program.call(
        "SET_CERTIFIED_DEVICES",
        {"devices": [{"type": "audioinput", "id": "desk", "model": model, "noise_suppression": True}]},
    )

    assert (client.options["noise_suppression"], client.options["echo_cancellation"]) == (False, True)
    settings = await mary.program.call("GET_VOICE_SETTINGS")
    assert settings["input"]["available_devices"][1] == {"id": "desk", "name": "desk", "model": model}


async def test_an_agent_stops_transmitting_when_another_client_joins(voice_setup: VoiceSetup) -> None:
    mary, zoe = await voice_setup.add_two_talkers()
    session = await mary.user.connect()

    await session.send_voice_state(voice_setup.guild, int(voice_setup.channel_id))

    await zoe.wait_for_loudness(0)
    client = mary.machine.agent.context.voice_client
    assert client is not None
    assert not client.is_in(voice_setup.channel_id)
