import { assertNever } from '../kernel/error.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Signal } from '../kernel/signal.ts';
import type { Agent, AgentExit } from './spawn-agent.ts';
import { sweepAgent, type SweepResult } from './sweep.ts';

/** One rung. `ms` is how long it waits for its effect before the next one. */
export type LadderStep =
  /** Asks in-band, e.g. Claude's interrupt, and waits for the exit, or for the result that the caller reports. */
  | { readonly kind: 'input'; readonly line: string; readonly waitFor: 'result' | 'exit'; readonly ms: number }
  | { readonly kind: 'end-input'; readonly ms: number }
  | {
      readonly kind: 'signal';
      readonly signal: 'SIGINT' | 'SIGTERM';
      readonly target: 'pid' | 'group';
      readonly ms: number;
    };

/** What came of one rung. `not-delivered`: the input was closed, or there was no process to signal. */
export interface LadderReport {
  readonly step: LadderStep;
  readonly outcome: 'exited' | 'result' | 'timed-out' | 'not-delivered' | 'hurried';
  /** How long it took. */
  readonly ms: number;
}

/** The way down: which rungs were used, how the process ended if it was seen to, and whether all of the attempt is gone. */
export interface LadderResult {
  readonly steps: readonly LadderReport[];
  readonly exit: AgentExit | undefined;
  readonly sweep: SweepResult;
}

/** Five seconds to end by itself after SIGINT, five more after SIGTERM to its whole group; the sweep comes after any ladder. */
export const defaultLadder: readonly LadderStep[] = [
  { kind: 'signal', signal: 'SIGINT', target: 'pid', ms: 5_000 },
  { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 5_000 },
];

/** Which agent, how, and for how long at most. */
export interface LadderOptions {
  readonly agent: Agent;
  readonly marker: string;
  readonly steps?: readonly LadderStep[];
  readonly clock: Clock;
  /** Resolves when a result was read; ends an `input` rung that waits for one. */
  readonly result?: Promise<unknown>;
  /** Aborting it means hurry: no more waiting, straight to the sweep (a second Ctrl-C). */
  readonly signal?: Signal;
  /** How long the sweep may take. Default 10,000. */
  readonly sweepMs?: number;
}

/**
 * Ends an agent: rung by rung until its process has exited, then, always, a sweep of everything that belongs to the
 * attempt. After it, nothing of the attempt lives, or the result names what does.
 */
export async function endAgent(options: LadderOptions): Promise<LadderResult> {
  const { agent, marker, steps = defaultLadder, clock, sweepMs = 10_000 } = options;
  let exit: AgentExit | undefined;
  void agent.exited.then((value) => (exit = value));
  await Promise.resolve();
  const reports: LadderReport[] = [];
  for (const step of steps) {
    if (exit !== undefined || options.signal?.aborted === true) break;
    // oxlint-disable-next-line no-await-in-loop -- one rung after the other
    reports.push(await climb(step, options));
  }
  // The leader was not reaped before its exit was seen here, so its group still is its own.
  const swept = await sweepAgent({ identity: agent.identity, marker, clock, boundMs: sweepMs });
  if (swept.gone) exit ??= await settled(agent.exited, clock, sweepMs);
  return { steps: reports, exit, sweep: swept };
}

async function climb(step: LadderStep, options: LadderOptions): Promise<LadderReport> {
  const { agent, clock, result } = options;
  const start = clock.monotonic();
  const given = new AbortController();
  const timer = hurryOrTime(step.ms, options, given.signal);
  try {
    const delivered = await Promise.race([deliver(step, agent, given.signal), timer.then(() => 'timed-out' as const)]);
    const outcome = delivered === true ? await waitForEffect() : delivered === false ? 'not-delivered' : delivered;
    return { step, outcome, ms: clock.monotonic() - start };
  } finally {
    given.abort();
  }

  async function waitForEffect(): Promise<LadderReport['outcome']> {
    const effects: Promise<LadderReport['outcome']>[] = [agent.exited.then(() => 'exited'), timer];
    if (step.kind === 'input' && step.waitFor === 'result' && result !== undefined) {
      effects.push(
        result.then(
          () => 'result',
          () => 'result',
        ),
      );
    }
    return Promise.race(effects);
  }
}

/** Resolves when the rung's time is up, or at once when the caller is in a hurry. */
async function hurryOrTime(
  ms: number,
  { clock, signal }: LadderOptions,
  done: AbortSignal,
): Promise<'timed-out' | 'hurried'> {
  const both = new AbortController();
  const stop = (): void => both.abort();
  done.addEventListener('abort', stop, { once: true });
  signal?.addEventListener('abort', stop, { once: true });
  await clock.sleep(signal?.aborted === true ? 0 : ms, both.signal);
  signal?.removeEventListener('abort', stop);
  return signal?.aborted === true ? 'hurried' : 'timed-out';
}

/** True when the rung reached somebody. A line that nobody reads is given up with the rung. */
async function deliver(step: LadderStep, agent: Agent, signal: Signal): Promise<boolean> {
  switch (step.kind) {
    case 'input':
      return (await agent.write(step.line, signal)).written;
    case 'end-input':
      agent.endInput();
      return true;
    case 'signal':
      return send(step.target === 'group' ? -agent.identity.pid : agent.identity.pid, step.signal);
    default:
      return assertNever(step, 'deliver');
  }
}

function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}

/** The sweep saw the process go; Node hears of it a moment later. */
async function settled(exited: Promise<AgentExit>, clock: Clock, ms: number): Promise<AgentExit | undefined> {
  const given = new AbortController();
  const value = await Promise.race([exited, clock.sleep(ms, given.signal)]);
  given.abort();
  return value ?? undefined;
}
