import { OnwardError } from '../kernel/error.ts';
import { inboxOf } from '../kernel/inbox.ts';
import type { Message } from '../models/model.ts';
import type { Agent, AgentEvent, AgentStatus, CancelCause, PromptHandle } from './agent-api.ts';
import { takeContent } from './content.ts';
import type { Driver } from './driver.ts';
import type { Feed } from './feed.ts';
import type { Handles } from './handles.ts';
import { type Plugged, unloadAll } from './plugin-host.ts';
import type { Runtime } from './runtime.ts';
import { type MessageKind, sessionEvent, type UserContent } from './session-events.ts';

/** What an open agent is made of. */
export interface AgentParts {
  readonly rt: Runtime;
  readonly driver: Driver;
  readonly feed: Feed;
  readonly handles: Handles;
  readonly plugins: () => readonly Plugged[];
  /** Gives up what the session holds. */
  readonly release: () => Promise<void>;
}

/** The agent as its users see it: verbs over the log and the driver. */
export class OpenAgent implements Agent {
  readonly #parts: AgentParts;
  #disposing: Promise<void> | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.rt.id;
  }

  get status(): AgentStatus {
    return this.#parts.driver.status;
  }

  followup(content: string | UserContent, from?: string): PromptHandle {
    const id = this.#accept('prompt', content, from);
    const { rt, driver, handles } = this.#parts;
    const { prompts, position } = rt.log.state();
    // An observer may have cancelled it already.
    const handle = handles.of(id, prompts.get(id) ?? { state: 'queued' }, position - 1);
    driver.wake();
    this.#store();
    return handle;
  }

  steer(content: string | UserContent, from?: string): { readonly id: string } {
    if (!this.#parts.driver.open) return { id: this.followup(content, from).id };
    const id = this.#accept('steer', content, from);
    this.#store();
    return { id };
  }

  inject(content: string | UserContent, from?: string): { readonly id: string } {
    const id = this.#accept('context', content, from);
    this.#store();
    return { id };
  }

  cancel(cause: CancelCause = 'user', options: { readonly keepInbox?: boolean } = {}): void {
    if (this.#disposing !== undefined) return;
    const { rt, driver, handles } = this.#parts;
    const { log } = rt;
    const keepInbox = options.keepInbox === true;
    const { queue, staged, open } = log.state();
    const running = driver.active;
    if (!running && (keepInbox || queue.length + staged.length === 0)) return;
    const current = open === undefined && running ? undefined : log.state().chain?.prompt;
    const prompts = keepInbox ? [] : queue.map(({ id }) => id).filter((id) => id !== current);
    const dropped = keepInbox ? [] : [...prompts, ...staged.map(({ id }) => id)];
    // First of all: what is written, and by whom it is seen, must not stand between a person and the stop.
    driver.abort({ kind: 'cancel', cause });
    log.add(sessionEvent('cancel.requested', { cause, keepInbox }));
    if (dropped.length > 0) log.add(sessionEvent('message.dropped', { ids: dropped, because: `cancelled: ${cause}` }));
    for (const id of prompts) handles.settle(id, { kind: 'cancelled', cause });
    this.#store();
  }

  async whenIdle(): Promise<void> {
    await this.#parts.driver.whenIdle();
  }

  handle(id: string): PromptHandle | undefined {
    const state = this.#parts.rt.log.state().prompts.get(id);
    return state === undefined ? undefined : this.#parts.handles.of(id, state, 0);
  }

  events(options: { readonly after?: number; readonly signal?: AbortSignal } = {}): AsyncIterable<AgentEvent> {
    return this.#parts.feed.read({ after: options.after ?? 0, signal: options.signal });
  }

  history(): readonly Message[] {
    return [...this.#parts.rt.log.state().history];
  }

  queued(): readonly { readonly id: string; readonly content: UserContent }[] {
    return this.#parts.rt.log.state().queue.map(({ id, content }) => ({ id, content }));
  }

  async unload(plugin: string): Promise<void> {
    const found = this.#parts.plugins().find(({ name }) => name === plugin);
    if (found === undefined)
      throw new OnwardError('agent/unknown-plugin', `There is no plugin ${plugin}.`, { place: plugin });
    await found.unload();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  /** The driver first, so that what runs can still be recorded; then the plugins, last first; then the lease. */
  async #dispose(): Promise<void> {
    const { driver, plugins, feed, rt } = this.#parts;
    await driver.end();
    await unloadAll(plugins());
    await rt.log.flush().catch(() => undefined);
    for (const [id, state] of rt.log.state().prompts)
      if (state.state !== 'ended') this.#parts.handles.settle(id, { kind: 'cancelled', cause: 'disposed' });
    feed.end();
    await this.#parts.release();
  }

  #accept(kind: MessageKind, content: string | UserContent, from: string | undefined): string {
    const { rt } = this.#parts;
    if (this.#disposing !== undefined)
      throw new OnwardError('agent/disposed', `Agent ${rt.id} is disposed.`, { next: ['Open it again.'] });
    if (this.#parts.driver.lost)
      throw new OnwardError('session/lost-lease', `Another process has taken over ${rt.log.stream}.`, { place: rt.id });
    const data = { id: rt.ids.uuid(), kind, content: takeContent(content), ...(from === undefined ? {} : { from }) };
    rt.log.add(sessionEvent('message.accepted', data));
    return data.id;
  }

  /** What was accepted is stored soon; where the turn that takes it begins at once, together with its request. */
  #store(): void {
    const { log } = this.#parts.rt;
    // What cannot be stored now stays in the queue and is stored with the next flush, whose caller hears of the fault.
    setImmediate(() => void log.store().catch(() => undefined));
  }
}

/** Waits before an inbox that could not be followed is followed again, ms. */
const followAgainMs = 1_000;

/**
 * Messages that other processes may send to a session: a cancel. Ends with the signal; a medium that fails for a moment does not
 * make it deaf.
 */
export async function followInbox(
  rt: Runtime,
  signal: AbortSignal,
  onCancel: (cause: CancelCause) => void,
): Promise<void> {
  const inbox = inboxOf(rt.log.stream);
  let after: number | undefined;
  while (!signal.aborted) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- again, where it stopped
      after ??= (await rt.journal.read(inbox)).at(-1)?.position ?? 0;
      // oxlint-disable-next-line no-await-in-loop
      for await (const event of rt.journal.follow(inbox, after, signal)) {
        after = event.position;
        if (event.type === 'cancel.requested') onCancel('user');
        // It is read: no engine needs to look for it.
        await rt.journal.append([{ stream: inbox, expected: 'any', events: [], due: null }]);
      }
    } catch {
      // What is broken for good is said where the session is written.
    }
    // oxlint-disable-next-line no-await-in-loop
    if (!signal.aborted) await rt.clock.sleep(followAgainMs, signal);
  }
}
