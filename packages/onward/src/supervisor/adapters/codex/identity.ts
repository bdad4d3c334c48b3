import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentIdentity, AgentPlace } from '../../adapter.ts';
import { asObject, asString, parseObject } from './json-shape.ts';
import { codexHome } from './session-file.ts';
import { readConfig } from './config.ts';

/**
 * Who would pay, and where requests would go, from `config.toml`, `auth.json` and the environment. `default` stands for codex's
 * own provider. A login is known by its account and not by its tokens, since those are renewed while a run is alive.
 */
export async function identify(place: AgentPlace): Promise<AgentIdentity> {
  const home = codexHome(place);
  const config = readConfig(await read(home, 'config.toml'));
  const provider = config.provider;
  const baseUrl = withoutSecrets(provider?.baseUrl) ?? 'default';
  if (provider?.envKey !== undefined) return account(baseUrl, place.env[provider.envKey], 'API key');
  const key = place.env['CODEX_API_KEY'];
  if (key !== undefined && key !== '') return account(baseUrl, key, 'API key');
  const auth = parseObject(await read(home, 'auth.json'));
  const tokens = asObject(auth?.['tokens']);
  if (tokens !== undefined) {
    const known = account(baseUrl, asString(tokens['account_id']) ?? 'login', 'subscription');
    const token = asString(tokens['access_token']);
    return token === undefined ? known : { ...known, credential: shortHash(token) };
  }
  const stored = asString(auth?.['OPENAI_API_KEY']);
  if (stored === undefined && config.keyring)
    return { baseUrl, account: 'keyring', billing: 'login in the keyring of the system' };
  return account(baseUrl, stored, 'API key');
}

function account(baseUrl: string, secret: string | undefined, billing: string): AgentIdentity {
  if (secret === undefined || secret === '') return { baseUrl, account: 'none', billing: 'not logged in' };
  return { baseUrl, account: shortHash(secret), billing };
}

function shortHash(secret: string): string {
  return createHash('sha256').update(`onward:codex:${secret}`).digest('hex').slice(0, 12);
}

async function read(home: string | undefined, name: string): Promise<string> {
  if (home === undefined) return '';
  return await readFile(join(home, name), 'utf8').catch(() => '');
}

/** An address without user, password, query and fragment, each of which may hold a key. */
function withoutSecrets(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return `${url.protocol}//${url.host}${url.pathname}`;
}
