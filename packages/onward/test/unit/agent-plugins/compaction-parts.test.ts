import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, changesOf, withChanges } from '../../../src/agent/plugins/compaction/change-messages.ts';
import { type CompactionOptions, resolveCompaction } from '../../../src/agent/plugins/compaction/compaction-options.ts';
import { eitherSignal } from '../../../src/agent/plugins/compaction/either-signal.ts';
import { compaction } from '../../../src/agent/plugins/compaction/index.ts';
import { bytesOf, namesMedia, replaceMedia } from '../../../src/agent/plugins/compaction/images.ts';
import { estimateTokens, requestTokens } from '../../../src/agent/plugins/compaction/measure.ts';
import { cutMiddle, pruneResults } from '../../../src/agent/plugins/compaction/prune.ts';
import { headToReplace, middleSeam, newestUnit } from '../../../src/agent/plugins/compaction/select.ts';
import { isTooMuch, summarise } from '../../../src/agent/plugins/compaction/summarise.ts';
import type { Message } from '../../../src/agent/plugin.ts';
import type { Json } from '../../../src/kernel/json.ts';
import { calls, image, imageRefused, long, overflow, results, says, user } from './compaction-support.ts';

/** Histories as the loop writes them: each message with calls is followed by one with all their results. */
const exchange: fc.Arbitrary<readonly Message[]> = fc.oneof(
  fc.string().map((text) => [user(`u${text}`)]),
  fc.string().map((text) => [says(`a${text}`)]),
  fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.jsonValue(), fc.integer({ min: 0, max: 3_000 }))
    .map(([count, output, pad]) => {
      const ids = Array.from({ length: count }, (_, nth) => `c${nth}`);
      const content = ids.map((id) => ({
        type: 'result' as const,
        id,
        tool: 'read',
        output: [output as Json, '"'.repeat(pad)],
      }));
      return [calls(...ids), { role: 'tool' as const, content }];
    }),
);
const history = fc.array(exchange, { maxLength: 12 }).map((list) => list.flat());
/** A crash or a cancel may leave calls at the end open for a moment. */
const anyHistory = fc.tuple(history, fc.boolean()).map(([list, open]) => (open ? [...list, calls('open')] : list));

/** Ids of calls without a result after them, and of results without a call before them. */
function unpaired(messages: readonly Message[]): readonly string[] {
  const open = new Set<string>();
  const orphans: string[] = [];
  for (const message of messages)
    for (const part of message.content) {
      if (part.type === 'call') open.add(part.id);
      if (part.type === 'result' && !open.delete(part.id)) orphans.push(part.id);
    }
  return [...open, ...orphans];
}

describe('what may be replaced', () => {
  test('A90 for any history is a balanced head, and the newest unit stays whole behind it', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 0, max: 3_000 }), (messages, keep) => {
        const head = headToReplace(messages, keep);
        expect(unpaired(messages.slice(0, head))).toEqual([]);
        expect(unpaired(messages.slice(head)).filter((id) => id !== 'open')).toEqual([]);
        expect(head).toBeLessThanOrEqual(newestUnit(messages));
        expect(head).toBeLessThan(Math.max(1, messages.length));
      }),
    );
  });

  test('leaves no more of the end than was to be kept, but for the newest unit', () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 0, max: 3_000 }), (messages, keep) => {
        const head = headToReplace(messages, keep);
        const unit = estimateTokens(messages.slice(newestUnit(messages)));
        expect(head === 0 ? 0 : estimateTokens(messages.slice(head))).toBeLessThanOrEqual(Math.max(keep, unit));
      }),
    );
  });

  test('ends before results that no model has seen, also when a user spoke after them', () => {
    expect(newestUnit([user('a'), calls('x'), results('r', 'x')])).toBe(1);
    expect(newestUnit([user('a'), calls('x'), results('r', 'x'), user('b'), user('c')])).toBe(1);
    expect(newestUnit([user('a'), says('b'), user('c')])).toBe(2);
    expect(newestUnit([user('a')])).toBe(0);
    // A damaged history: the call has no results.
    expect(newestUnit([user('a'), calls('x'), user('b')])).toBe(1);
    expect(newestUnit([])).toBe(0);
  });

  test('is never cut in the middle of a unit', () => {
    fc.assert(
      fc.property(history, (messages) => {
        const seam = middleSeam(messages, 0, messages.length);
        expect(unpaired(messages.slice(0, seam ?? 0))).toEqual([]);
        expect(seam ?? newestUnit(messages)).toBe(seam ?? 0);
      }),
    );
  });
});

