/** The lab: a scripted model provider and a service with effects, with faults on demand, to try any agent against. It knows nothing of the product. */
export { startModelServer } from './model-server/server.ts';
export type { ModelServer, ModelServerOptions } from './model-server/server.ts';
export type { LabClock } from './model-server/clock.ts';
export { systemClock } from './model-server/clock.ts';
export type { ErrorCondition, Fault, FaultRule, Place, SeededFaults } from './model-server/fault.ts';
export { describeFault } from './model-server/fault.ts';
export type { DelegatedStep, Script, ShellStep, Step, Task, Temperament } from './model-server/script.ts';
export { checkScript } from './model-server/check-script.ts';
export type { TurnScript, TurnSpec } from './model-server/turn-script.ts';
export type { StopReason, ToolCall, Turn, TurnUsage } from './model-server/turn.ts';
export type { OtherRequest, RequestRecord, RequestState } from './model-server/request-log.ts';
export type { Api } from './model-server/wire-format.ts';
export type { LabErrorCode } from './model-server/lab-error.ts';
export { LabError } from './model-server/lab-error.ts';
export type { CodexRetries } from './point-agent.ts';
export { claudeEnvironment, codexAuth, codexConfig, codexDefaultConfig, codexEnvironment } from './point-agent.ts';
export { startFakeService } from './fake-service/index.ts';
export type {
  Acceptance,
  FakeService,
  FakeServiceOptions,
  LookupBehaviour,
  ServiceBehaviour,
  ServiceRequest,
  Treatment,
} from './fake-service/index.ts';
export type { Scenario } from './scenarios/scenario.ts';
export { effectStep, scriptOf } from './scenarios/scenario.ts';
export { findScenario, scenarios } from './scenarios/catalogue.ts';
export {
  appendTask,
  authFailure,
  deniedTools,
  diesAtOnce,
  failsForEver,
  failsThenWell,
  garbageInBetween,
  grandchildHoldsStdout,
  healthy,
  initThenDies,
  innerRetryHeals,
  installFakeCli,
  killedInText,
  killedInTool,
  killedInWindow,
  limitWordsInOutput,
  neverEnds,
  overloadedAfterTool,
  overloadedThenWell,
  parsePlay,
  PlayError,
  recordedCell,
  resultThenHang,
  taskSteps,
  unknownSession,
  usageLimit,
} from './fake-cli/index.ts';
export type {
  Attempt,
  CliName,
  FailureName,
  FakeCli,
  InstallOptions,
  Invocation,
  Play,
  PlayStep,
  PlayTask,
  PlayTemperament,
} from './fake-cli/index.ts';
