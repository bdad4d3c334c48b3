import { describe, expect, test } from 'vitest';
import { appendTask, type CliName, type Play, taskSteps } from '../../../src/lab/fake-cli/index.ts';
import { checkInvariants } from '../../unit/supervisor/support/invariants.ts';
import { until } from '../../unit/processes/support.ts';
import { makePlace, type Place, type Report } from './support/place.ts';

const task = appendTask();
const prompt = 'do the task';

/** One tool call with an effect, then an overload; whoever comes later looks at what is there before it acts. */
const play: Play = {
  attempts: [
    {
      steps: [
        { do: 'request' },
        { do: 'text', text: 'I do it.' },
        { do: 'tool', command: task.command },
        { do: 'request' },
        { do: 'fail', with: 'overloaded' },
      ],
    },
    { steps: taskSteps(task, 'checker') },
  ],
};

/** Commits that announce an act, and are therefore durable before it. */
const announcing = [
  'run.accepted',
  'attempt.started',
  'call.started',
  'recovery.decided',
  'attempt.started#2',
  'attempt.committed',
];

interface Cell {
  /** Its number, or what it announces. */
  readonly k: number | string;
  readonly when: 'before' | 'after' | 'act';
}

/** Kills a process at a durable write, lets others go on until the run is done, and looks at everything there is. */
async function playCell(name: CliName, cell: Cell): Promise<'killed' | 'over'> {
  const what = `killed ${cell.when} commit ${cell.k}`;
  const place = await makePlace(play, name);
  const first = await place.run({ do: 'run', at: { commit: cell.k, when: cell.when, signal: 'SIGKILL' } });
  // How many events go into one commit depends on time, so that the last commits may not be reached.
  if (first.signal === null) return checkOver(place, first, what);
  expect(first.signal, `${what}: ${first.stderr}`).toBe('SIGKILL');
  const id = await place.onlyRun();
  if (id === undefined) return checkNothing(place, what);
  let last: Report = await place.run({ do: 'attach', id });
  for (let more = 0; last.result?.status === 'paused' && more < 2; more++) {
    // Without an id that we chose nobody knows what became of the prompt: then, and only then, a person is asked.
    expect(name, `${what}: ${last.result.because}`).toBe('codex');
    expect(last.result, what).toMatchObject({ reason: 'needs-human' });
    last = await place.run({ do: 'resume', id });
  }
  expect(last, `${what}: ${last.stderr}`).toMatchObject({ result: { status: 'done' } });
  await checkPlace(place, id, what);
  return 'killed';
}

async function checkOver(place: Place, report: Report, what: string): Promise<'over'> {
  expect(report, `${what}: ${report.stderr}`).toMatchObject({ result: { status: 'done' } });
  await checkPlace(place, report.id ?? '', what);
  return 'over';
}

/** No run was accepted, so nothing may have been started. */
function checkNothing(place: Place, what: string): 'killed' {
  expect(place.starts(), what).toHaveLength(0);
  return 'killed';
}

async function checkPlace(place: Place, id: string, what: string): Promise<void> {
  const events = await place.events(id);
  checkInvariants(events);
  expect(place.effects(), what).toEqual(['one']);
  const started = events.filter((event) => event.type === 'attempt.started').map((event) => event.data);
  const starts = place.starts();
  expect(starts.length, `${what}: no process without an announced attempt`).toBeLessThanOrEqual(started.length);
  const withPrompt = started.filter((data) => ['first', 'restart'].includes((data as { mode: string }).mode));
  const prompted = starts.filter((invocation) => invocation.prompts.includes(prompt));
  expect(prompted.length, `${what}: the prompt only as announced`).toBeLessThanOrEqual(withPrompt.length);
  const accepted = prompted.filter((invocation) => invocation.requests > 0);
  expect(accepted.length, `${what}: the prompt is worked on once`).toBeLessThanOrEqual(1);
  await until(`${what}: no process is left`, async () => (await place.left()).length === 0);
}

async function inParallel<T>(items: readonly T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

describe('a process that is killed at a durable write', () => {
  test.each<CliName>(['claude', 'codex'])(
    'R69 R70 leaves a run that others finish: before and after each commit of %s, and after each act that one announced',
    async (name) => {
      const clean = await makePlace(play, name);
      const report = await clean.run({ do: 'run' });
      expect(report, report.stderr).toMatchObject({ result: { status: 'done', attempts: 2 } });
      const commits = report.commits ?? 0;
      expect(commits).toBeGreaterThanOrEqual(12);
      const cells: readonly Cell[] = [
        ...Array.from({ length: 2 * commits }, (_, index) => ({
          k: Math.floor(index / 2) + 1,
          when: index % 2 === 0 ? ('before' as const) : ('after' as const),
        })),
        ...announcing.map((k) => ({ k, when: 'act' as const })),
      ];
      const started = performance.now();
      let killed = 0;
      await inParallel(cells, 3, async (cell) => {
        if ((await playCell(name, cell)) === 'killed') killed += 1;
      });
      const seconds = Math.round((performance.now() - started) / 1000);
      console.log(`${name}: ${commits} commits, ${killed} of ${cells.length} killed, ${seconds} s`);
      expect(killed).toBeGreaterThan(cells.length * 0.6);
    },
    240_000,
  );
});
