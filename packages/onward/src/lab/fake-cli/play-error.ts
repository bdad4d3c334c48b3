/** A play that cannot be played, or a stand-in that is used in a way the real CLI has no answer to. */
export class PlayError extends Error {
  override readonly name = 'PlayError';
  /** Stable, for routing: `play/invalid`, `play/not-json`, `play/missing`, `play/over`. */
  readonly code: string;
  /** Where in the play, such as `attempts[1].steps[0].command`; the file for a file that cannot be read. */
  readonly place: string;

  constructor(code: string, place: string, sentence: string, cause?: unknown) {
    super(`${place}: ${sentence}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.place = place;
  }
}
