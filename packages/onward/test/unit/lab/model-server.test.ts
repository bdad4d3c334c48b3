import { describe, expect, test } from 'vitest';
import type { Api, Fault, Script } from '../../../src/lab/index.ts';
import { effectStep, LabError, startModelServer } from '../../../src/lab/index.ts';
import type { Heard, Said } from './model-clients.ts';
import { APIS, bodyOf, hear, PATHS, post } from './model-clients.ts';

const PROMPT: Said = { kind: 'user', text: 'Do the task.' };
const ONE = effectStep('one', 1);
const TWO = effectStep('two', 2);

function script(faults: Script['faults'] = [], rest: Partial<Script> = {}): Script {
  return { task: { steps: [ONE, TWO] }, temperament: 'naive', faults, ...rest };
}

/** Plays the agent: asks, "runs" each call by answering with its step's evidence, and goes on until a turn has no call. */
async function converse(url: string, api: Api, stream: boolean): Promise<{ turns: Heard[]; said: Said[] }> {
  const said: Said[] = [PROMPT];
  const turns: Heard[] = [];
  for (let round = 0; round < 10; round += 1) {
    const reply = await post(url + PATHS[api], bodyOf(api, said, { stream }));
    expect(reply.status).toBe(200);
    const turn = hear(api, reply.text, stream);
    turns.push(turn);
    if (turn.text !== '') said.push({ kind: 'assistant', text: turn.text });
    if (turn.calls.length === 0) return { turns, said };
    for (const call of turn.calls) {
      const command = String(call.input['command'] ?? call.input['cmd']);
      said.push({ kind: 'call', id: call.id, name: call.name, input: call.input });
      said.push({ kind: 'result', id: call.id, text: command.split('echo ').at(-1) ?? '' });
    }
  }
  throw new Error('the conversation does not end');
}

