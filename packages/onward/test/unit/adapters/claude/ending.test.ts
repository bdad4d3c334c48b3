import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/kernel/json.ts';
import { classify } from '../../../../src/kernel/classify.ts';
import { of, outcome, play, recorded, say } from './support.ts';

const overloaded = 'API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.';
const done = say.text('All is done.');

describe('a failed request', () => {
  test('R01 an overload that outlasts the own retries is transient, and the session can be continued', () => {
    const lines = [
      say.init(),
      ...[1, 2, 3].map((n) => say.retry(n, 529, 'overloaded')),
      say.error('server_error', overloaded),
    ];
    const played = play([...lines, say.failed(overloaded, 529)], { exit: { code: 1, signal: null } });
    expect(outcome(played.ending)).toBe('transient');
    expect(of(played, 'inner-retry').map((retry) => retry.attempt)).toEqual([1, 2, 3]);
    expect(played.target).toBe('b0d5af3f-aefa-4e59-ba13-4aa3b5ddf765');
  });

  test('R10 an overload that came as an event inside status 200 is transient', () => {
    const text = 'API Error: Overloaded';
    const played = play([say.init(), say.error('unknown', text), say.failed(text, null)]);
    expect(outcome(played.ending)).toBe('transient');
  });

  test('R47 an expired login is of class auth, whatever the exit code', () => {
    const text = 'Not logged in · Please run /login';
    const lines = [say.init(), say.error('authentication_failed', text), say.failed(text, 401)];
    expect(outcome(play(lines, { exit: { code: 1, signal: null } }).ending)).toBe('auth');
    expect(outcome(play(lines).ending)).toBe('auth');
  });

  test('R48 a 401 among the own retries that passes by itself is no failure', () => {
    const lines = [say.init(), say.retry(1, 401, 'authentication_failed'), done, say.result()];
    expect(play(lines).ending).toEqual({ ok: true, text: 'All is done.' });
  });

  test('R47 a process that is ended while it repeats a 401 is told apart from an idle one', () => {
    const played = play([say.init(), say.retry(1, 401, 'authentication_failed')], {
      failure: { message: 'No sign of life.', process: 'idle-timeout' },
    });
    expect(outcome(played.ending)).toBe('auth');
  });

  test('R109 the subtype "success" with exit 0 does not hide a rate limit', () => {
    const text = "API Error: Request rejected (429) · This request would exceed your organization's rate limit.";
    const played = play([say.init(), say.error('rate_limit', text), say.failed(text, 429)], {
      exit: { code: 0, signal: null },
    });
    expect(outcome(played.ending)).toBe('throttled');
  });

  test('R109 an error printed as the answer is a failure even without is_error', () => {
    const lines = [
      say.init(),
      say.error('server_error', overloaded),
      say.result({ result: overloaded, stop_reason: 'stop_sequence' }),
    ];
    expect(outcome(play(lines).ending)).toBe('transient');
  });

  test('R109 is_error alone is enough, with no line that says why', () => {
    const { ending } = play([say.init(), done, say.result({ is_error: true })]);
    expect(outcome(ending)).toBe('unclassified');
  });

  test('the message of a failure is the line of the CLI, word for word', () => {
    const text = 'Credit balance is too low — «übrig» 你好';
    const { ending } = play([say.init(), say.error('billing_error', text), say.failed(text, 400)]);
    expect(ending).toMatchObject({ ok: false, failure: { message: text, status: 400, category: 'billing_error' } });
    expect(outcome(ending)).toBe('billing');
  });

  test('R110 failures that all exit with 1 and an empty standard error get different classes', () => {
    const cases: readonly (readonly [string, string, number | null, string])[] = [
      ['server_error', overloaded, 529, 'transient'],
      ['rate_limit', 'API Error: Request rejected (429) · slow down', 429, 'throttled'],
      ['authentication_failed', 'Invalid API key · Fix external API key', 401, 'auth'],
      ['billing_error', 'Credit balance is too low', 400, 'billing'],
      ['unknown', 'API Error: 400 messages.1.content.0: Input should be a valid dictionary', 400, 'input'],
      ['model_not_found', "There's an issue with the selected model (x).", 404, 'input'],
      ['invalid_request', 'Request too large (max 32MB). Try with a smaller file.', 413, 'overflow'],
    ];
    for (const [category, text, status, expected] of cases) {
      const lines = [say.init(), say.error(category, text), say.failed(text, status)];
      expect(outcome(play(lines, { exit: { code: 1, signal: null } }).ending)).toBe(expected);
    }
  });
});

