// Creates an organization. The operator creates the first one, because nobody can sign in before there is one.
import { recordAccountEvent } from '../auth/administration/administration.ts'
import { findAccount, isEmail, makePasswordLink, passwordLinkHours } from '../auth/login/accounts.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { newSignIn } from '../auth/sign-outs.ts'
import { mintToken } from '../auth/tokens/mint.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { Secret } from '../crypto/secret.ts'
import { nameFault } from '../resources/iam/organization.ts'
import type { Command, CommandContext } from './command.ts'
import { UsageError, usageOf } from './command.ts'
import type { NewOrganization, OrganizationDependencies } from './make-organization.ts'
import { bootstrapAccess, makeOrganization } from './make-organization.ts'
import { recordForIdentity } from './record-command.ts'
import { throwUsageError } from './throw-usage-error.ts'
import type { PreparedStore } from './with-store.ts'
import { withPreparedStore } from './with-store.ts'

const flagTypes = { org: { type: 'string' }, owner: { type: 'string' }, json: { type: 'boolean' } } as const

export const bootstrap: Command = async (args, context) => {
  const { config, flags, positionals } = readConfig(context.env, args, flagTypes)
  if (positionals.length > 0) throw usageOf('bootstrap')
  const { org, owner } = checkedFlags(flags)
  const result = await withPreparedStore(config, context, (prepared) =>
    bootstrapOrganization(prepared, config, context, org, owner),
  )
  context.stdout.write((flags.json ? asJson : asText)(result, config))
  return 0
}

/** `passwordLink` is for an owner who has no password yet. */
type Result = NewOrganization & { name: string; token: string; passwordLink: string | undefined }

function checkedFlags({ org, owner }: Record<string, string | boolean | undefined>) {
  if (typeof org !== 'string')
    throw new UsageError('the name of the organization is missing: stemmad bootstrap --org NAME')
  const fault = nameFault(org)
  if (fault) throw new UsageError(`--org ${fault}`)
  if (owner !== undefined && !isEmail(String(owner)))
    throw new UsageError('--owner must be an e-mail address')
  return { org, owner: owner as string | undefined }
}

async function bootstrapOrganization(
  { store, keys, secret }: PreparedStore,
  { authUrl, baseUrl }: Config,
  { now, random }: CommandContext,
  name: string,
  email: string | undefined,
): Promise<Result> {
  const deps = { store, keys, secret, authUrl, now, random }
  const made = await makeOrganization(deps, name, email).catch(throwUsageError)
  const passwordLink = email === undefined ? undefined : await firstPasswordLink(deps, email)
  const signIn = await newSignIn(store, made.identity, now()).catch(throwUsageError)
  await store.write(() => recordForIdentity(bootstrapAccess, made.identity, 'issued'))
  const token = await mintToken(deps, { identity: made.identity, audience: baseUrl, signIn })
  return { ...made, name, token, passwordLink }
}

type LinkDependencies = OrganizationDependencies & { secret: Secret }

/** A link with which the owner chooses a password; undefined if the owner has a password already. */
function firstPasswordLink(deps: LinkDependencies, email: string): Promise<string | undefined> {
  return deps.store.write(function* () {
    const account = yield* findAccount(email)
    if (account?.password !== '') return undefined
    yield* recordAccountEvent(bootstrapAccess, account.identity, 'password-reset')
    return yield* makePasswordLink({ ...deps, states: openExpiringStates(deps) }, account.identity)
  })
}

function asJson({ organization, identity, name, token, passwordLink }: Result): string {
  const printed = { organization: { uid: organization, name }, identity: { uid: identity }, token }
  return `${JSON.stringify({ ...printed, ...(passwordLink && { passwordLink }) })}\n`
}

function asText({ organization, identity, name, token, passwordLink }: Result, { baseUrl }: Config): string {
  const password = passwordLink
    ? `\nThe owner can choose a password here, once, within ${passwordLinkHours} hours:\n\n  ${passwordLink}\n`
    : ''
  return `Organization ${name}
  uid    ${organization}
  owner  ${identity}
${password}
Access token, valid for one hour (stemmad token ${identity} prints another):

${token}

Try it:

  export TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups
`
}
