import type { Observation } from '../../adapter.ts';
import type { Calls } from './calls.ts';
import { answerLine, hookIds, refusalLine } from './protocol.ts';
import { shapeAt, type Shape, textAt } from './shape.ts';
import { callOfTask, type Tasks } from './tasks.ts';

/** What answering needs to know of the attempt. */
export interface CallState {
  readonly calls: Calls;
  readonly tasks: Tasks;
}

/** What the CLI asks its host. Everything is answered: an open question would stop the CLI for good. */
export function controlRequest(state: CallState, line: Shape): readonly Observation[] {
  const requestId = textAt(line, 'request_id');
  const request = shapeAt(line, 'request');
  if (requestId === undefined || request === undefined)
    return [{ kind: 'malformed', reason: 'control request without an id or a body' }];
  const subtype = textAt(request, 'subtype') ?? '';
  switch (subtype) {
    case 'hook_callback':
      return hookCallback(state, requestId, request);
    case 'can_use_tool':
      // Arises only if somebody made the host the judge of permissions. Nobody sits here: the safe answer is no.
      return [reply(answerLine(requestId, { behavior: 'deny', message: 'Nobody is there to allow this tool call.' }))];
    case 'elicitation':
      return [reply(answerLine(requestId, { action: 'cancel' }))];
    default:
      return [reply(refusalLine(requestId, `This host does not serve "${subtype}".`))];
  }
}

function reply(line: string): Observation {
  return { kind: 'reply', line };
}

/**
 * A hook of ours. The answer is the empty one: it neither allows nor denies, so the user's own permission rules decide as
 * they would without us.
 */
function hookCallback(state: CallState, requestId: string, request: Shape): readonly Observation[] {
  const go = answerLine(requestId, {});
  const input = shapeAt(request, 'input');
  const id = textAt(input, 'tool_use_id') ?? textAt(request, 'tool_use_id');
  const callback = textAt(request, 'callback_id');
  if (input === undefined || id === undefined) return [reply(go)];
  const parent = callOfTask(state.tasks, textAt(input, 'agent_id'));
  if (callback === hookIds.before) return [state.calls.intended(id, parent, requestId, input)];
  if (callback !== hookIds.after) return [reply(go)];
  const failed = textAt(input, 'hook_event_name') === 'PostToolUseFailure';
  // Stopped by an interrupt: how far it came is unknown, so it counts as not finished.
  if (failed && input['is_interrupt'] === true) return [reply(go)];
  const [end] = state.calls.finished(id, parent, !failed, failed ? input['error'] : input['tool_response']);
  return end?.kind === 'call-finished' ? [{ ...end, reply: go }] : [reply(go)];
}
