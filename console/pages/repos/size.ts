const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** A number of bytes for people, such as “1.2 MB” or “12 MB”. */
export function sizeText(bytes: string | number | undefined): string {
  let value = Number(bytes ?? 0)
  let unit = 0
  // 999.5 kB would be rounded to 1000 kB.
  while (value >= (unit === 0 ? 1000 : 999.5) && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0 })} ${units[unit]}`
}
