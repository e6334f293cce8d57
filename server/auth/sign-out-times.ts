// Times of sign-outs, in whole seconds since 1970.

export const secondOf = (time: number) => Math.floor(time / 1000)

/** The stored sign-out time of a disabled person: the end of the year 9999, which is later than every sign-in. */
export const endOfTime = 253_402_300_799