const waits = (...delays: readonly number[]): readonly Json[] =>
  delays.map((delay, index) => ({ ...Object(say.retry(index + 1, 429, 'rate_limit')), retry_delay_ms: delay }));

const hint = (...delays: readonly number[]): number | undefined => {
  const lines = [
    say.init(),
    ...waits(...delays),
    say.error('rate_limit', 'API Error: 429'),
    say.failed('API Error: 429', 429),
  ];
  const { ending } = play(lines, { exit: { code: 1, signal: null } });
  return ending.ok ? undefined : ending.failure.retryAfterMs;
};

describe('the hint of the server', () => {
  test('R141 is what the CLI waited in whole seconds, also when its own waits grew longer', () => {
    expect(hint(3000, 3000, 4638.358)).toBe(3000);
  });

  test('is none when the CLI waited its own times, or when the request was answered', () => {
    expect(hint(512.4, 1148.69, 2259.33)).toBeUndefined();
    const lines = [
      say.init(),
      ...waits(3000),
      say.text('Well.'),
      say.error('rate_limit', 'API Error: 429'),
      say.failed('API Error: 429', 429),
    ];
    const { ending } = play(lines, { exit: { code: 1, signal: null } });
    expect(ending.ok || ending.failure.retryAfterMs).toBeUndefined();
  });
});

describe('what heals itself', () => {
  test('R37 retries of the CLI that succeed are seen, and the run is a success', () => {
    const lines = [say.init(), say.retry(1, 429, 'rate_limit'), say.retry(2, 429, 'rate_limit'), done, say.result()];
    const played = play(lines);
    expect(played.ending.ok).toBe(true);
    expect(of(played, 'inner-retry')).toEqual([
      { kind: 'inner-retry', attempt: 1, status: 429, category: 'rate_limit', delayMs: 500 },
      { kind: 'inner-retry', attempt: 2, status: 429, category: 'rate_limit', delayMs: 1000 },
    ]);
  });

  test('R117 an error line followed by more work and an answer is a success', () => {
    const lines = [
      say.init(),
      say.call('c1', 'Bash', { command: 'ls' }),
      say.error('server_error', 'API Error: Connection closed mid-response. The response above may be incomplete.'),
      say.returned('c1', 'file'),
      done,
      say.result(),
    ];
    expect(play(lines).ending).toEqual({ ok: true, text: 'All is done.' });
  });
});

