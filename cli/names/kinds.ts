// How resources are called: which of them have a name, and what it is unique in.
import { findCommand } from '../contract/commands.ts'

/** An association has the uid of its group, and is called like it. */
export const callee = (resource: string): string =>
  resource === 'account-associations' ? 'groups' : resource

export const isNamed = (resource: string): boolean =>
  resource === 'advisories' ||
  (findCommand(resource, 'list')?.method.desc.input.fields.some(({ name }) => name === 'name') ?? false)

const uid = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

export const looksLikeUid = (text: string): boolean => uid.test(text)
