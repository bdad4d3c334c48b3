import { randomUUID } from 'node:crypto';
import { assistantLine, type Line } from './lines.ts';
import type { Block, SessionFile } from './session-file.ts';

/** What the messages need to be printed and saved. */
export interface MessagesSetting {
  readonly session: string;
  readonly model: string;
  /** The command line asked for partial messages. */
  readonly partial: boolean;
  readonly file: SessionFile;
  readonly say: (line: Line) => void;
}

/**
 * The model's messages: a block is printed when it is complete, but what was said is saved only when the message ends. With
 * partial messages the stream of the model is printed around the blocks.
 */
export class Messages {
  readonly #setting: MessagesSetting;
  #id: string | undefined;
  #started = false;
  #blocks = 0;
  /** Streamed, but no complete block yet. */
  #half = '';
  #halfOpen = false;
  #lastType = '';
  #completed = 0;
  #unsaved: { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }[] = [];

  constructor(setting: MessagesSetting) {
    this.#setting = setting;
  }

  /** Messages that ended as they should. */
  get completed(): number {
    return this.#completed;
  }

  /** True between a request and the end of its message. */
  get open(): boolean {
    return this.#id !== undefined;
  }

  /** A request begins; the message before it has ended. */
  request(id: string): void {
    this.end();
    this.#id = id;
    if (this.#setting.partial) {
      const { session } = this.#setting;
      this.#setting.say({
        type: 'system',
        subtype: 'status',
        status: 'requesting',
        uuid: randomUUID(),
        session_id: session,
      });
    }
  }

  delta(text: string): void {
    this.#openHalf({ type: 'text', text: '' });
    this.#half += text;
    this.#event({ type: 'content_block_delta', index: this.#blocks, delta: { type: 'text_delta', text } });
  }

  /** A complete block. Text that was streamed already is its beginning. */
  block(block: Block): void {
    this.#openHalf(block.type === 'tool_use' ? { ...block, input: {} } : { type: 'text', text: '' });
    this.#event({ type: 'content_block_delta', index: this.#blocks, delta: this.#restOf(block) });
    const { say, session, model } = this.#setting;
    say(assistantLine(session, this.#id ?? '', model, block));
    this.#event({ type: 'content_block_stop', index: this.#blocks });
    this.#unsaved.push({ role: 'assistant', content: [block] });
    this.#lastType = block.type;
    this.#blocks++;
    this.#half = '';
    this.#halfOpen = false;
  }

  /** The half text becomes a block, as it does when the turn is interrupted. */
  keepHalf(): void {
    if (this.#half !== '') this.block({ type: 'text', text: this.#half });
  }

  /** A block in the user's name: saved at once, unless the message before it is still open. */
  user(block: Block): void {
    if (this.open || this.#unsaved.length > 0) this.hold(block);
    else this.#setting.file.save('user', [block]);
  }

  /** A block in the user's name that is saved later. */
  hold(block: Block): void {
    this.#unsaved.push({ role: 'user', content: [block] });
  }

  /** The message ends as it should. */
  end(): void {
    if (this.open && (this.#blocks > 0 || this.#started)) {
      const reason = this.#lastType === 'tool_use' ? 'tool_use' : 'end_turn';
      this.#event({
        type: 'message_delta',
        delta: { stop_reason: reason, stop_sequence: null },
        usage: { output_tokens: 30 },
      });
      this.#event({ type: 'message_stop' });
    }
    if (this.#unsaved.some(({ role }) => role === 'assistant')) this.#completed++;
    this.abandon();
  }

  /** The message is over without its end. Its complete blocks are saved, half a text is lost. */
  abandon(): void {
    for (const { role, content } of this.#unsaved.splice(0)) this.#setting.file.save(role, content);
    this.#id = undefined;
    this.#started = false;
    this.#blocks = 0;
    this.#half = '';
    this.#halfOpen = false;
    this.#lastType = '';
  }

  /** What was said and is not saved yet. */
  unsavedText(): string {
    const blocks = this.#unsaved.flatMap(({ content }) => content);
    return blocks
      .map((one) => (one.type === 'text' ? one.text : one.type === 'tool_result' ? one.content : ''))
      .join('\n');
  }

  #openHalf(start: Block): void {
    if (!this.#started) this.#event({ type: 'message_start', message: this.#emptyMessage() });
    this.#started = true;
    if (!this.#halfOpen) this.#event({ type: 'content_block_start', index: this.#blocks, content_block: start });
    this.#halfOpen = true;
  }

  #restOf(block: Block): Line {
    if (block.type !== 'text') {
      return { type: 'input_json_delta', partial_json: JSON.stringify(block.type === 'tool_use' ? block.input : {}) };
    }
    const rest = block.text.startsWith(this.#half) ? block.text.slice(this.#half.length) : block.text;
    return { type: 'text_delta', text: rest };
  }

  #emptyMessage(): Line {
    return {
      id: this.#id,
      type: 'message',
      role: 'assistant',
      model: this.#setting.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 100, output_tokens: 1 },
    };
  }

  #event(event: Line): void {
    if (!this.#setting.partial) return;
    const { session, say } = this.#setting;
    say({ type: 'stream_event', event, session_id: session, parent_tool_use_id: null, uuid: randomUUID() });
  }
}
