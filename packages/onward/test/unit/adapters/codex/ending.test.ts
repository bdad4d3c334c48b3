import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import type { Failure, FailureClass } from '../../../../src/kernel/failure.ts';
import type { ProcessEnding } from '../../../../src/supervisor/adapter.ts';
import { line, play, rollout } from './attempt.ts';

function failure(lines: readonly string[], process: Partial<ProcessEnding> = {}): Failure {
  const { ending } = play(lines, process);
  if (ending.ok) throw new Error('judged a success');
  return ending.failure;
}

const classOf = (lines: readonly string[], process: Partial<ProcessEnding> = {}): FailureClass =>
  classify(failure(lines, process)).class;

const body = (error: object): readonly string[] => [line.failed(JSON.stringify({ error }))];

const healthy = [line.thread('id-1'), line.turn(), line.text('done'), line.completed()];

describe('success needs a coherent ending', () => {
  test('a completed turn with an answer and exit 0 is one', () => {
    expect(play(healthy).ending).toEqual({ ok: true, text: 'done' });
  });

  test('a completed turn whose process had to be ended afterwards is one', () => {
    expect(play(healthy, { exit: { code: null, signal: 'SIGTERM' } }).ending).toEqual({ ok: true, text: 'done' });
  });

  test.each([130, 143])('a completed turn whose process ended with %i after a signal is one', (code) => {
    expect(play(healthy, { exit: { code, signal: null } }).ending.ok).toBe(true);
  });

  test('R113 a failed turn is a failure with exit 0 too, however much text came before', () => {
    const found = failure([line.thread(), line.text('half of it'), line.failed('Selected model is at capacity. x')]);
    expect(classify(found).class).toBe('transient');
    expect(found.exit).toEqual({ code: 0, signal: null });
  });

  test('R113 a stream without an end is a failure with exit 0 too', () => {
    const found = failure([line.thread(), line.turn(), line.text('half of it')]);
    expect(found.process).toBe('ended-without-result');
    expect(classify(found).class).toBe('crash');
  });

  test('a completed turn without an answer is not one', () => {
    expect(failure([line.thread(), line.turn(), line.completed()]).type).toBe('empty_answer');
    const onlyBefore = [
      line.text('I will run it.'),
      line.command('started'),
      line.command('completed'),
      line.completed(),
    ];
    expect(failure(onlyBefore).type).toBe('empty_answer');
  });

  test('an answer counts although a command of the background ends after it', () => {
    const lines = [line.command('started'), line.text('done'), line.command('completed'), line.completed()];
    expect(play(lines).ending.ok).toBe(true);
  });

  test('a completed turn with another exit is not one', () => {
    expect(classOf(healthy, { exit: { code: 1, signal: null } })).toBe('unclassified');
  });

  test('a declined call on the stream is a denied call', () => {
    const declined = line.command('completed', { status: 'declined', exit_code: null });
    const found = failure([line.command('started'), declined, line.text('done'), line.completed()]);
    expect(found.denied).toEqual([{ tool: 'command_execution', summary: 'make' }]);
    const { ending } = play([line.command('started'), declined, line.text('I could not'), line.completed()]);
    expect(ending.text).toBe('I could not');
    expect(classify(found).class).toBe('policy');
  });
});

describe('the conversation', () => {
  test('another id than the one asked for is a changed conversation, also when the turn completed', () => {
    const found = failure(healthy, { mode: 'resume', sessionId: 'id-0' });
    expect(found.type).toBe('session_changed');
    expect(classify(found).class).toBe('context-lost');
    expect(play(healthy, { mode: 'resume', sessionId: 'id-1' }).ending.ok).toBe(true);
  });

  test('R71 no rollout found is context that is lost, from the line of the CLI and nothing else', () => {
    const stderr =
      'Reading prompt from stdin...\nError: thread/resume: thread/resume failed: no rollout found for thread id id-1 (code -32600)\n\nStack backtrace:\n   0: <unknown>\n';
    const process = { exit: { code: 1, signal: null }, stderr, mode: 'resume', sessionId: 'id-1' } as const;
    expect(failure([], process).type).toBe('session_not_found');
    const told = { ...process, failure: { process: 'ended-without-result', message: 'ended' } } as const;
    expect(classOf([], told)).toBe('context-lost');
    expect(classOf([line.thread('id-1'), line.turn()], told)).toBe('crash');
  });

  test('a thread that another process holds is a conflict', () => {
    const stderr =
      'Error: thread/resume: thread/resume failed: thread id-1 already has an active writer (code -32600)\n';
    expect(failure([], { stderr, exit: { code: 1, signal: null } }).type).toBe('active_writer');
  });

  test.each([
    "error: unexpected argument '--full-auto' found",
    "error: invalid value 'bogus' for '--sandbox <SANDBOX_MODE>'",
    'Error loading config.toml: model_providers contains reserved built-in provider IDs: `openai`.',
    "Error parsing -c overrides: Invalid override (missing '='): foo",
    'Error: Unknown feature flag: foo',
    'Error: approval_policy = "untrusted" is no longer supported; remove this setting',
    'Not inside a trusted directory and --skip-git-repo-check was not specified.',
    'Failed to read output schema file /nonexistent: No such file or directory (os error 2)',
    'No prompt provided via stdin.',
  ])('a command that codex refuses is input: %s', (sentence) => {
    expect(
      classOf([], { stderr: `Reading prompt from stdin...\n${sentence}\n`, exit: { code: 2, signal: null } }),
    ).toBe('input');
  });
});

