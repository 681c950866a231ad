"""Calls of chat clients in a browser: microphones that play a tone, and measurements at the receiver."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hubbub.protocol.enums import ChannelType
from tests.server.voice.caller import Caller
from tests.web.chat import ChatPlatform, ChatWindow
from tests.web.native_members import NativeMember
from tests.web.test_chat_modules import modules_url
from tests.world import Actor, Guild

TIMEOUT_SECONDS = 120.0
"""Timeout of each wait in seconds; it is long, because a busy machine delays timers and audio."""


def tone_microphone_script(hertz: int) -> str:
    """Return an init script that replaces the microphone by a tone, which is sent without noise suppression.

    A page that sets the property usesFakeMicrophones of its window has the fake microphones of the browser again."""
    script = """(() => {
  const getUserMedia = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);
  if (getUserMedia === undefined) return;
  navigator.mediaDevices.getUserMedia = async constraints => {
    if (!constraints.audio || window.usesFakeMicrophones) return await getUserMedia(constraints);
    const audio = new AudioContext();
    const destination = audio.createMediaStreamDestination();
    const oscillator = new OscillatorNode(audio, { frequency: HERTZ });
    oscillator.connect(destination);
    oscillator.start();
    return destination.stream;
  };
})();"""
    return script.replace("HERTZ", str(hertz))


_MEASURE_FREQUENCY = """async userId => {
  const element = document.querySelector(`.call-audio audio[data-user-id="${userId}"]`);
  if (!element?.srcObject) return 0;
  const audio = new AudioContext();
  const analyser = new AnalyserNode(audio, { fftSize: 4096 });
  audio.createMediaStreamSource(element.srcObject).connect(analyser);
  const levels = new Float32Array(analyser.frequencyBinCount);
  const deadline = performance.now() + 3000;
  let hertz = 0;
  while (hertz === 0 && performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 100));
    analyser.getFloatFrequencyData(levels);
    const loudest = levels.indexOf(Math.max(...levels));
    if (levels[loudest] > -60) hertz = (loudest * audio.sampleRate) / analyser.fftSize;
  }
  await audio.close();
  return hertz;
}"""
"""A JavaScript function that returns the loudest frequency of a user's audio in hertz, or 0 after three seconds of silence."""

INSPECT_CALL = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  if (call === null) return null;
  const { frames } = await call.statistics();
  const { state, privacyCode, isEncrypted, userIds } = call;
  return { state, privacyCode, isEncrypted, userIds: [...userIds], memberIds: call.encryption.status.userIds, frames };
}"""
"""A JavaScript function that returns the state of the call of the page, or null."""


async def join_call(window: ChatWindow) -> None:
    """Join the call of the voice channel in view."""
    await window.page.get_by_role("button", name="Join", exact=True).click()


async def inspect_call(window: ChatWindow) -> dict[str, Any] | None:
    """Return the state of the window's call, or None if it has none."""
    result: dict[str, Any] | None = await window.page.evaluate(INSPECT_CALL, modules_url())
    return result


async def wait_until_worker_loaded(window: ChatWindow) -> None:
    """Wait until the frame worker of the window's call has loaded, since the call's statistics come from it.

    If the call ends earlier, the browser reports an error."""
    assert await inspect_call(window) is not None


_HAS_CONNECTED_CALL = """async ([folder, expectedIds]) => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const deadline = performance.now() + 2000;
  while (performance.now() < deadline) {
    const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
    if (call?.state === "connected" && call.isEncrypted) {
      const memberIds = [...call.encryption.status.userIds].map(String).sort();
      if (memberIds.join() === expectedIds.join()) return true;
    }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return false;
}"""
"""A JavaScript function that waits up to two seconds until the call of the page is connected with exactly these users.

A request of a test for each check would cost more than the call."""


