import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createScriptedModel } from '../../../src/testing/index.ts';
import { cwd, startRig } from './support/rig.ts';
import { until } from '../../e2e/cli/support/until.ts';

interface Reply {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}\n`;
const list = `{"jsonrpc":"2.0","id":"list","method":"session/list","params":{}}\n`;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What a server answers to lines; afterwards it still answers a request. */
async function replies(expected: number, ...lines: readonly (string | Uint8Array)[]): Promise<readonly Reply[]> {
  const rig = await startRig({ model: createScriptedModel([]), bare: true, serve: { maxLineBytes: 1_000 } });
  await rig.raw(hello);
  for (const line of lines) {
    // oxlint-disable-next-line no-await-in-loop -- in order
    await rig.raw(line);
  }
  await until('they are answered', () => rig.lines.length > expected);
  await rig.raw(list);
  await until('the list came', () => rig.lines.some((line) => line.includes('"list"')));
  return rig.lines.map((line) => JSON.parse(line) as Reply).filter(({ id }) => id !== 'hello' && id !== 'list');
}

describe('what no client should send', () => {
  test.each<readonly [string, string | Uint8Array, number]>([
    ['a line that is no JSON', '{"jsonrpc":\n', -32_700],
    ['bytes that are no UTF-8', Uint8Array.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]), -32_700],
    [
      'bytes that are no UTF-8 in a text',
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"nope \xff"}\n', 'latin1'),
      -32_700,
    ],
    ['a line that is too long', `"${'x'.repeat(5_000)}"\n`, -32_600],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"session/list"}]\n', -32_600],
    ['a number', '7\n', -32_600],
    ['an object that is no message', '{"jsonrpc":"2.0"}\n', -32_600],
    ['a method that is not there', '{"jsonrpc":"2.0","id":1,"method":"session/fork","params":{}}\n', -32_601],
    ['parameters of another shape', '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7}}\n', -32_602],
    [
      'a folder that is relative',
      '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a","mcpServers":[]}}\n',
      -32_602,
    ],
    [
      'a session that is not there',
      `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"no","cwd":"${cwd}","mcpServers":[]}}\n`,
      -32_002,
    ],
    [
      'a prompt for a session that is not open',
      '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"no","prompt":[]}}\n',
      -32_002,
    ],
  ])('is answered with an error, and the next line with a result: %s', async (_what, line, code) => {
    const [reply, ...more] = await replies(1, line);
    expect(more).toEqual([]);
    expect(reply?.error?.code).toBe(code);
  });

  test('empty lines and cut ones are lines like any; a line that comes in pieces is read whole', async () => {
    const whole = bytes('{"jsonrpc":"2.0","id":"ü","method":"nope"}\r\n');
    const got = await replies(1, '\n', '  \r\n', whole.subarray(0, 24), whole.subarray(24, 25), whole.subarray(25));
    expect(got).toMatchObject([{ id: 'ü', error: { code: -32_601 } }]);
  });

  test('a cancel for a session that is not there is passed over', async () => {
    expect(await replies(0, '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"no"}}\n')).toEqual([]);
  });

  test('nothing but initialize is answered before initialize', async () => {
    const rig = await startRig({ model: createScriptedModel([]), bare: true });
    await rig.raw(list);
    await until('the refusal came', () => rig.lines.length > 0);
    expect(JSON.parse(rig.lines[0] ?? '')).toMatchObject({ id: 'list', error: { code: -32_600 } });
  });

  test('what was asked right before the end of the input is answered before the server ends', async () => {
    const rig = await startRig({ model: createScriptedModel([]), bare: true });
    await rig.raw(hello + list + list.replace('"list"', '"again"').trimEnd());
    await rig.end();
    await rig.served;
    expect(rig.lines.map((line) => (JSON.parse(line) as Reply).id as string).toSorted()).toEqual([
      'again',
      'hello',
      'list',
    ]);
  });

  test(
    'for all bytes: the server lives, says only JSON-RPC, and answers what comes next',
    { timeout: 30_000 },
    async () => {
      const piece = fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.json().map(bytes),
        fc
          .constantFrom('\n', '{"jsonrpc":"2.0",', '"id":1', '"method":"session/prompt"', '"params":{', '}', '\r')
          .map(bytes),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
          const rig = await startRig({ model: createScriptedModel([]), bare: true, serve: { maxLineBytes: 200 } });
          // oxlint-disable-next-line no-await-in-loop -- in order
          for (const part of [bytes(hello), ...pieces, bytes('\n')]) await rig.raw(part);
          await rig.raw(list);
          await rig.end();
          await rig.served;
          const said = rig.lines.map((line) => JSON.parse(line) as Reply & { readonly jsonrpc: string });
          expect(said.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
          expect(said.find(({ id }) => id === 'list')).toMatchObject({ result: { sessions: [] } });
        }),
        { numRuns: 60 },
      );
    },
  );
});