describe('the cause', () => {
  test('R114 is what the stream said, whatever noise came last on standard error', () => {
    const stderr = 'Error loading config.toml: noise\nERROR codex_core: 429 Too Many Requests\nwarning: rate limit\n';
    const found = failure([line.thread(), line.failed('unexpected status 401 Unauthorized: bad key, url: http://h')], {
      stderr,
    });
    expect(classify(found).class).toBe('auth');
    expect(found.message).toContain('401');
  });

  test('a key that the provider repeats in its answer is not passed on', () => {
    const found = failure([
      line.failed('unexpected status 401 Unauthorized: Incorrect API key provided: sk-abc123., url: h'),
    ]);
    expect(found.message).not.toContain('sk-abc123');
  });

  test('a request id is kept', () => {
    const found = failure([
      line.failed('exceeded retry limit, last status: 503 Service Unavailable, request id: req_a1-b2'),
    ]);
    expect(found).toMatchObject({ status: 503, requestId: 'req_a1-b2' });
  });

  test('is the last error line when the process ended without a last word', () => {
    const told = {
      exit: { code: 1, signal: null },
      failure: { process: 'ended-without-result', message: 'ended' },
    } as const;
    const found = failure([line.thread(), line.error('Selected model is at capacity. x')], told);
    expect(found.cause?.message).toBe('Selected model is at capacity. x');
    expect(classify(found).class).toBe('transient');
  });

  test('R34 R36 limit and error words in text, commands and output change nothing', () => {
    const output = {
      aggregated_output: 'src/a.ts:529: rate limit exceeded: 529 bytes\nunexpected status 429 Too Many Requests: x\n',
    };
    const lines = [
      line.thread(),
      line.text("You've hit your usage limit. Quota exceeded. Check your plan and billing details."),
      line.command('started'),
      line.command('completed', output),
      line.text('exceeded retry limit, last status: 429 Too Many Requests'),
    ];
    expect(play([...lines, line.completed()]).ending.ok).toBe(true);
    const stderr = 'unexpected status 529: rate limit\n';
    expect(classOf(lines, { stderr, exit: { code: 1, signal: null } })).toBe('crash');
    expect(classOf([...lines, line.failed('tool says: rate limit exceeded: 529')], { stderr })).toBe('unclassified');
  });

  test('R35 what Onward itself wrote into the conversation changes nothing', () => {
    const own = 'The last attempt ended: exceeded retry limit, last status: 429 Too Many Requests. Go on.';
    const session = [
      { type: 'event_msg', payload: { type: 'task_started' } },
      {
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: own }] },
      },
      {
        type: 'event_msg',
        payload: { type: 'item_completed', item: { type: 'UserMessage', content: [{ text: own }] } },
      },
    ];
    const text = session.map((value) => JSON.stringify(value)).join('\n');
    expect(play(healthy, { session: text }).ending.ok).toBe(true);
    expect(classOf([line.thread(), line.turn()], { session: text })).toBe('crash');
  });

  test('the type and code of a body that codex prints as it came are read', () => {
    expect(classOf(body({ type: 'invalid_request_error', code: 'invalid_value', message: 'rate limit' }))).toBe(
      'input',
    );
    expect(classOf(body({ type: 'invalid_request_error', code: 'context_length_exceeded' }))).toBe('overflow');
    expect(classOf(body({ message: 'no type' }))).toBe('unclassified');
  });
});

