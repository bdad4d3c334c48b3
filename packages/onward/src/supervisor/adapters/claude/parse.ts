import type { CommandRefusal, ParsedCommand, UserCommand } from '../../adapter.ts';
import { type Argument, readArguments } from './flags.ts';
import { ownedFlag } from './owned-flags.ts';
import { settingsArgument } from './settings.ts';

type Parsed = ({ readonly ok: true } & ParsedCommand) | ({ readonly ok: false } & CommandRefusal);
type Flag = Extract<Argument, { kind: 'flag' }>;

/** Sub-commands of 2.1.197: they do something else than work on a task. */
const subcommands: readonly string[] = [
  'agents',
  'auth',
  'auto-mode',
  'config',
  'doctor',
  'gateway',
  'install',
  'mcp',
  'migrate-installer',
  'plugin',
  'plugins',
  'project',
  'setup-token',
  'ultrareview',
  'update',
  'upgrade',
];

/** Understands `claude -p "..." [flags]`, or says why it cannot be supervised. */
export function parse(command: UserCommand): Parsed {
  const words = command.argv.slice(1);
  const first = words[0];
  if (first !== undefined && subcommands.includes(first))
    return refuse(first, `"claude ${first}" is no task to keep going.`, [`Run it without Onward: claude ${first}`]);
  const read = readArguments(words);
  const flags = read.filter((argument) => argument.kind === 'flag');
  const owned = flags.map(refusalOf).find((refusal) => refusal !== undefined);
  if (owned !== undefined) return owned;
  if (!flags.some((flag) => flag.name === '-p' || flag.name === '--print'))
    return refuse('-p', 'Without -p, Claude Code waits for a person at the keyboard.', [
      'Add -p: onward run -- claude -p "what to do"',
    ]);
  return withPrompt(command, read, flags);
}

function withPrompt(command: UserCommand, read: readonly Argument[], flags: readonly Flag[]): Parsed {
  const prompt = findPrompt(read);
  if (prompt === 'several')
    return refuse('prompt', 'There is more than one prompt.', ['Put quotes around the prompt: claude -p "what to do"']);
  // As the bare CLI does: the prompt, a line break, then what was piped in.
  const whole = [read[prompt ?? -1], { kind: 'word' as const, text: command.stdin ?? '' }]
    .flatMap((part) => (part?.kind === 'word' && part.text !== '' ? [part.text] : []))
    .join('\n');
  if (whole.trim() === '') return refuse('prompt', 'There is no prompt.', promptAdvice(flags));
  const settings = settingsArgument(flags);
  if (settings.kind === 'unusable') return refuse('--settings', settings.sentence, settings.next);
  const options = read.flatMap((argument, index) => {
    if (index === prompt) return [];
    if (argument.kind === 'word') return [argument.text];
    if (dropped.includes(argument.name)) return [];
    // Only the last --settings counts for the CLI; it is merged with ours at launch.
    return argument.name === '--settings' ? [] : argument.words;
  });
  const model = lastValue(flags, '--model');
  return {
    ok: true,
    options: settings.kind === 'none' ? options : [...options, '--settings', settings.value],
    prompt: whole,
    permissions: permissionsOf(flags),
    ...(model === undefined ? {} : { model }),
  };
}

/** Given anyway on every attempt. */
const dropped: readonly string[] = ['-p', '--print', '--verbose', '--include-partial-messages'];

/** Index of the prompt. A word after an unknown flag is that flag's value as long as another word can be the prompt. */
function findPrompt(read: readonly Argument[]): number | 'several' | undefined {
  const words = read.flatMap((argument, index) =>
    argument.kind === 'word' ? [{ index, doubtful: argument.doubtful }] : [],
  );
  if (words.length <= 1) return words[0]?.index;
  const sure = words.filter((word) => !word.doubtful);
  if (sure.length === 1) return sure[0]?.index;
  return sure.length === 0 ? words.at(-1)?.index : 'several';
}

/** The usual slip: a flag that takes several values has swallowed the prompt. */
function promptAdvice(flags: readonly Flag[]): readonly string[] {
  const greedy = flags.find((flag) => flag.known && flag.values.length > 1);
  const advice = 'Say what to do: onward run -- claude -p "what to do"';
  if (greedy === undefined) return [advice];
  return [
    `Put the prompt before ${greedy.name}, which takes every word after it: claude -p "what to do" ${greedy.name} ...`,
  ];
}

function refusalOf(flag: Flag): Parsed | undefined {
  const owned = ownedFlag(flag.name, flag.values[0]);
  return owned === undefined ? undefined : refuse(flag.name, owned.sentence, owned.next);
}

function permissionsOf(flags: readonly Flag[]): string {
  const given = (name: string): boolean => flags.some((flag) => flag.name === name);
  const mode = given('--dangerously-skip-permissions')
    ? 'bypassPermissions'
    : (lastValue(flags, '--permission-mode') ?? 'default');
  const allowed = flags.flatMap((flag) =>
    flag.name === '--allowedTools' || flag.name === '--allowed-tools' ? flag.values : [],
  );
  return allowed.length === 0 ? mode : `${mode}, allowed: ${allowed.join(' ')}`;
}

function lastValue(flags: readonly Flag[], name: string): string | undefined {
  return flags.findLast((flag) => flag.name === name)?.values[0];
}

function refuse(argument: string, sentence: string, next: readonly string[]): Parsed {
  return { ok: false, argument, sentence, next };
}
