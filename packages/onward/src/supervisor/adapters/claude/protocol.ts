import type { Json } from '../../../kernel/json.ts';

/** Names under which our hooks are registered; they come back as `callback_id`. */
export const hookIds: { readonly before: string; readonly after: string } = {
  before: 'onward-before',
  after: 'onward-after',
};

/** Last line of each refusal of ours: tells the model, and us when we read it again, that no rule of the user's was broken. */
export const refusalMark = '(Refused by Onward, not by permission rules.)';

const line = (value: Json): string => JSON.stringify(value);

/**
 * First line of every attempt: asks for our hooks in-band. A tool then waits until we have answered, so that its
 * intent is on record before its effect. `onFailure: block` closes the gate when we die (2.1.318; earlier versions ignore it).
 */
export function initializeLine(): string {
  const after = [{ matcher: null, hookCallbackIds: [hookIds.after] }];
  return line({
    type: 'control_request',
    request_id: 'onward-initialize',
    request: {
      subtype: 'initialize',
      hooks: {
        PreToolUse: [{ matcher: null, hookCallbackIds: [hookIds.before], onFailure: 'block' }],
        PostToolUse: after,
        PostToolUseFailure: after,
      },
    },
  });
}

/** What a person says, as one message. */
export function userLine(prompt: string): string {
  return line({
    type: 'user',
    message: { role: 'user', content: [{ type: 'text', text: prompt }] },
    parent_tool_use_id: null,
    session_id: '',
  });
}

/** Stops the running turn and keeps every call that finished; answered by a `result` within milliseconds. */
export function interruptLine(): string {
  return line({ type: 'control_request', request_id: 'onward-interrupt', request: { subtype: 'interrupt' } });
}

/** A successful answer to a request of the CLI. */
export function answerLine(requestId: string, response: Json): string {
  return line({ type: 'control_response', response: { subtype: 'success', request_id: requestId, response } });
}

/** A refusal of a request of the CLI that we do not serve. */
export function refusalLine(requestId: string, error: string): string {
  return line({ type: 'control_response', response: { subtype: 'error', request_id: requestId, error } });
}
