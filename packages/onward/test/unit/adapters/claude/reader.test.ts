import { describe, expect, test } from 'vitest';
import { of, play, recorded, say } from './support.ts';

describe('the session', () => {
  test('is told once, however many turns announce it', () => {
    expect(of(play([say.init(), say.init()]), 'session')).toEqual([
      {
        kind: 'session',
        id: 'b0d5af3f-aefa-4e59-ba13-4aa3b5ddf765',
        model: 'claude-sonnet-4-5',
        permissions: 'default',
        version: '2.1.197',
      },
    ]);
  });
});

describe('tool calls', () => {
  test('are intended, with an answer that neither allows nor denies, then finished, each once', () => {
    const played = play(recorded('hooks-healthy'));
    const [intended] = of(played, 'call-intended');
    expect(intended).toMatchObject({
      tool: 'Bash',
      input: { command: 'echo one >> effects.log && echo EFFECT_OK_one' },
    });
    expect(JSON.parse(intended?.reply ?? '')).toEqual({
      type: 'control_response',
      response: { subtype: 'success', request_id: expect.any(String), response: {} },
    });
    const finished = of(played, 'call-finished');
    expect(finished).toHaveLength(1);
    expect(finished[0]).toMatchObject({ callId: intended?.callId, ok: true, output: 'EFFECT_OK_one' });
    expect(finished[0]?.reply).toBeDefined();
  });

  test("the hook's question comes before the call can have any effect", () => {
    const kinds = play(recorded('hooks-healthy')).observations.map((seen) => seen.kind);
    expect(kinds.indexOf('call-intended')).toBeLessThan(kinds.indexOf('call-finished'));
  });

  test('one that was interrupted is never reported as finished, since it may have run', () => {
    expect(of(play(recorded('interrupt-mid-tool')), 'call-finished')).toEqual([]);
    expect(of(play(recorded('interrupt-after-tool')), 'call-finished')).toMatchObject([{ ok: true }]);
  });

  test('one that was denied is finished, and not done', () => {
    expect(of(play(recorded('hooks-denied')), 'call-finished')).toMatchObject([{ ok: false }]);
  });

  test('two in one message are kept apart, in whatever order they end', () => {
    const two = {
      type: 'assistant',
      message: {
        id: 'm1',
        model: 'claude-sonnet-4-5',
        content: [
          { type: 'tool_use', id: 'a', name: 'Read', input: { file_path: '/x' } },
          { type: 'tool_use', id: 'b', name: 'Read', input: { file_path: '/y' } },
        ],
      },
    };
    const played = play([
      two,
      say.returned('b', 'Y'),
      say.returned('a', [{ type: 'text', text: 'X' }, { type: 'image' }], true),
    ]);
    expect(of(played, 'call-started').map((call) => call.callId)).toEqual(['a', 'b']);
    expect(of(played, 'call-finished')).toEqual([
      { kind: 'call-finished', callId: 'b', ok: true, output: 'Y' },
      { kind: 'call-finished', callId: 'a', ok: false, output: 'X\n[image]' },
    ]);
  });

  test('a failure reported by the hook counts once', () => {
    const hook = {
      type: 'control_request',
      request_id: 'r1',
      request: {
        subtype: 'hook_callback',
        callback_id: 'onward-after',
        input: { hook_event_name: 'PostToolUseFailure', tool_use_id: 'c1', error: 'Exit code 3\nno' },
      },
    };
    const played = play([hook, say.returned('c1', 'Exit code 3\nno', true)]);
    expect(of(played, 'call-finished')).toMatchObject([{ callId: 'c1', ok: false, output: 'Exit code 3\nno' }]);
    // Told by the stream first, the hook only wants its answer.
    expect(play([say.returned('c1', 'x'), hook]).observations.at(-1)?.kind).toBe('reply');
    const interrupted = { ...hook, request: { ...hook.request, input: { ...hook.request.input, is_interrupt: true } } };
    expect(play([interrupted]).observations.map((seen) => seen.kind)).toEqual(['reply']);
  });
});

const ask = (request: { readonly [key: string]: string }): readonly unknown[] =>
  of(play([{ type: 'control_request', request_id: 'r1', request }]), 'reply').map((seen): unknown =>
    JSON.parse(seen.line),
  );

describe('questions of the CLI', () => {
  test('every one is answered: nobody allows a tool call, nobody fills in a form', () => {
    expect(ask({ subtype: 'can_use_tool', tool_name: 'Bash' })).toMatchObject([
      { response: { subtype: 'success', request_id: 'r1', response: { behavior: 'deny' } } },
    ]);
    expect(ask({ subtype: 'elicitation' })).toMatchObject([{ response: { response: { action: 'cancel' } } }]);
  });

  test.each(['mcp_message', 'request_user_dialog', 'something_new'])('%s is refused politely', (subtype) => {
    expect(ask({ subtype })).toMatchObject([{ response: { subtype: 'error', request_id: 'r1' } }]);
  });

  test('a hook that is not ours is let through', () => {
    expect(ask({ subtype: 'hook_callback', callback_id: 'other' })).toMatchObject([{ response: { response: {} } }]);
  });
});

