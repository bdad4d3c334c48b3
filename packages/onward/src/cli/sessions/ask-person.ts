import { createInterface } from 'node:readline/promises';
import { answerQuestion, readQuestion } from '../../effects/index.ts';
import type { Journal } from '../../kernel/journal.ts';
import { questionStream } from '../../kernel/question.ts';
import { systemClock } from '../../processes/index.ts';
import type { Io } from '../io.ts';
import { oneLine, withoutControls } from '../plain-text.ts';
import { createRedactor } from '../../kernel/redact.ts';

/** One line from the person at the terminal; `undefined` at the end of input, on Ctrl-C, or when the signal aborts. */
export async function readLine(prompt: string, history: string[], signal?: AbortSignal): Promise<string | undefined> {
  const lines = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: true,
    history,
    historySize: 200,
  });
  const ended = new Promise<undefined>((resolve) => {
    lines.once('close', () => resolve(undefined));
    lines.once('SIGINT', () => resolve(undefined));
    signal?.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    const line = await Promise.race([lines.question(prompt).catch(() => undefined), ended]);
    if (line !== undefined && line.trim() !== '') history.unshift(line);
    return line;
  } finally {
    lines.close();
    process.stdin.pause();
  }
}

/** What asking came to. `left`: the person went away, and the question stays open. */
export type AskEnd = 'answered' | 'left';

/** Shows a question with all that it is about, and takes the answer at the terminal; one from elsewhere ends the asking. */
export async function askPerson(io: Io, journal: Journal, id: string): Promise<AskEnd> {
  const state = await readQuestion(journal, id);
  if (state?.state !== 'open') return 'answered';
  const { text, choices, details } = state.question;
  io.err(`${io.color('bold', '?')} ${withoutControls(text)}`);
  io.err(io.color('dim', oneLine(JSON.stringify(createRedactor(io.env).json(details)), 2_000)));
  const elsewhere = new AbortController();
  const over = new AbortController();
  void untilClosed(journal, id, over.signal).then(() => elsewhere.abort());
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until one of the choices is typed
      const line = await readLine(`  ${choices.join(' / ')} [note]: `, [], elsewhere.signal);
      if (line === undefined) return elsewhere.signal.aborted ? 'answered' : 'left';
      const [word = '', ...note] = line.trim().split(/\s+/);
      const found = word === '' ? [] : choices.filter((choice) => choice.startsWith(word.toLowerCase()));
      const [choice] = found;
      if (choice === undefined || found.length > 1) continue;
      const said = { choice, by: 'terminal', ...(note.length === 0 ? {} : { note: note.join(' ') }) };
      // oxlint-disable-next-line no-await-in-loop
      const result = await answerQuestion(journal, id, said, systemClock);
      if (result.kind === 'not-allowed') io.err(`  only ${result.mayAnswer.join(', ')} may answer this`);
      return result.kind === 'not-allowed' ? 'left' : 'answered';
    }
  } finally {
    over.abort();
  }
}

async function untilClosed(journal: Journal, id: string, signal: AbortSignal): Promise<void> {
  for await (const event of journal.follow(questionStream(id), 1, signal)) if (event.position > 1) return;
}
