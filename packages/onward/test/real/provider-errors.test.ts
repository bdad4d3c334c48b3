import { describe, expect, test } from 'vitest';
import type { Fault } from '../../src/lab/index.ts';
import type { AgentName } from './support/agents.ts';
import { checkCell, setStage } from './support/cell.ts';
import { runOnward } from './support/onward.ts';
import { hits } from './support/rules.ts';

const overloaded: Fault = { kind: 'error', error: 'overloaded' };
const serverError: Fault = { kind: 'error', error: 'server-error' };

/** `onward run` as a person types it, without events. */
async function printed(agent: AgentName): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const stage = await setStage(agent, { name: 'healthy' });
  return runOnward(stage.place, stage.env, ['run', '--', ...stage.setup.command]);
}

// Claude Code repeats a request up to three times under Onward: four faults in a row are one failed attempt.
describe('Claude Code', () => {
  test('does a task when nothing goes wrong in one attempt', async () => {
    await checkCell('claude', { name: 'healthy' }, { exit: 0, retried: 0 });
  });

  test('its answer, and nothing else, is what standard output holds', async () => {
    const { code, stdout } = await printed('claude');
    expect([code, stdout]).toEqual([0, 'All steps are done: one, two.']);
  });

  test('two overloads heal inside one attempt, and the repeats are counted', async () => {
    await checkCell('claude', { name: '529 twice', faults: hits(overloaded, 2, 3) }, { exit: 0, retried: 2 });
  });

  test('R01 an overload that outlasts two attempts with their repeats is waited out in the same session', async () => {
    await checkCell(
      'claude',
      { name: '529 for two attempts', faults: hits(overloaded, 2, 9) },
      { exit: 0, retried: 6, failed: ['transient', 'transient'] },
    );
  });

  test('R06 R139 a server error for ever ends within bounds, resumable, and says so', async () => {
    const cell = { name: '500 for ever', flags: ['--schedule', '100ms,200ms'], faults: hits(serverError, 2, null) };
    const { events, why } = await checkCell('claude', cell, {
      exit: 4,
      healthy: 1,
      retried: 9,
      failed: ['transient', 'transient', 'transient'],
      effects: { one: 1 },
    });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'provider' } });
    expect(why.byHand).toContain('claude');
  });

  test('R47 a refused key is not asked again by Onward and needs a human', async () => {
    const cell = { name: '401', faults: hits({ kind: 'error', error: 'unauthorised' }, 1, null) };
    const { events } = await checkCell('claude', cell, { exit: 3, healthy: 0, failed: ['auth'], effects: {} });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'needs-human' } });
  });

  test('an invalid request is never repeated', async () => {
    const cell = { name: '400', faults: hits({ kind: 'error', error: 'bad-request' }, 2, null) };
    await checkCell('claude', cell, { exit: 1, healthy: 1, retried: 0, failed: ['input'], effects: { one: 1 } });
  });

  test('R39 R141 a rate limit is never answered sooner than it asked', async () => {
    const limited: Fault = { kind: 'error', error: 'rate-limited', retryAfterSeconds: 2 };
    const cell = { name: '429 with Retry-After', faults: hits(limited, 2, 5) };
    const { requests, events } = await checkCell('claude', cell, { exit: 0, retried: 3, failed: ['throttled'] });
    const failed = events.find(({ type }) => type === 'attempt.failed');
    expect(failed?.data).toMatchObject({ failure: { retryAfterMs: 2_000 } });
    expect((failed?.nextAt ?? 0) - (failed?.at ?? 0)).toBeGreaterThanOrEqual(2_000);
    for (const index of [1, 2, 3, 4]) {
      const gap = (requests[index + 1]?.at ?? 0) - (requests[index]?.at ?? 0);
      // A timer of the CLI's may fire within the last millisecond.
      expect(gap, `after request ${index + 1}`).toBeGreaterThanOrEqual(1_999);
    }
  });
});

// Codex's own retries are off in its configuration here, so that each fault is one failed attempt.
describe('Codex', () => {
  test('does a task when nothing goes wrong in one attempt', async () => {
    await checkCell('codex', { name: 'healthy' }, { exit: 0, retried: 0 });
  });

  test('its answer, and nothing else, is what standard output holds', async () => {
    const { code, stdout } = await printed('codex');
    expect([code, stdout]).toEqual([0, 'All steps are done: one, two.']);
  });

  test('R01 two overloads are waited out in the same thread', async () => {
    await checkCell(
      'codex',
      { name: '529 for two attempts', faults: hits(overloaded, 2, 3) },
      { exit: 0, retried: 0, failed: ['transient', 'transient'] },
    );
  });

  test('two overloads heal inside one attempt where its configuration lets it repeat, and the repeats are counted', async () => {
    const cell = { name: '529 twice', setup: { retries: { request: 0, stream: 3 } }, faults: hits(overloaded, 2, 3) };
    await checkCell('codex', cell, { exit: 0, retried: 2 });
  });

  test('R06 R139 a server error for ever ends within bounds, resumable, and says so', async () => {
    const cell = { name: '500 for ever', flags: ['--schedule', '100ms,200ms'], faults: hits(serverError, 2, null) };
    const { events, why } = await checkCell('codex', cell, {
      exit: 4,
      healthy: 1,
      retried: 0,
      failed: ['transient', 'transient', 'transient'],
      effects: { one: 1 },
    });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'provider' } });
    expect(why.byHand).toContain('codex');
  });

  test('R47 a refused key is not asked again by Onward and needs a human', async () => {
    const cell = { name: '401', faults: hits({ kind: 'error', error: 'unauthorised' }, 1, null) };
    const { events } = await checkCell('codex', cell, { exit: 3, healthy: 0, failed: ['auth'], effects: {} });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'needs-human' } });
  });

  test('an invalid request is never repeated', async () => {
    const cell = { name: '400', faults: hits({ kind: 'error', error: 'bad-request' }, 2, null) };
    await checkCell('codex', cell, { exit: 1, healthy: 1, retried: 0, failed: ['input'], effects: { one: 1 } });
  });

  test('R141 a rate limit is passed on as one', async () => {
    const limited: Fault = { kind: 'error', error: 'rate-limited', retryAfterSeconds: 2 };
    const cell = { name: '429 with Retry-After', faults: hits(limited, 2) };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['throttled'] });
  });
});
