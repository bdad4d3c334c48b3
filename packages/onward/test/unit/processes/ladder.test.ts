import { describe, expect, test } from 'vitest';
import { endAgent, identify, systemClock, type LadderStep } from '../../../src/processes/index.ts';
import { countMarked, makeMarker, readText, startShell, until } from './support.ts';

const clock = systemClock;
/** Longer than any test may last: a rung that reaches this has failed. */
const LONG = 60_000;
/** For what never comes. */
const SHORT = 20;

async function startReady(script: string, marker: string) {
  const agent = await startShell(script, { marker, stdin: { kind: 'open' } });
  await until('it is ready', async () => (await readText(agent.stdoutPath)).includes('ready'));
  return agent;
}

describe('ending an agent', () => {
  test('goes down only as far as needed, and reports each rung', async () => {
    const marker = makeMarker();
    const agent = await startReady('trap "exit 5" INT; echo ready; while :; do sleep 0.01; done', marker);
    const steps: LadderStep[] = [
      { kind: 'signal', signal: 'SIGINT', target: 'pid', ms: LONG },
      { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: LONG },
    ];
    const result = await endAgent({ agent, marker, clock, steps });
    expect(result.steps).toMatchObject([{ step: steps[0], outcome: 'exited' }]);
    expect(result.exit).toEqual({ code: 5, signal: null });
    expect(result.sweep.gone).toBe(true);
  });

  test('a child that ignores SIGINT and SIGTERM is killed, with all below it', async () => {
    const marker = makeMarker();
    const agent = await startReady('trap "" INT TERM; (setsid sleep 100 &); echo ready; sleep 100 & wait', marker);
    const result = await endAgent({
      agent,
      marker,
      clock,
      steps: [
        { kind: 'signal', signal: 'SIGINT', target: 'pid', ms: SHORT },
        { kind: 'signal', signal: 'SIGTERM', target: 'pid', ms: SHORT },
      ],
    });
    expect(result.steps.map((report) => report.outcome)).toEqual(['timed-out', 'timed-out']);
    for (const report of result.steps) expect(report.ms).toBeGreaterThanOrEqual(SHORT);
    expect(result.exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(result.sweep.killed.length).toBeGreaterThanOrEqual(3);
    expect(countMarked(marker)).toBe(0);
  });

  test('R118 a process that printed its result and never exits is ended, its result kept', async () => {
    const marker = makeMarker();
    const agent = await startReady('echo ready; echo result; sleep 100; :', marker);
    const result = await endAgent({ agent, marker, clock, steps: [{ kind: 'end-input', ms: SHORT }] });
    expect(result.steps).toMatchObject([{ outcome: 'timed-out' }]);
    expect(await readText(agent.stdoutPath)).toBe('ready\nresult\n');
    expect(result.exit).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('asks in-band first, goes on when the result has come, then ends the input', async () => {
    const marker = makeMarker();
    const agent = await startReady('echo ready; read -r line; echo "result $line"; cat >/dev/null', marker);
    const interrupt: LadderStep = { kind: 'input', line: 'interrupt', waitFor: 'result', ms: LONG };
    const resulted = until('a result', async () => (await readText(agent.stdoutPath)).includes('result interrupt'));
    const steps = [interrupt, { kind: 'end-input', ms: LONG }] as const;
    const result = await endAgent({ agent, marker, clock, steps, result: resulted });
    expect(result.steps.map((report) => report.outcome)).toEqual(['result', 'exited']);
    expect(result.exit).toEqual({ code: 0, signal: null });
    expect(result.sweep).toEqual({ gone: true, killed: [] });
  });

  test('an input that is closed, or that nobody reads, costs a rung and nothing else', async () => {
    const marker = makeMarker();
    const agent = await startReady('echo ready; sleep 100; :', marker);
    const unread: LadderStep = { kind: 'input', line: 'x'.repeat(2_000_000), waitFor: 'exit', ms: SHORT };
    const first = await endAgent({ agent, marker, clock, steps: [unread, { kind: 'end-input', ms: SHORT }] });
    expect(first.steps.map((report) => report.outcome)).toEqual(['timed-out', 'timed-out']);
    const silent = await startShell('sleep 100', { marker });
    const steps: LadderStep[] = [{ kind: 'input', line: 'x', waitFor: 'exit', ms: LONG }];
    const second = await endAgent({ agent: silent, marker, clock, steps });
    expect(second.steps).toMatchObject([{ outcome: 'not-delivered' }]);
  });

  test('a process that has exited already is only swept', async () => {
    const marker = makeMarker();
    const agent = await startShell('sleep 100 & exit 3', { marker });
    await agent.exited;
    const result = await endAgent({ agent, marker, clock });
    expect(result).toMatchObject({ steps: [], exit: { code: 3, signal: null }, sweep: { gone: true } });
    expect(result.sweep.killed).toHaveLength(1);
  });

  test('hurry in the middle of a wait ends that wait', async () => {
    const marker = makeMarker();
    const agent = await startReady('trap "echo heard" INT; echo ready; while :; do sleep 0.01; done', marker);
    const controller = new AbortController();
    const slow: LadderStep = { kind: 'signal', signal: 'SIGINT', target: 'pid', ms: LONG };
    const ending = endAgent({ agent, marker, clock, steps: [slow, slow], signal: controller.signal });
    await until('it was signalled', async () => (await readText(agent.stdoutPath)).includes('heard'));
    controller.abort();
    expect((await ending).steps).toMatchObject([{ outcome: 'hurried' }]);
  });

  test('hurry cuts the waits short', async () => {
    const marker = makeMarker();
    const agent = await startReady('trap "" INT TERM; echo ready; while :; do sleep 0.01; done', marker);
    const controller = new AbortController();
    const slow: LadderStep = { kind: 'signal', signal: 'SIGINT', target: 'pid', ms: LONG };
    const ending = endAgent({ agent, marker, clock, steps: [slow, slow], signal: controller.signal });
    controller.abort();
    const result = await ending;
    expect(result.steps.length).toBeLessThanOrEqual(1);
    for (const report of result.steps) expect(report.outcome).toBe('hurried');
    expect(identify(agent.identity.pid)).toBeUndefined();
  });
});
