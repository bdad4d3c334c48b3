import type { PromptHandle, Settlement } from '../../agent/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { exitCodeOfSettlement, exitCodes } from '../exit-codes.ts';
import { findSession } from '../find-work.ts';
import type { Io } from '../io.ts';
import { withJournal } from '../open-journal.ts';
import { hasInput, readPipedInput } from '../piped-input.ts';
import { oneLine } from '../plain-text.ts';
import { askPerson, readLine } from '../sessions/ask-person.ts';
import { type ChatFlags, newChat, openChat, type OpenChat } from '../sessions/open-chat.ts';
import { leaveAsItIs, listenForStop } from '../sessions/stop-signals.ts';
import { type PromptView, watchPrompt } from '../sessions/watch-prompt.ts';

/** The flags of `chat` and, as far as they go, of `resume`. */
export interface ChatCommandFlags extends ChatFlags {
  readonly journal?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/**
 * `onward chat [ID] ["PROMPT"]`: one prompt and its answer, or a conversation at the terminal. A new session unless an id is
 * given. Questions are asked at a terminal; elsewhere they stay open, and the status is 3.
 */
export async function chat(io: Io, words: readonly string[], flags: ChatCommandFlags): Promise<number> {
  return withJournal(io, flags.journal, async (journal) => {
    const { id, prompt } = await readWords(journal, words);
    const isTalk = prompt === undefined && process.stdin.isTTY && flags.json !== true;
    const text = isTalk ? undefined : await wholePrompt(io, prompt);
    const open =
      id === undefined
        ? await newChat(io, journal, flags)
        : await openChat(io, journal, { ...flags, id, recover: false });
    if (flags.quiet !== true && flags.json !== true) io.err(firstLineOf(io, open));
    const talk = new Talk(io, journal, open, flags);
    return talk.run(text);
  });
}

/** Goes on with what a session has under way: an answered question, a request that a crash cut, prompts that never began. */
export async function resumeSession(io: Io, journal: Journal, id: string, flags: ChatCommandFlags): Promise<number> {
  const open = await openChat(io, journal, { ...flags, id, recover: true });
  if (flags.quiet !== true && flags.json !== true) io.err(firstLineOf(io, open));
  return new Talk(io, journal, open, flags).goOn();
}

/** A single word is an id if it looks like one; text of several words never is. */
async function readWords(
  journal: Journal,
  words: readonly string[],
): Promise<{ readonly id?: string; readonly prompt?: string }> {
  const [first, second, ...more] = words;
  if (more.length > 0)
    throw new OnwardError('cli/usage', 'There is more than one prompt: put the words into quotes.', {
      next: ['onward chat "Explain the failing tests"'],
    });
  if (first === undefined) return {};
  const looksLikeId = /^session:./.test(first) || (/^[0-9a-f-]{4,36}$/i.test(first) && /\d/.test(first));
  if (second === undefined && !looksLikeId) return { prompt: notEmpty(first) };
  const id = await findSession(journal, first);
  if (id === undefined)
    throw new OnwardError('session/unknown', `There is no session that begins with ${JSON.stringify(first)}.`, {
      place: first,
      next: ['onward ls', 'A prompt of one word that looks like an id: put a dot behind it.'],
    });
  return second === undefined ? { id } : { id, prompt: notEmpty(second) };
}

function notEmpty(prompt: string): string {
  if (prompt.trim() !== '') return prompt;
  throw new OnwardError('cli/no-prompt', 'The prompt is empty.', { next: ['onward chat "Explain the failing tests"'] });
}

/** The prompt, with what came through a pipe behind it, or that alone. */
async function wholePrompt(io: Io, prompt: string | undefined): Promise<string> {
  const piped = hasInput() ? await readPipedInput(io) : undefined;
  const text = [prompt, piped].filter((part) => part !== undefined).join('\n\n');
  if (text.trim() !== '') return text;
  throw new OnwardError('cli/no-prompt', 'There is no prompt, and no terminal to ask for one.', {
    next: ['onward chat "Explain the failing tests"', 'echo "Explain the failing tests" | onward chat'],
  });
}

function firstLineOf(io: Io, { agent, model, cwd, approve }: OpenChat): string {
  const allowed = { none: 'changes are asked about', edits: 'files may be written', all: 'everything is allowed' };
  return [
    io.color('bold', oneLine(model, 200)),
    `in ${oneLine(cwd, 500)}`,
    `approve ${approve}: ${allowed[approve]}`,
    `session ${agent.id}`,
  ].join(' | ');
}

/** An open session at this terminal or in this pipe, until it is put down. */
class Talk {
  readonly #io: Io;
  readonly #journal: Journal;
  readonly #open: OpenChat;
  readonly #flags: ChatCommandFlags;
  readonly #history: string[] = [];

