// Parts of package URLs: https://github.com/package-url/purl-spec.

/** The value of a qualifier; '' if it is absent or its percent-encoding is invalid. Unlike in forms, `+` is no space. */
export function qualifierOf(qualifiers: string, name: string): string {
  const pair = qualifiers.split('&').find((candidate) => candidate.startsWith(`${name}=`)) ?? ''
  try {
    return decodeURIComponent(pair.slice(name.length + 1))
  } catch {
    return ''
  }
}

export const encodePurlPart = (part: string) => encodeURIComponent(part.toWellFormed()).replaceAll('%3A', ':')
