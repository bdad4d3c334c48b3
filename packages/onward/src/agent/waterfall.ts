import { OnwardError } from '../kernel/error.ts';
import type { Listener, Waterfalls } from './plugin.ts';

type Name = keyof Waterfalls;
type Payload<N extends Name> = Readonly<Waterfalls[N]['payload']>;
type Result<N extends Name> = Waterfalls[N]['result'];

interface Entry {
  readonly owner: string;
  readonly listener: Listener<Name>;
  gone: boolean;
}

/** The listeners of all waterfalls, in the order of registration. */
export interface WaterfallSet {
  on<N extends Name>(owner: string, name: N, listener: Listener<N>): () => void;
  /** Asks the listeners one after the other, each through the `next` of the one before; `fallback` is at the end. */
  run<N extends Name>(name: N, payload: Payload<N>, fallback: () => Result<N>): Promise<Result<N>>;
  /** Removes all listeners of an owner and waits for those of its callbacks that are under way. */
  remove(owner: string): Promise<void>;
}

/** An empty set. A listener that calls `next` twice gets `agent/next-twice` thrown into it. */
export function createWaterfalls(): WaterfallSet {
  const lists = new Map<Name, Entry[]>();
  const active = new Map<string, Set<Promise<unknown>>>();
  const track = (owner: string, call: Promise<unknown>): void => {
    const calls = active.get(owner) ?? new Set();
    active.set(owner, calls);
    const quiet = call.catch(() => undefined).finally(() => calls.delete(quiet));
    calls.add(quiet);
  };
  return {
    on(owner, name, listener) {
      const entry: Entry = { owner, listener, gone: false };
      const list = lists.get(name) ?? [];
      lists.set(name, [...list, entry]);
      return () => {
        entry.gone = true;
        lists.set(
          name,
          (lists.get(name) ?? []).filter((other) => other !== entry),
        );
      };
    },
    async run(name, payload, fallback) {
      const entries = lists.get(name);
      if (entries === undefined || entries.length === 0) return fallback();
      const ask = async (index: number): Promise<Result<typeof name>> => {
        const entry = entries[index];
        if (entry === undefined) return fallback();
        if (entry.gone) return await ask(index + 1);
        const call = callListener(entry, payload, () => ask(index + 1));
        track(entry.owner, call);
        return (await call) as Result<typeof name>;
      };
      return await ask(0);
    },
    async remove(owner) {
      for (const [name, list] of lists) {
        for (const entry of list) if (entry.owner === owner) entry.gone = true;
        lists.set(
          name,
          list.filter((entry) => entry.owner !== owner),
        );
      }
      const calls = active.get(owner);
      if (calls !== undefined) await Promise.all(calls.values());
    },
  };
}

async function callListener(entry: Entry, payload: Payload<Name>, next: () => Promise<unknown>): Promise<unknown> {
  let asked = false;
  return await entry.listener(payload, (async () => {
    if (asked) throw new OnwardError('agent/next-twice', `A listener of ${entry.owner} called next() twice.`);
    asked = true;
    return await next();
  }) as never);
}
