import type { Launch, LaunchInput, StopStep } from '../../adapter.ts';
import { isFlag, readFlag } from './flags.ts';

/**
 * SIGINT first: codex then keeps the result of a finished command in its history, which SIGTERM replaces by `aborted`. To
 * the group, since the npm program is a wrapper whose child is the agent.
 */
const ladder: readonly StopStep[] = [
  { kind: 'signal', signal: 'SIGINT', target: 'group', ms: 5_000 },
  { kind: 'signal', signal: 'SIGTERM', target: 'group', ms: 5_000 },
];

/**
 * How to start one attempt. The user's options stand before `resume`, the only place where codex takes all of them. Its own
 * retries stay as they are: the built-in provider refuses to have them changed, so they are counted instead.
 */
export function launch(input: LaunchInput): Launch {
  const resumed = input.mode === 'resume' && input.sessionId !== undefined;
  const options = resumed ? withoutImages(input.command.options) : input.command.options;
  const tail = resumed && input.sessionId !== undefined ? ['resume', input.sessionId, '-'] : ['-'];
  return {
    argv: [input.program, ...options, '--json', ...tail],
    env: {},
    input: { lines: [input.prompt], keepOpen: false },
    ladder,
    added: [
      '--json: the event stream that Onward reads',
      ...(resumed ? [`resume ${input.sessionId}: continues the same conversation`] : []),
      ...(options.length < input.command.options.length ? ['left out --image: it is in the conversation already'] : []),
      '-: the prompt goes by standard input, where no other user of the machine can read it',
    ],
  };
}

/** The first prompt's images are part of the history; sent again they would be attached to the continuation as well. */
function withoutImages(options: readonly string[]): readonly string[] {
  const kept: string[] = [];
  let dropping = false;
  for (const word of options) {
    const starts = word.startsWith('-') && word !== '-';
    if (starts) {
      const flag = readFlag(word);
      const image = isFlag(flag.name, '--image');
      dropping = image && flag.glued === undefined;
      if (image) continue;
    }
    if (!dropping) kept.push(word);
  }
  return kept;
}