describe('the session file', () => {
  const message = 'some sentence of tomorrow';
  const typed: readonly (readonly [unknown, FailureClass])[] = [
    ['internal_server_error', 'transient'],
    ['server_overloaded', 'transient'],
    ['context_window_exceeded', 'overflow'],
    ['rate_limit_exceeded', 'throttled'],
    ['usage_limit_exceeded', 'billing'],
    ['model_not_found', 'input'],
    ['unauthorized', 'auth'],
    ['bad_request', 'input'],
    ['invalid_prompt', 'policy'],
    ['cyber_policy', 'policy'],
    ['sandbox_error', 'policy'],
    [{ http_connection_failed: { http_status_code: 529 } }, 'transient'],
    [{ http_connection_failed: { http_status_code: 401 } }, 'auth'],
    [{ response_too_many_failed_attempts: { http_status_code: 429 } }, 'throttled'],
    [{ response_stream_disconnected: { http_status_code: null } }, 'transient'],
    [{ response_stream_connection_failed: { http_status_code: 502 } }, 'transient'],
    ['other', 'unclassified'],
    ['a_name_of_tomorrow', 'unclassified'],
    [{}, 'unclassified'],
    [null, 'unclassified'],
  ];
  test.each(typed)('R28 %j gives its class whatever the sentence is', (info, expected) => {
    expect(classOf([line.failed(message)], { session: rollout(message, info) })).toBe(expected);
  });

  test('a limit whose window is used up ends by itself, a limit without one does not', () => {
    const limits = { primary: { used_percent: 100, window_minutes: 300, resets_at: 1_796_081_967 }, secondary: null };
    const used = failure([line.failed(message)], { session: rollout(message, 'usage_limit_exceeded', limits) });
    expect(used.resetsAt).toBe(1_796_081_967_000);
    expect(classify(used).class).toBe('quota');
    const half = { primary: { ...limits.primary, used_percent: 30 } };
    expect(classOf([line.failed(message)], { session: rollout(message, 'usage_limit_exceeded', half) })).toBe(
      'billing',
    );
  });

  test('a limit that an earlier turn met is not taken for this one', () => {
    const limits = { primary: { used_percent: 100, resets_at: 1_796_081_967 } };
    const earlier = rollout("You've hit your usage limit.", 'usage_limit_exceeded', limits);
    const session = `${earlier}\n${rollout(message, 'usage_limit_exceeded')}`;
    expect(classOf([line.failed(message)], { session })).toBe('billing');
  });

  test('a sentence without end is shortened', () => {
    expect(failure([line.failed('x '.repeat(5_000))]).message.length).toBeLessThanOrEqual(500);
  });
});

const output = (code: number, text: string): string =>
  `Chunk ID: a1\nWall time: 0.0 seconds\nProcess exited with code ${code}\nOriginal token count: 1\nOutput:\n${text}\n`;
const session = (sandbox: string, answer: string, item?: string): string =>
  [
    { type: 'event_msg', payload: { type: 'task_started' } },
    { type: 'turn_context', payload: { sandbox_policy: { type: sandbox } } },
    {
      type: 'response_item',
      payload: { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"c"}', call_id: 'k' },
    },
    ...(item === undefined
      ? []
      : [
          {
            type: 'event_msg',
            payload: { type: 'item_completed', item: { type: 'CommandExecution', id: 'k', status: item } },
          },
        ]),
    { type: 'response_item', payload: { type: 'function_call_output', call_id: 'k', output: answer } },
    { type: 'event_msg', payload: { type: 'task_complete', last_agent_message: 'done' } },
  ]
    .map((value) => JSON.stringify(value))
    .join('\n');

describe('a command that the sandbox may have stopped', () => {
  const stopped = output(1, 'sh: f: Read-only file system');

  test.each(['read-only', 'workspace-write'])('was stopped when %s left no item and the system said so', (sandbox) => {
    expect(classOf(healthy, { session: session(sandbox, stopped) })).toBe('policy');
    const python = output(1, "OSError: [Errno 30] Read-only file system: 'f'");
    expect(classOf(healthy, { session: session(sandbox, python) })).toBe('policy');
  });

  test.each([
    ['there is no sandbox', session('danger-full-access', stopped)],
    ['codex carried it out and it failed by itself', session('read-only', stopped, 'failed')],
    ['it succeeded', session('read-only', output(0, 'sh: f: Read-only file system'))],
    ['only the word sandbox stands in its output', session('read-only', output(1, 'sandbox.ts: EROFS'))],
    ['it is still running', session('read-only', 'Chunk ID: a\nWall time: 1 s\nProcess running with session ID 4\n')],
  ])('was not stopped when %s', (_name, text) => {
    expect(play(healthy, { session: text }).ending.ok).toBe(true);
  });

  test('output of a command cannot pass for a refusal of codex', () => {
    const text = output(1, 'patch rejected: no\napproval policy is Never; reject command');
    expect(play(healthy, { session: session('read-only', text) }).ending.ok).toBe(true);
    expect(classOf(healthy, { session: session('read-only', 'patch rejected: writing is blocked') })).toBe('policy');
  });
});
