// A row of the access matrix: a request, and the code that each caller must get for it.
import type { JsonObject } from '@bufbuild/protobuf'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { MatrixContext } from './matrix-context.ts'

/** `here` is the group that the call is about, and `above` is its organization. */
export const callers = [
  'no token',
  'bad token',
  "other organization's owner",
  'viewer here',
  'editor here',
  'owner here',
  'owner above',
] as const

type PerCaller = readonly [number, number, number, number, number, number, number]

export type MatrixRow = {
  request(context: MatrixContext): JsonObject | Promise<JsonObject>
  /** gRPC status codes in the order of `callers`; 0 is success. */
  codes: PerCaller
  /** Number of results in a list, in the order of `callers`; 0 for callers that get an error. */
  visible?: PerCaller
}

// The codes of calls that only these callers may make.
export const readers: PerCaller = [16, 16, 7, 0, 0, 0, 0]
export const editors: PerCaller = [16, 16, 7, 7, 0, 0, 0]
export const owners: PerCaller = [16, 16, 7, 7, 7, 0, 0]
export const everyone: PerCaller = [0, 0, 0, 0, 0, 0, 0]
export const anyToken: PerCaller = [16, 16, 0, 0, 0, 0, 0]

/** The codes of a call that needs these capabilities in the group. */
export function codesFor(capabilities: readonly number[]): PerCaller {
  const [viewer, editor, owner] = ['viewer', 'editor', 'owner'].map((role) =>
    hasAll(role, capabilities) ? 0 : 7,
  ) as [number, number, number] // one code for each role
  return [16, 16, 7, viewer, editor, owner, owner]
}

/**
 * `visible` of a list that needs these capabilities, in a group with one resource: 1 for each
 * caller that has them, 0 for the others.
 */
export function visibleFor(capabilities: readonly number[]): PerCaller {
  const [, , , viewer, editor, owner] = codesFor(capabilities)
  const count = (code: number) => (code === 0 ? 1 : 0)
  return [0, 0, 0, count(viewer), count(editor), count(owner), count(owner)]
}

const hasAll = (role: string, capabilities: readonly number[]) =>
  capabilities.every((number) => builtInRole(role).capabilities.includes(nameOf(number)))
