import { type AgentContext, methods, type PermissionOption, type ToolCallUpdate } from '@agentclientprotocol/sdk';
import { answerQuestion, readQuestion } from '../effects/index.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Clock } from '../kernel/ports.ts';
import { type Question, questionStream } from '../kernel/question.ts';
import type { Redactor } from '../kernel/redact.ts';
import { toolCallId } from './describe-call.ts';
import type { OpenQuestion } from './translate.ts';

/** Who answers here. */
const person = 'user';

interface Asking {
  readonly client: AgentContext;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: (line: string) => void;
  readonly session: string;
  readonly signal: AbortSignal;
}

/**
 * Puts a question to the client as a permission request, and its answer on record. One that is answered or expires
 * elsewhere in the meantime is withdrawn: the first answer counts. A client that dismisses it, or cannot show it, leaves it
 * open for whoever answers elsewhere. Never throws.
 */
export async function askClient(open: OpenQuestion, asking: Asking): Promise<void> {
  const { journal, log } = asking;
  const withdrawn = new AbortController();
  const stop = (): void => withdrawn.abort();
  asking.signal.addEventListener('abort', stop, { once: true });
  try {
    const state = await readQuestion(journal, open.question);
    if (state?.state !== 'open' || asking.signal.aborted) return;
    const { question } = state;
    if (question.mayAnswer.length > 0 && !question.mayAnswer.includes(person)) return;
    void untilDecided(journal, question.id, withdrawn);
    const choice = await request(question, open, { ...asking, signal: withdrawn.signal });
    if (choice === undefined) return;
    const result = await answerQuestion(journal, question.id, { choice, by: person }, asking.clock);
    if (result.kind !== 'taken') log(`question ${question.id}: the answer does not count (${result.kind})`);
  } catch (error) {
    if (!withdrawn.signal.aborted) log(`question ${open.question}: ${String(error)}`);
  } finally {
    withdrawn.abort();
    asking.signal.removeEventListener('abort', stop);
  }
}

/** Aborts once the question is no longer open, whoever saw to that. */
async function untilDecided(journal: Journal, id: string, decided: AbortController): Promise<void> {
  try {
    for await (const event of journal.follow(questionStream(id), 0, decided.signal))
      if (event.type !== 'question.opened') return decided.abort();
  } catch {
    // Then the answer is what says that it came too late.
  }
}

async function request(question: Question, open: OpenQuestion, asking: Asking): Promise<string | undefined> {
  const { client, session, signal, redactor } = asking;
  const toolCall: ToolCallUpdate = {
    toolCallId: toolCallId(open.call),
    title: question.text,
    rawInput: question.details,
  };
  const { outcome } = await client.request(
    methods.client.session.requestPermission,
    {
      sessionId: session,
      toolCall: redactor.json(toolCall as unknown as Json) as unknown as ToolCallUpdate,
      options: question.choices.map(optionOf),
      _meta: { onward: { question: question.id, subject: question.subject } },
    },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  );
  return outcome.outcome === 'selected' ? outcome.optionId : undefined;
}

const options: Readonly<Record<string, Pick<PermissionOption, 'name' | 'kind'>>> = {
  approve: { name: 'Allow', kind: 'allow_once' },
  deny: { name: 'Deny', kind: 'reject_once' },
  happened: { name: 'It happened', kind: 'allow_once' },
  'did-not-happen': { name: 'It did not happen', kind: 'allow_once' },
  'give-up': { name: 'Give up', kind: 'reject_once' },
};

function optionOf(choice: string): PermissionOption {
  return { optionId: choice, ...(options[choice] ?? { name: choice, kind: 'allow_once' }) };
}
