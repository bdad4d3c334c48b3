import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Append, Holder, Journal, Lease } from '../../../src/kernel/journal.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { random } from '../../fixtures/journal-clock.ts';
import { quickHarness } from '../../fixtures/sqlite-harness.ts';

const STREAMS = ['run:a', 'run:b', 'inbox:a'] as const;
const HOLDERS = ['h1', 'h2'] as const;

/** One thing that somebody does to a journal. `guess` moves the true position or epoch, so that 0 is right. */
type Step =
  | { readonly kind: 'append'; readonly parts: readonly Part[] }
  | {
      readonly kind: 'claim';
      readonly stream: string;
      readonly holder: string;
      readonly ttl: number;
      readonly dead: boolean;
    }
  | { readonly kind: 'renew' | 'release' | 'erase'; readonly stream: string; readonly old: boolean }
  | { readonly kind: 'blob'; readonly stream: string; readonly byte: number }
  | { readonly kind: 'wait'; readonly ms: number };

interface Part {
  readonly stream: string;
  readonly any: boolean;
  readonly guess: number;
  readonly epochGuess: number;
  readonly ids: readonly (string | null)[];
  readonly due: number | null | undefined;
}

const stream = fc.constantFrom(...STREAMS);
const part: fc.Arbitrary<Part> = fc.record({
  stream,
  any: fc.boolean(),
  guess: fc.constantFrom(0, 0, 0, 1, -1),
  epochGuess: fc.constantFrom(0, 0, 0, 0, -1, 1),
  ids: fc.array(fc.constantFrom(null, null, 'm1', 'm2', 'm3'), { maxLength: 4 }),
  due: fc.constantFrom(undefined, undefined, null, 10, 20),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      parts: fc.uniqueArray(part, { selector: (one) => one.stream, minLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      stream,
      holder: fc.constantFrom(...HOLDERS),
      ttl: fc.constantFrom(0, 100),
      dead: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constantFrom('renew', 'release', 'erase'), stream, old: fc.boolean() }),
  fc.record({ kind: fc.constant('blob' as const), stream, byte: fc.constantFrom(1, 2) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 100) }),
);

interface ModelStream {
  events: { readonly id: string | null; readonly epoch: number }[];
  epoch: number;
  held: { readonly id: string; readonly until: number } | undefined;
  due: number | null;
}

/** The contract, said a second time and as plainly as possible. */
class Model {
  now = 1000;
  #floor = 0;
  readonly #streams = new Map<string, ModelStream>();

  get(name: string): ModelStream {
    return this.#streams.get(name) ?? { events: [], epoch: 0, held: undefined, due: null };
  }

  touch(name: string): ModelStream {
    const found = this.get(name);
    this.#streams.set(name, found);
    return found;
  }

  append(batch: readonly Append[]): unknown {
    for (const { stream: name, expected, epoch } of batch) {
      const { events, epoch: current } = this.get(name);
      if ((epoch ?? 0) !== current) {
        return { ok: false, refusal: { kind: 'stale-epoch', stream: name, epoch: epoch ?? null, current } };
      }
      if (expected !== 'any' && expected !== events.length) {
        return { ok: false, refusal: { kind: 'stale-position', stream: name, expected, actual: events.length } };
      }
    }
    const duplicates: string[] = [];
    const positions: Record<string, number> = {};
    for (const one of batch) {
      const isDueNew = one.due !== undefined && one.due !== this.get(one.stream).due;
      const into = one.events.length > 0 || isDueNew ? this.touch(one.stream) : this.get(one.stream);
      for (const { id } of one.events) {
        if (id !== undefined && into.events.some((event) => event.id === id)) duplicates.push(id);
        else into.events.push({ id: id ?? null, epoch: into.epoch });
      }
      if (one.due !== undefined) into.due = one.due;
      positions[one.stream] = into.events.length;
    }
    return { ok: true, positions, duplicates };
  }

