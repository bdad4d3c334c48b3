import { describe, expect, test } from 'vitest';
import { effectStep, type ShellStep } from '../../src/lab/index.ts';
import type { AgentName } from './support/agents.ts';
import { type Cell, conclude, type Expected, setStage, type Stage, start } from './support/cell.ts';
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
const inTool: Pick<Cell, 'steps'> = { steps: [slowStep, effectStep('two', 2)] };

/** Resolves when the agent is in the middle of its second answer, or its tool has had its effect. */
async function reached(stage: Stage): Promise<void> {
  if (stage.cell.steps === undefined) await stage.server.until((requests) => requests[1]?.state === 'at-fault');
  else await until('the tool runs', () => stage.place.effects()['one'] === 1);
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
): Promise<void> {
  const stage = await setStage(agent, cell);
  const onward = start(stage);
  await reached(stage);
  kill(await agentPid(stage, onward, which), 'SIGKILL');
  const { code } = await onward.exited;
  await conclude(stage, onward, code, expected);
}

async function checkKilledOnward(agent: AgentName, cell: Cell, expected: Expected): Promise<void> {
  const stage = await setStage(agent, cell);
  const first = start(stage);
  const id = await first.id();
  await reached(stage);
  first.signal('SIGKILL');
  expect((await first.exited).signal).toBe('SIGKILL');
  await until('the guard has ended the agent', () => processesWith(stage.place.home).length === 0, 15_000);
  const second = startOnward(stage.place, stage.env, ['resume', id, '--json']);
  const { code } = await second.exited;
  await conclude(stage, second, code, expected);
}

/** A call whose result nobody has seen may run again with a model that does not look. */
function effectsFor(temperament: string): Pick<Expected, 'effects' | 'kept'> {
  return temperament === 'checker' ? { kept: 1 } : { effects: 'any', kept: 0 };
}

describe('Claude Code', () => {
  test('R67 kill -9 of the agent in a text', async () => {
    await checkKilledAgent('claude', { name: 'kill -9 of the agent in text', ...inText }, 'program', {
      exit: 0,
      retried: 0,
      failed: ['crash'],
    });
  });

  test.each(temperaments)('R69 kill -9 of the agent in a tool, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent in a tool', temperament, ...inTool };
    await checkKilledAgent('claude', cell, 'program', {
      exit: 0,
      retried: 0,
      failed: ['crash'],
      ...effectsFor(temperament),
    });
  });

  test('R67 R119 kill -9 of Onward in a text, then resume', async () => {
    await checkKilledOnward(
      'claude',
      { name: 'kill -9 of Onward in text', ...inText },
      { exit: 0, retried: 0, failed: ['crash'] },
    );
  });

  test.each(temperaments)('R119 R121 kill -9 of Onward in a tool, then resume, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward in a tool', temperament, ...inTool };
    await checkKilledOnward('claude', cell, { exit: 0, retried: 0, failed: ['crash'], ...effectsFor(temperament) });
  });
});

describe('Codex', () => {
  test('R120 kill -9 of the wrapper in a text: the real agent below it does not live on', async () => {
    await checkKilledAgent('codex', { name: 'kill -9 of the wrapper in text', ...inText }, 'program', {
      exit: 0,
      retried: 0,
      failed: ['crash'],
    });
  });

  test('R67 kill -9 of the agent in a text', async () => {
    await checkKilledAgent('codex', { name: 'kill -9 of the agent in text', ...inText }, 'innermost', {
      exit: 0,
      retried: 0,
      failed: ['crash'],
    });
  });

  test.each(temperaments)('R69 kill -9 of the agent in a tool, %s', async (temperament) => {
    const cell = { name: 'kill -9 of the agent in a tool', temperament, ...inTool };
    await checkKilledAgent('codex', cell, 'innermost', {
      exit: 0,
      retried: 0,
      failed: ['crash'],
      ...effectsFor(temperament),
    });
  });

  test('R67 R119 kill -9 of Onward in a text, then resume', async () => {
    await checkKilledOnward(
      'codex',
      { name: 'kill -9 of Onward in text', ...inText },
      { exit: 0, retried: 0, failed: ['crash'] },
    );
  });

  test.each(temperaments)('R119 R121 kill -9 of Onward in a tool, then resume, %s', async (temperament) => {
    const cell = { name: 'kill -9 of Onward in a tool', temperament, ...inTool };
    await checkKilledOnward('codex', cell, { exit: 0, retried: 0, failed: ['crash'], ...effectsFor(temperament) });
  });
});
