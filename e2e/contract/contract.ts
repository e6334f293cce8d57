// Every service of the contract, found among what was generated from it.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DescService } from '@bufbuild/protobuf'

const generated = join(import.meta.dirname, '../../api/gen/platform')

export async function allServices(): Promise<DescService[]> {
  const files = readdirSync(generated, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('_pb.ts'),
  )
  const modules = await Promise.all(
    files.map((file) => import(join(generated, file)) as Promise<Record<string, unknown>>),
  )
  return modules.flatMap(Object.values).filter(isService)
}

const isService = (value: unknown): value is DescService =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service'
