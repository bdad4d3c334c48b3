/** The embeddable agent loop. Programs get it through `onward/agent`, with stores and clocks put in. */
export type {
  Agent,
  AgentEvent,
  AgentStatus,
  CancelCause,
  FinalSettlement,
  LiveEvent,
  PromptHandle,
  Settlement,
} from './agent-api.ts';
export type { AgentOptions } from './agent-options.ts';
export { type AgentDeps, type Opening, startAgent } from './create-agent.ts';
export type { Limits } from './limits.ts';
export type { Watchdogs } from './run-request.ts';
export { addToTranscript, finalText, foldTranscript, type Transcript } from './transcript.ts';
export { applySessionEvent, emptySession, type SessionState } from './session-state.ts';
export { readSession } from './session-log.ts';
export {
  type CallFault,
  type CallOutcome,
  type Header,
  type NewSessionEvent,
  type SessionEvent,
  type SessionEventData,
  sessionPrefix,
  sessionStream,
  type TurnEnd,
  type UserContent,
} from './session-events.ts';
export {
  type Allowance,
  type AnyTool,
  type Approval,
  type DeclaredEffect,
  type StandardSchema,
  tool,
  type Tool,
  type ToolContext,
  type ToolEffect,
} from './tool.ts';
