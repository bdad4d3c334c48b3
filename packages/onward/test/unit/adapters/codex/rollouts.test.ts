import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import { type FailureClass, resetsAtOf, retryAfterOf } from '../../../../src/kernel/failure.ts';
import { play } from './attempt.ts';

const root = join(import.meta.dirname, '../../../transcripts/codex-rollouts');

interface Recorded {
  readonly injected: string;
  readonly mode: 'create' | 'resume';
  readonly exit: number;
  readonly sessionId?: string;
}

/** What was injected, and the class that follows from it. A comment where that is not plain. */
const expected: Readonly<Record<string, FailureClass | 'ok'>> = {
  '400 with a JSON error body': 'input',
  '401': 'auth',
  '402': 'billing',
  '403': 'auth',
  '404 model_not_found': 'input',
  '413': 'overflow',
  '429 without Retry-After': 'throttled',
  '429 usage_limit_reached, headers: primary window 100 %, reset in an hour': 'quota',
  '429 usage_limit_reached, headers: primary 30 %, secondary window 100 %, reset in 26 hours': 'quota',
  '429 usage_limit_reached with resets_at in the body only': 'quota',
  '429 insufficient_quota': 'billing',
  '429 usage_not_included': 'billing',
  '500': 'transient',
  '503 server_is_overloaded': 'transient',
  '503 fail to touch upstream': 'transient',
  '529': 'transient',
  'reset before headers': 'transient',
  'reset inside the text': 'transient',
  'clean end before response.completed': 'transient',
  'response.incomplete, max_output_tokens': 'incomplete',
  'response.incomplete, content_filter': 'policy',
  'response.failed context_length_exceeded': 'overflow',
  'response.failed rate_limit_exceeded, try again in 3s': 'throttled',
  'response.failed insufficient_quota': 'billing',
  'response.failed server_is_overloaded': 'transient',
  // The provider refused the content of the prompt; the same words would be refused again.
  'response.failed invalid_prompt': 'policy',
  'response.failed cyber_policy': 'policy',
  'response.failed server_error': 'transient',
  // The provider sent nothing: as an interrupted answer, and asking again is all there is to do.
  'an answer without content': 'transient',
  nothing: 'ok',
  'a write in the read-only default mode': 'policy',
  'a write outside the workspace, then one inside': 'policy',
  'apply_patch in the read-only default mode': 'policy',
  'a command that asks to leave the sandbox': 'policy',
  // In the end the very command ran.
  'a command that asks to leave the sandbox, then the same command without asking': 'ok',
  'a command that a rules file forbids': 'policy',
  'a sandbox that cannot start': 'policy',
  'a socket in a sandbox without network': 'policy',
  'commands that fail by themselves, one printing the word sandbox, one a rate limit': 'ok',
  'a denied write, then 529; the resume only says that it is done': 'policy',
  'a denied write, then 529; the resume may write and does': 'ok',
  // The first turn was reported when it ended.
  'a denied write in a turn that ended; the next turn is another one': 'ok',
  '529, then a healthy resume': 'ok',
  '529, then a resume whose answer ends cleanly before response.completed': 'transient',
};

const cells = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

function read(cell: string, file: string): string {
  return readFileSync(join(root, cell, file), 'utf8');
}

function judge(cell: string, session = read(cell, 'rollout.jsonl')): ReturnType<typeof play> {
  const recorded = JSON.parse(read(cell, 'result.json')) as Recorded;
  const lines = read(cell, 'stdout.jsonl').trimEnd().split('\n');
  return play(lines, {
    exit: { code: recorded.exit, signal: null },
    stderr: read(cell, 'stderr.txt'),
    session,
    mode: recorded.mode,
    ...(recorded.sessionId === undefined ? {} : { sessionId: recorded.sessionId }),
  });
}