describe('pruning', () => {
  test('never makes a history larger, changes nothing but results, and is done when it is done', () => {
    fc.assert(
      fc.property(
        history,
        fc.integer({ min: 200, max: 2_000 }),
        fc.integer({ min: 1, max: 2_000 }),
        (messages, above, left) => {
          const changes = pruneResults(messages, { above, left, before: messages.length });
          const pruned = withChanges(messages, changes);
          expect(pruned.length).toBe(messages.length);
          for (const [index, message] of pruned.entries()) {
            if (message === messages[index]) continue;
            expect(message.role).toBe('tool');
            expect(JSON.stringify(message).length).toBeLessThan(JSON.stringify(messages[index]).length);
          }
          expect(unpaired(pruned)).toEqual(unpaired(messages));
        },
      ),
    );
  });

  test('keeps the beginning and the end of a result, says how much is gone, and leaves the newest alone', () => {
    const messages = [
      user('a'),
      calls('x'),
      results(long('first', 3_000), 'x'),
      calls('y'),
      results(long('second', 3_000), 'y'),
    ];
    const pruned = withChanges(messages, pruneResults(messages, { above: 8_000, left: 1_500, before: 3 }));
    expect(JSON.stringify(pruned[2])).toMatch(/first lorem.*\[10950 characters were left out here to save space\]/u);
    expect(pruned[4]).toBe(messages[4]);
  });

  test('does not replace a result by itself: quotes that JSON escapes are no gain', () => {
    const messages = [calls('x'), results('"'.repeat(7_999), 'x')];
    const pruned = pruneResults(messages, { above: 8_000, left: 8_000, before: 2 });
    expect(pruned).toEqual([]);
  });

  test('cuts no half of a character into the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 300, maxLength: 400 }), (text) => {
        expect(cutMiddle(text, 250).isWellFormed()).toBe(true);
      }),
    );
  });

  test('writes changes that lie close together as one, and others apart', () => {
    const messages = [user('a'), user('b'), user('c'), user(long('gap', 2_000)), user('e')];
    const changes = changesOf(messages, (message, index) => (index === 1 || index === 3 ? message : user('new')));
    expect(changes.map(({ from, to }: Change) => [from, to])).toEqual([
      [0, 3],
      [4, 5],
    ]);
    expect(withChanges(messages, changes).map((message) => message.content)).toEqual([
      user('new').content,
      user('b').content,
      user('new').content,
      messages[3]?.content,
      user('new').content,
    ]);
  });
});

describe('files', () => {
  test('R57 are replaced by a note that says what was there; what stood beside them stays as it is', () => {
    const messages = [image('x'.repeat(80)), user('b'), image('y'.repeat(8))];
    const changed = withChanges(
      messages,
      replaceMedia(messages, (part) => bytesOf(part) > 50),
    );
    expect(changed[0]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        {
          type: 'text',
          text: '[A file (image/png, 60 bytes) stood here. The provider does not take it, so it was removed.]',
        },
      ],
    });
    expect(changed.slice(1)).toEqual(messages.slice(1));
  });

  test('count by the bytes of the request: a link has none', () => {
    expect(bytesOf({ type: 'media', mediaType: 'image/png', data: 'https://example.org/large.png' })).toBe(0);
    expect(bytesOf({ type: 'media', mediaType: 'image/png', data: `data:image/png;base64,${'A'.repeat(400)}` })).toBe(
      316,
    );
  });

  test('are named by typed facts alone, at any depth, and never by the words of a message', () => {
    expect(namesMedia(imageRefused)).toBe(true);
    expect(namesMedia({ message: '', status: 400, code: 'image_too_large' })).toBe(true);
    expect(namesMedia({ message: '', cause: { message: '', type: 'invalid_base64_image' } })).toBe(true);
    expect(namesMedia({ message: '', text: { class: 'input', rule: 'some-adapter/1:image-dimensions' } })).toBe(true);
    expect(namesMedia({ message: 'image exceeds 5 MB maximum', status: 400, type: 'invalid_request_error' })).toBe(
      false,
    );
    expect(namesMedia({ message: '', status: 400, code: 'image_content_policy_violation' })).toBe(false);
  });
});

describe('the size of the next request', () => {
  const header = { system: 'x'.repeat(400), tools: [], settings: {} };
  test('is what the provider counted, and an estimate of what came after it', () => {
    const messages = [user('a'), says('b'), user('x'.repeat(396))];
    expect(requestTokens(messages, header, { tokens: 5_000, messages: 2 })).toBe(5_100);
  });
  test('is an estimate of all of it, the system text included, where nobody counted', () => {
    expect(requestTokens([user('x'.repeat(396))], header, undefined)).toBe(201);
  });
});