describe.each(APIS)('%s', (api) => {
  test.each([true, false])(
    'a conversation runs each step once and ends with a text (streaming: %s)',
    async (stream) => {
      await using server = await startModelServer({ script: script() });

      const { turns } = await converse(server.url, api, stream);

      expect(turns.map((turn) => turn.calls.map((call) => call.input['command'] ?? call.input['cmd']))).toEqual([
        [ONE.command],
        [TWO.command],
        [],
      ]);
      expect(turns.at(-1)?.text).toBe('All steps are done: one, two.');
      expect(turns.map((turn) => turn.stop)).toEqual(
        {
          'anthropic-messages': ['tool_use', 'tool_use', 'end_turn'],
          'openai-responses': ['completed', 'completed', 'completed'],
          'openai-chat': ['tool_calls', 'tool_calls', 'stop'],
        }[api],
      );
      expect(
        server.requests.map((each) => [each.index, each.agent, each.api, each.streaming, each.status, each.state]),
      ).toEqual([1, 2, 3].map((index) => [index, 'main', api, stream, 200, 'ended']));
    },
  );

  const reply = async (fault: Fault, stream = true): ReturnType<typeof post> => {
    await using server = await startModelServer({ script: script([{ from: 1, fault }]) });
    return await post(server.url + PATHS[api], bodyOf(api, [PROMPT], { stream }));
  };

  test.each([
    ['bad-request', 400],
    ['unauthorised', 401],
    ['forbidden', 403],
    ['not-found', 404],
    ['too-large', 413],
    ['rate-limited', 429],
    ['server-error', 500],
    ['unavailable', 503],
    ['overloaded', 529],
  ] as const)('%s answers %i with a JSON error of that API', async (error, status) => {
    const got = await reply({ kind: 'error', error });

    expect(got.status).toBe(status);
    expect(JSON.parse(got.text)).toMatchObject({ error: { type: expect.any(String), message: expect.any(String) } });
    expect(got.headers['retry-after']).toBeUndefined();
  });

  test('a bad gateway answers with an HTML page', async () => {
    const got = await reply({ kind: 'error', error: 'bad-gateway' });

    expect([got.status, got.headers['content-type']]).toEqual([502, 'text/html']);
    expect(isJson(got.text)).toBe(false);
  });

  test('Retry-After is sent when asked for', async () => {
    const got = await reply({ kind: 'error', error: 'rate-limited', retryAfterSeconds: 3 });

    expect(got.headers['retry-after']).toBe('3');
  });

  test('a usage limit tells the time of its reset in seconds since the epoch', async () => {
    const clock = { now: () => 1_000_000_000, after: () => () => undefined };
    const fault: Fault = { kind: 'usage-limit', resetsInSeconds: 60 };
    await using server = await startModelServer({ script: script([{ from: 1, fault }]), clock });

    const got = await post(server.url + PATHS[api], bodyOf(api, [PROMPT]));

    const header = api === 'anthropic-messages' ? 'anthropic-ratelimit-unified-reset' : 'x-codex-primary-reset-at';
    expect([got.status, got.headers[header]]).toEqual([429, '1000060']);
  });

  test.each([true, false])(
    'a reset before headers leaves the client without a status (streaming: %s)',
    async (stream) => {
      const got = await reply({ kind: 'reset' }, stream);

      expect([got.status, got.text]).toEqual([null, '']);
      expect(got.error).toMatch(/ECONNRESET|EPIPE/);
    },
  );

  test.each(['start', 'text', 'after-text', 'tool-json', 'after-call'] as const)(
    'a reset at %s comes after what belongs there and before the rest',
    async (at) => {
      const cut = await reply({ kind: 'cut', at, how: 'rst' });

      expect([cut.status, cut.error]).toEqual([200, 'ECONNRESET']);
      expect(placesIn(api, cut.text)).toEqual(placesUpTo(at));
    },
  );

  test.each(['text', 'after-text', 'tool-json', 'after-call'] as const)(
    'a clean end at %s looks like a whole body but holds no end of the message',
    async (at) => {
      const cut = await reply({ kind: 'cut', at, how: 'fin' });

      expect([cut.status, cut.error]).toEqual([200, null]);
      expect(placesIn(api, cut.text)).toEqual(placesUpTo(at));
    },
  );

  test.each(['text', 'after-call'] as const)('an error event at %s is the last thing of the stream', async (at) => {
    const got = await reply({ kind: 'error-event', at, error: 'overloaded' });

    expect([got.status, got.error]).toEqual([200, null]);
    const last = got.text.trim().split('\n\n').at(-1) ?? '';
    expect(last).toMatch(
      {
        'anthropic-messages': /"overloaded_error"/,
        'openai-responses': /"response\.failed".*"server_is_overloaded"/,
        'openai-chat': /"error":\{"message":"Overloaded"/,
      }[api],
    );
    expect(placesIn(api, got.text)).toEqual(placesUpTo(at));
  });

  test('an error event is an HTTP error to a request that does not stream', async () => {
    const got = await reply({ kind: 'error-event', at: 'text', error: 'overloaded' }, false);

    expect(got.status).toBe(529);
  });

  test('a malformed chunk is one line that is not JSON, and the end still comes', async () => {
    const got = await reply({ kind: 'malformed-chunk', at: 'text' });

    const bad = got.text.split('\n').filter((line) => line.startsWith('data: {') && !isJson(line.slice(6)));
    expect(bad).toHaveLength(1);
    expect(placesIn(api, got.text)).toContain('end');
  });

  test.each([true, false])('an empty answer is well formed and holds nothing (streaming: %s)', async (stream) => {
    const got = await reply({ kind: 'empty-answer' }, stream);

    const turn = hear(api, got.text, stream);
    expect([turn.text, turn.calls]).toEqual(['', []]);
    expect(turn.stop).toMatch(/end_turn|completed|stop/);
  });

  test.each([true, false])('an empty body is status 200 and zero bytes (streaming: %s)', async (stream) => {
    expect(await reply({ kind: 'empty-body' }, stream)).toMatchObject({ status: 200, text: '', error: null });
  });

  test.each([
    [
      'max-tokens',
      { 'anthropic-messages': 'max_tokens', 'openai-responses': 'max_output_tokens', 'openai-chat': 'length' },
    ],
    ['refusal', { 'anthropic-messages': 'refusal', 'openai-responses': 'completed', 'openai-chat': 'content_filter' }],
    [
      'content-filter',
      { 'anthropic-messages': 'refusal', 'openai-responses': 'content_filter', 'openai-chat': 'content_filter' },
    ],
    ['pause', { 'anthropic-messages': 'pause_turn', 'openai-responses': 'completed', 'openai-chat': 'stop' }],
  ] as const)('a turn that stops with %s says so and calls nothing', async (reason, words) => {
    const got = await reply({ kind: 'stop', reason });

    const turn = hear(api, got.text, true);
    expect([turn.calls, turn.stop]).toEqual([[], words[api]]);
  });

  test.each([
    ['no-headers', { kind: 'no-headers' }, null],
    ['stall', { kind: 'stall', at: 'text' }, 200],
    ['stall after the call', { kind: 'stall', at: 'after-call' }, 200],
  ] as const)(
    '%s keeps the connection open and silent until the server is disposed of',
    async (_name, fault, status) => {
      const server = await startModelServer({ script: script([{ from: 1, fault }]) });
      const asked = post(server.url + PATHS[api], bodyOf(api, [PROMPT]));
      await server.until(([first]) => first?.state === 'at-fault');

      expect(server.requests[0]?.status).toBe(status);
      await server[Symbol.asyncDispose]();

      const got = await asked;
      expect([got.status, got.error]).toEqual([status, 'ECONNRESET']);
      expect(placesIn(api, got.text)).toEqual(fault.kind === 'stall' ? placesUpTo(fault.at) : []);
    },
  );

  test('ping-only goes on with keep-alives that carry nothing', async () => {
    const pending: (() => void)[] = [];
    const clock = { now: () => 0, after: (_ms: number, act: () => void) => (pending.push(act), () => undefined) };
    const fault: Fault = { kind: 'ping-only', at: 'text', everyMs: 500 };
    await using server = await startModelServer({ script: script([{ from: 1, fault }]), clock });
    const stop = new AbortController();
    let text = '';
    const asked = post(server.url + PATHS[api], bodyOf(api, [PROMPT]), {
      signal: stop.signal,
      seen: (all) => (text = all),
    });
    await server.until(([first]) => first?.state === 'at-fault');
    const silent = text.length;

    pending.shift()?.();
    pending.shift()?.();
    await expect.poll(() => text.slice(silent).match(/ping|keep-alive/g)?.length ?? 0).toBeGreaterThanOrEqual(2);

    expect(placesIn(api, text)).toEqual(placesUpTo('text'));
    stop.abort();
    await asked;
  });
});

describe('counting and aiming', () => {
  test('a rule without an end hits one request, null hits all later ones', async () => {
    const faults: Script['faults'] = [
      { from: 2, fault: { kind: 'error', error: 'overloaded' } },
      { from: 4, to: null, fault: { kind: 'error', error: 'server-error' } },
    ];
    await using server = await startModelServer({ script: script(faults) });

    expect(await statuses(server.url, 5)).toEqual([200, 529, 200, 500, 500]);
    expect(server.requests.map((each) => each.fault?.kind ?? null)).toEqual([null, 'error', null, 'error', 'error']);
  });

  test('auxiliary requests are answered, told apart, and neither counted nor faulted', async () => {
    await using server = await startModelServer({
      script: script([{ from: 1, fault: { kind: 'error', error: 'overloaded' } }]),
    });
    const ask = async (body: object, path = '/v1/messages'): Promise<number | null> =>
      (await post(server.url + path, body)).status;

    expect(await ask(bodyOf('anthropic-messages', [PROMPT], { tools: false }))).toBe(200);
    expect(await ask({ messages: [] }, '/v1/messages/count_tokens')).toBe(200);
    expect((await post(server.url, '', { method: 'HEAD' })).status).toBe(200);
    expect(await ask(bodyOf('anthropic-messages', [PROMPT]))).toBe(529);

    expect(server.requests).toHaveLength(1);
    expect(server.otherRequests.map((each) => each.kind)).toEqual(['auxiliary', 'count-tokens', 'probe']);
  });

  test('an auxiliary request that wants JSON gets JSON of its schema', async () => {
    await using server = await startModelServer({ script: script() });
    const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
    const body = {
      ...bodyOf('anthropic-messages', [PROMPT], { tools: false, stream: false }),
      output_config: { format: { type: 'json_schema', schema } },
    };

    const got = await post(`${server.url}/v1/messages`, body);

    expect(JSON.parse(hear('anthropic-messages', got.text, false).text)).toEqual({ title: '.' });
  });

  test('an unknown path answers 404 with JSON', async () => {
    await using server = await startModelServer({ script: script() });

    const got = await post(`${server.url}/v1/nothing`, {});

    expect(got.status).toBe(404);
    expect(JSON.parse(got.text)).toMatchObject({ error: { type: 'not_found_error' } });
  });

  test('a subagent is recognised by its prompt and a fault can be aimed at it alone', async () => {
    const steps = [{ id: 'part', evidence: 'PART_OK', delegate: { steps: [TWO] } }];
    const faults: Script['faults'] = [{ from: 1, agent: 'subagent', fault: { kind: 'error', error: 'overloaded' } }];
    await using server = await startModelServer({ script: script(faults, { task: { steps } }) });
    const tool = {
      name: 'Agent',
      input_schema: { properties: { prompt: {}, description: {}, run_in_background: {} }, required: ['prompt'] },
    };
    const body = { ...bodyOf('anthropic-messages', [PROMPT]), tools: [{ name: 'Bash', input_schema: {} }, tool] };

    const turn = hear('anthropic-messages', (await post(`${server.url}/v1/messages`, body)).text, true);
    const [call] = turn.calls;
    expect([call?.name, call?.input['run_in_background']]).toEqual(['Agent', false]);
    const inside: Said = { kind: 'user', text: String(call?.input['prompt']) };

    const first = await post(`${server.url}/v1/messages`, bodyOf('anthropic-messages', [inside]));
    const second = await post(`${server.url}/v1/messages`, bodyOf('anthropic-messages', [inside]));

    expect([first.status, second.status]).toEqual([529, 200]);
    expect(hear('anthropic-messages', second.text, true).calls[0]?.input['command']).toBe(TWO.command);
    expect(server.requests.map((each) => [each.agent, each.ofAgent])).toEqual([
      ['main', 1],
      ['subagent', 1],
      ['subagent', 2],
    ]);
  });

  test('fixed turns come before what the temperament would do', async () => {
    const turns = [{ text: 'Only words.', calls: [], stop: 'end' as const }];
    await using server = await startModelServer({ script: script([], { turns }) });

    const ask = async (): Promise<Heard> =>
      hear('openai-chat', (await post(server.url + PATHS['openai-chat'], bodyOf('openai-chat', [PROMPT]))).text, true);

    expect((await ask()).text).toBe('Only words.');
    expect((await ask()).calls).toHaveLength(1);
  });

  test('a script that makes no sense is refused at the start and later, and the old one plays on', async () => {
    const bad = { ...script(), temperament: 'bold' } as unknown as Script;
    await using server = await startModelServer({ script: script() });

    await expect(startModelServer({ script: bad })).rejects.toThrow('script.temperament');
    expect(() => server.setScript(bad)).toThrow('script.temperament');

    expect(await statuses(server.url, 1)).toEqual([200]);
  });

  test('another script counts from its own first request', async () => {
    const faults: Script['faults'] = [{ from: 1, fault: { kind: 'error', error: 'overloaded' } }];
    await using server = await startModelServer({ script: script() });
    await statuses(server.url, 1);

    server.setScript(script(faults));

    expect(await statuses(server.url, 2)).toEqual([529, 200]);
    expect(server.requests.map((each) => each.index)).toEqual([1, 2, 3]);
  });
});

describe('the log', () => {
  test('it holds the whole body and where a credential was, never the credential', async () => {
    await using server = await startModelServer({ script: script() });
    const body = bodyOf('anthropic-messages', [PROMPT]);
    const ask = async (headers: Record<string, string>): Promise<unknown> =>
      post(`${server.url}/v1/messages`, body, { headers });

    await ask({ 'x-api-key': 'canary-key' });
    await ask({ authorization: 'Bearer canary-token' });
    await ask({});

    expect(server.requests.map((each) => each.auth)).toEqual(['x-api-key', 'authorization', 'none']);
    expect(server.requests[0]?.body).toEqual(body);
    expect(JSON.stringify(server.requests)).not.toContain('canary');
  });

  test('a reset of ours is told apart from a client that left', async () => {
    const faults: Script['faults'] = [
      { from: 1, fault: { kind: 'cut', at: 'text', how: 'rst' } },
      { from: 2, fault: { kind: 'reset' } },
    ];
    await using server = await startModelServer({ script: script(faults) });
    await statuses(server.url, 2);
    // Both connections are closed on this side as well by the time a third request has been answered.
    await statuses(server.url, 1);
    await server.until((all) => all.every((each) => each.state !== 'open'));

    expect(server.requests.map((each) => [each.status, each.state])).toEqual([
      [200, 'cut'],
      [null, 'cut'],
      [200, 'ended'],
    ]);
  });

  test('a wait for a request ends when its signal says so', async () => {
    await using server = await startModelServer({ script: script() });
    const stop = new AbortController();
    const waiting = server.until((all) => all.length > 0, stop.signal);

    stop.abort(new Error('enough'));

    await expect(waiting).rejects.toThrow('enough');
  });

  test('a client that goes away in a stall is told apart from one that was answered', async () => {
    await using server = await startModelServer({
      script: script([{ from: 1, fault: { kind: 'stall', at: 'text' } }]),
    });
    const stop = new AbortController();
    const asked = post(server.url + PATHS['openai-chat'], bodyOf('openai-chat', [PROMPT]), { signal: stop.signal });
    await server.until(([first]) => first?.state === 'at-fault');

    stop.abort();
    await asked;

    await server.until(([first]) => first?.state !== 'at-fault');
    expect(server.requests[0]?.state).toBe('client-gone');
  });
});

describe('the port', () => {
  test('refuse() closes it and accept() opens the same one', async () => {
    await using server = await startModelServer({ script: script() });

    await server.refuse();
    expect(await errorOf(server.url)).toBe('ECONNREFUSED');
    await server.accept();

    expect(await statuses(server.url, 1)).toEqual([200]);
  });

  test('a refused fault closes it once the request before has been answered, and time opens it', async () => {
    const pending: (() => void)[] = [];
    const clock = { now: () => 0, after: (_ms: number, act: () => void) => (pending.push(act), () => undefined) };
    const faults: Script['faults'] = [{ from: 2, fault: { kind: 'refused', forMs: 5000 } }];
    await using server = await startModelServer({ script: script(faults), clock });

    expect(await statuses(server.url, 1)).toEqual([200]);
    await expect.poll(() => errorOf(server.url)).toBe('ECONNREFUSED');
    await expect.poll(() => pending.length).toBe(1);
    pending.shift()?.();

    await expect.poll(() => errorOf(server.url)).toBe(null);
    expect(await statuses(server.url, 1)).toEqual([200]);
  });

  test('a refused fault at request 1 is in force from the start', async () => {
    await using server = await startModelServer({ script: script([{ from: 1, fault: { kind: 'refused' } }]) });

    expect(await errorOf(server.url)).toBe('ECONNREFUSED');
  });

  test('heal() opens it and takes every fault away', async () => {
    const faults: Script['faults'] = [{ from: 1, to: null, fault: { kind: 'error', error: 'overloaded' } }];
    await using server = await startModelServer({ script: script(faults) });
    await statuses(server.url, 1);
    await server.refuse();

    await server.heal();

    expect(await statuses(server.url, 2)).toEqual([200, 200]);
  });

  test('a taken port is refused with a sentence', async () => {
    await using server = await startModelServer({ script: script() });

    const second = startModelServer({ script: script(), port: server.port });

    await expect(second).rejects.toSatisfy(
      (cause) => cause instanceof LabError && cause.code === 'lab.port-unavailable',
    );
  });

  test('a closed server stays closed', async () => {
    const server = await startModelServer({ script: script() });
    await server[Symbol.asyncDispose]();

    await expect(server.accept()).rejects.toSatisfy(
      (cause) => cause instanceof LabError && cause.code === 'lab.closed',
    );
    expect(await errorOf(server.url)).toBe('ECONNREFUSED');
  });
});

async function statuses(url: string, count: number): Promise<(number | null)[]> {
  const made: (number | null)[] = [];
  for (let round = 0; round < count; round += 1) {
    made.push((await post(url + PATHS['openai-chat'], bodyOf('openai-chat', [PROMPT]))).status);
  }
  return made;
}

async function errorOf(url: string): Promise<string | null> {
  return (await post(url, '', { method: 'HEAD' })).error;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The parts of a turn with a text and a call, in order; a cut shows by which of them a stream still holds. */
const PARTS: Readonly<Record<Api, readonly (readonly [place: string, mark: string])[]>> = {
  'anthropic-messages': [
    ['start', '"message_start"'],
    ['text', '"text_delta"'],
    ['after-text', '{"type":"content_block_stop","index":0}'],
    ['tool-json', '"input_json_delta"'],
    ['after-call', '{"type":"content_block_stop","index":1}'],
    ['end', '"message_stop"'],
  ],
  'openai-responses': [
    ['start', '"response.in_progress"'],
    ['text', '"response.output_text.delta"'],
    ['after-text', '"response.output_item.done","output_index":0'],
    ['tool-json', '"response.function_call_arguments.delta"'],
    ['after-call', '"response.output_item.done","output_index":1'],
    ['end', '"response.completed"'],
  ],
  'openai-chat': [
    ['start', '"content":""'],
    ['text', '"content":"N'],
    ['after-text', 'task."'],
    ['tool-json', '"arguments":"{'],
    ['after-call', 'EFFECT_OK'],
    ['end', '[DONE]'],
  ],
};

function placesIn(api: Api, text: string): readonly string[] {
  return PARTS[api].filter(([, mark]) => text.includes(mark)).map(([place]) => place);
}

function placesUpTo(at: string): readonly string[] {
  const order = ['start', 'text', 'after-text', 'tool-json', 'after-call'];
  return order.slice(0, order.indexOf(at) + 1);
}
