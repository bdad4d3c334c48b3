import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { existsSync, readFileSync } from 'node:fs';
import type { Attempt, Play, PlayStep } from '../../../src/lab/fake-cli/index.ts';
import { Bench, isAlive, streaming, until, userMessage, type Line, type Running } from './run-fake.ts';

const id = '11111111-2222-4333-8444-555555555555';
const hooks = {
  type: 'control_request',
  request_id: 'init',
  request: {
    subtype: 'initialize',
    hooks: {
      PreToolUse: [{ matcher: null, hookCallbackIds: ['pre'] }],
      PostToolUse: [{ matcher: 'Bash', hookCallbackIds: ['post'] }],
      PostToolUseFailure: [{ hookCallbackIds: ['failed'] }],
    },
  },
};
const interrupt = { type: 'control_request', request_id: 'stop', request: { subtype: 'interrupt' } };
const playOf = (...steps: readonly PlayStep[]): Play => ({ attempts: [{ steps }] });
const oneTool = playOf(
  { do: 'tool', command: 'echo one >> effects.log; echo did it', id: 'call-1' },
  { do: 'answer', text: 'done' },
);

const isHook =
  (callback: string) =>
  (line: Line): boolean =>
    (line['request'] as { callback_id?: string } | undefined)?.callback_id === callback;
const isQuestion = (line: Line): boolean =>
  (line['request'] as { subtype?: string } | undefined)?.subtype === 'can_use_tool';
const isResult = (line: Line): boolean => line.type === 'result';
const answer = (question: Line, response: unknown): Line => ({
  type: 'control_response',
  response: { subtype: 'success', request_id: question['request_id'], response },
});

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

function begin(play: Play, first: readonly Line[] = [hooks], args: readonly string[] = []): Running {
  const run = bench.start(bench.install(play), [...streaming, '--session-id', id, ...args]);
  run.send(...first, userMessage('go'));
  return run;
}

async function ended(run: Running): Promise<number | null> {
  run.child.stdin.end();
  return (await run.end()).code;
}

function sessionFile(): string {
  const slug = bench.cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');
  return readFileSync(bench.path('.claude/projects', slug, `${id}.jsonl`), 'utf8');
}

describe('hooks in the stream', () => {
  it('hold the tool back until they are answered, before it and after it', async () => {
    const run = begin(oneTool);
    expect(await run.line((line) => line.type === 'control_response')).toMatchObject({
      response: { subtype: 'success', request_id: 'init' },
    });
    const before = await run.line(isHook('pre'));
    expect(before).toMatchObject({
      request: {
        subtype: 'hook_callback',
        tool_use_id: 'call-1',
        input: { hook_event_name: 'PreToolUse', tool_name: 'Bash', session_id: id, tool_use_id: 'call-1' },
      },
    });
    expect(bench.file('effects.log')).toBe('');
    run.send(answer(before, {}));
    const after = await run.line(isHook('post'));
    expect(bench.file('effects.log')).toBe('one\n');
    expect(after).toMatchObject({ request: { input: { tool_response: { stdout: 'did it' } } } });
    expect(run.lines().some((line) => line.type === 'user')).toBe(false);
    run.send(answer(after, {}));
    await run.line(isResult);
    expect(await ended(run)).toBe(0);
  });

  it('can deny a call: it does not run, and the model is told the reason', async () => {
    const run = begin(oneTool);
    const deny = { hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'it was done before' } };
    run.send(answer(await run.line(isHook('pre')), deny));
    expect(await run.line((line) => line.type === 'user')).toMatchObject({
      message: { content: [{ content: 'it was done before', is_error: true, tool_use_id: 'call-1' }] },
    });
    expect(await run.line(isResult)).toMatchObject({ permission_denials: [{ tool_use_id: 'call-1' }] });
    expect([await ended(run), bench.file('effects.log')]).toEqual([0, '']);
  });

  it('hear of a failed tool by another event', async () => {
    const run = begin(playOf({ do: 'tool', command: 'echo no >&2; exit 3' }, { do: 'answer', text: 'done' }));
    run.send(answer(await run.line(isHook('pre')), {}));
    const failed = await run.line(isHook('failed'));
    expect(failed).toMatchObject({ request: { input: { error: expect.stringContaining('Exit code 3') as string } } });
    run.send(answer(failed, {}));
    await run.line(isResult);
    expect(await ended(run)).toBe(0);
  });

  it('are open when the other side is gone: the tool runs and the task is finished alone', async () => {
    const run = begin(oneTool);
    await run.line(isHook('pre'));
    run.child.stdin.end();
    expect((await run.end()).code).toBe(0);
    expect(run.lines().at(-1)).toMatchObject({ type: 'result', is_error: false });
    expect(run.err()).toContain('Error in hook callback pre');
    expect(run.lines().filter((line) => line.type === 'control_request')).toHaveLength(1);
    expect(bench.file('effects.log')).toBe('one\n');
  });

  it('are not asked when nobody registered any', async () => {
    const run = begin(oneTool, []);
    await run.line(isResult);
    expect(await ended(run)).toBe(0);
    expect(run.lines().some((line) => line.type === 'control_request')).toBe(false);
  });
});

