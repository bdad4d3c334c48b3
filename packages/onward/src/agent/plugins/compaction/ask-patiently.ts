import { classify } from '../../../kernel/classify.ts';
import { decide } from '../../../kernel/decide.ts';
import { type Failure, retryAfterOf } from '../../../kernel/failure.ts';
import { defaultPolicy, type Policy } from '../../../kernel/policy.ts';
import type { Signal } from '../../../kernel/signal.ts';
import type { Aside, PluginHost } from '../../plugin.ts';
import type { Header } from './measure.ts';
import type { Ask } from './summarise.ts';
import { summaryRequest } from './summary-text.ts';

/** Waits before a request for a summary is repeated, ms; for all requests of one compaction together. */
const scheduleMs = [1_000, 4_000];

const policy: Policy = {
  ...defaultPolicy,
  retry: { ...defaultPolicy.retry, scheduleMs, hintCapMs: 60_000, unclassified: 0 },
};

/**
 * Asks for summaries outside the conversation, and repeats one when its failure may pass: at most twice in one compaction, never before the
 * server's hint, each wait on record before it begins.
 */
export function askPatiently(host: PluginHost, header: Header, signal: Signal): Ask {
  let repeats = 0;
  return async (messages): Promise<Aside> => {
    const request = summaryRequest(messages, header, host.model().id);
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      const answer = await host.aside('summary', request, signal);
      const waitMs = answer.ok || signal.aborted ? undefined : waitFor(answer.failure, repeats, host);
      if (answer.ok || waitMs === undefined) return answer;
      repeats += 1;
      // oxlint-disable-next-line no-await-in-loop
      await host.record('summary.waiting', { nth: repeats, waitMs });
      // oxlint-disable-next-line no-await-in-loop
      await host.clock.sleep(waitMs, signal);
      if (signal.aborted) return answer;
    }
  };
}

/** How long to wait, ms; `undefined` when it is not worth waiting. */
function waitFor(failure: Failure, repeats: number, { clock, random }: PluginHost): number | undefined {
  const kind = classify(failure).class;
  if (kind !== 'transient' && kind !== 'throttled') return undefined;
  const [now, hint, nth] = [clock.now(), retryAfterOf(failure), repeats + 1];
  const decision = decide({
    class: kind,
    policy,
    continuable: 'same',
    counts: {
      attempts: nth,
      consecutive: nth,
      unclassified: 0,
      auth: 0,
      fallbacks: 0,
      revisions: 0,
      quotaWindows: 0,
    },
    progressed: false,
    silent: false,
    repeatable: true,
    credentialChanged: false,
    poisoned: false,
    repairable: false,
    failingSince: now,
    now,
    sample: random.next(),
    ...(hint === undefined ? {} : { retryAfterMs: hint }),
  });
  return decision.action === 'continue' ? decision.at - now : undefined;
}
