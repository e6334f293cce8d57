const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** A number of bytes for people, such as `1 byte`, `17.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes === 1) return '1 byte'
  let [value, unit] = [bytes, 0]
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1]
  const text = unit === 0 ? String(value) : value.toFixed(1).replace(/\.0$/, '')
  return `${text} ${units[unit]}`
}

/** Such as `1 blob` and `2,000 blobs`. */
export const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
