import type {
  EffectCaller,
  EffectCalls,
  EffectLedger,
  EffectName,
  EffectOutcome,
} from '../../../../src/effects/effect.ts';
import { createLedger, type LedgerOptions } from '../../../../src/effects/index.ts';
import { effectStream } from '../../../../src/effects/key.ts';
import type { StoredEvent } from '../../../../src/kernel/envelope.ts';
import type { Append, Holder, Journal } from '../../../../src/kernel/journal.ts';
import type { Ids } from '../../../../src/kernel/ports.ts';
import type { Signal } from '../../../../src/kernel/signal.ts';
import { systemHash } from '../../../../src/processes/system.ts';
import { createMemoryJournal } from '../../../../src/stores/memory/index.ts';
import { createFakeClock, type FakeClock } from '../../../../src/testing/fake-clock.ts';

/** An effect as most tests name it. */
export const publish: EffectName = { scope: 'session:s', action: 'release.publish', identity: { version: '1.2.0' } };

export const never: Signal = new AbortController().signal;

/** Something that an append does instead of, or after, appending. */
export type Break = (batch: readonly Append[], nth: number) => 'before' | 'after' | undefined;

/** A journal, a clock, and one ledger for each process that a test pretends to have. */
export interface EffectRig {
  readonly clock: FakeClock;
  readonly journal: Journal;
  /** A process of its own, with a holder of that name. */
  ledger(name: string, more?: Partial<LedgerOptions>): EffectLedger;
  /** From now on that process is gone, as `kill -9` leaves it. */
  kill(name: string): void;
  /** Makes appends fail, before or after they are durable. */
  breakAppends(how: Break | undefined): void;
  events(name?: EffectName): Promise<readonly StoredEvent[]>;
  types(name?: EffectName): Promise<readonly string[]>;
}

export function effectRig(): EffectRig {
  const clock = createFakeClock();
  const inner = createMemoryJournal({ clock });
  const dead = new Set<string>();
  let how: Break | undefined;
  let appends = 0;
  const journal = withAppend(inner, async (batch) => {
    const breaks = how?.(batch, (appends += 1));
    if (breaks === 'before') throw new Error('the disk is full');
    const appended = await inner.append(batch);
    if (breaks === 'after') throw new Error('the connection is gone');
    return appended;
  });
  const events = (name: EffectName = publish) => inner.read(effectStream(systemHash, name));
  return {
    clock,
    journal,
    ledger: (name, more = {}) =>
      createLedger({
        journal,
        clock,
        hash: systemHash,
        ids: countingIds(name),
        holder: holderOf(name),
        isDead: (held) => dead.has(held.id),
        ...more,
      }),
    kill: (name) => void dead.add(name),
    breakAppends: (next) => {
      how = next;
    },
    events,
    types: async (name) => (await events(name)).map(({ type }) => type),
  };
}

/** The same journal with another way to append. */
export function withAppend(journal: Journal, append: Journal['append']): Journal {
  return new Proxy(journal, {
    get: (target, field: keyof Journal) => {
      const value: unknown = Reflect.get(target, field, target);
      if (field === 'append') return append;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

export function holderOf(id: string): Holder {
  return { id, host: 'here', pid: 1, startedAt: '1' };
}

function countingIds(prefix: string): Ids {
  let count = 0;
  return { uuid: () => `${prefix}-${(count += 1)}` };
}

/** A leased stream as a loop has it: what it writes is held to its epoch. */
export async function leased(rig: EffectRig, stream: string, holder: string): Promise<EffectCaller> {
  const claimed = await rig.journal.claim(stream, holderOf(holder), 15_000, () => true);
  if (!claimed.ok) throw new Error(`${stream} is held`);
  const { epoch } = claimed.lease;
  return { owner: stream, fence: () => ({ stream, expected: 'any', epoch, events: [] }) };
}

/** A service that counts what it accepts, and does to its callers what a test says. */
export interface TestService {
  /** Accepted calls, by key. */
  readonly accepted: string[];
  readonly lookups: string[];
  readonly calls: EffectCalls;
}

export interface ServicePlan {
  /** Called after the acceptance: throw to lose the answer, wait to answer late. */
  readonly afterwards?: (signal: Signal, nth: number) => Promise<void> | void;
  /** Called before the acceptance: throw and nothing happens. */
  readonly before?: (signal: Signal, nth: number) => Promise<void> | void;
  readonly dedupes?: boolean;
  readonly lookup?: 'true' | 'absent' | 'unknown' | 'fails' | 'none';
  readonly more?: Partial<EffectCalls>;
}

export function testService(plan: ServicePlan = {}): TestService {
  const accepted: string[] = [];
  const lookups: string[] = [];
  let nth = 0;
  const { lookup = 'none' } = plan;
  const calls: EffectCalls = {
    call: async (key, signal) => {
      const mine = (nth += 1);
      await plan.before?.(signal, mine);
      if (plan.dedupes !== true || !accepted.includes(key)) accepted.push(key);
      const receipt = `receipt-${plan.dedupes === true ? accepted.indexOf(key) + 1 : accepted.length}`;
      await plan.afterwards?.(signal, mine);
      return receipt;
    },
    ...(lookup === 'none'
      ? {}
      : {
          lookup: async (key) => {
            lookups.push(key);
            if (lookup === 'fails') throw new Error('503');
            if (lookup === 'true' && accepted.includes(key))
              return { kind: 'accepted', receipt: `receipt-${accepted.indexOf(key) + 1}` };
            return { kind: lookup === 'unknown' ? 'unknown' : 'absent' };
          },
        }),
    ...plan.more,
  };
  return { accepted, lookups, calls };
}

/** The outcome, which must be of that kind. */
export function asKind<Kind extends EffectOutcome['kind']>(
  outcome: EffectOutcome,
  kind: Kind,
): Extract<EffectOutcome, { kind: Kind }> {
  if (outcome.kind !== kind) throw new Error(`expected ${kind}: ${JSON.stringify(outcome)}`);
  return outcome as Extract<EffectOutcome, { kind: Kind }>;
}
