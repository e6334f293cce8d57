// The services of the published SDK, and which of them the contract has.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { services } from '../api/gen/services.ts'

export type PublishedService = {
  /** The full name, without the vendor prefix. */
  name: string
  served: string[]
  notServed: string[]
  /** Why the rpcs in `notServed` are not served. */
  reason: string
}

const linePattern = /^(?<name>[\w.]+): (?<rpcs>[\w ]+?)(?: \| (?<reason>.+))?$/

export function readPublishedServices(): PublishedService[] {
  const text = readFileSync(join(import.meta.dirname, 'published-services.txt'), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map(parseLine)
}

function parseLine(line: string): PublishedService {
  const { name = '', rpcs = '', reason = '' } = linePattern.exec(line)?.groups ?? {}
  if (name === '') throw new Error(`published-services.txt: "${line}" must be "service: rpc rpc | reason"`)
  const methods = services.find(({ typeName }) => typeName === name)?.methods ?? []
  const isServed = (rpc: string) => methods.some((method) => method.name === rpc)
  const { served = [], notServed = [] } = Object.groupBy(rpcs.split(' '), (rpc) =>
    isServed(rpc) ? 'served' : 'notServed',
  )
  return { name, served, notServed, reason }
}

/** Calls that Stemma has and the SDK does not, as `Service.Rpc`. */
export function ownCalls(published: readonly PublishedService[]): string[] {
  const known = new Set(published.flatMap(({ name, served }) => served.map((rpc) => `${name}.${rpc}`)))
  return services.flatMap(({ typeName, name: service, methods }) =>
    methods.filter(({ name }) => !known.has(`${typeName}.${name}`)).map(({ name }) => `${service}.${name}`),
  )
}
