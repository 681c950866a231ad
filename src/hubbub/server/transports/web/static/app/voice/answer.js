/** SDP of calls (spec/voice.md#12): the payload types of an offer, and the answer that the page writes for the server. */

/** RTCP feedback of video that the server forwards or sends. */
const VIDEO_FEEDBACK = ["nack pli", "ccm fir", "goog-remb"];
const H264_FORMAT = /level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f/;

/**
 * Return the codecs of an offer for SELECT_PROTOCOL. This client sends the first video codec, and receives all of them.
 *
 * @returns {{name: string, type: string, priority: number, payload_type: number, format: string | null}[]}
 */
export function codecsOf(offer) {
  const lines = offer.split(/\r?\n/);
  const formatOf = payloadType =>
    lines.find(line => line.startsWith(`a=fmtp:${payloadType} `))?.slice(`a=fmtp:${payloadType} `.length) ?? null;
  const findPayloadType = (pattern, accepts = _format => true) => {
    for (const line of lines) {
      const match = /^a=rtpmap:(\d+) (\S+)/.exec(line);
      if (match && pattern.test(match[2]) && accepts(formatOf(match[1]))) return Number(match[1]);
    }
    return null;
  };
  const codecs = [
    { name: "opus", type: "audio", priority: 1000, payload_type: findPayloadType(/^opus\/48000\/2$/i), format: null },
    { name: "VP8", type: "video", priority: 2000, payload_type: findPayloadType(/^VP8\/90000$/i), format: null },
    {
      name: "H264",
      type: "video",
      priority: 3000,
      payload_type: findPayloadType(/^H264\/90000$/i, text => H264_FORMAT.test(text ?? "")),
      format: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    },
    {
      name: "VP9",
      type: "video",
      priority: 4000,
      payload_type: findPayloadType(/^VP9\/90000$/i, text => /profile-id=0|^(?!.*profile-id)/.test(text ?? "")),
      format: "profile-id=0",
    },
    {
      name: "AV1",
      type: "video",
      priority: 5000,
      payload_type: findPayloadType(/^AV1\/90000$/i, text => /profile=0|^(?!.*profile=)/.test(text ?? "")),
      format: "level-idx=5;profile=0;tier=0",
    },
  ];
  return codecs.filter(codec => codec.payload_type !== null);
}

/**
 * Write the answer of the server to an offer.
 *
 * @param {string} offer the local description
 * @param {string} description the SDP lines of SESSION_DESCRIPTION
 * @param {number} version must grow with each answer
 * @param {(mid: string) => {userId: string, ssrc: number} | "own" | null} sourceOf the sender of a media section: this client,
 *   another user, or null for an unused section
 */
export function writeAnswer(offer, description, version, sourceOf) {
  const serverLines = description.split(/\r?\n/);
  const serverLine = prefix => serverLines.find(text => text.startsWith(prefix)) ?? "";
  const port = serverLine("m=audio").split(" ")[1];
  const codecs = codecsOf(offer);
  const sections = offer
    .split(/\r?\n(?=m=)/)
    .slice(1)
    .map(section => ({
      kind: /^m=(\w+)/.exec(section)?.[1] ?? "",
      mid: /^a=mid:(\S+)/m.exec(section)?.[1] ?? "",
    }));
  const mediaSection = ({ kind, mid }) => {
    const sectionCodecs = codecs.filter(codec => codec.type === kind);
    const source = sourceOf(mid);
    return [
      `m=${kind} ${port} UDP/TLS/RTP/SAVPF ${sectionCodecs.map(codec => codec.payload_type).join(" ")}`,
      serverLine("c="),
      "a=rtcp-mux",
      `a=mid:${mid}`,
      serverLine("a=ice-ufrag"),
      serverLine("a=ice-pwd"),
      serverLine("a=fingerprint"),
      "a=setup:passive",
      ...sectionCodecs.flatMap(codecLines),
      serverLine("a=candidate"),
      "a=end-of-candidates",
      ...sourceLines(source, kind),
    ];
  };
  return [
    "v=0",
    `o=- 1 ${version} IN IP4 127.0.0.1`,
    "s=-",
    "t=0 0",
    "a=ice-lite",
    `a=group:BUNDLE ${sections.map(({ mid }) => mid).join(" ")}`,
    "a=msid-semantic: WMS *",
    ...sections.flatMap(mediaSection),
    "",
  ].join("\r\n");
}

function codecLines({ name, payload_type: payloadType, format }) {
  if (name === "opus")
    return [
      `a=rtpmap:${payloadType} opus/48000/2`,
      `a=fmtp:${payloadType} minptime=10;useinbandfec=1;stereo=1;usedtx=0`,
    ];
  return [
    `a=rtpmap:${payloadType} ${name}/90000`,
    ...(format === null ? [] : [`a=fmtp:${payloadType} ${format}`]),
    ...VIDEO_FEEDBACK.map(feedback => `a=rtcp-fb:${payloadType} ${feedback}`),
  ];
}

function sourceLines(source, kind) {
  if (source === "own") return ["a=recvonly"];
  if (source === null) return ["a=inactive"];
  const { userId, ssrc } = source;
  return ["a=sendonly", `a=msid:${userId}-${kind} ${userId}-${kind}`, `a=ssrc:${ssrc} cname:${userId}`];
}
