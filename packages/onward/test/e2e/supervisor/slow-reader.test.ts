import { expect, test } from 'vitest';
import type { Play } from '../../../src/lab/fake-cli/index.ts';
import { makePlace } from './support/place.ts';

const lines = 100_000;

/** Text as it comes, then messages, then repeated requests: live events, recorded ones, and many of both. */
const talkative: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'repeat', times: 0.36 * lines, steps: [{ do: 'delta', text: 'a word and another ' }] },
        { do: 'end-message' },
        { do: 'repeat', times: lines / 4, steps: [{ do: 'retry', attempt: 1, of: 3, with: 'overloaded' }] },
        {
          do: 'repeat',
          times: lines / 20,
          steps: [{ do: 'text', text: 'One more sentence of a long report.' }, { do: 'end-message' }],
        },
        { do: 'answer', text: 'That is all.' },
      ],
    },
  ],
};

test('100,000 lines with a reader that is slow cost less than 100 MB', async () => {
  const place = await makePlace(talkative);
  const started = performance.now();
  const report = await place.run({ do: 'run', slowMs: 5 });
  const seconds = Math.round((performance.now() - started) / 1000);
  expect(report, report.stderr).toMatchObject({ result: { status: 'done', attempts: 1 } });
  console.log(`${report.count} events read, RSS grown by ${report.grownMb} MB, ${seconds} s`);
  expect(report.count).toBeGreaterThan(lines / 4);
  expect(report.grownMb).toBeLessThan(100);
}, 180_000);
