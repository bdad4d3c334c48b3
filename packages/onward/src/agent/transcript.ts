import type { SessionEvent, SessionEventData } from './session-events.ts';
import {
  type AttemptEntry,
  type CallBlock,
  type EndEntry,
  type MessageEntry,
  presentEnd,
  type QueuedMessage,
  type TranscriptBlock,
  type TranscriptEntry,
} from './transcript-entry.ts';

/**
 * A session as a person may read it: nothing that was shown ever leaves it, whatever becomes of the model's history.
 * Entries are only added; what becomes of one later (a result, a retry turn that supersedes it) changes in its place.
 */
export interface Transcript {
  readonly entries: readonly TranscriptEntry[];
  /** Accepted, and not yet part of the conversation. */
  readonly queued: readonly QueuedMessage[];
  /** The turn under way; `retries` counts the retry turns of its chain up to here. */
  readonly open?: OpenTurn;
  /** Steps that were closed. */
  readonly steps: number;
  /** Position of the latest event. */
  readonly position: number;
}

interface OpenTurn {
  readonly turn: number;
  readonly chain: number;
  readonly retries: number;
}

/** A transcript under construction. Entries are replaced, never changed: earlier transcripts share them. */
interface Draft {
  entries: TranscriptEntry[];
  queued: QueuedMessage[];
  open?: OpenTurn;
  steps: number;
  position: number;
}

/** The transcript of a session, or of the last part of one. Pure; linear in the number of events. */
export function foldTranscript(events: Iterable<SessionEvent>): Transcript {
  const draft: Draft = { entries: [], queued: [], steps: 0, position: 0 };
  for (const event of events) add(draft, event);
  return draft;
}

/** One more event, for hosts that fold as events come; one that was folded already changes nothing. */
export function addToTranscript(before: Transcript, event: SessionEvent): Transcript {
  if (event.position <= before.position) return before;
  const draft: Draft = { ...before, entries: [...before.entries], queued: [...before.queued] };
  add(draft, event);
  return draft;
}

/** The last answer of a prompt's turns that has any text and is part of the conversation; empty when there is none. */
export function finalText(source: Transcript | Iterable<SessionEvent>, chain: number): string {
  const { entries } = Symbol.iterator in source ? foldTranscript(source) : source;
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry?.entry !== 'attempt' || entry.chain !== chain || entry.answer === 'none') continue;
    const text = entry.blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('');
    if (text.trim() !== '') return text;
  }
  return '';
}

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>;
type Steps = { readonly [Type in SessionEvent['type']]: (draft: Draft, event: Of<Type>) => void };

const nothing = (): void => undefined;

const steps: Steps = {
  'session.created': nothing,
  'header.set': nothing,
  'message.accepted': (draft, event) => void draft.queued.push({ ...dataOf(event) }),
  'message.dropped': (draft, event) => {
    for (const id of event.data.ids)
      leaveQueue(draft, event, { id, more: { state: 'dropped', because: event.data.because } });
  },
  'input.committed': (draft, event) => {
    for (const { id, content } of event.data.items) {
      const turn = draft.open === undefined ? {} : { turn: draft.open.turn };
      leaveQueue(draft, event, {
        id,
        more: { state: 'committed', ...turn, ...(content === undefined ? {} : { content }) },
      });
    }
  },
  'turn.opened': openTurn,
  'step.opened': (draft, event) => changeAttempt(draft, event, () => ({ model: event.data.model })),
  'block.closed': (draft, event) =>
    changeAttempt(draft, event, ({ blocks }) => ({ blocks: [...blocks, blockOf(event.data.part)] })),
  'answer.completed': (draft, event) => {
    const { finish, usage } = event.data;
    changeAttempt(draft, event, () => ({ answer: 'complete', finish, ...(usage === undefined ? {} : { usage }) }));
  },
  'answer.interrupted': (draft, event) =>
    changeAttempt(draft, event, ({ blocks }) => ({
      answer: 'interrupted',
      blocks: [...event.data.parts.map((part) => blockOf(part)), ...blocks.filter(({ kind }) => kind === 'call')],
    })),
  'call.waiting': (draft, event) =>
    changeCall(draft, event, () => ({ state: 'waiting', question: { id: event.data.question, open: true } })),
  'call.started': (draft, event) => changeCall(draft, event, (call) => ({ state: 'started', ...answered(call) })),
  'call.finished': (draft, event) =>
    changeCall(draft, event, (call) => ({ state: 'finished', outcome: event.data.outcome, ...answered(call) })),
  'step.closed': closeStep,
  'history.replaced': (draft, { position, data }) => {
    const { by, because, from, to, messages } = data;
    draft.entries.push({ entry: 'compaction', position, by, because, replaced: to - from, left: messages.length });
  },
  'turn.closed': closeTurn,
  'cancel.requested': (draft, event) =>
    void draft.entries.push({ entry: 'cancel', position: event.position, ...dataOf(event) }),
  'aside.finished': (draft, event) =>
    void draft.entries.push({ entry: 'aside', position: event.position, ...dataOf(event) }),
  'plugin.recorded': (draft, event) =>
    void draft.entries.push({ entry: 'note', position: event.position, ...dataOf(event) }),
};

/** A type that is not known here is passed over: a newer program may show more. */
function add(draft: Draft, event: SessionEvent): void {
  draft.position = Math.max(draft.position, event.position);
  if (!Object.hasOwn(steps, event.type)) return;
  (steps[event.type] as (draft: Draft, event: SessionEvent) => void)(draft, event);
}

