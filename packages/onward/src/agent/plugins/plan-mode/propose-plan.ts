import type { Json } from '../../../kernel/json.ts';
import { planOf, toolName } from './plan-state.ts';

/** What the model gives to `propose_plan`. */
export interface PlanInput {
  /** The whole plan, as a person should read it. */
  readonly plan: string;
}

/** The tool beside the plugin: what an agent's list of tools takes (see `Tool`). */
export interface PlanTool {
  readonly name: string;
  readonly description: string;
  readonly input: {
    readonly '~standard': {
      readonly version: 1;
      readonly vendor: string;
      readonly validate: (
        value: unknown,
      ) =>
        | { readonly value: PlanInput; readonly issues?: undefined }
        | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] }[] };
    };
  };
  readonly inputSchema: Json;
  readonly effect: 'none';
  readonly approval: {
    readonly version: string;
    readonly text: (input: PlanInput) => string;
    readonly mayAnswer: readonly string[];
  };
  run(input: PlanInput): Json;
}

/** Version of the rule that a plan is approved by a person. */
export const approvalVersion = 'plan-mode/1';

/** What is asked. The plan itself is in the question's details, word for word. */
export const approvalText = 'The agent proposes a plan. May it be carried out?';

/** Its body is reached only after somebody approved; then the plan is no longer a proposal. */
export function proposePlan(mayAnswer: readonly string[]): PlanTool {
  return {
    name: toolName,
    description:
      'Proposes a plan to the person you work for, in plan mode. Call it once you have looked at everything you need. ' +
      'The result says whether the plan was approved.',
    input: { '~standard': { version: 1, vendor: 'onward', validate } },
    inputSchema: {
      type: 'object',
      properties: { plan: { type: 'string', minLength: 1, description: 'The whole plan, in Markdown.' } },
      required: ['plan'],
      additionalProperties: false,
    },
    effect: 'none',
    approval: { version: approvalVersion, text: () => approvalText, mayAnswer },
    run: () => 'The plan was approved. Plan mode is off: carry the plan out now.',
  };
}

function validate(value: unknown): ReturnType<PlanTool['input']['~standard']['validate']> {
  const plan = planOf(value);
  return plan === undefined
    ? { issues: [{ message: 'must be a text that is not empty', path: ['plan'] }] }
    : { value: { plan } };
}
