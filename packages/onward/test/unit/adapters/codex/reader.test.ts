import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import { findNonJson } from '../../../../src/kernel/json.ts';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';
import { line, play } from './attempt.ts';

const kinds = (lines: readonly string[]): readonly string[] => play(lines).seen.map((observation) => observation.kind);

describe('what a line says', () => {
  test('the conversation is known from the first line on', () => {
    const reader = codexAdapter.reader();
    expect(reader.target()).toBeUndefined();
    expect(reader.line(line.thread('id-1'))).toEqual([{ kind: 'session', id: 'id-1' }]);
    expect(reader.target()).toBe('id-1');
  });

  test('a command is a call with its input, output and exit code', () => {
    const failed = { status: 'failed', exit_code: 3, aggregated_output: 'no rule' };
    expect(play([line.command('started'), line.command('completed', failed)]).seen).toEqual([
      { kind: 'call-started', callId: 'item_2', tool: 'command_execution', input: { command: 'make' } },
      { kind: 'call-finished', callId: 'item_2', ok: false, output: 'no rule\n[exit code 3]' },
    ]);
  });

  test('a command is only ok with exit code 0, whatever its status says', () => {
    const oks = [0, 2, null].map((code) => {
      const { seen } = play([line.command('completed', { exit_code: code })]);
      return seen.find((observation) => observation.kind === 'call-finished')?.ok;
    });
    expect(oks).toEqual([true, false, true]);
  });

  test('a call that is only shown when it is over has a beginning as well', () => {
    const change = { id: 'item_4', type: 'file_change', changes: [{ path: 'a.ts', kind: 'add' }], status: 'completed' };
    const [started, finished] = play([JSON.stringify({ type: 'item.completed', item: change })]).seen;
    expect(started).toMatchObject({
      kind: 'call-started',
      tool: 'file_change',
      input: { changes: [{ path: 'a.ts' }] },
    });
    expect(finished).toMatchObject({ kind: 'call-finished', ok: true });
  });

  test('a call of an MCP tool names server and tool', () => {
    const item = {
      id: 'item_5',
      type: 'mcp_tool_call',
      server: 'git',
      tool: 'log',
      arguments: { n: -0 },
      status: 'failed',
    };
    const text = JSON.stringify({ type: 'item.completed', item: { ...item, error: { message: 'gone' } } });
    expect(play([text.replace('"n":0', '"n":-0')]).seen).toEqual([
      { kind: 'call-started', callId: 'item_5', tool: 'mcp:git/log', input: { n: 0 } },
      { kind: 'call-finished', callId: 'item_5', ok: false, output: '{"message":"gone"}' },
    ]);
  });

  test('output is capped at 64 KiB', () => {
    const { seen } = play([line.command('completed', { aggregated_output: '\u{1F600}'.repeat(50_000) })]);
    const finished = seen.find((observation) => observation.kind === 'call-finished');
    expect(finished?.output.length).toBeLessThan(64 * 1024 + 100);
    expect(finished?.output.isWellFormed()).toBe(true);
  });

  test('reasoning, plans and kinds that are not known yet only show life', () => {
    const items = ['reasoning', 'todo_list', 'something_new'].map((type) =>
      JSON.stringify({ type: 'item.completed', item: { id: 'x', type, text: 't' } }),
    );
    expect(kinds([...items, JSON.stringify({ type: 'plan.updated' })])).toEqual(['alive', 'alive', 'alive', 'alive']);
  });

  test('usage counts the whole conversation', () => {
    expect(play([line.completed()]).seen).toEqual([
      { kind: 'usage', scope: 'cumulative', inputTokens: 5, outputTokens: 2 },
      { kind: 'result' },
    ]);
  });

  test.each([
    '',
    'plain text',
    '[1]',
    '{"type":1}',
    '{"type":"thread.started"}',
    '{"type":"item.completed"}',
    '{"type":"error"}',
  ])('a line that codex does not write is malformed: %j', (text) => {
    expect(kinds([text])).toEqual(['malformed']);
  });
});

