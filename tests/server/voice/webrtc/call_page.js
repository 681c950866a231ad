// A page of `test_chromium.py` that joins a call, sends a tone of 440 Hz and reports the loudest frequency of the other member.
async ({ url, identify }) => {
  // Opcodes of the voice gateway.
  const IDENTIFY = 0;
  const SELECT_PROTOCOL = 1;
  const READY = 2;
  const SESSION_DESCRIPTION = 4;
  const SPEAKING = 5;
  const HELLO = 8;
  const audio = new AudioContext();
  await audio.resume();
  const oscillator = new OscillatorNode(audio, { frequency: 440 });
  const microphone = audio.createMediaStreamDestination();
  oscillator.connect(microphone);
  oscillator.start();

  const analyser = new AnalyserNode(audio, { fftSize: 4096 });
  const connection = new RTCPeerConnection();
  connection.addTransceiver(microphone.stream.getAudioTracks()[0], { direction: "sendonly" });
  connection.addTransceiver("audio", { direction: "recvonly" });
  connection.ontrack = ({ track }) => {
    const stream = new MediaStream([track]);
    // Chromium decodes remote audio only if an element plays it.
    const element = new Audio();
    element.srcObject = stream;
    element.play();
    audio.createMediaStreamSource(stream).connect(analyser);
  };

  const socket = new WebSocket(url);
  let payloadType = 0;
  let otherSsrc = 0;
  const send = (op, d) => socket.send(JSON.stringify({ op, d }));

  const answer = description => {
    const line = prefix => description.split("\n").find(text => text.startsWith(prefix));
    const port = line("m=audio").split(" ")[1];
    const section = (mid, ...lines) => [
      `m=audio ${port} UDP/TLS/RTP/SAVPF ${payloadType}`,
      line("c="),
      "a=rtcp-mux",
      `a=mid:${mid}`,
      line("a=ice-ufrag"),
      line("a=ice-pwd"),
      line("a=fingerprint"),
      "a=setup:passive",
      `a=rtpmap:${payloadType} opus/48000/2`,
      `a=fmtp:${payloadType} minptime=10;useinbandfec=1;stereo=1`,
      line("a=candidate"),
      "a=end-of-candidates",
      ...lines,
    ];
    const sections = [
      "v=0",
      "o=- 1 2 IN IP4 127.0.0.1",
      "s=-",
      "t=0 0",
      "a=ice-lite",
      "a=group:BUNDLE 0 1",
      "a=msid-semantic: WMS *",
      ...section(0, "a=recvonly"),
      ...section(1, "a=sendonly", "a=msid:other audio", `a=ssrc:${otherSsrc} cname:other`),
    ];
    return `${sections.join("\r\n")}\r\n`;
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
      await connection.setLocalDescription(await connection.createOffer());
      const { sdp } = connection.localDescription;
      payloadType = Number(sdp.match(/a=rtpmap:(\d+) opus\/48000\/2/)[1]);
      const codecs = [{ name: "opus", type: "audio", priority: 1000, payload_type: payloadType }];
      send(SELECT_PROTOCOL, { protocol: "webrtc", data: sdp, codecs });
    } else if (op === SPEAKING) {
      otherSsrc = d.ssrc;
    } else if (op === SESSION_DESCRIPTION) {
      await connection.setRemoteDescription({ type: "answer", sdp: answer(d.sdp) });
      send(SPEAKING, { speaking: 1, delay: 0, ssrc: 0 });
    }
  };
  await connected;

  const levels = new Float32Array(analyser.frequencyBinCount);
  const deadline = performance.now() + 20_000;
  let hertz = 0;
  while (performance.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 50));
    analyser.getFloatFrequencyData(levels);
    const loudest = levels.indexOf(Math.max(...levels));
    hertz = (loudest * audio.sampleRate) / analyser.fftSize;
    // The other member sends a tone of 1000 Hz.
    if (levels[loudest] > -60 && Math.abs(hertz - 1000) < 30) break;
  }
  const statistics = [...(await connection.getStats()).values()];
  const dtls = statistics.find(({ type }) => type === "transport");
  const received = statistics.find(({ type }) => type === "inbound-rtp");
  return { hertz, profile: dtls.srtpCipher, lost: received.packetsLost, received: received.packetsReceived };
};
