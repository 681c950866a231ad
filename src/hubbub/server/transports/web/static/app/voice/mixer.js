/** Mixing of the microphone and the sound of a shared screen, because a participant sends one audio stream. */

/** The sound of a shared screen and the microphone as one track. */
export class Mixer {
  #audio;
  #destination;
  #screenSource;
  /** @type {MediaStreamAudioSourceNode | null} */
  #microphoneSource = null;
  /** @type {MediaStreamTrack | null} */
  #microphoneTrack = null;

  /**
   * @param {AudioContext} audio
   * @param {MediaStreamTrack} screenTrack
   */
  constructor(audio, screenTrack) {
    this.#audio = audio;
    this.#destination = new MediaStreamAudioDestinationNode(audio);
    this.#screenSource = new MediaStreamAudioSourceNode(audio, { mediaStream: new MediaStream([screenTrack]) });
    this.#screenSource.connect(this.#destination);
    this.screenTrack = screenTrack;
  }

  /** The track to send, with the mixed sound. */
  get track() {
    return this.#destination.stream.getAudioTracks()[0];
  }

  /** Mix another microphone, or none. @param {MediaStreamTrack | null} track */
  setMicrophone(track) {
    if (this.#microphoneTrack === track) return;
    this.#microphoneSource?.disconnect();
    this.#microphoneTrack = track;
    this.#microphoneSource =
      track === null ? null : new MediaStreamAudioSourceNode(this.#audio, { mediaStream: new MediaStream([track]) });
    this.#microphoneSource?.connect(this.#destination);
  }

  close() {
    this.setMicrophone(null);
    this.#screenSource.disconnect();
    this.screenTrack.stop();
    this.track.stop();
  }
}
