// The list of commands that are written by hand.
import { accessCommands } from '../access/commands.ts'
import { auditCommands } from '../audit/commands.ts'
import { findResource } from '../contract/commands.ts'
import { eventsTail } from '../events/command.ts'
import { deliveryCommands } from '../events/deliveries-commands.ts'
import { imagesTree } from '../images/tree-command.ts'
import { groupsTree } from '../resources/tree-command.ts'
import { whoami } from '../whoami/command.ts'
import type { ComposedCommand } from './composed-command.ts'

export const composedCommands: ComposedCommand[] = [
  ...accessCommands,
  ...auditCommands,
  ...deliveryCommands,
  eventsTail,
  groupsTree,
  imagesTree,
  whoami,
]

export const findComposed = (resource: string, verb: string): ComposedCommand | undefined =>
  composedCommands.find((command) => command.resource === resource && ['', verb].includes(command.verb))

export const composedOf = (resource: string): ComposedCommand[] =>
  composedCommands.filter((command) => command.resource === resource)

/** The commands of the contract for a resource, without those that a command written by hand makes superfluous. */
export function contractCommandsOf(resource: string) {
  const hidden = new Set(composedOf(resource).flatMap(({ verb, replaces }) => [verb, replaces]))
  return (findResource(resource)?.commands ?? []).filter(({ verb }) => !hidden.has(verb))
}

/** All verbs of a resource. */
export const verbsOf = (resource: string): string[] => [
  ...contractCommandsOf(resource).map(({ verb }) => verb),
  ...composedOf(resource).flatMap(({ verb }) => (verb === '' ? [] : [verb])),
]
