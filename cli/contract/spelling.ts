// How one name is written in protos (snake_case), JSON (lowerCamel) and on a command line (kebab-case).

export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()

export const camel = (name: string): string =>
  name.replace(/[-_]([a-z0-9])/g, (_, letter) => letter.toUpperCase())

export const snake = (name: string): string => kebab(name).replaceAll('-', '_')

/** One resource: `role-bindings` are made of a `role-binding`. */
export const singular = (resource: string): string => resource.replace(/ies$/, 'y').replace(/s$/, '')
