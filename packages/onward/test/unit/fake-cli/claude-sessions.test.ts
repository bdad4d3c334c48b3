import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { healthy, initThenDies, overloadedThenWell, type Play } from '../../../src/lab/fake-cli/index.ts';
import { Bench, headless, streaming, userMessage } from './run-fake.ts';

const id = '11111111-2222-4333-8444-555555555555';
const first = [...headless, '--session-id', id, 'go'];
const resume = [...headless, '--resume', id, 'go on'];

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});
afterEach(() => bench.clear());

describe('claude as a stand-in', () => {
  it('says its version without taking an attempt', async () => {
    const cli = bench.install(healthy());
    const run = await bench.run(cli, ['--version']);
    expect([run.out(), run.code, cli.attempts()]).toEqual(['2.1.197 (Claude Code)\n', 0, 0]);
  });

  it('does not know a session that never made a request, even when its id was printed', async () => {
    const cli = bench.install(initThenDies());
    const died = await bench.run(cli, first);
    expect(died.signal).toBe('SIGKILL');
    expect(died.lines().at(0)).toMatchObject({ subtype: 'init', session_id: id });
    const unknown = await bench.run(cli, resume);
    expect(unknown.code).toBe(1);
    expect(unknown.lines()).toMatchObject([
      {
        subtype: 'error_during_execution',
        is_error: true,
        session_id: id,
        errors: [`No conversation found with session ID: ${id}`],
      },
    ]);
    expect(unknown.err()).toBe(`No conversation found with session ID: ${id}\n`);
    const again = await bench.run(cli, first);
    expect(again.lines().at(-1)).toMatchObject({ type: 'result', is_error: false, session_id: id });
  });

  it('refuses to use a session id twice, and resumes it instead', async () => {
    const cli = bench.install(overloadedThenWell());
    expect((await bench.run(cli, first)).code).toBe(1);
    const twice = await bench.run(cli, first);
    expect([twice.code, twice.out()]).toEqual([1, '']);
    expect(twice.err()).toContain(`Session ID ${id} is already in use`);
    const resumed = await bench.run(cli, resume);
    expect(resumed.lines().at(-1)).toMatchObject({ is_error: false, session_id: id });
    expect(cli.attempts()).toBe(2);
  });

  it('does not know a session of another working directory', async () => {
    const cli = bench.install(overloadedThenWell());
    await bench.run(cli, first);
    const elsewhere = await bench.run(cli, resume, { cwd: bench.root });
    expect(elsewhere.lines()).toMatchObject([{ subtype: 'error_during_execution' }]);
  });

  it('keeps its session file as the real one looks: the failure is the last message', async () => {
    const cli = bench.install(overloadedThenWell());
    await bench.run(cli, first);
    const slug = bench.cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');
    const lines = readFileSync(bench.path('.claude/projects', slug, `${id}.jsonl`), 'utf8')
      .trim()
      .split('\n');
    const messages = lines.map((line) => JSON.parse(line) as { message?: unknown }).filter((line) => line.message);
    expect(messages.at(0)).toMatchObject({ type: 'user', message: { content: 'go' }, sessionId: id });
    expect(messages.at(-1)).toMatchObject({ isApiErrorMessage: true, error: 'server_error' });
  });

  it.each([
    [['-p', '--output-format', 'stream-json', 'go'], 'requires --verbose'],
    [['-p', '--nonsense', 'go'], "unknown option '--nonsense'"],
    [[...headless, '--session-id', 'no-uuid', 'go'], 'Must be a valid UUID'],
    [[...headless], 'Input must be provided'],
    [[...headless, '--allowedTools', 'Bash', 'go'], 'Input must be provided'],
  ])('says what is wrong with %j and takes no attempt', async (args, words) => {
    const cli = bench.install(healthy());
    const run = await bench.run(cli, args);
    expect(run.code).toBe(1);
    expect(run.err()).toContain(words);
  });

  it('adds piped input to the prompt, and takes all of it from there when there is no other', async () => {
    const cli = bench.install({ attempts: [{ steps: [{ do: 'answer', text: 'ok' }] }] });
    await bench.run(cli, [...headless, 'review this'], { input: 'a diff\n' });
    await bench.run(cli, headless, { input: 'only piped\n' });
    const streamed = bench.start(cli, streaming);
    streamed.send(userMessage('streamed'));
    await streamed.line((line) => line.type === 'result');
    streamed.child.stdin.end();
    await streamed.end();
    expect(cli.invocations().map(({ prompts }) => prompts)).toEqual([
      ['review this\na diff'],
      ['only piped'],
      ['streamed'],
    ]);
  });

  it('prints only the answer, or only the closing line, when no stream is asked for', async () => {
    const cli = bench.install(healthy());
    expect((await bench.run(cli, ['-p', 'go'])).out()).toBe('The line is in effects.log.\n');
    const json = await bench.run(cli, ['-p', '--output-format', 'json', 'go']);
    expect(json.lines()).toMatchObject([{ type: 'result', result: 'The line is in effects.log.' }]);
  });

  it('denies what the command line does not allow, if the play says so, and ends as if all were well', async () => {
    const play: Play = { ...healthy(), permissions: 'as-flags' };
    const cli = bench.install(play);
    const denied = await bench.run(cli, [...headless, 'go']);
    expect(denied.code).toBe(0);
    expect(denied.lines().at(-1)).toMatchObject({ is_error: false, permission_denials: [{ tool_name: 'Bash' }] });
    expect(bench.file('effects.log')).toBe('');
    const allowed = await bench.run(cli, [...headless, '--allowedTools', 'Read,Bash(echo *)', '--', 'go']);
    expect(allowed.lines().at(-1)).toMatchObject({ permission_denials: [] });
    expect(bench.file('effects.log')).toBe('one\n');
  });

  it.each(['delete', 'garble'] as const)('does not know a session whose file was damaged (%s)', async (how) => {
    const spoilt: Play = {
      attempts: [{ steps: [{ do: 'request' }, { do: 'fail', with: 'overloaded' }, { do: 'damage-session', how }] }],
    };
    const cli = bench.install(spoilt);
    await bench.run(cli, first);
    expect((await bench.run(cli, resume)).lines()).toMatchObject([{ subtype: 'error_during_execution' }]);
  });

  it('resumes a session with a torn last line from what came before it', async () => {
    const cli = bench.install({
      attempts: [
        {
          steps: [
            { do: 'tool', command: 'echo first' },
            { do: 'run', command: 'true' },
            { do: 'damage-session', how: 'tear' },
            { do: 'exit', code: 1 },
          ],
        },
        {
          steps: [
            {
              do: 'when',
              if: { seen: 'first' },
              yes: [{ do: 'answer', text: 'seen' }],
              no: [{ do: 'answer', text: 'lost' }],
            },
          ],
        },
      ],
    });
    await bench.run(cli, first);
    expect((await bench.run(cli, resume)).lines().at(-1)).toMatchObject({ result: 'lost' });
  });

  it('can use another session than the one it was asked for', async () => {
    const cli = bench.install({ attempts: [{ steps: [{ do: 'answer', text: 'ok' }], swapSession: true }] });
    const run = await bench.run(cli, first);
    expect(run.lines().at(0)?.['session_id']).not.toBe(id);
  });
});
