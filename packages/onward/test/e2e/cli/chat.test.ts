import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ModelServer, startModelServer, type TurnScript } from '../../../src/lab/index.ts';
import { type Ended, jsonLines, type Onward, Place } from './support/place.ts';
import { until } from './support/until.ts';

const WIRES = [
  ['anthropic', 'anthropic-messages'],
  ['openai', 'openai-responses'],
  ['openai-chat', 'openai-chat'],
] as const;

/** A chat in a place of its own, against a model that says these things. */
class Scene {
  readonly place = new Place();
  readonly server: ModelServer;
  readonly env: Readonly<Record<string, string>>;

  private constructor(server: ModelServer, model: string) {
    this.server = server;
    this.env = {
      ONWARD_MODEL: model,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: KEY,
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: KEY,
    };
  }

  static async of(script: TurnScript, model = 'anthropic/lab'): Promise<Scene> {
    const server = await startModelServer({ script });
    onTestFinished(() => server[Symbol.asyncDispose]());
    return new Scene(server, model);
  }

  run(...args: readonly string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  start(...args: readonly string[]): Onward {
    return this.place.start(args, { env: this.env });
  }

  async json(...args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
    return jsonLines((await this.run(...args, '--json')).stdout) as readonly Record<string, unknown>[];
  }

  async question(): Promise<string> {
    const [first] = await this.json('questions');
    return String(first?.['id']);
  }
}

const KEY = 'canary-key-77b1';
const once = { name: 'shell', input: { command: 'echo once >> effects.log' } };
/** It tells that it runs, and then lasts. */
const lasting = { name: 'shell', input: { command: 'echo once >> effects.log; exec sleep 100' } };

function session({ stderr }: Ended): string {
  return /\bsession ([0-9a-f]{12})\n/.exec(stderr)?.[1] ?? '';
}

describe.each(WIRES)('a chat over %s', (provider, api) => {
  test('meets an overload and a cut answer, and prints its text once', async () => {
    const scene = await Scene.of(
      {
        turns: [
          { text: 'First I look.', calls: [{ name: 'read', input: { path: '.' } }] },
          { text: 'Nothing is here.' },
        ],
        faults: [
          { from: 1, fault: { kind: 'error', error: 'overloaded' } },
          { from: 3, fault: { kind: 'cut', at: 'text', how: 'rst' } },
        ],
      },
      `${provider}/lab`,
    );
    const ended = await scene.run('chat', 'What is here?');
    expect(ended.stdout).toBe('Nothing is here.\n');
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/^retry 1 of 5 in 0\.\d s: .*\(5\d\d\)$/m);
    expect(ended.stderr.match(/^retry /gm)).toHaveLength(2);
    expect(scene.server.requests.map((request) => request.api)).toEqual([api, api, api, api]);
    expect(ended.stderr + JSON.stringify(await scene.json('show'))).not.toContain(KEY);
  });
});

