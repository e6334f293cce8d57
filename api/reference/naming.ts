// How the parts of the contract are called in its reference.
import type { DescService } from '@bufbuild/protobuf'

/** `iam.v2beta1.Group`: without the package that all share. */
export const shortName = (typeName: string) => typeName.replace(/^platform\./, '')

/** The version that a package names; those of v1 name none. */
export const versionOf = (typeName: string) => /\.(v\d\w*)\./.exec(typeName)?.[1] ?? 'v1'

/** `Role bindings` of `RoleBindingsService`. */
export const titleOf = ({ name }: DescService) =>
  name.replace(/Service$/, '').replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** Names the page of a service: `iam-v2beta1-role-bindings`. */
export function slugOf(service: DescService): string {
  const domain = shortName(service.typeName).split('.')[0] ?? ''
  const name = service.name.replace(/Service$/, '').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
  return [domain, versionOf(service.typeName), name].join('-').toLowerCase()
}
