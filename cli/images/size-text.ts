const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A number of bytes with three digits and a decimal unit, as docker shows it: `4.21 MB`. */
export function sizeText(bytes: number): string {
  let value = bytes
  let unit = 0
  // A value that would be rounded to 1000 belongs to the next unit.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`
}
