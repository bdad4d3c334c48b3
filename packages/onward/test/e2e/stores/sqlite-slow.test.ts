import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fold } from '../../../src/kernel/fold.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { journalContract } from '../../../src/testing/index.ts';
import { random, shiftedClock } from '../../fixtures/journal-clock.ts';
import { flippableJournal } from '../../fixtures/journal-flips.ts';
import { quickHarness, sqliteHarness } from '../../fixtures/sqlite-harness.ts';
import { tornLog } from '../../fixtures/torn-log.ts';

const fixture = (name: string): string => join(import.meta.dirname, '../../fixtures', name);

describe('a sqlite journal under load', () => {
  const races = journalContract.filter((one) => one.needs.includes('multiProcess'));
  it.for(races.map((one) => [one.name, one] as const))('with 4 processes of 250 appends: %s', async ([, one]) => {
    const harness = sqliteHarness({ processes: 4, appends: 250 });
    await expect(one.run(harness)).resolves.toBeUndefined();
    harness.remove();
  });

  it('reads and folds 100,000 events without holding the event loop', async () => {
    const harness = sqliteHarness();
    const journal = await harness.open();
    const events = Array.from({ length: 1000 }, () => ({
      type: 'thing.happened',
      v: 1,
      data: { text: 'x'.repeat(300) },
    }));
    for (let n = 0; n < 100; n++) await journal.append([{ stream: 'run:a', expected: n * 1000, events }]);
    let turns = 0;
    let counting = true;
    const turn = (): void => {
      turns += 1;
      if (counting) setImmediate(turn);
    };
    turn();
    const start = performance.now();
    const count = fold(await journal.read('run:a'), { 'thing.happened': { v: 1 } }, 0, (sum) => sum + 1);
    console.log(`read and folded ${count} events in ${Math.round(performance.now() - start)} ms`);
    counting = false;
    expect(count).toBe(100_000);
    expect(turns).toBeGreaterThan(90);
    await journal.close();
    harness.remove();
  });
});

describe('a torn write-ahead log', () => {
  it('R66 cut at every byte of its last frames opens without the last append and with all earlier ones', async () => {
    const torn = await tornLog(quickHarness());
    expect(torn.size - torn.before).toBeGreaterThanOrEqual(2 * 4120);
    const wrong: number[] = [];
    for (let cut = torn.before; cut < torn.size; cut++) {
      if ((await torn.eventsAfterCut(cut)) !== torn.earlier) wrong.push(cut);
    }
    expect(wrong).toEqual([]);
    expect(await torn.eventsAfterCut(torn.size)).toBe(torn.earlier + 1);
    torn.remove();
  });
});

describe('a journal file of which a byte was changed', () => {
  it('tells the truth or refuses, wherever the byte is', async () => {
    const harness = quickHarness();
    const journal = await flippableJournal(harness);
    const lies: string[] = [];
    const counts = { same: 0, refused: 0 };
    // A prime, so that all kinds of places are met; the whole file takes minutes.
    for (let offset = 0; offset < journal.size; offset += 31) {
      const outcome = await journal.flip(offset, offset % 2 === 0 ? 0x01 : 0xff);
      if (outcome === 'same' || outcome === 'refused') counts[outcome] += 1;
      else lies.push(`${offset}: ${outcome}`);
    }
    expect(lies).toEqual([]);
    expect(counts.refused).toBeGreaterThan(200);
    harness.remove();
  });
});

describe('what the disk is asked to do', () => {
  it('each commit is flushed once', (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'onward-strace-'));
    const trace = join(folder, 'trace');
    const counted = (count: number): { commits: number; flushes: number } => {
      const path = join(folder, `${count}.db`);
      const strace = ['-f', '-e', 'trace=fsync,fdatasync', '-o', trace, process.execPath];
      const commits = Number(execFileSync('strace', [...strace, fixture('journal-once.ts'), path, String(count)]));
      const flushes = execFileSync('grep', ['-cE', '(fsync|fdatasync)\\([0-9]+\\) += 0', trace]);
      return { commits, flushes: Number(flushes) };
    };
    try {
      execFileSync('strace', ['-o', trace, 'true']);
    } catch {
      context.skip('strace is missing or not permitted here');
    }
    const [few, many] = [counted(10), counted(60)];
    expect(many.commits - few.commits).toBe(50);
    // The difference is free of what opening costs.
    expect(many.flushes - few.flushes).toBe(50);
    rmSync(folder, { recursive: true });
  });

  it('a disk too small for a journal is said to be full, whichever of its files finds no room', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'onward-small-'));
    for (const size of ['4k', '16k', '28k', '64k']) {
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', folder], { stdio: 'ignore' });
      } catch {
        rmSync(folder, { recursive: true });
        context.skip('mounting a small file system is not permitted here');
      }
      try {
        const path = join(folder, 'state', 'journal.db');
        const opened = openSqliteJournal({ path, clock: shiftedClock(), random });
        await expect(opened, size).rejects.toMatchObject({ code: 'journal/disk-full' });
      } finally {
        execFileSync('umount', ['-l', folder]);
      }
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('a full disk is said to be full, and what was acknowledged is there when there is room again', async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'onward-full-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0700', 'tmpfs', folder], { stdio: 'ignore' });
    } catch {
      rmSync(folder, { recursive: true });
      context.skip('mounting a small file system is not permitted here');
    }
    try {
      const path = join(folder, 'journal.db');
      const journal = await openSqliteJournal({ path, clock: shiftedClock(), random });
      const events = [{ type: 'thing.happened', v: 1, data: 'x'.repeat(20_000) }];
      let expected = 0;
      const fill = async (): Promise<void> => {
        for (;;) {
          await journal.append([{ stream: 'run:a', expected, events }]);
          expected += 1;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'journal/disk-full', place: path });
      expect(expected).toBeGreaterThan(5);
      await expect(journal.read('run:a')).resolves.toHaveLength(expected);
      execFileSync('mount', ['-o', 'remount,size=8m', folder]);
      await expect(journal.append([{ stream: 'run:a', expected, events }])).resolves.toMatchObject({ ok: true });
      await journal.close();
    } finally {
      execFileSync('umount', ['-l', folder]);
      if (existsSync(folder)) rmSync(folder, { recursive: true });
    }
  });
});
