/** Mixer of the microphone and the sound of a shared screen, because a participant sends only one audio stream. */

/** The sound of a shared screen and the microphone as one track. */
export class Mixer {
  #audioContext;
  #destination;
  #screenSource;
  /** @type {MediaStreamAudioSourceNode | null} */
  #microphoneSource = null;
  /** @type {MediaStreamTrack | null} */
  #microphoneTrack = null;

  /**
   * @param {AudioContext} audioContext
   * @param {MediaStreamTrack} screenTrack
   */
  constructor(audioContext, screenTrack) {
    this.#audioContext = audioContext;
    this.#destination = new MediaStreamAudioDestinationNode(audioContext);
    this.#screenSource = new MediaStreamAudioSourceNode(audioContext, { mediaStream: new MediaStream([screenTrack]) });
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
      track === null
        ? null
        : new MediaStreamAudioSourceNode(this.#audioContext, { mediaStream: new MediaStream([track]) });
    this.#microphoneSource?.connect(this.#destination);
  }

  /** Stop the mixed track and the audio track of the shared screen; the track of the microphone stays live. */
  close() {
    this.setMicrophone(null);
    this.#screenSource.disconnect();
    this.screenTrack.stop();
    this.track.stop();
  }
}
