import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  appendTask,
  deniedTools,
  failsThenWell,
  innerRetryHeals,
  killedInTool,
  killedInWindow,
  limitWordsInOutput,
  overloadedAfterTool,
  taskSteps,
  unknownSession,
  type PlayTemperament,
} from '../../../src/lab/fake-cli/index.ts';
import { Bench, headless, isAlive } from './run-fake.ts';

const id = '11111111-2222-4333-8444-555555555555';
const first = [...headless, '--session-id', id, 'go'];
const resume = (prompt: string): string[] => [...headless, '--resume', id, prompt];
const task = appendTask();

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

describe('after a kill in a tool', () => {
  it.each<[PlayTemperament, string, number]>([
    ['naive', 'go on', 2],
    ['naive', `go on; it printed ${task.evidence}`, 2],
    ['reader', 'go on', 2],
    ['reader', `go on; it printed ${task.evidence}`, 1],
    ['checker', 'go on', 1],
  ])('a %s model told "%s" leaves %i effects', async (temperament, prompt, effects) => {
    const cli = bench.install(killedInTool(task, bench.path('ready'), temperament));
    const died = await bench.run(cli, first);
    expect([died.signal, bench.file('effects.log')]).toEqual(['SIGKILL', 'one\n']);
    expect(
      cli
        .invocations()
        .flatMap(({ toolPids }) => toolPids)
        .map(isAlive),
    ).toEqual([true]);
    const resumed = await bench.run(cli, resume(prompt));
    expect(resumed.lines().at(-1)).toMatchObject({ is_error: false, result: task.answer });
    expect(bench.file('effects.log')).toBe('one\n'.repeat(effects));
  });
});

describe('the evidence of a call', () => {
  it('is in the session when the message had ended: the resumed model does not repeat it', async () => {
    const cli = bench.install(overloadedAfterTool());
    await bench.run(cli, first);
    await bench.run(cli, resume('go on'));
    expect(bench.file('effects.log')).toBe('one\n');
  });

  it('is lost with the open message, although it was printed', async () => {
    const cli = bench.install(killedInWindow());
    const died = await bench.run(cli, first);
    expect(died.out()).toContain(task.evidence);
    await bench.run(cli, resume('go on'));
    expect(bench.file('effects.log')).toBe('one\none\n');
  });

  it('is not the command itself, which a reader sees too', () => {
    expect(task.command).not.toContain(task.evidence);
  });
});

describe('ready-made plays', () => {
  it('are made of steps that can stand among others', async () => {
    const other = appendTask('other.log');
    const steps = [...taskSteps(task, 'naive').slice(0, -1), ...taskSteps(other, 'naive')];
    await bench.run(bench.install({ attempts: [{ steps }] }), first);
    expect([bench.file('effects.log'), bench.file('other.log')]).toEqual(['one\n', 'one\n']);
  });

  it('failsThenWell fails as often as it is told', async () => {
    const cli = bench.install(failsThenWell('throttled', 2));
    const codes = [(await bench.run(cli, first)).code];
    for (let run = 0; run < 2; run++) codes.push((await bench.run(cli, resume('go on'))).code);
    expect(codes).toEqual([1, 1, 0]);
  });

  it('deniedTools ends as if all were well, with nothing done', async () => {
    const run = await bench.run(bench.install(deniedTools()), first);
    expect(run.code).toBe(0);
    expect(run.lines().at(-1)).toMatchObject({ is_error: false, permission_denials: [{ tool_name: 'Bash' }] });
    expect(bench.file('effects.log')).toBe('');
  });

  it('unknownSession does not know its session once, whatever is on disk', async () => {
    const cli = bench.install(unknownSession());
    await bench.run(cli, first);
    expect((await bench.run(cli, resume('go on'))).lines()).toMatchObject([
      { errors: [expect.stringContaining('No conversation found')] },
    ]);
    expect((await bench.run(cli, resume('go on'))).code).toBe(0);
  });

  it('innerRetryHeals shows retries and ends well', async () => {
    const run = await bench.run(bench.install(innerRetryHeals(2)), first);
    expect(run.lines().filter((line) => line['subtype'] === 'api_retry')).toMatchObject([
      { attempt: 1, error_status: 429 },
      { attempt: 2, error_status: 429 },
    ]);
    expect(run.code).toBe(0);
  });

  it.each(['claude', 'codex'] as const)(
    'limitWordsInOutput says limit words everywhere as %s, and nothing is wrong',
    async (name) => {
      const run = await bench.run(
        bench.install(limitWordsInOutput(), name),
        name === 'claude' ? first : ['exec', '--json', 'go'],
      );
      expect(run.code).toBe(0);
      expect(run.out()).toMatch(/429 rate limit exceeded/);
      expect(run.out()).toMatch(/529 bytes; usage limit reached/);
      expect(run.lines().some((line) => line.type === 'error' || line['is_error'] === true)).toBe(false);
    },
  );
});