  claim(name: string, holder: string, ttl: number, dead: boolean): number | undefined {
    const { held } = this.get(name);
    if (held !== undefined && held.until > this.now && held.id !== holder && !dead) return undefined;
    const claimed = this.touch(name);
    claimed.epoch = Math.max(claimed.epoch, this.#floor) + 1;
    claimed.held = { id: holder, until: this.now + ttl };
    return claimed.epoch;
  }

  isHeld(lease: Lease): boolean {
    const { held, epoch } = this.get(lease.stream);
    return held?.id === lease.holder.id && epoch === lease.epoch;
  }

  erase(name: string, epoch: number | undefined): boolean {
    const { epoch: current } = this.get(name);
    if ((epoch ?? 0) !== current) return false;
    if (this.#streams.delete(name)) this.#floor = Math.max(this.#floor, current);
    return true;
  }

  all(): unknown {
    const named = [...this.#streams].filter(([, one]) => one.events.length > 0).map(([name]) => name);
    const due = [...this.#streams].flatMap(([name, one]) => (one.due === null ? [] : [{ stream: name, due: one.due }]));
    return {
      named,
      due: due.toSorted((a, b) => a.due - b.due),
      streams: STREAMS.map((name) => {
        const { events, held, epoch } = this.get(name);
        return [
          events.map(({ id, epoch: under }) => [id, under]),
          held === undefined ? null : [held.id, epoch, held.until],
        ];
      }),
    };
  }
}

async function observe(journal: Journal): Promise<unknown> {
  const streams = STREAMS.map(async (name) => {
    const [events, lease] = [await journal.read(name), await journal.lease(name)];
    expect(events.map((event) => event.position)).toEqual(events.map((_, index) => index + 1));
    return [
      events.map((event) => [event.id ?? null, event.epoch ?? 0]),
      lease === undefined ? null : [lease.holder.id, lease.epoch, lease.expiresAt],
    ];
  });
  return { named: await journal.streams(''), due: await journal.due(1000, 10), streams: await Promise.all(streams) };
}

/** Runs the steps on the journal and the model, comparing every result and, at the end, everything that can be seen. */
async function run(journal: Journal, model: Model, steps: readonly Step[], handles: readonly Journal[]): Promise<void> {
  const leases = new Map<string, Lease[]>();
  for (const [index, one] of steps.entries()) {
    const handle = handles[index % handles.length] ?? journal;
    await runStep(handle, model, one, leases);
  }
  expect(await observe(journal)).toEqual(model.all());
}

async function runStep(journal: Journal, model: Model, one: Step, leases: Map<string, Lease[]>): Promise<void> {
  switch (one.kind) {
    case 'append': {
      const batch = one.parts.map((each) => toAppend(model, each));
      expect(await journal.append(batch)).toEqual(model.append(batch));
      return;
    }
    case 'claim': {
      const holder: Holder = { id: one.holder, host: 'x', pid: 1, startedAt: 's' };
      const claimed = await journal.claim(one.stream, holder, one.ttl, () => one.dead);
      expect(claimed.ok ? claimed.lease.epoch : undefined).toBe(model.claim(one.stream, one.holder, one.ttl, one.dead));
      if (claimed.ok) leases.set(one.stream, [...(leases.get(one.stream) ?? []), claimed.lease]);
      return;
    }
    case 'renew':
    case 'release': {
      const known = leases.get(one.stream) ?? [];
      const lease = one.old ? known[0] : known.at(-1);
      if (lease === undefined) return;
      const held = model.isHeld(lease);
      const kept = model.get(one.stream);
      if (one.kind === 'renew') expect(await journal.renew(lease, 100)).toBe(held);
      else await journal.release(lease);
      if (held) kept.held = one.kind === 'renew' ? { id: lease.holder.id, until: model.now + 100 } : undefined;
      return;
    }
    case 'erase': {
      const epoch = one.old ? undefined : model.get(one.stream).epoch || undefined;
      const erased = await journal.erase(one.stream, epoch).then(
        () => true,
        () => false,
      );
      expect(erased).toBe(model.erase(one.stream, epoch));
      return;
    }
    case 'blob':
      await journal.putBlob(one.stream, Uint8Array.of(one.byte));
      model.touch(one.stream);
      return;
    case 'wait':
      model.now += one.ms;
  }
}

function toAppend(model: Model, one: Part): Append {
  const { events, epoch } = model.get(one.stream);
  const under = epoch + one.epochGuess;
  return {
    stream: one.stream,
    expected: one.any ? 'any' : Math.max(0, events.length + one.guess),
    ...(under > 0 ? { epoch: under } : {}),
    ...(one.due === undefined ? {} : { due: one.due }),
    events: one.ids.map((id) => ({ type: 'thing.happened', v: 1, data: id, ...(id === null ? {} : { id }) })),
  };
}

describe('any sequence of steps does what the contract says', () => {
  it('in memory', async () => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const model = new Model();
        const journal = createMemoryJournal({ clock: { now: () => model.now } });
        await run(journal, model, steps, [journal]);
      }),
      { numRuns: 200 },
    );
  });

  it('in a sqlite file, through two handles', async () => {
    expect.hasAssertions();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const model = new Model();
        const harness = quickHarness();
        const clock = { ...harness.clock, now: () => model.now };
        const open = (): Promise<Journal> => openSqliteJournal({ path: harness.path, clock, random });
        const [one, two] = [await open(), await open()];
        await run(one, model, steps, [one, two]);
        await Promise.all([one.close(), two.close()]);
        harness.remove();
      }),
      { numRuns: 100 },
    );
  });
});

