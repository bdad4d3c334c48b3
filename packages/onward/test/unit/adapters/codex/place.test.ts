import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AgentPlace } from '../../../../src/supervisor/adapter.ts';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';

let home = '';
const place = (env: AgentPlace['env'] = {}): AgentPlace => ({ cwd: home, env: { HOME: home, ...env } });

function put(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const auth = (token: string, account: string): string =>
  put(
    '.codex/auth.json',
    JSON.stringify({ OPENAI_API_KEY: null, tokens: { account_id: account, access_token: token } }),
  );

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'onward-codex-'));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('the session file', () => {
  test('is found by the id at the end of its name, below HOME or CODEX_HOME', async () => {
    const id = '01a22e99-0498-73b3-a8f4-0291374b5cfe';
    const file = put(`.codex/sessions/2026/11/30/rollout-2026-11-30T22-35-09-${id}.jsonl`, '{}');
    put('.codex/sessions/2026/12/01/rollout-2026-12-01T00-00-00-01a22e99-0498-73b3-a8f4-0291374b5cff.jsonl', '{}');
    expect(await codexAdapter.sessionFile(place(), id)).toBe(file);
    expect(await codexAdapter.sessionFile({ cwd: '/', env: { CODEX_HOME: join(home, '.codex') } }, id)).toBe(file);
  });

  test('that does not exist is not found, and an id is never read as a path', async () => {
    put('.codex/sessions/2026/11/30/rollout-2026-11-30T22-35-09-abc.jsonl', '{}');
    expect(await codexAdapter.sessionFile(place(), 'abd')).toBeUndefined();
    expect(await codexAdapter.sessionFile(place(), '../30/rollout-2026-11-30T22-35-09-abc')).toBeUndefined();
    expect(await codexAdapter.sessionFile({ cwd: '/', env: {} }, 'abc')).toBeUndefined();
  });
});

describe('who pays, and where requests go', () => {
  test('nothing configured is the default provider, not logged in', async () => {
    expect(await codexAdapter.identify(place())).toEqual({
      baseUrl: 'default',
      account: 'none',
      billing: 'not logged in',
    });
  });

  test('a configured provider gives its address without secrets, and its key as a hash', async () => {
    put(
      '.codex/config.toml',
      'model_provider = "mine" # chosen\n[model_providers.other]\nbase_url = "http://other/v1"\n[model_providers."mine"]\nbase_url = \'http://u:pw@127.0.0.1:8080/v1?key=s3cret\'\nenv_key = "MY_KEY"\n',
    );
    const identity = await codexAdapter.identify(place({ MY_KEY: 'k-123' }));
    expect(identity).toMatchObject({ baseUrl: 'http://127.0.0.1:8080/v1', billing: 'API key' });
    expect(identity.account).toMatch(/^[\da-f]{12}$/);
    expect(JSON.stringify(identity)).not.toMatch(/k-123|pw|s3cret/);
    expect((await codexAdapter.identify(place({ MY_KEY: 'k-124' }))).account).not.toBe(identity.account);
    expect((await codexAdapter.identify(place())).billing).toBe('not logged in');
  });

  test('a login is known by its account, which a renewed token does not change', async () => {
    auth('t-1', 'acc-1');
    const first = await codexAdapter.identify(place());
    expect(first).toMatchObject({ baseUrl: 'default', billing: 'subscription' });
    auth('t-2', 'acc-1');
    const renewed = await codexAdapter.identify(place());
    expect(renewed.account).toBe(first.account);
    expect(renewed.credential, 'what is presented has changed').not.toBe(first.credential);
    auth('t-2', 'acc-2');
    expect((await codexAdapter.identify(place())).account).not.toBe(first.account);
  });

  test('a key in the environment goes before the login, a stored key is used without one', async () => {
    put('.codex/auth.json', JSON.stringify({ OPENAI_API_KEY: 'k-stored' }));
    const stored = await codexAdapter.identify(place());
    expect(stored.billing).toBe('API key');
    const own = await codexAdapter.identify(place({ CODEX_API_KEY: 'k-env' }));
    expect(own.account).not.toBe(stored.account);
  });

  test('a login that the keyring of the system keeps is not called missing', async () => {
    put('.codex/config.toml', 'cli_auth_credentials_store = "keyring"\n');
    expect(await codexAdapter.identify(place())).toMatchObject({
      account: 'keyring',
      billing: expect.stringContaining('keyring'),
    });
  });

  test('files that are damaged count as absent', async () => {
    put('.codex/auth.json', '{"tokens":');
    put('.codex/config.toml', '[[[\nmodel_provider = \n"x" = {');
    expect((await codexAdapter.identify(place())).billing).toBe('not logged in');
  });
});
