// Statements whose text is built once and then only filled with values.
import type { Placeholder, Sql, Value } from './statement.ts'
import { contentOf, fill } from './statement.ts'
import type { CacheNode, Compiled } from './template-cache.ts'
import { nodeOf } from './template-cache.ts'

/** A placeholder for each value. */
export type Placeholders<Values extends readonly Value[]> = { [At in keyof Values]: Placeholder }

/**
 * A statement whose text depends only on `args`, which are compared by identity, and on the number of values. `build`
 * runs once for each combination and puts a placeholder where each value belongs. Use this function on hot paths: for
 * the statement of a Get it saves 2 µs.
 */
export function prepared<const Args extends readonly unknown[], Values extends readonly Value[]>(
  build: (placeholders: Placeholders<Values>, ...args: Args) => Sql,
  args: Args,
  values: readonly [...Values],
): Sql {
  let node = nodeOf(build)
  for (const arg of args) node = nodeOf(arg, node)
  return fillNode(nodeOf(values.length, node), values, (placeholders) =>
    build(placeholders as unknown as Placeholders<Values>, ...args),
  )
}

/**
 * Like `prepared`, but the text depends on `keys`, which are not passed to `build`. The first key must belong to this
 * statement only; pass the calling function.
 */
export function preparedByKeys(
  keys: readonly unknown[],
  values: readonly Value[],
  build: (placeholders: readonly Placeholder[]) => Sql,
): Sql {
  let node: CacheNode | undefined
  for (const key of keys) node = nodeOf(key, node)
  return fillNode(nodeOf(values.length, node), values, build)
}

function fillNode(
  node: CacheNode,
  values: readonly Value[],
  build: (placeholders: readonly Placeholder[]) => Sql,
): Sql {
  node.compiled ??= compile(values.length, build)
  const { template, order } = node.compiled
  return fill(template, order ? order.map((at) => values[at] ?? null) : values)
}

function compile(count: number, build: (placeholders: readonly Placeholder[]) => Sql): Compiled {
  const placeholders = Array.from({ length: count }, () => Object.freeze({}) as Placeholder)
  const { template, values } = contentOf(build(placeholders))
  const order = values.map((value) => placeholders.indexOf(value as unknown as Placeholder))
  if (order.includes(-1)) throw new Error('a prepared statement contains a value that is not a parameter')
  if (placeholders.some((_, at) => !order.includes(at)))
    throw new Error('a prepared statement does not use all of its parameters')
  const isInOrder = order.length === count && order.every((at, position) => at === position)
  return { template, order: isInOrder ? undefined : order }
}
