import { describe, expect, test } from 'vitest';
import type { ServiceBehaviour } from '../../../src/lab/index.ts';
import type { Strike } from './fixtures/client.ts';
import { type Declared, inLanes, makeScene, type Report, type Scene } from './support/scene.ts';

interface Setting {
  readonly service: string;
  readonly behaviour: ServiceBehaviour;
  readonly declared: Declared;
  /** True where nobody need ever be asked. */
  readonly alone: boolean;
  /** Also killed while it recovers. */
  readonly again?: true;
}

const settings: readonly Setting[] = [
  {
    service: 'that dedupes on the key',
    behaviour: {},
    declared: { lookup: false, keyLifetimeMs: 3_600_000 },
    alone: true,
  },
  {
    service: 'that dedupes on the key and drops the answer',
    behaviour: { treatments: [{ kind: 'drop-answer' }] },
    declared: { lookup: false, keyLifetimeMs: 3_600_000 },
    alone: true,
  },
  {
    service: 'that can be asked and believed',
    behaviour: { dedupes: false },
    declared: { lookup: true, settleMs: 0 },
    alone: true,
    again: true,
  },
  {
    service: 'that can be asked and believed, and drops the answer',
    behaviour: { dedupes: false, treatments: [{ kind: 'drop-answer' }] },
    declared: { lookup: true, settleMs: 0 },
    alone: true,
  },
  {
    service: 'that knows of an effect only later',
    behaviour: { dedupes: false, lookup: { absentMs: 200 } },
    declared: { lookup: true, settleMs: 500 },
    alone: true,
  },
  {
    service: 'whose absence proves nothing',
    behaviour: { dedupes: false },
    declared: { lookup: true },
    alone: false,
  },
  {
    service: 'that cannot be asked',
    behaviour: { dedupes: false, lookup: { works: false }, treatments: [{ kind: 'accept-and-fail', status: 500 }] },
    declared: { lookup: false },
    alone: false,
    again: true,
  },
];

const inCall: readonly Strike[] = [{ call: 'before-sending' }, { call: 'accepted' }, { call: 'answered' }];

function aroundCommits(commits: number): readonly Strike[] {
  return Array.from({ length: 2 * commits }, (_, index) => ({
    commit: Math.floor(index / 2) + 1,
    when: index % 2 === 0 ? ('before' as const) : ('after' as const),
  }));
}

/** Kills one client after another as told, then lets clients go on to the end, with a person who tells the truth if asked. */
async function playOut({ behaviour, declared, alone }: Setting, strikes: readonly Strike[]): Promise<number> {
  const scene = await makeScene(behaviour, declared);
  const what = `killed ${JSON.stringify(strikes)}`;
  let killed = 0;
  for (const strike of strikes) {
    const { signal, stderr, outcome } = await scene.run({ strike });
    // What it went through may be less than what it was to be killed in.
    expect(signal ?? outcome?.kind, `${what}: ${stderr}`).toMatch(/SIGKILL|accepted|waiting/);
    if (signal !== null) killed += 1;
    await checkSoFar(scene, what);
  }
  const last = await goOn(scene, alone, what);
  expect(last.outcome, `${what}: ${last.stderr}`).toMatchObject({ kind: 'accepted' });
  expect(await scene.acceptances(), what).toHaveLength(1);
  for (const { state } of await scene.questions()) expect(state, what).not.toBe('open');
  await scene.end();
  return killed;
}

async function goOn(scene: Scene, alone: boolean, what: string): Promise<Report> {
  let report = await scene.run();
  // Each call may lose its answer, so that a person may be asked twice.
  for (let asked = 0; report.outcome?.kind === 'waiting' && asked < 2; asked++) {
    expect(alone, `${what}: nobody need be asked`).toBe(false);
    await checkSoFar(scene, what);
    const { id } = report.outcome.question;
    const open = (await scene.questions()).filter(({ state }) => state === 'open');
    expect(open, `${what}: what is unknown is an open question`).toMatchObject([{ question: { id } }]);
    await scene.answer(id, (await scene.acceptances()).length > 0 ? 'happened' : 'did-not-happen');
    report = await scene.run();
  }
  return report;
}

async function checkSoFar(scene: Scene, what: string): Promise<void> {
  const isIntended = (await scene.events()).length > 0;
  const { length } = await scene.acceptances();
  expect(length, `${what}: at most one acceptance, and none without an intent`).toBeLessThanOrEqual(isIntended ? 1 : 0);
}

describe('a client that is killed', () => {
  test.each(settings)(
    'R100 O57 O58 at every durable write and in the call, and its service $service: one acceptance, and no unknown outcome is passed over',
    async (setting) => {
      const clean = await makeScene(setting.behaviour, setting.declared);
      const { outcome, commits = 0, stderr } = await clean.run();
      expect(outcome, stderr).toBeDefined();
      expect(commits).toBeGreaterThanOrEqual(4);
      await clean.end();
      const cells = [...aroundCommits(commits), ...inCall];
      let killed = 0;
      await inLanes(cells, 3, async (strike) => {
        const kills = await playOut(setting, [strike]);
        killed += kills;
      });
      console.log(`a service ${setting.service}: ${commits} commits, ${killed} of ${cells.length} killed`);
      expect(killed).toBeGreaterThanOrEqual(cells.length - 2);
    },
    240_000,
  );

  test.each(settings.filter(({ again }) => again))(
    'O58 again while the next one finds out what the first has done, and its service $service',
    async (setting) => {
      const cells = inCall.slice(0, 2).flatMap((first) => aroundCommits(4).map((second) => [first, second]));
      let killed = 0;
      await inLanes(cells, 3, async (strikes) => {
        const kills = await playOut(setting, strikes);
        killed += kills;
      });
      console.log(`a service ${setting.service}: ${killed} kills in ${cells.length} courses`);
      expect(killed).toBeGreaterThanOrEqual(cells.length * 1.5);
    },
    240_000,
  );
});
