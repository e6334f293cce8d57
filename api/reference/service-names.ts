// Names of services and types in the reference.
import type { DescService } from '@bufbuild/protobuf'

/** The full name without its first part, the package `platform`: `iam.v2beta1.Group`. */
export const shortName = (typeName: string): string => typeName.replace(/^platform\./, '')

/** The version in the package of a type. Packages without a version are version 1. */
export const versionOf = (typeName: string): string => /\.(v\d\w*)\./.exec(typeName)?.[1] ?? 'v1'

/** The title of a service in the reference: `Role bindings` for `RoleBindingsService`. */
export const titleOf = ({ name }: DescService): string =>
  name.replace(/Service$/, '').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** The name of a service's page: `iam-v2beta1-role-bindings`. */
export function slugOf(service: DescService): string {
  const domain = shortName(service.typeName).split('.')[0] ?? ''
  const name = service.name.replace(/Service$/, '').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
  return [domain, versionOf(service.typeName), name].join('-').toLowerCase()
}
