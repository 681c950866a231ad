"""Media of calls in the chat client: camera, screens, sounds, push to talk, volume, devices and layouts."""

import pytest

from hubbub.protocol.enums import OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.web.calls import (
    OpenCall,
    call_button,
    inspect_devices,
    open_options,
    wait_silence,
    wait_tone,
    wait_video,
)
from tests.web.settings import accessibility_problems

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


SCREEN_HERTZ = 1760

SCREEN_WITH_SOUND_SCRIPT = f"""() => {{
  const getDisplayMedia = navigator.mediaDevices.getDisplayMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getDisplayMedia = async () => {{
    navigator.mediaDevices.getDisplayMedia = getDisplayMedia;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 160;
    const drawing = canvas.getContext("2d");
    const drawingTimer = setInterval(() => {{
      drawing.fillStyle = `rgb(0 ${{200 + (Date.now() % 50)}} 0)`;
      drawing.fillRect(0, 0, 160, 160);
    }}, 50);
    const audio = new AudioContext();
    const destination = audio.createMediaStreamDestination();
    const oscillator = new OscillatorNode(audio, {{ frequency: {SCREEN_HERTZ} }});
    oscillator.connect(destination);
    oscillator.start();
    window.screenAudioTrack = destination.stream.getAudioTracks()[0];
    window.endScreen = () => {{
      clearInterval(drawingTimer);
      return audio.close();
    }};
    return new MediaStream([...canvas.captureStream(15).getTracks(), window.screenAudioTrack]);
  }};
}}"""
"""A JavaScript function that makes the browser share a green picture with a tone instead of a screen, once."""


async def test_a_camera_replaces_a_shared_screen(call: OpenCall) -> None:
    nora, tom = call.windows
    session = await tom.user.connect()
    await call_button(nora, "Share screen").click()
    await wait_video(tom, nora.user.id, "Screen of nora")
    state = await session.next("VOICE_STATE_UPDATE", lambda state: state["self_stream"])
    assert (state["user_id"], state["self_video"]) == (str(nora.user.id), False)
    await call_button(nora, "Turn on camera").click()
    await wait_video(tom, nora.user.id, "Camera of nora")
    # The user's own tile shows a preview.
    await nora.page.get_by_label("Camera of nora").wait_for()
    await call_button(nora, "Turn off camera").click()
    await tom.page.get_by_label("Camera of nora").wait_for(state="detached")
    assert (await inspect_devices(nora))["videoType"] is None


async def test_members_without_the_permission_cannot_share_a_screen(call: OpenCall) -> None:
    tom = call.windows[1]
    await call_button(tom, "Share screen").wait_for()
    await call.guild.overwrite(call.channel_id, call.guild.id, deny=Permissions.STREAM, target_type=OverwriteType.ROLE)
    await call_button(tom, "Share screen").wait_for(state="detached")
    await call_button(tom, "Mute").wait_for()
    await call.guild.overwrite(call.channel_id, call.guild.id, deny=0, target_type=OverwriteType.ROLE)
    await call_button(tom, "Share screen").wait_for()


async def test_a_shared_screen_has_viewers_until_it_stops(call: OpenCall) -> None:
    nora, tom = call.windows
    # A small picture costs less CPU time than a whole screen.
    await nora.page.evaluate(SCREEN_WITH_SOUND_SCRIPT)
    await call_button(nora, "Share screen").click()
    await wait_video(tom, nora.user.id, "Screen of nora")
    # The tile of the screen is large.
    await tom.page.locator(".main-tile").get_by_label("Screen of nora").wait_for()
    # A viewer who joins later receives a key frame.
    sam = await call.join("sam")
    await wait_video(sam, nora.user.id, "Screen of nora")
    viewers_button = nora.page.get_by_role("button", name="2 viewers")
    await viewers_button.click()
    names = nora.page.get_by_role("dialog", name="Viewers").get_by_role("listitem")
    await expect(names).to_have_text(["tom", "sam"])
    assert await accessibility_problems(nora) == []
    await nora.page.keyboard.press("Escape")

    await tom.page.locator(".main-tile").hover()
    await tom.page.get_by_role("button", name="Stop watching nora").click()
    watch_button = tom.page.get_by_role("button", name="Watch the screen of nora")
    await watch_button.wait_for()
    assert await accessibility_problems(tom) == []
    await tom.page.get_by_label("Screen of nora", exact=True).wait_for(state="detached")
    await nora.page.get_by_role("button", name="1 viewer", exact=True).wait_for()

    await watch_button.click()
    await wait_video(tom, nora.user.id, "Screen of nora")
    await viewers_button.wait_for()
    await call_button(nora, "Stop sharing").click()
    await expect(viewers_button).to_have_count(0)
    for viewer in (tom, sam):
        await viewer.page.get_by_label("Screen of nora").wait_for(state="detached")
    await nora.page.evaluate("() => window.endScreen()")
    await call.leave(sam)


