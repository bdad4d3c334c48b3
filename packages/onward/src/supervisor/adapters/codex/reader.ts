import type { DeniedCall } from '../../../kernel/failure.ts';
import type { AttemptReader, Ending, Observation, ProcessEnding } from '../../adapter.ts';
import { type AttemptFacts, judgeEnding } from './ending.ts';
import { readErrorText, readReconnecting } from './error-text.ts';
import { callFinished, type CallItem, callStarted, readCall } from './items.ts';
import { asNumber, asObject, asString, type JsonObject, parseObject, shorten } from './json-shape.ts';

/** Reads the event stream of one `codex exec --json`. */
export class CodexReader implements AttemptReader {
  #threadId: string | undefined;
  #end: AttemptFacts['end'];
  #answer = '';
  /** Why codex is reconnecting, until it shows that it is well again. */
  #healing: string | undefined;
  #lastError: string | undefined;
  #waits = 0;
  /** Texts since the last call began; an inner retry prints a finished one again, word for word. */
  #texts = new Set<string>();
  #retried = false;
  readonly #open = new Set<string>();
  readonly #declined: DeniedCall[] = [];

  line(text: string): readonly Observation[] {
    const line = parseObject(text);
    const type = asString(line?.['type']);
    if (line === undefined || type === undefined)
      return [{ kind: 'malformed', reason: line === undefined ? 'not a JSON object' : 'no type' }];
    return this.#read(type, line);
  }

  ending(process: ProcessEnding): Ending {
    return judgeEnding(process, {
      ...(this.#threadId === undefined ? {} : { threadId: this.#threadId }),
      ...(this.#end === undefined ? {} : { end: this.#end }),
      ...(this.#healing === undefined ? {} : { healing: this.#healing }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      answer: this.#answer,
      declined: this.#declined,
    });
  }

  target(): string | undefined {
    return this.#threadId;
  }

  #read(type: string, line: JsonObject): readonly Observation[] {
    switch (type) {
      case 'thread.started':
        return this.#thread(line);
      case 'turn.started':
        return [{ kind: 'alive' }];
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return this.#item(type, asObject(line['item']));
      case 'error':
        return this.#error(asString(line['message']));
      case 'turn.completed':
        this.#end = { kind: 'completed' };
        return [...readUsage(asObject(line['usage'])), { kind: 'result' }];
      case 'turn.failed':
        this.#end = { kind: 'failed', message: asString(asObject(line['error'])?.['message']) ?? '' };
        return [{ kind: 'result' }];
      default:
        return [{ kind: 'alive' }];
    }
  }

  #thread(line: JsonObject): readonly Observation[] {
    const id = asString(line['thread_id']);
    if (id === undefined || id === '') return [{ kind: 'malformed', reason: 'thread.started without thread_id' }];
    this.#threadId = id;
    return [{ kind: 'session', id }];
  }

  #item(event: string, item: JsonObject | undefined): readonly Observation[] {
    const type = asString(item?.['type']);
    if (item === undefined || type === undefined) return [{ kind: 'malformed', reason: `${event} without an item` }];
    if (type === 'error') return [{ kind: 'notice', text: asString(item['message']) ?? '' }];
    this.#healing = undefined;
    if (type === 'agent_message') return event === 'item.completed' ? this.#message(item) : [{ kind: 'alive' }];
    const call = readCall(item);
    if (call === undefined || event === 'item.updated') return [{ kind: 'alive' }];
    const begins = !this.#open.has(call.callId);
    if (begins) this.#begin(call.callId);
    if (item['status'] === 'declined') this.#declined.push({ tool: call.tool, summary: summarize(call) });
    if (event === 'item.started') return begins ? [callStarted(call)] : [{ kind: 'alive' }];
    return begins ? [callStarted(call), callFinished(call)] : [callFinished(call)];
  }

  #begin(callId: string): void {
    this.#open.add(callId);
    this.#answer = '';
    this.#texts = new Set();
    this.#retried = false;
  }

  #message(item: JsonObject): readonly Observation[] {
    const text = asString(item['text']) ?? '';
    this.#answer = text;
    if (this.#retried && this.#texts.has(text)) return [{ kind: 'alive' }];
    this.#texts.add(text);
    return [{ kind: 'message', id: asString(item['id']) ?? '', text }];
  }

  /**
   * An `error` line is never final by itself: only `turn.failed` or the end of the process is. A sentence that is no notice of
   * an inner retry is withheld, since it is nearly always the one that `turn.failed` repeats.
   */
  #error(message: string | undefined): readonly Observation[] {
    if (message === undefined) return [{ kind: 'malformed', reason: 'error without a message' }];
    const reconnecting = readReconnecting(message);
    if (reconnecting === undefined) {
      this.#lastError = message;
      return [];
    }
    this.#retried = true;
    this.#healing = reconnecting.why;
    this.#waits = reconnecting.attempt === undefined ? this.#waits + 1 : 0;
    const read = readErrorText(reconnecting.why);
    const category = reconnecting.attempt === undefined ? 'no-network' : read?.rule.replace(/^.*:/, '');
    return [
      {
        kind: 'inner-retry',
        attempt: reconnecting.attempt ?? this.#waits,
        ...(read?.status === undefined ? {} : { status: read.status }),
        ...(category === undefined ? {} : { category }),
      },
    ];
  }
}

function summarize(call: CallItem): string {
  return shorten(asString(asObject(call.input)?.['command']) ?? JSON.stringify(call.input), 200);
}

/** Counted over the whole thread, earlier attempts included. */
function readUsage(usage: JsonObject | undefined): readonly Observation[] {
  const inputTokens = asNumber(usage?.['input_tokens']);
  const outputTokens = asNumber(usage?.['output_tokens']);
  if (inputTokens === undefined || outputTokens === undefined) return [];
  return [{ kind: 'usage', scope: 'cumulative', inputTokens, outputTokens }];
}
