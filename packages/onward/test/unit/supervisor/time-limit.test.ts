import { expect, test } from 'vitest';
import { createRig } from './support/rig.ts';

test('a wait that the time limit does not leave room for is not begun, and no retry is announced', async () => {
  const rig = createRig({ scripts: [(agent) => agent.fail({ type: 'overloaded_error', message: 'Overloaded' })] });
  const before = rig.clock.now();
  const { id, result } = await rig.start({ policy: { retry: { scheduleMs: [60_000] }, timeouts: { wallMs: 30_000 } } });
  expect(await rig.until(result)).toMatchObject({ status: 'paused', reason: 'limit', attempts: 1 });
  expect(rig.clock.now() - before).toBeLessThan(5_000);
  expect(await rig.data(id, 'attempt.failed')).toMatchObject([{ willRetry: false, nextAt: null }]);
});
