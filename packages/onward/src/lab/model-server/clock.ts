/** The time the server lives by. Tests give their own. */
export interface LabClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `act` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, act: () => void): () => void;
}

/** The computer's own clock. Its timers keep no process alive. */
export const systemClock: LabClock = {
  now: () => Date.now(),
  after(ms, act) {
    const timer = setTimeout(act, ms);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

/** A promise that resolves after `ms` milliseconds of that clock. */
export async function wait(clock: LabClock, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    clock.after(ms, resolve);
  });
}
