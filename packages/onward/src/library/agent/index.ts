/** `onward/agent`: an agent in your program whose failures are recovered by typed actions. */
import { createOnce, type Once } from '../../effects/index.ts';
import { isDead, ownHolder } from './create.ts';
import { systemClock, systemHash, systemIds } from '../../processes/index.ts';

export { createAgent, type CreateAgentOptions, openAgent, type OpenAgentOptions, type Ports } from './create.ts';
export {
  addToTranscript,
  type Agent,
  type AgentEvent,
  type AgentStatus,
  type AnyTool,
  type Allowance,
  type Approval,
  type CallFault,
  type CallOutcome,
  type CancelCause,
  type DeclaredEffect,
  type FinalSettlement,
  finalText,
  foldTranscript,
  type Limits,
  type LiveEvent,
  type PromptHandle,
  type SessionEvent,
  type SessionEventData,
  type Settlement,
  type StandardSchema,
  tool,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type Transcript,
  type TurnEnd,
  type UserContent,
  type Watchdogs,
} from '../../agent/index.ts';
export type { Plugin, PluginHost, RequestErrorAction, Waterfalls } from '../../agent/plugin.ts';
export { compaction, type CompactionOptions } from '../../agent/plugins/compaction/index.ts';
export { failover, type FailoverOptions } from '../../agent/plugins/failover/index.ts';
export { goal, type Goal, type GoalOptions, type GoalState } from '../../agent/plugins/goal/index.ts';
export { llmRetry, type LlmRetryOptions } from '../../agent/plugins/llm-retry/index.ts';
export { planMode, type PlanMode, type PlanModeOptions } from '../../agent/plugins/plan-mode/index.ts';
export { aiSdkModel, type AiSdkModelOptions } from '../../models/ai-sdk/index.ts';
export type { EffectOutcome, Lookup } from '../../effects/effect.ts';
export {
  type AnswerInput,
  type AnswerResult,
  EffectRejected,
  listQuestions as questions,
} from '../../effects/index.ts';
export type { Answer, Question, QuestionState } from '../../kernel/question.ts';
export type { Message, Model, ModelPart, ModelRequest, ModelSettings, Usage } from '../../models/model.ts';
export { openSqliteJournal } from '../../stores/sqlite/index.ts';
export { answer, createMemoryJournal, openJournal } from './journal.ts';

/**
 * Does something once, or leaves it known to be unknown, without our loop: intent before the call, receipt after it, and a
 * question for a person where nobody can know.
 */
export const once: Once = createOnce({
  clock: systemClock,
  ids: systemIds,
  hash: systemHash,
  holder: ownHolder(systemIds),
  isDead,
});
