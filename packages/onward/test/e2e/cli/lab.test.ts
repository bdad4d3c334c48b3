import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scenarios } from '../../../src/lab/index.ts';
import { jsonLines, Place } from './support/place.ts';
import { until } from './support/until.ts';

/** Asks a model server of Anthropic's kind something, as an agent does: with tools. */
function ask(url: string): Promise<Response> {
  const tools = [{ name: 'Bash', description: 'A shell', input_schema: { type: 'object', properties: {} } }];
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }], tools };
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
}

describe('onward lab', () => {
  test('list names each scenario and whether it can be recovered from', async () => {
    const place = new Place();
    const { stdout, code } = await place.onward(['lab', 'list']);
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)[0]),
    ).toEqual(scenarios.map(({ name }) => name));
    const names = (await place.json(['lab', 'list'])).map((scenario) => (scenario as { name: string }).name);
    expect(names).toEqual(scenarios.map(({ name }) => name));
  });

  test.each([
    ['SIGINT', 'serve', []],
    ['SIGTERM', 'play', ['healthy']],
  ] as const)(
    'answers requests, says how to point agents at it, and %s ends it with 0',
    async (signal, verb, words) => {
      const place = new Place();
      const lab = place.start(['lab', verb, ...words]);
      const url = await until(
        'it says where it is',
        () => /model server at (http:\/\/127\.0\.0\.1:\d+)/.exec(lab.stdout())?.[1],
      );
      expect((await ask(url)).status).toBe(200);
      await until('the request is told', () => /\n1 \S+ .*\(200, \w+\)\n/.test(lab.stdout()));
      for (const line of [
        `ANTHROPIC_BASE_URL=${url}`,
        'onward run -- claude -p',
        'base_url',
        'onward run -- codex exec',
        `OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=lab onward chat --model openai/lab`,
        'Ctrl-C ends it.',
      ])
        expect(lab.stdout()).toContain(line);
      lab.signal(signal);
      expect(await lab.ended).toMatchObject({ code: 0, stderr: '' });
      await expect(ask(url)).rejects.toThrow('fetch failed');
    },
  );

  test('play meets the agent with the faults of its scenario; --json is for machines', async () => {
    const place = new Place();
    const lab = place.start(['lab', 'play', 'overloaded-twice', '--json']);
    const first = await until('it says where it is', () => jsonLines(lab.stdout().replace(/[^\n]*$/, ''))[0]);
    const { url, scenario } = first as { url: string; scenario: string };
    expect(scenario).toBe('overloaded-twice');
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push((await ask(url)).status);
    expect(statuses).toEqual([200, 529, 529, 200]);
    const told = await until('all are told', () => {
      const lines = jsonLines(lab.stdout().replace(/[^\n]*$/, '')).slice(1);
      return lines.length === 4 ? lines : undefined;
    });
    expect(told).toMatchObject([
      { index: 1, status: 200 },
      { index: 2, status: 529 },
      { index: 3, status: 529 },
      { index: 4, status: 200 },
    ]);
    lab.signal('SIGINT');
    expect((await lab.ended).code).toBe(0);
  });

  test('says that a port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    const port = await until('the other one listens', () => (other.address() as AddressInfo | null)?.port);
    const { code, stderr } = await new Place().onward(['lab', 'serve', '--port', String(port)]);
    expect(stderr).toMatch(/^onward: Port \d+ cannot be opened: .* \[lab\/port-unavailable\]\n {2}\S/);
    expect(code).toBe(2);
  });
});
