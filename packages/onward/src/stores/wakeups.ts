/** Wakes the followers of a stream in this process when something was appended to it. */
export class Wakeups {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Calls `wake` at each append to the stream until the returned function is called. */
  listen(stream: string, wake: () => void): () => void {
    const set = this.#waiting.get(stream) ?? new Set();
    this.#waiting.set(stream, set);
    set.add(wake);
    return () => {
      set.delete(wake);
      if (set.size === 0 && this.#waiting.get(stream) === set) this.#waiting.delete(stream);
    };
  }

  /** Something was appended to the stream, or it was erased. */
  wake(stream: string): void {
    for (const wake of this.#waiting.get(stream) ?? []) wake();
  }

  /** The journal closes: every follower looks once more. */
  wakeAll(): void {
    for (const stream of this.#waiting.keys()) this.wake(stream);
  }
}
