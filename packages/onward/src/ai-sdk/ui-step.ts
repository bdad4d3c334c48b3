import type { LiveEvent, SessionEventData } from '../agent/index.ts';
import type { UIChunk } from './ui-chunk.ts';

type Delta = Extract<LiveEvent, { readonly type: 'live.delta' }>;
type Part = SessionEventData['block.closed']['part'];
type Shown = Extract<Part, { readonly type: 'text' | 'thinking' }>;
type Call = Extract<Part, { readonly type: 'call' }>;

/** A block as the reader has it. */
interface Block {
  readonly kind: 'text' | 'reasoning';
  readonly id: string;
  sent: string;
  open: boolean;
}

/**
 * One attempt at an answer: shows it while it comes, and puts right what was shown when the log says what it was. What the
 * log says always wins, and is shown once.
 */
export class UIStep {
  readonly turn: number;
  readonly step: number;
  /** The calls of its answer, in the order of the model. */
  readonly calls: Call[] = [];
  /** The answer is in the history, so nothing of it is taken back. */
  settled = false;
  readonly #blocks = new Map<number, Block>();
  readonly #closed: (readonly [number, Shown])[] = [];
  /** Block of which the beginning may be missing: whoever comes late shows it when it is closed. */
  #unsure: number | undefined;
  #began = false;

  constructor(turn: number, step: number) {
    this.turn = turn;
    this.step = step;
  }

  /** Shows a piece of the answer, if it is one to show now. */
  delta(event: Delta): readonly UIChunk[] {
    const { block, kind, text } = event;
    if (event.turn !== this.turn || event.step !== this.step || this.settled || kind === 'call') return [];
    if (!this.#began && (event.first ?? event.n) > 1) this.#unsure = block;
    this.#began = true;
    if (block === this.#unsure || this.#closed.some(([index]) => index === block)) return [];
    return this.#show(block, kind, text);
  }

  /** A block is complete. */
  close(block: number, part: Part): readonly UIChunk[] {
    if (part.type === 'call') {
      this.calls.push(part);
      return [];
    }
    this.#closed.push([block, part]);
    const sent = this.#blocks.get(block)?.sent ?? '';
    return part.text.startsWith(sent) ? this.#complete(block, part, sent) : this.#again(this.#closed);
  }

  /** What a cancel left of the answer: the beginning that had been shown. */
  interrupt(parts: readonly Shown[]): readonly UIChunk[] {
    this.settled = true;
    const shown = [...this.#blocks].toSorted(([a], [b]) => a - b).map(([, block]) => block);
    const same =
      shown.length === parts.length && shown.every(({ sent }, index) => parts[index]?.text.startsWith(sent) === true);
    if (!same) return this.#again(parts.map((part, index) => [index, part]));
    return [...this.#blocks.keys()]
      .toSorted((a, b) => a - b)
      .flatMap((block, index) => {
        const part = parts[index];
        return part === undefined ? [] : this.#complete(block, part, this.#blocks.get(block)?.sent ?? '');
      });
  }

  #complete(block: number, part: Shown, sent: string): readonly UIChunk[] {
    const rest = this.#show(block, part.type, part.text.slice(sent.length));
    const state = this.#blocks.get(block);
    if (state === undefined || !state.open) return rest;
    state.open = false;
    return [...rest, { type: `${state.kind}-end`, id: state.id }];
  }

  /** Takes the step back and shows what the log has of it. */
  #again(parts: readonly (readonly [number, Shown])[]): readonly UIChunk[] {
    this.#blocks.clear();
    return [{ type: 'reset-step' }, ...parts.flatMap(([block, part]) => this.#complete(block, part, ''))];
  }

  #show(block: number, kind: 'text' | 'thinking', text: string): readonly UIChunk[] {
    if (text === '') return [];
    const known = this.#blocks.get(block);
    const state: Block = known ?? {
      kind: kind === 'text' ? 'text' : 'reasoning',
      id: `${this.turn}.${this.step}.${block}`,
      sent: '',
      open: true,
    };
    this.#blocks.set(block, state);
    state.sent += text;
    const delta: UIChunk = { type: `${state.kind}-delta`, id: state.id, delta: text };
    return known === undefined ? [{ type: `${state.kind}-start`, id: state.id }, delta] : [delta];
  }
}
