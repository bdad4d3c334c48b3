import { describe, expect, test } from 'vitest';
import { Place } from './support/place.ts';

const verbs = [
  'run',
  'chat',
  'questions',
  'answer',
  'ls',
  'show',
  'why',
  'tail',
  'resume',
  'cancel',
  'rm',
  'prune',
  'doctor',
  'demo',
  'session',
  'session check',
  'acp',
  'acp serve',
  'lab',
  'lab list',
  'lab serve',
  'lab play',
] as const;

describe('the help', () => {
  test.each(['', ...verbs])(
    'of "onward %s" begins with examples and fits on a screen of 24 lines of 80',
    async (verb) => {
      const words = verb === '' ? [] : verb.split(' ');
      const { code, stdout, stderr } = await new Place().onward([...words, '--help']);
      expect(code).toBe(0);
      expect(stderr).toBe('');
      const lines = stdout.trimEnd().split('\n');
      expect(lines[0]).toBe('Examples:');
      expect(lines[1]).toContain(`onward ${words.join(' ')}`.trim());
      expect(lines.length).toBeLessThanOrEqual(24);
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    },
  );

  test('names every command, and the whole exit table', async () => {
    const { stdout } = await new Place().onward(['--help']);
    for (const verb of verbs.filter((name) => !name.includes(' ')))
      expect(stdout).toMatch(new RegExp(`^  (\\w+, )?${verb}(, \\w+)? +\\w`, 'm'));
    for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 75, 130, 143])
      expect(stdout.replaceAll('\n', ' ')).toMatch(new RegExp(` ${code} \\w`));
  });

  test('comes on standard error, with status 2, where a command is missing', async () => {
    for (const words of [[], ['lab']]) {
      const { code, stdout, stderr } = await new Place().onward(words);
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toContain('Examples:');
    }
  });
});

describe('a command line that is wrong', () => {
  test.each([
    [['bogus'], "Unknown command 'bogus'", 'onward --help'],
    [['resum', '4cc2'], '(Did you mean resume?)', 'onward --help'],
    [['run', '--jsn', '--', 'claude'], '(Did you mean --json?)', 'onward run --help'],
    [['show', 'a', 'b'], 'Too many arguments', 'onward show --help'],
    [['rm'], "Missing required argument 'id'", 'onward rm --help'],
    [['prune'], "Required option '--older-than <time>' not specified", 'onward prune --help'],
    [['run', '--schedule'], "Option '--schedule <times>' argument missing", 'onward run --help'],
    [['lab', 'play'], "Missing required argument 'name'", 'onward lab play --help'],
    [['lab', 'play', 'no-such-scenario'], 'no-such-scenario', 'onward lab list'],
    [['lab', 'serve', '--port', '99999'], 'A port is a number up to 65535', ''],
    [['lab', 'serve', '--temperament', 'angry'], 'naive, reader or checker', ''],
    [['demo', '--agent', 'codex'], 'no scene for codex', 'onward demo'],
    [['resume', '--due', 'abcd'], '--due is for all runs', 'onward resume --due'],
    [['prune', '--older-than', '30'], '--older-than must be a time', ''],
    [['run'], 'There is nothing to run.', 'onward run --agent claude'],
    [['run', '--'], 'There is nothing to run.', 'onward run --agent claude'],
    [['run', '--schedule', '10x', '--', 'claude', '-p', 'x'], '--schedule must be a time', ''],
    [['run', '--idle-timeout=-5s', '--', 'claude', '-p', 'x'], '--idle-timeout must be a time', ''],
    [['run', '--max-time', '400d', '--', 'claude', '-p', 'x'], 'at most a year', ''],
    [['run', '--max-attempts', '0', '--', 'claude', '-p', 'x'], '--max-attempts must be a whole number', ''],
    [['run', '--on-denied', 'shrug', '--', 'claude', '-p', 'x'], '--on-denied must be stop or ignore', ''],
    [['run', '--name', 'a\nb', '--', 'claude', '-p', 'x'], '--name must be', ''],
    [['ls', '--journal', 'postgres://somewhere/db'], 'Postgres is not supported', ''],
  ])('%j is refused with the fact, the next step and status 2', async (words, fact, next) => {
    const place = new Place();
    const { code, stdout, stderr } = await place.onward(words);
    expect(stderr).toContain(fact);
    expect(stderr).toContain(next);
    expect(stderr).toMatch(/^onward: [^\n]+\n/);
    expect(stderr).not.toContain('    at ');
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  test('is one JSON object on standard output with --json', async () => {
    const { code, stdout } = await new Place().onward(['show', 'no-such-run', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'run/unknown', next: ['onward ls'] } });
    expect(code).toBe(2);
  });
});
