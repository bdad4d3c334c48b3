import { describe, expect, test } from 'vitest';
import { startModelServer } from '../../../src/lab/index.ts';
import { createAgent } from '../../../src/library/agent/index.ts';
import { modelAt, WIRES } from '../models/wires.ts';
import { isSummary, long, textOf } from './compaction-kit.ts';

describe.each(WIRES)('on the wire of $name', (wire) => {
  test('A87 given the provider refuses a prompt that is too long, when the agent has its default plugins, then it recovers by a summary', async () => {
    await using server = await startModelServer({
      script: {
        turns: [{ text: 'Noted.' }, { text: 'The user said a word often.' }, { text: 'Done.' }],
        faults: [{ from: 2, to: 2, fault: { kind: 'error', error: 'context-overflow' } }],
      },
    });
    const asked: string[] = [];
    const model = modelAt(wire, server.url);
    await using agent = await createAgent({
      model: {
        id: model.id,
        stream(request, signal) {
          asked.push(`${isSummary(request) ? 'summary' : 'spoken'}: ${textOf(request.messages).includes('old old')}`);
          return model.stream(request, signal);
        },
      },
    });
    expect(await agent.followup(long('old')).orThrow()).toBe('Noted.');
    expect(await agent.followup('Go on.').orThrow()).toBe('Done.');
    expect(asked).toEqual(['spoken: true', 'spoken: true', 'summary: true', 'spoken: false']);
    expect(server.requests.map(({ status }) => status)).toEqual([200, expect.any(Number), 200, 200]);
    expect(server.requests[1]?.status).toBeGreaterThanOrEqual(400);
    expect(textOf(agent.history())).toContain('The user said a word often.');
  });
});
