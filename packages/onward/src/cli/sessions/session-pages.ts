import { sessionStream } from '../../agent/index.ts';
import { assertNever } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import type { Transcript } from '../../library/agent/index.ts';
import { systemClock } from '../../processes/index.ts';
import { counted, dateOf, table } from '../describe-run.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { oneLine } from '../plain-text.ts';
import { timeOf } from '../progress-lines.ts';
import { promptLine, retryLine } from './prompt-lines.ts';
import { lastEnd, loadSession, type SessionInfo, sessionStateOf, summariseSession } from './session-info.ts';
import { isLive, textOfContent, timesOf } from './session-verbs.ts';

type Entry = Transcript['entries'][number];

/** `onward show` of a session: where it stands, and the conversation. */
export async function showSession(io: Io, journal: Journal, id: string, json: boolean): Promise<number> {
  const info = await loadSession(journal, id);
  const live = await isLive(io, journal, id);
  if (json) {
    io.json({ ...summariseSession(info, live), questions: info.questions, transcript: info.transcript });
    return 0;
  }
  for (const line of table(rowsOf(info, live))) io.out(line);
  for (const entry of info.transcript.entries) for (const line of talkLines(entry)) io.out(line);
  for (const question of info.questions) io.out(`\nwaits for an answer: ${io.hint(`answer ${question} CHOICE`)}`);
  return 0;
}

function rowsOf(info: SessionInfo, live: boolean): readonly (readonly string[])[] {
  const { spent } = info.state;
  return [
    ['session', `${info.id}${info.state.name === undefined || info.state.name === '' ? '' : ` (${info.state.name})`}`],
    ['state', `${sessionStateOf(info, live)}${live ? ', a live process has it open' : ''}`],
    ['model', info.record?.model ?? info.state.header?.model ?? '-'],
    ...(info.record === undefined
      ? []
      : [
          ['in', info.record.cwd],
          ['approve', info.record.approve],
        ]),
    ['made', dateOf(info.createdAt)],
    ['so far', `${counted(spent.session.attempts, 'request')}, ${counted(spent.session.toolCalls, 'tool call')}`],
  ];
}

/** The conversation as a person reads it: what was superseded is only named. */
function talkLines(entry: Entry): readonly string[] {
  switch (entry.entry) {
    case 'message':
      return entry.state === 'dropped'
        ? []
        : [
            '',
            ...textOfContent(entry.content)
              .split('\n')
              .map((line) => `> ${line}`),
          ];
    case 'attempt':
      return entry.answer === 'none' ? [] : entry.blocks.flatMap(blockLines);
    case 'end':
      return entry.supersededBy === undefined && entry.shown.tone !== 'success'
        ? [`[${entry.shown.title}${entry.shown.detail === '' ? '' : `: ${oneLine(entry.shown.detail, 500)}`}]`]
        : [];
    case 'note':
      return entry.kind === 'retry.scheduled' ? [`[${retryLine(entry.data)}]`] : [];
    case 'compaction':
      return [`[${entry.replaced} messages were replaced by ${entry.left}: ${oneLine(entry.because, 200)}]`];
    case 'turn':
    case 'cancel':
    case 'aside':
      return [];
    default:
      return assertNever(entry, 'an entry of a transcript');
  }
}

type Block = Extract<Entry, { readonly entry: 'attempt' }>['blocks'][number];

function blockLines(block: Block): readonly string[] {
  switch (block.kind) {
    case 'text':
      return [block.text];
    case 'thinking':
      return [];
    case 'call':
      return [`[${callText(block)}]`];
    default:
      return assertNever(block, 'a block of a transcript');
  }
}

function callText(block: Extract<Block, { readonly kind: 'call' }>): string {
  const { outcome } = block;
  const end =
    outcome === undefined ? block.state : outcome.ok ? 'ok' : `${outcome.code}: ${oneLine(outcome.message, 200)}`;
  return `${block.tool ?? '?'} ${oneLine(JSON.stringify(block.input ?? {}), 200)}: ${end}`;
}

/** `onward why` of a session: each turn, what failed of it and by which rule, what was decided, what is unknown. */
export async function whySession(io: Io, journal: Journal, id: string, json: boolean): Promise<number> {
  const info = await loadSession(journal, id);
  const live = await isLive(io, journal, id);
  const lines = info.transcript.entries.flatMap((entry) => whyLines(entry, timesOf(info.events)));
  const unknown = info.transcript.entries.flatMap((entry) =>
    entry.entry === 'attempt' ? entry.blocks.flatMap((block) => (isUnknown(block) ? blockLines(block) : [])) : [],
  );
  const { session } = info.state.spent;
  if (json) {
    io.json({ ...summariseSession(info, live), spent: session, unknown, transcript: info.transcript });
    return 0;
  }
  const because = lastEnd(info)?.shown.detail ?? '';
  io.out(`session ${id}: ${sessionStateOf(info, live)}${because === '' ? '' : `, ${oneLine(because, 500)}`}`);
  for (const line of lines) io.out(line);
  io.out(
    `spent: ${counted(session.attempts, 'request')}, ${session.tokens} tokens, ${counted(session.toolCalls, 'tool call')}`,
  );
  if (unknown.length > 0) io.out('outcome unknown, to be inspected:');
  for (const line of unknown) io.out(`  ${line}`);
  return 0;
}

