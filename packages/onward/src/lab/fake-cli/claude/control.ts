import { randomUUID } from 'node:crypto';
import type { Input } from '../input.ts';
import type { Line } from './lines.ts';

/** What the other side may answer to a hook. */
export interface HookAnswer {
  readonly decision?: string;
  readonly reason?: string;
  readonly hookSpecificOutput?: { readonly permissionDecision?: string; readonly permissionDecisionReason?: string };
}

/** The answer to the question whether a tool may be used. */
export interface Permit {
  readonly behavior?: string;
  readonly message?: string;
}

interface Matcher {
  readonly matcher?: string | null;
  readonly hookCallbackIds?: readonly string[];
}

interface Incoming {
  readonly type?: string;
  readonly request_id?: string;
  readonly request?: { readonly subtype?: string; readonly hooks?: { readonly [event: string]: readonly Matcher[] } };
  readonly response?: {
    readonly subtype?: string;
    readonly request_id?: string;
    readonly response?: unknown;
    readonly error?: string;
  };
  readonly message?: { readonly content?: string | readonly { readonly type?: string; readonly text?: string }[] };
}

/** What happens when the other side speaks. */
export interface ControlEvents {
  readonly prompt: (text: string) => void;
  /** Asked to end the turn; true when that is granted. */
  readonly interrupt: () => boolean;
  /** A hook that nobody answered: noise on standard error, and the tool runs. */
  readonly unanswered: (error: string) => void;
  /** A line that is no message. The real CLI ends with exit 1. */
  readonly badLine: (error: string) => void;
}

/**
 * The control protocol of `--input-format stream-json`: messages of the user, requests to us, and our own questions (hooks,
 * permissions), which wait for their answer as long as standard input is open.
 */
export class Control {
  readonly #input: Input;
  readonly #send: (line: Line) => void;
  readonly #events: ControlEvents;
  readonly #questions = new Map<string, (answer: unknown) => void>();
  #hooks: { readonly [event: string]: readonly Matcher[] } = {};

  constructor(input: Input, send: (line: Line) => void, events: ControlEvents) {
    this.#input = input;
    this.#send = send;
    this.#events = events;
    input.eachLine((line) => this.#take(line));
  }

  /**
   * Asks every hook registered for this event and tool, one after the other. At the end of the input there is nobody left
   * to ask: then the answers so far count, and the tool runs, as in 2.1.197.
   */
  async hooks(event: string, tool: string, input: Line): Promise<readonly HookAnswer[]> {
    const answers: HookAnswer[] = [];
    for (const { matcher, hookCallbackIds = [] } of this.#hooks[event] ?? []) {
      if (!matches(matcher, tool)) continue;
      for (const callback of hookCallbackIds) {
        const request = {
          subtype: 'hook_callback',
          callback_id: callback,
          input: { ...input, hook_event_name: event },
        };
        const answer = await this.#ask({ ...request, tool_use_id: input['tool_use_id'] });
        if (answer === undefined) this.#events.unanswered(`Error in hook callback ${callback}: error: Stream closed`);
        else answers.push(answer as HookAnswer);
      }
    }
    return answers;
  }

  /** Asks whether a tool may be used; nobody there means no. */
  async mayUse(tool: string, input: unknown, id: string): Promise<Permit> {
    const request = { subtype: 'can_use_tool', tool_name: tool, input, permission_suggestions: [], tool_use_id: id };
    const answer = await this.#ask(request);
    return answer === undefined ? { behavior: 'deny', message: 'Stream closed' } : (answer as Permit);
  }

  async #ask(request: Line): Promise<unknown> {
    if (this.#input.ended) return undefined;
    const id = randomUUID();
    const answer = new Promise<unknown>((resolve) => this.#questions.set(id, resolve));
    this.#send({ type: 'control_request', request_id: id, request });
    const open = await Promise.race([answer, this.#input.untilEnd().then(() => undefined)]);
    this.#questions.delete(id);
    return open;
  }

  #take(text: string): void {
    let line: Incoming;
    try {
      line = JSON.parse(text) as Incoming;
    } catch (error) {
      return this.#events.badLine(`Error parsing streaming input line: ${text.slice(0, 200)}: ${String(error)}`);
    }
    switch (line.type) {
      case 'user':
        return this.#events.prompt(promptText(line.message?.content ?? ''));
      case 'control_request':
        return this.#request(line);
      case 'control_response':
        return this.#answered(line);
      case undefined:
      default:
        // Keep-alives and messages of later versions.
        return undefined;
    }
  }

  #request({ request_id: id, request }: Incoming): void {
    switch (request?.subtype) {
      case 'initialize':
        this.#hooks = request.hooks ?? {};
        return this.#reply(id, {
          commands: [],
          output_style: 'default',
          available_output_styles: ['default'],
          models: [],
          account: {},
        });
      case 'interrupt':
        return this.#interrupt(id);
      case 'set_permission_mode':
      case 'set_model':
      case 'end_session':
        return this.#reply(id, {});
      case undefined:
      default:
        return this.#send({
          type: 'control_response',
          response: {
            subtype: 'error',
            request_id: id,
            error: `Unsupported control request subtype: ${request?.subtype ?? ''}`,
          },
        });
    }
  }

  /** Takes back its open questions, acknowledges, and ends the turn, in this order. */
  #interrupt(id: string | undefined): void {
    if (!this.#events.interrupt()) return;
    for (const question of this.#questions.keys()) this.#send({ type: 'control_cancel_request', request_id: question });
    this.#questions.clear();
    this.#reply(id);
  }

  /** Answers a request of the other side. */
  #reply(id: string | undefined, response?: Line): void {
    const answer = response === undefined ? {} : { response };
    this.#send({ type: 'control_response', response: { subtype: 'success', request_id: id, ...answer } });
  }

  #answered({ response }: Incoming): void {
    const resolve = this.#questions.get(response?.request_id ?? '');
    this.#questions.delete(response?.request_id ?? '');
    resolve?.(response?.subtype === 'error' ? undefined : response?.response);
  }
}

function matches(matcher: string | null | undefined, tool: string): boolean {
  if (matcher === null || matcher === undefined || matcher === '' || matcher === '*') return true;
  return matcher.split('|').includes(tool);
}

function promptText(content: string | readonly { readonly type?: string; readonly text?: string }[]): string {
  if (typeof content === 'string') return content;
  return content.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : [])).join('\n');
}
