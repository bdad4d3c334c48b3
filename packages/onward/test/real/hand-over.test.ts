import { describe, expect, test } from 'vitest';
import { effectStep, type ShellStep } from '../../src/lab/index.ts';
import { realCliBin } from '../../../../tools/real-clis/install.ts';
import type { AgentName } from './support/agents.ts';
import { type Cell, conclude, type Expected, orSessionUnsaved, setStage, type Stage, start } from './support/cell.ts';
import { type Onward, startFixture, startOnward } from './support/onward.ts';
import type { Place } from './support/place.ts';
import { processesWith } from './support/processes.ts';
import { hits } from './support/rules.ts';
import { until } from './support/until.ts';

/** Goes on only when the test says so: while it waits, the run is alive for sure. */
const gatedStep: ShellStep = {
  ...effectStep('two', 2),
  command: 'while [ ! -e go ]; do sleep 0.05; done; echo two >> effects.log; echo EFFECT_OK_2',
};
const gated: Pick<Cell, 'steps'> = { steps: [effectStep('one', 1), gatedStep] };

function openGate(stage: Stage): void {
  stage.place.write('work/go', '');
}

/** Two processes resume one run at once: one goes on, the other says that it is held. */
async function race(stage: Stage, id: string, expected: Expected): Promise<void> {
  const both = [0, 1].map(() => startOnward(stage.place, stage.env, ['resume', id, '--json']));
  const [loser, code] = await Promise.race(
    both.map(async (onward): Promise<[Onward, number | null]> => [onward, (await onward.exited).code]),
  );
  expect([7, 75], loser.stderr()).toContain(code);
  expect(loser.events).toEqual([]);
  openGate(stage);
  const winner = both.find((onward) => onward !== loser) ?? loser;
  await conclude(stage, winner, (await winner.exited).code, expected);
}

async function checkRaceAfterFailure(agent: AgentName, cell: Cell, expected: Expected): Promise<void> {
  const stage = await setStage(agent, { ...cell, ...gated, flags: ['--schedule', 'none'] });
  const first = start(stage);
  expect((await first.exited).code, first.stderr()).toBe(4);
  await race(stage, await first.id(), expected);
}

async function checkRaceAfterKill(agent: AgentName, cell: Cell, expected: Expected): Promise<void> {
  const stage = await setStage(agent, { ...cell, ...gated, faults: hits({ kind: 'stall', at: 'text' }, 2) });
  const first = start(stage);
  const id = await first.id();
  await stage.server.until((requests) => requests[1]?.state === 'at-fault');
  first.signal('SIGKILL');
  await first.exited;
  await race(stage, id, expected);
}

/** Puts a program in front of the agent that notes each start. */
function countStarts(agent: AgentName): (place: Place) => void {
  return (place) =>
    place.write(
      `bin/${agent}`,
      `#!/bin/sh\n[ "$1" = --version ] || echo "started" >> "$HOME/../work/starts.log"\nexec '${realCliBin}/${agent}' "$@"\n`,
    );
}

/** Stopped between the record of an attempt and its start; another takes over; then it comes back. */
async function checkStoppedBeforeSpawn(agent: AgentName): Promise<void> {
  const stage = await setStage(agent, {
    name: 'SIGSTOP between append and spawn',
    ...gated,
    prepare: countStarts(agent),
  });
  const late = startFixture(stage.place, stage.env, ['stop-before-spawn', ...stage.setup.command]);
  const id = await until('the run is on record', async () => newestRun(stage));
  await until('it has stopped', () =>
    processesWith(stage.place.home).some(({ pid, state }) => pid === late.pid && state === 'T'),
  );
  const second = await until('the lease has run out and another takes over', async () => takeOver(stage, id), 60_000);
  await stage.server.until((requests) => requests.length >= 2);
  late.signal('SIGCONT');
  const { code } = await late.exited;
  expect([7, 75], late.stderr()).toContain(code);
  expect(stage.server.requests).toHaveLength(2);
  openGate(stage);
  // The attempt that was announced and never started made no request.
  const { events } = await conclude(stage, second, (await second.exited).code, {
    exit: 0,
    failed: ['crash'],
    kept: 1,
    retried: 0,
  });
  expect(events.filter(({ type }) => type === 'attempt.spawned')).toHaveLength(1);
  expect(stage.place.read('work/starts.log')).toBe('started\n');
}

async function newestRun(stage: Stage): Promise<string | undefined> {
  const ls = startOnward(stage.place, stage.env, ['ls', '--json']);
  await ls.exited;
  return /"(?:run|id)":"([0-9a-f]{8,})"/.exec(ls.stdout())?.[1];
}

/** A `resume` that is under way, or nothing if the run is held. */
async function takeOver(stage: Stage, id: string): Promise<Onward | undefined> {
  const onward = startOnward(stage.place, stage.env, ['resume', id, '--json']);
  const begun = until('it goes on', () => onward.events.some(({ type }) => type === 'attempt.spawned'), 60_000);
  const over = onward.exited.then(({ code }) => code);
  const code = await Promise.race([begun.then(() => undefined), over]);
  if (code === undefined) return onward;
  begun.catch(() => undefined);
  expect([7, 75], onward.stderr()).toContain(code);
  return undefined;
}

describe('Claude Code', () => {
  test('R73 R75 two processes that resume a paused run: one goes on', async () => {
    const cell = { name: 'two resumes of a paused run', faults: hits({ kind: 'error', error: 'server-error' }, 2, 5) };
    await checkRaceAfterFailure('claude', cell, { exit: 0, retried: 3, failed: ['transient'] });
  });

  test('R73 two processes that resume after kill -9 of Onward: one goes on', async () => {
    const expected = orSessionUnsaved({ exit: 0, retried: 0, failed: ['crash'] });
    await checkRaceAfterKill('claude', { name: 'two resumes after kill -9 of Onward' }, expected);
  });

  test('R73 a process that was stopped before it started the agent does not start it late', async () => {
    await checkStoppedBeforeSpawn('claude');
  });
});

describe('Codex', () => {
  test('R73 R75 two processes that resume a paused run: one goes on', async () => {
    const cell = { name: 'two resumes of a paused run', faults: hits({ kind: 'error', error: 'server-error' }, 2) };
    await checkRaceAfterFailure('codex', cell, { exit: 0, retried: 0, failed: ['transient'] });
  });

  test('R73 two processes that resume after kill -9 of Onward: one goes on', async () => {
    await checkRaceAfterKill(
      'codex',
      { name: 'two resumes after kill -9 of Onward' },
      { exit: 0, retried: 0, failed: ['crash'] },
    );
  });

  test('R73 a process that was stopped before it started the agent does not start it late', async () => {
    await checkStoppedBeforeSpawn('codex');
  });
});
