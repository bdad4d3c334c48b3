import type { Classification, Failure } from '../../../kernel/failure.ts';
import type { Signal } from '../../../kernel/signal.ts';
import type { Plugin, PluginHost, RequestErrorAction } from '../../plugin.ts';
import { eitherSignal } from './either-signal.ts';
import { compact, type Parts, replaceAll } from './compact.ts';
import { type CompactionOptions, resolveCompaction, type Settings } from './compaction-options.ts';
import { applyCompaction, hasGrown, nothingYet, pluginName } from './compaction-state.ts';
import { bytesOf, namesMedia, replaceMedia } from './images.ts';
import { estimateTokens, headerTokens, requestTokens } from './measure.ts';

/** Repairs of refused files in a row: those over the limit, then, when it is still files, all of them. */
const mediaRepairs = 2;

/**
 * Keeps a history within its model's window: under pressure before a request; after an overflow, which is retried only when the
 * history did change; and after a refused image, which is replaced by a note once. What cannot be made smaller is on record as
 * `context-irreducible`, and the provider's own error stays the reason of the turn. Throws `config/...` with the place for bad options.
 */
export function compaction(options: CompactionOptions = {}): Plugin {
  const settings = resolveCompaction(options);
  return { name: pluginName, setup: (host) => setup(host, settings) };
}

interface Failed {
  readonly model: string;
  readonly failure: Failure;
  readonly classification: Classification;
}

function setup(host: PluginHost, settings: Settings): void {
  const parts: Parts = { host, settings, state: host.fold(nothingYet, applyCompaction) };
  host.on('agent/pre-step', async ({ signal }, next) => {
    await next();
    // A failure here only means that the request is made as it is.
    if (!host.lifetime.aborted && !signal.aborted) await easePressure(parts, signal).catch(() => undefined);
  });
  host.on('agent/request-error', async (payload, next) => {
    const { signal, classification } = payload;
    const repairs = classification.class === 'overflow' || classification.class === 'input';
    if (!repairs || host.lifetime.aborted || signal.aborted) return await next();
    return (await repair(parts, payload, signal)) ?? (await next());
  });
}

/** Compacts when the next request would fill more of the window than it should. What fails is on record and changes nothing. */
async function easePressure(parts: Parts, signal: Signal): Promise<void> {
  const { host, settings, state } = parts;
  const { pressure } = settings;
  const { counted, header, eased, perPrompt, unknown } = state();
  if (pressure === false || header === undefined || perPrompt >= settings.perPrompt) return;
  const { id, contextTokens } = host.model();
  if (contextTokens === undefined) {
    if (!unknown.includes(id)) await host.record('capacity-unknown', { model: id });
    return;
  }
  const { messages } = host.history();
  const tokens = requestTokens(messages, header, counted);
  if (tokens <= pressure.above * contextTokens) return;
  const estimated = estimateTokens(messages);
  // What was as small as it gets is not tried again at every step.
  if (eased !== undefined && !hasGrown(estimated, eased)) return;
  // The provider's count says what an estimated token is worth; half of the limit shall be free afterwards.
  const besides = headerTokens(header);
  const worth = Math.max(1, (tokens - besides) / estimated);
  const enough = Math.max(0, pressure.above * contextTokens * 0.5 - besides) / worth;
  const wish = { why: 'pressure' as const, keep: (pressure.keep * contextTokens) / worth, enough };
  await eitherSignal([signal, host.lifetime], async (either) => await compact(parts, wish, either));
}

/** A retry when the history did move on, however far the repair came. */
async function repair(parts: Parts, failed: Failed, signal: Signal): Promise<RequestErrorAction | undefined> {
  const { host } = parts;
  const { generation } = host.history();
  if (!(await repairMedia(parts, failed))) {
    if (failed.classification.class !== 'overflow') return undefined;
    await eitherSignal([signal, host.lifetime], async (either) => await repairOverflow(parts, failed, either));
  }
  return !signal.aborted && host.history().generation > generation ? { kind: 'retry' } : undefined;
}

/**
 * Files that the provider does not take are replaced by a note: those over the limit, or all when it says that it is them. True
 * when there were such.
 */
async function repairMedia({ host, settings, state }: Parts, { failure, classification }: Failed): Promise<boolean> {
  const named = namesMedia(failure);
  const { media, perPrompt } = state();
  if (media >= mediaRepairs || perPrompt >= settings.perPrompt) return false;
  if (!named && classification.class === 'overflow' && settings.overflow === 0) return false;
  const { messages, generation } = host.history();
  const large = replaceMedia(messages, (part) => bytesOf(part) > settings.mediaBytes);
  const changes = large.length > 0 || !named ? large : replaceMedia(messages, () => true);
  if (changes.length === 0) return false;
  await host.record('compaction.started', { why: 'media', generation });
  await replaceAll(host, changes, 'files that the provider does not take');
  await host.record('compaction.finished', { why: 'media', changes: changes.length });
  return true;
}

/** Compacts within the budget; what cannot be made smaller is on record. */
async function repairOverflow(parts: Parts, { model }: Failed, signal: Signal): Promise<void> {
  const { host, settings, state } = parts;
  if (settings.overflow === 0 || state().header === undefined) return;
  const { messages, generation } = host.history();
  const tokens = estimateTokens(messages);
  const irreducible = async (because: string): Promise<void> =>
    await host.record('context-irreducible', { because, model, messages: messages.length, tokens });
  const { overflows, perPrompt, floor } = state();
  if (perPrompt >= settings.perPrompt) return await irreducible('the compactions of this prompt are used up');
  if (floor?.model === model && !hasGrown(tokens, floor))
    return await irreducible('what is left after a compaction does not fit either');
  if (overflows >= settings.overflow) return await irreducible('it still does not fit after a compaction');
  const problem = await compact(parts, { why: 'overflow', keep: 0, enough: 0 }, signal);
  if (problem?.floor === true && host.history().generation === generation) await irreducible(problem.because);
}
