import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AgentIdentity, AgentPlace } from '../../adapter.ts';
import { claudeHome } from './session-file.ts';
import { asShape, type Shape, shapeAt, textAt } from './shape.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Who would pay and where requests would go, from the environment, the user's settings (which win over the environment) and
 * the login. A login is known by its account and not by its tokens, since those are renewed while a run is alive.
 */
export async function identify(place: AgentPlace): Promise<AgentIdentity> {
  const home = claudeHome(place);
  const settings = home === undefined ? undefined : await readJson(join(home, 'settings.json'));
  const env: Variables = { ...place.env, ...texts(shapeAt(settings, 'env')) };
  const cloud = clouds.find(([variable]) => truthy(env[variable]));
  if (cloud !== undefined) return account(env[cloud[2]] ?? cloud[1], cloud[1], env['AWS_PROFILE'] ?? cloud[1]);
  const baseUrl = withoutSecrets(env['ANTHROPIC_BASE_URL']) ?? 'https://api.anthropic.com';
  const token = env['ANTHROPIC_AUTH_TOKEN'];
  if (token) return account(baseUrl, 'auth token', token);
  const helper = textAt(settings, 'apiKeyHelper');
  if (helper) return account(baseUrl, 'API key (helper)', helper);
  const key = env['ANTHROPIC_API_KEY'];
  if (key) return account(baseUrl, 'API key', key);
  const oauth = env['CLAUDE_CODE_OAUTH_TOKEN'];
  if (oauth) return account(baseUrl, 'subscription', oauth);
  return login(baseUrl, place, home);
}

const clouds: readonly (readonly [variable: string, name: string, url: string])[] = [
  ['CLAUDE_CODE_USE_BEDROCK', 'Amazon Bedrock', 'ANTHROPIC_BEDROCK_BASE_URL'],
  ['CLAUDE_CODE_USE_VERTEX', 'Google Vertex AI', 'ANTHROPIC_VERTEX_BASE_URL'],
  ['CLAUDE_CODE_USE_FOUNDRY', 'Microsoft Foundry', 'ANTHROPIC_FOUNDRY_BASE_URL'],
];

async function login(baseUrl: string, place: AgentPlace, home: string | undefined): Promise<AgentIdentity> {
  const nobody = { baseUrl, account: 'none', billing: 'not logged in' };
  if (home === undefined) return nobody;
  // The account stands beside the folder, or in it where the folder was chosen by CLAUDE_CONFIG_DIR.
  const folder = place.env['CLAUDE_CONFIG_DIR'] ? home : dirname(home);
  const state = await readJson(join(folder, '.claude.json'));
  const owner = textAt(shapeAt(state, 'oauthAccount'), 'accountUuid');
  const tokens = shapeAt(await readJson(join(home, '.credentials.json')), 'claudeAiOauth');
  if (owner === undefined && tokens === undefined) return nobody;
  const known = account(baseUrl, 'subscription', owner ?? 'login');
  const token = textAt(tokens, 'accessToken');
  return token === undefined ? known : { ...known, credential: shortHash(token) };
}

function account(baseUrl: string, billing: string, secret: string): AgentIdentity {
  return { baseUrl, account: shortHash(secret), billing };
}

function shortHash(secret: string): string {
  return createHash('sha256').update(`onward:claude:${secret}`).digest('hex').slice(0, 12);
}

async function readJson(path: string): Promise<Shape | undefined> {
  try {
    return asShape(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined;
  }
}

function texts(shape: Shape | undefined): Variables {
  const pairs = Object.entries(shape ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return Object.fromEntries(pairs);
}

function truthy(value: string | undefined): boolean {
  return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}

/** An address without user, password, query and fragment, each of which may hold a key. */
function withoutSecrets(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  return `${url.protocol}//${url.host}${url.pathname}`.replace(/\/$/u, '');
}
