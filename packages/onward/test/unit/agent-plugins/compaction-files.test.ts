import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Message } from '../../../src/agent/plugin.ts';
import { withChanges } from '../../../src/agent/plugins/compaction/change-messages.ts';
import { bytesOf, replaceMedia } from '../../../src/agent/plugins/compaction/images.ts';
import { estimateTokens } from '../../../src/agent/plugins/compaction/measure.ts';
import { historyFaults } from '../../../src/testing/history-faults.ts';
import { calls, results, says } from './compaction-support.ts';

const part = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.constantFrom('one', 'two', 'three') }),
  fc.record({
    type: fc.constant('media' as const),
    mediaType: fc.constantFrom('image/png', 'application/pdf'),
    data: fc.integer({ min: 1, max: 500 }).map((size) => 'AAAA'.repeat(size)),
  }),
);

/** What a user said, what was called for it and what came back: balanced, with files anywhere. */
const exchange = fc
  .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.array(fc.uuid(), { maxLength: 3 }))
  .map(([content, ids]): readonly Message[] => [
    { role: 'user', content },
    ...(ids.length === 0 ? [says('done')] : [calls(...ids), results('r', ...ids)]),
  ]);
const history = fc
  .array(exchange, { minLength: 1, maxLength: 8 })
  .map((exchanges): readonly Message[] => [
    ...exchanges.flat(),
    { role: 'user', content: [{ type: 'text', text: 'next' }] },
  ]);

type Part = Message['content'][number];

function parts(messages: readonly Message[]): readonly Part[] {
  return messages.flatMap<Part>(({ content }) => content);
}

test('replacing files never makes a history larger, parts no call from its results, and leaves what is within the limit', () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 0, max: 1_600 }), (messages, limit) => {
      const changed = withChanges(
        messages,
        replaceMedia(messages, (media) => bytesOf(media) > limit),
      );
      expect(changed.map(({ role, content }) => [role, content.length])).toEqual(
        messages.map(({ role, content }) => [role, content.length]),
      );
      expect(estimateTokens(changed)).toBeLessThanOrEqual(estimateTokens(messages));
      const request = { system: '', tools: [], settings: {} };
      expect(historyFaults({ ...request, messages: changed })).toEqual([]);
      const keep = (kept: Part): boolean => kept.type !== 'media' || bytesOf(kept) <= limit;
      const goes = parts(messages).map((before) => !keep(before));
      expect(parts(changed).map((now, nth) => now !== parts(messages)[nth])).toEqual(goes);
      expect(parts(changed).every(keep)).toBe(true);
    }),
  );
});
