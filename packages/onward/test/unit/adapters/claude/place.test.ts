import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';

let home = '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'onward-claude-'));
});

afterEach(async () => {
  await rm(home, { recursive: true });
});

async function put(path: string, content: unknown): Promise<string> {
  const file = join(home, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const identify = (env: Readonly<Record<string, string>> = {}) =>
  claudeAdapter.identify({ cwd: home, env: { HOME: home, ...env } });

describe('who would pay', () => {
  test('nobody, without a home or a login', async () => {
    expect(await identify()).toEqual({
      baseUrl: 'https://api.anthropic.com',
      account: 'none',
      billing: 'not logged in',
    });
    expect(await claudeAdapter.identify({ cwd: home, env: {} })).toMatchObject({ billing: 'not logged in' });
  });

  test('an API key, of which only a hash is shown that changes with the key', async () => {
    const one = await identify({ ANTHROPIC_API_KEY: 'sk-ant-secret-1' });
    const two = await identify({ ANTHROPIC_API_KEY: 'sk-ant-secret-2' });
    expect(one.billing).toBe('API key');
    expect(one.account).toMatch(/^[0-9a-f]{12}$/u);
    expect(one.account).not.toBe(two.account);
    expect(JSON.stringify([one, two])).not.toContain('secret');
  });

  test('a subscription, known by its account and not by tokens that are renewed in the night', async () => {
    await put('.claude.json', { oauthAccount: { accountUuid: 'u-1' } });
    await put('.claude/.credentials.json', { claudeAiOauth: { accessToken: 'first' } });
    const before = await identify();
    await put('.claude/.credentials.json', { claudeAiOauth: { accessToken: 'second' } });
    const renewed = await identify();
    expect(renewed.account).toBe(before.account);
    expect(renewed.credential, 'what is presented has changed').not.toBe(before.credential);
    expect(JSON.stringify([before, renewed])).not.toMatch(/first|second/u);
    await put('.claude.json', { oauthAccount: { accountUuid: 'u-2' } });
    expect((await identify()).account).not.toBe(before.account);
    expect(before.billing).toBe('subscription');
  });

  test('settings of the user win over the environment, as they do for the CLI', async () => {
    await put('.claude/settings.json', {
      env: { ANTHROPIC_BASE_URL: 'https://me:secret@gateway.example/v1/?key=secret' },
    });
    const { baseUrl } = await identify({ ANTHROPIC_BASE_URL: 'http://127.0.0.1:1', ANTHROPIC_AUTH_TOKEN: 't' });
    expect(baseUrl).toBe('https://gateway.example/v1');
  });

  test('a cloud, when one is chosen', async () => {
    expect(await identify({ CLAUDE_CODE_USE_BEDROCK: '1' })).toMatchObject({ billing: 'Amazon Bedrock' });
    expect(await identify({ CLAUDE_CODE_USE_BEDROCK: '0', ANTHROPIC_API_KEY: 'k' })).toMatchObject({
      billing: 'API key',
    });
  });

  test('files that are broken are as good as none', async () => {
    await put('.claude/settings.json', '{"env":');
    await put('.claude.json', '[]');
    expect(await identify()).toMatchObject({ billing: 'not logged in' });
  });
});

const find = (sessionId: string, env: Readonly<Record<string, string>> = {}) =>
  claudeAdapter.sessionFile({ cwd: home, env: { HOME: home, ...env } }, sessionId);

describe('the file of a session', () => {
  const id = '11111111-1111-4111-8111-111111111111';

  test('is found in whatever project it lies, the one written last first', async () => {
    const old = await put(`.claude/projects/-a/${id}.jsonl`, '');
    await utimes(old, 1, 1);
    const latest = await put(`.claude/projects/-b/${id}.jsonl`, '');
    expect(await find(id)).toBe(latest);
  });

  test('is looked for where CLAUDE_CONFIG_DIR says', async () => {
    const file = await put(`elsewhere/projects/-a/${id}.jsonl`, '');
    expect(await find(id, { CLAUDE_CONFIG_DIR: join(home, 'elsewhere') })).toBe(file);
    expect(await find(id)).toBeUndefined();
  });

  test('is no file outside, whatever the id says', async () => {
    await put('.claude/secret.jsonl', '');
    await mkdir(join(home, '.claude/projects/-a'), { recursive: true });
    expect(await find('../../secret')).toBeUndefined();
    expect(await find('')).toBeUndefined();
  });
});
