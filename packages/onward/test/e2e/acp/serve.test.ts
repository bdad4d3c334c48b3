import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ModelServer, startModelServer, type TurnScript } from '../../../src/lab/index.ts';
import { answer, openJournal, questions } from '../../../src/library/agent/index.ts';
import { connectEditor, type Editor, type EditorOptions } from '../../unit/acp/support/editor.ts';
import { BIN, Place } from '../cli/support/place.ts';
import { kill } from '../cli/support/processes.ts';
import { until } from '../cli/support/until.ts';

const wires = ['anthropic', 'openai', 'openai-chat'] as const;
type Wire = (typeof wires)[number];

interface Served {
  readonly editor: Editor;
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly exit: Promise<number | null>;
}

/** A lab and a place of one test, in which servers can be started one after the other. */
async function startLab(script: TurnScript): Promise<{
  readonly place: Place;
  readonly lab: ModelServer;
  readonly serve: (options?: EditorOptions, wire?: Wire, args?: readonly string[]) => Promise<Served>;
}> {
  const lab = await startModelServer({ script });
  onTestFinished(async () => await lab[Symbol.asyncDispose]());
  const place = new Place();
  return {
    place,
    lab,
    serve: async (options = {}, wire = 'anthropic', args = []) => await serve(place, lab, { options, wire, args }),
  };
}

