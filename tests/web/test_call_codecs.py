"""Codecs of video in calls between pages: end-to-end encrypted frames of each codec are decrypted and decoded."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.server.voice.dave.simulated_call import SimulatedCall
from tests.server.voice.dave.video_frames import Av1Unit, add_last_size, av1_frames, write_av1, write_sent_av1
from tests.web.calls import OpenCall, call_button, inspect_call, wait_video
from tests.web.chat import ChatPlatform
from tests.web.test_chat_modules import modules_url

pytestmark = [pytest.mark.xdist_group("calls"), pytest.mark.timeout(600)]

CASE_COUNT = 30

PREFER_CODEC = """mimeType => {
  const { prototype } = RTCRtpSender;
  window.replaceTrack ??= prototype.replaceTrack;
  prototype.replaceTrack = async function (track) {
    await window.replaceTrack.call(this, track);
    if (track?.kind !== "video") return;
    const parameters = this.getParameters();
    parameters.encodings[0].codec = parameters.codecs.find(codec => codec.mimeType === mimeType);
    await this.setParameters(parameters);
  };
}"""
"""A JavaScript function that makes a page send its next video with another codec than the first one."""

READ_VIDEO_CODEC = """async folder => {
  const { getCalls } = await import(`${folder}/voice/calls.js`);
  const { call } = getCalls(document.querySelector("hubbub-sidebar").context);
  const { report } = await call.statistics();
  const { codecId, framesDecoded } = report.find(({ type, kind }) => type === "inbound-rtp" && kind === "video");
  return { codec: report.find(({ id }) => id === codecId).mimeType, framesDecoded };
}"""
"""A JavaScript function that returns the codec of the received video, and the number of its decoded frames."""

CAN_ENCODE = """async mimeType => {
  const codecs = RTCRtpSender.getCapabilities("video").codecs;
  return codecs.some(codec => codec.mimeType === mimeType);
}"""


@pytest.mark.parametrize("codec", ["VP8", "VP9", "AV1", "H264"])
async def test_a_page_decodes_the_encrypted_video_of_another_page(call: OpenCall, codec: str) -> None:
    nora, tom = call.windows
    if not await nora.page.evaluate(CAN_ENCODE, f"video/{codec}"):
        pytest.skip(f"Chromium with {codec} is not installed: make browser")
    await nora.page.evaluate(PREFER_CODEC, f"video/{codec}")
    before = await inspect_call(tom)
    await call_button(nora, "Turn on camera").click()
    await wait_video(tom, nora.user.id, "Camera of nora")
    received_codec = await tom.page.evaluate(READ_VIDEO_CODEC, modules_url())
    assert received_codec["codec"] == f"video/{codec}"
    assert received_codec["framesDecoded"] > 0
    after = await inspect_call(tom)
    assert before is not None
    assert after is not None
    assert after["frames"]["failed"] == before["frames"]["failed"]
    await call_button(nora, "Turn off camera").click()
    await tom.page.get_by_label("Camera of nora").wait_for(state="detached")


CHANGE_AV1_FRAMES = """async ([folder, kind, frames]) => {
  await import(`${folder}/voice/av1_frames.js`);
  return frames.map(frame => [...self.av1Frames[kind](new Uint8Array(frame))]);
}"""
"""A JavaScript function that removes or adds the size field of the last unit of frames."""


async def test_av1_frames_that_the_browser_assembled_are_restored(platform: ChatPlatform) -> None:
    call = SimulatedCall("mixed")
    call.join(2, 1)
    call.advance_time(10)
    sender, receiver = call.clients[1], call.clients[2]
    frames: list[list[Av1Unit]] = []

    @settings(max_examples=CASE_COUNT, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(units=av1_frames)
    def collect(units: list[Av1Unit]) -> None:
        frames.append(units)

    collect()
    encrypted_frames = [sender.encrypt_video("av1", write_av1(units)) for units in frames]
    nora = await platform.world.user("nora")
    async with platform.open_window(nora, "/app") as window:

        async def change(kind: str, values: list[bytes]) -> list[bytes]:
            lists = [list(value) for value in values]
            changed_frames = await window.page.evaluate(CHANGE_AV1_FRAMES, [modules_url(), kind, lists])
            return [bytes(value) for value in changed_frames]

        restored_frames = await change("removeLastSize", [add_last_size(frame) for frame in encrypted_frames])
        assert restored_frames == encrypted_frames
        # A frame that already has no size field is not changed.
        assert await change("removeLastSize", encrypted_frames) == encrypted_frames
        plain_frames = [receiver.decrypt_video(sender.user_id, frame) for frame in restored_frames]
        assert plain_frames == [write_sent_av1(units) for units in frames]
        expected = [write_av1(unit for unit in units if unit.is_sent) for units in frames]
        assert await change("addLastSize", plain_frames) == expected
        # Malformed frames are returned unchanged.
        malformed_frames = [b"", b"\x32\x80", b"\x32\x05\x01", b"\x32" + b"\xff" * 20]
        assert await change("removeLastSize", malformed_frames) == malformed_frames
