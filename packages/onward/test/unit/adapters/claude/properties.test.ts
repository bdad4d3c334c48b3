import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findNonJson } from '../../../../src/kernel/json.ts';
import type { Observation } from '../../../../src/supervisor/adapter.ts';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';
import { outcome, play, recorded, say } from './support.ts';

const words = [
  'system',
  'assistant',
  'user',
  'result',
  'stream_event',
  'control_request',
  'rate_limit_event',
  'init',
  'api_retry',
  'task_started',
  'task_updated',
  'task_notification',
  'hook_callback',
  'onward-before',
  'onward-after',
  'success',
  'tool_use',
  'tool_result',
  'message_start',
  'message_stop',
  'content_block_delta',
  'text',
  '<synthetic>',
  'rejected',
];
const keys = [
  'type',
  'subtype',
  'message',
  'event',
  'content',
  'id',
  'name',
  'input',
  'request',
  'request_id',
  'callback_id',
  'tool_use_id',
  'parent_tool_use_id',
  'session_id',
  'model',
  'error',
  'usage',
  'modelUsage',
  'rate_limit_info',
  'status',
  'resetsAt',
  'patch',
  'task_id',
  'permission_denials',
  'tool_input',
  'result',
  'errors',
  'delta',
  'text',
  'stop_reason',
  'is_error',
  'tool_use_result',
  'structured_output',
];

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...words),
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 6 }),
  ),
}));
const line = fc.oneof(
  fc.string({ unit: 'binary' }),
  value.map((made) => JSON.stringify(made) ?? ''),
  fc
    .tuple(fc.constantFrom(...words), fc.dictionary(fc.constantFrom(...keys), value))
    .map(([type, made]) => JSON.stringify({ ...made, type })),
);
const kinds: ReadonlySet<Observation['kind']> = new Set([
  'session',
  'delta',
  'message',
  'call-intended',
  'call-started',
  'call-finished',
  'inner-retry',
  'usage',
  'alive',
  'notice',
  'reply',
  'result',
  'malformed',
]);

describe('whatever the program prints', () => {
  test('no line and no ending throws, every observation is plain JSON, every question is answered', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), fc.constantFrom(0, 1, 143, null), (lines, code) => {
        const played = play(lines, { exit: { code, signal: code === null ? 'SIGKILL' : null } });
        for (const seen of played.observations) {
          expect(kinds).toContain(seen.kind);
          expect(findNonJson(seen)).toBeUndefined();
        }
        expect(findNonJson(played.ending)).toBeUndefined();
        outcome(played.ending);
      }),
      { numRuns: 2000 },
    );
  });

  test('a stream cut at any byte never passes for a success before its result', () => {
    const whole = recorded('hooks-healthy').join('\n');
    const end = whole.indexOf('{"type":"result"');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: end }), (at) => {
        const { ending } = play(whole.slice(0, at).split('\n'));
        expect(ending.ok).toBe(false);
      }),
    );
  });

  test('lines that are no message, put in anywhere, change no ending', () => {
    const lines = recorded('subagent-healthy');
    const expected = play(lines).ending;
    const noise = fc.constantFrom('', 'Loading nvm…', '{"type":"tomorrow"}', '{"half":', 'API Error: 529 Overloaded');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(lines.length), noise)), (added) => {
        const noisy = [...lines];
        for (const [at, text] of added) noisy.splice(at, 0, text);
        expect(play(noisy).ending).toEqual(expected);
      }),
    );
  });

  test('what JSON can spell but no record can hold is replaced', () => {
    const text = String.raw`{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"a\ud800b"},{"type":"tool_use","id":"c","name":"T","input":{"n":1e999,"z":-0}}]}}`;
    for (const seen of play([text]).observations) expect(findNonJson(seen)).toBeUndefined();
    expect(play([`${'['.repeat(50_000)}${']'.repeat(50_000)}`]).observations).toMatchObject([{ kind: 'malformed' }]);
  });

  test('a message of any length stays within what is shown', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
        const { ending } = play([say.init(), say.error('unknown', text), say.failed(text, 500)]);
        expect(ending.ok ? 501 : ending.failure.message.length).toBeLessThanOrEqual(500);
      }),
    );
  });
});

describe('whatever the user types', () => {
  const word = fc.oneof(
    fc.constantFrom(
      '-p',
      '--model',
      '--allowedTools',
      '--settings',
      '--',
      '-d',
      '--mcp-config',
      '{}',
      'x',
      '',
      '-',
      '-px',
      '--x=1',
    ),
    fc.string(),
  );

  test('parsing never throws, and what is accepted starts with the same options every time', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 10 }), fc.option(fc.string(), { nil: undefined }), (typed, stdin) => {
        const parsed = claudeAdapter.parse({ argv: ['claude', ...typed], ...(stdin === undefined ? {} : { stdin }) });
        if (!parsed.ok) return;
        const launch = (mode: 'create' | 'resume') =>
          claudeAdapter.launch({
            program: 'claude',
            command: parsed,
            mode,
            sessionId: 'id',
            prompt: parsed.prompt,
            innerRetries: 3,
            env: {},
          }).argv;
        const first = launch('create').map((text) => (text === '--session-id' ? '--resume' : text));
        expect(first).toEqual(launch('resume'));
      }),
    );
  });
});
