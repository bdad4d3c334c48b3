import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fold, type EventTable } from 'onward';
import { openSqliteJournal } from 'onward/supervisor';
import { clock, random } from './ports.ts';
import { type Row, sideBySide } from './report.ts';

const payload = { text: 'x'.repeat(380) };
const table: EventTable = { 'bench.happened': { v: 1 } };
const event = { type: 'bench.happened', v: 1, data: payload } as const;

/** Appends one at a time, fifty at a time and by eight writers at once, each against bare SQLite doing the same inserts. */
export async function benchAppend(rounds: number): Promise<readonly Row[]> {
  const shapes = [
    { what: 'append, 1 event each', batch: 1, writers: 1, appends: 400 },
    { what: 'append, 50 events each', batch: 50, writers: 1, appends: 100 },
    { what: 'append, 8 writers, 1 event each', batch: 1, writers: 8, appends: 100 },
  ];
  const rows: Row[] = [];
  for (const shape of shapes) {
    // oxlint-disable-next-line no-await-in-loop -- one shape after the other
    const figures = await sideBySide(
      rounds,
      () => inFolder((folder) => ourAppends(folder, shape)),
      () => inFolder((folder) => bareAppends(folder, shape)),
    );
    rows.push({ what: shape.what, unit: 'events/s', aim: '>= 0.8', ...figures });
  }
  return rows;
}

interface Shape {
  readonly batch: number;
  readonly writers: number;
  readonly appends: number;
}

async function ourAppends(folder: string, { batch, writers, appends }: Shape): Promise<number> {
  const journal = await openSqliteJournal({ path: join(folder, 'journal.db'), clock, random });
  const events = Array.from({ length: batch }, () => event);
  const start = performance.now();
  const write = async (stream: string): Promise<void> => {
    for (let n = 0; n < appends; n++) {
      // oxlint-disable-next-line no-await-in-loop -- each append is acknowledged before the next
      const done = await journal.append([{ stream, expected: n * batch, events }]);
      if (!done.ok) throw new Error(done.refusal.kind);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(`run:bench-${writer}`)));
  const rate = (batch * writers * appends) / ((performance.now() - start) / 1000);
  await journal.close();
  return rate;
}

/** The same durability (WAL, FULL, one transaction for each append) and the same bytes, without checks, chain or fences. */
async function bareAppends(folder: string, { batch, writers, appends }: Shape): Promise<number> {
  const db = new DatabaseSync(join(folder, 'bare.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(
    'CREATE TABLE event (stream TEXT, position INTEGER, at INTEGER, type TEXT, v INTEGER, data TEXT, PRIMARY KEY (stream, position)) WITHOUT ROWID',
  );
  const insert = db.prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)');
  const start = performance.now();
  for (let n = 0; n < appends; n++) {
    for (let writer = 0; writer < writers; writer++) {
      db.exec('BEGIN IMMEDIATE');
      for (let item = 0; item < batch; item++)
        insert.run(`run:bench-${writer}`, n * batch + item, Date.now(), event.type, 1, JSON.stringify(payload));
      db.exec('COMMIT');
    }
  }
  const rate = (batch * writers * appends) / ((performance.now() - start) / 1000);
  db.close();
  return rate;
}

/** Opens a journal of 100,000 events, reads the stream with its chain checked, and folds it. */
export async function benchFold(rounds: number): Promise<Row> {
  return inFolder(async (folder) => {
    const path = join(folder, 'journal.db');
    const journal = await openSqliteJournal({ path, clock, random });
    for (let n = 0; n < 100; n++) {
      // oxlint-disable-next-line no-await-in-loop -- in order
      await journal.append([
        { stream: 'run:bench', expected: n * 1000, events: Array.from({ length: 1000 }, () => event) },
      ]);
    }
    await journal.close();
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const opened = await openSqliteJournal({ path, clock, random });
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const count = fold(await opened.read('run:bench'), table, 0, (sum) => sum + 1);
      times.push(performance.now() - start);
      if (count !== 100_000) throw new Error(`folded ${count} events`);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await opened.close();
    }
    return { what: 'open, read and fold 100,000 events', unit: 'ms', aim: '< 1000 ms', ours: times, bare: [] };
  });
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
