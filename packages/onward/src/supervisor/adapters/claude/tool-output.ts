import { asShape, textAt } from './shape.ts';

/** What a tool answered, as text: content blocks, the shell's two streams, or whatever it is as JSON. */
export function toolOutput(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(blockText).join('\n');
  const shape = asShape(value);
  if (shape === undefined) return value === undefined || value === null ? '' : JSON.stringify(value);
  const out = textAt(shape, 'stdout');
  const error = textAt(shape, 'stderr');
  if (out !== undefined || error !== undefined) return [out, error].filter(Boolean).join('\n');
  if (Array.isArray(shape['content'])) return toolOutput(shape['content']);
  return JSON.stringify(shape);
}

function blockText(block: unknown): string {
  if (typeof block === 'string') return block;
  const shape = asShape(block);
  return textAt(shape, 'text') ?? `[${textAt(shape, 'type') ?? 'unknown'}]`;
}
