import { startGuard, type Guard, type GuardStart, type GuardStartResult } from './guard.ts';
import type { ProcessIdentity } from './identity.ts';

/** Whoever ends the guards of one attempt again and again means it. */
const MOST_REPLACEMENTS = 5;

/**
 * Starts a guard that is replaced when somebody ends it (a cleaner of idle shells, the out-of-memory killer), since nothing
 * else would end the agent when we die. `exited` tells of the last one; between two of them the attempt is unguarded for
 * the few milliseconds that a start takes.
 */
export async function startLastingGuard(start: GuardStart): Promise<GuardStartResult> {
  const first = await startGuard(start);
  return first.started ? { started: true, guard: keep(first.guard, start) } : first;
}

function keep(first: Guard, start: GuardStart): Guard {
  let current = first;
  let agent: ProcessIdentity | undefined;
  let isReleased = false;
  const exited = replaceDead();

  async function replaceDead(): Promise<void> {
    for (let left = MOST_REPLACEMENTS; left > 0; left--) {
      // oxlint-disable-next-line no-await-in-loop -- one guard after the other
      await current.exited;
      if (isReleased) return;
      // oxlint-disable-next-line no-await-in-loop -- as above
      const next = await startGuard(agent === undefined ? start : { ...start, agent });
      if (!next.started) return;
      current = next.guard;
      // Also when the agent was started while this guard was: a line too many does no harm.
      if (agent !== undefined) current.watch(agent);
      // oxlint-disable-next-line no-await-in-loop -- released while it was being started
      if (isReleased) await current.release();
    }
    await current.exited;
  }

  return {
    get identity() {
      return current.identity;
    },
    watch: (started) => {
      agent = started;
      current.watch(started);
    },
    release: async () => {
      isReleased = true;
      await current.release();
      await exited;
    },
    exited,
  };
}
