import type { Json } from '../../../kernel/json.ts';

/** What the model gives to `goal_done`. */
export interface GoalDoneInput {
  /** What was reached, in a sentence or two. */
  readonly summary: string;
}

/** The tool beside the plugin: what an agent's list of tools takes (see `Tool`). */
export interface GoalTool {
  readonly name: string;
  readonly description: string;
  readonly input: {
    readonly '~standard': {
      readonly version: 1;
      readonly vendor: string;
      readonly validate: (
        value: unknown,
      ) =>
        | { readonly value: GoalDoneInput; readonly issues?: undefined }
        | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] }[] };
    };
  };
  readonly inputSchema: Json;
  readonly effect: 'none';
  run(input: GoalDoneInput): Promise<Json>;
}

/** The tool's name. */
export const toolName = 'goal_done';

/** `onDone` records it; what it resolves to is what the model reads. The turn goes on: the model has the last word. */
export function goalDone(onDone: (summary: string) => Promise<string>): GoalTool {
  return {
    name: toolName,
    description: 'Says that the goal you were given is reached. Call it only after you have verified that it is.',
    input: { '~standard': { version: 1, vendor: 'onward', validate } },
    inputSchema: {
      type: 'object',
      properties: { summary: { type: 'string', description: 'What was reached, in a sentence or two.' } },
      required: ['summary'],
      additionalProperties: false,
    },
    effect: 'none',
    run: async ({ summary }) => await onDone(summary),
  };
}

function validate(value: unknown): ReturnType<GoalTool['input']['~standard']['validate']> {
  const summary = typeof value === 'object' && value !== null && 'summary' in value ? value.summary : undefined;
  return typeof summary === 'string'
    ? { value: { summary } }
    : { issues: [{ message: 'must be a text', path: ['summary'] }] };
}
