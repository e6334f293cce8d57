// A batch of evaluations (AuthZEN 1.0 section 7): its defaults, and how many of its results are returned.
import { asStatusError, invalidField, StatusError, textOf } from '../../aip/errors.ts'
import type { Question } from './entities.ts'
import {
  optionalObject,
  optionalString,
  readAction,
  readContext,
  readEntity,
  readQuestion,
} from './entities.ts'
import type { JsonObject } from './read-object.ts'
import { isObject } from './read-object.ts'

/** As many as BatchCheckAccess accepts. */
export const maxEvaluations = 1000

const semantics = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const
export type Semantic = (typeof semantics)[number]

/** A question, or the error in it. */
export type Evaluation = Question | StatusError

export type Evaluations = { evaluations: Evaluation[]; semantic: Semantic }

/** Undefined if the body has no evaluations: then it is a single evaluation. */
export function readEvaluations(body: JsonObject): Evaluations | undefined {
  const semantic = readSemantic(body)
  const items = body.evaluations ?? []
  if (!Array.isArray(items)) throw invalidField('evaluations', 'must be a JSON array')
  if (items.length === 0) return undefined
  if (items.length > maxEvaluations)
    throw invalidField('evaluations', `must have at most ${maxEvaluations} elements, not ${items.length}`)
  requireValidDefaults(body)
  const { subject, action, resource, context } = body
  return {
    semantic,
    evaluations: items.map((item: unknown, at) =>
      readEvaluation({ subject, action, resource, context }, item, `evaluations[${at}].`),
    ),
  }
}

/** An error in the defaults fails the whole request, even if every evaluation overrides them. */
function requireValidDefaults(body: JsonObject): void {
  readContext(body)
  if (isPresent(body.subject)) readEntity(body, 'subject')
  if (isPresent(body.action)) readAction(body)
  if (isPresent(body.resource)) readEntity(body, 'resource')
}

const isPresent = (value: unknown) => value !== undefined && value !== null

/** An evaluation replaces a default as a whole: members of both are not merged. */
function readEvaluation(defaults: JsonObject, item: unknown, path: string): Evaluation {
  if (!isObject(item)) return invalidField(path.slice(0, -1), 'must be a JSON object')
  const own = Object.entries(item).filter(
    ([name, value]) => Object.hasOwn(defaults, name) && isPresent(value),
  )
  try {
    return readQuestion({ ...defaults, ...Object.fromEntries(own) }, path)
  } catch (error) {
    return asStatusError(error)
  }
}

function readSemantic(body: JsonObject): Semantic {
  const options = optionalObject(body, 'options', '')
  const sent = options && optionalString(options, 'evaluations_semantic', 'options.')
  const semantic = sent === undefined ? 'execute_all' : semantics.find((name) => name === sent)
  if (!semantic) throw invalidField('options.evaluations_semantic', `must be one of ${semantics.join(', ')}`)
  return semantic
}

/** The result of one evaluation. */
export type Decision = { decision: boolean; context?: JsonObject }

/** The results up to the one that decides. */
export function resultsOf(semantic: Semantic, decisions: readonly Decision[]): readonly Decision[] {
  if (semantic === 'execute_all') return decisions
  const deciding = semantic === 'permit_on_first_permit'
  const last = decisions.findIndex(({ decision }) => decision === deciding)
  return last < 0 ? decisions : decisions.slice(0, last + 1)
}

export const denied = (reason: string): Decision => ({ decision: false, context: { reason } })

export const failed = (error: StatusError): Decision => ({
  decision: false,
  context: { error: { status: error.http, message: textOf(error) } },
})

export const isFault = (evaluation: Evaluation): evaluation is StatusError =>
  evaluation instanceof StatusError
