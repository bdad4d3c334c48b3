/** The supervisor of agent CLIs: one coordinator for all of them, an adapter for each. */
export { acceptRun, lacksCredential, readCommand, type ReadCommand, type RunRequest } from './accept-run.ts';
export type {
  AgentAdapter,
  AgentIdentity,
  AgentPlace,
  AttemptReader,
  Ending,
  Launch,
  LaunchInput,
  Observation,
  ParsedCommand,
  ProcessEnding,
  StopStep,
  UserCommand,
} from './adapter.ts';
export type {
  AttemptHost,
  AttemptSpec,
  Inspected,
  LeftAttempt,
  LiveAttempt,
  Locked,
  SpoolLine,
  Swept,
} from './attempt-host.ts';
export { createCoordinator, runHeld, type Coordinator, type RunAdvance } from './coordinator.ts';
export { type LiveEvent, placeOf, type SupervisorDeps } from './deps.ts';
export { createProcessHost, type ProcessHostOptions } from './process-host.ts';
export { launchPreview, quote, type LaunchPreview, type RunPreview } from './preview.ts';
export {
  runEvent,
  type AttemptMode,
  type Body,
  type PauseReason,
  type RunAccepted,
  type RunEventData,
  type RunEventType,
  type RunOutcome,
} from './run-events.ts';
export { orThrow, resultOf, type RunResult } from './run-result.ts';
export { type AttemptState, type CallState, foldRun, type Phase, type RunState, type UsageState } from './run-state.ts';
export { toLiveEvent, toStreamEvent, type RunStreamEvent, withTexts } from './run-stream.ts';
export { readBody, runInbox, runStream } from './run-writer.ts';