describe('a chat in a pipe', () => {
  test('with --json prints what counts, once, and the result last', async () => {
    const fault = { kind: 'cut', at: 'after-text', how: 'rst' } as const;
    const scene = await Scene.of({ turns: [{ text: 'Only once.' }], faults: [{ from: 1, fault }] });
    const lines = await scene.json('chat', 'Speak.');
    expect(lines.at(-1)).toMatchObject({ result: { kind: 'done', text: 'Only once.' } });
    const said = lines.filter((line) => line['type'] === 'block.closed');
    expect(said).toHaveLength(1);
    expect(lines.filter((line) => line['type'] === 'plugin.recorded')).toHaveLength(1);
    expect(lines.some((line) => String(line['type']).startsWith('live.'))).toBe(false);
  });

  test('takes its prompt from there, also behind one on the command line', async () => {
    const scene = await Scene.of({ turns: [{ text: 'One.' }, { text: 'Two.' }] });
    const first = await scene.place.onward(['chat'], { env: scene.env, input: 'from the pipe' });
    expect(first).toMatchObject({ code: 0, stdout: 'One.\n' });
    const id = session(first);
    const second = await scene.place.onward(['chat', id, 'Review:'], { env: scene.env, input: 'the diff' });
    expect(second.stdout).toBe('Two.\n');
    const [shown] = await scene.json('show', id);
    const text = JSON.stringify(shown?.['transcript']);
    expect(text).toContain('from the pipe');
    expect(text).toContain('Review:\\n\\nthe diff');
  });

  test.each([
    [[], 'cli/no-prompt'],
    [['  '], 'cli/no-prompt'],
    [['00ab', 'x'], 'session/unknown'],
    [['one', 'two', 'three'], 'cli/usage'],
    [['hello', '--approve', 'some'], 'cli/bad-choice'],
  ] as const)('refuses the words %j as %s', async (words, code) => {
    const scene = await Scene.of({ turns: [{ text: 'Never said.' }] });
    const ended = await scene.run('chat', ...words);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(`[${code}`);
    expect(scene.server.requests).toEqual([]);
  });

  test('without a key says which one is missing, and how to try it without any', async () => {
    const { code, stdout, stderr } = await new Place().onward(['chat', '--model', 'anthropic/claude-sonnet-4-5', 'hi']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('ANTHROPIC_API_KEY is not set');
    expect(stderr).toContain('onward lab serve');
  });
});

describe('the exit status of a chat', () => {
  test.each([
    ['unauthorised', 3],
    ['billing', 3],
    ['bad-request', 1],
    ['context-overflow', 1],
  ] as const)('after %s is %i, with the way to find out why', async (error, code) => {
    const scene = await Scene.of({
      turns: [{ text: 'Never said.' }],
      faults: [{ from: 1, to: null, fault: { kind: 'error', error } }],
    });
    const ended = await scene.run('chat', 'hi');
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toContain(`onward why ${session(ended)}`);
    expect(scene.server.requests).toHaveLength(1);
    const why = await scene.run('why');
    expect(why.stdout).toContain('turn 1');
    expect(why.stdout).toMatch(/Failed: .*, by kernel\//);
  });

  test('is 1 for an answer that the token limit cut, which is printed as far as it goes', async () => {
    const scene = await Scene.of({ turns: [{ text: 'Half of', stop: 'max-tokens' }] });
    const ended = await scene.run('chat', 'hi', '-q');
    expect(ended).toMatchObject({ code: 1, stdout: 'Half of\n' });
  });
});

describe('a call that needs approval', () => {
  test('stops a pipe with 3; an answer from another process and resume go on, and it runs once', async () => {
    const scene = await Scene.of({ turns: [{ text: 'I run it.', calls: [once] }, { text: 'It is done.' }] });
    const asked = await scene.run('chat', 'Do it once.');
    const id = session(asked);
    const question = await scene.question();
    expect(asked).toMatchObject({ code: 3, stdout: '' });
    expect(asked.stderr).toContain(`onward answer ${question} approve`);
    expect((await scene.json('ls'))[0]).toMatchObject({ id, kind: 'session', state: 'waiting: question' });
    expect(await scene.run('resume', id)).toMatchObject({ code: 3, stdout: '' });
    expect(scene.place.read('effects.log')).toBe('');
    expect((await scene.run('answer', question, 'maybe')).stderr).toContain('[cli/bad-choice');
    expect((await scene.run('answer', question.slice(-8), 'approve')).code).toBe(0);
    const late = await scene.run('answer', question, 'deny');
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('answered before, by terminal: approve');
    expect(scene.place.read('effects.log')).toBe('');
    expect(await scene.run('resume')).toMatchObject({ code: 0, stdout: 'It is done.\n' });
    expect(scene.place.read('effects.log')).toBe('once\n');
    expect((await scene.run('resume', id)).stderr).toContain('nothing of this session is under way');
    expect(await scene.json('questions')).toEqual([]);
    expect(scene.server.requests).toHaveLength(2);
  });

  test('is not made when a person denies it, and the model hears why', async () => {
    const scene = await Scene.of({ turns: [{ calls: [once] }, { text: 'Then not.' }] });
    const id = session(await scene.run('chat', 'Do it.'));
    await scene.run('answer', await scene.question(), 'deny', '--note', 'use the other one');
    expect(await scene.run('resume', id)).toMatchObject({ code: 0, stdout: 'Then not.\n' });
    expect(scene.place.read('effects.log')).toBe('');
    expect((await scene.run('show', id)).stdout).toContain('use the other one');
  });

  test('is made at once where it was approved beforehand, and sees no key of a model', async () => {
    const command = 'echo "[$ANTHROPIC_API_KEY$OPENAI_API_KEY]" > key.txt; echo once >> effects.log';
    const scene = await Scene.of({
      turns: [{ calls: [{ name: 'shell', input: { command } }] }, { text: 'Done.' }],
    });
    const ended = await scene.run('chat', 'Do it.', '--approve', 'all');
    expect(ended).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(ended.stderr).toContain('approve all');
    expect(scene.place.read('key.txt')).toBe('[]\n');
    expect(scene.place.read('effects.log')).toBe('once\n');
  });

  test('is given up by cancel, and the session can be erased', async () => {
    const scene = await Scene.of({ turns: [{ calls: [once] }, { text: 'Later.' }] });
    const id = session(await scene.run('chat', 'Do it.'));
    expect((await scene.run('rm', id)).stderr).toContain('[run/not-over');
    expect(await scene.run('cancel', id)).toMatchObject({ code: 0 });
    expect(await scene.json('questions')).toEqual([]);
    expect(scene.place.read('effects.log')).toBe('');
    expect(await scene.run('chat', id, 'And now?')).toMatchObject({ code: 0, stdout: 'Later.\n' });
    expect(await scene.run('rm', id)).toMatchObject({ code: 0 });
    expect(await scene.json('ls')).toEqual([]);
    expect((await scene.run('show', id)).code).toBe(2);
  });
});

describe('a chat that is stopped', () => {
  test('by kill -9 while it waits for the model goes on with resume: the same prompt, one more request', async () => {
    const scene = await Scene.of({
      turns: [{ text: 'I am back.' }],
      faults: [{ from: 1, fault: { kind: 'stall', at: 'text' } }],
    });
    const chat = scene.start('chat', 'Speak.');
    await until('the model has begun to answer', () => scene.server.requests[0]?.status === 200);
    chat.signal('SIGKILL');
    const id = session(await chat.ended);
    await until('it is known to be dead', async () => (await scene.json('ls'))[0]?.['state'] === 'orphaned');
    const resumed = await scene.run('resume', id);
    expect(resumed).toMatchObject({ code: 0, stdout: 'I am back.\n' });
    expect(scene.server.requests).toHaveLength(2);
    const [shown] = await scene.json('show', id);
    expect(shown).toMatchObject({ state: 'done', prompts: 1 });
  });

  test('by kill -9 inside a command does not repeat it: nobody knows what it did, and that is said', async () => {
    const scene = await Scene.of({ turns: [{ calls: [lasting] }, { text: 'I looked: it is there.' }] });
    const chat = scene.start('chat', 'Do it.', '--approve', 'all');
    await until('the command runs', () => scene.place.read('effects.log') === 'once\n');
    chat.signal('SIGKILL');
    const id = session(await chat.ended);
    await scene.place.quiet();
    const resumed = await scene.run('resume', id);
    expect(resumed.code).toBe(3);
    expect(scene.place.read('effects.log')).toBe('once\n');
    expect((await scene.run('why', id)).stdout).toContain('outcome unknown, to be inspected:');
    expect(await scene.run('chat', id, 'Look whether it is there.')).toMatchObject({
      code: 0,
      stdout: 'I looked: it is there.\n',
    });
    expect(JSON.stringify(scene.server.requests.at(-1))).toBeDefined();
    expect(scene.place.read('effects.log')).toBe('once\n');
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends its command and its turn, with %i, and can go on', async (signal, code) => {
    const scene = await Scene.of({ turns: [{ calls: [lasting] }, { text: 'Going on.' }] });
    const chat = scene.start('chat', 'Do it.', '--approve', 'all');
    await until('the command runs', () => scene.place.read('effects.log') === 'once\n');
    chat.signal(signal);
    const ended = await chat.ended;
    expect(ended).toMatchObject({ code, stdout: '' });
    await scene.place.quiet();
    const id = session(ended);
    expect((await scene.json('ls'))[0]).toMatchObject({ state: 'cancelled', live: false });
    expect(await scene.run('chat', id, 'Go on.')).toMatchObject({ code: 0, stdout: 'Going on.\n' });
  });

  test('by cancel from another process; tail follows it meanwhile, and a second process cannot open it', async () => {
    const scene = await Scene.of({ turns: [{ text: 'I begin.', calls: [lasting] }] });
    const chat = scene.start('chat', 'Do it.', '--approve', 'all');
    await until('the command runs', () => scene.place.read('effects.log') === 'once\n');
    const tail = scene.start('tail');
    await until('tail tells', () => tail.stdout().includes('calls shell'));
    expect((await scene.json('ls'))[0]).toMatchObject({ state: 'running', live: true });
    const second = await scene.run('resume');
    expect(second.code).toBe(7);
    expect(second.stderr).toContain('[session/held');
    expect(await scene.run('cancel')).toMatchObject({ code: 0 });
    expect(await chat.ended).toMatchObject({ code: 1, stdout: '' });
    const told = await tail.ended;
    expect(told.code).toBe(0);
    expect(told.stdout).toContain('turn 1: aborted');
  });
});

describe('what a chat prints', () => {
  test('is redacted, in the answer and in every look at the session', async () => {
    const scene = await Scene.of({ turns: [{ text: `The key is ${KEY}.` }] });
    appendFileSync(join(scene.place.cwd, 'a'), '');
    const ended = await scene.run('chat', 'What is the key?');
    expect(ended.stdout).toBe('The key is [redacted].\n');
    for (const verb of ['show', 'why', 'tail', 'ls'])
      for (const flags of [[], ['--json']]) {
        const { stdout, stderr } = await scene.run(verb, ...flags);
        expect(stdout + stderr, verb).not.toContain(KEY);
      }
    expect(existsSync(scene.place.journal)).toBe(true);
  });
});
