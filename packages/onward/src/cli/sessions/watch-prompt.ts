import type { Agent, AgentEvent, PromptHandle, SessionEvent, Settlement } from '../../agent/index.ts';
import { readQuestion } from '../../effects/index.ts';
import { assertNever } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import type { Io } from '../io.ts';
import { oneLine } from '../plain-text.ts';
import { promptLine } from './prompt-lines.ts';
import { createTextStream, type TextStream } from './text-stream.ts';

/** How a prompt is shown while this process runs it. */
export interface PromptView {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Asks the person at the terminal for the answer to a question. Absent: nobody is there. */
  readonly ask?: (question: string) => Promise<void>;
  /** Position after which events are shown; 0: all of the prompt. */
  readonly after: number;
  /** Questions that were asked before that position, in this turn. */
  readonly asked: readonly string[];
  readonly turn: number;
}

/**
 * Shows a prompt until it ends, or until it waits for an answer that nobody here can give. Text is streamed to a person;
 * a program gets it once it counts. Gives the settlement; the last line of `--json` is it.
 */
export async function watchPrompt(
  io: Io,
  on: { readonly agent: Agent; readonly handle: PromptHandle; readonly journal: Journal },
  view: PromptView,
): Promise<Settlement> {
  const stream = io.isOutTerminal && !view.json ? createTextStream(io) : undefined;
  const show = createShow(io, view, stream);
  const settlement = (await untilWaiting(io, on, { view, show })) ?? (await on.handle.ended);
  stream?.rest();
  await showSettlement(io, settlement, { ...view, session: on.agent.id });
  return settlement;
}

/** Shows events to the end; stops at a question that is open and that nobody here can answer. */
async function untilWaiting(
  io: Io,
  { handle, journal }: { readonly handle: PromptHandle; readonly journal: Journal },
  { view, show }: { readonly view: PromptView; readonly show: (event: AgentEvent) => void },
): Promise<Settlement | undefined> {
  const isOpen = async (id: string, turn: number): Promise<Settlement | undefined> => {
    const state = await readQuestion(journal, id);
    if (state?.state !== 'open') return undefined;
    if (view.ask === undefined) return { kind: 'waiting', turn, question: state.question };
    await view.ask(id);
    return undefined;
  };
  for (const id of view.asked) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    const waiting = await isOpen(id, view.turn);
    if (waiting !== undefined) return waiting;
  }
  for await (const event of handle.events({ after: view.after })) {
    show(event);
    await io.drained();
    if (event.type !== 'call.waiting') continue;
    const waiting = await isOpen(event.data.question, event.data.turn);
    if (waiting !== undefined) return waiting;
  }
  return undefined;
}

function createShow(io: Io, view: PromptView, stream: TextStream | undefined): (event: AgentEvent) => void {
  if (view.json) return jsonShow(io);
  let isDropped = false;
  return (event) => {
    if (event.type === 'live.delta') return stream?.delta(event);
    if (event.type === 'block.closed') return stream?.closed(event);
    // Text of an attempt that failed stays on the screen, so it must be said that it does not count.
    if (event.type === 'step.closed' && stream?.rest() === true) isDropped = event.data.outcome === 'failed';
    const line = promptLine(io, event);
    const isRetry = event.type === 'plugin.recorded' && event.data.kind === 'retry.scheduled';
    if (isDropped && (isRetry || event.type === 'turn.closed')) {
      io.err(io.color('dim', isRetry ? '-- dropped, trying again --' : '-- dropped --'));
      isDropped = false;
    }
    if (line !== undefined && !view.quiet) io.err(line);
  };
}

/** Durable events as lines; the blocks of an answer come when the answer counts, and never when it does not. */
function jsonShow(io: Io): (event: AgentEvent) => void {
  let held: SessionEvent[] = [];
  return (event) => {
    if (!('position' in event)) return;
    if (event.type === 'block.closed') {
      held.push(event);
      return;
    }
    if (event.type === 'answer.completed') for (const block of held) io.json(block);
    if (event.type === 'answer.completed' || event.type === 'step.closed') held = [];
    io.json(event);
  };
}

type Ending = PromptView & { readonly session: string };

async function showSettlement(io: Io, settlement: Settlement, how: Ending): Promise<void> {
  if (how.json) {
    io.json({ result: { session: how.session, ...settlement } });
    return await io.drained();
  }
  if (settlement.kind === 'done' && !io.isOutTerminal) io.out(settlement.text);
  if (settlement.kind === 'incomplete' && !io.isOutTerminal) io.out(settlement.partial);
  if (settlement.kind === 'done') return;
  io.err(`${io.color('bold', `onward: ${titleOf(settlement)}:`)} ${oneLine(sentenceOf(settlement), 1_000)}`);
  if (settlement.kind === 'waiting') {
    const { id, choices } = settlement.question;
    for (const choice of choices) io.err(`  ${`${choice}:`.padEnd(9)} ${io.hint(`answer ${id} ${choice}`)}`);
    io.err(`  then:     ${io.hint(`resume ${how.session}`)}`);
  } else if (!how.quiet) {
    io.err(`  go on:  ${io.hint(`chat ${how.session} "..."`)}`);
    io.err(`  why:    ${io.hint(`why ${how.session}`)}`);
  }
}

function titleOf(settlement: Settlement): string {
  const titles = { limit: 'limit reached', incomplete: 'cut off' };
  if (settlement.kind === 'failed') return `failed (${settlement.class})`;
  return settlement.kind === 'limit' || settlement.kind === 'incomplete' ? titles[settlement.kind] : settlement.kind;
}

function sentenceOf(settlement: Settlement): string {
  switch (settlement.kind) {
    case 'done':
      return settlement.text;
    case 'incomplete':
      return 'the answer reached the token limit and is not complete';
    case 'waiting':
      return settlement.question.text;
    case 'failed': {
      const at = settlement.retryAt === undefined ? '' : `; not before ${new Date(settlement.retryAt).toISOString()}`;
      return `${settlement.failure.message}${at}`;
    }
    case 'cancelled':
      return settlement.cause;
    case 'blocked':
      return settlement.because;
    case 'limit':
      return `${settlement.limit} ${settlement.unit} are used up`;
    case 'interrupted':
      return 'the process that ran it died; what was under way may have happened, so look before you go on';
    default:
      return assertNever(settlement, 'the end of a prompt');
  }
}
