"""Calls of chat clients in a browser: microphones that play a tone, and measurements at the receiver."""

import asyncio
from typing import Any

from tests.web.chat import ChatWindow
from tests.web.test_chat_modules import modules_url

TIMEOUT_SECONDS = 120.0
"""Generous, because a busy machine delays timers and audio."""


def tone_microphone(hertz: int) -> str:
    """Return an init script that replaces the microphone by a tone; noise suppression would remove a real one."""
    script = """(() => {
  const getUserMedia = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);
  if (getUserMedia === undefined) return;
  navigator.mediaDevices.getUserMedia = async constraints => {
    if (!constraints.audio) return await getUserMedia(constraints);
    const audio = new AudioContext();
    const destination = audio.createMediaStreamDestination();
    const oscillator = new OscillatorNode(audio, { frequency: HERTZ });
    oscillator.connect(destination);
    oscillator.start();
    return destination.stream;
  };
})();"""
    return script.replace("HERTZ", str(hertz))


# Returns the loudest frequency of a user's audio, as soon as there is any; 0 after three seconds of silence.
_MEASURE = """async userId => {
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

_INSPECT = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  if (call === null) return null;
  const { frames } = await call.statistics();
  const { state, privacyCode, isEncrypted, userIds } = call;
  return { state, privacyCode, isEncrypted, userIds: [...userIds], memberIds: call.encryption.status.userIds, frames };
}"""


async def join(window: ChatWindow) -> None:
    """Join the call of the voice channel in view."""
    await window.page.get_by_role("button", name="Join", exact=True).click()


async def inspect_call(window: ChatWindow) -> dict[str, Any] | None:
    """Return the state of the window's call, or None if it has none."""
    result: dict[str, Any] | None = await window.page.evaluate(_INSPECT, modules_url())
    return result


async def wait_call(window: ChatWindow, *user_ids: int) -> dict[str, Any]:
    """Wait until the window's call is encrypted with exactly these other users, and return its state."""
    expected = {str(user_id) for user_id in user_ids}
    call: dict[str, Any] | None = None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                call = await inspect_call(window)
                if (
                    call is not None
                    and call["state"] == "connected"
                    and call["isEncrypted"]
                    and set(call["memberIds"]) == expected | {str(window.user.id)}
                ):
                    return call
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"the call did not connect: {call}") from None


async def wait_tone(window: ChatWindow, user_id: int, hertz: int) -> None:
    """Wait until the window plays a tone of a user."""
    heard = 0.0
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while abs(heard - hertz) > 30:
                heard = await window.page.evaluate(_MEASURE, str(user_id))
    except TimeoutError:
        raise AssertionError(f"{heard} Hz instead of {hertz} Hz") from None