async def wait_call(window: ChatWindow, *user_ids: int) -> dict[str, Any]:
    """Wait until the window's call is connected and encrypted with exactly these other users, and return its state."""
    expected_ids = sorted(str(user_id) for user_id in (*user_ids, window.user.id))
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not await window.page.evaluate(_HAS_CONNECTED_CALL, [modules_url(), expected_ids]):
                pass
    except TimeoutError:
        raise AssertionError(f"the call did not connect: {await inspect_call(window)}") from None
    state = await inspect_call(window)
    assert state is not None
    return state


async def wait_tone(window: ChatWindow, user_id: int, hertz: int) -> None:
    """Wait until the window plays a tone of a user."""
    measured_hertz = 0.0
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while abs(measured_hertz - hertz) > 30:
                measured_hertz = await window.page.evaluate(_MEASURE_FREQUENCY, str(user_id))
    except TimeoutError:
        raise AssertionError(f"{measured_hertz} Hz instead of {hertz} Hz") from None


async def wait_silence(window: ChatWindow, user_id: int) -> None:
    """Wait until the window plays nothing of a user for three seconds."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while await window.page.evaluate(_MEASURE_FREQUENCY, str(user_id)) != 0:
            pass


_HAS_NEW_VIDEO_FRAMES = """async ([userId, label]) => {
  const video = document.querySelector(`.tile[data-key="${userId}"] video`);
  if (video?.getAttribute("aria-label") !== label || !video.videoWidth) return false;
  const before = video.getVideoPlaybackQuality().totalVideoFrames;
  await new Promise(resolve => setTimeout(resolve, 500));
  if (video.getVideoPlaybackQuality().totalVideoFrames <= before) return false;
  const canvas = new OffscreenCanvas(16, 16);
  const drawing = canvas.getContext("2d");
  drawing.drawImage(video, 0, 0, 16, 16);
  const [red, green] = drawing.getImageData(4, 12, 1, 1).data;
  return green > 40 && green > red;
}"""
"""A JavaScript function that returns whether new frames of a video are drawn and are green, as those of Chromium's fake devices."""


async def wait_video(window: ChatWindow, user_id: int, label: str) -> None:
    """Wait until the window shows new frames of a user's camera or screen."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not await window.page.evaluate(_HAS_NEW_VIDEO_FRAMES, [str(user_id), label]):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"no frames of {label}: {await inspect_call(window)}") from None


_INSPECT_DEVICES = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { devices, video } = getCalls(document.querySelector("hubbub-sidebar").context);
  return {
    microphone: devices.microphone.track?.label ?? null,
    sinkIds: [...document.querySelectorAll(".call-audio audio")].map(({ sinkId }) => sinkId),
    videoType: video.type,
  };
}"""
"""A JavaScript function that returns the microphone and output devices of the call, and the type of its video."""


async def inspect_devices(window: ChatWindow) -> dict[str, Any]:
    """Return the devices that the window uses: the microphone's label, output devices and the type of its video."""
    result: dict[str, Any] = await window.page.evaluate(_INSPECT_DEVICES, modules_url())
    return result


def call_button(window: ChatWindow, name: str) -> Any:
    """Return the locator of a button of the call in view."""
    return window.page.locator("hubbub-call-view").get_by_role("button", name=name, exact=True)


async def open_options(window: ChatWindow, name: str) -> Any:
    """Open the options of a participant of the call, and return the locator of the dialog."""
    await window.page.locator(".tile").filter(has_text=name).hover()
    await window.page.get_by_role("button", name=f"Options for {name}").click()
    return window.page.get_by_role("dialog", name=f"Options for {name}")


FIRST_HERTZ, HERTZ_STEP = 440, 220
"""Frequency of the first user's microphone, and the difference between the microphones of two successive users."""


