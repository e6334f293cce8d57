// Who may do what: a row for each method, a column for each sort of caller, and the code that they must get.
import type { JsonObject } from '@bufbuild/protobuf'

export const callers = [
  'no token',
  'bad token',
  "other organization's owner",
  'viewer here',
  'editor here',
  'owner here',
  'owner above',
] as const

export type CallerName = (typeof callers)[number]

/** A group for the calls to be about, made anew for each of them. */
export type Scene = { organization: string; here: string }

export type MatrixRow = {
  request(scene: Scene): JsonObject
  /** In the order of the callers; 0 is success. */
  codes: readonly [number, number, number, number, number, number, number]
  /** What a list must hold, for callers who get one: the number of results. */
  visible?: readonly number[]
}

export const matrix: Record<string, MatrixRow> = {
  'platform.iam.v2beta1.GroupsService.GetGroup': {
    request: ({ here }) => ({ uid: here }),
    codes: [16, 16, 7, 0, 0, 0, 0],
  },
  'platform.iam.v2beta1.GroupsService.ListGroups': {
    request: ({ here }) => ({ uidp: { ids: [here] } }),
    codes: [16, 16, 0, 0, 0, 0, 0],
    visible: [0, 0, 0, 1, 1, 1, 1],
  },
  'platform.iam.v2beta1.GroupsService.CreateGroup': {
    request: ({ here }) => ({ parent: here, group: { name: 'new' } }),
    codes: [16, 16, 7, 7, 7, 0, 0],
  },
  'platform.iam.v2beta1.GroupsService.UpdateGroup': {
    request: ({ here }) => ({ group: { uid: here, name: 'changed' } }),
    codes: [16, 16, 7, 7, 7, 0, 0],
  },
  // Those who may delete are told what the group still holds: the bindings that let them.
  'platform.iam.v2beta1.GroupsService.DeleteGroup': {
    request: ({ here }) => ({ uid: here }),
    codes: [16, 16, 7, 7, 7, 9, 9],
  },
}
