"""Problems of calls in the chat client: refused devices, tracks that cannot be sent, and blocked sound."""

import pytest

from tests.web.calls import call_button, inspect_devices, open_call, wait_tone
from tests.web.chat import ChatPlatform

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


def rejection_script(function: str, name: str = "NotAllowedError", message: str = "refused") -> str:
    """Return a script that makes a function of the browser reject with a DOMException."""
    return f"{function} = () => Promise.reject(new DOMException('{message}', '{name}'));"


async def test_a_refused_microphone_is_explained_and_the_user_listens(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", later=["tom"]) as call:
        nora = call.windows[0]
        notice = "The browser does not allow the microphone. Allow it in the site settings"
        tom = await call.join("tom", rejection_script("navigator.mediaDevices.getUserMedia"), notice=notice)
        await tom.page.get_by_text("Others cannot hear you, because no microphone is open.").wait_for()
        await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_a_refused_camera_and_screen_are_explained(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora") as call:
        nora = call.windows[0]
        page = nora.page
        await page.evaluate(f"() => {{ {rejection_script('navigator.mediaDevices.getUserMedia')} }}")
        await call_button(nora, "Turn on camera").click()
        await page.get_by_text("The browser does not allow the camera.").wait_for()
        await call_button(nora, "Turn on camera").wait_for()
        # The client shows no error if the user closes the dialog of the browser, but explains a refusal of the system.
        await page.evaluate(f"() => {{ {rejection_script('navigator.mediaDevices.getDisplayMedia')} }}")
        await call_button(nora, "Share screen").click()
        system_rejection_script = rejection_script(
            "navigator.mediaDevices.getDisplayMedia", message="Permission denied by system"
        )
        await page.evaluate(f"() => {{ {system_rejection_script} }}")
        await call_button(nora, "Share screen").click()
        await page.get_by_text("Your system blocks the screen for this browser.").wait_for()
        assert await page.locator(".notice-box").filter(has_text="screen").count() == 1


async def test_tracks_that_cannot_be_sent_are_reported(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora") as call:
        nora = call.windows[0]
        await nora.page.evaluate(
            f"() => {{ {rejection_script('RTCRtpSender.prototype.replaceTrack', 'InvalidModificationError')} }}"
        )
        await call_button(nora, "Turn on camera").click()
        await nora.page.get_by_text("Your camera could not be sent.").wait_for()
        await call_button(nora, "Turn on camera").wait_for()
        assert (await inspect_devices(nora))["videoType"] is None
        await call_button(nora, "Mute").click()
        await nora.page.get_by_text("Others cannot hear you: your microphone could not be sent.").wait_for()


async def test_a_refused_speaker_is_replaced_by_the_default(call_platform: ChatPlatform) -> None:
    script = rejection_script("HTMLMediaElement.prototype.setSinkId", "NotFoundError")
    async with open_call(call_platform, "nora", "tom", has_tones=False, init_script=script) as call:
        nora = call.windows[0]
        await call_button(nora, "Voice settings").click()
        speaker = nora.page.get_by_role("dialog", name="Voice settings").get_by_label("Speaker")
        await speaker.locator("option").nth(1).wait_for(state="attached")
        await speaker.select_option(index=1)
        await nora.page.get_by_text("The chosen speaker cannot be used.").wait_for()
        assert (await inspect_devices(nora))["sinkIds"] == [""]
        # The dialog shows the speaker in use.
        assert await speaker.input_value() == ""


async def test_blocked_sound_starts_with_a_click(call_platform: ChatPlatform) -> None:
    script = """
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
    async with open_call(call_platform, "nora", later=["tom"]) as call:
        tom = await call.join("tom", script)
        page = tom.page
        notice = page.get_by_text("The browser did not start its audio")
        await notice.wait_for()
        await page.get_by_text("The browser blocks the sound of this call.").wait_for()
        await page.evaluate("() => { window.isSoundAllowed = true; }")
        await page.get_by_role("heading", name="lounge").click()
        await tom.wait_until("() => !document.querySelector('.call-audio audio').paused")
        await notice.wait_for(state="detached")
