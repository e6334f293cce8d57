// What v2 answers, or refuses, in terms of v1.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf'
import { Code } from '../../aip/code.ts'
import { alreadyExists, invalidArgument, StatusError, textOf, withoutDetails } from '../../aip/errors.ts'
import type { Reply } from '../../wire/reply.ts'
import { messageReply } from '../../wire/reply.ts'
import { emptyReply } from '../reply.ts'
import type { Told } from './call-v2.ts'

/** What a path of a field of v2 looks like, and what stands in its place in v1. */
export type Renaming = readonly [RegExp, string]

/** Complaints name the fields of the request that the caller knows. */
export async function inNames<T>(renamings: readonly Renaming[], telling: Promise<T>): Promise<T> {
  const rename = (path: string) => renamings.reduce((so, [from, to]) => so.replace(from, to), path)
  try {
    return await telling
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    // Of a batch, it says which of them is there.
    if (error.code === Code.ALREADY_EXISTS) throw alreadyExists(rename(textOf(error)))
    const [first, ...others] = error.violations.map(({ field, description }) => ({
      field: rename(field),
      description,
    }))
    throw first ? invalidArgument(first, ...others) : error
  }
}

/** An answer of v2 that is a resource, as v1 shows it. */
export async function converted<O extends DescMessage, D extends DescMessage>(
  telling: Promise<Told<O>>,
  desc: D,
  convert: (message: MessageShape<O>) => MessageShape<D>,
): Promise<Reply> {
  const { message, etag } = await telling
  return { ...messageReply(desc, convert(message)), ...(etag !== undefined && { etag }) }
}

/** v1 tells in words alone what keeps something from being deleted. */
export async function deleted(telling: Promise<unknown>): Promise<Reply> {
  try {
    await telling
    return emptyReply
  } catch (error) {
    const isBlocked = error instanceof StatusError && error.code === Code.FAILED_PRECONDITION
    throw isBlocked ? withoutDetails(error) : error
  }
}
