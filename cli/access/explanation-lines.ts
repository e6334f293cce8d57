// An explanation of access as text: the answer, the path from the organization to the resource, and
// what is missing.
import { ageOf } from '../output/cells.ts'
import type { Screen } from '../output/screen.ts'
import { singleLine } from '../single-line.ts'

type Source = {
  roleBindingUid?: string
  role?: { name?: string }
  capabilities?: string[]
  externalGroup?: { externalGroupId?: string }
  expireTime?: string
  suspended?: boolean
}

/** The response of `AccessService.ExplainAccess` in JSON. */
export type Explanation = {
  allowed?: boolean
  expireTime?: string
  rule?: string
  capabilities?: { capability: string; state: string; expireTime?: string }[]
  path?: { group?: { uid?: string; name?: string }; sources?: Source[]; hidden?: boolean }[]
  limits?: { scopes?: string[]; capabilities?: string[]; allowsNothing?: boolean }
  sufficientRoles?: string[]
  grantors?: { uid?: string; name?: string; email?: string }[]
  hidden?: boolean
}

/** The question as typed on the command line. `who` is undefined for the caller. */
export type Question = { who: string | undefined; action: string; resource: string }

export function explanationLines(
  answer: Explanation,
  question: Question,
  isWide: boolean,
  screen: Screen,
): string[] {
  return [
    headline(answer, question, screen),
    ...afterBlankLine(pathLines(answer, isWide, screen)),
    ...paragraph(stateLines(answer, screen)),
    ...paragraph(limitLines(answer)),
    ...paragraph(remedyLines(answer)),
    ...paragraph(answer.hidden ? [hiddenNote] : []),
  ]
}

const hiddenNote =
  'Some role bindings, or identities that could grant access, are hidden, because you may not list role bindings or identities in their groups.'

const afterBlankLine = (lines: string[]): string[] => (lines.length === 0 ? [] : ['', ...lines])

const paragraph = (lines: string[]): string[] => afterBlankLine(lines.map(singleLine))

function headline({ allowed, expireTime }: Explanation, { who, action, resource }: Question, screen: Screen) {
  const subject = who ?? 'you'
  const end = expireTime === undefined ? '' : `, ${endText(expireTime, screen)}`
  const text = singleLine(`${subject} ${allowed ? 'may' : 'may not'} do ${action} at ${resource}${end}`)
  return `${screen.bold(allowed ? 'yes' : 'no')}: ${text}`
}

/** The groups on the path, each with the roles of the identity there. */
function pathLines({ path = [], capabilities = [] }: Explanation, isWide: boolean, screen: Screen): string[] {
  const needed = capabilities.map(({ capability }) => capability)
  return path.map(({ group: { uid = '', name = '' } = {}, sources = [], hidden }, depth) => {
    const branch = depth === 0 ? '' : `${'    '.repeat(depth - 1)}└── `
    const roles = sources.map((source) => sourceText(source, needed, isWide, screen))
    const place = name || uid.split('/').at(-1) || uid
    const all = [...roles, ...(hidden ? ['roles that you may not see'] : [])]
    return `${screen.dim(branch)}${singleLine(place)}${all.length === 0 ? '' : `  ${singleLine(all.join('; '))}`}`
  })
}

function sourceText(source: Source, needed: string[], isWide: boolean, screen: Screen): string {
  const { role, capabilities = [], externalGroup, expireTime, suspended, roleBindingUid = '' } = source
  const lacking = needed.filter((name) => !capabilities.includes(name))
  const facts = [
    capabilities.length > 0 && `gives ${capabilities.join(', ')}`,
    lacking.length > 0 && `lacks ${lacking.join(', ')}`,
    externalGroup && `through the external group ${externalGroup.externalGroupId ?? ''}`,
    expireTime !== undefined && endText(expireTime, screen),
    suspended && 'does not count: an identity provider has deactivated the person',
    isWide && `role binding ${roleBindingUid}`,
  ]
  return `${role?.name ?? 'a role'} (${facts.filter(Boolean).join(', ')})`
}

const rules: Record<string, string> = {
  ACCESS_RULE_ROLES_ANYWHERE: 'The capabilities may come from a role in any group.',
  ACCESS_RULE_NO_CAPABILITY: 'The method needs no capability.',
  ACCESS_RULE_ORGANIZATION_CREATION: 'A setting of the server decides who may create organizations.',
  ACCESS_RULE_OPERATOR: 'Only operators of the server may do this.',
  ACCESS_RULE_SELF: 'Only the identity itself may do this, with a token without limits.',
}

const states: Record<string, string> = {
  CAPABILITY_STATE_HELD: 'held',
  CAPABILITY_STATE_MISSING: 'missing: no role on this path has it',
  CAPABILITY_STATE_OUTSIDE_TOKEN: 'missing: the limits of your token exclude it',
  CAPABILITY_STATE_SUSPENDED: 'missing: an identity provider has deactivated the person',
}

function stateLines({ rule = '', capabilities = [] }: Explanation, screen: Screen): string[] {
  const ruleText = rules[rule]
  const lines = capabilities.map(({ capability, state, expireTime }) => {
    const end = expireTime === undefined ? '' : `, ${endText(expireTime, screen)}`
    return `${capability}: ${states[state] ?? state}${end}`
  })
  return ruleText === undefined ? lines : [ruleText, ...lines]
}

function limitLines({ limits = {} }: Explanation): string[] {
  const { scopes = [], capabilities = [], allowsNothing } = limits
  return [
    ...(allowsNothing ? ['The limits of your token allow nothing.'] : []),
    ...(scopes.length > 0 ? [`Your token is limited to the groups ${scopes.join(', ')}.`] : []),
    ...(capabilities.length > 0 ? [`Your token is limited to ${capabilities.join(', ')}.`] : []),
  ]
}

function remedyLines({ allowed, sufficientRoles = [], grantors = [] }: Explanation): string[] {
  if (allowed) return []
  const people = grantors.map(({ uid = '', name, email }) => {
    const label = name || email
    return label ? `${label} (${uid})` : uid
  })
  return [
    ...(sufficientRoles.length > 0 ? [`Roles that would be enough: ${sufficientRoles.join(', ')}`] : []),
    ...(people.length > 0 ? [`Who could grant one: ${people.join(', ')}`] : []),
  ]
}

/** On a terminal the remaining time, otherwise the exact time. */
const endText = (time: string, { isTerminal, now }: Screen) =>
  isTerminal ? `expires ${ageOf(time, now)}` : `until ${time}`
