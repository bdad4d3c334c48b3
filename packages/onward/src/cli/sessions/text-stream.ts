import type { LiveEvent, SessionEvent } from '../../agent/index.ts';
import { createRedactor, type Redactor } from '../../kernel/redact.ts';
import type { Io } from '../io.ts';

type Delta = Extract<LiveEvent, { readonly type: 'live.delta' }>;
type Closed = Extract<SessionEvent, { readonly type: 'block.closed' }>;

/** Longest paragraph that is redacted as one, in characters. */
const mostPending = 16 * 1024;

/** Prints the text of answers on a terminal while it comes, each piece once. */
export interface TextStream {
  delta(event: Delta): void;
  /** A block is complete: prints what of it is missing. */
  closed(event: Closed): void;
  /** Ends the line that is being written. True if text of this attempt was shown. */
  rest(): boolean;
}

/** A stream of one session. What it writes is redacted by paragraph: a word is held back until it is whole. */
export function createTextStream(io: Io): TextStream {
  const redactor = createRedactor(io.env);
  let at = '';
  let got = '';
  let shown = false;
  let writer: Writer | undefined;
  const begin = (key: string): void => {
    if (at === key) return;
    writer?.end();
    writer = new Writer(io, redactor);
    at = key;
    got = '';
  };
  const add = (text: string): void => {
    if (text === '') return;
    got += text;
    shown = true;
    writer?.add(text);
  };
  return {
    delta(event) {
      if (event.kind !== 'text') return;
      const key = `${event.turn}.${event.step}.${event.block}`;
      // What came late has no beginning; the whole is printed when its block closes.
      if (at !== key && (event.first ?? event.n) !== 1 && event.block === 0) return;
      begin(key);
      add(event.text);
    },
    closed({ data: { turn, step, block, part } }) {
      if (part.type !== 'text') return;
      begin(`${turn}.${step}.${block}`);
      if (part.text.startsWith(got)) add(part.text.slice(got.length));
      writer?.end();
      writer = undefined;
      at = `${turn}.${step}.${block}.closed`;
    },
    rest() {
      writer?.end();
      writer = undefined;
      at = '';
      const was = shown;
      shown = false;
      return was;
    },
  };
}

/** Writes a text in pieces so that no piece shows what the whole would not. */
class Writer {
  readonly #io: Io;
  readonly #redactor: Redactor;
  #pending = '';
  /** How much of the redacted pending text is on the screen. */
  #written = '';
  #last = '\n';

  constructor(io: Io, redactor: Redactor) {
    this.#io = io;
    this.#redactor = redactor;
  }

  add(text: string): void {
    this.#pending += text;
    // A sentence and its paragraph are over: nothing that follows changes what of it is a secret, unless a key block is open.
    const end = endOfSentences(this.#pending);
    const open = /-----BEGIN [A-Z ]*PRIVATE KEY-----(?![\s\S]*-----END)/.test(this.#pending);
    if (open) return;
    if (end >= 0 || this.#pending.length > mostPending) {
      const cut = end >= 0 ? end + 2 : this.#pending.lastIndexOf('\n') + 1 || this.#pending.length;
      this.#show(this.#redactor.text(this.#pending.slice(0, cut)));
      this.#pending = this.#pending.slice(cut);
      this.#written = '';
    }
    const whole = this.#pending.search(/\s\S*$/) + 1;
    this.#show(this.#redactor.text(this.#pending.slice(0, whole)));
  }

  end(): void {
    this.#show(this.#redactor.text(this.#pending));
    this.#pending = '';
    this.#written = '';
    if (this.#last !== '\n') this.#put('\n');
  }

  #show(text: string): void {
    if (text.length <= this.#written.length) return;
    // A secret was recognised only now: what came before it is on the screen, and the rest is not shown.
    const rest = text.startsWith(this.#written) ? text.slice(this.#written.length) : '';
    this.#written = text;
    this.#put(rest);
  }

  #put(text: string): void {
    if (text === '') return;
    this.#last = text.at(-1) ?? this.#last;
    this.#io.write(text);
  }
}

/**
 * Where the last blank line behind a sentence begins; -1 without one. Behind anything else, e.g. `password=`, the next
 * paragraph may still be a value that is a secret only because of what stands before it.
 */
function endOfSentences(text: string): number {
  let end = text.lastIndexOf('\n\n');
  while (end > 0 && !/[.!?]["')]?\s*$/.test(text.slice(Math.max(0, end - 80), end)))
    end = text.lastIndexOf('\n\n', end - 1);
  return end > 0 ? end : -1;
}
