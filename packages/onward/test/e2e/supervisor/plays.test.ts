import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  appendTask,
  authFailure,
  type CliName,
  deniedTools,
  diesAtOnce,
  failsForEver,
  garbageInBetween,
  grandchildHoldsStdout,
  healthy,
  initThenDies,
  innerRetryHeals,
  killedInText,
  killedInTool,
  killedInWindow,
  limitWordsInOutput,
  neverEnds,
  overloadedAfterTool,
  overloadedThenWell,
  type Play,
  resultThenHang,
  unknownSession,
} from '../../../src/lab/fake-cli/index.ts';
import { until } from '../../unit/processes/support.ts';
import { makePlace, quick } from './support/place.ts';

const task = appendTask();
const impatient = { ...quick, timeouts: { idleMs: 1_500, afterResultMs: 1_000, startupMs: 10_000, ladderMs: 500 } };
const done = { status: 'done' };
const both: readonly CliName[] = ['claude', 'codex'];

interface Case {
  readonly what: string;
  readonly play: Play;
  readonly of?: readonly CliName[];
  readonly result: Readonly<Record<string, unknown>>;
  /** Lines of the effects file; 1 unless said otherwise. */
  readonly effects?: number;
}

/** What an agent may do, and what must come of it. */
const cases: readonly Case[] = [
  { what: 'nothing wrong', play: healthy(task), result: { ...done, attempts: 1 } },
  {
    what: 'two overloads before anything was done',
    play: overloadedThenWell(2, task),
    result: { ...done, attempts: 3 },
  },
  { what: 'an overload after the tool', play: overloadedAfterTool(task), result: { ...done, attempts: 2 } },
  { what: 'retries of its own that help', play: innerRetryHeals(3, task), result: { ...done, attempts: 1 } },
  {
    what: 'R35 words of limits in text, code and tool output',
    play: limitWordsInOutput(),
    result: { ...done, attempts: 1 },
    effects: 0,
  },
  {
    what: 'lines that are no JSON, no UTF-8, endless',
    play: garbageInBetween(1_000_000, task),
    result: { ...done, attempts: 1 },
  },
  { what: 'a kill in its text', play: killedInText(task), result: { ...done, attempts: 2 } },
  { what: 'a kill between result and record', play: killedInWindow(task, 'checker'), result: { ...done, attempts: 2 } },
  { what: 'silence in the middle', play: neverEnds([], task), result: { ...done, attempts: 2 } },
  {
    what: 'silence, and deafness to signals',
    play: neverEnds(['SIGINT', 'SIGTERM'], task),
    result: { ...done, attempts: 2 },
  },
  { what: 'a result and no exit', play: resultThenHang(['SIGINT', 'SIGTERM'], task), result: { ...done, attempts: 1 } },
  {
    what: 'a session that it does not know any more',
    play: unknownSession(task),
    of: ['claude'],
    result: { ...done, attempts: 3 },
  },
  { what: 'a death after its first line', play: initThenDies(task), of: ['claude'], result: { ...done, attempts: 3 } },
  { what: 'a death before its first line', play: diesAtOnce(task), of: ['claude'], result: { ...done, attempts: 3 } },
  {
    what: 'R99 a death before its first line, where nobody knows the conversation',
    play: diesAtOnce(task),
    of: ['codex'],
    result: { status: 'paused', reason: 'needs-human', attempts: 1 },
    effects: 0,
  },
  {
    what: 'denied tools',
    play: deniedTools(task),
    of: ['claude'],
    result: { status: 'paused', reason: 'needs-human', attempts: 1 },
    effects: 0,
  },
  {
    what: 'a login that is refused',
    play: authFailure(),
    result: { status: 'paused', reason: 'needs-human', attempts: 1 },
    effects: 0,
  },
  {
    what: 'R05 R138 R139 an overload for ever',
    play: failsForEver(),
    result: { status: 'paused', reason: 'provider', attempts: 7 },
    effects: 0,
  },
];

describe.each(both)('%s with', (name) => {
  test.each(cases.filter((one) => one.of?.includes(name) ?? true))('$what', async ({ play, result, effects = 1 }) => {
    const place = await makePlace(play, name);
    const report = await place.run({ do: 'run', policy: impatient });
    expect(report, report.stderr).toMatchObject({ result });
    expect(place.effects()).toHaveLength(effects);
    const announced = (await place.events(report.id ?? '')).filter((event) => event.type === 'attempt.started');
    expect(place.starts()).toHaveLength(announced.length);
    await until('no process is left', async () => (await place.left()).length === 0);
  });

  test('a kill inside its tool: the tool is ended, its effect is there once', async () => {
    const ready = 'ready';
    const place = await makePlace(killedInTool(task, ready, 'checker'), name);
    const report = await place.run({ do: 'run', policy: impatient });
    expect(report, report.stderr).toMatchObject({ result: { status: 'done', attempts: 2 } });
    expect(place.effects()).toHaveLength(1);
    await until('no process is left', async () => (await place.left()).length === 0);
  });

  test('a grandchild in a session of its own that holds the output open: it is ended, and not waited for', async () => {
    const place = await makePlace(grandchildHoldsStdout('grandchild.pid', task), name);
    const report = await place.run({ do: 'run', policy: impatient });
    expect(report, report.stderr).toMatchObject({ result: { status: 'done', attempts: 1 } });
    expect(Number(readFileSync(join(place.cwd, 'grandchild.pid'), 'utf8'))).toBeGreaterThan(1);
    expect(await place.left()).toEqual([]);
  });
});

test('R23 the command for going on by hand, typed as it is printed, goes on in the same place and conversation', async () => {
  const place = await makePlace(failsForEver());
  const { id = '' } = await place.run({ do: 'run' });
  const session = (await place.events(id)).findLast((event) => event.type === 'attempt.session');
  const conversation = String((session?.data as { id?: string } | undefined)?.id);
  const { claudeAdapter } = await import('../../../src/supervisor/adapters/claude/index.ts');
  const line = claudeAdapter.byHand(place.agent.command, conversation);
  place.agent.setPlay(healthy(task));
  const before = place.starts().length;
  await place.shell(`${line} -p 'go on' --output-format stream-json --verbose --allowedTools Bash`);
  const [start] = place.starts().slice(before);
  expect(start).toMatchObject({ session: conversation, cwd: place.cwd });
  expect(start?.refused).toBeUndefined();
});
