const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `or try again at 4:10 PM.`, with the date in front when it is another day; at the end of the usage limit's sentence. */
const pattern =
  /\btry again at (?:(?<month>[A-Z][a-z]{2}) (?<day>\d{1,2})(?:st|nd|rd|th), (?<year>\d{4}) )?(?<hour>\d{1,2}):(?<minute>\d{2}) (?<half>[AP]M)\.$/i;

/**
 * When a usage limit ends, as the sentence of codex says it: wall clock in the machine's zone, seconds cut off, which is why the
 * end of that minute is meant. `saidAt` is when it was said; without a date the same day is meant. Both ms since the
 * epoch. `undefined` when the sentence has no time, or one that lies before it was said.
 */
export function readResetTime(sentence: string, saidAt: number): number | undefined {
  const groups = pattern.exec(sentence)?.groups;
  if (groups === undefined) return undefined;
  const hour = (Number(groups['hour']) % 12) + (groups['half']?.toUpperCase() === 'PM' ? 12 : 0);
  const minute = Number(groups['minute']);
  const said = new Date(saidAt);
  const month = groups['month'] === undefined ? said.getMonth() : months.indexOf(groups['month']);
  const year = groups['year'] === undefined ? said.getFullYear() : Number(groups['year']);
  const day = groups['day'] === undefined ? said.getDate() : Number(groups['day']);
  if (month === -1) return undefined;
  const end = new Date(year, month, day, hour, minute + 1).getTime();
  return end > saidAt ? end : undefined;
}
