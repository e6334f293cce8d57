// A uid is a path: 40 hex digits for the root, then a segment of 16 for each level below it.
import { createHash } from 'node:crypto'
import type { RandomBytes } from '../crypto/random.ts'

export const rootLength = 40
const segmentLength = 17 // with its slash
const maxSegments = 64 // below the root
const slash = '/'.charCodeAt(0)

/** Uses no regular expression, because that would take three times as long, and every call checks uids. */
export function isUid(text: string): boolean {
  const lengthBelow = text.length - rootLength
  if (lengthBelow < 0 || lengthBelow % segmentLength !== 0 || lengthBelow > maxSegments * segmentLength)
    return false
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

/** 0 to 9, or a to f. */
const isHex = (unit: number) => (unit >= 48 && unit <= 57) || (unit >= 97 && unit <= 102)

export const newRootUid = (random: RandomBytes) => random(20).toString('hex')

/** Child uids that are created in the same period of this length have the same prefix. */
const prefixMs = 64
/** The number of prefixes. They repeat after twelve days. */
const prefixCount = 2 ** 24

/**
 * The new segment starts with the time, so that resources created together are adjacent in every index and few pages of
 * the index are written. It ends with random digits, which make it unique.
 */
export function newChildUid(parent: string, now: number, random: RandomBytes): string {
  const prefix = Math.floor(now / prefixMs) % prefixCount
  return `${parent}/${prefix.toString(16).padStart(6, '0')}${random(5).toString('hex')}`
}

/** A user's uid is derived from issuer and subject, so it is known before the user exists. */
export const userUid = (issuer: string, subject: string) =>
  createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex')
    .slice(0, rootLength)

/** The organization, user or built-in role that a uid starts with. */
export const rootOf = (uid: string) => uid.slice(0, rootLength)

/** The uid one level up; empty for a root. */
export const parentOf = (uid: string) => uid.slice(0, Math.max(0, uid.lastIndexOf('/')))

/** The number of levels of a uid: 1 for a root. */
export const depthOf = (uid: string) => 1 + (uid.length - rootLength) / segmentLength

/** Every uid is below the empty uid, the parent of all roots. */
export const isBelow = (uid: string, ancestor: string) =>
  uid.length > ancestor.length &&
  (ancestor === '' || (uid.charCodeAt(ancestor.length) === slash && beginsWith(uid, ancestor)))

/**
 * Compares from the end: uids of one organization begin alike, so most of them differ in the last digits of the shorter
 * one. Checking access with 50 bindings takes 0.7 µs this way, and 8.6 µs with `startsWith`.
 */
function beginsWith(uid: string, ancestor: string): boolean {
  for (let at = ancestor.length - 1; at >= 0; at--)
    if (uid.charCodeAt(at) !== ancestor.charCodeAt(at)) return false
  return true
}

export const isAtOrBelow = (uid: string, ancestor: string) => uid === ancestor || isBelow(uid, ancestor)

/** A uid and its ancestors, the root first. */
export function lineage(uid: string): string[] {
  const uids: string[] = []
  for (let end = rootLength; end <= uid.length; end += segmentLength) uids.push(uid.slice(0, end))
  return uids
}
