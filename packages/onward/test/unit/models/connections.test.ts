import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startModelServer } from '../../../src/lab/index.ts';
import { modelAt, partsOf, WIRES } from './wires.ts';

let connections = 0;
const count = (): void => {
  connections += 1;
};
beforeEach(() => {
  connections = 0;
  subscribe('undici:client:connected', count);
});
afterEach(() => {
  unsubscribe('undici:client:connected', count);
});

describe('requests one after the other', () => {
  test.each(WIRES)('keep their connection to $name', async (wire) => {
    await using server = await startModelServer({
      script: { turns: Array.from({ length: 6 }, () => ({ text: 'Yes.' })) },
    });
    const model = modelAt(wire, server.url);

    for (let n = 0; n < 6; n++) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
      const parts = await partsOf(model);
      expect(parts.at(-1)?.type).toBe('finish');
    }

    expect(server.requests).toHaveLength(6);
    // A second one may be opened in the moment in which the first is given back.
    expect(connections).toBeLessThanOrEqual(2);
  });
});
