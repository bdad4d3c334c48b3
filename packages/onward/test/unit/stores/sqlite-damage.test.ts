import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOnwardError } from '../../../src/kernel/error.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { random, shiftedClock } from '../../fixtures/journal-clock.ts';

const event = { type: 'thing.happened', v: 1, data: { text: 'hällo', n: 12 } };
const holder = { id: 'h', host: 'x', pid: 1, startedAt: 's' };

let folder: string;
let journal: Journal;
/** A second connection, past the store, which puts back what it changed. */
let raw: DatabaseSync;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'onward-damage-'));
  const path = join(folder, 'journal.db');
  journal = await openSqliteJournal({ path, clock: shiftedClock(), random });
  const claimed = await journal.claim('run:a', holder, 1000);
  const epoch = claimed.ok ? claimed.lease.epoch : 0;
  for (const more of [{}, { id: 'm1', ignorable: true as const }, {}]) {
    await journal.append([{ stream: 'run:a', expected: 'any', epoch, events: [{ ...event, ...more }], due: 77 }]);
  }
  raw = new DatabaseSync(path);
  raw.exec('pragma synchronous = off');
});
afterEach(async () => {
  raw.close();
  await journal.close();
  rmSync(folder, { recursive: true });
});

type Value = string | number | null;

/** Every value that differs from the stored one in one byte (or is another plausible number). */
function alterations(value: Value): readonly Value[] {
  if (value === null) return [0, 1];
  if (typeof value === 'number') return [value + 1, value - 1, value + 256, -value - 1];
  const bytes = Buffer.from(value);
  return Array.from(bytes, (byte, index) => {
    const changed = Buffer.from(bytes);
    changed[index] = byte === 0x41 ? 0x42 : 0x41;
    return changed.toString();
  });
}

async function outcome(): Promise<string> {
  try {
    const events = await journal.read('run:a');
    return `read ${events.length}`;
  } catch (error) {
    return isOnwardError(error) ? `${error.code} ${error.place}` : `not ours: ${String(error)}`;
  }
}

/** Tries each alteration of each cell of a row, and collects what reading the stream then says. */
async function outcomesOf(table: string, key: string, columns: readonly string[]): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (const column of columns) {
    const { value } = raw.prepare(`select ${column} as value from ${table} where ${key}`).get() as { value: Value };
    for (const altered of alterations(value)) {
      raw.exec('savepoint undo');
      try {
        raw.prepare(`update ${table} set ${column} = ? where ${key}`).run(altered);
      } catch {
        // A column that takes no such value cannot be damaged so.
        raw.exec('rollback to undo; release undo');
        continue;
      }
      raw.exec('release undo');
      seen.add(`${column}: ${await outcome()}`);
      raw.prepare(`update ${table} set ${column} = ? where ${key}`).run(value);
    }
  }
  return [...seen];
}

const EVENT_COLUMNS = ['at', 'epoch', 'type', 'v', 'id', 'ignorable', 'data', 'checksum'];
const STREAM_COLUMNS = ['last', 'head', 'epoch', 'holder', 'expires', 'due', 'seal'];

