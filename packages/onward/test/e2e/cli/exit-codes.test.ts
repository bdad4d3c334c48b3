import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  authFailure,
  deniedTools,
  failsForEver,
  healthy,
  neverEnds,
  overloadedThenWell,
  type Play,
  usageLimit,
} from '../../../src/lab/index.ts';
import { Place } from './support/place.ts';
import { until } from './support/until.ts';

/** The table in the README: what each status means. */
const readme = readFileSync(resolve(import.meta.dirname, '../../../../../README.md'), 'utf8');
const documented = new Map(
  [...readme.matchAll(/^\| (\d+) +\| ([^|]+?) +\|$/gm)].map(([, code, meaning]) => [Number(code), meaning ?? '']),
);

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];

/** The server asks for a wait of twenty minutes. */
const longHint: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'retry', attempt: 1, of: 3, with: 'throttled', delayMs: 1_200_000 },
        { do: 'fail', with: 'throttled' },
      ],
    },
  ],
};

interface Situation {
  readonly play: Play;
  readonly flags?: readonly string[];
  readonly says: string;
  /** The end can be gone on from, and the last lines say how. */
  readonly resumable: boolean;
}

const situations: readonly (readonly [number, string, Situation])[] = [
  [0, 'the task is done', { play: healthy(), says: 'finished with evidence', resumable: false }],
  [0, 'an overload passes', { play: overloadedThenWell(2), says: 'finished with evidence', resumable: false }],
  [1, 'the input is refused', { play: failsForEver('bad-request'), says: 'onward: failed:', resumable: false }],
  [3, 'tools are denied', { play: deniedTools(), says: 'onward: paused (needs-human):', resumable: true }],
  [3, 'the login is refused', { play: authFailure(), says: 'a login does not come back by itself', resumable: true }],
  [3, 'the credit is gone', { play: failsForEver('billing'), says: 'credit does not come back', resumable: true }],
  [
    4,
    'the provider fails and fails',
    { play: failsForEver(), says: '3 failures in a row without progress', resumable: true },
  ],
  [4, 'a usage limit is met', { play: usageLimit(4_000_000_000), says: 'not before 2096-', resumable: true }],
  [
    5,
    'all attempts are used',
    { play: failsForEver(), flags: ['--max-attempts', '2'], says: 'all 2 attempts are used', resumable: true },
  ],
  [
    5,
    'all the time is used',
    { play: neverEnds(), flags: ['--max-time', '1500ms'], says: 'paused (limit):', resumable: true },
  ],
  [75, 'the server asks for a long wait', { play: longHint, says: 'parked until', resumable: true }],
];

describe('the exit status', () => {
  test('of every kind of end is in the table of the README', () => {
    for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 75, 130, 143]) expect(documented.get(code), String(code)).toBeTruthy();
  });

  test.each(situations)('R110 is %i when %s', async (status, _what, { play, flags = [], says, resumable }) => {
    const place = new Place();
    place.install(play);
    const { code, stderr, stdout } = await place.onward(['run', ...quick, ...flags, '--', ...task]);
    expect(stderr).toContain(says);
    expect(code, stderr).toBe(status);
    expect(documented.has(status)).toBe(true);
    expect(stdout === '').toBe(status !== 0);
    expect(/(?:go on: {2}|then: {3})onward resume [0-9a-f]{12}\n/.test(stderr), stderr).toBe(resumable);
    await place.quiet();
    expect((await place.json(['ls']))[0]).toMatchObject({ live: false });
  });

  test('is 2 when there is nothing that can be run', async () => {
    expect((await new Place().onward(['run', '--', 'no-such-agent', 'x'])).code).toBe(2);
  });

  test('is 7 when a live process holds the run, 130 and 143 when it is interrupted', async () => {
    const place = new Place();
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const agent = place.install(neverEnds());
      const live = place.start(['run', '--', ...task]);
      const id = await live.id();
      await until('the agent works', () => agent.invocations().some(({ requests }) => requests > 0));
      const second = await place.onward(['resume', id]);
      expect(second.stderr).toMatch(/A live process \(pid \d+\) is keeping this run going\. \[run\/held/);
      expect(second.code).toBe(7);
      live.signal(signal);
      expect((await live.ended).code).toBe(status);
    }
  });

  test('is 75 for a run whose time has not come, and --now goes on all the same', async () => {
    const place = new Place();
    place.install(usageLimit(4_000_000_000));
    expect((await place.onward(['run', '--', ...task])).code).toBe(4);
    const early = await place.onward(['resume']);
    expect(early.code).toBe(75);
    expect(early.stderr).toContain('not before 2096-');
    expect(early.stderr).toMatch(/now: {3}onward resume [0-9a-f]{12} --now/);
    const now = await place.onward(['resume', '--now']);
    expect(now.stdout).toBe('The line is in effects.log.\n');
    expect(now.code).toBe(0);
    expect(place.read('effects.log')).toBe('one\n');
  });
});
