import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { garbageInBetween, healthy, type Play, usageLimit } from '../../../src/lab/index.ts';
import { BIN, Place } from './support/place.ts';
import { until } from './support/until.ts';

const task = ['claude', '-p', 'Do it', '--allowedTools', 'Bash'];
const quick = ['--schedule', '20ms,20ms'];

/** A place with an agent that would do the task. */
function ready(): Place {
  const place = new Place();
  place.install(healthy());
  return place;
}

describe('an agent that cannot be supervised', () => {
  test.each([
    [
      ['sed', '-n', 'p'],
      'sed is not an agent that onward knows. It knows: claude, codex.',
      'onward run --agent NAME -- sed',
    ],
    [['./wrapper', '-p', 'x'], 'wrapper is not an agent', 'onward run --agent NAME -- wrapper'],
    [['--agent', 'gemini', 'Do it'], 'gemini is not an agent that onward knows', 'onward run --agent codex "PROMPT"'],
    [['/nowhere/claude', '-p', 'x'], 'There is no program /nowhere/claude', 'onward doctor'],
    [['codex', 'exec', 'x'], 'There is no program codex on the PATH.', 'onward doctor'],
    [['claude'], '[run/command-refused', ''],
    [['claude', '-p', ''], '[run/command-refused', ''],
    [['claude', '-p', '   '], '[run/command-refused', ''],
    [
      ['claude', '-p', 'x', '--output-format', 'json'],
      'Onward reads and writes the event stream itself.',
      'Leave the flag out',
    ],
    [['claude', '-p', 'x', '--resume', 'abc'], 'Onward chooses the session', 'onward resume'],
    [['claude', '-p', 'x', '--session-id=abc'], 'Onward chooses the session', ''],
    [['claude', '-c', '-p', 'x'], 'Onward chooses the session', ''],
    [['claude', '--version'], 'This only prints the version.', 'claude --version'],
    [['codex', 'exec', '--json', 'x'], '[run/command-refused at --json]', ''],
    [['codex', 'exec', 'resume', '--last'], '[run/command-refused', ''],
    [['codex'], '[run/command-refused', ''],
    [
      ['--agent', 'claude', '--', 'npx', 'claude', '-p', 'x'],
      '[run/command-refused',
      'a script that ends in: exec npx claude "$@"',
    ],
  ])('%j is refused before anything is recorded, with the fact and the next step', async (words, fact, next) => {
    const place = ready();
    const ownWords = words[0] === '--agent' ? words : ['--', ...words];
    const { code, stdout, stderr } = await place.onward(['run', ...ownWords]);
    expect(stderr).toContain(fact);
    expect(stderr).toContain(next);
    expect(stderr).toMatch(/^onward: [^\n]+\[run\/[^\n]+\]\n {2}\S/);
    expect([code, stdout]).toEqual([2, '']);
    expect((await place.onward(['ls'])).stdout).toBe('');
  });

  test('because it is not executable is told, with the command that helps', async () => {
    const place = ready();
    chmodSync(join(place.bin, 'claude'), 0o644);
    const byPath = await place.onward(['run', '--', join(place.bin, 'claude'), '-p', 'x']);
    expect(byPath.stderr).toContain('is there but cannot be executed.');
    expect(byPath.stderr).toContain(`chmod +x ${join(place.bin, 'claude')}`);
    expect(byPath.code).toBe(2);
  });

  test('because it is no program at all fails for good, and no attempt passes as a success', async () => {
    const place = new Place();
    writeFileSync(join(place.bin, 'claude'), 'this is no program\n', { mode: 0o755 });
    const { code, stdout } = await place.onward(['run', ...quick, '--', ...task]);
    expect(code).not.toBe(0);
    expect(stdout).toBe('');
  });

  test('is recognised under the name of a link, and a wrapper of another name with --agent', async () => {
    const place = ready();
    mkdirSync(join(place.root, 'links'));
    symlinkSync(join(place.bin, 'claude'), join(place.root, 'links', 'my-agent'));
    const wrapped = await place.onward([
      'run',
      '--agent',
      'claude',
      '--',
      join(place.root, 'links', 'my-agent'),
      ...task.slice(1),
    ]);
    expect(wrapped.stdout).toBe('The line is in effects.log.\n');
  });
});

