import type { Signal } from '../../../kernel/signal.ts';
import type { Message, PluginHost } from '../../plugin.ts';
import { askPatiently } from './ask-patiently.ts';
import type { Change } from './change-messages.ts';
import type { Settings } from './compaction-options.ts';
import type { CompactionState, Reason } from './compaction-state.ts';
import { estimateTokens } from './measure.ts';
import { pruneResults } from './prune.ts';
import { headToReplace, newestUnit } from './select.ts';
import { isTooMuch, summarise } from './summarise.ts';
import { summaryMessage, wordsOf } from './summary-text.ts';

/** What the parts of the plugin share in one session. */
export interface Parts {
  readonly host: PluginHost;
  readonly settings: Settings;
  readonly state: () => CompactionState;
}

/** What is to be made smaller, and how far. */
export interface Wish {
  readonly why: Exclude<Reason, 'media'>;
  /** Tokens at the end that stay as they are. */
  readonly keep: number;
  /** Of older results of tools, enough has gone when the history is no larger than this, tokens; 0 = it is summarised anyway. */
  readonly enough: number;
}

/** Why a history is no smaller. `floor`: it cannot be made so; otherwise something went wrong that may not another time. */
export interface Problem {
  readonly because: string;
  readonly floor: boolean;
}

/** Results that are older than what stays are cut to so many characters. */
const prunedTo = 1_500;

/**
 * Prunes, then summarises what is left of the head; begun and ended on record. Returns why it did not come to its end: what is
 * replaced by then stays so. Throws only what the log throws.
 */
export async function compact(parts: Parts, wish: Wish, signal: Signal): Promise<Problem | undefined> {
  const { host } = parts;
  const { why } = wish;
  const { messages, generation } = host.history();
  const before = estimateTokens(messages);
  await host.record('compaction.started', { why, generation, tokens: before });
  const problem = await shrink(parts, wish, signal).catch((error: unknown) => ({
    because: error instanceof Error ? error.message.slice(0, 300) : 'It failed without saying why.',
    floor: false,
  }));
  const after = host.history();
  const sizes = { model: host.model().id, before, after: estimateTokens(after.messages) };
  const because = problem === undefined ? {} : { because: problem.because };
  if (problem === undefined || after.generation > generation)
    await host.record('compaction.finished', { why, ...sizes, complete: problem === undefined, ...because });
  else await host.record('compaction.failed', { why, ...sizes, ...because });
  return problem;
}

async function shrink(parts: Parts, wish: Wish, signal: Signal): Promise<Problem | undefined> {
  await prune(parts, wish);
  if (signal.aborted) return { because: 'it was cancelled', floor: false };
  if (estimateTokens(parts.host.history().messages) <= wish.enough) return undefined;
  return await summariseHead(parts, wish, signal);
}

/** Cuts long results of tools, those in the newest part only where that part by itself is what does not fit. */
async function prune({ host, settings }: Parts, { why, keep }: Wish): Promise<void> {
  const { messages } = host.history();
  const head = headToReplace(messages, keep);
  const above = settings.pruneAbove;
  await replaceAll(host, pruneResults(messages, { above, left: prunedTo, before: head }), 'long results of tools');
  if (why !== 'overflow' || !isMostOfIt(host.history().messages)) return;
  const newest = pruneResults(host.history().messages, { above, left: above, before: messages.length });
  await replaceAll(host, newest, 'a result of a tool that fills the context');
}

function isMostOfIt(messages: readonly Message[]): boolean {
  return estimateTokens(messages.slice(newestUnit(messages))) * 2 > estimateTokens(messages);
}

/** Makes the changes, none of which moves another. False as soon as somebody else changed the history. */
export async function replaceAll(host: PluginHost, changes: readonly Change[], because: string): Promise<boolean> {
  for (const change of changes) {
    const { generation } = host.history();
    // oxlint-disable-next-line no-await-in-loop -- each is for the history that the one before left
    if (!(await host.replaceHistory({ generation, ...change, because }))) return false;
  }
  return changes.length > 0;
}

async function summariseHead(
  { host, state }: Parts,
  { keep, why }: Wish,
  signal: Signal,
): Promise<Problem | undefined> {
  const { header, prompt } = state();
  const { messages, generation } = host.history();
  const to = headToReplace(messages, keep);
  if (header === undefined || to === 0) return { because: 'there is nothing older than the newest part', floor: true };
  const head = messages.slice(0, to);
  // What frames a summary is already as large: no request can help.
  if (smaller('', head, undefined) === undefined)
    return { because: 'what is older than the newest part is smaller than any summary of it', floor: true };
  const summary = await summarise(head, askPatiently(host, header, signal));
  if (!summary.ok)
    return {
      because: `the summary failed: ${summary.failure.message}`.slice(0, 500),
      floor: isTooMuch(summary.failure),
    };
  if (summary.text.trim() === '') return { because: 'the summary is empty', floor: false };
  const covered = head.slice(0, summary.messages);
  const message = smaller(
    summary.text,
    covered,
    isThere(messages.slice(covered.length), prompt?.text) ? undefined : prompt?.text,
  );
  if (message === undefined) return { because: 'the summary is not smaller than what it stands for', floor: true };
  const because = `summarised (${why})`;
  const change = { generation, from: 0, to: covered.length, messages: [message], because };
  if (!(await host.replaceHistory(change))) return { because: 'the history changed meanwhile', floor: false };
  return covered.length < to ? { because: 'only the oldest part could be summarised', floor: false } : undefined;
}

/** A summary that is smaller than its source, with the prompt word for word if that fits too. */
function smaller(summary: string, covered: readonly Message[], prompt: string | undefined): Message | undefined {
  const size = estimateTokens(covered);
  const candidates = [...(prompt === undefined ? [] : [summaryMessage(summary, prompt)]), summaryMessage(summary)];
  return candidates.find((message) => estimateTokens([message]) < size);
}

/** The prompt stands among the messages that stay, or is not known. */
function isThere(messages: readonly Message[], prompt: string | undefined): boolean {
  if (prompt === undefined || prompt === '') return true;
  return messages.some((message) => message.role === 'user' && wordsOf(message.content) === prompt);
}