function isUnknown(block: Block): boolean {
  return block.kind === 'call' && block.outcome?.ok === false && block.outcome.code === 'outcome-unknown';
}

function whyLines(entry: Entry, at: (position: number) => number): readonly string[] {
  const time = timeOf(at(entry.position));
  switch (entry.entry) {
    case 'turn':
      return [
        `turn ${entry.turn} at ${time}${entry.trigger.kind === 'retry' ? `, a retry of turn ${entry.trigger.of}` : ''}`,
      ];
    case 'attempt': {
      const { failure } = entry;
      const calls = entry.blocks.filter((block) => block.kind === 'call').length;
      const what = `  request ${entry.step} to ${entry.model ?? '?'}: ${entry.state}, ${counted(calls, 'tool call')}`;
      return failure === undefined ? [what] : [what, `    said      ${oneLine(failure.message, 500)}`];
    }
    case 'note':
      return entry.kind === 'retry.scheduled' ? [`    decision  ${retryLine(entry.data)}, by ${entry.plugin}`] : [];
    case 'end': {
      const rule = entry.end.reason === 'failed' ? `, by ${entry.end.rule}` : '';
      return [
        `  ${entry.shown.title}${entry.shown.detail === '' ? '' : `: ${oneLine(entry.shown.detail, 500)}`}${rule}`,
      ];
    }
    case 'cancel':
      return [`  cancelled at ${time}: ${entry.cause}`];
    case 'message':
    case 'compaction':
    case 'aside':
      return [];
    default:
      return assertNever(entry, 'an entry of a transcript');
  }
}

/** How often to look whether anybody still has the session open, ms. */
const lookMs = 1_000;

/** `onward tail` of a session: what happened and what happens, until no process has it open. */
export async function tailSession(io: Io, journal: Journal, id: string, json: boolean): Promise<number> {
  const stop = new AbortController();
  const ending = stopAtEnd(io, journal, id, stop);
  const shown = { position: 0 };
  const show = async (after: number): Promise<void> => {
    const { events } = await loadSession(journal, id);
    for (const event of events) {
      if (event.position <= after) continue;
      shown.position = event.position;
      if (json) io.json(event);
      else for (const line of tailLines(io, event)) io.out(line);
      // oxlint-disable-next-line no-await-in-loop -- a slow reader costs no memory
      await io.drained();
    }
  };
  await show(0);
  for await (const event of journal.follow(sessionStream(id), shown.position, stop.signal))
    if (event.position > shown.position) await show(shown.position);
  await ending;
  const info = await loadSession(journal, id);
  const state = sessionStateOf(info, false);
  if (!json) io.err(`onward: ${id} ${state}`);
  if (info.state.open !== undefined) return exitCodes.needsHuman.code;
  return exitCodes.done.code;
}

function tailLines(io: Io, event: SessionInfo['events'][number]): readonly string[] {
  const time = timeOf(event.at);
  if (event.type === 'message.accepted') return [`${time} > ${oneLine(textOfContent(event.data.content), 500)}`];
  if (event.type === 'block.closed') {
    const { part } = event.data;
    if (part.type === 'text') return [`${time} ${oneLine(part.text, 500)}`];
    return part.type === 'call' ? [`${time} calls ${part.tool} ${oneLine(JSON.stringify(part.input), 200)}`] : [];
  }
  if (event.type === 'call.waiting')
    return [`${time} waits for an answer: ${io.hint(`answer ${event.data.question} CHOICE`)}`];
  if (event.type === 'turn.closed') return [`${time} turn ${event.data.turn}: ${event.data.end.reason}`];
  const line = promptLine({ ...io, color: (_, text) => text }, event);
  return line === undefined ? [] : [`${time} ${line}`];
}

/** Twice in a row, since one process may take over from another. */
async function stopAtEnd(io: Io, journal: Journal, id: string, stop: AbortController): Promise<void> {
  const { signal } = stop;
  const end = (): void => stop.abort();
  io.gone.addEventListener('abort', end, { once: true });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, end);
  for (let missed = 0; missed < 2 && !signal.aborted;) {
    // oxlint-disable-next-line no-await-in-loop -- a look now and then
    missed = (await isLive(io, journal, id).catch(() => false)) ? 0 : missed + 1;
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (missed < 2) await systemClock.sleep(lookMs, signal);
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, end);
  stop.abort();
}