describe('the working directory of a run', () => {
  test('that is gone at resume is told, with what can be done', async () => {
    const place = new Place();
    place.install(usageLimit(1_000_000_000));
    const cwd = join(place.root, 'gone');
    mkdirSync(cwd);
    expect((await place.onward(['run', '--', ...task], { cwd })).code).toBe(4);
    rmSync(cwd, { recursive: true });
    const [run] = (await place.json(['ls'])) as [{ run: string }];
    const { code, stderr } = await place.onward(['resume', run.run]);
    expect(stderr).toContain(`The directory of this run is gone: ${cwd} [run/cannot-start`);
    expect(stderr).toContain(`onward cancel ${run.run}`);
    expect(code).toBe(2);
    mkdirSync(cwd);
    expect((await place.onward(['resume', run.run])).code).toBe(0);
  });

  test('that is removed under us is told', async () => {
    const place = ready();
    const line = `mkdir d && cd d && rmdir ../d && exec '${process.execPath}' '${BIN}' run -- claude -p x`;
    const { code, stderr } = await place.startProgram(['sh', '-c', line]).ended;
    expect(stderr).toMatch(/^onward: The directory that onward was started in is gone\. \[cli\/no-directory\]\n {2}\S/);
    expect(code).toBe(2);
  });
});

describe('lines that the agent should not write', () => {
  test('not JSON, not UTF-8, of the wrong shape and very long: each is set aside and told, and the task is done', async () => {
    const place = new Place();
    place.install(garbageInBetween(50_000_000));
    const { code, stdout, stderr } = await place.onward(['run', ...quick, '--', ...task]);
    expect([code, stdout], stderr.slice(0, 5_000)).toEqual([0, 'The line is in effects.log.\n']);
    const told = stderr.split('\n').filter((line) => line.includes('a line of the agent was set aside'));
    expect(told.join('\n')).toContain('not valid UTF-8');
    expect(told.join('\n')).toContain('longer than the cap: 49999999 bytes');
    expect(told.length).toBeGreaterThanOrEqual(3);
    for (const line of stderr.split('\n')) expect(line.length).toBeLessThan(1_000);
  });

  test('an agent that writes nothing else does not pass as a success', async () => {
    const place = new Place();
    const lines: Play = {
      attempts: [
        {
          opening: 'none',
          steps: [
            { do: 'lines', lines: ['Done!'] },
            { do: 'exit', code: 0 },
          ],
        },
      ],
    };
    place.install(lines);
    const { code, stdout, stderr } = await place.onward(['run', ...quick, '--', ...task]);
    expect(code, stderr).not.toBe(0);
    expect(stdout).toBe('');
  });
});

describe('text that is piped in', () => {
  test('is part of the prompt, as it would be for the agent alone', async () => {
    const place = new Place();
    const agent = place.install(healthy());
    const { code } = await place.onward(['run', '--', 'claude', '-p', 'Explain this:', '--allowedTools', 'Bash'], {
      input: 'line one\nline two\n',
    });
    expect(code).toBe(0);
    expect(agent.invocations().at(-1)?.prompts[0]).toContain('Explain this:');
    expect(agent.invocations().at(-1)?.prompts[0]).toContain('line one\nline two');
  });

  test('may be all of the prompt', async () => {
    const place = new Place();
    const agent = place.install(healthy());
    expect((await place.onward(['run', '--', 'claude', '-p', '--allowedTools', 'Bash'], { input: 'Do it' })).code).toBe(
      0,
    );
    expect(agent.invocations().at(-1)?.prompts).toEqual(['Do it']);
  });

  test('is kept for an attempt that must send the prompt again', async () => {
    const place = new Place();
    const agent = place.install({
      attempts: [{ steps: [{ do: 'kill', signal: 'SIGKILL' }], opening: 'none' }, ...healthy().attempts],
    });
    const { code, stderr } = await place.onward(
      ['run', ...quick, '--', 'claude', '-p', 'See', '--allowedTools', 'Bash'],
      { input: 'piped text' },
    );
    expect(code, stderr).toBe(0);
    expect(agent.invocations().at(-1)?.prompts[0]).toContain('piped text');
  });

  test('of more than a prompt can hold is refused', async () => {
    const place = ready();
    const { code, stderr } = await place.onward(['run', '--', ...task], { input: Buffer.alloc(17 * 1024 * 1024, 'x') });
    expect(stderr).toContain('[cli/input-too-large]');
    expect(code).toBe(2);
  });

  test('never, by a pipe that was inherited and stays silent, does not hang', async () => {
    const place = ready();
    const run = place.start(['run', '--', ...task], { stdio: ['pipe', 'pipe', 'pipe'] });
    const { code, stderr } = await run.ended;
    expect(stderr).toContain('no input came through the pipe within 3 s; going on without it');
    expect(code).toBe(0);
  });

  test('is not waited for when the command is wrong', async () => {
    const place = ready();
    const run = place.start(['run', '--', 'no-such-agent'], { stdio: ['pipe', 'pipe', 'pipe'] });
    await until('it is refused', () => run.stderr().includes('[run/unknown-agent'), 2_500);
    expect((await run.ended).code).toBe(2);
  });
});
