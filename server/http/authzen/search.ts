// Answers searches (AuthZEN 1.0 section 8). An unknown id, type or action has no results.
import { AccessSearchService } from '@stemma/api/gen/platform/iam/search/search_pb.ts'
import { AccessService } from '@stemma/api/gen/platform/iam/v2beta1/access_pb.ts'
import { invalidField } from '../../aip/errors.ts'
import type { AnswerRequest } from './answer-request.ts'
import { readAction, readContext, readEntity, readType } from './entities.ts'
import { batchOf } from './evaluation.ts'
import { actionOf, resourceFault, subjectFault, subjectType } from './names.ts'
import type { Page } from './page.ts'
import { readPage } from './page.ts'

export const searchSubjects: AnswerRequest = async (call, names) => {
  const { uids, nextPageToken, totalCount } = await call(
    AccessSearchService.method.listIdentities,
    (body) => {
      readContext(body)
      const [type, action, resource] = [
        readType(body, 'subject'),
        readAction(body),
        readEntity(body, 'resource'),
      ]
      const page = readPage(body)
      const asked = actionOf(names, action)
      const isKnown = type === subjectType && asked && resourceFault(names, resource) === undefined
      return isKnown ? { resource: resource.id, ...asked, ...page } : nothing
    },
  )
  return found(
    uids.map((id) => ({ type: subjectType, id })),
    nextPageToken,
    totalCount,
  )
}

export const searchResources: AnswerRequest = async (call, names) => {
  let type = ''
  const { uids, nextPageToken, totalCount } = await call(AccessSearchService.method.listResources, (body) => {
    readContext(body)
    const [subject, action] = [readEntity(body, 'subject'), readAction(body)]
    type = readType(body, 'resource')
    const page = readPage(body)
    const [asked, kind] = [actionOf(names, action), names.types.get(type)]
    const isKnown = kind !== undefined && asked && subjectFault(subject) === undefined
    return isKnown ? { identity: subject.id, kind, ...asked, ...page } : nothing
  })
  return found(
    uids.map((id) => ({ type, id })),
    nextPageToken,
    totalCount,
  )
}

/**
 * Finds capabilities, in a fixed order. They are few enough for one page, so there are several pages only if the
 * request has a limit. Methods are not listed, since capabilities imply them.
 */
export const searchActions: AnswerRequest = async (call, names) => {
  let asked: string[] = []
  let page: Page = { pageSize: 0, pageToken: '' }
  const { decisions } = await call(AccessService.method.batchCheckAccess, (body) => {
    readContext(body)
    page = readPage(body)
    const [subject, resource] = [readEntity(body, 'subject'), readEntity(body, 'resource')]
    if (page.pageToken !== '' && !names.capabilities.has(page.pageToken))
      throw invalidField('page.token', 'must be the next_token of the same search')
    const isKnown = subjectFault(subject) === undefined && resourceFault(names, resource) === undefined
    asked = isKnown ? [...names.capabilities] : []
    return batchOf(asked.map((capability) => ({ identity: subject.id, resource: resource.id, capability })))
  })
  const isAllowed = (at: number) => decisions[at]?.allowed === true
  const start = asked.indexOf(page.pageToken) + 1 // 0 without a token
  const rest = asked.filter((_, at) => at >= start && isAllowed(at))
  const shown = rest.slice(0, page.pageSize || rest.length)
  return found(
    shown.map((name) => ({ name })),
    shown.length < rest.length ? (shown.at(-1) ?? '') : '',
    BigInt(asked.filter((_, at) => isAllowed(at)).length),
  )
}

/** A request that finds nothing. */
const nothing = {}

/** The page comes first, so that clients know the number of results before they read them. */
const found = (results: readonly unknown[], nextToken: string, total: bigint) => ({
  page: { next_token: nextToken, count: results.length, total: Number(total) },
  results,
})
