/** Most characters of text that a tool hands to the model. */
export const mostText: number = 64 * 1024;

/** The text, whole or without its middle, and always well-formed. */
export function cutMiddle(text: string, most: number = mostText): string {
  if (text.length <= most) return text.toWellFormed();
  const half = Math.floor(most / 2);
  const left = text.length - 2 * half;
  return `${text.slice(0, half)}\n[... ${left} characters left out ...]\n${text.slice(-half)}`.toWellFormed();
}
