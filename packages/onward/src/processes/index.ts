/** The only folder that starts, watches and ends processes. */
export { systemClock, systemHash, systemIds, systemRandom } from './system.ts';
export {
  hostIdentity,
  identify,
  isAlive,
  liveness,
  ownIdentity,
  type Liveness,
  type ProcessIdentity,
} from './identity.ts';
export {
  startAgent,
  type Agent,
  type AgentExit,
  type AgentStart,
  type AgentStartResult,
  type AgentStdin,
} from './spawn-agent.ts';
export { type WriteResult } from './agent-input.ts';
export { checkCwd, findProgram, type SpawnFault, type SpawnFaultReason, type SpawnSubject } from './spawn-fault.ts';
export { startLastingGuard } from './lasting-guard.ts';
export { startGuard, type Guard, type GuardStart, type GuardStartResult } from './guard.ts';
export {
  findProcesses,
  sweep,
  sweepAgent,
  type AgentSweep,
  type SweepOptions,
  type SweepResult,
  type SweepSubject,
  type SweptProcess,
} from './sweep.ts';
export { tryLockSession, type SessionLock, type SessionLockRequest, type SessionLockResult } from './session-lock.ts';
export { ensurePrivateDir } from './private-dir.ts';
export { requirePosix } from './platform.ts';
export { tailLines, type SpoolTail, type TailOptions } from './spool.ts';
export { type SpoolItem, type SpoolPlace } from './line-splitter.ts';
export {
  observed,
  startWatchdogs,
  tick,
  watchdogs,
  type Observation,
  type Tick,
  type Watch,
  type WatchdogLimits,
  type WatchdogName,
  type WatchdogState,
} from './watchdogs.ts';
export { endAgent, type LadderOptions, type LadderReport, type LadderResult, type LadderStep } from './ladder.ts';
export { runCommand, type CommandOptions, type CommandResult } from './run-command.ts';
