/** A credential that opens nothing: the lab looks whether there is one, never at what it is. */
const DUMMY_KEY = 'lab-dummy-key';

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
  return [
    'model = "gpt-5.1-codex"',
    'model_provider = "lab"',
    'check_for_update_on_startup = false',
    'web_search = "disabled"',
    '',
    '[analytics]',
    'enabled = false',
    '',
    '[model_providers.lab]',
    'name = "lab"',
    `base_url = "${url}/v1"`,
    'wire_api = "responses"',
    'env_key = "ONWARD_LAB_KEY"',
    'supports_websockets = false',
    ...settings.flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`])),
    '',
  ].join('\n');
}
