import type { Observation } from '../../adapter.ts';
import { jsonAt, shapesAt, type Shape, textAt } from './shape.ts';
import { toolOutput } from './tool-output.ts';

/** Calls whose end was reported, so that the hook and the stream do not report it twice. */
export type FinishedCalls = Set<string>;

/** The tool calls that an assistant line shows. */
export function startedCalls(message: Shape): readonly Observation[] {
  return shapesAt(message, 'content').flatMap((block): readonly Observation[] => {
    const callId = textAt(block, 'id');
    const tool = textAt(block, 'name');
    if (textAt(block, 'type') !== 'tool_use' || callId === undefined || tool === undefined) return [];
    return [{ kind: 'call-started', callId, tool, input: jsonAt(block, 'input') }];
  });
}

/** The results which a user line hands back to the model. */
export function finishedCalls(finished: FinishedCalls, line: Shape, message: Shape): readonly Observation[] {
  // After an interrupt the CLI says "rejected" of a call that may well have run: its outcome stays unknown.
  if (line['tool_use_result'] === 'User rejected tool use') return [];
  return shapesAt(message, 'content').flatMap((block): readonly Observation[] => {
    const callId = textAt(block, 'tool_use_id');
    if (textAt(block, 'type') !== 'tool_result' || callId === undefined || finished.has(callId)) return [];
    finished.add(callId);
    return [{ kind: 'call-finished', callId, ok: block['is_error'] !== true, output: toolOutput(block['content']) }];
  });
}

/** True when a user line hands a tool's result back to the model. */
export function bringsResult(message: Shape): boolean {
  return shapesAt(message, 'content').some((block) => textAt(block, 'type') === 'tool_result');
}