  constructor(io: Io, journal: Journal, open: OpenChat, flags: ChatCommandFlags) {
    this.#io = io;
    this.#journal = journal;
    this.#open = open;
    this.#flags = flags;
  }

  /** One prompt; or, without one, a conversation. What the session was waiting for comes first. */
  async run(prompt: string | undefined): Promise<number> {
    const { agent, found } = this.#open;
    const pending = found === undefined || found.questions.length === 0 ? undefined : this.#pending();
    if (pending !== undefined) {
      const code = await this.#watch(pending, 'pending');
      if (code === exitCodes.needsHuman.code || agent.status === 'disposed') return await this.#end(code);
    }
    if (prompt !== undefined) return await this.#end(await this.#watch(agent.followup(prompt)));
    return await this.#converse();
  }

  async goOn(): Promise<number> {
    const { agent, found } = this.#open;
    const pending = this.#pending();
    if (pending !== undefined) return await this.#end(await this.#watch(pending, 'pending'));
    const queued = agent.queued();
    if (queued.length === 0) {
      this.#io.err('onward: nothing of this session is under way');
      this.#io.err(`  go on:  ${this.#io.hint(`chat ${agent.id} "..."`)}`);
      return await this.#end(found === undefined ? 0 : exitCodes.done.code);
    }
    // They wait for the next input: sent again, they are it.
    agent.cancel('user');
    let code: number = exitCodes.done.code;
    for (const { content } of queued) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      code = await this.#watch(agent.followup(content));
      if (code !== exitCodes.done.code) break;
    }
    return await this.#end(code);
  }

  /** The prompt whose turn was open when the session was opened. */
  #pending(): PromptHandle | undefined {
    const { agent, found } = this.#open;
    const id = found?.state.open === undefined ? undefined : found.state.chain?.prompt;
    return id === undefined ? undefined : agent.handle(id);
  }

  async #converse(): Promise<number> {
    const { agent } = this.#open;
    this.#io.err(this.#io.color('dim', 'Ctrl-C cancels a turn; Ctrl-D or /exit ends.'));
    while (agent.status !== 'disposed') {
      // oxlint-disable-next-line no-await-in-loop -- one prompt after the other
      const line = await readLine('> ', this.#history);
      if (line === undefined || line.trim() === '/exit') break;
      // oxlint-disable-next-line no-await-in-loop
      if (line.trim() !== '') await this.#watch(agent.followup(line));
    }
    return await this.#end(exitCodes.done.code);
  }

  /** Shows one prompt to its end and gives the exit status that goes with it. */
  async #watch(handle: PromptHandle, which?: 'pending'): Promise<number> {
    const { agent, found } = this.#open;
    const stopping = listenForStop(this.#io, agent, (code) => void leaveAsItIs(code));
    const isPending = which === 'pending' && found !== undefined;
    const isPerson = process.stdin.isTTY && this.#io.isTerminal && this.#flags.json !== true;
    const view: PromptView = {
      json: this.#flags.json === true,
      quiet: this.#flags.quiet === true,
      after: isPending ? found.state.position : 0,
      asked: isPending ? found.questions : [],
      turn: isPending ? found.state.turn : 0,
      ...(isPerson ? { ask: (question) => this.#ask(question) } : {}),
    };
    try {
      const settlement = await watchPrompt(this.#io, { agent, handle, journal: this.#journal }, view);
      return await this.#codeOf(settlement, stopping.signal());
    } finally {
      stopping.forget();
    }
  }

  async #codeOf(
    settlement: Settlement,
    signal: ReturnType<ReturnType<typeof listenForStop>['signal']>,
  ): Promise<number> {
    const code = exitCodeOfSettlement(settlement, signal);
    // There is nothing to end: the question waits for whoever opens the session next.
    return settlement.kind === 'waiting' ? await leaveAsItIs(code) : code;
  }

  async #ask(question: string): Promise<void> {
    const { agent } = this.#open;
    if ((await askPerson(this.#io, this.#journal, question)) === 'answered') return;
    this.#io.err('onward: the question stays open');
    this.#io.err(`  answer:  ${this.#io.hint(`answer ${question} CHOICE`)}`);
    this.#io.err(`  then:    ${this.#io.hint(`resume ${agent.id}`)}`);
    await leaveAsItIs(exitCodes.needsHuman.code);
  }

  async #end(code: number): Promise<number> {
    await this.#open.agent[Symbol.asyncDispose]();
    return code;
  }
}
