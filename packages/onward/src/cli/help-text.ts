import type { Command, Help } from 'commander';
import { exitCodes } from './exit-codes.ts';

/** Help and a screen are this wide and this high; a test measures. */
const width = 80;

/** What stands at the top of the help of a command: lines to copy. Keyed by its name, `lab list` for a command of a command. */
const examples: Readonly<Record<string, readonly string[]>> = {
  onward: [
    'onward run -- claude -p "Fix the failing tests" --permission-mode acceptEdits',
    'onward chat --model anthropic/claude-sonnet-4-5 "Explain the failing tests"',
    'onward demo     a failure survived on screen: no key, no network, 10 s',
  ],
  run: [
    'onward run -- claude -p "Fix the failing tests" --permission-mode acceptEdits',
    'onward run --agent codex "Explain the failing tests"',
  ],
  chat: [
    'onward chat --model anthropic/claude-sonnet-4-5 "Explain the failing tests"',
    'onward chat 4cc2 "Now fix them" --approve edits',
    'git diff | onward chat      ONWARD_MODEL names the model',
  ],
  questions: ['onward questions'],
  answer: ['onward answer 3b1f approve', 'onward answer 3b1f deny --note "use the test database"'],
  ls: ['onward ls', 'onward ls --here', 'onward ls --json | jq -r .id'],
  show: ['onward show          the newest run of this directory', 'onward show 4cc2     or nightly, its name'],
  why: ['onward why           the newest run of this directory', 'onward why 4cc2      or nightly, its name'],
  tail: ['onward tail          the newest run of this directory', 'onward tail 4cc2 --json'],
  resume: [
    'onward resume        the newest run of this directory',
    'onward resume 4cc2 --now',
    'onward resume --due  e.g. every ten minutes by cron',
  ],
  cancel: ['onward cancel        the newest run of this directory', 'onward cancel 4cc2'],
  rm: ['onward rm 4cc2'],
  prune: ['onward prune --older-than 30d'],
  doctor: ['onward doctor'],
  demo: ['onward demo', 'onward demo --agent claude   the real one, against a scripted model'],
  lab: ['onward lab list', 'onward lab play overloaded-twice'],
  session: ['onward session check FILE', 'onward session check FILE --repair'],
  'session check': ['onward session check ~/.claude/projects/FOLDER/ID.jsonl', 'onward session check FILE --repair'],
  acp: ['onward acp serve --model anthropic/claude-sonnet-4-5'],
  'acp serve': [
    'onward acp serve --model anthropic/claude-sonnet-4-5',
    'onward acp serve --approve edits   files may be written without asking',
  ],
  'lab list': ['onward lab list'],
  'lab serve': ['onward lab serve --port 8080'],
  'lab play': ['onward lab play overloaded-twice --temperament reader'],
};

/** Commands that share a line of the whole help, so that it stays on one screen. */
const together: readonly (readonly [names: readonly string[], says: string])[] = [
  [['questions', 'answer'], 'what waits for your word; your word'],
  [['resume', 'cancel'], 'go on with one that rests or died; end it for good'],
  [['rm', 'prune'], 'erase one that is over; runs that were over long ago'],
];

/** The help of a command: examples, usage, then what there is. */
export function formatHelp(command: Command, helper: Help): string {
  const name = pathOf(command);
  const isRoot = command.parent === null;
  const shown = (examples[name] ?? []).map((line) => `  ${line}`);
  const about = isRoot || command.summary() === '' ? [] : [sentence(command.summary())];
  const usage = `Usage: ${helper.commandUsage(command)}`;
  const subs = helper.visibleCommands(command).filter((sub) => sub.name() !== 'help');
  const all = subs.map((sub) => [sub.name(), helper.subcommandDescription(sub)] as const);
  const parts = isRoot ? all.flatMap(shareLines) : all;
  const options = isRoot
    ? []
    : helper
        .visibleOptions(command)
        .filter((option) => option.long !== '--help')
        .map((option) => [helper.optionTerm(option), helper.optionDescription(option)] as const);
  const blocks = [['Examples:', ...shown], [...about, usage], columns([...parts, ...options]), isRoot ? ending() : []];
  return `${blocks
    .filter((block) => block.length > 0)
    .map((block) => block.join('\n'))
    .join('\n\n')}\n`;
}

function shareLines([name, says]: readonly [string, string]): readonly (readonly [string, string])[] {
  const group = together.find(([names]) => names.includes(name));
  if (group === undefined) return [[name, says]];
  const [names, shared] = group;
  return names[0] === name ? [[names.join(', '), shared]] : [];
}

/** `run`, `lab list`; `onward` for the whole. */
function pathOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null && at.parent !== null; at = at.parent) names.unshift(at.name());
  return names.join(' ') || command.name();
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const first = Math.max(0, ...rows.map(([term]) => term.length));
  return rows.map(([term, description]) => `  ${term.padEnd(first)}  ${description}`);
}

function ending(): readonly string[] {
  const codes = Object.values(exitCodes).map(({ code, short }) => `${code} ${short}`);
  return wrap(`Exit: ${codes.join(', ')}.`);
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
