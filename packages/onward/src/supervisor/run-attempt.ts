import { assertNever } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import { type Watch, type WatchdogLimits, type WatchdogName, watchdogs } from '../processes/index.ts';
import type { AgentAdapter, AttemptReader, Launch, LaunchInput, Observation } from './adapter.ts';
import type { LiveAttempt } from './attempt-host.ts';
import { type AttemptResult, concludeAttempt, failureOf } from './attempt-result.ts';
import { createConversationLocks, type ConversationLocks } from './conversation-locks.ts';
import type { SupervisorDeps } from './deps.ts';
import { createEventQueue } from './event-queue.ts';
import { guardRule } from './guard-rule.ts';
import { readOutput } from './read-output.ts';
import { recorderFor } from './record.ts';
import { runEvent } from './run-events.ts';
import type { AttemptState, RunState } from './run-state.ts';
import { LeaseLost, type RunWriter } from './run-writer.ts';
import type { Stopper } from './stopper.ts';

/** How long a lease holds without being renewed, and how often it is renewed; ms. */
export const leaseMs = 15_000;
export const renewMs = 5_000;

/** One attempt that is on record as started and is to be carried out now. */
export interface AttemptPlan {
  readonly adapter: AgentAdapter;
  readonly attempt: AttemptState;
  readonly prompt: string;
  readonly stopper: Stopper;
  /** Requests a stop if somebody has cancelled the run, however lately. */
  readonly lookForCancel: () => Promise<void>;
}

/**
 * Carries out one attempt: lock, one more look at the lease, spawn, read, end. What the agent does wrong is a result; it
 * throws only what is wrong with Onward itself (`LeaseLost`, a broken journal).
 */
export async function runAttempt(deps: SupervisorDeps, writer: RunWriter, plan: AttemptPlan): Promise<AttemptResult> {
  const locks = createConversationLocks(deps.host, plan.adapter.name);
  try {
    if (plan.attempt.sessionId !== undefined) await locks.take(plan.attempt.sessionId, plan.stopper);
    // After the lock: whoever was stopped in between and comes back late sees that the run has moved on.
    if (!(await deps.journal.renew(writer.lease, leaseMs))) throw new LeaseLost('another process has claimed the run');
    await plan.lookForCancel();
    const cause = plan.stopper.cause();
    if (cause?.kind === 'broken') throw cause.error;
    const failure = failureOf(cause);
    if (cause !== undefined && failure !== undefined)
      return { ...neverBegun, ending: { ok: false, failure }, stopped: cause };
    const started = await start(deps, writer.state(), plan);
    if (!started.ok) return { ...neverBegun, ending: { ok: false, failure: started.failure } };
    return await superviseLive(deps, writer, plan, { ...started, live: started.attempt, locks });
  } finally {
    locks.release();
  }
}

const neverBegun = { session: '', swept: { gone: true, killed: 0 }, begun: false } as const;

type Started =
  | { readonly ok: true; readonly launch: Launch; readonly reader: AttemptReader; readonly attempt: LiveAttempt }
  | { readonly ok: false; readonly failure: Failure };

/** Whatever goes wrong here is a failed start, not an end of Onward. */
async function start(deps: SupervisorDeps, run: RunState, plan: AttemptPlan): Promise<Started> {
  try {
    const launch = plan.adapter.launch(launchInput(deps, run, plan));
    const reader = plan.adapter.reader();
    const { marker } = plan.attempt;
    const started = await deps.host.start({ launch, cwd: run.accepted.cwd, env: deps.env, marker });
    return started.ok ? { ok: true, launch, reader, attempt: started.attempt } : started;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, failure: { process: 'spawn-failed', message: `The agent could not be started: ${why}` } };
  }
}

/** What an adapter is told to launch. */
export function launchInput(
  deps: Pick<SupervisorDeps, 'env' | 'options'>,
  run: RunState,
  plan: Pick<AttemptPlan, 'attempt' | 'prompt'>,
): LaunchInput {
  const { accepted } = run;
  const { attempt } = plan;
  return {
    program: accepted.program,
    command: { ...accepted.command, options: deps.options ?? accepted.command.options, prompt: plan.prompt },
    mode: attempt.mode === 'continue' ? 'resume' : 'create',
    ...(attempt.sessionId === undefined ? {} : { sessionId: attempt.sessionId }),
    prompt: plan.prompt,
    innerRetries: accepted.policy.policy.retry.inner,
    env: deps.env,
  };
}

interface Live {
  readonly launch: Launch;
  readonly reader: AttemptReader;
  readonly live: LiveAttempt;
  readonly locks: ConversationLocks;
}