describe('text', () => {
  test('a block is a message when its message has ended, and a delta before', () => {
    const delta = say.event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'All is ' } });
    const open = play([...say.streamed('m1'), delta, say.text('All is done.', 'm1')]);
    expect(of(open, 'delta')).toEqual([{ kind: 'delta', text: 'All is ' }]);
    expect(of(open, 'message')).toEqual([]);
    const closed = play([...say.streamed('m1'), delta, say.text('All is done.', 'm1'), ...say.ended()]);
    expect(of(closed, 'message')).toEqual([{ kind: 'message', id: 'm1/0', text: 'All is done.' }]);
  });

  test('a block whose message broke is kept once the CLI goes on with it', () => {
    const broken = [...say.streamed('m1'), say.text('First.', 'm1')];
    for (const next of [[say.returned('c1', 'ok')], say.streamed('m2'), [say.text('Second.', 'm2')]])
      expect(of(play([...broken, ...next]), 'message')[0]).toEqual({ kind: 'message', id: 'm1/0', text: 'First.' });
  });

  test('ids of blocks are stable, so that a line read twice is known', () => {
    const lines = [say.text('a', 'm1'), say.text('b', 'm1'), say.text('c', 'm2')];
    expect(of(play(lines), 'message').map((message) => message.id)).toEqual(['m1/0', 'm1/1', 'm2/0']);
    expect(of(play(lines), 'message')).toEqual(of(play(lines), 'message'));
  });

  test('a cut message that the CLI repeated without streaming is delivered once', () => {
    const lines = [...say.streamed('m1'), say.text('again, whole', 'm2'), say.result({ result: 'again, whole' })];
    const played = play(lines);
    expect(of(played, 'message').map((message) => message.id)).toEqual(['m2/0']);
    expect(played.ending.ok).toBe(true);
  });

  test('lines that the CLI wrote in place of the model are withheld', () => {
    expect(of(play([say.error('server_error', 'API Error: 529 Overloaded')]), 'message')).toEqual([]);
  });

  test('words of a subagent are neither text nor delta', () => {
    const inner = say.event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'x' } }, 'c1');
    const played = play([inner]);
    expect(played.observations).toEqual([{ kind: 'alive' }]);
  });
});

describe('usage', () => {
  test('tokens are told as they come, and the result adds only what is missing', () => {
    const models = { m: { inputTokens: 8, cacheReadInputTokens: 4, outputTokens: 9, costUSD: 0.25 } };
    const played = play([
      ...say.streamed('m1'),
      say.text('x', 'm1'),
      ...say.ended(),
      say.result({ modelUsage: models, total_cost_usd: 0.25 }),
    ]);
    expect(of(played, 'usage')).toEqual([
      { kind: 'usage', scope: 'own', inputTokens: 10, outputTokens: 0 },
      { kind: 'usage', scope: 'own', inputTokens: 0, outputTokens: 7 },
      { kind: 'usage', scope: 'own', inputTokens: 2, outputTokens: 2, usd: 0.25 },
    ]);
  });

  test('several results of one process are not counted twice', () => {
    const usage = of(play(recorded('subagent-background')), 'usage');
    const last = JSON.parse(
      recorded('subagent-background').findLast((line) => line.includes('"type":"result"')) ?? '{}',
    );
    const total = usage.reduce((sum, seen) => sum + (seen.usd ?? 0), 0);
    expect(total).toBeCloseTo(last.total_cost_usd, 9);
    const output = Object.values(last.modelUsage as Record<string, { outputTokens: number }>).reduce(
      (n, m) => n + m.outputTokens,
      0,
    );
    expect(usage.reduce((sum, seen) => sum + seen.outputTokens, 0)).toBe(output);
  });
});

describe('lines', () => {
  test.each([
    '{"type":',
    'Loading…',
    '42',
    'null',
    '[]',
    '{}',
    '{"type":7}',
    '{"type":"assistant"}',
    '{"type":"user","message":3}',
    '{"type":"stream_event"}',
    '{"type":"control_request"}',
    '{"type":"system","subtype":"init"}',
  ])('one that Claude Code does not write is recorded and nothing else: %s', (line) => {
    expect(play([line]).observations).toEqual([{ kind: 'malformed', reason: expect.any(String) }]);
  });

  test('an empty one is nothing, one of a later version is a sign of life', () => {
    expect(play(['', '  ']).observations).toEqual([]);
    expect(
      play([{ type: 'keep_alive' }, { type: 'tomorrow' }, { type: 'system', subtype: 'tomorrow' }]).observations,
    ).toEqual([{ kind: 'alive' }, { kind: 'alive' }, { kind: 'alive' }]);
  });

  test('another model that takes over and a compaction are told to people', () => {
    const fallback = { type: 'system', subtype: 'model_fallback', content: 'Switched to Haiku 4.5' };
    const compacted = { type: 'system', subtype: 'compact_boundary' };
    expect(of(play([fallback, compacted]), 'notice')).toHaveLength(2);
  });
});
