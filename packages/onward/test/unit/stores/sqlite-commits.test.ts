import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OnwardError } from '../../../src/kernel/error.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import type { Commit } from '../../../src/stores/commit.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { quickHarness, type SqliteHarness } from '../../fixtures/sqlite-harness.ts';

const holder = { id: 'h', host: 'x', pid: 1, startedAt: 's' };
const event = { type: 'thing.happened', v: 1, data: 1 };
const add = (stream: string, expected: number | 'any' = 'any') => ({ stream, expected, events: [event] });

let harness: SqliteHarness;
let journal: Journal;
let commits: Commit[];
beforeEach(async () => {
  harness = quickHarness();
  commits = [];
  journal = await openSqliteJournal(
    harness.options({ onCommit: (moment, commit) => void (moment === 'after' && commits.push(commit)) }),
  );
});
afterEach(async () => {
  await journal.close();
  harness.remove();
});

describe('commits of a sqlite journal', () => {
  it('appenders that wait share one commit, and each learns its own result', async () => {
    const results = await Promise.all([
      journal.append([add('run:a', 0)]),
      journal.append([add('run:a', 0), add('run:x')]),
      journal.append([add('run:a', 1)]),
      journal.claim('run:b', holder, 1000),
      journal.erase('run:a', 9).catch((error: unknown) => error),
      journal.append([add('run:c')]),
    ]);
    expect(commits).toHaveLength(1);
    expect(results.map((result) => (result as { ok?: boolean }).ok)).toEqual([
      true,
      false,
      true,
      true,
      undefined,
      true,
    ]);
    expect(results[4]).toMatchObject({ code: 'journal/stale-epoch' });
    await expect(journal.read('run:a')).resolves.toHaveLength(2);
    await expect(journal.streams('')).resolves.toEqual(['run:a', 'run:c']);
    expect(commits[0]?.writes.map(({ kind, stream }) => `${kind} ${stream}`)).toEqual([
      'append run:a',
      'append run:a',
      'claim run:b',
      'append run:c',
    ]);
  });

  it('appends of one writer keep the order in which they were asked for', async () => {
    const appends = Array.from({ length: 300 }, (_, index) =>
      journal.append([{ stream: 'run:a', expected: index, events: [{ ...event, data: index }] }]),
    );
    expect((await Promise.all(appends)).every((appended) => appended.ok)).toBe(true);
    expect((await journal.read('run:a')).map((stored) => stored.data)).toEqual(appends.map((_, index) => index));
    expect(commits.length).toBeLessThan(10);
  });

  it('nothing is committed when nothing is written', async () => {
    await journal.append([add('run:a')]);
    await journal.append([add('run:a', 7)]);
    await journal.append([{ stream: 'run:a', expected: 'any', events: [] }]);
    await journal.renew({ stream: 'run:a', epoch: 1, holder, expiresAt: 0 }, 1000);
    expect(commits.map((commit) => commit.number)).toEqual([1]);
  });

  it('a piece of work that the database refuses does not take its neighbours with it', async () => {
    // Longer than SQLite's limit of a billion bytes cannot be tested cheaply; a hash that throws once fails the same way.
    let fail = false;
    const hash = {
      sha256: (text: string): string => {
        if (fail && text.includes('poison')) throw new TypeError('poison');
        return text.length.toString(16).padStart(64, '0');
      },
    };
    await journal.close();
    journal = await openSqliteJournal(harness.options({ path: `${harness.path}2`, hash }));
    fail = true;
    const poison = { stream: 'run:b', expected: 'any' as const, events: [{ ...event, data: 'poison' }] };
    const results = await Promise.allSettled([
      journal.append([add('run:a')]),
      journal.append([poison]),
      journal.append([add('run:c')]),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'journal/failed' } });
    await expect(journal.streams('')).resolves.toEqual(['run:a', 'run:c']);
  });

  it('a refusal in the middle of a piece of work undoes what it had written, and nothing else', async () => {
    const hash = {
      sha256: (text: string): string => {
        if (text.includes('poison')) throw new OnwardError('journal/full', 'No.');
        return text.length.toString(16).padStart(64, '0');
      },
    };
    await journal.close();
    journal = await openSqliteJournal(harness.options({ path: `${harness.path}3`, hash }));
    const poison = { stream: 'run:b', expected: 'any' as const, events: [{ ...event, data: 'poison' }] };
    const results = await Promise.allSettled([
      journal.append([add('run:a')]),
      journal.append([add('run:half'), add('run:a'), poison]),
      journal.append([add('run:c')]),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'journal/full' } });
    await expect(journal.streams('')).resolves.toEqual(['run:a', 'run:c']);
    await expect(journal.read('run:a')).resolves.toHaveLength(1);
  });

  it('a stream erased and made anew while it is read is read anew', async () => {
    const events = Array.from({ length: 2500 }, (_, index) => ({ ...event, data: index }));
    await journal.append([{ stream: 'run:a', expected: 0, events }]);
    const reading = journal.read('run:a');
    await journal.erase('run:a');
    await journal.append([{ stream: 'run:a', expected: 0, events: events.toReversed() }]);
    const read = (await reading).map((stored) => stored.data);
    const sound = [[], events.map(({ data }) => data), events.map(({ data }) => data).toReversed()];
    expect(sound).toContainEqual(read);
  });

  it('what a hook prevents before the commit is not written', async () => {
    await journal.close();
    let failing = true;
    journal = await openSqliteJournal(
      harness.options({
        onCommit: (moment) => {
          if (failing && moment === 'before') throw new Error('stop');
        },
      }),
    );
    await expect(journal.append([add('run:a')])).rejects.toMatchObject({ code: 'journal/failed' });
    failing = false;
    await expect(journal.read('run:a')).resolves.toEqual([]);
    await expect(journal.append([add('run:a')])).resolves.toMatchObject({ ok: true });
  });

  it('a lone writer in a loop does not keep timers waiting', async () => {
    let turns = 0;
    let running = true;
    const turn = (): void => {
      turns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    for (let position = 0; position < 80; position++) await journal.append([add('run:a', position)]);
    running = false;
    expect(turns).toBeGreaterThanOrEqual(5);
  });
});

describe('commits of a memory journal', () => {
  it('are reported as those of a durable one', async () => {
    const seen: string[] = [];
    const memory = createMemoryJournal({
      clock: harness.clock,
      onCommit: (moment, { number, writes }) => seen.push(`${moment} ${number} ${writes[0]?.kind}`),
    });
    await memory.append([add('run:a')]);
    await memory.append([add('run:a', 7)]);
    await memory.claim('run:b', holder, 1000);
    expect(seen).toEqual(['before 1 append', 'after 1 append', 'before 2 claim', 'after 2 claim']);
  });
});
