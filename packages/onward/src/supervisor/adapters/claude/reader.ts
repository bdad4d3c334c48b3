import type { AttemptReader, Ending, Observation, ProcessEnding } from '../../adapter.ts';
import { readBanner } from './banners.ts';
import { bringsResult, Calls } from './calls.ts';
import { controlRequest } from './control.ts';
import { endingOf } from './ending.ts';
import { type ApiError, retryError, syntheticError, withHintOf } from './failure-facts.ts';
import { assistantText, noMessages, release, repeatSaid, streamEvent } from './messages.ts';
import { asShape, numberAt, parseLine, shapeAt, shapesAt, type Shape, textAt, textsAt } from './shape.ts';
import { callReturned, noTasks, subagentLine, taskLine, tasksOpen } from './tasks.ts';
import { noUsage, resultUsage, streamUsage } from './usage.ts';

const alive: readonly Observation[] = [{ kind: 'alive' }];

const malformed = (reason: string): readonly Observation[] => [{ kind: 'malformed', reason }];

/** Reads what one process of Claude Code prints in `stream-json`. */
export function claudeReader(): AttemptReader {
  const reader = new Reader();
  return {
    line: (text) => reader.line(text),
    ending: (process) => reader.ending(process),
    target: () => reader.target(),
    refuse: (callId, reason) => reader.refuse(callId, reason),
  };
}

class Reader {
  sessionId: string | undefined;
  #announced: string | undefined;
  #result: Shape | undefined;
  #error: ApiError | undefined;
  #resetsAt: number | undefined;
  readonly #calls = new Calls();
  readonly #messages = noMessages();
  readonly #tasks = noTasks();
  readonly #usage = noUsage();

  line(text: string): readonly Observation[] {
    if (text.trim() === '') return [];
    const parsed = parseLine(text);
    if (parsed === undefined) return malformed('not JSON');
    const line = asShape(parsed);
    const type = textAt(line, 'type');
    if (line === undefined || type === undefined) return malformed('not a message of Claude Code');
    this.sessionId = textAt(line, 'session_id') || this.sessionId;
    return this.#byType(type, line);
  }

  ending(process: ProcessEnding): Ending {
    const said = {
      result: this.#result,
      error: this.#error,
      sessionId: this.sessionId,
      resetsAt: this.#resetsAt,
      messages: this.#messages,
      tasks: this.#tasks,
      calls: this.#calls,
      begun: this.#announced !== undefined,
    };
    return endingOf(said, process);
  }