@dataclass
class OpenCall:
    """Windows of users and native clients in the call of one channel, each with a tone of its own as microphone."""

    platform: ChatPlatform
    guild: Guild
    channel_id: int
    users: dict[str, Actor]
    stack: AsyncExitStack
    windows: list[ChatWindow] = field(default_factory=list)
    natives: list[NativeMember] = field(default_factory=list)

    @property
    def member_ids(self) -> set[int]:
        """The IDs of the users in the call."""
        return {window.user.id for window in self.windows} | {native.id for native in self.natives}

    @property
    def path(self) -> str:
        """The path of the channel in the chat client."""
        return f"/app/channels/{self.guild.id}/{self.channel_id}"

    def hertz(self, window: ChatWindow) -> int:
        """Return the frequency of a user's microphone."""
        return FIRST_HERTZ + HERTZ_STEP * list(self.users.values()).index(window.user)

    async def open(self, name: str, init_script: str = "") -> ChatWindow:
        """Open the channel as a user, without joining."""
        user = self.users[name]
        window = ChatWindow(None, self.platform, user)
        script = tone_microphone_script(self.hertz(window))
        window_context = self.platform.open_window(user, self.path, init_script=script + init_script)
        return await self.stack.enter_async_context(window_context)

    async def join(self, name: str, init_script: str = "") -> ChatWindow:
        """Open the channel as a user, join, and wait until all windows share one group."""
        window = await self.open(name, init_script)
        await self.rejoin(window)
        return window

    async def rejoin(self, window: ChatWindow, *, notice: str = "") -> None:
        """Join with an open window that is not in the call, and wait until all windows share one group.

        `notice` is the text of a notice that joining must show; it may be gone when the call is connected."""
        await join_call(window)
        if notice:
            await window.page.get_by_text(notice).wait_for()
        self.windows.append(window)
        await self.wait_connected()

    async def add_native(self) -> NativeMember:
        """Add a member of the guild to the call with a native client, which sends a tone."""
        hertz = FIRST_HERTZ + HERTZ_STEP * (len(self.users) + len(self.natives))
        session = await (await self.guild.member()).connect()
        return await self.connect_native(Caller(self.platform.world, session, self.guild), hertz)

    async def connect_native(self, caller: Caller, hertz: int) -> NativeMember:
        """Join the call with a native client, and wait until all members share one group."""
        native = NativeMember(caller, self.channel_id, hertz)
        await native.join_and_connect()
        self.natives.append(native)
        self.stack.push_async_callback(native.close)
        native.start_media()
        await self.wait_connected()
        return native

    async def wait_connected(self) -> None:
        """Wait until several members share one group, and their calls have the same privacy code."""
        if len(self.member_ids) < 2:
            return
        codes: set[str] = set()
        # A member that left and joined again is in the old group of the others until they enter the new one.
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(codes) != 1:
                codes = set()
                for window in self.windows:
                    call = await wait_call(window, *(self.member_ids - {window.user.id}))
                    codes.add(call["privacyCode"].replace(" ", ""))
                for native in self.natives:
                    await native.wait_until(lambda native=native: native.group_ids == self.member_ids)
                    codes.add(native.code)

    async def leave(self, window: ChatWindow) -> None:
        """Leave with one window, and wait until the others continue without it."""
        await call_button(window, "Leave voice").click()
        self.windows.remove(window)
        await self.wait_connected()


@asynccontextmanager
async def open_call(
    platform: ChatPlatform,
    *names: str,
    later: Iterable[str] = (),
    init_script: str = "",
    channel_type: ChannelType = ChannelType.GUILD_VOICE,
) -> AsyncIterator[OpenCall]:
    """Open the call of a new voice channel as several users; the first owns the guild. Users of `later` do not join yet."""
    users = {name: await platform.world.user(name) for name in (*names, *later)}
    owner, *members = users.values()
    guild = await platform.world.guild(owner, *members)
    channel_id = await guild.channel("lounge", type=channel_type)
    async with AsyncExitStack() as stack:
        call = OpenCall(platform, guild, channel_id, users, stack)
        for name in names:
            await call.join(name, init_script)
        yield call
