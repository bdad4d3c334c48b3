/** A credential that opens nothing: the lab looks whether there is one, never at what it is. */
const DUMMY_KEY = 'dummy';

/**
 * Environment that points Claude Code at a model server of the lab and keeps it off every other network address. The caller
 * adds a HOME of its own, so that no real account is touched.
 */
export function claudeEnvironment(url: string): Readonly<Record<string, string>> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}

/** Environment that goes with `codexConfig`: the credential that its provider reads. */
export function codexEnvironment(): Readonly<Record<string, string>> {
  return { ONWARD_LAB_KEY: DUMMY_KEY };
}

/** Retries of Codex itself, per provider; absent = its defaults (4 and 5). */
export interface CodexRetries {
  readonly request?: number;
  readonly stream?: number;
  readonly idleMs?: number;
}

/**
 * The `config.toml` (for `$HOME/.codex/` of a HOME of its own) that points Codex at a model server of the lab, as a custom
 * provider over the Responses API.
 */
export function codexConfig(url: string, retries: CodexRetries = {}): string {
  const settings: readonly (readonly [name: string, value: number | undefined])[] = [
    ['request_max_retries', retries.request],
    ['stream_max_retries', retries.stream],
    ['stream_idle_timeout_ms', retries.idleMs],
  ];
  return toml([
    'model = "gpt-5.1-codex"',
    'model_provider = "lab"',
    ...QUIET,
    '[model_providers.lab]',
    'name = "lab"',
    `base_url = "${url}/v1"`,
    'wire_api = "responses"',
    'env_key = "ONWARD_LAB_KEY"',
    'supports_websockets = false',
    ...settings.flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`])),
  ]);
}

/**
 * The same for Codex's own provider and model, as a logged-in user has it: its retries cannot be lowered. It needs
 * `codexAuth()` as `auth.json` beside it.
 */
export function codexDefaultConfig(url: string): string {
  return toml([`openai_base_url = "${url}/v1"`, ...QUIET]);
}

/** The `auth.json` of a Codex that logged in with a key. */
export function codexAuth(): string {
  return JSON.stringify({ auth_mode: 'apikey', OPENAI_API_KEY: DUMMY_KEY });
}

/** What keeps Codex off every other address. Ends inside a table: nothing but tables may follow. */
const QUIET: readonly string[] = [
  'check_for_update_on_startup = false',
  'web_search = "disabled"',
  '[analytics]',
  'enabled = false',
];

function toml(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}
