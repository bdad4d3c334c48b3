import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createAgent, type Model, openJournal, type Plugin } from 'onward/agent';
import type { Row } from '../report.ts';

/** Chains of failed requests that a plugin retries at once: what one costs at the end of a long chain, and what stays in memory. */
export async function benchChain(rounds: number): Promise<readonly Row[]> {
  const [long, short, heap]: [number[], number[], number[]] = [[], [], []];
  await chainOf(300);
  for (let round = 0; round < rounds; round++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    short.push((await chainOf(300)).usEach);
    // oxlint-disable-next-line no-await-in-loop -- as above
    const chain = await chainOf(3000);
    long.push(chain.usEach);
    heap.push(chain.heapMb);
  }
  return [
    {
      what: 'a failed request and its retry turn in SQLite, chain of 3,000 (bare: of 300)',
      unit: 'µs',
      aim: '1',
      ours: long,
      bare: short,
    },
    {
      what: 'memory that a chain of 3,000 leaves, its agent still open',
      unit: 'MB',
      aim: 'about 0',
      ours: heap,
      bare: [],
    },
  ];
}

async function chainOf(failures: number): Promise<{ readonly usEach: number; readonly heapMb: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  const journal = await openJournal(join(folder, 'journal.db'));
  const plugins = [retryAlways];
  const agent = await createAgent({ model: failingModel(failures), plugins, journal, retry: false });
  const before = heapMb();
  const start = performance.now();
  await agent.followup('Go.').orThrow();
  const usEach = ((performance.now() - start) * 1000) / failures;
  const grown = heapMb() - before;
  await agent[Symbol.asyncDispose]();
  await journal.close();
  rmSync(folder, { recursive: true, force: true });
  return { usEach, heapMb: grown };
}

const retryAlways: Plugin = {
  name: 'retry-always',
  setup: (host) => {
    host.on('agent/request-error', () => ({ kind: 'retry' }));
  },
};

function failingModel(failures: number): Model {
  let asked = 0;
  return {
    id: 'lab/failing',
    async *stream() {
      asked += 1;
      yield { type: 'started' };
      if (asked <= failures) {
        yield { type: 'failed', failure: { message: 'overloaded (lab)', status: 529 } };
        return;
      }
      yield { type: 'block', block: 0, kind: 'text' };
      yield { type: 'delta', block: 0, text: 'done' };
      yield { type: 'end', block: 0 };
      yield { type: 'finish', reason: 'stop' };
    },
  };
}

function heapMb(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 1e6;
}
