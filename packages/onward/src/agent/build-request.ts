import { OnwardError } from '../kernel/error.ts';
import type { Message, Model, ModelRequest, ToolSpec } from '../models/model.ts';
import type { RequestDraft } from './plugin.ts';
import type { Runtime, StepContext } from './runtime.ts';
import type { Header } from './session-events.ts';
import type { SessionState } from './session-state.ts';

/** What listeners made of the request's configuration, and its header in the log. */
export interface Configured {
  readonly model: Model;
  readonly header: Header;
}

/** Asks for everything besides the history. What a listener throws is thrown. */
export async function configure(rt: Runtime, at: StepContext): Promise<Configured> {
  const { turn, step, chain, signal } = at;
  const said: unknown = typeof rt.instructions === 'string' ? rt.instructions : await rt.instructions(signal);
  if (typeof said !== 'string')
    throw new OnwardError(
      'agent/bad-instructions',
      `The function of the instructions returned ${typeof said}, no text.`,
    );
  // They may quote a file, with halves of characters in it, which no log and no provider takes.
  const system = said.toWellFormed();
  const specs = Object.freeze([...rt.tools.values()].map(({ spec }) => spec));
  const draft: RequestDraft = Object.freeze({ model: rt.model, system, tools: specs, settings: rt.settings });
  const payload = Object.freeze({ turn, step, chain, signal, draft });
  const chosen = await rt.waterfalls.run('agent/request', payload, () => draft);
  const { model } = chosen;
  rt.current.model = model;
  return { model, header: { model: model.id, system: chosen.system, tools: chosen.tools, settings: chosen.settings } };
}

/** The header as it has to be logged: `undefined` when it is the one that holds already. */
export function changedHeader(before: Header | undefined, now: Header): Header | undefined {
  if (before === undefined) return now;
  const same =
    before.model === now.model &&
    before.system === now.system &&
    sameTools(before.tools, now.tools) &&
    JSON.stringify(before.settings) === JSON.stringify(now.settings);
  return same ? undefined : now;
}

function sameTools(before: readonly ToolSpec[], now: readonly ToolSpec[]): boolean {
  if (before === now) return true;
  if (before.length !== now.length) return false;
  return before.every((tool, index) => tool === now[index]) || JSON.stringify(before) === JSON.stringify(now);
}

/** A request from the log alone: header and history say everything. Frozen, so that nobody changes what is on record. */
export function requestOf(state: Pick<SessionState, 'history' | 'models'>, header: Header): ModelRequest {
  const strip = state.models.size > 1 || (state.models.size === 1 && !state.models.has(header.model));
  const messages = strip ? state.history.map((message) => unbound(message, header.model)) : [...state.history];
  return Object.freeze({
    system: header.system,
    messages: Object.freeze(messages),
    tools: header.tools,
    settings: header.settings,
  });
}

/** What only the model that wrote it can read is left out for another: thinking, and what providers attach to blocks. */
function unbound(message: Message, model: string): Message {
  if (message.role !== 'assistant' || message.model === model) return message;
  const content = message.content.flatMap((part) => {
    if (part.type === 'thinking') return [];
    if (part.opaque === undefined) return [part];
    const { opaque: _, ...plain } = part;
    return [plain];
  });
  return content.length === 0
    ? { ...message, content: [{ type: 'text', text: '(thought)' }] }
    : { ...message, content };
}
