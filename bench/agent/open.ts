import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, type Model, openAgent, openJournal, tool } from 'onward/agent';
import { z } from 'zod';
import { type Row, sideBySide } from '../report.ts';
import { createInstant } from './instant.ts';

const wanted = 100_000;

/** Opens a session of 100,000 events, ready for a prompt; against reading a file of the same events, a JSON text on each line. */
export async function benchOpen(rounds: number): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  const path = join(folder, 'journal.db');
  await fill(path, join(folder, 'events.jsonl'));
  const figures = await sideBySide(
    rounds,
    () => openOnce(path),
    () => {
      const start = performance.now();
      const lines = readFileSync(join(folder, 'events.jsonl'), 'utf8').split('\n');
      if (lines.map((line) => JSON.parse(line) as unknown).length < wanted) throw new Error('too few lines');
      return performance.now() - start;
    },
  );
  rmSync(folder, { recursive: true });
  return [
    {
      what: 'open a session of 100,000 events (bare: parse them from a file)',
      unit: 'ms',
      aim: '< 1000 ms',
      ...figures,
    },
  ];
}

async function fill(path: string, copy: string): Promise<void> {
  const journal = await openJournal(path);
  const turns = 1000;
  const agent = await createAgent({ id: 'long', journal, ...options(createInstant(turns).model) });
  const stream = 'session:long';
  let after = 0;
  const lines: string[] = [];
  while (after < wanted) {
    // oxlint-disable-next-line no-await-in-loop -- one prompt after the other
    await agent.followup('Record all the items.').orThrow();
    // oxlint-disable-next-line no-await-in-loop -- as above
    const events = await journal.read(stream, after);
    after += events.length;
    lines.push(...events.map((event) => JSON.stringify(event)));
  }
  writeFileSync(copy, lines.join('\n'));
  await agent[Symbol.asyncDispose]();
  await journal.close();
}

async function openOnce(path: string): Promise<number> {
  const start = performance.now();
  const journal = await openJournal(path);
  const agent = await openAgent('long', { journal, ...options(createInstant(0).model) });
  const ms = performance.now() - start;
  if (agent.history().length < 1000) throw new Error('the history is not there');
  await agent[Symbol.asyncDispose]();
  await journal.close();
  return ms;
}

function options(model: Model): Pick<Parameters<typeof createAgent>[0], 'model' | 'tools'> {
  const input = z.object({ id: z.string() });
  const description = 'Records one item.';
  return {
    model,
    tools: [tool<{ id: string }>({ name: 'record', description, input, effect: 'none', run: ({ id }) => id })],
  };
}
