import { describe, expect, test } from 'vitest';
import type { ServiceBehaviour } from '../../../src/lab/index.ts';
import { inLanes } from '../effects/support/scene.ts';
import { checkEnd, checkSoFar } from './support/invariants.ts';
import { makePlace, type Place } from './support/place.ts';
import { type Point, points, type Strike } from './support/strike.ts';

interface Setting {
  readonly service: string;
  readonly behaviour: ServiceBehaviour;
  /** The service is believed when it says that there is nothing, so that nobody is ever asked about an effect. */
  readonly settles: boolean;
  readonly recover: boolean;
}

const settings: readonly Setting[] = [
  { service: 'that can be asked', behaviour: { dedupes: false }, settles: true, recover: false },
  {
    service: 'that drops answers, and is not believed; opened to recover',
    behaviour: { dedupes: false, treatments: [{ kind: 'drop-answer' }] },
    settles: false,
    recover: true,
  },
];

/** Kills processes as told, one after the other, then lets one go on to the end, and looks at everything there is. */
async function playOut(setting: Setting, strikes: readonly Strike[]): Promise<number> {
  const what = `killed ${JSON.stringify(strikes)}`;
  const { recover } = setting;
  const place = await makePlace(setting.settles, setting.behaviour);
  let killed = 0;
  for (const strike of strikes) {
    const { signal, stderr, done } = await place.run({ strike, recover });
    // What it went through may be less than what it was to be killed in.
    expect(signal ?? (done === undefined ? 'failed' : 'done'), `${what}: ${stderr}`).toMatch(/^(SIGKILL|done)$/);
    if (signal !== null) killed += 1;
    await checkSoFar(place, what);
    if (signal !== null && 'point' in strike) await checkAnnounced(place, strike.point, what);
  }
  const last = await place.run({ recover });
  expect(last.done, `${what}: ${last.stderr}`).toBeDefined();
  if (last.done !== undefined) await checkEnd(place, last.done, what);
  await place.end();
  return killed;
}

/** What was under way is on record with everything that was sent. */
async function checkAnnounced(place: Place, point: Point, what: string): Promise<void> {
  const { events, state } = await place.load();
  const open = [...(state.open?.step?.calls.values() ?? [])].filter(({ outcome }) => outcome === undefined);
  if (point === 'asked' || point === 'in-text') {
    expect(events.at(-1)?.type, what).toMatch(/^(step\.opened|header\.set)$/);
    expect(state.header?.tools, what).toHaveLength(4);
  } else if (point !== 'in-look')
    expect(
      open.map(({ started }) => started),
      what,
    ).toEqual([true]);
}

describe('a session that is killed', () => {
  test.each(settings)(
    'A131 R58 R59 R64 R100 at every durable write, in its tools and in its effect, with a service $service, goes on to its end',
    async (setting) => {
      const clean = await makePlace(setting.settles, setting.behaviour);
      const { done, stderr } = await clean.run();
      expect(done, stderr).toMatchObject({ rounds: 0, refused: [] });
      if (done === undefined) return;
      await checkEnd(clean, done, 'not killed');
      expect(clean.ran().length).toBe(2);
      await clean.end();
      const cells: readonly Strike[] = [
        ...Array.from({ length: 2 * done.commits }, (_, index) => ({
          commit: Math.floor(index / 2) + 1,
          when: index % 2 === 0 ? ('before' as const) : ('after' as const),
        })),
        ...points.map((point) => ({ point })),
      ];
      const started = performance.now();
      let killed = 0;
      await inLanes(cells, 3, async (strike) => {
        const kills = await playOut(setting, [strike]);
        killed += kills;
      });
      const seconds = Math.round((performance.now() - started) / 1_000);
      console.log(
        `a service ${setting.service}: ${done.commits} commits, ${killed} of ${cells.length} killed, ${seconds} s`,
      );
      expect(done.commits).toBeGreaterThanOrEqual(15);
      expect(killed).toBeGreaterThanOrEqual(cells.length * 0.9);
    },
    400_000,
  );

  test('R58 R59 again while the next one repairs and goes on, is repaired by the one after it', async () => {
    const setting: Setting = { service: '', behaviour: { dedupes: false }, settles: true, recover: true };
    const firsts: readonly Strike[] = [{ point: 'in-text' }, { point: 'after-write' }, { point: 'accepted' }];
    const cells = firsts.flatMap((first) =>
      Array.from({ length: 8 }, (_, index): readonly Strike[] => [
        first,
        { commit: Math.floor(index / 2) + 1, when: index % 2 === 0 ? 'before' : 'after' },
      ]),
    );
    let killed = 0;
    await inLanes(cells, 3, async (strikes) => {
      const kills = await playOut(setting, strikes);
      killed += kills;
    });
    console.log(`killed while it recovered: ${killed} kills in ${cells.length} courses`);
    expect(killed).toBeGreaterThanOrEqual(cells.length * 1.8);
  }, 300_000);
});
