import type { Observation } from '../../adapter.ts';
import { answerLine, refusalMark } from './protocol.ts';
import { asShape, jsonAt, shapeAt, shapesAt, type Shape, textAt } from './shape.ts';
import { toolOutput } from './tool-output.ts';

/**
 * The tool calls of one attempt. A call of a subagent is named `ID@ID of the call that began the subagent`, so that its
 * fate can be read from the session file, which holds only the outer one.
 */
export class Calls {
  readonly #names = new Map<string, string>();
  /** Calls whose end was reported, so that the hook and the stream do not report it twice. */
  readonly #finished = new Set<string>();
  /** Requests of the CLI to answer before a call may run. */
  readonly #asked = new Map<string, string>();
  /** The CLI's own ids of calls that Onward refused. */
  readonly #refused = new Set<string>();

  /** The name of a call; the first sight of it decides, so that hook and stream agree. */
  name(id: string, parent: string | undefined): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const name = parent === undefined ? id : `${id}@${this.name(parent, undefined)}`;
    this.#names.set(id, name);
    return name;
  }

  /** The tool calls that an assistant line shows. */
  started(message: Shape, parent: string | undefined): readonly Observation[] {
    return shapesAt(message, 'content').flatMap((block): readonly Observation[] => {
      const id = textAt(block, 'id');
      const tool = textAt(block, 'name');
      if (textAt(block, 'type') !== 'tool_use' || id === undefined || tool === undefined) return [];
      return [{ kind: 'call-started', callId: this.name(id, parent), tool, input: jsonAt(block, 'input') }];
    });
  }

  /** A call that is about to run, if it is answered. */
  intended(id: string, parent: string | undefined, requestId: string, input: Shape): Observation {
    const callId = this.name(id, parent);
    this.#asked.set(callId, requestId);
    const tool = textAt(input, 'tool_name') ?? 'unknown';
    const reply = answerLine(requestId, {});
    return { kind: 'call-intended', callId, tool, input: jsonAt(input, 'tool_input'), reply };
  }

  /** The end of a call, once. */
  finished(id: string, parent: string | undefined, ok: boolean, output: unknown): readonly Observation[] {
    const callId = this.name(id, parent);
    if (this.#finished.has(callId)) return [];
    this.#finished.add(callId);
    return [{ kind: 'call-finished', callId, ok, output: toolOutput(output) }];
  }

  /** The results which a user line hands back to the model. */
  returned(line: Shape, message: Shape): readonly Observation[] {
    // After an interrupt the CLI says "rejected" of a call that may well have run: its outcome stays unknown.
    if (line['tool_use_result'] === interrupted) return [];
    const parent = textAt(line, 'parent_tool_use_id');
    return shapesAt(message, 'content').flatMap((block) => {
      const id = textAt(block, 'tool_use_id');
      if (textAt(block, 'type') !== 'tool_result' || id === undefined) return [];
      const failed = block['is_error'] === true;
      // Seen again when the output of an attempt is read anew, after Onward itself had died.
      if (failed && toolOutput(block['content']).endsWith(refusalMark)) this.#refused.add(id);
      return this.finished(id, parent, !failed, block['content']);
    });
  }

  /** The line that refuses a call which the CLI has asked about. */
  refuse(callId: string, reason: string): string {
    this.#refused.add(callId.split('@')[0] ?? callId);
    return answerLine(this.#asked.get(callId) ?? '', {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: `${reason}\n${refusalMark}`,
      },
    });
  }

  /** True for a call, by the CLI's own id, that Onward refused and not the user's rules. */
  refused(id: string | undefined): boolean {
    return id !== undefined && this.#refused.has(id);
  }
}

const interrupted = 'User rejected tool use';

/** True when a user line hands a tool's result back to the model. */
export function bringsResult(message: Shape): boolean {
  return shapesAt(message, 'content').some((block) => textAt(block, 'type') === 'tool_result');
}

/**
 * Whether a session file holds the result of a call. For a call of a subagent, whose own file is never read again, the
 * result of the whole subagent counts; of one in the background, the message that told of its end.
 */
export function keeps(session: string, callId: string): boolean {
  const id = callId.split('@').at(-1) ?? callId;
  const inner = id !== callId;
  // A file is long and asked about every call: only lines that name this one are looked at.
  for (let at = session.indexOf(id); at >= 0;) {
    const end = session.indexOf('\n', at);
    const line = session.slice(session.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end);
    if (holdsResult(line, id, inner)) return true;
    at = end < 0 ? -1 : session.indexOf(id, end);
  }
  return false;
}

function holdsResult(text: string, id: string, inner: boolean): boolean {
  const line = parse(text);
  if (textAt(line, 'type') !== 'user' || line === undefined) return false;
  const message = shapeAt(line, 'message');
  if (inner && toolOutput(message?.['content']).includes(`<tool-use-id>${id}</tool-use-id>`)) return true;
  if (line['toolUseResult'] === interrupted) return false;
  if (inner && textAt(shapeAt(line, 'toolUseResult'), 'status') === 'async_launched') return false;
  return shapesAt(message, 'content').some(
    (block) => textAt(block, 'type') === 'tool_result' && textAt(block, 'tool_use_id') === id,
  );
}

function parse(text: string): Shape | undefined {
  try {
    return asShape(JSON.parse(text));
  } catch {
    // The first line of a tail is cut.
    return undefined;
  }
}
