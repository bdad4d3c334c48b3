/** Waits for a fact, not for a time: looks again and again until `look` gives something or the deadline ends. */
export async function until<T>(what: string, look: () => T | Promise<T>, deadlineMs = 30_000): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`did not come true within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
