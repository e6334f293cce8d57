// Advisory ids that are valid, unique, and the same in every run.

/** The characters of advisory ids, as digits in base 20. */
const digits = '23456789cfghjmpqrvwx'

/** Each call increments the last group of the id. `prefix` is the part before that group, such as `CGA-cccc-cccc`. */
export function countingIds(prefix: string): () => string {
  let count = 0
  return () => {
    const last = [8000, 400, 20, 1].map((unit) => digits[Math.floor(count / unit) % 20]).join('')
    count++
    return `${prefix}-${last}`
  }
}
