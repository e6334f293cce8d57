const units = ['kB', 'MB', 'GB', 'TB', 'PB']

/** A number of bytes with a decimal unit, as docker shows it: `912 B`, `1.2 kB`, `345 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  let [value, at] = [bytes / 1000, 0]
  // 999.5 would be rounded to 1000.
  for (; value >= 999.5 && at < units.length - 1; at++) value /= 1000
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[at]}`
}