describe('an answer that is none', () => {
  test('R113 a stream that ends before its message does is cut, though the CLI says success', () => {
    const { ending } = play(recorded('cut-after-text'));
    expect(ending).toMatchObject({ ok: false, failure: { type: 'cut_answer' } });
    expect(outcome(ending)).toBe('transient');
  });

  test.each([null, 'tool_use'])('R113 without stream events the stop reason %s gives the cut away', (stop) => {
    const { ending } = play([say.init(), done, say.result({ stop_reason: stop })]);
    expect(ending).toMatchObject({ ok: false, failure: { type: 'cut_answer' } });
  });

  test('R113 an earlier message that ended well does not vouch for the last one', () => {
    const lines = [
      say.init(),
      ...say.streamed('m1'),
      say.text('First.', 'm1'),
      ...say.ended(),
      ...say.streamed('m2'),
      say.text('All is', 'm2'),
    ];
    const { ending } = play([...lines, say.result({ result: 'All is', stop_reason: 'end_turn' })]);
    expect(ending).toMatchObject({ ok: false, failure: { type: 'cut_answer' } });
    expect(play([...lines, ...say.ended(), say.result({ result: 'All is' })]).ending.ok).toBe(true);
  });

  test('R113 no result at all is a crash, with or without text', () => {
    expect(outcome(play([say.init(), done]).ending)).toBe('crash');
    expect(outcome(play([]).ending)).toBe('crash');
  });

  test('R113 an answer without content is an empty answer', () => {
    const { ending } = play([say.init(), say.result({ result: ' \n' })]);
    expect(ending).toMatchObject({ ok: false, failure: { type: 'empty_answer' } });
    expect(outcome(ending)).toBe('transient');
  });

  test('an answer that fits a schema counts, without any text', () => {
    const result = say.result({ result: '', stop_reason: 'tool_use', structured_output: { name: 'x' } });
    expect(play([say.init(), say.call('c1', 'StructuredOutput', {}), result]).ending).toEqual({
      ok: true,
      text: '{"name":"x"}',
    });
  });

  test.each([
    ['pause_turn', 'incomplete'],
    ['max_tokens', 'incomplete'],
    ['model_context_window_exceeded', 'overflow'],
    ['refusal', 'policy'],
    ['something_new', 'unclassified'],
  ])('a model that stops with %s has not finished: %s', (stop, expected) => {
    expect(outcome(play([say.init(), done, say.result({ stop_reason: stop })]).ending)).toBe(expected);
  });

  test.each([
    ['error_max_turns', 'incomplete'],
    ['error_max_budget_usd', 'input'],
    ['error_max_structured_output_retries', 'quality'],
    ['error_during_execution', 'unclassified'],
    ['error_of_tomorrow', 'unclassified'],
  ])('the subtype %s is of class %s', (subtype, expected) => {
    const result = say.result({ subtype, is_error: true, errors: ['It ended.'], terminal_reason: null });
    expect(outcome(play([say.init(), result]).ending)).toBe(expected);
  });

  test('a command that the CLI answers by itself counts by its words', () => {
    expect(play(recorded('local-command')).ending).toMatchObject({ ok: true });
    const silent = {
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: '',
      stop_reason: null,
      session_id: 's',
    };
    expect(outcome(play([say.init(), silent]).ending)).toBe('input');
  });

  test('a result that claims success and an exit code that denies it do not agree', () => {
    const lines = [say.init(), done, say.result()];
    expect(outcome(play(lines, { exit: { code: 1, signal: null } }).ending)).toBe('unclassified');
  });
});

describe('permissions', () => {
  test('a denied call is no success, though the CLI exits with 0', () => {
    const { ending } = play(recorded('hooks-denied'));
    expect(outcome(ending)).toBe('policy');
    expect(ending).toMatchObject({
      failure: { denied: [{ tool: 'Bash', summary: 'echo one >> effects.log && echo EFFECT_OK_one' }] },
    });
  });

  test('a hook of the user that stops the run or puts a call off is named', () => {
    const stopped = say.result({ terminal_reason: 'hook_stopped' });
    expect(outcome(play([say.init(), done, stopped]).ending)).toBe('policy');
    const deferred = say.result({
      stop_reason: 'tool_deferred',
      terminal_reason: 'tool_deferred',
      deferred_tool_use: { id: 'c1', name: 'Bash', input: {} },
    });
    expect(play([say.init(), done, deferred]).ending).toMatchObject({ failure: { denied: [{ tool: 'Bash' }] } });
  });
});

describe('sessions', () => {
  const id = '11111111-1111-4111-8111-111111111111';

  test('an id that nobody knows is a lost context, and no target', () => {
    const played = play(recorded('resume-unknown'), { mode: 'resume', sessionId: id, exit: { code: 1, signal: null } });
    expect(outcome(played.ending)).toBe('context-lost');
    expect(played.ending).toMatchObject({ failure: { type: 'session_not_found' } });
    expect(played.target).toBeUndefined();
  });

  test('an id that nobody knows stays that, even if the CLI answers under another one', () => {
    const lines = recorded('resume-unknown').map((line) =>
      line.replace(`"session_id":"${id}"`, '"session_id":"another"'),
    );
    expect(play(lines, { mode: 'resume', sessionId: id }).ending).toMatchObject({
      failure: { type: 'session_not_found' },
    });
  });

  test('a resume that goes on in another session is a lost context, even when it succeeds', () => {
    const lines = [say.init(), done, say.result()];
    const { ending } = play(lines, { mode: 'resume', sessionId: id });
    expect(ending).toMatchObject({ ok: false, failure: { type: 'session_changed' } });
    expect(outcome(ending)).toBe('context-lost');
    expect(play(lines, { mode: 'create', sessionId: id }).ending.ok).toBe(true);
  });

  test('an id that is taken is a conflict', () => {
    const stderr = `Error: Session ID ${id} is already in use.\n`;
    expect(outcome(play([], { stderr, exit: { code: 1, signal: null } }).ending)).toBe('conflict');
  });

  test('a history that the provider will never accept is a lost context, not bad input', () => {
    const text = 'API Error: 400 due to tool use concurrency issues.';
    const { ending } = play([say.init(), say.error('invalid_request', text), say.failed(text, 400)]);
    expect(outcome(ending)).toBe('context-lost');
  });
});

