import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';

/** A clock that stands still until it is told to move. */
export interface FakeClock extends Clock {
  /** Lets `ms` pass on both clocks, waking each sleeper at its time and letting it do what it does at once. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock forward (or back) by `ms`. Nobody wakes: sleeping is not by the wall clock. */
  jump(ms: number): void;
  /** How long each pending sleeper has still to sleep, in ms, shortest first. */
  pending(): readonly number[];
}

interface Sleeper {
  /** Monotonic time of waking. */
  readonly at: number;
  wake(): void;
}

/**
 * Makes a clock for tests.
 *
 * @param options.now wall clock at the start, ms since the epoch; 2030-01-01T00:00:00Z when absent
 */
export function createFakeClock(options: { readonly now?: number } = {}): FakeClock {
  const start = options.now ?? Date.UTC(2030, 0, 1);
  const sleepers = new Set<Sleeper>();
  let passed = 0;
  let jumped = 0;

  const earliest = (): Sleeper | undefined => [...sleepers].toSorted((a, b) => a.at - b.at)[0];

  return {
    now: () => start + passed + jumped,
    monotonic: () => passed,
    sleep: (ms, signal) => (ms > 0 ? sleepUntil(sleepers, passed + ms, signal) : Promise.resolve()),
    jump: (ms) => {
      jumped += ms;
    },
    pending: () => [...sleepers].map(({ at }) => at - passed).toSorted((a, b) => a - b),
    advance: async (ms) => {
      const end = passed + ms;
      await letOthersRun();
      for (let next = earliest(); next !== undefined && next.at <= end; next = earliest()) {
        passed = Math.max(passed, next.at);
        next.wake();
        await letOthersRun();
      }
      passed = end;
    },
  };
}

async function sleepUntil(sleepers: Set<Sleeper>, at: number, signal: Signal | undefined): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const sleeper: Sleeper = { at, wake: resolve };
  sleepers.add(sleeper);
  signal?.addEventListener('abort', resolve, { once: true });
  await promise;
  sleepers.delete(sleeper);
  signal?.removeEventListener('abort', resolve);
}

/** Two turns of the event loop: all that promises alone can bring about has then come about. */
async function letOthersRun(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
