import { OnwardError } from '../../kernel/error.ts';
import { type AiSdkLanguageModel, aiSdkModel } from '../../models/ai-sdk/index.ts';
import type { Model } from '../../models/model.ts';
import { loadPackage } from './load-package.ts';

/** Where a model comes from. */
export interface ModelChoice {
  /** `provider/model`; default: `ONWARD_MODEL`. */
  readonly model?: string;
  /** Address of the API; default: the provider's variable, else its own. */
  readonly baseUrl?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory whose installed packages count first. */
  readonly cwd: string;
}

/** How to reach one API. */
interface Provider {
  readonly package: string;
  /** The function of the package that makes the provider. */
  readonly create: string;
  /** What of the provider makes the model; absent: the provider itself. */
  readonly method?: string;
  readonly keyName: string;
  readonly urlName: string;
  /** Why it needs no key or a URL of its own: any server may stand behind it. */
  readonly isOpen?: true;
  readonly hint: string;
}

const openai = {
  package: '@ai-sdk/openai',
  create: 'createOpenAI',
  keyName: 'OPENAI_API_KEY',
  urlName: 'OPENAI_BASE_URL',
};

const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    package: '@ai-sdk/anthropic',
    create: 'createAnthropic',
    keyName: 'ANTHROPIC_API_KEY',
    urlName: 'ANTHROPIC_BASE_URL',
    hint: 'Anthropic Messages',
  },
  openai: { ...openai, method: 'responses', hint: 'OpenAI Responses' },
  'openai-chat': { ...openai, method: 'chat', hint: 'OpenAI Chat Completions' },
  'openai-compatible': {
    ...openai,
    package: '@ai-sdk/openai-compatible',
    create: 'createOpenAICompatible',
    isOpen: true,
    hint: 'any server that speaks Chat Completions',
  },
};

/** The names that may stand before the `/`. */
export const providerNames: readonly string[] = Object.keys(providers);

/** Variables that hold the keys of models: programs that tools start do not get them. */
export const keyNames: readonly string[] = [...new Set(Object.values(providers).map(({ keyName }) => keyName))];

/** The name of the model that a choice means. Throws `config/no-model`, `config/bad-model`, `config/unknown-provider`. */
export function modelName({ model, env }: Pick<ModelChoice, 'model' | 'env'>): string {
  const named = model ?? env['ONWARD_MODEL'] ?? '';
  if (named === '')
    throw new OnwardError('config/no-model', 'No model is named.', {
      place: '--model',
      next: [
        'Give --model anthropic/claude-sonnet-4-5 (or another provider/model), or set ONWARD_MODEL.',
        `Providers: ${providerNames.join(', ')}`,
        tryLine,
      ],
    });
  split(named);
  return named;
}

/** What to do without any key at all. */
const tryLine = 'Without a key: onward lab serve   starts a scripted model and prints how to point a chat at it';

function split(named: string): { readonly provider: Provider; readonly name: string; readonly rest: string } {
  const at = named.indexOf('/');
  const [name, rest] = [named.slice(0, at), named.slice(at + 1)];
  if (at < 1 || rest.trim() === '' || !named.isWellFormed())
    throw new OnwardError('config/bad-model', `A model is named provider/model; it is ${JSON.stringify(named)}.`, {
      place: '--model',
      next: ['For instance: --model anthropic/claude-sonnet-4-5'],
    });
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider !== undefined) return { provider, name, rest };
  throw new OnwardError('config/unknown-provider', `There is no provider ${JSON.stringify(name)}.`, {
    place: '--model',
    next: Object.entries(providers).map(([known, { hint }]) => `--model ${known}/MODEL   ${hint}`),
  });
}

/**
 * The model of that name, by the package of the AI SDK that speaks its API: loaded only now, and only that one. Nothing is
 * requested. Throws as {@link modelName} does, `config/missing-key`, `config/missing-base-url`, `config/bad-base-url`,
 * and as `loadPackage` does.
 */
export async function resolveModel(choice: ModelChoice): Promise<Model> {
  const named = modelName(choice);
  const { provider, name, rest } = split(named);
  const baseURL = baseUrlOf(choice, provider, name);
  const apiKey = keyOf(choice.env, provider, name);
  const { [provider.create]: create } = await loadPackage(provider.package, choice.cwd);
  if (typeof create !== 'function') throw tooOld(provider, provider.create);
  const made: unknown = create({
    ...(provider.isOpen === true ? { name } : {}),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  const make: unknown = provider.method === undefined ? made : (made as Record<string, unknown>)[provider.method];
  if (typeof make !== 'function') throw tooOld(provider, provider.method ?? provider.create);
  return aiSdkModel(make(rest) as AiSdkLanguageModel, { id: named });
}

function tooOld(provider: Provider, what: string): OnwardError {
  return new OnwardError('config/broken-package', `The installed ${provider.package} has no ${what}.`, {
    place: provider.package,
    next: [`npm install ${provider.package}@latest`],
  });
}

function keyOf(env: ModelChoice['env'], provider: Provider, name: string): string | undefined {
  const key = env[provider.keyName];
  if (key !== undefined && key !== '') return key;
  if (provider.isOpen === true) return undefined;
  throw new OnwardError('config/missing-key', `There is no key for ${name}: ${provider.keyName} is not set.`, {
    place: provider.keyName,
    next: [`export ${provider.keyName}=...`, tryLine],
  });
}

/** Addresses are written with and without `/v1`; the packages want it. Credentials belong into the key. */
function baseUrlOf({ baseUrl, env }: ModelChoice, provider: Provider, name: string): string | undefined {
  const given = baseUrl ?? env[provider.urlName] ?? '';
  if (given === '') {
    if (provider.isOpen !== true) return undefined;
    throw new OnwardError('config/missing-base-url', `${name} needs the address of its server.`, {
      place: provider.urlName,
      next: [`onward chat --base-url http://127.0.0.1:11434/v1 ...   or set ${provider.urlName}`],
    });
  }
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new OnwardError(
      'config/bad-base-url',
      'The address of the API must be an http or https URL without a login.',
      {
        place: baseUrl === undefined ? provider.urlName : '--base-url',
        next: ['For instance: https://gateway.example/v1'],
      },
    );
  const bare = given.replace(/\/+$/, '');
  const isRoot = url.pathname === '/';
  return isRoot || (name === 'anthropic' && !bare.endsWith('/v1')) ? `${bare}/v1` : bare;
}
