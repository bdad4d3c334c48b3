import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { RunStreamEvent } from '../../../src/library/index.ts';
import { jsonLines, Place } from './support/place.ts';

describe('onward demo', () => {
  test('survives an overload and a kill -9 on screen, twice in a row, without repeating the effect', async () => {
    const place = new Place();
    for (let time = 1; time <= 2; time++) {
      const { code, stdout, stderr } = await place.onward(['demo']);
      expect(code, stderr).toBe(0);
      expect(stdout).toBe('It is released, once: the line was there already, so I did not do it again.\n');
      expect(stderr).toMatch(
        /attempt 1 failed, transient \(category=server_error\): API Error: 529 .* -> next attempt in \d s/,
      );
      expect(stderr).toMatch(/kill -9 \d+: the agent dies inside its tool\n/);
      expect(stderr).toMatch(/attempt 2 failed, crash \(process=ended-without-result\): /);
      expect(stderr).toContain('2 failures, 2 recoveries, 1 effect, 0 effects repeated (counted in ');
      expect(stderr).toContain('  in front of your own:     onward run -- claude -p ');
      const log = /counted in (\S+),/.exec(stderr)?.[1] ?? '';
      expect(readFileSync(log, 'utf8')).toBe('released\n');
      const [, , journal = ''] = /onward why (\S+) --journal( (\S+))/.exec(stderr) ?? [];
      const why = await place.onward(['why', 'demo', '--journal', journal.trim()]);
      expect(why.stdout).toContain('outcome unknown, to be inspected:\n  attempt 2: Bash');
    }
    await place.quiet();
  });

  test('--json prints the events alone on standard output', async () => {
    const place = new Place();
    const { code, stdout, stderr } = await place.onward(['demo', '--json']);
    expect(code, stderr).toBe(0);
    const events = jsonLines(stdout) as readonly RunStreamEvent[];
    expect(events.filter(({ type }) => type === 'attempt.failed')).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', data: { outcome: 'done' } });
    expect(stderr).toContain('0 effects repeated');
  });

  test('ended by Ctrl-C says so with 130 and leaves no agent behind', async () => {
    const place = new Place();
    const demo = place.start(['demo']);
    await demo.says('attempt 1 failed');
    demo.signal('SIGINT');
    const { code, stderr } = await demo.ended;
    expect(code, stderr).toBe(130);
    await place.quiet();
  });
});
