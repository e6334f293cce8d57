// Spellings of names: snake_case in protos, lowerCamel in JSON, kebab-case on the command line.

export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()

export const camel = (name: string): string =>
  name.replace(/[-_]([a-z0-9])/g, (_, letter) => letter.toUpperCase())

export const snake = (name: string): string => kebab(name).replaceAll('-', '_')

/** The singular of a resource: `role-binding` of `role-bindings`. */
export const singular = (resource: string): string =>
  resource === 'people' ? 'person' : resource.replace(/ies$/, 'y').replace(/s$/, '')

/** The singular with its article for messages: `an identity` of `identities`. */
export function withArticle(resource: string): string {
  const words = spaced(singular(resource))
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`
}

/** The words of a resource for messages: `role bindings` of `role-bindings`. */
export const spaced = (resource: string): string => resource.replaceAll('-', ' ')
