import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  systemClock,
  tailLines,
  type SpoolItem,
  type SpoolTail,
  type TailOptions,
} from '../../../src/processes/index.ts';
import { countDescriptors, makeFolder, startShell, until } from './support.ts';

async function makeSpool(content?: string | Buffer): Promise<string> {
  const path = join(await makeFolder(), 'stdout');
  if (content !== undefined) await writeFile(path, content);
  return path;
}

function tail(path: string, rest: Partial<TailOptions> = {}): SpoolTail & { stop(): void } {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return Object.assign(tailLines({ path, clock: systemClock, signal: controller.signal, ...rest }), {
    stop: () => controller.abort(),
  });
}

async function all(spool: SpoolTail): Promise<SpoolItem[]> {
  const items: SpoolItem[] = [];
  for await (const item of spool) items.push(item);
  return items;
}

async function drain(spool: SpoolTail): Promise<SpoolItem[]> {
  spool.final();
  return all(spool);
}

const linesOf = (items: readonly SpoolItem[]): unknown[] =>
  items.map((item) => ('line' in item ? item.line : item.kind));

describe('tailing a spool', () => {
  test('hands out what is there, then what comes, then ends after the exit', async () => {
    const path = await makeSpool('one\ntwo\n');
    const spool = tail(path);
    const iterator = spool[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ line: 'one' });
    expect((await iterator.next()).value).toMatchObject({ line: 'two' });
    const third = iterator.next();
    await appendFile(path, 'th');
    await appendFile(path, 'ree\n');
    expect((await third).value).toEqual({ kind: 'line', line: 'three', offset: 8, endOffset: 14 });
    const end = iterator.next();
    spool.final();
    expect(await end).toEqual({ done: true, value: undefined });
  });

  test('reads all that the agent wrote before it exited, and reports a torn last line only then', async () => {
    const agent = await startShell('for i in 1 2 3; do echo line $i; done; printf torn');
    const spool = tail(agent.stdoutPath);
    void agent.exited.then(() => spool.final());
    const items = await all(spool);
    expect(linesOf(items)).toEqual(['line 1', 'line 2', 'line 3', 'torn']);
    expect(items.at(-1)?.kind).toBe('partial');
  });

  test('goes on after the last item that was journalled', async () => {
    const path = await makeSpool('é1\né2\né3\n');
    const first = await drain(tail(path));
    expect(linesOf(await drain(tail(path, { from: first[1]?.endOffset ?? 0 })))).toEqual(['é3']);
  });

  test('waits for a file that is not there yet; one that never came is empty', async () => {
    const path = await makeSpool();
    const first = tail(path)[Symbol.asyncIterator]().next();
    await writeFile(path, 'here\n');
    expect((await first).value).toMatchObject({ line: 'here' });
    expect(await drain(tail(await makeSpool()))).toEqual([]);
  });

  test('polls every 25 ms by the given clock where the system gives no notifications', async () => {
    const path = await makeSpool();
    const waits: number[] = [];
    const clock = {
      ...systemClock,
      sleep: async (ms: number) => {
        waits.push(ms);
        if (waits.length === 3) await writeFile(path, 'late\n');
      },
    };
    const iterator = tail(path, { clock })[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toMatchObject({ line: 'late' });
    expect(waits).toEqual([25, 25, 25]);
  });

  test('a signal ends it at once, in the middle of lines and in the middle of waiting', async () => {
    const path = await makeSpool('a\nb\n');
    const spool = tail(path);
    const seen: unknown[] = [];
    for await (const item of spool) {
      seen.push(item);
      spool.stop();
    }
    expect(seen).toHaveLength(1);
    const waiting = tail(await makeSpool(''));
    const end = all(waiting);
    waiting.stop();
    expect(await end).toEqual([]);
  });

  test('a child left behind that never stops writing does not keep it from ending', async () => {
    const path = await makeSpool('first\n');
    const spool = tail(path);
    const seen: SpoolItem[] = [];
    spool.final();
    for await (const item of spool) {
      seen.push(item);
      await appendFile(path, 'more\n'.repeat(30_000));
    }
    expect(linesOf(seen)).toEqual(['first']);
  });

  test('a long backlog does not keep timers and signals from their turn', async () => {
    const chunks = 40;
    const spool = tail(
      await makeSpool(
        'x'
          .repeat(1_023)
          .concat('\n')
          .repeat(64 * chunks),
      ),
    );
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    expect(await drain(spool)).toHaveLength(64 * chunks);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(chunks - 1);
  });

  test('R84 tells a silent agent from a slow reader', async () => {
    const path = await makeSpool('a\nb\n');
    const spool = tail(path);
    expect(spool.hasUnread()).toBe(false);
    const iterator = spool[Symbol.asyncIterator]();
    await iterator.next();
    expect(spool.hasUnread()).toBe(true);
    await iterator.next();
    const third = iterator.next();
    await until('all was read', () => !spool.hasUnread());
    await appendFile(path, 'c\n');
    expect((await third).value).toMatchObject({ line: 'c' });
    spool.stop();
    await iterator.next();
    expect(spool.hasUnread()).toBe(false);
  });

  test('closes what it opened, however it ends', async () => {
    const path = await makeSpool('a\nb\n');
    await drain(tail(path));
    const before = await countDescriptors();
    for (let i = 0; i < 20; i++) await drain(tail(path));
    for (let i = 0; i < 20; i++) for await (const item of tail(path)) if (item.kind === 'line') break;
    for (let i = 0; i < 20; i++) {
      const forgotten = tail(path);
      await forgotten[Symbol.asyncIterator]().next();
      forgotten.stop();
    }
    const listeners = vi.fn<() => void>();
    const { signal } = new AbortController();
    vi.spyOn(signal, 'removeEventListener').mockImplementation(listeners);
    await drain(tail(path, { signal }));
    expect(listeners).toHaveBeenCalled();
    await until('no more descriptors than before', async () => (await countDescriptors()) <= before);
    expect(await countDescriptors()).toBe(before);
  });

  test('a line of 50 MB is a fact, and the line after it is read', async () => {
    const path = await makeSpool();
    for (let i = 0; i < 50; i++) await appendFile(path, Buffer.alloc(1_000_000, 'x'));
    await appendFile(path, '\nafter\n');
    expect(await drain(tail(path))).toMatchObject([{ kind: 'overlong', bytes: 50_000_000 }, { line: 'after' }]);
  });

  test('anything else than a missing file is an error, not silence', async () => {
    await expect(drain(tail(await makeFolder()))).rejects.toThrow('EISDIR');
  });
});
