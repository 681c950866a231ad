// A page of `test_chromium.py` in a call, which sends the picture of a canvas or shows the video of the only other member.
async ({ url, identify, sends }) => {
  // Opcodes of the voice gateway.
  const IDENTIFY = 0;
  const SELECT_PROTOCOL = 1;
  const READY = 2;
  const SESSION_DESCRIPTION = 4;
  const HELLO = 8;
  const VIDEO = 12;
  const connection = new RTCPeerConnection();
  if (sends) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 240 });
    const context = canvas.getContext("2d");
    setInterval(() => {
      context.fillStyle = `hsl(${performance.now() % 360} 80% 50%)`;
      context.fillRect(Math.random() * 300, Math.random() * 220, 60, 60);
    }, 30);
    connection.addTransceiver(canvas.captureStream(30).getVideoTracks()[0], { direction: "sendonly" });
  } else {
    connection.addTransceiver("video", { direction: "recvonly" });
    connection.ontrack = ({ track }) => {
      const element = Object.assign(document.createElement("video"), { muted: true, autoplay: true });
      element.srcObject = new MediaStream([track]);
      document.body.append(element);
    };
  }

  const socket = new WebSocket(url);
  let payloadType = 0;
  let otherSsrc = 0;
  let ownSsrc = 0;
  const send = (op, d) => socket.send(JSON.stringify({ op, d }));

  const answer = description => {
    const line = prefix => description.split("\n").find(text => text.startsWith(prefix));
    const lines = [
      "v=0",
      "o=- 1 2 IN IP4 127.0.0.1",
      "s=-",
      "t=0 0",
      "a=ice-lite",
      "a=group:BUNDLE 0",
      "a=msid-semantic: WMS *",
      `m=video ${line("m=audio").split(" ")[1]} UDP/TLS/RTP/SAVPF ${payloadType}`,
      line("c="),
      "a=rtcp-mux",
      "a=mid:0",
      line("a=ice-ufrag"),
      line("a=ice-pwd"),
      line("a=fingerprint"),
      "a=setup:passive",
      `a=rtpmap:${payloadType} VP8/90000`,
      `a=rtcp-fb:${payloadType} nack pli`,
      `a=rtcp-fb:${payloadType} ccm fir`,
      `a=rtcp-fb:${payloadType} goog-remb`,
      line("a=candidate"),
      "a=end-of-candidates",
      ...(sends ? ["a=recvonly"] : ["a=sendonly", "a=msid:other video", `a=ssrc:${otherSsrc} cname:other`]),
    ];
    return `${lines.join("\r\n")}\r\n`;
  };

  const connected = new Promise((resolve, reject) => {
    socket.onclose = ({ code }) => reject(new Error(`the voice gateway closed with ${code}`));
    connection.onconnectionstatechange = () => {
      if (connection.connectionState === "connected") resolve();
      if (connection.connectionState === "failed") reject(new Error("the peer connection failed"));
    };
  });
  socket.onmessage = async ({ data }) => {
    const { op, d } = JSON.parse(data);
    if (op === HELLO) {
      send(IDENTIFY, identify);
    } else if (op === READY) {
      ownSsrc = d.ssrc;
      await connection.setLocalDescription(await connection.createOffer());
      const { sdp } = connection.localDescription;
      payloadType = Number(sdp.match(/a=rtpmap:(\d+) VP8\/90000/)[1]);
      const codecs = [
        { name: "opus", type: "audio", priority: 1000, payload_type: 127 },
        { name: "VP8", type: "video", priority: 2000, payload_type: payloadType },
      ];
      send(SELECT_PROTOCOL, { protocol: "webrtc", data: sdp, codecs });
    } else if (op === VIDEO) {
      otherSsrc = d.video_ssrc;
    } else if (op === SESSION_DESCRIPTION) {
      await connection.setRemoteDescription({ type: "answer", sdp: answer(d.sdp) });
      if (sends) send(VIDEO, { audio_ssrc: ownSsrc, video_ssrc: ownSsrc + 1, rtx_ssrc: 0, streams: [] });
    }
  };
  await connected;
  window.streamStatistics = async () => {
    const statistics = [...(await connection.getStats()).values()];
    const stream = statistics.find(({ type }) => type === (sends ? "outbound-rtp" : "inbound-rtp"));
    return stream === undefined ? null : { ...stream };
  };
};
