import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/kernel/json.ts';
import { outcome, play, say } from './support.ts';

const done = say.text('All is done.');
const refused = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'make deploy' } };
const bash = { tool: 'Bash', summary: 'make deploy' };
const killed = { exit: { code: null, signal: 'SIGKILL' } } as const;
const crashed = { failure: { process: 'host-crashed', message: 'onward died' } } as const;

describe('denied calls', () => {
  test('are told also by an attempt that failed for another reason', () => {
    const failed = say.result({
      is_error: true,
      api_error_status: 529,
      result: 'API Error: 529 Overloaded',
      permission_denials: [refused],
    });
    const { ending } = play([say.init(), failed], { exit: { code: 1, signal: null } });
    expect(outcome(ending)).toBe('transient');
    expect(ending).toMatchObject({ ok: false, denied: [bash] });
    expect(ending).not.toHaveProperty('failure.denied');
  });

  test.each<readonly [string, { readonly [key: string]: Json }, string]>([
    ['cut off', { stop_reason: null }, 'transient'],
    ['stopped by a limit', { stop_reason: 'max_tokens' }, 'incomplete'],
    ['empty', { result: '' }, 'transient'],
  ])('never make an answer acceptable that is %s', (_what, fields, expected) => {
    const { ending } = play([say.init(), done, say.result({ permission_denials: [refused], ...fields })]);
    expect(outcome(ending)).toBe(expected);
    expect(ending).toMatchObject({ ok: false, denied: [bash] });
    expect(ending).not.toHaveProperty('text');
  });

  test.each<readonly [Json]>([['Bash'], [['Bash']], [[null]], [{ 0: refused }], [7]])(
    'are counted although the list of them is %j',
    (list) => {
      const { ending } = play([say.init(), done, say.result({ permission_denials: list })]);
      expect(outcome(ending)).toBe('policy');
    },
  );
});

describe('a result', () => {
  test.each<readonly [Json]>([['true'], [1], ['false'], [{}]])('is no success with is_error %j', (claim) => {
    expect(play([say.init(), done, say.result({ is_error: claim })]).ending.ok).toBe(false);
  });

  test.each([
    ['killed', killed],
    ['left when onward died', crashed],
    ['ended by itself', {}],
  ])('is no success while a subagent was still at work when the CLI was %s', (_what, process) => {
    const begun = {
      type: 'system',
      subtype: 'task_started',
      task_id: 't1',
      tool_use_id: 'c1',
      task_type: 'local_agent',
      description: 'Look',
      session_id: 's',
    };
    expect(outcome(play([say.init(), begun, done, say.result()], process).ending)).toBe('incomplete');
  });
});