async function serve(
  place: Place,
  lab: ModelServer,
  { options, wire, args }: { readonly options: EditorOptions; readonly wire: Wire; readonly args: readonly string[] },
): Promise<Served> {
  const child = spawn(process.execPath, [BIN, 'acp', 'serve', '--model', `${wire}/lab-model`, ...args], {
    cwd: place.cwd,
    env: {
      ...place.env,
      ANTHROPIC_API_KEY: 'lab-key-1234567890',
      ANTHROPIC_BASE_URL: lab.url,
      OPENAI_API_KEY: 'lab-key-1234567890',
      OPENAI_BASE_URL: `${lab.url}/v1`,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => kill(child.pid ?? 0, 'SIGKILL'));
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (part: Buffer) => out.push(part));
  child.stderr.on('data', (part: Buffer) => err.push(part));
  child.stdin.on('error', () => undefined);
  const exit = new Promise<number | null>((resolve) => void child.once('close', resolve));
  const editor = await connectEditor(
    {
      toAgent: Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      fromAgent: Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
    },
    options,
  );
  return { editor, child, stdout: text(out), stderr: text(err), exit };
}

const text = (parts: Buffer[]) => (): string => Buffer.concat(parts).toString('utf8');
const pick = (optionId: string) => ({ outcome: { outcome: 'selected' as const, optionId } });

describe('onward acp serve', () => {
  test.each(wires)(
    'over %s: a failed attempt is retried while the prompt is pending, the text comes once, stdout is protocol only',
    async (wire) => {
      const {
        place,
        serve: start,
        lab,
      } = await startLab({
        turns: [{ text: 'All is well.' }],
        faults: [
          { from: 1, fault: { kind: 'error', error: 'unavailable' } },
          { from: 2, fault: { kind: 'cut', at: 'text', how: 'rst' } },
        ],
      });
      const { editor, child, exit, stdout, stderr } = await start({ notices: true }, wire);
      const { sessionId } = await editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
      expect((await editor.prompt(sessionId, 'hi')).stopReason).toBe('end_turn');
      expect(editor.texts()).toEqual(['All is well.']);
      expect(lab.requests).toHaveLength(3);
      expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'notice')).toHaveLength(4);
      child.stdin?.end();
      expect([await exit, stderr()]).toEqual([0, '']);
      for (const line of stdout().trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    },
  );

  test('a file is written only after the permission request was granted', async () => {
    const { place, serve: start } = await startLab({
      turns: [
        { calls: [{ name: 'write', input: { path: 'no.txt', text: 'no' } }] },
        { calls: [{ name: 'write', input: { path: 'yes.txt', text: 'yes' } }] },
        { text: 'Written.' },
      ],
    });
    const answers = [pick('deny'), pick('approve')];
    const { editor } = await start({ onPermission: () => answers.shift() ?? pick('deny') });
    const { sessionId } = await editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    expect((await editor.prompt(sessionId, 'write')).stopReason).toBe('end_turn');
    expect([place.read('no.txt'), place.read('yes.txt')]).toEqual(['', 'yes']);
    expect(editor.permissions).toMatchObject([
      { toolCall: { rawInput: { tool: 'write', input: { path: 'no.txt' } } } },
      { toolCall: { rawInput: { tool: 'write', input: { path: 'yes.txt' } } } },
    ]);
    const ends = editor.updates.flatMap((update) =>
      update.sessionUpdate === 'tool_call_update' && update.status !== 'in_progress' ? [update.status] : [],
    );
    expect(ends).toEqual(['failed', 'completed']);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({
        sessionUpdate: 'tool_call',
        content: [{ type: 'diff', path: join(place.cwd, 'yes.txt'), oldText: null, newText: 'yes' }],
      }),
    );
  });

  test('an answer that comes from another process wins', async () => {
    const { place, serve: start } = await startLab({
      turns: [{ calls: [{ name: 'write', input: { path: 'a.txt', text: 'a' } }] }, { text: 'Done.' }],
    });
    const { editor } = await start({
      onPermission: async (_request, signal) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return pick('deny');
      },
    });
    const { sessionId } = await editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    const sent = editor.prompt(sessionId, 'write');
    await editor.until('it is asked', () => editor.permissions.length === 1);
    const journal = await openJournal(place.journal);
    const [open] = await questions(journal, { state: 'open' });
    await answer(journal, open?.question.id ?? '', { choice: 'approve', by: 'someone' });
    await journal.close();
    expect((await sent).stopReason).toBe('end_turn');
    expect(place.read('a.txt')).toBe('a');
  });

  test('killed with -9 in mid-prompt, another process lists and loads the session, and goes on with a sound history', async () => {
    const {
      place,
      lab,
      serve: start,
    } = await startLab({
      turns: [{ text: 'I look.', calls: [{ name: 'read', input: { path: 'a.txt' } }] }, { text: 'All done.' }],
      faults: [{ from: 2, fault: { kind: 'stall', at: 'start' } }],
    });
    writeFileSync(join(place.cwd, 'a.txt'), 'content of a\n');
    const first = await start();
    const { sessionId } = await first.editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    const sent = first.editor.prompt(sessionId, 'what is in a.txt?');
    sent.catch(() => undefined);
    await lab.until((requests) => requests.length === 2);
    await first.editor.until('the text is there', () => first.editor.texts().length === 1);
    kill(first.child.pid ?? 0, 'SIGKILL');
    await expect(sent).rejects.toThrow('closed');

    const second = await start();
    const { sessions } = await second.editor.agent.request('session/list', { cwd: place.cwd });
    expect(sessions).toMatchObject([{ sessionId, cwd: place.cwd, title: 'what is in a.txt?' }]);
    await second.editor.agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
    expect(second.editor.updates.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      'user_message_chunk',
      'agent_message_chunk',
      'tool_call',
      'tool_call_update',
    ]);
    const replayed = second.editor.updates.length;
    expect(lab.requests).toHaveLength(2);
    expect((await second.editor.prompt(sessionId, 'go on')).stopReason).toBe('end_turn');
    expect(second.editor.updates.slice(replayed)).toMatchObject([{ content: { text: 'All done.' } }]);
    expect(lab.requests.at(-1)?.state).not.toBe('refused');
  });

  test('killed with -9 while a question is open, another process asks it again and the call happens once', async () => {
    const { place, serve: start } = await startLab({
      turns: [{ calls: [{ name: 'shell', input: { command: 'echo once >> effects.log' } }] }, { text: 'Done.' }],
    });
    const first = await start({ onPermission: async () => await new Promise(() => {}) });
    const { sessionId } = await first.editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    first.editor.prompt(sessionId, 'do it').catch(() => undefined);
    await first.editor.until('it is asked', () => first.editor.permissions.length === 1);
    kill(first.child.pid ?? 0, 'SIGKILL');
    await first.exit;
    const second = await start({ onPermission: () => pick('approve') });
    await second.editor.agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
    await second.editor.until('it goes on', () => second.editor.texts().includes('Done.'));
    expect(place.read('effects.log')).toBe('once\n');
  });

  test('a failure keeps its class, its status and when to come back across the border', async () => {
    const { place, serve: start } = await startLab({
      turns: [{ text: 'never' }],
      faults: [{ from: 1, to: null, fault: { kind: 'error', error: 'rate-limited', retryAfterSeconds: 3_600 } }],
    });
    const { editor } = await start();
    const { sessionId } = await editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    const error = await editor.prompt(sessionId, 'hi').then(
      () => undefined,
      (thrown: unknown) => thrown as { code: number; data: { retryAfter: number } },
    );
    expect(error).toMatchObject({ code: -32_603, data: { class: 'throttled', retryable: true, status: 429 } });
    expect(error?.data.retryAfter).toBeGreaterThan(3_500_000);
    expect(error?.data.retryAfter).toBeLessThanOrEqual(3_600_000);
  });

  test('the end of the input, and a SIGTERM, end it quietly in mid-prompt, and nothing of it is left running', async () => {
    const {
      place,
      lab,
      serve: start,
    } = await startLab({
      turns: [{ text: 'never' }],
      faults: [{ from: 1, to: null, fault: { kind: 'no-headers' } }],
    });
    mkdirSync(join(place.cwd, 'sub'));
    for (const [count, end] of [
      (child: ChildProcess): void => void child.stdin?.end(),
      (child: ChildProcess): void => kill(child.pid ?? 0, 'SIGTERM'),
    ].entries()) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { editor, child, exit, stderr } = await start();
      // oxlint-disable-next-line no-await-in-loop
      const { sessionId } = await editor.agent.request('session/new', { cwd: join(place.cwd, 'sub'), mcpServers: [] });
      const sent = editor.prompt(sessionId, 'hi');
      // oxlint-disable-next-line no-await-in-loop
      await until('the model is asked', () => lab.requests.length > count);
      end(child);
      // oxlint-disable-next-line no-await-in-loop
      expect([await exit, (await sent).stopReason, stderr()]).toEqual([0, 'cancelled', '']);
    }
    await place.quiet();
  });

  test('a client that goes away while a command runs, or that no longer reads, leaves no process and a session to load', async () => {
    const { place, serve: start } = await startLab({
      turns: [
        { calls: [{ name: 'shell', input: { command: 'echo begun > begun; sleep 300' } }] },
        { text: 'Going on.' },
      ],
    });
    const first = await start({}, 'anthropic', ['--approve', 'all']);
    const { sessionId } = await first.editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    first.editor.prompt(sessionId, 'wait').catch(() => undefined);
    await until('the command runs', () => place.read('begun') === 'begun\n');
    first.editor.close();
    first.child.stdout?.destroy();
    first.child.stdin?.end();
    expect(await first.exit).toBe(0);
    await place.quiet();

    const second = await start();
    await second.editor.agent.request('session/load', { sessionId, cwd: place.cwd, mcpServers: [] });
    expect(second.editor.updates.map((update) => ('status' in update ? update.status : update.sessionUpdate))).toEqual([
      'user_message_chunk',
      'pending',
      'in_progress',
      'failed',
    ]);
    expect((await second.editor.prompt(sessionId, 'go on')).stopReason).toBe('end_turn');
  });

  test('standard output that breaks ends it, also while the input stays open', async () => {
    const { place, serve: start } = await startLab({ turns: [{ text: 'Hello.' }] });
    const { editor, child, exit } = await start();
    const { sessionId } = await editor.agent.request('session/new', { cwd: place.cwd, mcpServers: [] });
    child.stdout?.destroy();
    editor.prompt(sessionId, 'hi').catch(() => undefined);
    expect(await exit).toBe(0);
    await place.quiet();
  });

  test('what is wrong from the start is said on standard error, with status 2 and nothing on standard output', async () => {
    const place = new Place();
    const { code, stdout, stderr } = await place.onward(['acp', 'serve', '--model', 'anthropic/x'], { input: '' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('ANTHROPIC_API_KEY');
  });
});