describe('damage to a sqlite journal', () => {
  it.each([1, 2, 3])('any byte changed in any column of event %i is found, with the place', async (position) => {
    const outcomes = await outcomesOf('event', `place = (1 << 26) + ${position}`, EVENT_COLUMNS);
    expect(outcomes.toSorted()).toEqual(
      EVENT_COLUMNS.map((column) => `${column}: journal/damaged run:a@${position}`).toSorted(),
    );
    expect(await outcome()).toBe('read 3');
  });

  it('any byte changed in the row of a stream is found: its end, its epoch, its holder, its due time', async () => {
    const outcomes = await outcomesOf('stream', 'id = 1', STREAM_COLUMNS);
    expect(outcomes.toSorted()).toEqual(STREAM_COLUMNS.map((column) => `${column}: journal/damaged run:a`).toSorted());
  });

  it('a number beyond all measure is found, with the place', async () => {
    raw.exec(`update event set at = 9223372036854775807 where place = (1 << 26) + 2`);
    expect(await outcome()).toBe('journal/damaged run:a@2');
    raw.exec(`update stream set due = 9223372036854775807`);
    expect(await outcome()).toBe('journal/damaged run:a');
  });

  it('an event moved to another place, doubled, or taken from another stream is found', async () => {
    raw.exec('update event set place = place + 10 where place = (1 << 26) + 2');
    expect(await outcome()).toBe('journal/damaged run:a@2');
    raw.exec('update event set place = place - 10 where place = (1 << 26) + 12');
    expect(await outcome()).toBe('read 3');
    raw.exec(
      `insert into event select place + 1, at, epoch, type, v, id, ignorable, data, checksum from event
       where place = (1 << 26) + 3`,
    );
    expect(await outcome()).toBe('journal/damaged run:a@4');
    raw.exec('delete from event where place = (1 << 26) + 4');
    await journal.append([{ stream: 'run:b', expected: 0, events: [event, event, event] }]);
    raw.exec(
      `update event set (data, checksum) = (select data, checksum from event b where b.place = event.place + (1 << 26))
       where place = (1 << 26) + 1`,
    );
    expect(await outcome()).toBe('journal/damaged run:a@1');
  });

  it('reading from a later position finds damage after it, and a missing event at it', async () => {
    raw.exec(`update event set data = '1' where place = (1 << 26) + 3`);
    await expect(journal.read('run:a', 2)).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@3' });
    raw.exec('delete from event where place = (1 << 26) + 2');
    await expect(journal.read('run:a', 2)).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@2' });
  });

  it('a damaged stream is neither written, leased nor due, and others go on', async () => {
    raw.exec('update stream set last = 2 where id = 1');
    const append = { stream: 'run:a', expected: 'any' as const, epoch: 1, events: [event] };
    const damaged = { code: 'journal/damaged', place: 'run:a' };
    await expect(journal.append([append])).rejects.toMatchObject(damaged);
    await expect(journal.claim('run:a', holder, 1000)).rejects.toMatchObject(damaged);
    await expect(journal.lease('run:a')).rejects.toMatchObject(damaged);
    await expect(journal.append([{ stream: 'run:b', expected: 0, events: [event] }])).resolves.toMatchObject({
      ok: true,
    });
  });

  it('one damaged stream does not hide the others that are due', async () => {
    await journal.append([{ stream: 'run:b', expected: 0, events: [event], due: 78 }]);
    raw.exec('update stream set last = 2 where id = 1');
    // The damaged one is listed by what its row says, so that whoever advances it meets the damage.
    await expect(journal.due(100, 10)).resolves.toEqual([
      { stream: 'run:a', due: 77 },
      { stream: 'run:b', due: 78 },
    ]);
  });

  it.each([-9223372036854775807n, 9223372036854775807n])('a due time of %s does not hide the others', async (due) => {
    await journal.append([{ stream: 'run:b', expected: 0, events: [event], due: 78 }]);
    raw.prepare('update stream set due = ? where id = 1').run(due);
    for (const now of [100, Number.MAX_VALUE]) {
      const found = await journal.due(now, 10);
      expect(found.filter(({ stream }) => stream === 'run:b')).toEqual([{ stream: 'run:b', due: 78 }]);
    }
  });

  it('a log that was cut while the journal is open is said to be unreadable, not hidden behind the clean-up', async () => {
    const path = join(folder, 'journal.db');
    const other = await openSqliteJournal({ path, clock: shiftedClock(), random });
    truncateSync(`${path}-wal`, 0);
    await expect(other.read('run:a')).rejects.toMatchObject({ code: expect.stringMatching(/^journal\/(io|damaged)$/) });
    await other.close();
  });

  it('a follower fails at the damage', async () => {
    raw.exec(`update event set data = '1' where place = (1 << 26) + 3`);
    const following = journal.follow('run:a', 2, new AbortController().signal)[Symbol.asyncIterator]().next();
    await expect(following).rejects.toMatchObject({ code: 'journal/damaged', place: 'run:a@3' });
  });

  it('a stream whose row is damaged can still be erased, without an epoch', async () => {
    await expect(journal.erase('run:a')).rejects.toMatchObject({ code: 'journal/stale-epoch' });
    raw.exec('update stream set epoch = 9223372036854775807 where id = 1');
    await journal.erase('run:a');
    await expect(journal.read('run:a')).resolves.toEqual([]);
  });

  it.each([0, 1, 9223372036854775807n])(
    'zombies of a stream whose epoch was damaged (to %s) and that was erased stay fenced',
    async (damaged) => {
      let old = 1;
      for (; old < 5; old++) await journal.claim('run:a', holder, 1000);
      raw.prepare('update stream set epoch = ? where id = 1').run(damaged);
      await journal.erase('run:a');
      for (let claims = 0; claims < 5; claims++) {
        const claimed = await journal.claim('run:a', holder, 1000);
        expect(claimed.ok && claimed.lease.epoch).toBeGreaterThan(old);
      }
      const zombie = { stream: 'run:a', expected: 'any' as const, epoch: old, events: [event] };
      await expect(journal.append([zombie])).resolves.toMatchObject({ ok: false, refusal: { kind: 'stale-epoch' } });
    },
  );

  it('blobs are checked against their name, and mended by whoever stores them again', async () => {
    const ref = await journal.putBlob('run:a', Buffer.from('abc'));
    raw.prepare('update blob set bytes = ?').run(Buffer.from('abd'));
    await expect(journal.getBlob(ref)).rejects.toMatchObject({ code: 'journal/damaged', place: `blob ${ref.sha256}` });
    await journal.putBlob('run:a', Buffer.from('abc'));
    await expect(journal.getBlob(ref)).resolves.toHaveLength(3);
  });
});
