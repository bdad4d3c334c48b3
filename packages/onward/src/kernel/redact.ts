import type { Json } from './json.ts';

/** What stands where a secret was. */
export const redacted = '[redacted]';

/** Forms that are credentials wherever they stand, from their issuers' documentation. */
const forms: readonly RegExp[] = [
  /\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{16,}/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/g,
  /\bglpat-[A-Za-z0-9_-]{20,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

/** `name: value` and `name=value` where the name says that the value is secret; only the value goes. */
const named =
  /((?:\b|_)(?:api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret|password|passwd|authorization|x-api-key)["']?\s*[:=]\s*["']?(?:bearer\s+|basic\s+)?)([^\s"',;&}\\]{6,})/gi;

/** Names of variables whose values are secrets. */
const secretName = /(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH)(?:$|_)/i;

/** Replaces secrets in text and in every string of a JSON value. */
export interface Redactor {
  text(text: string): string;
  json(value: Json): Json;
}

/**
 * Redacts by form, by name, and by the values of environment variables that look like secrets (8 characters or more, so
 * that a short word is not cut out of every sentence). What leaves the journal goes through one of these.
 */
export function createRedactor(env: Readonly<Record<string, string | undefined>>): Redactor {
  const values = Object.entries(env)
    .flatMap(([name, value]) => (value !== undefined && value.length >= 8 && secretName.test(name) ? [value] : []))
    .toSorted((a, b) => b.length - a.length);
  const text = (original: string): string => {
    let result = original;
    for (const value of values) result = result.replaceAll(value, redacted);
    for (const form of forms) result = result.replace(form, redacted);
    return result.replace(named, (whole, name: string, value: string) =>
      value.startsWith(redacted) ? whole : `${name}${redacted}`,
    );
  };
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return (value as readonly Json[]).map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), json(item)]));
  };
  return { text, json };
}
