/* Text that agents and servers wrote must not steer a terminal: no cursor, no title, no colours of its own. */

// oxlint-disable-next-line no-control-regex -- control characters are the subject
const escapes = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[@-Z\\^_])/g;
// oxlint-disable-next-line no-control-regex -- as above
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
// oxlint-disable-next-line no-control-regex -- as above
const ownColors = /(\u001B\[[0-9;]*m)/;

/** The text without escape sequences and control characters; line ends and tabs stay. */
export function withoutControls(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(escapes, '').replace(controls, '');
}

/** As `withoutControls`, but colours stay: for lines that we coloured ourselves. */
export function onlyColors(text: string): string {
  return text
    .split(ownColors)
    .map((part, index) => (index % 2 === 1 ? part : withoutControls(part)))
    .join('');
}

/** The text on one line of at most `most` characters, cut where it is longer. */
export function oneLine(text: string, most: number): string {
  const line = withoutControls(text).replaceAll(/\s+/g, ' ').trim();
  if (line.length <= most) return line;
  return `${line
    .slice(0, most - 3)
    .toWellFormed()
    .replace(/\uFFFD$/, '')}...`;
}
