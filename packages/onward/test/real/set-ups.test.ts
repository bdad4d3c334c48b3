import { describe, expect, test } from 'vitest';
import { effectStep, type Fault, type Step } from '../../src/lab/index.ts';
import { checkCell } from './support/cell.ts';
import { hits } from './support/rules.ts';

const overloaded: Fault = { kind: 'error', error: 'overloaded' };

/** What a user's own hook leaves: one word for each call it saw. */
const noteCall = (word: string): unknown => ({
  PreToolUse: [{ matcher: '', hooks: [{ type: 'command', command: `echo ${word} >> "$HOME/hooks.log"` }] }],
});

/** One effect by the main agent, two by a subagent, one more by the main agent. */
const withSubagent: readonly Step[] = [
  effectStep('one', 1),
  { id: 'part', evidence: 'PART_OK', delegate: { steps: [effectStep('three', 3), effectStep('four', 4)] } },
  effectStep('two', 2),
];

// Claude Code cannot be pointed at loopback without a base URL; how it behaves without one is only approached below.
describe('Claude Code', () => {
  test('tools that are not permitted: not done, a human is asked, although the CLI exits 0', async () => {
    const cell = { name: 'denied tools', setup: { permissions: [] } };
    const { events } = await checkCell('claude', cell, { exit: 3, healthy: 1, failed: ['policy'], effects: {} });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'needs-human' } });
  });

  test('denied tools that the user said to ignore are no failure', async () => {
    const cell = { name: 'denied tools, ignored', setup: { permissions: [] }, flags: ['--on-denied', 'ignore'] };
    await checkCell('claude', cell, { exit: 0, healthy: 2, effects: {} });
  });

  test('settings that ask for more retries, or for none, do not change the bound; the own hooks of both still run', async () => {
    const cell = {
      name: 'settings that fight: retries, hooks',
      faults: hits(overloaded, 2, 5),
      env: { CLAUDE_CODE_MAX_RETRIES: '0' },
      prepare: (place: { write(path: string, text: string): void }) => {
        const user = { env: { CLAUDE_CODE_MAX_RETRIES: '9' }, hooks: noteCall('user') };
        const project = { env: { CLAUDE_CODE_MAX_RETRIES: '12' }, hooks: noteCall('project') };
        place.write('home/.claude/settings.json', JSON.stringify(user));
        place.write('work/.claude/settings.json', JSON.stringify(project));
      },
    };
    const { stage } = await checkCell('claude', cell, { exit: 0, retried: 3, failed: ['transient'] });
    const seen = stage.place
      .read('home/hooks.log')
      .split('\n')
      .filter((word) => word !== '');
    expect(seen.toSorted()).toEqual(['project', 'project', 'user', 'user']);
  });

  test('settings that switch all hooks off: calls are recorded from the stream instead', async () => {
    const cell = {
      name: 'settings that fight: disableAllHooks',
      faults: hits({ kind: 'stall', at: 'after-call' }, 1),
      flags: ['--idle-timeout', '4s'],
      prepare: (place: { write(path: string, text: string): void }) => {
        place.write('home/.claude/settings.json', JSON.stringify({ disableAllHooks: true }));
        place.write('work/.claude/settings.json', JSON.stringify({ disableAllHooks: true }));
      },
    };
    const { events } = await checkCell('claude', cell, { exit: 0, retried: 0, failed: ['transient'], kept: 1 });
    expect(events.filter(({ type }) => type === 'call.finished').length).toBeGreaterThanOrEqual(2);
  });

  test('as it takes itself to talk to its own provider: an overload heals inside, a longer one outside', async () => {
    const env = { _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL: '1' };
    const cell = { name: 'taken for its default provider', env, faults: hits(overloaded, 2, 5) };
    await checkCell('claude', cell, { exit: 0, retried: 3, failed: ['transient'] });
  });

  test('R115 R117 an overload that a subagent meets once heals inside, and the subagent lives on', async () => {
    const faults = [{ from: 2, agent: 'subagent' as const, fault: overloaded }];
    const cell = { name: 'subagent meets one 529', steps: withSubagent, faults };
    // The repeats inside a subagent are nowhere in the CLI's output.
    await checkCell('claude', cell, { exit: 0, healthy: 7, retried: 0, silent: 1 });
  });
});

describe('Codex', () => {
  test('a read-only sandbox: not done, a human is asked, although the CLI exits 0', async () => {
    const cell = { name: 'denied tools', setup: { permissions: ['-s', 'read-only'] } };
    const { events } = await checkCell('codex', cell, { exit: 3, healthy: 1, failed: ['policy'], effects: {} });
    expect(events.at(-1)).toMatchObject({ type: 'run.paused', data: { reason: 'needs-human' } });
  });

  test('the same without any flag', async () => {
    const cell = { name: 'denied tools, no flag', setup: { permissions: [] } };
    await checkCell('codex', cell, { exit: 3, healthy: 1, failed: ['policy'], effects: {} });
  });

  test('a configuration of another mind: the flags of the command hold on every attempt', async () => {
    const config = 'sandbox_mode = "read-only"\napproval_policy = "on-request"\nmodel_reasoning_effort = "low"\n';
    const cell = {
      name: 'configuration that fights: sandbox, approvals',
      setup: { config },
      faults: hits(overloaded, 2, 3),
    };
    await checkCell('codex', cell, { exit: 0, retried: 0, failed: ['transient', 'transient'] });
  });

  test('R110 a configuration that the CLI itself refuses is told with its reason, and not tried again', async () => {
    const config = 'approval_policy = "untrusted"\n';
    const cell = { name: 'configuration that the CLI refuses', setup: { config } };
    const { why } = await checkCell('codex', cell, {
      exit: 1,
      healthy: 0,
      requests: 0,
      failed: ['input'],
      effects: {},
    });
    expect(why.because).toContain('approval_policy');
  });

  test('R139 a configuration with retries of its own multiplies requests as it says, and no more', async () => {
    const retries = { request: 2, stream: 1 };
    const cell = {
      name: 'configuration that fights: its own retries',
      setup: { retries },
      faults: hits(overloaded, 2, 7),
    };
    // Three requests per stream attempt, two stream attempts: it tells of the second of these, not of the repeats in them.
    await checkCell('codex', cell, { exit: 0, retried: 1, silent: 4, failed: ['transient'] });
  });

  test('its own provider, as a logged-in user has it: a healthy task', async () => {
    await checkCell('codex', { name: 'default provider', setup: { ownProvider: true } }, { exit: 0, retried: 0 });
  });

  test('R04 its own provider, whose retries cannot be lowered: a stream that is cut until they are used up', async () => {
    const faults = hits({ kind: 'cut', at: 'text', how: 'rst' }, 2, 7);
    const cell = { name: 'default provider, cut in text', setup: { ownProvider: true }, faults };
    await checkCell('codex', cell, { exit: 0, retried: 5, failed: ['transient'] });
  });
});
