// A row of the access matrix: a request, and the code that each caller must get for it.
import type { JsonObject } from '@bufbuild/protobuf'
import { builtInRole } from '../../server/policy/built-in-roles.ts'
import { nameOf } from '../../server/policy/capabilities.ts'
import type { Scene } from './scene.ts'

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
  request(scene: Scene): JsonObject | Promise<JsonObject>
  /** In the order of the callers; 0 is success. */
  codes: PerCaller
  /** How many results a list has for each caller that gets one. */
  visible?: PerCaller
}

export const readers: PerCaller = [16, 16, 7, 0, 0, 0, 0]
export const editors: PerCaller = [16, 16, 7, 7, 0, 0, 0]
export const owners: PerCaller = [16, 16, 7, 7, 7, 0, 0]
export const everyone: PerCaller = [0, 0, 0, 0, 0, 0, 0]
export const anyToken: PerCaller = [16, 16, 0, 0, 0, 0, 0]

/** The codes of a call that needs these capabilities in the group. */
export function codesFor(capabilities: readonly number[]): PerCaller {
  const [viewer, editor, owner] = ['viewer', 'editor', 'owner'].map((role) =>
    holdsAll(role, capabilities) ? 0 : 7,
  ) as [number, number, number] // as many as roles
  return [16, 16, 7, viewer, editor, owner, owner]
}

/** How many of one resource in the group each caller sees in a list that needs these capabilities. */
export function visibleFor(capabilities: readonly number[]): PerCaller {
  const [, , , viewer, editor, owner] = codesFor(capabilities)
  const count = (code: number) => (code === 0 ? 1 : 0)
  return [0, 0, 0, count(viewer), count(editor), count(owner), count(owner)]
}

const holdsAll = (role: string, capabilities: readonly number[]) =>
  capabilities.every((number) => builtInRole(role).capabilities.includes(nameOf(number)))
