import { createHash, randomBytes } from 'node:crypto';
import type { Clock, Hash, Ids, Random } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';

/** The longest delay a Node timer holds; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's clocks. `monotonic` is CLOCK_MONOTONIC on Linux: it stands still while the machine sleeps. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep,
};

/** `Math.random`: good enough for jitter, not for secrets. */
export const systemRandom: Random = { next: () => Math.random() };

/** Strictly increasing UUIDs version 7 of this process. */
export const systemIds: Ids = createIds({ now: () => Date.now(), randomBytes });

/** SHA-256 by Node's crypto. */
export const systemHash: Hash = { sha256: (text) => createHash('sha256').update(text, 'utf8').digest('hex') };

async function sleep(ms: number, signal?: Signal): Promise<void> {
  const end = performance.now() + ms;
  do {
    if (signal?.aborted === true) return;
    // oxlint-disable-next-line no-await-in-loop -- one timer after the other is the point
    await timer(Math.min(end - performance.now(), LONGEST_TIMER_MS), signal);
  } while (end - performance.now() > 0);
}

function timer(ms: number, signal: Signal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(handle);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const handle = setTimeout(finish, Math.max(ms, 0));
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/**
 * UUID version 7 (RFC 9562) that also sorts within one millisecond, which `crypto.randomUUIDv7` does not: the 12 bits
 * after the version are a counter with a random start; when it is full, or the clock went back, the last time stays or
 * moves on by one.
 * @internal
 */
export function createIds(source: { now: () => number; randomBytes: (size: number) => Uint8Array }): Ids {
  let lastMs = -1;
  let counter = 0;
  const advance = (random: number): void => {
    const now = source.now();
    if (now > lastMs) {
      lastMs = now;
      counter = random % 2048;
    } else if (counter === 4095) {
      lastMs += 1;
      counter = 0;
    } else counter += 1;
  };
  return {
    uuid() {
      const bytes = Buffer.from(source.randomBytes(10));
      advance(bytes.readUInt16BE(8));
      const time = lastMs.toString(16).padStart(12, '0');
      const variant = ((bytes.readUInt8(0) & 0x3f) | 0x80).toString(16);
      const node = bytes.toString('hex', 1, 8);
      const low = counter.toString(16).padStart(3, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}-7${low}-${variant}${node.slice(0, 2)}-${node.slice(2)}`;
    },
  };
}
