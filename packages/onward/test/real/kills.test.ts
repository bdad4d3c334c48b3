import { describe, expect, test } from 'vitest';
import { effectStep, type ShellStep } from '../../src/lab/index.ts';
import type { AgentName } from './support/agents.ts';
import {
  type Cell,
  conclude,
  type Expected,
  type Outcome,
  orSessionUnsaved,
  setStage,
  type Stage,
  start,
} from './support/cell.ts';
import { type Onward, startOnward } from './support/onward.ts';
import { kill, processesWith } from './support/processes.ts';
import { hits, temperaments } from './support/rules.ts';
import { until } from './support/until.ts';

/** Its first run never ends by itself; the effect happens before. A second run ends at once. */
const slowStep: ShellStep = {
  ...effectStep('one', 1),
  command: 'echo one >> effects.log; [ -e slow ] || { touch slow; sleep 300; }; echo EFFECT_OK_1',
};

const inText: Pick<Cell, 'faults'> = { faults: hits({ kind: 'stall', at: 'text' }, 2) };
/** The call has run and its result was printed, but its message never ends: the agent has not saved it yet. */
const afterCall: Pick<Cell, 'faults'> = { faults: hits({ kind: 'stall', at: 'after-call' }, 1) };
const inTool: Pick<Cell, 'steps'> = { steps: [slowStep, effectStep('two', 2)] };

/** Resolves when the agent is where the cell wants it: at its fault with the first result on record, or inside its tool. */
async function reached(stage: Stage, onward: Onward): Promise<void> {
  if (stage.cell.steps !== undefined) {
    await until('the tool runs', () => stage.place.effects()['one'] === 1);
    // Codex tells of a command some 150 ms after it began.
    await until('it is on record', () => onward.events.some(({ type }) => type === 'call.started'));
    return;
  }
  await stage.server.until((requests) => requests.at(-1)?.state === 'at-fault');
  await until('the first result is on record', () => onward.events.some(({ type }) => type === 'call.finished'));
}

/** The agent's own process: what Onward started, or what that started in its turn. */
async function agentPid(stage: Stage, onward: Onward, which: 'program' | 'innermost'): Promise<number> {
  const spawned = await until('the agent is on record', () =>
    onward.events.find(({ type }) => type === 'attempt.spawned'),
  );
  const { pid } = spawned.data as { readonly pid: number };
  const child = processesWith(stage.place.home).find(
    ({ parent, command }) => parent === pid && command.includes('codex'),
  );
  return which === 'innermost' ? (child?.pid ?? pid) : pid;
}

async function checkKilledAgent(
  agent: AgentName,
  cell: Cell,
  which: 'program' | 'innermost',
  expected: Expected,
): Promise<Outcome> {
  const stage = await setStage(agent, cell);
  const onward = start(stage);
  await reached(stage, onward);
  kill(await agentPid(stage, onward, which), 'SIGKILL');
  const { code } = await onward.exited;
  return conclude(stage, onward, code, expected);
}

async function checkKilledOnward(agent: AgentName, cell: Cell, expected: Expected): Promise<Outcome> {
  const stage = await setStage(agent, cell);
  const first = start(stage);
  const id = await first.id();
  await reached(stage, first);
  first.signal('SIGKILL');
  expect((await first.exited).signal).toBe('SIGKILL');
  await until('the guard has ended the agent', () => processesWith(stage.place.home).length === 0, 15_000);
  const second = startOnward(stage.place, stage.env, ['resume', id, '--json']);
  const { code } = await second.exited;
  return conclude(stage, second, code, expected);
}

const crashed: Expected = { exit: 0, retried: 0, failed: ['crash'] };
const crashedEarly: Expected = orSessionUnsaved(crashed);

/** Nobody has seen the result of the call: a model that looks finds it done, one that does not may run it again. */
function inToolExpected(temperament: string): Expected {
  return orSessionUnsaved(temperament === 'checker' ? { ...crashed, kept: 1 } : { ...crashed, effects: 'any' });
}

/** The result was printed: a model that reads what it is told does not run the call again. */
function afterCallExpected(temperament: string): Expected {
  return orSessionUnsaved(
    temperament === 'naive' ? { ...crashed, effects: 'any', kept: 'any' } : { ...crashed, kept: 1 },
  );
}

describe('Claude Code', () => {
  test('R67 kill -9 of the agent in a text', async () => {
    await checkKilledAgent('claude', { name: 'kill -9 of the agent in text', ...inText }, 'program', crashedEarly);
  });

  test.each(temperaments)('R69 kill -9 of the agent in a tool, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent in a tool', temperament, ...inTool };
    const { why } = await checkKilledAgent('claude', cell, 'program', inToolExpected(temperament));
    expect(why.unknown).toHaveLength(1);
  });

  test.each(temperaments)('R69 kill -9 of the agent after a result that it had not saved, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent after the call', temperament, ...afterCall };
    const { why } = await checkKilledAgent('claude', cell, 'program', afterCallExpected(temperament));
    expect(why.notRepeated.length).toBeGreaterThanOrEqual(1);
  });

  test('R67 R119 kill -9 of Onward in a text, then resume', async () => {
    await checkKilledOnward('claude', { name: 'kill -9 of Onward in text', ...inText }, crashedEarly);
  });

  test.each(temperaments)('R119 R121 kill -9 of Onward in a tool, then resume, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward in a tool', temperament, ...inTool };
    const { why } = await checkKilledOnward('claude', cell, inToolExpected(temperament));
    expect(why.unknown).toHaveLength(1);
  });

  test.each(temperaments)('R119 kill -9 of Onward after a result that was not saved, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward after the call', temperament, ...afterCall };
    const { why } = await checkKilledOnward('claude', cell, afterCallExpected(temperament));
    expect(why.notRepeated.length).toBeGreaterThanOrEqual(1);
  });
});

describe('Codex', () => {
  test('R120 kill -9 of the wrapper in a text: the real agent below it does not live on', async () => {
    await checkKilledAgent('codex', { name: 'kill -9 of the wrapper in text', ...inText }, 'program', crashed);
  });

  test('R67 kill -9 of the agent in a text', async () => {
    await checkKilledAgent('codex', { name: 'kill -9 of the agent in text', ...inText }, 'innermost', crashed);
  });

  test.each(temperaments)('R69 kill -9 of the agent in a tool, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent in a tool', temperament, ...inTool };
    const { why } = await checkKilledAgent('codex', cell, 'innermost', inToolExpected(temperament));
    expect(why.unknown).toHaveLength(1);
  });

  test.each(temperaments)('R69 kill -9 of the agent after a result that it had not saved, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent after the call', temperament, ...afterCall };
    const { why } = await checkKilledAgent('codex', cell, 'innermost', afterCallExpected(temperament));
    expect(why.notRepeated.length).toBeGreaterThanOrEqual(1);
  });

  test('R67 R119 kill -9 of Onward in a text, then resume', async () => {
    await checkKilledOnward('codex', { name: 'kill -9 of Onward in text', ...inText }, crashed);
  });

  test.each(temperaments)('R119 R121 kill -9 of Onward in a tool, then resume, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward in a tool', temperament, ...inTool };
    const { why } = await checkKilledOnward('codex', cell, inToolExpected(temperament));
    expect(why.unknown).toHaveLength(1);
  });

  test.each(temperaments)('R119 kill -9 of Onward after a result that was not saved, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward after the call', temperament, ...afterCall };
    const { why } = await checkKilledOnward('codex', cell, afterCallExpected(temperament));
    expect(why.notRepeated.length).toBeGreaterThanOrEqual(1);
  });
});
