import { afterEach, describe, expect, test } from 'vitest';
import { type Fault, startModelServer } from '../../../src/lab/index.ts';
import { modelAt, WIRES } from '../models/wires.ts';
import { endTestAgents, startTestAgent, testTool } from './start-test-agent.ts';

afterEach(endTestAgents);

const faults: readonly (readonly [string, Fault])[] = [
  ['an HTTP error', { kind: 'error', error: 'overloaded' }],
  ['an error in the stream', { kind: 'error-event', at: 'after-text', error: 'overloaded' }],
  ['a connection that breaks inside a call', { kind: 'cut', at: 'tool-json', how: 'rst' }],
  ['a clean end without a finish', { kind: 'cut', at: 'text', how: 'fin' }],
];

describe.each(WIRES)('through $name', (wire) => {
  test.each(faults)(
    'A50 given nothing changed, when a request that met %s is retried, then both bodies on the wire are equal',
    async (_, fault) => {
      await using server = await startModelServer({
        script: {
          turns: [
            { text: 'First I write.', calls: [{ name: 'note', input: { word: 'one' } }] },
            { text: 'Then once more.', calls: [{ name: 'note', input: { word: 'two' } }] },
            { text: 'That was all.' },
          ],
          faults: [{ from: 2, fault }],
        },
      });
      const inputs: unknown[] = [];
      const rig = await startTestAgent({
        model: modelAt(wire, server.url),
        instructions: 'Be brief.',
        tools: [testTool('note', (input) => inputs.push(input))],
        on: { 'agent/request-error': () => ({ kind: 'retry' }) },
      });
      expect(await rig.ask('Write notes.')).toMatchObject({ kind: 'done', turn: 2, text: 'That was all.' });
      const [, failed, retried] = server.requests;
      expect(server.requests).toHaveLength(4);
      expect(failed?.fault).toEqual(fault);
      expect(retried?.body).toEqual(failed?.body);
      expect(JSON.stringify(retried?.body)).toBe(JSON.stringify(failed?.body));
      expect(server.requests.map(({ refused }) => refused)).toEqual([null, null, null, null]);
      expect(inputs).toEqual([{ word: 'one' }, { word: 'two' }]);
    },
  );
});
