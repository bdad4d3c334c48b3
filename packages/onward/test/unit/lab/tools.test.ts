import { describe, expect, test } from 'vitest';
import { effectStep, startModelServer } from '../../../src/lab/index.ts';
import { agentCall, findAgentTool, findShellTool, shellCall } from '../../../src/lab/model-server/tools.ts';
import { eventsOf, post } from './model-clients.ts';

describe('the shell tool', () => {
  test.each(['Bash', 'shell', 'exec_command', 'local_shell', 'run_shell_command', 'bash'])(
    'is found under the name %s',
    (name) => {
      const tools = [
        { name: 'Read', schema: {} },
        { name, schema: {} },
      ];

      expect(findShellTool(tools)?.name).toBe(name);
    },
  );

  test('is not found among tools without one', () => {
    expect(
      findShellTool([
        { name: 'Read', schema: {} },
        { name: 'exec', schema: {} },
      ]),
    ).toBeUndefined();
  });

  test.each([
    [
      'command and description',
      { command: { type: 'string' }, description: { type: 'string' } },
      { command: 'ls', description: 'Look' },
    ],
    [
      'cmd and a time to wait',
      { cmd: { type: 'string' }, yield_time_ms: { type: 'number' } },
      { cmd: 'ls', yield_time_ms: 30_000 },
    ],
    ['a list of words', { command: { type: 'array' } }, { command: ['bash', '-lc', 'ls'] }],
  ])('is called with %s as its schema says', (_name, properties, input) => {
    expect(shellCall({ name: 'bash', schema: { properties } }, 'ls', 'Look').input).toEqual(input);
  });

  test('gets a harmless value for each required argument the lab knows nothing of', () => {
    const properties = {
      command: { type: 'string' },
      mode: { enum: ['fast', 'slow'] },
      tries: { type: 'integer' },
      loud: { type: 'boolean' },
      also: { type: 'array' },
      where: { type: 'string' },
      extra: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'] },
      spare: { type: 'string' },
    };
    const required = ['command', 'mode', 'tries', 'loud', 'also', 'where', 'extra'];

    expect(shellCall({ name: 'bash', schema: { properties, required } }, 'ls', 'Look').input).toEqual({
      command: 'ls',
      mode: 'fast',
      tries: 1,
      loud: false,
      also: [],
      where: '.',
      extra: { deep: false },
    });
  });
});

describe('the tool that starts a subagent', () => {
  test('is called so that the agent waits for the report', () => {
    const properties = { prompt: {}, description: {}, subagent_type: {}, run_in_background: {} };
    const tool = findAgentTool([{ name: 'Agent', schema: { properties } }]);

    expect(tool && agentCall(tool, 'Do it.', 'Step two').input).toEqual({
      prompt: 'Do it.',
      description: 'Step two',
      subagent_type: 'general-purpose',
      run_in_background: false,
    });
  });
});

/** Asks over the Responses API and gives the events of the answer. */
const ask = async (url: string, input: readonly object[]): Promise<Record<string, unknown>[]> => {
  const got = await post(`${url}/v1/responses`, { model: 'm', stream: true, input });
  return eventsOf(got.text).map((data) => JSON.parse(data) as Record<string, unknown>);
};

/** One output of the scripted call. */
const output = (text: string): object => ({
  type: 'custom_tool_call_output',
  call_id: 'c',
  output: [{ type: 'input_text', text }],
});

describe("Codex's tool that runs scripts", () => {
  const step = effectStep('one', 1);
  const script = { task: { steps: [step] }, temperament: 'naive' as const };
  const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }];
  const prompt = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Do the task.' }] };
  const start = [{ type: 'additional_tools', role: 'developer', tools }, prompt];
  test('is found in the input and called with text, in its own group', async () => {
    await using server = await startModelServer({ script });

    const events = await ask(server.url, start);

    const done = events.findLast((event) => event['type'] === 'response.output_item.done')?.['item'];
    expect(done).toMatchObject({
      type: 'custom_tool_call',
      namespace: 'functions',
      name: 'exec',
      input: expect.stringContaining(`tools.exec_command({"cmd":${JSON.stringify(step.command)}`),
    });
    expect(events.map((event) => event['type'])).toContain('response.custom_tool_call_input.delta');
  });

  test('may have several outputs for one call, and the evidence in any of them counts', async () => {
    await using server = await startModelServer({ script });
    const call = { type: 'custom_tool_call', call_id: 'c', name: 'exec', input: 'text(1)' };
    const events = await ask(server.url, [...start, call, output('soon'), output(step.evidence)]);

    expect(JSON.stringify(events.at(-1))).toContain('All steps are done');
    expect(server.requests[0]?.refused).toBeNull();
  });

  test('a websocket is declined, so that Codex goes on over HTTP', async () => {
    await using server = await startModelServer({ script });

    expect((await post(`${server.url}/v1/responses`, '', { method: 'GET' })).status).toBe(426);
    expect(server.otherRequests[0]?.kind).toBe('websocket');
  });
});

describe('a request to compact the conversation', () => {
  const results = [
    { role: 'user', content: 'Do the task.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'EFFECT_OK_1' }] },
    { role: 'user', content: 'Your task is to create a detailed summary of the conversation so far.' },
  ];

  test.each([
    ['faithful', true],
    ['uninformative', false],
  ] as const)('gets a %s summary, is not counted and meets no fault', async (summary, tells) => {
    const faults = [{ from: 1, fault: { kind: 'reset' as const } }];
    await using server = await startModelServer({
      script: { task: { steps: [effectStep('one', 1)] }, temperament: 'naive', summary, faults },
    });

    const got = await post(`${server.url}/v1/messages`, {
      max_tokens: 9,
      tools: [{ name: 'Bash' }],
      messages: results,
    });

    expect(got.status).toBe(200);
    expect(got.text.includes('EFFECT_OK_1')).toBe(tells);
    expect([server.requests.length, server.otherRequests[0]?.kind]).toEqual([0, 'compaction']);
  });
});