describe('a recorded run with its session file is classified by what was injected', () => {
  test.each(cells)('%s', (cell) => {
    const recorded = JSON.parse(read(cell, 'result.json')) as Recorded;
    const { ending } = judge(cell);
    expect(ending.ok ? 'ok' : classify(ending.failure).class).toBe(expected[recorded.injected]);
  });

  test('each kind of fault was recorded', () => {
    const injected = cells.map((cell) => (JSON.parse(read(cell, 'result.json')) as Recorded).injected);
    expect(Object.keys(expected).filter((fault) => !injected.includes(fault))).toEqual([]);
  });
});

describe('the session file speaks before the sentence', () => {
  const typed = {
    e500: 'kernel/1:server-error-type',
    e503: 'kernel/1:overloaded',
    e529: 'kernel/1:retry-status',
    e401: 'kernel/1:auth-status',
    fctx: 'kernel/1:overflow-type',
    frate: 'kernel/1:throttle-type',
    usage: 'kernel/1:usage-limit-type',
    quota: 'kernel/1:billing-type',
  };
  test.each(Object.entries(typed))('%s by %s', (cell, rule) => {
    const { ending } = judge(cell);
    expect(ending.ok || classify(ending.failure).rule).toBe(rule);
  });

  test.each(['e500', 'e503', 'e529', 'e401', 'fctx', 'frate', 'quota', 'usage', 'e404', 'inccf', 'incmax'])(
    'without the file the sentence of %s gives the same class',
    (cell) => {
      const withFile = judge(cell).ending;
      const without = judge(cell, '').ending;
      if (withFile.ok || without.ok) throw new Error('expected failures');
      expect(classify(without.failure).class).toBe(classify(withFile.failure).class);
    },
  );

  test('a usage limit has its end as epoch, that of the window which is used up', () => {
    const { ending } = judge('usage');
    const both = judge('usage2').ending;
    if (ending.ok || both.ok) throw new Error('expected failures');
    expect(resetsAtOf(ending.failure)).toBe(resetsIn('usage', 'primary'));
    expect(resetsAtOf(both.failure)).toBe(resetsIn('usage2', 'secondary'));
  });

  test('credit that is gone has no end', () => {
    const { ending } = judge('quota');
    expect(ending.ok ? 0 : resetsAtOf(ending.failure)).toBeUndefined();
  });

  test('the hint of a rate limit is kept', () => {
    const { ending } = judge('frate');
    expect(ending.ok ? 0 : retryAfterOf(ending.failure)).toBe(3_000);
  });

  test('a tail whose first line is cut is read all the same', () => {
    const { ending } = judge('e503', read('e503', 'rollout.jsonl').slice(40));
    expect(ending.ok || classify(ending.failure).rule).toBe('kernel/1:overloaded');
  });

  test('what an earlier turn of the conversation met is not taken for this one', () => {
    const { ending } = judge('e529-then-cut');
    expect(ending.ok || ending.failure.status).toBeUndefined();
    const stale = read('e529-then-cut', 'rollout.jsonl')
      .split('\n')
      .filter((text) => text.includes('529'));
    const { ending: other } = judge('e529-then-cut', stale.join('\n'));
    expect(other.ok || other.failure.status).toBeUndefined();
  });
});

describe('calls that codex did not let through', () => {
  const calls = {
    'denied-write': ['exec_command', 'echo hello >> effects.log && echo EFFECT_OK_1'],
    'denied-outside': ['exec_command', 'touch /etc/outside'],
    'denied-rule': ['exec_command', 'git push origin main'],
    'denied-escalation': ['exec_command', 'touch y'],
  };
  test.each(Object.entries(calls))('%s is named though standard output does not show it', (cell, [tool, summary]) => {
    expect(read(cell, 'stdout.jsonl')).not.toContain(summary);
    const { ending } = judge(cell);
    expect(ending.ok || ending.failure.denied).toEqual([{ tool, summary }]);
  });
});

function resetsIn(cell: string, window: 'primary' | 'secondary'): number {
  const found = new RegExp(`"${window}":\\{[^}]*"resets_at":(\\d+)`).exec(read(cell, 'rollout.jsonl'));
  return Number(found?.[1]) * 1_000;
}
