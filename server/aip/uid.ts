// A uid is a path: 40 hex digits for the root, then 16 for each segment below it.
import { createHash } from 'node:crypto'
import type { RandomBytes } from '../crypto/random.ts'

const rootLength = 40
const segmentLength = 17
const mostSegments = 64
const slash = '/'.charCodeAt(0)

/** Every call asks this, and a pattern would take three times as long. */
export function isUid(text: string): boolean {
  const below = text.length - rootLength
  if (below < 0 || below % segmentLength !== 0 || below > mostSegments * segmentLength) return false
  let separator = rootLength
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (at !== separator) {
      if (!isHex(unit)) return false
    } else if (unit === slash) separator += segmentLength
    else return false
  }
  return true
}

/** A digit, or a letter from a to f. */
const isHex = (unit: number) => (unit >= 48 && unit <= 57) || (unit >= 97 && unit <= 102)

export const newRootUid = (random: RandomBytes) => random(20).toString('hex')

/** A stretch of time whose uids lie together, in milliseconds; and how many there are before they come again. */
const stretch = 64
const stretches = 2 ** 24

/**
 * The clock leads and chance follows, so that what is made together lies together in every index, and to write it
 * touches few pages. Chance alone makes it unique: the clock comes round every twelve days.
 */
export function newChildUid(parent: string, now: number, random: RandomBytes): string {
  const lead = Math.floor(now / stretch) % stretches
  return `${parent}/${lead.toString(16).padStart(6, '0')}${random(5).toString('hex')}`
}

/** A user is known by issuer and subject, and so is the uid: it can be told before the user is there. */
export const userUid = (issuer: string, subject: string) =>
  createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, rootLength)

/** The organization, user or built-in role that a uid starts with. */
export const rootOf = (uid: string) => uid.slice(0, rootLength)

/** The uid one level up, `` for a root. */
export const parentOf = (uid: string) => uid.slice(0, Math.max(0, uid.lastIndexOf('/')))

/** How many segments a uid has: 1 for a root. */
export const depthOf = (uid: string) => 1 + (uid.length - rootLength) / segmentLength

/** Everything is below ``, the place above all roots. */
export const isBelow = (uid: string, place: string) =>
  uid.length > place.length && (place === '' || (uid[place.length] === '/' && uid.startsWith(place)))

export const isAtOrBelow = (uid: string, place: string) => uid === place || isBelow(uid, place)

/** A uid and everything above it, the root first. */
export function lineage(uid: string): string[] {
  const line: string[] = []
  for (let end = rootLength; end <= uid.length; end += segmentLength) line.push(uid.slice(0, end))
  return line
}