describe('what the coordinator found', () => {
  const idle = { message: 'No sign of life for 300 s.', process: 'idle-timeout' } as const;

  test('a result that was printed wins over how the process went', () => {
    const lines = [say.init(), done, say.result()];
    const exit = { code: null, signal: 'SIGKILL' };
    expect(play(lines, { exit, failure: { message: 'ended', process: 'idle-timeout' } }).ending.ok).toBe(true);
    expect(play(lines, { exit: { code: 143, signal: null } }).ending.ok).toBe(true);
  });

  test('an interrupt of ours is told by its reason', () => {
    const exit = { code: 1, signal: null };
    const { ending } = play(recorded('interrupt-after-tool'), { exit, failure: idle });
    expect(ending).toEqual({ ok: false, failure: { ...idle, exit } });
  });

  test('an interrupt of somebody else is an interruption', () => {
    const { ending } = play(recorded('interrupt-mid-tool'), { exit: { code: 1, signal: null } });
    expect(ending).toMatchObject({ failure: { message: 'Claude Code was interrupted.', type: 'interrupted' } });
    expect(outcome(ending)).toBe('incomplete');
  });

  test('without a result it is the failure, with what the CLI was struggling with as its cause', () => {
    const { ending } = play([say.init(), say.retry(2, 529, 'overloaded')], { failure: idle });
    expect(ending).toMatchObject({
      failure: { process: 'idle-timeout', cause: { status: 529, category: 'overloaded' } },
    });
  });

  test('what the CLI has got over is no cause any more', () => {
    const stuck = [say.init(), say.retry(2, 529, 'overloaded')];
    const broken = [say.init(), say.call('c1', 'Bash', {}), say.error('server_error', overloaded)];
    for (const lines of [
      [...stuck, done],
      [...stuck, ...say.streamed('m1')],
      [...broken, say.returned('c1', 'ok')],
    ])
      expect(play(lines, { failure: idle }).ending).toEqual({
        ok: false,
        failure: { ...idle, exit: { code: 0, signal: null } },
      });
    expect(play(broken, { failure: idle }).ending).toHaveProperty('failure.cause');
  });

  test('a failure that the CLI printed keeps it as its cause', () => {
    const { ending } = play([say.init(), say.error('server_error', overloaded), say.failed(overloaded, 529)], {
      failure: idle,
    });
    expect(ending).toMatchObject({ failure: { status: 529, cause: idle } });
  });

  test.each([
    ["error: unknown option '--no-such-flag'", 'input'],
    ['--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons', 'input'],
    ['Error: Invalid MCP configuration:\nMCP config file not found: /nope.json', 'input'],
    ['Warning: something harmless\nError: Settings file not found: /nope.json', 'input'],
    ['Segmentation fault', 'crash'],
  ])('before the session began, standard error is the CLI speaking: %s', (stderr, expected) => {
    const { ending } = play([], { stderr, exit: { code: 1, signal: null } });
    expect(outcome(ending)).toBe(expected);
    expect(ending).toMatchObject({ failure: { exit: { code: 1, signal: null } } });
  });

  test("once it began, standard error is anybody's", () => {
    const stderr = 'Credit balance is too low';
    expect(outcome(play([say.init()], { stderr, exit: { code: 1, signal: null } }).ending)).toBe('crash');
  });

  test('the rule that read a text is named with its version', () => {
    const { ending } = play([], { stderr: "error: unknown option '--x'", exit: { code: 1, signal: null } });
    expect(ending.ok ? '' : classify(ending.failure).rule).toBe('claude-text/1:usage');
  });
});
