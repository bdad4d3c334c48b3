import type { Advance, Engine, Work } from '../../engines/engine.ts';
import type { Holder, Journal } from '../../kernel/journal.ts';
import type { FakeClock } from '../fake-clock.ts';
import { createScriptedWork, type ScriptedWork } from '../scripted-work.ts';

/** What a case works with: a fresh journal, a clock that only the case moves, and engines over both. */
export interface EngineRig {
  readonly journal: Journal;
  readonly clock: FakeClock;
  /** How long it may take until the engine notices what others wrote, in ms. */
  readonly pollMs: number;
  /** Another engine over the same journal. The caller of the case disposes of all of them. */
  engine(work: readonly Work[], onError?: (error: unknown, key?: string) => void): Engine;
}

/** One thing that every engine must do. `run` throws an `AssertionError` when it does not. */
export interface EngineCase {
  readonly name: string;
  run(rig: EngineRig): Promise<void>;
}

/** Work is done. */
export const DONE: Advance = { kind: 'done' };
/** Work waits for a person. */
export const QUESTION: Advance = { kind: 'waiting', on: 'question' };
/** Work waits for its runner. */
export const RUNNER: Advance = { kind: 'waiting', on: 'runner' };
/** Somebody else who holds leases. */
export const STRANGER: Holder = { id: 'stranger', host: 'elsewhere', pid: 1, startedAt: '0' };

/** Work under `run:` that does what the case says. */
export function scripted(rig: EngineRig, answer: Parameters<typeof createScriptedWork>[2]): ScriptedWork {
  return createScriptedWork('run:', rig.clock, answer);
}

/** Work as it is meant to be: it claims, writes the end under its epoch and clears its due time. `act` lies in between. */
export function leasedWork(rig: EngineRig, id: string, act: () => Promise<void>): Work {
  return {
    prefix: 'run:',
    advance: async (key) => {
      const claimed = await rig.journal.claim(key, { ...STRANGER, id }, 15_000);
      if (!claimed.ok) return { kind: 'again', at: claimed.held.expiresAt };
      const expected = (await rig.journal.read(key)).length;
      await act();
      const events = [{ type: 'work.ended', v: 1, data: {} }];
      await rig.journal.append([{ stream: key, expected, epoch: claimed.lease.epoch, events, due: null }]);
      await rig.journal.release(claimed.lease);
      return DONE;
    },
  };
}

/** Accepts work as its sender does: the first event and the due time in one append. */
export async function accept(rig: EngineRig, key: string, due: number | null = rig.clock.now()): Promise<void> {
  const events = [{ type: 'work.accepted', v: 1, data: {} }];
  await rig.journal.append([{ stream: key, expected: 0, events, due }]);
}

/** Ends work that nobody has claimed. */
export async function rest(rig: EngineRig, key: string): Promise<Advance> {
  const events = [{ type: 'work.ended', v: 1, data: {} }];
  await rig.journal.append([{ stream: key, expected: 'any', events, due: null }]);
  return DONE;
}

/** Puts a message into an inbox as another process does, by default without making the inbox due. */
export async function send(rig: EngineRig, key: string, id: string, due?: number): Promise<void> {
  const events = [{ type: 'wake.requested', v: 1, id, data: {} }];
  await rig.journal.append([{ stream: `inbox:${key}`, expected: 'any', events, ...(due !== undefined && { due }) }]);
}

/** Looks at a promise without waiting for it. */
export function track<T>(promise: Promise<T>): { result(): T | undefined } {
  let result: T | undefined;
  void promise.then((value) => (result = value));
  return { result: () => result };
}