function dataOf<Type extends SessionEvent['type']>(event: Of<Type>): SessionEventData[Type] {
  return event.data as SessionEventData[Type];
}

function leaveQueue(
  draft: Draft,
  { position }: SessionEvent,
  leaving: { readonly id: string; readonly more: Partial<MessageEntry> & Pick<MessageEntry, 'state'> },
): void {
  const { id, more } = leaving;
  const index = draft.queued.findIndex((message) => message.id === id);
  const [known] = index < 0 ? [] : draft.queued.splice(index, 1);
  const rewritten = known !== undefined && more.content !== undefined ? { original: known.content } : {};
  const base = known ?? { id, content: [], partial: true as const };
  draft.entries.push({ entry: 'message', position, ...base, ...rewritten, ...more });
}

function openTurn(draft: Draft, { position, data }: Of<'turn.opened'>): void {
  const { turn, chain, trigger } = data;
  let retries = trigger.kind === 'retry' ? 1 : 0;
  // By its link: a failure that lies next to a retry need not be what it retries.
  if (trigger.kind === 'retry')
    changeTurn(draft, trigger.of, (entry) => {
      if (entry.entry === 'end') {
        retries = entry.retries + 1;
        return { ...entry, supersededBy: turn };
      }
      return entry.answer === 'none' ? { ...entry, supersededBy: turn } : entry;
    });
  draft.open = { turn, chain, retries };
  draft.entries.push({ entry: 'turn', position, turn, chain, trigger });
}

/** Changes the attempts and the end of one turn. Turns are numbered in order, so what lies before it is not looked at. */
function changeTurn(draft: Draft, turn: number, change: (entry: AttemptEntry | EndEntry) => TranscriptEntry): void {
  for (let index = draft.entries.length - 1; index >= 0; index--) {
    const entry = draft.entries[index];
    if (entry?.entry === 'turn' && entry.turn <= turn) return;
    if ((entry?.entry === 'attempt' || entry?.entry === 'end') && entry.turn === turn)
      draft.entries[index] = change(entry);
  }
}

interface InStep extends Pick<SessionEvent, 'position' | 'type'> {
  readonly data: { readonly turn: number; readonly step: number };
}

/** The attempt of an event. One that began before what was folded begins here. */
function changeAttempt(draft: Draft, event: InStep, change: (attempt: AttemptEntry) => Partial<AttemptEntry>): void {
  const { turn, step } = event.data;
  const index = findAttempt(draft, turn, step);
  const found = draft.entries[index];
  if (found?.entry === 'attempt') {
    draft.entries[index] = { ...found, ...change(found) };
    return;
  }
  const attempt: AttemptEntry = {
    entry: 'attempt',
    position: event.position,
    turn,
    step,
    ...(draft.open?.turn === turn ? { chain: draft.open.chain } : {}),
    state: 'running',
    answer: 'none',
    blocks: [],
    ...(event.type === 'step.opened' ? {} : { partial: true as const }),
  };
  draft.entries.push({ ...attempt, ...change(attempt) });
}

function findAttempt(draft: Draft, turn: number, step: number): number {
  for (let index = draft.entries.length - 1; index >= 0; index--) {
    const entry = draft.entries[index];
    if (entry?.entry === 'attempt' && entry.turn === turn && entry.step === step) return index;
    if (entry?.entry === 'turn' && entry.turn <= turn) return -1;
  }
  return -1;
}

function blockOf(part: Of<'block.closed'>['data']['part']): TranscriptBlock {
  if (part.type !== 'call') return { kind: part.type, text: part.text };
  return { kind: 'call', id: part.id, tool: part.tool, input: part.input, state: 'proposed' };
}

function changeCall(
  draft: Draft,
  event: InStep & { readonly data: { readonly id: string } },
  change: (call: CallBlock) => Partial<CallBlock>,
): void {
  const { id } = event.data;
  changeAttempt(draft, event, ({ blocks }) => {
    const at = blocks.findIndex((block) => block.kind === 'call' && block.id === id);
    const known = blocks[at];
    const call: CallBlock = known?.kind === 'call' ? known : { kind: 'call', id, state: 'proposed' };
    const changed = { ...call, ...change(call) };
    return { blocks: at < 0 ? [...blocks, changed] : blocks.with(at, changed) };
  });
}

function answered({ question }: CallBlock): Partial<CallBlock> {
  return question === undefined ? {} : { question: { ...question, open: false } };
}

function closeStep(draft: Draft, event: Of<'step.closed'>): void {
  const { outcome, failure, usage } = event.data;
  draft.steps += 1;
  changeAttempt(draft, event, ({ blocks }) => ({
    state: outcome,
    blocks: blocks.map((block) => (isOpen(block) ? { ...block, state: 'discarded', ...answered(block) } : block)),
    ...(failure === undefined ? {} : { failure }),
    ...(usage === undefined ? {} : { usage }),
  }));
}

function isOpen(block: TranscriptBlock): block is CallBlock {
  return block.kind === 'call' && block.state !== 'finished';
}

function closeTurn(draft: Draft, { position, data: { turn, chain, end } }: Of<'turn.closed'>): void {
  const retries = draft.open?.turn === turn ? draft.open.retries : 0;
  delete draft.open;
  let closed = 0;
  changeTurn(draft, turn, (entry) => {
    if (entry.entry === 'end') return entry;
    if (entry.state !== 'running') closed += 1;
    return { ...entry, chain };
  });
  draft.entries.push({ entry: 'end', position, turn, chain, end, shown: presentEnd(end), steps: closed, retries });
}