async def test_sharing_stops_with_the_button_of_the_browser(call: OpenCall) -> None:
    nora, tom = call.windows
    await call_button(nora, "Share screen").click()
    await wait_video(tom, nora.user.id, "Screen of nora")
    await nora.page.evaluate(
        "document.querySelector('.tile video').srcObject.getVideoTracks()[0].dispatchEvent(new Event('ended'))"
    )
    await tom.page.get_by_label("Screen of nora").wait_for(state="detached")
    await call_button(nora, "Share screen").wait_for()


async def test_a_shared_screen_ends_when_its_user_loses_the_permission(call: OpenCall) -> None:
    nora, tom = call.windows
    await call_button(tom, "Share screen").click()
    await wait_video(nora, tom.user.id, "Screen of tom")
    path = f"/channels/{call.channel_id}/permissions/{tom.user.id}"
    overwrite = {"type": OverwriteType.MEMBER, "deny": str(int(Permissions.STREAM))}
    (await call.guild.owner.put(path, json=overwrite)).ok()
    await tom.page.get_by_text("Your video stopped: you may not share video in this channel any more.").wait_for()
    await nora.page.get_by_label("Screen of tom").wait_for(state="detached")
    assert (await inspect_devices(tom))["videoType"] is None
    for name in ("Stop sharing", "Share screen", "Turn on camera"):
        await expect(call_button(tom, name)).to_have_count(0)
    (await call.guild.owner.delete(path)).ok()
    await call_button(tom, "Turn on camera").click()
    await wait_video(nora, tom.user.id, "Camera of tom")


async def test_push_to_talk_sends_only_while_the_key_is_pressed_and_the_sound_of_a_screen(call: OpenCall) -> None:
    nora, tom = call.windows
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await call_button(nora, "Voice settings").click()
    await nora.page.get_by_label("Push to talk").check()
    await nora.page.keyboard.press("Escape")
    await wait_silence(tom, nora.user.id)
    await tom.page.locator(".tile.speaking").get_by_text("nora").wait_for(state="detached")

    # A screen is shared with its sound, which is not the voice of its user.
    await nora.page.evaluate(SCREEN_WITH_SOUND_SCRIPT)
    await call_button(nora, "Share screen").click()
    await wait_video(tom, nora.user.id, "Screen of nora")
    await wait_tone(tom, nora.user.id, SCREEN_HERTZ)
    assert await tom.page.locator(".tile.speaking").filter(has_text="nora").count() == 0
    await call_button(nora, "Stop sharing").click()
    await wait_silence(tom, nora.user.id)
    assert await nora.page.evaluate("() => window.screenAudioTrack.readyState") == "ended"
    await nora.page.evaluate("() => window.endScreen()")

    await nora.page.keyboard.down("ControlRight")
    await wait_tone(tom, nora.user.id, call.hertz(nora))
    await nora.page.keyboard.up("ControlRight")
    await wait_silence(tom, nora.user.id)
    await call_button(nora, "Voice settings").click()
    await nora.page.get_by_label("Push to talk").uncheck()
    await nora.page.keyboard.press("Escape")
    await wait_tone(tom, nora.user.id, call.hertz(nora))