describe('the permission question', () => {
  const asking = ['--permission-prompt-tool', 'stdio'];

  it.each([
    ['allow', 'one\n'],
    ['deny', ''],
  ])('is answered with %s', async (behavior, effects) => {
    const run = begin(oneTool, [], asking);
    run.send(answer(await run.line(isQuestion), { behavior, message: 'no' }));
    await run.line(isResult);
    expect([await ended(run), bench.file('effects.log')]).toEqual([0, effects]);
  });

  it('is closed when the other side is gone: the tool does not run', async () => {
    const run = begin(oneTool, [], asking);
    await run.line(isQuestion);
    expect([await ended(run), bench.file('effects.log')]).toEqual([0, '']);
  });
});

describe('an interrupt', () => {
  const slow: PlayStep = {
    do: 'tool',
    command: 'echo $$ > pid; echo one >> effects.log; exec sleep 600',
    id: 'call-1',
  };
  const resumed: Attempt = {
    steps: [
      {
        do: 'when',
        if: { seen: 'EFFECT' },
        yes: [{ do: 'answer', text: 'known' }],
        no: [{ do: 'answer', text: 'unknown' }],
      },
    ],
  };
  const resume = [...streaming.slice(0, 4), '--resume', id, 'go on'];

  it('in the middle of text ends the turn, then the end of the input ends the process with 1', async () => {
    const run = begin(playOf({ do: 'request' }, { do: 'delta', text: 'I will' }, { do: 'hang' }));
    await run.line((line) => line['subtype'] === 'init');
    run.send(interrupt);
    expect(await run.line(isResult)).toMatchObject({
      subtype: 'error_during_execution',
      terminal_reason: 'aborted_streaming',
      is_error: true,
    });
    const acknowledged = run
      .lines()
      .findIndex((line) => (line['response'] as Line | undefined)?.['request_id'] === 'stop');
    expect(acknowledged).toBeGreaterThan(0);
    expect(acknowledged).toBeLessThan(run.lines().findIndex(isResult));
    expect(run.child.exitCode).toBeNull();
    expect(await ended(run)).toBe(1);
  });

  it('in a tool stops the tool and says that it was rejected', async () => {
    const run = begin(playOf({ do: 'request' }, slow), []);
    await until(() => bench.file('effects.log') !== '');
    const pid = Number(bench.file('pid'));
    run.send(interrupt);
    expect(await run.line(isResult)).toMatchObject({ terminal_reason: 'aborted_tools' });
    expect(run.lines().filter((line) => line.type === 'user')).toMatchObject([
      { message: { content: [{ tool_use_id: 'call-1', is_error: true }] } },
      { message: { content: [{ text: '[Request interrupted by user for tool use]' }] } },
    ]);
    expect(await ended(run)).toBe(1);
    await until(() => !isAlive(pid));
  });

  it('while a hook is open takes the question back first', async () => {
    const run = begin(oneTool);
    const question = await run.line(isHook('pre'));
    run.send(interrupt);
    await run.line(isResult);
    expect(await run.line((line) => line.type === 'control_cancel_request')).toMatchObject({
      request_id: question['request_id'],
    });
    expect([await ended(run), bench.file('effects.log')]).toEqual([1, '']);
  });

  it.each([
    ['an interrupt', 'known'],
    ['SIGKILL', 'unknown'],
    ['SIGINT', 'unknown'],
  ] as const)(
    'or a signal in an open message: after %s its finished call is %s to the next process',
    async (how, known) => {
      const open: Attempt = {
        steps: [{ do: 'request' }, { do: 'tool', command: 'printf EFF; echo ECT', window: 'open' }, { do: 'hang' }],
      };
      const cli = bench.install({ attempts: [open, resumed] });
      const run = bench.start(cli, [...streaming, '--session-id', id]);
      run.send(userMessage('go'));
      await run.line((line) => line.type === 'user');
      if (how === 'an interrupt') run.send(interrupt);
      else run.child.kill(how);
      await ended(run);
      expect(sessionFile().includes('tool_use')).toBe(known === 'known');
      expect((await bench.run(cli, resume)).lines().at(-1)).toMatchObject({ result: known });
    },
  );

  it('is not even answered where the play says so', async () => {
    const run = begin({ attempts: [{ steps: [{ do: 'hang' }], interrupt: 'ignore' }] }, []);
    await run.line((line) => line['subtype'] === 'init');
    run.send(interrupt, { type: 'control_request', request_id: 'later', request: { subtype: 'set_model' } });
    await run.line((line) => (line['response'] as Line | undefined)?.['request_id'] === 'later');
    expect(run.lines()).toHaveLength(2);
  });
});

describe('standard input', () => {
  it('without a message ends the process with 0, silent, and leaves no session', async () => {
    const run = bench.start(bench.install(oneTool), [...streaming, '--session-id', id]);
    expect([await ended(run), run.out()]).toEqual([0, '']);
    expect(existsSync(bench.path('.claude'))).toBe(false);
  });

  it('that is no JSON ends the process with 1', async () => {
    const run = bench.start(bench.install(oneTool), streaming);
    run.child.stdin.write('not json\n');
    expect((await run.end()).code).toBe(1);
    expect(run.err()).toContain('Error parsing streaming input line');
  });

  it('may hold another message for the same process, with a first line of its own', async () => {
    const run = begin(
      playOf({ do: 'answer', text: 'one' }, { do: 'wait', for: 'next-prompt' }, { do: 'answer', text: 'two' }),
      [],
    );
    await run.line(isResult);
    run.send(userMessage('and now?'));
    await run.line((line) => line['result'] === 'two');
    expect(run.lines().filter((line) => line['subtype'] === 'init')).toHaveLength(2);
    expect(await ended(run)).toBe(0);
  });
});
