import { describe, expect, test } from 'vitest';
import { findWork } from '../../../src/cli/find-work.ts';
import { createAgent } from '../../../src/library/agent/index.ts';
import { createChatAgent } from '../../../src/library/chat/index.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import type { Model } from '../../../src/models/model.ts';
import { systemClock } from '../../../src/processes/index.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { makePlace } from '../library/chat/support.ts';

const model: Model = {
  id: 'test/none',
  async *stream() {
    yield { type: 'finish', reason: 'stop' };
  },
};

async function journalWith(...ids: readonly string[]): Promise<{ readonly journal: Journal; readonly work: string }> {
  const { work } = makePlace();
  const journal = createMemoryJournal({ clock: systemClock });
  for (const id of ids) {
    const agent = await createChatAgent({ model, cwd: work, journal, id, env: {} });
    await agent[Symbol.asyncDispose]();
  }
  const other = await createAgent({ model, journal, id: 'of-a-program' });
  await other[Symbol.asyncDispose]();
  return { journal, work };
}

describe('an id', () => {
  test('finds a session by all of it, by its beginning, or as the newest of the directory', async () => {
    const { journal, work } = await journalWith('aaaa00000001', 'aaab00000002');
    expect(await findWork(journal, 'aaaa00000001', '/')).toEqual({ kind: 'session', id: 'aaaa00000001' });
    expect(await findWork(journal, 'aaab', '/')).toEqual({ kind: 'session', id: 'aaab00000002' });
    expect(await findWork(journal, 'session:of-a-program', '/')).toEqual({ kind: 'session', id: 'of-a-program' });
    expect(await findWork(journal, undefined, work)).toEqual({ kind: 'session', id: 'aaab00000002' });
  });

  test('that fits more than one, or nothing, is refused with what to type', async () => {
    const { journal } = await journalWith('aaaa00000001', 'aaaa00000002');
    await expect(findWork(journal, 'aaaa', '/')).rejects.toMatchObject({
      code: 'run/ambiguous',
      next: ['onward show aaaa00000002', 'onward show aaaa00000001'],
    });
    await expect(findWork(journal, 'aaa', '/')).rejects.toMatchObject({ code: 'run/unknown' });
    await expect(findWork(journal, undefined, '/elsewhere')).rejects.toMatchObject({ code: 'run/none-here' });
  });
});
