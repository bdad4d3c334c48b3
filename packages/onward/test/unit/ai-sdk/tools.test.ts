import { dynamicTool, jsonSchema, tool, type ToolSet } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyTool, ToolContext } from '../../../src/agent/tool.ts';
import { fromAiSdkTools, type FromAiSdkToolsOptions } from '../../../src/ai-sdk/index.ts';

const context = (signal: AbortSignal = new AbortController().signal): ToolContext =>
  ({ session: 's', callId: 'call-1', signal, conclude: () => undefined }) as unknown as ToolContext;

/** The one tool of a set, after the conversion; that it compiles says that any `ToolSet` is taken. */
function one(made: ToolSet[string], options?: FromAiSdkToolsOptions): AnyTool {
  const set: ToolSet = { it: made };
  const [converted] = fromAiSdkTools(set, options);
  if (converted === undefined) throw new Error('no tool');
  return converted;
}

const check = async (converted: AnyTool, value: unknown): Promise<unknown> =>
  await converted.input['~standard'].validate(value);

const say = async (output: object): Promise<unknown> => {
  const made = tool({
    inputSchema: z.object({}),
    execute: () => Promise.resolve(1),
    toModelOutput: () => output as never,
  });
  return await one(made).run({}, context());
};
const ask = (needsApproval: unknown): AnyTool =>
  one({
    ...tool({ inputSchema: z.object({ n: z.number() }), execute: () => Promise.resolve(1) }),
    needsApproval,
  } as never);
const execute = (): Promise<number> => Promise.resolve(1);

describe('a tool of the AI SDK', () => {
  test('runs with its call id and a signal, and keeps name, description and schema', async () => {
    const seen: unknown[] = [];
    const stop = new AbortController();
    const converted = one(
      tool({
        description: 'Adds.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }, options) => {
          seen.push(options.toolCallId, options.messages, options.abortSignal);
          return Promise.resolve(a + b);
        },
      }),
    );
    expect(converted).toMatchObject({ name: 'it', description: 'Adds.' });
    expect(await converted.run({ a: 1, b: 2 }, context(stop.signal))).toBe(3);
    expect(seen).toEqual(['call-1', [], stop.signal]);
    expect(converted.input['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })).toMatchObject({
      type: 'object',
      required: ['a', 'b'],
    });
    expect(await check(converted, { a: 'x' })).toHaveProperty('issues');
  });

  test('with a JSON Schema is shown that, and checked by its own validation or at least for what is required', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
    const plain = one(
      dynamicTool({ description: 'd', inputSchema: jsonSchema(schema), execute: () => Promise.resolve('ok') }),
    );
    expect(plain.inputSchema).toEqual(schema);
    expect(await check(plain, { city: 'Rome' })).toEqual({ value: { city: 'Rome' } });
    expect(await check(plain, {})).toEqual({ issues: [{ message: 'is missing', path: ['city'] }] });
    expect(await check(plain, 'Rome')).toHaveProperty('issues');
    const strict = one(
      tool({
        inputSchema: jsonSchema<{ city: string }>(schema, {
          validate: () => ({ success: false, error: new Error('never') }),
        }),
        execute: () => Promise.resolve('ok'),
      }),
    );
    expect(await check(strict, { city: 'Rome' })).toEqual({ issues: [{ message: 'never' }] });
  });

  test('that yields results is done with the last one', async () => {
    const converted = one(
      tool({
        inputSchema: z.object({}),
        async *execute() {
          yield 'loading';
          yield { at: new Date(0), nothing: undefined };
        },
      }),
    );
    expect(await converted.run({}, context())).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  test('says to the model what toModelOutput says, and errors of it are errors', async () => {
    expect(await say({ type: 'text', value: 'one' })).toBe('one');
    expect(
      await say({
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }),
    ).toBe('a\nb');
    await expect(say({ type: 'error-text', value: 'no' })).rejects.toThrow('no');
    await expect(say({ type: 'content', value: [{ type: 'file-data', data: '' }] })).rejects.toMatchObject({
      code: 'ai-sdk/bad-output',
    });
  });

  test('that needs approval asks, and asks also when its answer would come too late', () => {
    expect(ask(undefined).approval).toBeUndefined();
    expect(ask(false).approval).toBeUndefined();
    expect(ask(true).approval).toEqual({ version: 'needsApproval/1' });
    const big = ask(({ n }: { n: number }) => n > 9).approval;
    expect([big?.when?.({ n: 10 }), big?.when?.({ n: 1 })]).toEqual([true, false]);
    expect(ask(() => Promise.resolve(false)).approval?.when?.({ n: 1 })).toBe(true);
    expect(ask(() => Promise.reject(new Error('broken'))).approval?.when?.({ n: 1 })).toBe(true);
  });

  test('takes effect, approval and company from the options', () => {
    const plain = tool({ inputSchema: z.object({}), execute: () => Promise.resolve(1) });
    const approval = { version: 'mine/2' };
    expect(one(plain, { effects: { it: 'none' }, approvals: { it: approval }, parallel: ['it'] })).toMatchObject({
      effect: 'none',
      approval,
      parallel: true,
    });
    expect(one(plain)).not.toHaveProperty('effect');
    expect(one(plain)).not.toHaveProperty('parallel');
  });

  test('that could not be run is refused at once, with its place', () => {
    const cases: readonly [object, string][] = [
      [{ inputSchema: z.object({}) }, 'tools.it.execute'],
      [{ inputSchema: {}, execute }, 'tools.it.inputSchema'],
      [{ inputSchema: jsonSchema(Promise.resolve({ type: 'object' as const })), execute }, 'tools.it.inputSchema'],
      [{ execute }, 'tools.it.inputSchema'],
      [{ type: 'provider', id: 'a.b', args: {}, inputSchema: z.object({}), execute }, 'tools.it'],
      [{ description: () => 'd', inputSchema: z.object({}), execute }, 'tools.it.description'],
      [{ contextSchema: z.object({}), inputSchema: z.object({}), execute }, 'tools.it.contextSchema'],
    ];
    for (const [made, place] of cases)
      expect(() => one(made as never)).toThrow(expect.objectContaining({ code: 'ai-sdk/bad-tool', place }) as Error);
    const fine = tool({ inputSchema: z.object({}), execute });
    expect(() => one(fine, { effects: { other: 'none' } })).toThrow(
      expect.objectContaining({ place: 'tools.other' }) as Error,
    );
  });
});
