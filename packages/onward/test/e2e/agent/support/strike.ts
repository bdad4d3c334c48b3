/** Places besides the durable writes where the process may die. */
export const points = [
  'asked',
  'in-text',
  'in-look',
  'before-write',
  'after-write',
  'before-send',
  'accepted',
  'answered',
  'in-lookup',
  'before-danger',
  'after-danger',
] as const;
export type Point = (typeof points)[number];

/** Where it dies: around a durable write by its number, or at a place. */
export type Strike = { readonly commit: number; readonly when: 'before' | 'after' } | { readonly point: Point };
