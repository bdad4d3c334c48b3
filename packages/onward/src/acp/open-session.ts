import {
  type AgentContext,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { type Agent, type PromptHandle, readSession, sessionStream } from '../agent/index.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Redactor } from '../kernel/redact.ts';
import { promptAnswer } from './answer.ts';
import { askClient } from './ask-client.ts';
import { promptContent } from './prompt-content.ts';
import { Translator, type TranslatorOptions } from './translate.ts';

/** What an open session works with. */
export interface SessionDeps {
  readonly client: AgentContext;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** For people, on standard error. */
  readonly log: (line: string) => void;
}

interface InFlight {
  readonly prompt: string;
  readonly cancel: () => void;
}

/** One stretch of telling the client what happens. */
interface Telling {
  readonly translator: Translator;
  readonly stop: AbortController;
  /** Position of the last event that the client has been told of. */
  told: number;
}

/** A session that the client has open: its agent, what the client is told of it, and the prompt that it waits for. */
export class OpenSession {
  readonly #agent: Agent;
  readonly #deps: SessionDeps;
  readonly #showing: TranslatorOptions;
  #telling: Telling | undefined;
  #inFlight: InFlight | undefined;
  /** Prompts that the client has cancelled: it was told that they ended, so it hears no more of them. */
  readonly #silenced = new Set<string>();
  readonly #told = new Set<() => void>();

  constructor(agent: Agent, showing: TranslatorOptions, deps: SessionDeps) {
    this.#agent = agent;
    this.#showing = showing;
    this.#deps = deps;
  }

  get id(): string {
    return this.#agent.id;
  }

  /**
   * Takes in what happened so far, and tells it where the client wants a replay. What comes is kept from now on, and told once
   * what this gives is called: when the client has the answer to its request.
   */
  async attach(replay: boolean): Promise<() => void> {
    this.#telling?.stop.abort();
    const translator = new Translator(this.#showing);
    const telling: Telling = { translator, stop: new AbortController(), told: 0 };
    this.#telling = telling;
    for (const event of await readSession(this.#deps.journal, sessionStream(this.id))) {
      telling.told = event.position;
      const updates = translator.replay(event);
      // oxlint-disable-next-line no-await-in-loop -- no faster than the client reads
      if (replay) for (const update of updates) await this.#send(update);
    }
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    void this.#tell(telling, answered);
    return resolve;
  }

  /** Sends a prompt and waits for the end of its whole chain of turns. One at a time; throws for a second one. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.#inFlight !== undefined)
      throw RequestError.invalidRequest(
        { code: 'acp/prompt-in-flight' },
        'another prompt of this session is in flight',
      );
    if (signal.aborted) throw RequestError.requestCancelled();
    const handle = this.#agent.followup(promptContent(blocks));
    this.#telling?.translator.sent(handle.id);
    const { promise: cancelled, resolve } = Promise.withResolvers<'cancelled'>();
    const inFlight: InFlight = { prompt: handle.id, cancel: () => resolve('cancelled') };
    this.#inFlight = inFlight;
    const gone = (): void => this.cancel();
    signal.addEventListener('abort', gone, { once: true });
    try {
      const ended = await Promise.race([handle.ended, cancelled]);
      if (ended === 'cancelled') return { stopReason: 'cancelled' };
      await this.#toldOf(handle);
      const answer = promptAnswer(ended, this.#deps.clock.now());
      return this.#deps.redactor.json(answer as unknown as Json) as unknown as PromptResponse;
    } finally {
      signal.removeEventListener('abort', gone);
      if (this.#inFlight === inFlight) this.#inFlight = undefined;
    }
  }

  /** Stops what runs and drops what is queued. The client's prompt is answered at once, whatever still has to end. */
  cancel(): void {
    const inFlight = this.#inFlight;
    const translator = this.#telling?.translator;
    this.#inFlight = undefined;
    if (inFlight !== undefined) {
      if (translator?.prompt === inFlight.prompt) for (const update of translator.abandon()) void this.#send(update);
      this.#silenced.add(inFlight.prompt);
    }
    this.#agent.cancel('user');
    inFlight?.cancel();
  }

  /** Ends the agent; what runs is recorded as cut short, and can be loaded. */
  async close(): Promise<void> {
    await this.#agent[Symbol.asyncDispose]();
    this.#telling?.stop.abort();
    this.#wake();
  }

  async #tell(telling: Telling, answered: Promise<void>): Promise<void> {
    const { translator, stop } = telling;
    const found = translator.questions;
    void answered.then(() => found.forEach((open) => this.#ask(open, stop.signal)));
    try {
      for await (const event of this.#agent.events({ after: telling.told, signal: stop.signal })) {
        await answered;
        const before = translator.prompt;
        const updates = translator.live(event);
        const prompt = translator.prompt ?? before;
        for (const update of updates) {
          if (prompt !== undefined && this.#silenced.has(prompt)) break;
          // oxlint-disable-next-line no-await-in-loop -- no faster than the client reads
          await this.#send(update);
        }
        if (!('position' in event)) continue;
        if (event.type === 'call.waiting' && (prompt === undefined || !this.#silenced.has(prompt)))
          for (const open of translator.questions)
            if (open.question === event.data.question) this.#ask(open, stop.signal);
        telling.told = event.position;
        this.#wake();
      }
    } catch (error) {
      if (!stop.signal.aborted) this.#deps.log(`session ${this.id}: ${String(error)}`);
    }
    stop.abort();
    this.#wake();
  }

  #ask(open: Parameters<typeof askClient>[0], signal: AbortSignal): void {
    void askClient(open, { ...this.#deps, session: this.id, signal });
  }

  async #send(update: SessionUpdate): Promise<void> {
    // A client that is gone is noticed by its connection; nothing is lost, since all of this is in the journal.
    await this.#deps.client
      .notify(methods.client.session.update, {
        sessionId: this.id,
        update: this.#deps.redactor.json(update as unknown as Json) as unknown as SessionUpdate,
      })
      .catch(() => undefined);
  }

  /** Waits until the client was told of everything that is on record of a prompt that has ended. */
  async #toldOf(handle: PromptHandle): Promise<void> {
    let last = 0;
    try {
      for await (const event of handle.events()) if ('position' in event) last = event.position;
    } catch {
      // What cannot be read is not told either; how the prompt ended is known without it.
    }
    for (;;) {
      const telling = this.#telling;
      if (telling === undefined || telling.told >= last || telling.stop.signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop -- until it is told
      await new Promise<void>((resolve) => this.#told.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#told) resolve();
    this.#told.clear();
  }
}
