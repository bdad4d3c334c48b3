import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Json } from '../../../src/kernel/json.ts';
import { createRedactor, redacted } from '../../../src/kernel/redact.ts';

const plain = createRedactor({});
const secret = 'hunter2hunter2';
const webToken = `eyJ${'a'.repeat(20)}.${'b'.repeat(30)}.${'c'.repeat(20)}`;

describe('the redactor', () => {
  it.each([
    [`sk-ant-${'a1B2'.repeat(8)}`, 'a key of a provider'],
    [webToken, 'a web token'],
    [`x-eyJ${'z'.repeat(9)}-${webToken}`, 'a web token behind something that looks like one'],
    [`-----BEGIN RSA PRIVATE KEY-----\nabc\ndef`, 'a private key that is cut'],
  ])('takes out what is a credential by its form: %s', (text) => {
    const safe = plain.text(`before ${text} after`);
    expect(safe).toContain(redacted);
    expect(safe.startsWith('before ')).toBe(true);
    for (const part of text.split(/[.\s-]/).filter((piece) => piece.length > 15)) expect(safe).not.toContain(part);
  });

  it.each([
    `password: ${secret}`,
    `PGPASSWORD=${secret}`,
    `dbPassword = "${secret}"`,
    `x-api-key: ${secret}`,
    `curl -H 'Authorization: Bearer ${secret}'`,
    `tool --api-key ${secret} --verbose`,
    `["--auth-token","${secret}"]`,
    `postgres://me:${secret}@db.example/x`,
  ])('takes out what is a secret by its name, and that only: %s', (text) => {
    const safe = plain.text(text);
    expect(safe).toBe(text.replace(secret, redacted));
  });

  it.each([
    'the answer is 42',
    'an eyJ and eyJabcdefghij.too.short',
    'http://example.com:8080/a@b',
    'the secrets of the password file',
    'tokens: 123456789',
  ])('leaves alone: %s', (text) => {
    expect(plain.text(text)).toBe(text);
  });

  it('takes out the values of variables whose names say that they are secrets, also inside of JSON', () => {
    const value = 'first "line"\\\nsecond line';
    for (const name of ['MY_TOKEN', 'PGPASSWORD', 'MYSQL_PWD', 'OPENAI_API_KEY', 'AWS_SECRET_ACCESS_KEY']) {
      const redactor = createRedactor({ [name]: value, PATH: '/usr/local/bin', PWD: '/home/somebody' });
      for (const text of [value, JSON.stringify({ value }), JSON.stringify(JSON.stringify([value]))]) {
        expect(redactor.text(`/usr/local/bin ${text}`), name).not.toContain('second line');
        expect(redactor.text(`/usr/local/bin ${text}`), name).toContain('/usr/local/bin');
      }
    }
  });

  it('takes out what stands under a secret name in a value, however deep and however often written as JSON', () => {
    const names = fc.constantFrom('password', 'apiKey', 'api_key', 'X-Api-Key', 'Authorization', 'clientSecret');
    const wrap = fc.constantFrom<(value: Json) => Json>(
      (value) => [value, 1],
      (value) => ({ inner: value }),
      (value) => JSON.stringify(value),
    );
    fc.assert(
      fc.property(names, fc.array(wrap, { maxLength: 4 }), (name, wraps) => {
        const value = wraps.reduce<Json>((inner, one) => one(inner), { [name]: secret, other: 'stays here' });
        const safe = JSON.stringify(plain.json(value));
        expect(safe).not.toContain(secret);
        expect(safe).toContain('stays here');
      }),
      { numRuns: 500 },
    );
  });

  it('takes out the word after a flag that names a secret', () => {
    expect(plain.json(['--model', 'x', '--api-key', 'short', '-p', 'do it'])).toEqual([
      '--model',
      'x',
      '--api-key',
      redacted,
      '-p',
      'do it',
    ]);
  });

  it('takes out secrets in keys, and keeps odd keys', () => {
    const redactor = createRedactor({ MY_TOKEN: secret });
    const value = JSON.parse(`{"__proto__": {"a": 1}, "${secret}": 2}`) as Json;
    expect(JSON.stringify(redactor.json(value))).toBe(`{"__proto__":{"a":1},"${redacted}":2}`);
  });

  it('takes time in proportion to the text, also for texts made to be slow', () => {
    const pieces = [
      '-eyJaaaaaaaa',
      'eyJaaaaaaaa.',
      '-----BEGIN ',
      'secret ',
      'password:basic ',
      '://a:',
      '-',
      '\\',
      '"',
    ];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(400_000 / piece.length));
      const start = performance.now();
      plain.text(text);
      // A thousand times what it takes; in the square of the length it would be over ten seconds.
      expect(performance.now() - start, piece).toBeLessThan(5_000);
    }
  });
});
