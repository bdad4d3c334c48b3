import { describe, expect, test } from 'vitest';
import { sweep, sweepAgent, systemClock } from '../../../src/processes/index.ts';
import { countMarked, makeMarker, plainEnv, startForeign, startShell } from '../../unit/processes/support.ts';

describe('a sweep on a busy machine', () => {
  test('never calls an attempt gone while a tool of it is between fork and exec, or adopted by init', async () => {
    for (let i = 0; i < 3; i++) startForeign('sh', ['-c', 'while :; do :; done'], plainEnv);
    for (let i = 0; i < 20; i++) {
      const marker = makeMarker();
      const agent = await startShell('for i in 1 2 3 4 5 6; do (setsid sleep 100 &) & done; exit 0', { marker });
      await agent.exited;
      const { identity } = agent;
      const result = await (i % 2 === 0
        ? sweep({ marker, clock: systemClock })
        : sweepAgent({ identity, marker, clock: systemClock }));
      expect(result.gone).toBe(true);
      // Whatever escaped has had the time of a second sweep to show itself.
      await sweep({ marker: `${marker}-other`, clock: systemClock });
      expect(countMarked(marker)).toBe(0);
    }
  });
});