async function superviseLive(
  deps: SupervisorDeps,
  writer: RunWriter,
  plan: AttemptPlan,
  { launch, reader, live, locks }: Live,
): Promise<AttemptResult> {
  const { attempt, adapter, stopper } = plan;
  const run = writer.state();
  const over = new AbortController();
  const limits = limitsOf(run, deps.clock.now());
  const watch = watchdogs({ clock: deps.clock, limits, signal: over.signal, hasUnread: () => live.hasUnread() });
  const resultSeen = Promise.withResolvers<void>();
  const queue = createEventQueue(writer, (error) => stopper.request({ kind: 'broken', error }));
  await queue.push([runEvent('attempt.spawned', { n: attempt.n, pid: live.pid, startedAt: live.startedAt })]);
  const saw = (observation: Observation): void => {
    tellWatchdogs(watch, observation);
    if (observation.kind === 'session') void locks.take(observation.id, stopper);
    if (observation.kind === 'result') {
      resultSeen.resolve();
      live.endInput();
    }
    if (observation.kind === 'delta' || observation.kind === 'notice')
      deps.live?.({ run: run.id, attempt: attempt.n, observation });
  };
  const sink = {
    reader,
    recorder: recorderFor(deps.hash, writer, attempt),
    queue,
    from: 0,
    saw,
    refusal: guardRule(run, attempt.n, deps),
    reply: (line: string) => live.write(line),
  };
  const reading = readOutput(live.lines, sink).catch((error: unknown) => stopper.request({ kind: 'broken', error }));
  const watching = watchOver(watch, run.accepted.policy.policy.timeouts, stopper);
  const stopping = stopper.stopped.then(() => live.stop(ladderOf(run, launch), resultSeen.promise));
  void stopper.hurried.then(() => live.hurry());
  await openInput(live, launch);
  await Promise.race([live.exited, stopping]);
  over.abort();
  await watching;
  const swept = await live.finish(run.accepted.policy.policy.timeouts.goneMs);
  const exit = swept.gone ? await live.exited : undefined;
  await reading;
  const stopped = stopper.cause();
  if (stopped?.kind === 'broken') throw stopped.error;
  return concludeAttempt(deps, { adapter, attempt, cwd: run.accepted.cwd }, reader, {
    // After its last word the agent was ended by us: that exit says nothing about the agent.
    ...(exit === undefined || stopped?.kind === 'after-result' ? {} : { exit }),
    ...(stopped === undefined ? {} : { stopped }),
    swept,
    stderr: await live.stderr(),
    begun: true,
  });
}

async function openInput(live: LiveAttempt, launch: Launch): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- in order
  for (const line of launch.input.lines) await live.write(line);
  if (!launch.input.keepOpen) live.endInput();
}

/** The agent's own way down, with the user's patience for each step. */
function ladderOf(run: RunState, { ladder }: Launch): Launch['ladder'] {
  const ms = run.accepted.policy.policy.timeouts.ladderMs;
  return ladder.map((step) => ({ ...step, ms }));
}

/** The watchdogs of one attempt; its wall is what is left of the run's. */
function limitsOf(run: RunState, now: number): WatchdogLimits {
  const { startupMs, idleMs, toolMs, afterResultMs, wallMs } = run.accepted.policy.policy.timeouts;
  return {
    startupMs,
    idleMs,
    toolMs,
    afterResultMs,
    wallMs: wallMs === 0 ? 0 : Math.max(1, wallMs - (now - run.since)),
  };
}

/** `limits` as the user set them: what people are told. */
async function watchOver(watch: Watch, limits: WatchdogLimits, stopper: Stopper): Promise<void> {
  for (let fired = await watch.next(); fired.length > 0; fired = await watch.next()) {
    for (const name of fired) requestStop(name, limits, stopper);
  }
}

function requestStop(name: WatchdogName, limits: WatchdogLimits, stopper: Stopper): void {
  switch (name) {
    case 'startup':
      return stopper.request({ kind: 'watchdog', fact: 'startup-timeout', afterMs: limits.startupMs });
    case 'idle':
      return stopper.request({ kind: 'watchdog', fact: 'idle-timeout', afterMs: limits.idleMs });
    case 'tool':
      return stopper.request({ kind: 'watchdog', fact: 'tool-timeout', afterMs: limits.toolMs });
    case 'wall':
      return stopper.request({ kind: 'watchdog', fact: 'wall-timeout', afterMs: limits.wallMs });
    case 'after-result':
      return stopper.request({ kind: 'after-result' });
    default:
      return assertNever(name, 'requestStop');
  }
}

/** An agent that only says that it retries is not making headway: that is no sign of life for the watchdogs. */
function tellWatchdogs(watch: Watch, observation: Observation): void {
  switch (observation.kind) {
    case 'call-intended':
    case 'call-started':
      return watch.observed({ kind: 'tool-started', id: observation.callId });
    case 'call-finished':
      return watch.observed({ kind: 'tool-finished', id: observation.callId });
    case 'result':
      return watch.observed({ kind: 'result' });
    case 'session':
    case 'delta':
    case 'message':
    case 'usage':
    case 'alive':
    case 'reply':
      return watch.observed({ kind: 'event' });
    case 'inner-retry':
    case 'notice':
    case 'malformed':
      return undefined;
    default:
      return assertNever(observation, 'tellWatchdogs');
  }
}
