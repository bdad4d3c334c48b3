import type { Json, JsonObject } from './json.ts';
import { asList, asObject, asText } from './json.ts';

/** The smallest harmless value that a JSON schema accepts; of an object only what is required. */
export function sampleOf(schema: JsonObject): Json {
  const [choice] = asList(schema['enum']);
  if (choice !== undefined) return choice;
  switch (asText(schema['type'])) {
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return sampleOfObject(schema);
    default:
      return '.';
  }
}

function sampleOfObject(schema: JsonObject): JsonObject {
  const properties = asObject(schema['properties']);
  const names = asList(schema['required']).map(asText);
  return Object.fromEntries(names.map((name) => [name, sampleOf(asObject(properties[name]))]));
}
