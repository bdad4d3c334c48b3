import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { errorFacts, type Report } from './report.ts';
import type { Program, Task } from './programs/program.ts';
import { recordedText } from './script.ts';

/** What a process of one case is told. */
export interface Orders {
  readonly peer: string;
  readonly baseUrl: string;
  readonly prompt: string;
  /** One line for each run of the tool. */
  readonly effects: string;
  /** Where the report goes. */
  readonly report: string;
  readonly store?: string;
  readonly resume: boolean;
  readonly timeouts: boolean;
  /** Die in the second run of the tool, after its line, or just after it has returned. */
  readonly die?: 'in-tool' | 'tool-return';
  /** Makes the first receipt this much longer, bytes. */
  readonly filler?: number;
}

// Usage: node run-program.ts ORDERS. Runs one program once and writes down how it ended.
const orders = JSON.parse(process.argv[2] ?? '{}') as Orders;
let shown = '';

const done = (): readonly string[] =>
  existsSync(orders.effects)
    ? readFileSync(orders.effects, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

const task: Task = {
  ...orders,
  record: async (id) => {
    appendFileSync(orders.effects, `${id}\n`);
    const count = done().length;
    if (count === 2 && orders.die === 'in-tool') process.kill(process.pid, 'SIGKILL');
    if (count === 2 && orders.die === 'tool-return') setImmediate(() => process.kill(process.pid, 'SIGKILL'));
    return `${recordedText(id)}${count === 1 ? ' .'.repeat((orders.filler ?? 0) / 2) : ''}`;
  },
  isRecorded: (id) => done().includes(id),
  show: (text) => {
    shown += text;
  },
};

const report = (ending: Omit<Report, 'raw'>): void => {
  writeFileSync(orders.report, JSON.stringify({ raw: shown, ...ending }));
  process.exit(0);
};
// What a library leaves unhandled beside the error that it gives to the program must not hide that one.
process.on('unhandledRejection', () => undefined);

try {
  const { program } = (await import(`./programs/${orders.peer}.ts`)) as { readonly program: Program };
  const ending = await program(task);
  report({ ...ending, hidden: ending.hidden === undefined ? undefined : errorFacts(ending.hidden) });
} catch (error) {
  report({ error: errorFacts(error) });
}
