/** Randomness is passed in, so that tests can be exact. */
export type RandomBytes = (size: number) => Buffer
