"""Problems of calls in the chat client: refused devices, tracks that cannot be sent, and blocked sound."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.web.calls import OpenCall, call_button, inspect_devices, wait_tone
from tests.web.chat import ChatWindow

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


@asynccontextmanager
async def rejected_function(
    window: ChatWindow, function: str, name: str = "NotAllowedError", message: str = "refused"
) -> AsyncIterator[None]:
    """Make a function of the browser reject with a DOMException; on exit, restore the function."""
    await window.page.evaluate(
        f"""() => {{
  window.originalFunction = {function};
  {function} = () => Promise.reject(new DOMException("{message}", "{name}"));
}}"""
    )
    yield
    await window.page.evaluate(f"() => {{ {function} = window.originalFunction; }}")


async def test_a_refused_microphone_is_explained_and_the_user_listens(call: OpenCall) -> None:
    nora, tom = call.windows
    await call.leave(tom)
    async with rejected_function(tom, "navigator.mediaDevices.getUserMedia"):
        notice = "The browser does not allow the microphone. Allow it in the site settings"
        await call.rejoin(tom, notice=notice)
        await tom.page.get_by_text("Others cannot hear you, because no microphone is open.").wait_for()
        await wait_tone(tom, nora.user.id, call.hertz(nora))
    await call.leave(tom)
    await call.rejoin(tom)


async def test_a_refused_camera_and_screen_are_explained(call: OpenCall) -> None:
    nora = call.windows[0]
    page = nora.page
    async with rejected_function(nora, "navigator.mediaDevices.getUserMedia"):
        await call_button(nora, "Turn on camera").click()
        await page.get_by_text("The browser does not allow the camera.").wait_for()
        await call_button(nora, "Turn on camera").wait_for()
    # The client shows no error if the user closes the dialog of the browser, but explains a refusal of the system.
    async with rejected_function(nora, "navigator.mediaDevices.getDisplayMedia"):
        await call_button(nora, "Share screen").click()
    system_message = "Permission denied by system"
    async with rejected_function(nora, "navigator.mediaDevices.getDisplayMedia", message=system_message):
        await call_button(nora, "Share screen").click()
        await page.get_by_text("Your system blocks the screen for this browser.").wait_for()
    assert await page.locator(".notice-box").filter(has_text="screen").count() == 1


async def test_tracks_that_cannot_be_sent_are_reported(call: OpenCall) -> None:
    nora = call.windows[0]
    async with rejected_function(nora, "RTCRtpSender.prototype.replaceTrack", "InvalidModificationError"):
        await call_button(nora, "Turn on camera").click()
        await nora.page.get_by_text("Your camera could not be sent.").wait_for()
        await call_button(nora, "Turn on camera").wait_for()
        assert (await inspect_devices(nora))["videoType"] is None
        await call_button(nora, "Mute").click()
        await nora.page.get_by_text("Others cannot hear you: your microphone could not be sent.").wait_for()
    await call_button(nora, "Unmute").click()


async def test_a_refused_speaker_is_replaced_by_the_default(call: OpenCall) -> None:
    nora = call.windows[0]
    async with rejected_function(nora, "HTMLMediaElement.prototype.setSinkId", "NotFoundError"):
        await call_button(nora, "Voice settings").click()
        dialog = nora.page.get_by_role("dialog", name="Voice settings")
        speaker = dialog.get_by_label("Speaker")
        await speaker.locator("option").nth(1).wait_for(state="attached")
        await speaker.select_option(index=1)
        await nora.page.get_by_text("The chosen speaker cannot be used.").wait_for()
        assert (await inspect_devices(nora))["sinkIds"] == [""]
        # The dialog shows the speaker in use.
        assert await speaker.input_value() == ""
    await nora.page.keyboard.press("Escape")
    await dialog.wait_for(state="detached")


BLOCK_SOUND_SCRIPT = """
HTMLMediaElement.prototype.play = new Proxy(HTMLMediaElement.prototype.play, {
  apply: (play, element, parts) => {
    if (window.isSoundAllowed || element.localName === "video") return Reflect.apply(play, element, parts);
    element.pause();
    return Promise.reject(new DOMException("no gesture", "NotAllowedError"));
  },
});
AudioContext.prototype.resume = new Proxy(AudioContext.prototype.resume, {
  apply: (resume, context, parts) =>
    window.isSoundAllowed
      ? Reflect.apply(resume, context, parts)
      : Promise.reject(new DOMException("no gesture", "NotAllowedError")),
});
"""
"""A script that blocks sound, as a browser does before the first click, until the page sets `isSoundAllowed`."""


async def test_blocked_sound_starts_with_a_click(call: OpenCall) -> None:
    sam = await call.join("sam", BLOCK_SOUND_SCRIPT)
    page = sam.page
    notice = page.get_by_text("The browser did not start its audio")
    await notice.wait_for()
    await page.get_by_text("The browser blocks the sound of this call.").wait_for()
    await page.evaluate("() => { window.isSoundAllowed = true; }")
    await page.get_by_role("heading", name="lounge").click()
    await sam.wait_until("() => !document.querySelector('.call-audio audio').paused")
    await notice.wait_for(state="detached")
    await call.leave(sam)
