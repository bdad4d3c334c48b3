/** What this adapter wants to know of `config.toml`. */
export interface CodexConfig {
  /** The chosen provider, when it is not codex's own. */
  readonly provider?: { readonly baseUrl?: string; readonly envKey?: string };
  /** The login is, or may be, kept by the system's keyring and not in `auth.json`. */
  readonly keyring: boolean;
}

/**
 * Reads a few keys of `config.toml` (the chosen provider, its `base_url` and `env_key`, where the login is kept) as plain lines. No TOML parser:
 * a value in a form that is not read here is reported as the default, and nothing depends on it but what people are shown.
 */
export function readConfig(toml: string): CodexConfig {
  const sections = readSections(toml);
  const name = sections.get('')?.get('model_provider');
  const provider = name === undefined ? undefined : sections.get(`model_providers.${name}`);
  const baseUrl = provider?.get('base_url') ?? sections.get('')?.get('openai_base_url');
  const envKey = provider?.get('env_key');
  const store = sections.get('')?.get('cli_auth_credentials_store') ?? 'file';
  const keyring = store !== 'file';
  if (baseUrl === undefined && envKey === undefined) return { keyring };
  return {
    keyring,
    provider: { ...(baseUrl === undefined ? {} : { baseUrl }), ...(envKey === undefined ? {} : { envKey }) },
  };
}

/** `key = "value"` lines, by the table they stand in; quotes inside table names are taken off. */
function readSections(toml: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section = '';
  for (const line of toml.split('\n')) {
    const table = /^\s*\[(?<name>[^[\]]+)\]\s*(?:#.*)?$/.exec(line)?.groups?.['name'];
    if (table !== undefined) section = table.replaceAll(/["'\s]/g, '');
    const entry = /^\s*(?<key>[\w-]+)\s*=\s*(?:"(?<basic>[^"\\]*)"|'(?<literal>[^']*)')\s*(?:#.*)?$/.exec(line)?.groups;
    const value = entry?.['basic'] ?? entry?.['literal'];
    if (entry?.['key'] === undefined || value === undefined) continue;
    const keys = sections.get(section) ?? new Map<string, string>();
    sections.set(section, keys.set(entry['key'], value));
  }
  return sections;
}
