import { describe, expect, test } from 'vitest';
import { findRun, listRuns, loadRun, runIds } from '../../../src/cli/find-run.ts';
import { isOnwardError, OnwardError } from '../../../src/kernel/error.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { runStream } from '../../../src/supervisor/index.ts';
import { createFakeClock } from '../../../src/testing/index.ts';

interface Known {
  readonly id: string;
  readonly name?: string;
  readonly cwd?: string;
  /** Version of the event; 99 is from a future Onward. */
  readonly v?: number;
}

async function journalWith(runs: readonly Known[]): Promise<Journal> {
  const journal = createMemoryJournal({ clock: createFakeClock() });
  for (const { id, name, cwd = '/work', v = 1 } of runs) {
    const data = { cwd, agent: 'claude', ...(name === undefined ? {} : { name }) } as Json;
    await journal.append([{ stream: runStream(id), expected: 0, events: [{ type: 'run.accepted', v, data }] }]);
  }
  return journal;
}

/** The id that is found, or the error. */
async function find(runs: readonly Known[], wanted: string | undefined, cwd = '/work'): Promise<string | OnwardError> {
  return findRun(await journalWith(runs), wanted, cwd).catch((error: unknown) => {
    if (isOnwardError(error)) return error;
    throw error;
  });
}

const three: readonly Known[] = [
  { id: '4cc29212ee22', name: 'nightly' },
  { id: '4cc2b639b9a7', name: 'nightly' },
  { id: 'b639b9a75e15', cwd: '/elsewhere', name: 'once' },
];

describe('the run that somebody means', () => {
  test.each([
    ['nothing said: the newest of this directory', undefined, '4cc2b639b9a7'],
    ['a whole id', '4cc29212ee22', '4cc29212ee22'],
    ['a whole id with its stream in front', 'run:4cc29212ee22', '4cc29212ee22'],
    ['a beginning of four characters', 'b639', 'b639b9a75e15'],
    ['a longer beginning', '4cc292', '4cc29212ee22'],
    ['a name: the newest that has it', 'nightly', '4cc2b639b9a7'],
    ['a name from another directory', 'once', 'b639b9a75e15'],
  ])('%s', async (_what, wanted, id) => {
    expect(await find(three, wanted)).toBe(id);
  });

  test.each([
    ['too short a beginning', 'b63', 'run/unknown'],
    ['an unknown id', 'ffffffffffff', 'run/unknown'],
    ['an empty word', '', 'run/unknown'],
    ['a beginning of two runs', '4cc2', 'run/ambiguous'],
  ])('%s is refused with what to do next', async (_what, wanted, code) => {
    const error = await find(three, wanted);
    expect(error).toMatchObject({ code });
    expect((error as OnwardError).next.length).toBeGreaterThan(0);
  });

  test('an ambiguous beginning lists what it could mean', async () => {
    expect(await find(three, '4cc2')).toMatchObject({ next: ['onward show 4cc2b639b9a7', 'onward show 4cc29212ee22'] });
  });

  test('nothing said in a directory without runs', async () => {
    expect(await find(three, undefined, '/new')).toMatchObject({ code: 'run/none-here', place: '/new' });
    expect(await find([], undefined)).toMatchObject({ code: 'run/none-here' });
  });

  test('a run of a newer version stays out of the way of the others', async () => {
    const journal = await journalWith([...three, { id: 'ffff00000000', cwd: '/new', v: 99 }]);
    expect(await findRun(journal, 'nightly', '/work')).toBe('4cc2b639b9a7');
    await expect(loadRun(journal, 'ffff00000000')).rejects.toThrow(OnwardError);
  });
});

describe('the list of runs', () => {
  test('is newest first, and names a run that cannot be read instead of failing', async () => {
    const journal = await journalWith([three[0] as Known, { id: 'ffff00000000', v: 99 }, three[2] as Known]);
    const seen: string[] = [];
    for await (const listed of listRuns(journal))
      seen.push(listed.ok ? listed.run.id : `${listed.id} ${listed.error.code}`);
    expect(seen).toEqual(['b639b9a75e15', expect.stringMatching(/^ffff00000000 journal\//), '4cc29212ee22']);
    expect(await runIds(journal)).toHaveLength(3);
  });
});
