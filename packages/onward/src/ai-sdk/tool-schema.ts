import type { StandardSchema } from '../agent/index.ts';
import type { Json } from '../kernel/json.ts';

type Checked = Awaited<ReturnType<StandardSchema['~standard']['validate']>>;

/** A schema as a tool of ours has it. */
export interface ToolSchema {
  readonly input: StandardSchema;
  /** Where the schema library does not say it by itself. */
  readonly inputSchema?: Json;
}

/** What the AI SDK calls a `Schema`: made by `jsonSchema()`, `zodSchema()` and by MCP clients. */
interface SdkSchema {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => PromiseLike<SdkResult> | SdkResult;
}
type SdkResult =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: { readonly message: string } };

/** Any schema that the AI SDK takes: Standard Schema, its own, or a function that makes one. A text says why it is none. */
export function toToolSchema(schema: unknown): ToolSchema | string {
  if (isStandard(schema)) {
    return schema['~standard'].jsonSchema === undefined
      ? `a schema that can say itself as JSON Schema (this one, of ${schema['~standard'].vendor}, cannot; Zod can from 4.2 on)`
      : { input: schema };
  }
  if (typeof schema === 'function') return toToolSchema((schema as () => unknown)());
  if (!isSdkSchema(schema)) return 'a schema of Zod or another Standard Schema library, or jsonSchema()';
  const { jsonSchema } = schema;
  if (typeof jsonSchema !== 'object' || jsonSchema === null || 'then' in jsonSchema)
    return 'a schema that is there at once, and not promised';
  return { input: standardOf(schema, jsonSchema), inputSchema: jsonSchema as Json };
}

function isStandard(schema: unknown): schema is StandardSchema {
  // ArkType schemas are functions.
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  return typeof (schema as Partial<StandardSchema>)['~standard']?.validate === 'function';
}

function isSdkSchema(schema: unknown): schema is SdkSchema {
  return typeof schema === 'object' && schema !== null && 'jsonSchema' in schema;
}

function standardOf(schema: SdkSchema, json: object): StandardSchema {
  const validate = async (value: unknown): Promise<Checked> => {
    if (schema.validate === undefined) return byShape(json, value);
    const result = await schema.validate(value);
    return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
  };
  return { '~standard': { version: 1, vendor: 'ai-sdk', validate } };
}

/** `jsonSchema()` without `validate` checks nothing. A call without what it needs should still not run. */
function byShape(json: { readonly type?: unknown; readonly required?: unknown }, value: unknown): Checked {
  if (json.type !== 'object') return { value };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { issues: [{ message: 'must be an object' }] };
  const required: readonly unknown[] = Array.isArray(json.required) ? json.required : [];
  const missing = required.filter((name) => typeof name === 'string' && !Object.hasOwn(value, name));
  return missing.length === 0
    ? { value }
    : { issues: missing.map((name) => ({ message: 'is missing', path: [name] })) };
}
