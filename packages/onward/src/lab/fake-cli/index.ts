export { claudeFailures, codexFailures, type ClaudeFailure, type CodexFailure, type FailureName } from './failures.ts';
export { installFakeCli, type FakeCli, type InstallOptions } from './install.ts';
export { parsePlay, readPlay } from './parse-play.ts';
export type {
  Attempt,
  CliName,
  Condition,
  FailStep,
  Garbage,
  GrandchildStep,
  Play,
  Refusal,
  SessionDamage,
  SignalName,
  Step,
  ToolStep,
  TranscriptStep,
  WaitFor,
  WhenStep,
} from './play.ts';
export { PlayError } from './play-error.ts';
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
  killedInText,
  killedInTool,
  killedInWindow,
  limitWordsInOutput,
  neverEnds,
  overloadedAfterTool,
  overloadedThenWell,
  recordedCell,
  resultThenHang,
  taskSteps,
  unknownSession,
  usageLimit,
  type Task,
  type Temperament,
} from './plays.ts';
export type { Invocation } from './record.ts';
