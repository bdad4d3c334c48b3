import type { Clock, Random } from 'onward';

/** The real clock, for measurements. */
export const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    }),
};

/** The real chance. */
export const random: Random = { next: () => Math.random() };
