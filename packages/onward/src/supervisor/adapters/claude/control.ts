import type { Observation } from '../../adapter.ts';
import type { FinishedCalls } from './calls.ts';
import { answerLine, hookIds, refusalLine } from './protocol.ts';
import { jsonAt, shapeAt, type Shape, textAt } from './shape.ts';
import { toolOutput } from './tool-output.ts';

/** What the CLI asks its host. Everything is answered: an open question would stop the CLI for good. */
export function controlRequest(finished: FinishedCalls, line: Shape): readonly Observation[] {
  const requestId = textAt(line, 'request_id');
  const request = shapeAt(line, 'request');
  if (requestId === undefined || request === undefined)
    return [{ kind: 'malformed', reason: 'control request without an id or a body' }];
  const subtype = textAt(request, 'subtype') ?? '';
  switch (subtype) {
    case 'hook_callback':
      return hookCallback(finished, requestId, request);
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
 * A hook of ours. The answer is always the empty one: it neither allows nor denies, so the user's own permission rules
 * decide as they would without us.
 */
function hookCallback(finished: FinishedCalls, requestId: string, request: Shape): readonly Observation[] {
  const go = answerLine(requestId, {});
  const input = shapeAt(request, 'input');
  const callId = textAt(input, 'tool_use_id') ?? textAt(request, 'tool_use_id');
  const callback = textAt(request, 'callback_id');
  if (input === undefined || callId === undefined) return [reply(go)];
  if (callback === hookIds.before) {
    const tool = textAt(input, 'tool_name') ?? 'unknown';
    return [{ kind: 'call-intended', callId, tool, input: jsonAt(input, 'tool_input'), reply: go }];
  }
  if (callback !== hookIds.after || finished.has(callId)) return [reply(go)];
  const failed = textAt(input, 'hook_event_name') === 'PostToolUseFailure';
  // Stopped by an interrupt: how far it came is unknown, so it counts as not finished.
  if (failed && input['is_interrupt'] === true) return [reply(go)];
  finished.add(callId);
  const output = toolOutput(failed ? input['error'] : input['tool_response']);
  return [{ kind: 'call-finished', callId, ok: !failed, output, reply: go }];
}
