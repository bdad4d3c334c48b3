import type { AttemptHost } from './attempt-host.ts';
import type { Stopper } from './stopper.ts';

/** The locks on conversations that one attempt holds: on the id it asked for, and on another one if the agent chose so. */
export interface ConversationLocks {
  /** Takes the lock of a conversation, or asks the attempt to stop since another process has it or it cannot be taken. Twice is once. */
  take(sessionId: string, stopper: Stopper): Promise<void>;
  release(): void;
}

/** No locks yet. */
export function createConversationLocks(host: AttemptHost, agent: string): ConversationLocks {
  const held = new Map<string, () => void>();
  let released = false;
  return {
    take: async (sessionId, stopper) => {
      if (held.has(sessionId)) return;
      held.set(sessionId, () => undefined);
      const lock = await host.lock(agent, sessionId).catch((error: unknown) => ({ error }));
      if ('error' in lock) return stopper.request({ kind: 'broken', error: lock.error });
      if (!lock.ok) return stopper.request({ kind: 'held', pid: lock.pid });
      if (released) return lock.release();
      held.set(sessionId, () => lock.release());
    },
    release: () => {
      released = true;
      for (const free of held.values()) free();
    },
  };
}
