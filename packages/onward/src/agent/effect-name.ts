import type { EffectName } from '../effects/effect.ts';
import type { Json } from '../kernel/json.ts';
import { messageOf, type PreparedCall } from './prepare-call.ts';
import type { Runtime } from './runtime.ts';
import type { CallOutcome } from './session-events.ts';
import type { DeclaredEffect } from './tool.ts';

type Ready = Extract<PreparedCall, { readonly ok: true }>;

/** What a call's effect is called; `unnamed`: it declares none. */
export type Named =
  | { readonly kind: 'unnamed' }
  | {
      readonly kind: 'named';
      readonly effect: DeclaredEffect<unknown>;
      readonly name: EffectName;
      readonly key: string;
    }
  | { readonly kind: 'bad'; readonly outcome: CallOutcome };

function declared(ready: Ready): DeclaredEffect<unknown> | undefined {
  return typeof ready.entry.effect === 'object' ? ready.entry.effect : undefined;
}

/**
 * The name of a call's effect. Earlier calls of the same identity count when their receipts can be seen by the model. What the
 * tool's own functions throw, or return that names nothing, refuses the call.
 */
export function nameOf(rt: Runtime, ready: Ready): Named {
  const effect = declared(ready);
  if (effect === undefined) return { kind: 'unnamed' };
  try {
    const identity = effect.identity === undefined ? ready.call.input : effect.identity(ready.input);
    const resource = effect.resource?.(ready.input);
    if (resource !== undefined && typeof resource !== 'string') throw new TypeError('its resource is no text');
    const name: EffectName = {
      scope: effect.scope === 'journal' ? 'journal' : rt.id,
      action: effect.action ?? ready.call.tool,
      identity,
      occurrence: seenBefore(rt, ready, JSON.stringify(identity)),
      ...(resource === undefined ? {} : { resource }),
    };
    return { kind: 'named', effect, name, key: rt.ledger.keyOf(name) };
  } catch (error) {
    const message = `Its effect cannot be named: ${messageOf(error)} Nothing was done.`;
    return { kind: 'bad', outcome: { ok: false, code: 'refused', message } };
  }
}

function seenBefore(rt: Runtime, ready: Ready, identity: string): number {
  const effect = declared(ready) ?? {};
  const done = new Set<string>();
  let count = 0;
  const { history } = rt.log.state();
  for (let index = history.length - 1; index >= 0; index--) {
    const message = history[index];
    if (message?.role === 'tool') for (const part of message.content) if (part.isError !== true) done.add(part.id);
    if (message?.role !== 'assistant') continue;
    for (const part of message.content) {
      if (part.type !== 'call' || part.tool !== ready.call.tool || !done.has(part.id)) continue;
      // The schema may have changed the input (defaults, trimming): the identity is of what the tool was given then.
      if (identityOf(effect, part.input) === identity) count += 1;
    }
    done.clear();
  }
  return count;
}

function identityOf(effect: DeclaredEffect<unknown>, input: Json): string | undefined {
  try {
    return JSON.stringify(effect.identity === undefined ? input : effect.identity(input));
  } catch {
    return undefined;
  }
}
