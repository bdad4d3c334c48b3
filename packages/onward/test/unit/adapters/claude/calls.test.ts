import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/kernel/json.ts';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';
import { of, play, recorded, say } from './support.ts';

const before = (id: string, input: { readonly [key: string]: Json } = {}): Json => ({
  type: 'control_request',
  request_id: `ask-${id}`,
  request: {
    subtype: 'hook_callback',
    callback_id: 'onward-before',
    input: {
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: id,
      ...input,
    },
  },
});

describe('a call that Onward refuses', () => {
  test('is answered with a denial, the reason for the model, and whose it is', () => {
    const reader = claudeAdapter.reader();
    reader.line(JSON.stringify(before('c1')));
    expect(JSON.parse(reader.refuse?.('c1', 'It ran already.') ?? '')).toEqual({
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: 'ask-c1',
        response: {
          hookSpecificOutput: {
            hookEventName: 'PreToolUse',
            permissionDecision: 'deny',
            permissionDecisionReason: 'It ran already.\n(Refused by Onward, not by permission rules.)',
          },
        },
      },
    });
  });

  test('is not held against the permissions of the user, also when the output is read anew', () => {
    const lines = recorded('call-refused');
    expect(lines.join('\n')).toMatch(/"permission_denials":\[\{"tool_name":"Bash"/u);
    expect(play(lines).ending).toEqual({ ok: true, text: 'All steps are done: one.' });
    const denial = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
    const reader = claudeAdapter.reader();
    reader.line(JSON.stringify(before('c1')));
    reader.refuse?.('c1', 'It ran already.');
    for (const line of [say.text('All is done.'), say.result({ permission_denials: [denial] })])
      reader.line(JSON.stringify(line));
    expect(reader.ending({ stderr: '', session: '', mode: 'create' }).ok).toBe(true);
  });

  test('leaves a denial by the rules of the user what it is', () => {
    const denial = { tool_name: 'Write', tool_use_id: 'other', tool_input: { file_path: '/x' } };
    const { ending } = play([...recorded('call-refused').slice(0, -2), say.result({ permission_denials: [denial] })]);
    expect(ending).toMatchObject({
      ok: false,
      text: 'All is done.',
      failure: { denied: [{ tool: 'Write', summary: '/x' }] },
    });
  });

  test('a tool that prints the words of a refusal refuses nothing', () => {
    const words = '(Refused by Onward, not by permission rules.)';
    const denial = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
    const lines = [
      say.init(),
      say.returned('c1', words),
      say.text('Done.'),
      say.result({ permission_denials: [denial] }),
    ];
    expect(play(lines).ending.ok).toBe(false);
  });
});

describe('the name of a call', () => {
  test('of a subagent has that of the call which began it, alike in hooks and stream', () => {
    const played = play(recorded('subagent-healthy'));
    const names = (kind: 'call-intended' | 'call-started' | 'call-finished'): readonly string[] =>
      of(played, kind).map((call) => call.callId);
    const [outer, inner] = names('call-started');
    expect(inner).toMatch(new RegExp(`^toolu_\\w+@${outer}$`, 'u'));
    expect(names('call-intended').toSorted()).toEqual(names('call-started').toSorted());
    expect(names('call-finished').toSorted()).toEqual(names('call-started').toSorted());
  });

  test('stays what it was at first sight, even if its subagent is known only later', () => {
    const task = {
      type: 'system',
      subtype: 'task_started',
      task_id: 'agent-1',
      tool_use_id: 'outer',
      task_type: 'local_agent',
    };
    const played = play([before('inner', { agent_id: 'agent-1' }), task, say.call('inner', 'Bash', {}, 'outer')]);
    expect(of(played, 'call-started')[0]?.callId).toBe(of(played, 'call-intended')[0]?.callId);
    const known = play([task, before('inner', { agent_id: 'agent-1' })]);
    expect(of(known, 'call-intended')[0]?.callId).toBe('inner@outer');
  });
});

const stored = (toolUseResult: Json, isError = false): string =>
  JSON.stringify({
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'outer', content: 'x', is_error: isError }],
    },
    toolUseResult,
  });

const keeps = (lines: readonly string[], callId = 'outer'): boolean =>
  claudeAdapter.keeps?.(lines.join('\n'), callId) ?? false;

describe('whether the session file kept a call', () => {
  const call = JSON.stringify({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id: 'outer', name: 'Bash' }] },
  });
  const told = JSON.stringify({
    type: 'user',
    message: { role: 'user', content: '<task-notification>\n<tool-use-id>outer</tool-use-id>\n</task-notification>' },
  });

  test('only its result counts: a call without one is left out on resume', () => {
    expect(keeps([])).toBe(false);
    expect(keeps([call])).toBe(false);
    expect(keeps([call, stored({ stdout: 'x' })])).toBe(true);
    expect(keeps([call, stored('Error: Exit code 1', true)])).toBe(true);
  });

  test('a result that only says "interrupted" is not that of the call', () => {
    expect(keeps([call, stored('User rejected tool use', true)])).toBe(false);
  });

  test('a call inside a subagent is kept when the outer one is; in the background, when its end was told', () => {
    expect(keeps([call, stored({ status: 'completed' })], 'inner@outer')).toBe(true);
    expect(keeps([call], 'inner@outer')).toBe(false);
    expect(keeps([call, stored({ status: 'async_launched' })], 'inner@outer')).toBe(false);
    expect(keeps([call, stored({ status: 'async_launched' }), told], 'inner@outer')).toBe(true);
  });

  test('the model quoting such a message is no message', () => {
    const quoted = told.replace('"type":"user"', '"type":"assistant"');
    expect(keeps([call, stored({ status: 'async_launched' }), quoted], 'inner@outer')).toBe(false);
  });

  test('the launch of a subagent in the background is itself kept', () => {
    expect(keeps([call, stored({ status: 'async_launched' })])).toBe(true);
  });

  test('half a line at the head of a tail, and the id in other words, are nothing', () => {
    expect(
      keeps([stored({ stdout: 'x' }).slice(20), JSON.stringify({ type: 'user', message: { content: 'outer' } })]),
    ).toBe(false);
  });
});
