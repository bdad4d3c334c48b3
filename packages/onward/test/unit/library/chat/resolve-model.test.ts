import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startModelServer } from '../../../../src/lab/index.ts';
import { resolveModel } from '../../../../src/library/chat/index.ts';
import { loadPackage } from '../../../../src/library/chat/load-package.ts';
import { partsOf, textIn } from '../../models/wires.ts';
import { makePlace } from './support.ts';

const keys = { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k' };

describe('the name of a model', () => {
  test.each([
    ['anthropic/any', 'anthropic-messages'],
    ['openai/any', 'openai-responses'],
    ['openai-chat/any', 'openai-chat'],
    ['openai-compatible/vendor/any', 'openai-chat'],
  ])('%s speaks %s with the address and key of the environment', async (name, api) => {
    await using server = await startModelServer({ script: { turns: [{ text: 'Here.' }] } });
    const env = { ...keys, ANTHROPIC_BASE_URL: server.url, OPENAI_BASE_URL: `${server.url}/v1/`, ONWARD_MODEL: name };
    const model = await resolveModel({ env, cwd: makePlace().work });
    expect(model.id).toBe(name);
    expect(server.requests).toEqual([]);
    expect(textIn(await partsOf(model))).toBe('Here.');
    expect(server.requests.map((request) => request.api)).toEqual([api]);
  });

  test('an address on the command line wins over the environment', async () => {
    await using server = await startModelServer({ script: { turns: [{ text: 'Here.' }] } });
    const env = { ...keys, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' };
    const model = await resolveModel({ model: 'anthropic/x', baseUrl: server.url, env, cwd: makePlace().work });
    expect(textIn(await partsOf(model))).toBe('Here.');
  });

  test.each([
    [{ env: keys }, 'config/no-model', 'ONWARD_MODEL'],
    [{ model: 'claude', env: keys }, 'config/bad-model', 'provider/model'],
    [{ model: 'anthropic/ ', env: keys }, 'config/bad-model', 'provider/model'],
    [{ model: 'constructor/x', env: keys }, 'config/unknown-provider', 'openai-chat'],
    [{ model: 'anthropic/x', env: {} }, 'config/missing-key', 'onward lab serve'],
    [{ model: 'openai/x', env: { OPENAI_API_KEY: '' } }, 'config/missing-key', 'OPENAI_API_KEY'],
    [{ model: 'openai-compatible/x', env: {} }, 'config/missing-base-url', '--base-url'],
    [{ model: 'openai/x', env: keys, baseUrl: 'ftp://x' }, 'config/bad-base-url', 'https'],
    [{ model: 'openai/x', env: keys, baseUrl: 'https://me:secret@x' }, 'config/bad-base-url', 'https'],
  ])('%j is refused as %s, and says what to do', async (choice, code, hint) => {
    const error = await resolveModel({ cwd: makePlace().work, ...choice }).then(
      () => undefined,
      (thrown: unknown) => thrown as { code: string; message: string; next: readonly string[] },
    );
    expect(error).toMatchObject({ code });
    expect([error?.message, ...(error?.next ?? [])].join('\n')).toContain(hint);
    expect(JSON.stringify([error?.message, error?.next])).not.toContain('me:secret');
  });
});

describe('a package that the user has', () => {
  test('is the one beside this program first, since what lies in a directory runs before anybody approved anything', async () => {
    const { work } = makePlace();
    const put = (name: string): void => {
      const own = join(work, 'node_modules', name);
      mkdirSync(own, { recursive: true });
      const exports = { '.': { types: './t.d.ts', node: { import: './a.mjs' } } };
      writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'x', exports }));
      writeFileSync(join(own, 'a.mjs'), 'export const mine = true;');
    };
    put('@ai-sdk/anthropic');
    put('only-in-the-project');
    mkdirSync(join(work, 'deep/er'), { recursive: true });
    expect(await loadPackage('@ai-sdk/anthropic', work)).toHaveProperty('createAnthropic');
    expect(await loadPackage('only-in-the-project', join(work, 'deep/er'))).toMatchObject({ mine: true });
  });

  test('is asked for with the line that installs it', async () => {
    await expect(loadPackage('@ai-sdk/nowhere', makePlace().work)).rejects.toMatchObject({
      code: 'config/missing-package',
      next: [expect.stringContaining('npm install @ai-sdk/nowhere'), expect.any(String)],
    });
  });
});
