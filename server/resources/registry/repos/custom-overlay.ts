import type { CustomOverlay } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { entryPath } from '../../../aip/validate.ts'

/** Names that the builders of published images set themselves. */
const reserved = {
  environment: ['CHAINGUARD_'],
  annotations: ['dev.chainguard.', 'org.opencontainers.'],
}

/** Throws if a variable or annotation has a name that is reserved, or that an image cannot have. */
export function requireValidOverlay({ environment, annotations }: CustomOverlay): void {
  for (const name of Object.keys(environment)) {
    requireFree('environment', name)
    if (name === '' || name.includes('='))
      throw invalidName('environment', name, 'must not be empty or contain =')
  }
  for (const name of Object.keys(annotations)) {
    requireFree('annotations', name)
    if (name === '') throw invalidName('annotations', name, 'must not be empty')
  }
}

function requireFree(map: keyof typeof reserved, name: string): void {
  const prefix = reserved[map].find((start) => name.startsWith(start))
  if (prefix !== undefined) throw invalidName(map, name, `must not start with ${prefix}`)
}

const invalidName = (map: string, name: string, rule: string) =>
  invalidField(entryPath(`custom_overlay.${map}`, name), `the key ${rule}`)
