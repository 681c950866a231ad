/** The microphone and the sound of a shared screen as one track, because a participant sends one audio stream. */

export class Mixer {
  #audio;
  #destination;
  #screen;
  /** @type {MediaStreamAudioSourceNode | null} */
  #microphone = null;
  /** @type {MediaStreamTrack | null} */
  #microphoneTrack = null;

  /**
   * @param {AudioContext} audio
   * @param {MediaStreamTrack} screenTrack
   */
  constructor(audio, screenTrack) {
    this.#audio = audio;
    this.#destination = new MediaStreamAudioDestinationNode(audio);
    this.#screen = new MediaStreamAudioSourceNode(audio, { mediaStream: new MediaStream([screenTrack]) });
    this.#screen.connect(this.#destination);
    this.screenTrack = screenTrack;
  }

  /** The mixed track. */
  get track() {
    return this.#destination.stream.getAudioTracks()[0];
  }

  /** Mix another microphone, or none. @param {MediaStreamTrack | null} track */
  setMicrophone(track) {
    if (this.#microphoneTrack === track) return;
    this.#microphone?.disconnect();
    this.#microphoneTrack = track;
    this.#microphone =
      track === null ? null : new MediaStreamAudioSourceNode(this.#audio, { mediaStream: new MediaStream([track]) });
    this.#microphone?.connect(this.#destination);
  }

  close() {
    this.setMicrophone(null);
    this.#screen.disconnect();
    this.screenTrack.stop();
    this.track.stop();
  }
}