describe('any interleaving of appenders that do not wait for each other', () => {
  const plans = fc.array(fc.array(fc.record({ stream, any: fc.boolean(), size: fc.integer({ min: 1, max: 3 }) })), {
    minLength: 1,
    maxLength: 5,
  });
  it.each(['memory', 'sqlite'] as const)(
    'keeps each accepted append whole and in its writer’s order: %s',
    async (store) => {
      await fc.assert(
        fc.asyncProperty(plans, async (writers) => {
          const harness = quickHarness();
          const journal = store === 'memory' ? createMemoryJournal({ clock: harness.clock }) : await harness.open();
          const accepted = await Promise.all(writers.map((plan, writer) => write(journal, writer, plan)));
          for (const name of STREAMS) {
            const seen = (await journal.read(name)).map((event) => event.data as unknown as Mark);
            const told = accepted.flat().filter((mark) => mark.stream === name);
            expect(seen.toSorted(compare)).toEqual(told.toSorted(compare));
            seen.forEach((mark, index) => expect(mark.part === 0 || sameAppend(seen[index - 1], mark)).toBe(true));
          }
          await journal.close();
          harness.remove();
        }),
        { numRuns: 25 },
      );
    },
  );
});

interface Mark {
  readonly stream: string;
  readonly writer: number;
  readonly append: number;
  readonly part: number;
}

type Plan = readonly { readonly stream: string; readonly any: boolean; readonly size: number }[];

/** Appends at positions that are guessed before anybody is done, so that some are refused. */
async function write(journal: Journal, writer: number, plan: Plan): Promise<readonly Mark[]> {
  const results = plan.map(async ({ stream: name, any, size }, append) => {
    const marks = Array.from({ length: size }, (_, index) => ({ stream: name, writer, append, part: index }));
    const events = marks.map((data) => ({ type: 'thing.happened', v: 1, data }));
    const appended = await journal.append([{ stream: name, expected: any ? 'any' : append, events }]);
    return appended.ok ? marks : [];
  });
  return (await Promise.all(results)).flat();
}

function compare(a: Mark, b: Mark): number {
  return a.writer - b.writer || a.append - b.append || a.part - b.part;
}

function sameAppend(before: Mark | undefined, mark: Mark): boolean {
  return before?.writer === mark.writer && before.append === mark.append && before.part === mark.part - 1;
}