describe('inner retries', () => {
  test('R112 a notice of reconnecting is told from a fatal error', () => {
    const { seen } = play([
      line.error('Reconnecting... 2/5 (unexpected status 529 <unknown status code>: Overloaded, url: http://h/v1)'),
      line.error('Reconnecting... waiting for network (Connection failed: error sending request)'),
      line.error('Reconnecting... waiting for network (Connection failed: error sending request)'),
      line.error('Selected model is at capacity. Please try a different model.'),
    ]);
    expect(seen).toEqual([
      { kind: 'inner-retry', attempt: 2, status: 529, category: 'unexpected-status' },
      { kind: 'inner-retry', attempt: 1, category: 'no-network' },
      { kind: 'inner-retry', attempt: 2, category: 'no-network' },
    ]);
  });

  test('R37 R117 a run that heals itself and completes is a success, whatever errors it printed', () => {
    const { ending } = play([
      line.thread(),
      line.turn(),
      line.error('Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)'),
      line.error('Reconnecting... waiting for network (Connection failed: error sending request)'),
      line.text('all done'),
      line.completed(),
    ]);
    expect(ending).toEqual({ ok: true, text: 'all done' });
  });

  test('R04 all reconnects used up, then fatal: transient, and the thread can still be continued', () => {
    const why = 'stream disconnected before completion: stream closed before response.completed';
    const retries = [1, 2, 3, 4, 5].map((n) => line.error(`Reconnecting... ${n}/5 (${why})`));
    const { seen, ending } = play([line.thread('id-9'), line.turn(), ...retries, line.error(why), line.failed(why)], {
      exit: { code: 1, signal: null },
    });
    expect(seen.filter((observation) => observation.kind === 'inner-retry')).toHaveLength(5);
    expect(ending.ok || classify(ending.failure).class).toBe('transient');
    expect(ending.ok || ending.failure.message).toBe(why);
  });

  test('R05 an endless wait for the network is no sign of life, and the stall that ends it names the network', () => {
    const notice = line.error('Reconnecting... waiting for network (Connection failed: error sending request)');
    const { seen, ending } = play([line.thread(), line.turn(), ...Array.from({ length: 50 }, () => notice)], {
      exit: { code: null, signal: 'SIGINT' },
      failure: { process: 'idle-timeout', message: 'No sign of life for 300 s.' },
    });
    expect(seen.slice(2).every((observation) => observation.kind === 'inner-retry')).toBe(true);
    expect(ending.ok || ending.failure.cause?.message).toContain('error sending request');
    expect(ending.ok || classify(ending.failure).class).toBe('transient');
  });

  test('a stall while codex sleeps through a long Retry-After is a throttle', () => {
    const { ending } = play(
      [line.thread(), line.error('Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)')],
      { failure: { process: 'idle-timeout', message: 'No sign of life for 300 s.' } },
    );
    expect(ending.ok || classify(ending.failure).class).toBe('throttled');
  });

  test('a retry that had succeeded is not blamed for a later stall or crash', () => {
    const lines = [
      line.thread(),
      line.error('Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)'),
    ];
    const stalled = play([...lines, line.command('started')], {
      failure: { process: 'idle-timeout', message: 'No sign of life for 300 s.' },
    }).ending;
    expect(stalled.ok || stalled.failure.cause).toBeUndefined();
    const killed = play(lines, {
      exit: { code: null, signal: 'SIGKILL' },
      failure: { process: 'ended-without-result', message: 'gone' },
    }).ending;
    expect(killed.ok || classify(killed.failure).class).toBe('crash');
  });

  test('a finished text that a retry prints again is delivered once', () => {
    const { seen, ending } = play([
      line.text('The line is in.', 'item_1'),
      line.error('Reconnecting... 1/5 (stream disconnected before completion: x)'),
      line.text('The line is in.', 'item_2'),
      line.text('And more.', 'item_3'),
      line.completed(),
    ]);
    expect(seen.filter((observation) => observation.kind === 'message')).toEqual([
      { kind: 'message', id: 'item_1', text: 'The line is in.' },
      { kind: 'message', id: 'item_3', text: 'And more.' },
    ]);
    expect(ending).toEqual({ ok: true, text: 'And more.' });
  });

  test('the same words without a retry, or after a call, are new words', () => {
    const retry = line.error('Reconnecting... 1/5 (x)');
    const again = [line.text('ok'), line.text('ok'), retry, line.command('completed'), line.text('ok')];
    expect(kinds(again).filter((kind) => kind === 'message')).toHaveLength(3);
    const later = [line.text('ok'), line.command('completed'), retry, line.text('ok')];
    expect(kinds(later).filter((kind) => kind === 'message')).toHaveLength(2);
  });
});

describe('for all input', () => {
  const anyItem = fc.record(
    {
      id: fc.option(fc.string()),
      type: fc.constantFrom(
        'agent_message',
        'command_execution',
        'mcp_tool_call',
        'error',
        'web_search',
        'file_change',
        'odd',
      ),
      text: fc.anything(),
      command: fc.anything(),
      status: fc.anything(),
      exit_code: fc.anything(),
      arguments: fc.jsonValue(),
      changes: fc.jsonValue(),
      result: fc.jsonValue(),
      aggregated_output: fc.string({ unit: 'binary' }),
    },
    { requiredKeys: [] },
  );
  const anyEvent = fc.record(
    {
      type: fc.constantFrom(
        'thread.started',
        'item.started',
        'item.completed',
        'error',
        'turn.completed',
        'turn.failed',
        'x',
      ),
      thread_id: fc.anything(),
      item: fc.oneof(anyItem, fc.jsonValue()),
      message: fc.oneof(fc.string(), fc.constant('Reconnecting... 1/5 (x)'), fc.anything()),
      error: fc.oneof(fc.record({ message: fc.string() }), fc.jsonValue()),
      usage: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  const anyLine = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    anyEvent.map((event) => stringify(event)),
    fc.constantFrom(
      '{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","arguments":{"n":1e999,"s":"\\ud800"}}}',
    ),
  );

  test('no line throws, and whatever is observed can be stored', () => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 30 }), fc.string({ unit: 'binary' }), (lines, session) => {
        const { seen, ending } = play(lines, { session });
        expect(findNonJson(seen)).toBeUndefined();
        expect(findNonJson(ending)).toBeUndefined();
        expect(ending.ok ? 0 : ending.failure.message.length).toBeLessThanOrEqual(500);
      }),
      { numRuns: 500 },
    );
  });

  test('deeply nested input is cut, not followed to the end of the stack', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const text = `{"type":"item.started","item":{"id":"a","type":"mcp_tool_call","arguments":${deep}}}`;
    expect(kinds([text])).toEqual(['call-started']);
  });

  test('any cut of a session file is read without harm', () => {
    const whole = JSON.stringify({
      type: 'event_msg',
      payload: { type: 'task_complete', error: { codex_error_info: 'other' } },
    });
    fc.assert(
      fc.property(fc.nat({ max: whole.length }), fc.nat({ max: whole.length }), (from, to) => {
        const { ending } = play([line.failed('x')], { session: whole.slice(from, to) });
        expect(ending.ok).toBe(false);
      }),
    );
  });
});

function stringify(value: unknown): string {
  try {
    return (
      JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner)) ?? ''
    );
  } catch {
    return '{"type":"odd"}';
  }
}
