import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Journal } from '../../../src/kernel/journal.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { assertDurable } from '../../../src/stores/sqlite/open-database.ts';
import { random } from '../../fixtures/journal-clock.ts';
import { sqliteHarness, type SqliteHarness, withRawDatabase } from '../../fixtures/sqlite-harness.ts';

const one = { stream: 'run:a', expected: 'any' as const, events: [{ type: 'thing.happened', v: 1, data: 1 }] };

let harness: SqliteHarness;
beforeEach(() => {
  harness = sqliteHarness();
});
afterEach(() => {
  harness.remove();
});

function mode(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

async function withOpen(use: (journal: Journal) => Promise<void>): Promise<void> {
  const journal = await harness.open();
  try {
    await use(journal);
  } finally {
    await journal.close();
  }
}

/** Root may write whatever its mode: then the files are given to nobody, who tries. */
async function asAnybody<T>(folder: string, attempt: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return attempt();
  execFileSync('chown', ['-R', '65534', folder]);
  process.seteuid?.(65534);
  try {
    return await attempt();
  } finally {
    process.seteuid?.(0);
  }
}

async function refusal(path: string = harness.path): Promise<unknown> {
  return openSqliteJournal(harness.options({ path })).then(
    () => 'opened',
    (error: unknown) => error,
  );
}

describe('the file of a sqlite journal', () => {
  it.each([0o000, 0o022, 0o077])('is ours only, with its folders and companions, under umask %o', async (umask) => {
    const before = process.umask(umask);
    try {
      await withOpen(async (journal) => {
        await journal.append([one]);
        expect(mode(dirname(harness.path))).toBe('700');
        for (const file of ['', '-wal', '-shm']) expect(mode(`${harness.path}${file}`)).toBe('600');
      });
    } finally {
      process.umask(before);
    }
  });

  it('is closed to others when it was open to them', async () => {
    await withOpen(async () => undefined);
    chmodSync(harness.path, 0o644);
    await withOpen(async (journal) => {
      await journal.append([one]);
      for (const file of ['', '-wal', '-shm']) expect(mode(`${harness.path}${file}`)).toBe('600');
    });
  });

  it('holds nothing of this process but what it was given', async () => {
    process.env['ONWARD_CANARY'] = 'canary-7d1f0c';
    await withOpen(async (journal) => {
      await journal.append([one]);
      await journal.claim('run:b', { id: 'h', host: 'x', pid: 1, startedAt: 's' }, 1000);
      // A copy of another process: opening the file here would drop SQLite's locks.
      const bytes = ['', '-wal', '-shm'].map((file) => execFileSync('cat', [`${harness.path}${file}`]));
      const written = Buffer.concat(bytes).toString('latin1');
      expect(written).toContain('thing.happened');
      for (const word of ['canary-7d1f0c', harness.folder, process.execPath, process.cwd()]) {
        expect(written).not.toContain(word);
      }
    });
    delete process.env['ONWARD_CANARY'];
  });

  it('keeps nothing of an erased stream in any byte', async () => {
    await withOpen(async (journal) => {
      const text = `canary-${'x'.repeat(9000)}-canary`;
      await journal.append([{ ...one, events: [{ type: 'secret.told', v: 1, data: text, id: 'canary-id' }] }]);
      await journal.putBlob('run:a', Buffer.from('canary-blob'));
      await journal.append([{ ...one, stream: 'run:b' }]);
      await journal.erase('run:a');
      const bytes = ['', '-wal'].map((file) => execFileSync('cat', [`${harness.path}${file}`]));
      const left = Buffer.concat(bytes).toString('latin1');
      expect(left).toContain('thing.happened');
      for (const word of ['canary', 'secret.told', 'xxxx']) expect(left).not.toContain(word);
    });
  });

  it('may be named by a path that is relative to where the process was', async () => {
    const before = process.cwd();
    process.chdir(harness.folder);
    const journal = await openSqliteJournal(harness.options({ path: 'here/journal.db' }));
    process.chdir(before);
    await expect(journal.append([one])).resolves.toMatchObject({ ok: true });
    await journal.close();
  });

  it('may be reached by a link', async () => {
    mkdirSync(dirname(harness.path), { recursive: true });
    const target = join(harness.folder, 'target.db');
    writeFileSync(target, '', { mode: 0o600 });
    symlinkSync(target, harness.path);
    await withOpen(async (journal) => {
      await journal.append([one]);
      await expect(journal.read('run:a')).resolves.toHaveLength(1);
    });
    expect(statSync(target).size).toBeGreaterThan(0);
  });
});

describe('what a connection must promise', () => {
  it('is refused when it would not survive a crash', () => {
    const db = new DatabaseSync(':memory:');
    expect(() => assertDurable(db, 'here')).toThrow(
      expect.objectContaining({
        code: 'journal/durability',
        message: expect.stringContaining('journal_mode is memory'),
      }),
    );
    db.close();
  });
});

describe('opening what is no journal', () => {
  it('refuses a folder', async () => {
    expect(await refusal(harness.folder)).toMatchObject({ code: 'journal/not-a-database', place: harness.folder });
  });

  it('refuses a file that is no database, and leaves it as it is', async () => {
    const path = join(harness.folder, 'notes.txt');
    writeFileSync(path, 'not a database, but long enough to look at: '.repeat(100), { mode: 0o644 });
    const before = readFileSync(path);
    expect(await refusal(path)).toMatchObject({ code: 'journal/not-a-database', place: path });
    expect(readFileSync(path)).toEqual(before);
    expect(mode(path)).toBe('644');
  });

  it.each([0, 7])("refuses another program's database (application id %i), and leaves it as it is", async (id) => {
    const path = join(harness.folder, 'other.db');
    withRawDatabase(path, (db) =>
      db.exec(`create table theirs (x); insert into theirs values (1); pragma application_id = ${id}`),
    );
    chmodSync(path, 0o644);
    const before = readFileSync(path);
    expect(await refusal(path)).toMatchObject({ code: 'journal/foreign', place: path });
    expect(readFileSync(path)).toEqual(before);
    expect(mode(path)).toBe('644');
  });

  it('refuses the journal of a newer onward, and leaves it as it is', async () => {
    await withOpen(async (journal) => void (await journal.append([one])));
    withRawDatabase(harness.path, (db) => db.exec('pragma user_version = 99'));
    const before = readFileSync(harness.path);
    expect(await refusal()).toMatchObject({ code: 'journal/newer-schema', place: harness.path });
    expect(readFileSync(harness.path)).toEqual(before);
  });

  it('takes an empty file, and one whose making was interrupted', async () => {
    mkdirSync(dirname(harness.path));
    writeFileSync(harness.path, '');
    await withOpen(async (journal) => void (await journal.append([one])));
    const half = join(harness.folder, 'half.db');
    withRawDatabase(half, (db) => db.exec('pragma journal_mode = wal'));
    expect(await refusal(half)).toBe('opened');
  });

  it('takes a backup made by the tools of SQLite', async () => {
    await withOpen(async (journal) => {
      await journal.append([one]);
      withRawDatabase(harness.path, (db) => db.exec(`vacuum into '${join(harness.folder, 'backup.db')}'`));
    });
    withRawDatabase(harness.path, (db) => db.exec('pragma journal_mode = delete'));
    for (const path of [harness.path, join(harness.folder, 'backup.db')]) {
      const journal = await openSqliteJournal(harness.options({ path }));
      await expect(journal.append([one])).resolves.toMatchObject({ ok: true, positions: { 'run:a': 2 } });
      await journal.close();
    }
  });

  it('refuses a place where no folder can be made', async () => {
    const file = join(harness.folder, 'file');
    writeFileSync(file, '');
    const path = join(file, 'sub', 'journal.db');
    expect(await refusal(path)).toMatchObject({ code: 'journal/no-folder', place: path });
  });

  it('says that a file cannot be written', async () => {
    await withOpen(async () => undefined);
    chmodSync(harness.path, 0o400);
    const attempt = (): Promise<void> => withOpen(async (journal) => void (await journal.append([one])));
    await expect(asAnybody(harness.folder, attempt)).rejects.toMatchObject({
      code: 'journal/read-only',
      place: harness.path,
    });
  });

  it('every refusal names what to do next', async () => {
    const errors = [await refusal(harness.folder), await refusal('/dev/null/journal.db')];
    for (const error of errors) expect((error as { next: string[] }).next.length).toBeGreaterThan(0);
  });
});

describe('a lock held by another program', () => {
  it('is waited for, and named when it does not become free', async () => {
    await withOpen(async () => undefined);
    let slept = 0;
    const clock = {
      now: () => 0,
      monotonic: () => slept,
      sleep: async (ms: number) => {
        expect(ms).toBeGreaterThanOrEqual(1);
        expect(ms).toBeLessThanOrEqual(5);
        slept += ms;
      },
    };
    const journal = await openSqliteJournal({ path: harness.path, clock, random, lockTimeoutMs: 100 });
    const other = new DatabaseSync(harness.path);
    other.exec('begin immediate');
    const appends = [journal.append([one]), journal.append([one])];
    for (const result of await Promise.allSettled(appends)) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'journal/locked', place: harness.path } });
    }
    expect(slept).toBeGreaterThanOrEqual(100);
    expect(slept).toBeLessThan(110);
    await expect(journal.read('run:a')).resolves.toEqual([]);
    other.exec('commit');
    await expect(journal.append([one])).resolves.toMatchObject({ ok: true });
    other.close();
    await journal.close();
  });

  it('is passed on without blocking the event loop', async () => {
    await withOpen(async (journal) => {
      const other = new DatabaseSync(harness.path);
      other.exec('begin immediate');
      const append = journal.append([one]);
      // Only a free event loop gets here.
      await new Promise((resolve) => setImmediate(resolve));
      other.exec('commit');
      other.close();
      await expect(append).resolves.toMatchObject({ ok: true });
    });
  });
});

