import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteHarness, type SqliteHarness } from '../../fixtures/sqlite-harness.ts';

const victim = join(import.meta.dirname, '../../fixtures/journal-victim.ts');

/** Starts a process that appends, kills it with -9 after so many acknowledgements, and returns the last one per stream. */
async function runAndKill(
  path: string,
  writers: number,
  batch: number,
  acknowledgements: number,
): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [victim, path, String(writers), String(batch)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    text += chunk;
    if (text.split('\n').length > acknowledgements) child.kill('SIGKILL');
  });
  const signal = await new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('close', (_code: number | null, by: NodeJS.Signals | null) => resolve(by)),
  );
  expect(signal).toBe('SIGKILL');
  const last = new Map<string, number>();
  // Only whole lines: the last may have been cut by the kill.
  for (const line of text.slice(0, text.lastIndexOf('\n')).split('\n')) {
    const [writer = '', position = ''] = line.split(' ');
    last.set(`run:${writer}`, Number(position));
  }
  return last;
}

async function expectAll(
  harness: SqliteHarness,
  acknowledged: ReadonlyMap<string, number>,
  batch: number,
): Promise<void> {
  const journal = await harness.open();
  for (const [stream, position] of acknowledged) {
    const events = await journal.read(stream);
    expect(events.length).toBeGreaterThanOrEqual(position);
    // At most the one append that was not acknowledged any more, and all of it.
    expect(events.length - position).toBeLessThanOrEqual(batch);
    expect(events.length % batch).toBe(0);
    expect(events.map((event) => event.position)).toEqual(events.map((_, index) => index + 1));
    expect(events.map((event) => (event.data as { n: number }).n)).toEqual(events.map((_, index) => index + 1));
  }
  await journal.close();
}

describe('kill -9 of a process that appends', () => {
  it.each([
    { writers: 1, batch: 1 },
    { writers: 8, batch: 3 },
    { writers: 2, batch: 40 },
  ])(
    'R67 R70 loses nothing acknowledged, 10 times over: $writers writers, $batch events each',
    async ({ writers, batch }) => {
      const harness = sqliteHarness();
      for (let round = 0; round < 10; round++) {
        const acknowledged = await runAndKill(harness.path, writers, batch, 10 + round * 23);
        expect(acknowledged.size).toBeGreaterThan(0);
        await expectAll(harness, acknowledged, batch);
      }
      harness.remove();
    },
  );

  it('does not stop another process that appends at the same time', async () => {
    const harness = sqliteHarness();
    const journal = await harness.open();
    const killing = runAndKill(harness.path, 4, 1, 200);
    let expected = 0;
    const killed = new AbortController();
    void killing.finally(() => killed.abort());
    while (!killed.signal.aborted) {
      const events = [{ type: 'thing.happened', v: 1, data: { n: ++expected } }];
      const appended = await journal.append([{ stream: 'run:me', expected: expected - 1, events }]);
      expect(appended.ok).toBe(true);
    }
    await expectAll(harness, new Map([...(await killing), ['run:me', expected]]), 1);
    await journal.close();
    harness.remove();
  });
});
