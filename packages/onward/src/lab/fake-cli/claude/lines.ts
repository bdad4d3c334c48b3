import { randomUUID } from 'node:crypto';
import type { ClaudeFailure } from '../failures.ts';
import type { RetryStep } from '../play.ts';
import type { ToolOutcome } from '../shell.ts';
import type { ClaudeArgs } from './args.ts';
import type { Block } from './session-file.ts';

/** One line of Claude Code's stream, as an object. The fields and their order are those of 2.1.197. */
export type Line = { readonly [name: string]: unknown };

/** The version the stand-in says it is. */
export const claudeVersion = '2.1.197';

const tools = (
  'Task Bash CronCreate CronDelete CronList Edit EnterWorktree ExitWorktree NotebookEdit Read ReportFindings ' +
  'ScheduleWakeup SendMessage Skill TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate WebFetch WebSearch ' +
  'Workflow Write'
).split(' ');

/** The first line of a turn. */
export function initLine(session: string, args: ClaudeArgs): Line {
  return {
    type: 'system',
    subtype: 'init',
    cwd: process.cwd(),
    session_id: session,
    tools,
    mcp_servers: [],
    model: args.model,
    permissionMode: args.permissionMode,
    slash_commands: ['clear', 'compact', 'context', 'init', 'review'],
    apiKeySource: process.env['ANTHROPIC_API_KEY'] === undefined ? 'none' : 'ANTHROPIC_API_KEY',
    claude_code_version: claudeVersion,
    output_style: 'default',
    agents: ['general-purpose', 'Explore', 'Plan'],
    skills: [],
    plugins: [],
    analytics_disabled: true,
    product_feedback_disabled: true,
    uuid: randomUUID(),
    fast_mode_state: 'off',
  };
}

/** One finished block of an assistant message. */
export function assistantLine(session: string, messageId: string, model: string, block: Block): Line {
  const usage = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const message = {
    id: messageId,
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: null,
    stop_sequence: null,
    usage,
    context_management: null,
  };
  return {
    type: 'assistant',
    message,
    parent_tool_use_id: null,
    session_id: session,
    uuid: randomUUID(),
    request_id: 'req_fake',
  };
}

/** A line the CLI makes up to show an error of the provider. */
export function syntheticLine(session: string, failure: ClaudeFailure): Line {
  const message = {
    id: randomUUID(),
    container: null,
    model: '<synthetic>',
    role: 'assistant',
    stop_details: null,
    stop_reason: 'stop_sequence',
    stop_sequence: '',
    type: 'message',
    usage: { input_tokens: 0, output_tokens: 0 },
    content: [{ type: 'text', text: failure.text }],
    context_management: null,
  };
  return {
    type: 'assistant',
    message,
    parent_tool_use_id: null,
    session_id: session,
    uuid: randomUUID(),
    error: failure.category,
    request_id: 'req_fake',
  };
}

/** The result of a tool call. */
export function toolResultLine(session: string, block: Block, outcome: ToolOutcome | string): Line {
  const result =
    typeof outcome === 'string'
      ? outcome
      : {
          stdout: outcome.stdout.trimEnd(),
          stderr: outcome.stderr.trimEnd(),
          interrupted: false,
          isImage: false,
          noOutputExpected: false,
        };
  return userLine(session, [block], { tool_use_result: result });
}

/** A line in the user's name: a tool result, or the note that a turn was interrupted. */
export function userLine(session: string, content: readonly Block[], more: Line = {}): Line {
  return {
    type: 'user',
    message: { role: 'user', content },
    parent_tool_use_id: null,
    session_id: session,
    uuid: randomUUID(),
    timestamp: new Date().toISOString(),
    ...more,
  };
}

/** The CLI says that it tries the request again by itself. */
export function retryLine(session: string, step: RetryStep, failure: ClaudeFailure): Line {
  const { attempt, of, delayMs = 500 * 2 ** (attempt - 1) } = step;
  return {
    type: 'system',
    subtype: 'api_retry',
    attempt,
    max_retries: of,
    retry_delay_ms: delayMs,
    error_status: failure.status,
    error: failure.category,
    session_id: session,
    uuid: randomUUID(),
  };
}

/** What the closing line sums up. */
export interface Totals {
  /** Model messages that were complete; only these are charged. */
  readonly completed: number;
  /** One, and one more for each line in the user's name. */
  readonly turns: number;
  readonly model: string;
  readonly denials: readonly Line[];
}

/** The closing line; `fields` are changed or added. */
export function resultLine(session: string, totals: Totals, fields: Line): Line {
  const { completed } = totals;
  const [input, output, cost] = [completed * 100, completed * 30, completed * 0.00075];
  const usage = {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
    server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
    service_tier: 'standard',
  };
  const ofModel = {
    inputTokens: input,
    outputTokens: output,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    webSearchRequests: 0,
    costUSD: cost,
    contextWindow: 200_000,
    maxOutputTokens: 32_000,
  };
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    api_error_status: null,
    duration_ms: 800,
    duration_api_ms: 400,
    num_turns: totals.turns,
    stop_reason: 'end_turn',
    session_id: session,
    total_cost_usd: cost,
    usage,
    modelUsage: completed === 0 ? {} : { [totals.model]: ofModel },
    permission_denials: totals.denials,
    terminal_reason: 'completed',
    fast_mode_state: 'off',
    uuid: randomUUID(),
    ...fields,
  };
}

/** What the model is told about a call that was under way when the turn was ended. It may have run all the same. */
export const rejectedText: string =
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string " +
  'was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.';

/** How the closing line of a turn that was ended from outside differs. */
export function interruptedFields(inTool: boolean): Line {
  return {
    subtype: 'error_during_execution',
    is_error: true,
    api_error_status: undefined,
    stop_reason: inTool ? 'tool_use' : null,
    terminal_reason: inTool ? 'aborted_tools' : 'aborted_streaming',
    errors: [`[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=${inTool ? 'tool_use' : 'null'}`],
  };
}
