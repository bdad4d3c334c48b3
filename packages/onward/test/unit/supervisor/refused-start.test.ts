import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { supervise, type SupervisedRun } from '../../../src/library/index.ts';

async function refused(): Promise<SupervisedRun> {
  const root = await mkdtemp(join(tmpdir(), 'onward-refused-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return supervise({
    command: ['claude', '-p', 'do the task'],
    cwd: join(root, 'no-such-folder'),
    stateDir: join(root, 'state'),
    env: { PATH: '/usr/bin:/bin', HOME: root },
  });
}

async function drain(run: SupervisedRun): Promise<void> {
  for await (const event of run) expect.unreachable(event.type);
}

test.each<readonly [string, (run: SupervisedRun) => Promise<unknown>]>([
  ['its result', (run) => run.result],
  ['its id', (run) => run.id],
  ['its events', drain],
])(
  'a run that cannot be accepted is told to a caller who only looks at %s, and to nobody else',
  async (_what, look) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    await expect(look(await refused())).rejects.toMatchObject({ code: 'run/cannot-start' });
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  },
);
