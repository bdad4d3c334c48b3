import { expect, test } from 'vitest';
import { createAgent, createMemoryJournal, openAgent, openJournal } from '../../../src/library/agent/index.ts';
import { createScriptedModel } from '../../../src/testing/index.ts';

test('a journal in memory needs no options', async () => {
  const journal = createMemoryJournal();
  await using agent = await createAgent({ model: createScriptedModel(['hello']), journal });
  expect(await agent.followup('a').orThrow()).toBe('hello');
  expect((await journal.streams('session:')).length).toBe(1);
});

test.each([
  ['a path', 'agent.db'],
  ['an open that was not awaited', Promise.resolve(createMemoryJournal())],
])('%s in place of a journal is refused, naming the option', async (_, journal) => {
  const options = { model: createScriptedModel([]), journal: journal as never };
  const refused = expect.objectContaining({ code: 'agent/bad-option', place: 'journal' });
  await expect(createAgent(options)).rejects.toEqual(refused);
  await expect(openAgent('one', options)).rejects.toEqual(refused);
});

test('opening a session without a journal says that one is needed', async () => {
  const options = { model: createScriptedModel([]) } as unknown as Parameters<typeof openAgent>[1];
  await expect(openAgent('one', options)).rejects.toEqual(expect.objectContaining({ place: 'journal' }));
});

test.each([':memory:', '', ' '])('no file is made for a journal at %j', async (path) => {
  await expect(openJournal(path)).rejects.toMatchObject({ code: 'journal/bad-path', place: 'path' });
});

test('an option that there is not is refused by its name, and those that there are are listed', async () => {
  const options = { model: createScriptedModel([]), journal: createMemoryJournal(), tool: [] };
  const refused = { code: 'agent/bad-option', place: 'tool', next: [expect.stringContaining('tools')] };
  await expect(createAgent(options)).rejects.toMatchObject(refused);
  await expect(openAgent('one', options)).rejects.toMatchObject(refused);
});