async def test_the_volume_of_each_person_is_separate(call: OpenCall) -> None:
    nora, tom = call.windows
    options = await open_options(nora, "tom")
    slider = options.get_by_label("Volume of tom")
    # The slider has the focus, so the keyboard is enough.
    for _ in range(5):
        await nora.page.keyboard.press("PageDown")
    assert int(await slider.input_value()) < 100
    volume = await nora.page.evaluate(
        "id => document.querySelector(`.call-audio audio[data-user-id='${id}']`).volume", str(tom.user.id)
    )
    assert volume == pytest.approx(int(await slider.input_value()) / 100)
    await nora.page.keyboard.press("Escape")
    await options.wait_for(state="detached")


async def test_another_microphone_and_speaker_are_used(call: OpenCall) -> None:
    nora = call.windows[0]
    await nora.page.evaluate("() => { window.usesFakeMicrophones = true; }")
    await call_button(nora, "Voice settings").click()
    dialog = nora.page.get_by_role("dialog", name="Voice settings")
    await dialog.locator("option", has_text="Fake Audio Input 2").wait_for(state="attached")
    microphone, speaker = dialog.get_by_label("Microphone", exact=True), dialog.get_by_label("Speaker")
    await microphone.select_option(label="Fake Audio Input 2")
    await nora.wait_until("() => document.querySelector('meter.level').value > 0")
    await speaker.select_option(index=1)
    devices = await inspect_devices(nora)
    assert devices["microphone"] == "Fake Audio Input 2"
    assert devices["sinkIds"] == [await speaker.input_value()]
    await nora.page.evaluate("() => { window.usesFakeMicrophones = false; }")
    await microphone.select_option(index=0)
    await speaker.select_option(index=0)
    await nora.page.keyboard.press("Escape")
    await dialog.wait_for(state="detached")


async def test_a_viewer_changes_layouts_full_screen_and_picture_in_picture(call: OpenCall) -> None:
    nora, tom = call.windows
    page = tom.page
    await call_button(tom, "Speaker layout").click()
    await page.locator(".main-tile").get_by_text("nora").wait_for()
    await call_button(tom, "Grid layout").click()
    await page.locator(".main-tile").wait_for(state="detached")

    await call_button(nora, "Turn on camera").click()
    await wait_video(tom, nora.user.id, "Camera of nora")
    # A pinned person keeps the large tile.
    await (await open_options(tom, "nora")).get_by_role("button", name="Pin", exact=True).click()
    await page.locator(".main-tile").get_by_label("Camera of nora").wait_for()
    video = await page.get_by_label("Camera of nora").element_handle()
    await page.locator(".tile").filter(has_text="nora").hover()
    await page.get_by_role("button", name="Full screen: nora").click()
    await tom.wait_until("() => document.fullscreenElement?.matches('.tile') ?? false")
    # A new indicator does not replace the element, so full screen continues.
    await call_button(nora, "Mute").click()
    await page.locator(".tile").filter(has_text="nora").get_by_label("muted").wait_for()
    assert await page.evaluate("() => document.fullscreenElement !== null")
    assert await video.evaluate("element => element.isConnected")
    await page.evaluate("() => document.exitFullscreen()")

    await (await open_options(tom, "nora")).get_by_role("button", name="Picture in picture").click()
    await tom.wait_until("() => document.pictureInPictureElement?.getAttribute('aria-label') === 'Camera of nora'")
    await page.evaluate("() => document.exitPictureInPicture()")
    await (await open_options(tom, "nora")).get_by_role("button", name="Unpin").click()
    await page.locator(".main-tile").wait_for(state="detached")
    await call_button(nora, "Unmute").click()
    await call_button(nora, "Turn off camera").click()
    await page.get_by_label("Camera of nora").wait_for(state="detached")


async def test_a_sound_of_the_soundboard_plays_for_every_participant(call: OpenCall) -> None:
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
    await call_button(tom, "Undeafen").click()
