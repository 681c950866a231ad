"""Sounds of calls in the chat client beside microphones: the soundboard and the sound of a shared screen."""

import pytest

from tests.web.calls import call_button, open_call, wait_silence, wait_tone, wait_video
from tests.web.chat import ChatPlatform

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]

SCREEN_HERTZ = 1760

SCREEN_WITH_SOUND_SCRIPT = f"""
navigator.mediaDevices.getDisplayMedia = async () => {{
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 160;
  const drawing = canvas.getContext("2d");
  setInterval(() => {{
    drawing.fillStyle = `rgb(0 ${{200 + (Date.now() % 50)}} 0)`;
    drawing.fillRect(0, 0, 160, 160);
  }}, 50);
  const audio = new AudioContext();
  const destination = audio.createMediaStreamDestination();
  const oscillator = new OscillatorNode(audio, {{ frequency: {SCREEN_HERTZ} }});
  oscillator.connect(destination);
  oscillator.start();
  window.screenAudioTrack = destination.stream.getAudioTracks()[0];
  return new MediaStream([...canvas.captureStream(15).getTracks(), window.screenAudioTrack]);
}};
"""
"""A script that makes the browser share a green picture with a tone instead of a screen."""


async def test_a_sound_of_the_soundboard_plays_for_every_participant(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await call_button(nora, "Soundboard").click()
        board = nora.page.get_by_role("dialog", name="Soundboard")
        await board.wait_for()
        # The first sound has the focus.
        await nora.page.keyboard.press("Enter")
        for window in (nora, tom):
            await window.wait_until("() => document.querySelector('.call-audio audio[data-sound-id]')?.currentTime > 0")
        log = tom.page.locator("[role=log][aria-live=polite]")
        await log.get_by_text("nora played a sound.").wait_for(state="attached")
        await tom.wait_until("() => document.querySelector('.call-audio audio[data-sound-id]') === null")
        # A deafened user hears nothing.
        await call_button(tom, "Deafen").click()
        await board.get_by_role("button", name="fanfare").click()
        await nora.wait_until("() => document.querySelector('.call-audio audio[data-sound-id=\"3\"]') !== null")
        assert await tom.page.locator(".call-audio audio[data-sound-id]").count() == 0
        await nora.page.keyboard.press("Escape")
        await board.wait_for(state="detached")


async def test_a_screen_is_shared_with_its_sound(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", init_script=SCREEN_WITH_SOUND_SCRIPT) as call:
        nora, tom = call.windows
        # With push to talk, only the sound of the screen is sent.
        await call_button(nora, "Voice settings").click()
        await nora.page.get_by_label("Push to talk").check()
        await nora.page.keyboard.press("Escape")
        await wait_silence(tom, nora.user.id)
        await call_button(nora, "Share screen").click()
        await wait_video(tom, nora.user.id, "Screen of nora")
        await wait_tone(tom, nora.user.id, SCREEN_HERTZ)
        # The sound of a screen is not the voice of its user.
        assert await tom.page.locator(".tile.speaking").filter(has_text="nora").count() == 0
        await call_button(nora, "Stop sharing").click()
        await wait_silence(tom, nora.user.id)
        assert await nora.page.evaluate("() => window.screenAudioTrack.readyState") == "ended"
        await nora.page.keyboard.down("ControlRight")
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        await nora.page.keyboard.up("ControlRight")
