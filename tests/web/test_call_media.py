"""Media of calls in the chat client: camera, shared screens, push to talk, volume, devices and layouts."""

import pytest

from tests.web.calls import (
    call_button,
    inspect_devices,
    open_call,
    open_options,
    wait_silence,
    wait_tone,
    wait_video,
)
from tests.web.chat import ChatPlatform
from tests.web.settings import accessibility_problems

expect = pytest.importorskip("playwright.async_api").expect
pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]


async def test_frames_of_a_camera_are_decoded_by_the_others(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await call_button(nora, "Turn on camera").click()
        await wait_video(tom, nora.user.id, "Camera of nora")
        # The user's own tile shows a preview.
        await nora.page.get_by_label("Camera of nora").wait_for()
        await call_button(nora, "Turn off camera").click()
        await tom.page.get_by_label("Camera of nora").wait_for(state="detached")
        assert (await inspect_devices(nora))["videoType"] is None


async def test_a_shared_screen_has_viewers_until_it_stops(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", later=["sam"]) as call:
        nora, tom = call.windows
        session = await tom.user.connect()
        await call_button(nora, "Share screen").click()
        await wait_video(tom, nora.user.id, "Screen of nora")
        state = await session.next("VOICE_STATE_UPDATE", lambda state: state["self_stream"])
        assert (state["user_id"], state["self_video"]) == (str(nora.user.id), False)
        # The tile of the screen is large.
        await tom.page.locator(".main-tile").get_by_label("Screen of nora").wait_for()
        # A viewer who joins later receives a key frame.
        sam = await call.join("sam")
        await wait_video(sam, nora.user.id, "Screen of nora")
        await call_button(nora, "Stop sharing").click()
        for viewer in (tom, sam):
            await viewer.page.get_by_label("Screen of nora").wait_for(state="detached")
        # The camera replaces a screen, and the other way round.
        await call_button(nora, "Share screen").click()
        await wait_video(tom, nora.user.id, "Screen of nora")
        await call_button(nora, "Turn on camera").click()
        await wait_video(tom, nora.user.id, "Camera of nora")


async def test_the_owner_of_a_shared_screen_sees_its_viewers(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", "sam") as call:
        nora, tom, _ = call.windows
        await call_button(nora, "Share screen").click()
        await wait_video(tom, nora.user.id, "Screen of nora")
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


async def test_sharing_stops_with_the_button_of_the_browser(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await call_button(nora, "Share screen").click()
        await wait_video(tom, nora.user.id, "Screen of nora")
        await nora.page.evaluate(
            "document.querySelector('.tile video').srcObject.getVideoTracks()[0].dispatchEvent(new Event('ended'))"
        )
        await tom.page.get_by_label("Screen of nora").wait_for(state="detached")
        await call_button(nora, "Share screen").wait_for()


async def test_push_to_talk_sends_only_while_the_key_is_pressed(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        await call_button(nora, "Voice settings").click()
        await nora.page.get_by_label("Push to talk").check()
        await nora.page.keyboard.press("Escape")
        await wait_silence(tom, nora.user.id)
        await tom.page.locator(".tile.speaking").get_by_text("nora").wait_for(state="detached")
        await nora.page.keyboard.down("ControlRight")
        await wait_tone(tom, nora.user.id, call.hertz(nora))
        await nora.page.keyboard.up("ControlRight")
        await wait_silence(tom, nora.user.id)


async def test_the_volume_of_each_person_is_separate(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
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


async def test_another_microphone_and_speaker_are_used(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom", has_tones=False) as call:
        nora = call.windows[0]
        await call_button(nora, "Voice settings").click()
        dialog = nora.page.get_by_role("dialog", name="Voice settings")
        await dialog.locator("option", has_text="Fake Audio Input 2").wait_for(state="attached")
        await dialog.get_by_label("Microphone", exact=True).select_option(label="Fake Audio Input 2")
        await nora.wait_until("() => document.querySelector('meter.level').value > 0")
        speaker = dialog.get_by_label("Speaker")
        await speaker.select_option(index=1)
        devices = await inspect_devices(nora)
        assert devices["microphone"] == "Fake Audio Input 2"
        assert devices["sinkIds"] == [await speaker.input_value()]


async def test_a_viewer_changes_layouts_full_screen_and_picture_in_picture(call_platform: ChatPlatform) -> None:
    async with open_call(call_platform, "nora", "tom") as call:
        nora, tom = call.windows
        page = tom.page
        await call_button(tom, "Speaker layout").click()
        await page.locator(".main-tile").get_by_text("nora").wait_for()
        await call_button(tom, "Grid layout").click()
        await page.locator(".main-tile").wait_for(state="detached")

        await call_button(nora, "Turn on camera").click()
        await wait_video(tom, nora.user.id, "Camera of nora")
        # A pinned person keeps the large tile.
        await (await open_options(tom, "nora")).get_by_role("button", name="Pin").click()
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