  /** The session, unless the CLI itself has said that there is none. */
  target(): string | undefined {
    const errors = textsAt(this.#result, 'errors');
    const lost = errors.some((error) => readBanner(error)?.type === 'session_not_found');
    return lost ? undefined : this.sessionId;
  }

  refuse(callId: string, reason: string): string {
    return this.#calls.refuse(callId, reason);
  }

  #byType(type: string, line: Shape): readonly Observation[] {
    switch (type) {
      case 'system':
        return this.#system(line);
      case 'assistant':
        return this.#assistant(line);
      case 'user':
        return this.#user(line);
      case 'stream_event':
        return this.#streamEvent(line);
      case 'control_request':
        return controlRequest({ calls: this.#calls, tasks: this.#tasks }, line);
      case 'rate_limit_event':
        return this.#rateLimit(line);
      case 'result':
        return this.#end(line);
      default:
        // Answers to our own requests, keep-alives, and what a later version may add: signs of life.
        return alive;
    }
  }

  #system(line: Shape): readonly Observation[] {
    switch (textAt(line, 'subtype') ?? '') {
      case 'init':
        return this.#init(line);
      case 'api_retry': {
        this.#error = withHintOf(retryError(line), this.#error);
        repeatSaid(this.#messages);
        const status = numberAt(line, 'error_status');
        const category = textAt(line, 'error');
        const delayMs = numberAt(line, 'retry_delay_ms');
        return [
          {
            kind: 'inner-retry',
            attempt: numberAt(line, 'attempt') ?? 1,
            ...(status === undefined ? {} : { status }),
            ...(category === undefined ? {} : { category }),
            ...(delayMs === undefined ? {} : { delayMs }),
          },
        ];
      }
      case 'task_started':
      case 'task_updated':
      case 'task_notification':
        taskLine(this.#tasks, line);
        return alive;
      case 'model_fallback':
      case 'model_refusal_fallback':
        return [{ kind: 'notice', text: textAt(line, 'content') || 'Claude Code went on with another model.' }];
      case 'compact_boundary':
        return [{ kind: 'notice', text: 'Claude Code compacted the conversation.' }];
      default:
        return alive;
    }
  }

  #init(line: Shape): readonly Observation[] {
    const id = textAt(line, 'session_id');
    if (id === undefined) return malformed('init without a session id');
    // Every turn prints another one.
    if (id === this.#announced) return alive;
    this.#announced = id;
    const model = textAt(line, 'model');
    const permissions = textAt(line, 'permissionMode');
    const version = textAt(line, 'claude_code_version');
    return [
      {
        kind: 'session',
        id,
        ...(model === undefined ? {} : { model }),
        ...(permissions === undefined ? {} : { permissions }),
        ...(version === undefined ? {} : { version }),
      },
    ];
  }

  #assistant(line: Shape): readonly Observation[] {
    const message = shapeAt(line, 'message');
    if (message === undefined) return malformed('assistant line without a message');
    const parent = textAt(line, 'parent_tool_use_id');
    if (parent !== undefined) {
      const broken = textAt(message, 'model') === '<synthetic>';
      subagentLine(this.#tasks, parent, broken);
      return [...this.#calls.started(message, parent), ...alive];
    }
    // The CLI's own lines are not the model's answer. An error among them is only final if nothing follows.
    if (textAt(message, 'model') === '<synthetic>') {
      const error = syntheticError(line);
      if (error !== undefined) this.#error = withHintOf(error, this.#error);
      return alive;
    }
    this.#error = undefined;
    return [...assistantText(this.#messages, message), ...this.#calls.started(message, parent), ...alive];
  }

  #user(line: Shape): readonly Observation[] {
    const message = shapeAt(line, 'message');
    if (message === undefined) return malformed('user line without a message');
    const observations: Observation[] = [];
    if (textAt(line, 'parent_tool_use_id') === undefined && bringsResult(message)) {
      this.#error = undefined;
      observations.push(...release(this.#messages));
    }
    const told = shapeAt(line, 'tool_use_result');
    for (const block of shapesAt(message, 'content')) {
      const callId = textAt(block, 'tool_use_id');
      if (callId !== undefined) callReturned(this.#tasks, callId, told);
    }
    return [...observations, ...this.#calls.returned(line, message), ...alive];
  }

  #streamEvent(line: Shape): readonly Observation[] {
    const event = shapeAt(line, 'event');
    if (event === undefined) return malformed('stream event without an event');
    const usage = streamUsage(this.#usage, event);
    if (textAt(line, 'parent_tool_use_id') !== undefined) return [...usage, ...alive];
    // A retried request has been answered.
    if (textAt(event, 'type') === 'message_start') this.#error = undefined;
    return [...streamEvent(this.#messages, event), ...usage];
  }

  #rateLimit(line: Shape): readonly Observation[] {
    const info = shapeAt(line, 'rate_limit_info');
    const seconds = numberAt(info, 'resetsAt');
    this.#resetsAt = textAt(info, 'status') === 'rejected' && seconds !== undefined ? seconds * 1000 : undefined;
    return alive;
  }

  #end(line: Shape): readonly Observation[] {
    this.#result = line;
    const usage = resultUsage(this.#usage, line);
    const aborted = textAt(line, 'terminal_reason')?.startsWith('aborted_') === true;
    return [...usage, tasksOpen(this.#tasks) && !aborted ? { kind: 'alive' } : { kind: 'result' }];
  }
}
