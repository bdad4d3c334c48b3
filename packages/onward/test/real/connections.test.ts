import { describe, expect, test } from 'vitest';
import { checkCell } from './support/cell.ts';
import { hits, temperaments } from './support/rules.ts';

describe('Claude Code', () => {
  test('a connection that is reset before any answer', async () => {
    const cell = { name: 'reset before headers', faults: hits({ kind: 'reset' }, 2, 5) };
    await checkCell('claude', cell, { exit: 0, retried: 3, failed: ['transient'] });
  });

  test('R45 a port that refuses for five seconds', async () => {
    const cell = {
      name: 'refused port for 5 s',
      flags: ['--schedule', '500ms,1s,2s,4s'],
      faults: hits({ kind: 'refused', forMs: 5_000 }, 2),
    };
    // What is refused never reaches the server. How many attempts fit into five seconds depends on the machine.
    await checkCell('claude', cell, { exit: 0, failed: { each: 'transient' }, requests: 3 });
  });

  test('R76 a stream that is cut in a text', async () => {
    const cell = { name: 'cut in text', faults: hits({ kind: 'cut', at: 'text', how: 'rst' }, 2, 3) };
    // The repeat without streaming is cut as well, and nothing tells of it.
    await checkCell('claude', cell, { exit: 0, retried: 0, silent: 1, failed: ['transient'] });
  });

  test('R76 R139 a stream that is cut in a text once heals inside, and the repeat is counted', async () => {
    const cell = { name: 'cut in text, once', faults: hits({ kind: 'cut', at: 'text', how: 'rst' }, 2) };
    await checkCell('claude', cell, { exit: 0, retried: 1 });
  });

  test('R109 R113 a clean end after a full text is no success', async () => {
    const cell = { name: 'clean FIN after text', faults: hits({ kind: 'cut', at: 'after-text', how: 'fin' }, 2) };
    await checkCell('claude', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test.each(temperaments)('a stream that is cut after the complete call, %s', async (temperament) => {
    const cell = {
      name: 'cut after the call',
      temperament,
      faults: hits({ kind: 'cut', at: 'after-call', how: 'rst' }, 1),
    };
    // A race inside: mostly the call runs and the CLI goes on by itself; else it gives up, with or without the call.
    await checkCell('claude', cell, { exit: 0, retried: 0, failed: { each: 'transient' }, kept: 'any' });
  });

  test.each(temperaments)('R83 a stream that goes silent after the complete call, %s', async (temperament) => {
    const cell = {
      name: 'stall after the call',
      temperament,
      flags: ['--idle-timeout', '4s'],
      faults: hits({ kind: 'stall', at: 'after-call' }, 1),
    };
    await checkCell('claude', cell, {
      exit: 0,
      retried: 0,
      failed: ['transient'],
      kept: 1,
      effects: temperament === 'naive' ? 'any' : { one: 1, two: 1 },
    });
  });

  test('R82 a stream that goes silent in a text', async () => {
    const cell = {
      name: 'stall in text',
      flags: ['--idle-timeout', '4s'],
      faults: hits({ kind: 'stall', at: 'text' }, 2),
    };
    await checkCell('claude', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R113 an empty answer is no success', async () => {
    const cell = { name: 'empty answer', faults: hits({ kind: 'empty-answer' }, 2) };
    // The CLI asks once more by itself.
    await checkCell('claude', cell, { exit: 0, retried: 1 });
    const twice = { name: 'empty answer twice', faults: hits({ kind: 'empty-answer' }, 2, 3) };
    await checkCell('claude', twice, { exit: 0, retried: 1, failed: ['transient'] });
  });

  test('R10 an error event inside the stream', async () => {
    const cell = {
      name: 'SSE error event',
      faults: hits({ kind: 'error-event', at: 'text', error: 'overloaded' }, 2, 3),
    };
    // The repeat without streaming meets the second one as a status, which is repeated once more.
    await checkCell('claude', cell, { exit: 0, retried: 2 });
    const longer = {
      name: 'SSE error event, longer',
      faults: hits({ kind: 'error-event', at: 'text', error: 'overloaded' }, 2, 6),
    };
    await checkCell('claude', longer, { exit: 0, retried: 3, silent: 1, failed: ['transient'] });
  });
});

describe('Codex', () => {
  test('a connection that is reset before any answer', async () => {
    const cell = { name: 'reset before headers', faults: hits({ kind: 'reset' }, 2) };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R45 a port that refuses for five seconds', async () => {
    const cell = { name: 'refused port for 5 s', faults: hits({ kind: 'refused', forMs: 5_000 }, 2) };
    // Codex waits for the network by itself, whatever its settings; what is refused never reaches the server.
    const { events } = await checkCell('codex', cell, { exit: 0, requests: 3 });
    expect(events.filter(({ type }) => type === 'request.retried').length).toBeGreaterThan(0);
  });

  test('R04 R76 a stream that is cut in a text', async () => {
    const cell = { name: 'cut in text', faults: hits({ kind: 'cut', at: 'text', how: 'rst' }, 2) };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R113 a clean end after a full text is no success', async () => {
    const cell = { name: 'clean FIN after text', faults: hits({ kind: 'cut', at: 'after-text', how: 'fin' }, 2) };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test.each(temperaments)('a stream that is cut after the complete call, %s', async (temperament) => {
    const cell = {
      name: 'cut after the call',
      temperament,
      faults: hits({ kind: 'cut', at: 'after-call', how: 'rst' }, 1),
    };
    await checkCell('codex', cell, {
      exit: 0,
      failed: ['transient'],
      kept: 1,
      effects: temperament === 'naive' ? 'any' : { one: 1, two: 1 },
    });
  });

  test.each(temperaments)('R83 a stream that goes silent after the complete call, %s', async (temperament) => {
    const cell = {
      name: 'stall after the call',
      temperament,
      flags: ['--idle-timeout', '4s'],
      faults: hits({ kind: 'stall', at: 'after-call' }, 1),
    };
    await checkCell('codex', cell, {
      exit: 0,
      retried: 0,
      failed: ['transient'],
      kept: 1,
      effects: temperament === 'naive' ? 'any' : { one: 1, two: 1 },
    });
  });

  test('R82 a stream that goes silent in a text', async () => {
    const cell = {
      name: 'stall in text',
      flags: ['--idle-timeout', '4s'],
      faults: hits({ kind: 'stall', at: 'text' }, 2),
    };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R113 an empty answer is no success', async () => {
    const cell = { name: 'empty answer', faults: hits({ kind: 'empty-answer' }, 2) };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R10 an error event inside the stream', async () => {
    const cell = { name: 'SSE error event', faults: hits({ kind: 'error-event', at: 'text', error: 'overloaded' }, 2) };
    await checkCell('codex', cell, { exit: 0, failed: ['transient'] });
  });
});