describe('a summary whose own request does not fit', () => {
  const head = Array.from({ length: 16 }, (_, nth) => [
    user(long(`question ${nth}`, 100)),
    says(`answer ${nth}`),
  ]).flat();
  const asked: (readonly Message[])[] = [];
  const within = (tokens: number) => async (messages: readonly Message[]) => {
    asked.push(messages);
    return estimateTokens(messages) > tokens
      ? { ok: false as const, failure: overflow }
      : { ok: true as const, text: `summary ${asked.length}` };
  };

  test('R54 is made piece by piece, each with the summary of those before it, until all is covered', async () => {
    asked.length = 0;
    const summary = await summarise(head, within(900));
    expect(summary).toMatchObject({ ok: true, messages: head.length });
    expect(asked.length).toBeLessThanOrEqual(8);
    const pieces = asked.filter((messages) => estimateTokens(messages) <= 900);
    expect(JSON.stringify(pieces[1]?.[0])).toContain('summary 2');
    expect(pieces.flatMap((messages, nth) => messages.slice(nth === 0 ? 0 : 1))).toEqual(head);
  });

  test('R54 for any window costs at most eight requests, and covers a balanced part or nothing', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 0, max: 4_000 }), async (messages, window) => {
        asked.length = 0;
        const summary = await summarise(messages, within(window));
        expect(asked.length).toBeLessThanOrEqual(8);
        expect(unpaired(messages.slice(0, summary.ok ? summary.messages : 0))).toEqual([]);
        for (const part of asked) expect(unpaired(part)).toEqual([]);
      }),
    );
  });

  test('R54 that would take too many requests stands for the oldest part', async () => {
    asked.length = 0;
    const many = Array.from({ length: 64 }, (_, nth) => user(long(`question ${nth}`, 400)));
    const summary = await summarise(many, within(1_600));
    expect(asked).toHaveLength(8);
    expect(summary).toMatchObject({ ok: true, messages: expect.toSatisfy((n: number) => n > 0 && n < 64) as number });
  });

  test('is given up at once for a failure that fewer messages do not help', async () => {
    let count = 0;
    const summary = await summarise(head, async () => {
      count += 1;
      return await Promise.resolve({ ok: false, failure: { message: 'no', status: 401 } });
    });
    expect([summary.ok, count]).toEqual([false, 1]);
    expect(isTooMuch({ message: '', status: 529 })).toBe(false);
  });
});

describe('one signal for several', () => {
  test('aborts with the first of them, also with one that has aborted before, and with its reason', async () => {
    const [turn, lifetime] = [new AbortController(), new AbortController()];
    const seen = await eitherSignal([turn.signal, lifetime.signal], async (signal) => {
      lifetime.abort('unloaded');
      return await Promise.resolve([signal.aborted, signal.reason]);
    });
    expect(seen).toEqual([true, 'unloaded']);
    const late = await eitherSignal(
      [turn.signal, lifetime.signal],
      async ({ aborted }) => await Promise.resolve(aborted),
    );
    expect(late).toBe(true);
  });

  test('leaves no listener behind, also when what it ran threw', async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    const counting = {
      aborted: signal.aborted,
      reason: undefined,
      addEventListener: (_: 'abort', listener: () => void) => void listeners.add(listener),
      removeEventListener: (_: 'abort', listener: () => void) => void listeners.delete(listener),
    };
    const run = async (): Promise<never> => await Promise.reject(new Error(`${listeners.size} listening`));
    await expect(eitherSignal([counting], run)).rejects.toThrow('1 listening');
    expect(listeners.size).toBe(0);
  });
});

describe('options', () => {
  test('are filled in: an explicit zero stays zero', () => {
    expect(resolveCompaction({ overflow: 0, pressure: { keep: 0 } })).toEqual({
      pressure: { above: 0.8, keep: 0 },
      overflow: 0,
      perPrompt: 20,
      pruneAbove: 8_000,
      mediaBytes: 3_900_000,
    });
  });

  test.each<[string, unknown]>([
    ['compaction.options', null],
    ['compaction.options', []],
    ['compaction.overflow', { overflow: -1 }],
    ['compaction.overflow', { overflow: 1.5 }],
    ['compaction.overflow', { overflow: Number.NaN }],
    ['compaction.overflow', { overflow: '1' }],
    ['compaction.overflow', { overflow: null }],
    ['compaction.perPrompt', { perPrompt: Number.POSITIVE_INFINITY }],
    ['compaction.pruneAbove', { pruneAbove: 10 }],
    ['compaction.mediaBytes', { mediaBytes: 0 }],
    ['compaction.pressure', { pressure: true }],
    ['compaction.pressure', { pressure: [] }],
    ['compaction.pressure.above', { pressure: { above: 0 } }],
    ['compaction.pressure.above', { pressure: { above: 1.1 } }],
    ['compaction.pressure.above', { pressure: { above: '0.5' } }],
    ['compaction.pressure.keep', { pressure: { keep: 0.9 } }],
    ['compaction.pressure.keep', { pressure: { keep: Number.NaN } }],
    ['compaction.pressure.kep', { pressure: { kep: 0.1 } }],
    ['compaction.overflows', { overflows: 1 }],
  ])('that make no sense are refused at once, at %s: %j', (place, options) => {
    expect(() => compaction(options as CompactionOptions)).toThrow(
      expect.objectContaining({ place, brand: 'onward.error' }),
    );
  });
});
