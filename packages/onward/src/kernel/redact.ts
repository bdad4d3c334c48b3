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
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

/**
 * A JSON web token. The run of letters before the first dot is taken in one go whether or not a token follows: looking
 * for one at each place in it would take minutes for a text that was made for that.
 */
const webToken = /eyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,})?/g;

/** Names whose values are secrets, also at the end of a longer name: PGPASSWORD, dbPassword. */
const names =
  'api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|secret|password|passwd|passphrase|authorization';

/** `name: value`, `name=value` and `--name value`, also inside of JSON inside of JSON; only the value goes. */
const named = new RegExp(
  `((?:(?:${names})\\\\*["']?\\s*[:=]|--[a-z-]{0,40}(?:${names})["']?[,\\s])\\s*\\\\*["']?(?:bearer\\s+|basic\\s+)?)` +
    `([^\\s"',;&}\\\\]{6,})`,
  'gi',
);

/** The password of `scheme://user:password@host`. */
const inAddress = /(:\/\/[^\s/:@"']{0,100}:)([^\s/@"']{1,200})(?=@)/g;

/** A key of an object whose text is a secret as a whole. */
const secretKey = new RegExp(`(?:${names})$`, 'i');

/** Names of variables whose values are secrets. */
const secretName = /(?:^|_)(?:KEY|TOKEN|SECRET|CREDENTIALS?|AUTH)(?:$|_)|_PWD$|PASSWORD|PASSWD|PASSPHRASE|API_?KEY/i;

/** Replaces secrets in text and in every string of a JSON value. */
export interface Redactor {
  text(text: string): string;
  json(value: Json): Json;
}

/**
 * Redacts by form, by name, and by the values of environment variables that look like secrets (8 characters or more, so
 * that a short word is not cut out of every sentence). What leaves the journal goes through one of these. Linear in the
 * length of the text.
 */
export function createRedactor(env: Readonly<Record<string, string | undefined>>): Redactor {
  const values = Object.entries(env)
    .flatMap(([name, value]) => (value !== undefined && value.length >= 8 && secretName.test(name) ? [value] : []))
    .flatMap((value) => [value, escaped(value), escaped(escaped(value))])
    .toSorted((a, b) => b.length - a.length);
  const distinct = [...new Set(values)];
  const text = (original: string): string => {
    let result = original;
    for (const value of distinct) result = result.replaceAll(value, redacted);
    for (const form of forms) result = result.replace(form, redacted);
    result = result.replace(webToken, (whole, rest: string | undefined) => (rest === undefined ? whole : redacted));
    result = result.replace(inAddress, (_, before: string) => `${before}${redacted}`);
    return result.replace(named, (whole, name: string, value: string) =>
      value.startsWith(redacted) ? whole : `${name}${redacted}`,
    );
  };
  const json = (value: Json): Json => {
    if (typeof value === 'string') return text(value);
    if (Array.isArray(value)) return list(value as readonly Json[]);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        text(key),
        typeof item === 'string' && secretKey.test(key) ? redacted : json(item),
      ]),
    );
  };
  const list = (items: readonly Json[]): readonly Json[] =>
    items.map((item, index) => (isSecretFlag(items[index - 1]) && typeof item === 'string' ? redacted : json(item)));
  return { text, json };
}

/** As it stands inside of JSON. */
function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** The word of a command line after which a secret stands. */
function isSecretFlag(word: Json | undefined): boolean {
  return typeof word === 'string' && word.startsWith('-') && secretKey.test(word);
}
