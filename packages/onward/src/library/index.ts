/** `onward/supervisor`: keep an agent CLI going from your own program. */
export { attachRun, resumeRun, type Supervision } from './attach.ts';
export {
  agentAdapters,
  createDeps,
  stateFolder,
  supervise,
  type SuperviseOptions,
  type SupervisedRun,
} from './supervise.ts';
export { orThrow, type RunResult, type RunStreamEvent } from '../supervisor/index.ts';
export { openSqliteJournal } from '../stores/sqlite/index.ts';
