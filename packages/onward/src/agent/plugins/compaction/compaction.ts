import type { Failure } from '../../../kernel/failure.ts';
import { failureChain } from '../../../kernel/failure.ts';
import type { Signal } from '../../../kernel/signal.ts';
import type { Plugin, PluginHost, RequestErrorAction } from '../../plugin.ts';
import { type CompactionOptions, resolveCompaction, type Settings } from './compaction-options.ts';
import { applyCompaction, type CompactionState, nothingYet, pluginName, type Reason } from './compaction-state.ts';
import { estimateTokens } from './measure.ts';
import { bytesOf, pruneResults, type Pruned, replaceMedia } from './prune.ts';
import { headToReplace } from './select.ts';
import { summarise, summaryMessage } from './summarise.ts';

/**
 * Keeps a history within its model's window. Under pressure before a request; after an overflow, which is retried only when the
 * history did change; and after a refused image, once. When nothing more can be made smaller it records `context-irreducible`, and the
 * provider's own error stays the reason of the turn. Throws `config/...` with the place for bad options.
 */
export function compaction(options: CompactionOptions = {}): Plugin {
  const settings = resolveCompaction(options);
  return { name: pluginName, setup: (host) => setup(host, settings) };
}

interface Parts {
  readonly host: PluginHost;
  readonly settings: Settings;
  readonly state: () => CompactionState;
}

function setup(host: PluginHost, settings: Settings): void {
  const parts: Parts = { host, settings, state: host.fold(nothingYet, applyCompaction) };
  host.on('agent/pre-step', async ({ signal }, next) => {
    await next();
    if (settings.pressure !== false && !host.lifetime.aborted) await easePressure(parts, settings.pressure, signal);
  });
  host.on('agent/request-error', async ({ classification, failure, signal }, next) => {
    if (host.lifetime.aborted || signal.aborted) return await next();
    const mended =
      classification.class === 'overflow' || classification.class === 'input'
        ? ((await mendMedia(parts, failure, signal)) ?? (await mendOverflow(parts, classification.class, signal)))
        : undefined;
    return mended ?? (await next());
  });
}

/** Compacts when the next request would fill more of the window than it should. What fails here is on record and changes nothing. */
async function easePressure(
  parts: Parts,
  { above, keep }: { readonly above: number; readonly keep: number },
  signal: Signal,
): Promise<void> {
  const { host, settings, state } = parts;
  const { counted, header, stuck, perPrompt, unknown } = state();
  if (header === undefined || stuck || perPrompt >= settings.perPrompt) return;
  const { id, contextTokens } = host.model();
  if (contextTokens === undefined) {
    if (!unknown.includes(id)) await host.record('capacity-unknown', { model: id });
    return;
  }
  const { messages } = host.history();
  const tokens =
    counted === undefined
      ? estimateTokens(messages)
      : counted.tokens + estimateTokens(messages.slice(counted.messages));
  if (tokens > above * contextTokens) await compact(parts, { why: 'pressure', keep: keep * contextTokens }, signal);
}

/** An overflow is retried when the history has moved on, also when only the pruning landed; within a private budget. */
async function mendOverflow(parts: Parts, kind: string, signal: Signal): Promise<RequestErrorAction | undefined> {
  const { host, settings, state } = parts;
  if (kind !== 'overflow' || settings.overflow === 0) return undefined;
  const { generation, messages } = host.history();
  if (state().overflows < settings.overflow && state().perPrompt < settings.perPrompt) {
    await compact(parts, { why: 'overflow', keep: 0 }, signal);
    if (signal.aborted) return undefined;
    if (host.history().generation > generation) return { kind: 'retry' };
  }
  await host.record('context-irreducible', { messages: messages.length, tokens: estimateTokens(messages) });
  return undefined;
}

/** Files that the provider does not take are replaced by a note: those over the limit, else all when it says that it is them. */
async function mendMedia(parts: Parts, failure: Failure, signal: Signal): Promise<RequestErrorAction | undefined> {
  const { host, settings, state } = parts;
  if (state().media > 0 || state().perPrompt >= settings.perPrompt) return undefined;
  const { messages, generation } = host.history();
  const named = failureChain(failure).some(({ type }) => type === 'image_rejected');
  const change =
    replaceMedia(messages, ({ data }) => bytesOf(data) > settings.mediaBytes) ??
    (named ? replaceMedia(messages, () => true) : undefined);
  if (change === undefined) return undefined;
  await host.record('compaction.started', { why: 'media', generation });
  const moved = await replace(parts, change, 'files that the provider does not take');
  await host.record('compaction.finished', { why: 'media', replaced: change.to - change.from });
  return moved && !signal.aborted ? { kind: 'retry' } : undefined;
}

interface Wish {
  readonly why: Exclude<Reason, 'media'>;
  /** Tokens at the end that stay as they are. */
  readonly keep: number;
}

/** Prunes, then summarises what is left of the head. Never throws for what a model or a race does: that is on record. */
async function compact(parts: Parts, wish: Wish, signal: Signal): Promise<void> {
  const { host, settings } = parts;
  const { why } = wish;
  const start = host.history();
  const tokens = estimateTokens(start.messages);
  await host.record('compaction.started', { why, generation: start.generation, tokens });
  const pruned = pruneResults(start.messages, settings.pruneAbove);
  if (pruned !== undefined) await replace(parts, pruned, 'long results of tools');
  const left = estimateTokens(host.history().messages);
  // Half of it gone without a model is enough for one repair.
  const problem = left * 2 <= tokens || signal.aborted ? undefined : await shorten(parts, wish, signal);
  if (problem === undefined || host.history().generation > start.generation)
    await host.record('compaction.finished', { why, tokens: estimateTokens(host.history().messages) });
  if (problem !== undefined) await host.record('compaction.failed', { why, because: problem });
}

/** Replaces the head by a summary. Returns why not, in a sentence. */
async function shorten({ host, state }: Parts, { keep, why }: Wish, signal: Signal): Promise<string | undefined> {
  const { header } = state();
  const { messages, generation } = host.history();
  const to = headToReplace(messages, keep);
  if (header === undefined || to === 0) return 'the newest part alone is as large';
  const head = messages.slice(0, to);
  const summary = await summarise(head, header, async (request) => await host.aside('summary', request, signal));
  if (!summary.ok) return `the summary failed: ${summary.failure.message}`;
  const covered = head.slice(0, summary.messages);
  const message = summaryMessage(summary.text);
  if (summary.text.trim() === '') return 'the summary is empty';
  if (estimateTokens([message]) >= estimateTokens(covered)) return 'the summary is not smaller than what it stands for';
  const because = `summarised (${why})`;
  const moved = await host.replaceHistory({ generation, from: 0, to: covered.length, messages: [message], because });
  return moved ? undefined : 'the history changed meanwhile';
}

async function replace({ host }: Parts, change: Pruned, because: string): Promise<boolean> {
  const { generation } = host.history();
  return await host.replaceHistory({ generation, ...change, because });
}
