/** The names that the `:one` parts of a pattern took in a path; `undefined` when the path does not fit. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const names: string[] = [];
  const source = pattern
    .split('/')
    .map((part) => {
      if (part === '**') return '.+';
      if (!part.startsWith(':')) return part.replaceAll(/[.+]/g, '\\$&').replaceAll('*', '[^/]+');
      names.push(part);
      return '([^/]+)';
    })
    .join('/')
    .replace(/^\.\+\//, '(?:.+/)?');
  const match = new RegExp(`^${source}$`).exec(path);
  if (match === null) return undefined;
  return Object.fromEntries(names.map((name, index) => [name, match[index + 1] ?? '']));
}

/** True when the path fits one of the patterns. */
export function matchesAny(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) => matchPath(pattern, path) !== undefined);
}
