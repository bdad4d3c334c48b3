import { describe, expect, test } from 'vitest';
import { appendTask, failsThenWell, neverEnds, type Play } from '../../../src/lab/index.ts';
import type { FakeCli } from '../../../src/lab/index.ts';
import { type Onward, Place } from './support/place.ts';
import { until } from './support/until.ts';

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];

async function live(
  play: Play,
): Promise<{ readonly place: Place; readonly run: Onward; readonly id: string; readonly agent: FakeCli }> {
  const place = new Place();
  const agent = place.install(play);
  const run = place.start(['run', ...quick, '--', ...task]);
  const id = await run.id();
  await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
  return { place, run, id, agent };
}

describe('an interrupted run', () => {
  test.each([
    ['SIGINT', 130, 'interrupted by Ctrl-C (SIGINT)'],
    ['SIGTERM', 143, 'ended from outside (SIGTERM)'],
    ['SIGHUP', 143, 'the terminal was closed (SIGHUP)'],
  ] as const)(
    'by %s ends with %i, its agent gone, and resume goes on in the same conversation',
    async (signal, status, because) => {
      const { place, run, id, agent } = await live(neverEnds());
      run.signal(signal);
      const { code, stderr, stdout } = await run.ended;
      expect([code, stdout]).toEqual([status, '']);
      expect(stderr).toContain(
        `onward: ${signal}, ending the attempt and keeping a checkpoint; once more ends it at once\n`,
      );
      expect(
        stderr.endsWith(
          `onward: paused (interrupted): ${because}\n  go on:  onward resume ${id}\n  why:    onward why ${id}\n`,
        ),
        stderr,
      ).toBe(true);
      await place.quiet();
      const resumed = await place.onward(['resume']);
      expect([resumed.code, resumed.stdout]).toEqual([0, 'The line is in effects.log.\n']);
      const [first, second] = agent.invocations().filter(({ session }) => session !== undefined);
      expect(second?.session).toBe(first?.session);
      expect(second?.prompts[0]).not.toContain('Do it');
      expect(place.read('effects.log')).toBe('one\n');
    },
  );

  test('twice ends at once, although its agent is deaf', async () => {
    const { place, run, agent } = await live(neverEnds(['SIGINT', 'SIGTERM']));
    const before = performance.now();
    run.signal('SIGINT');
    await run.says('once more ends it at once');
    run.signal('SIGINT');
    const { code, stderr } = await run.ended;
    // Unhurried, the ladder of a deaf agent takes 15 s.
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(code, stderr).toBe(130);
    expect(stderr).toContain('onward: SIGINT, at once\n');
    await place.quiet();
    expect(agent.attempts()).toBe(1);
    expect(await place.json(['ls'])).toMatchObject([{ state: 'paused: interrupted', live: false }]);
  });

  test('while it waits for the next attempt ends at once, and resume makes that attempt', async () => {
    const place = new Place();
    place.install(failsThenWell('overloaded', 1, appendTask()));
    const run = place.start(['run', '--schedule', '10m', '--', ...task]);
    await run.says('next attempt in');
    run.signal('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect((await place.onward(['resume'])).code).toBe(0);
    expect(place.read('effects.log')).toBe('one\n');
  });

  test('by kill -9 while it waits has its wait before it still; --now cuts that short', async () => {
    const place = new Place();
    place.install(failsThenWell('overloaded', 1, appendTask()));
    const run = place.start(['run', '--schedule', '10m', '--', ...task]);
    const id = await run.id();
    await run.says('next attempt in');
    run.signal('SIGKILL');
    await run.ended;
    const waiting = place.start(['resume', id]);
    await waiting.says(/notice: attempt 2 begins at \d{4}-/);
    expect(waiting.stderr()).toContain(`without the wait: Ctrl-C, then onward resume ${id} --now\n`);
    waiting.signal('SIGKILL');
    await waiting.ended;
    const now = await place.onward(['resume', id, '--now']);
    expect([now.code, now.stdout], now.stderr).toEqual([0, 'The line is in effects.log.\n']);
  });

  test('by kill -9 leaves no agent behind, and resume goes on', async () => {
    const { place, run, id, agent } = await live(neverEnds());
    run.signal('SIGKILL');
    expect((await run.ended).signal).toBe('SIGKILL');
    await place.quiet();
    const { code, stderr, stdout } = await place.onward(['resume', id]);
    expect([code, stdout], stderr).toEqual([0, 'The line is in effects.log.\n']);
    expect(stderr).toContain('attempt 1 failed, crash (process=host-crashed)');
    expect(agent.attempts()).toBe(2);
  });
});