describe('a file that goes away while it is open', () => {
  const losses: readonly (readonly [name: string, lose: (path: string) => void])[] = [
    ['removed', (path) => rmSync(path)],
    ['moved', (path) => renameSync(path, `${path}.old`)],
    ['replaced by a copy', (path) => execFileSync('sh', ['-c', 'cp "$0" "$0.x" && mv "$0.x" "$0"', path])],
    ['gone with its folder', (path) => rmSync(dirname(path), { recursive: true })],
    ['in a folder that was moved', (path) => renameSync(dirname(path), `${dirname(path)}.old`)],
    ['without its log', (path) => rmSync(`${path}-wal`)],
    ['without its shared memory', (path) => rmSync(`${path}-shm`)],
  ];
  it.each(losses)('fails the next append loudly: %s', async (_name, lose) => {
    await withOpen(async (journal) => {
      await journal.append([one]);
      lose(harness.path);
      await expect(journal.append([one])).rejects.toMatchObject({ code: 'journal/vanished', place: harness.path });
      await expect(journal.read('run:a')).rejects.toMatchObject({ code: 'journal/vanished' });
      await expect(journal.claim('run:b', { id: 'h', host: 'x', pid: 1, startedAt: 's' }, 1000)).rejects.toMatchObject({
        code: 'journal/vanished',
      });
    });
  });

  it('does not harm the journal that was put in its place', async () => {
    const lost = await harness.open();
    await lost.append([one]);
    rmSync(dirname(harness.path), { recursive: true });
    const fresh = await harness.open();
    await fresh.append([{ ...one, stream: 'run:new' }]);
    await expect(lost.append([one])).rejects.toMatchObject({ code: 'journal/vanished' });
    await lost.close();
    await fresh.append([{ ...one, stream: 'run:new' }]);
    await fresh.close();
    await withOpen(async (journal) => {
      await expect(journal.streams('')).resolves.toEqual(['run:new']);
      await expect(journal.read('run:new')).resolves.toHaveLength(2);
    });
  });
});

describe('a newer onward beside an older one', () => {
  it('stops the older one, which has the file open, from writing and reading', async () => {
    await withOpen(async (journal) => {
      await journal.append([one]);
      const newer = new DatabaseSync(harness.path);
      newer.exec('pragma user_version = 2');
      newer.close();
      await expect(journal.append([one])).rejects.toMatchObject({ code: 'journal/newer-schema' });
      await expect(journal.read('run:a')).rejects.toMatchObject({ code: 'journal/newer-schema' });
    });
  });
});

describe('two processes that make the file at once', () => {
  it('both get the same journal', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'onward-make-'));
    const path = join(folder, 'a', 'journal.db');
    const journals = await Promise.all([1, 2, 3, 4].map(() => openSqliteJournal(harness.options({ path }))));
    await Promise.all(journals.map((journal) => journal.append([one])));
    await expect(journals[0]?.read('run:a')).resolves.toHaveLength(4);
    await Promise.all(journals.map((journal) => journal.close()));
    rmSync(folder, { recursive: true });
  });
});
