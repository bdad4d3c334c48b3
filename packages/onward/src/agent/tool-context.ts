import type { Signal } from '../kernel/signal.ts';
import { limitHit } from './limits.ts';
import type { PreparedCall } from './prepare-call.ts';
import type { Runtime } from './runtime.ts';
import { sessionEvent } from './session-events.ts';
import type { ToolContext } from './tool.ts';

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/** What the body of a call is given. */
export function contextOf(
  rt: Runtime,
  ready: Ready,
  own: { readonly signal: Signal; readonly conclude: () => void; readonly key?: string },
): ToolContext {
  return {
    session: rt.id,
    callId: ready.call.id,
    signal: own.signal,
    conclude: own.conclude,
    ...(own.key === undefined ? {} : { key: own.key }),
    allowance: {
      exhausted: () => limitHit(rt.limits, rt.log.state(), { for: 'request' }),
      spend(who, model, usage) {
        rt.log.add(sessionEvent('aside.finished', { plugin: 'allowance', purpose: who, model, usage }));
        rt.limits.within?.spend(who, model, usage);
      },
    },
  };
}
