// The first organization: made by the operator, since nobody can sign in before there is one.
import { randomBytes } from 'node:crypto'
import { newChildUid } from '../aip/uid.ts'
import {
  findAccount,
  isEmail,
  makePasswordLink,
  passwordLinkHours,
  vouchFor,
} from '../auth/login/accounts.ts'
import { openExpiringStates } from '../auth/login/expiring-states.ts'
import { mintToken } from '../auth/tokens/mint.ts'
import { peopleOf } from '../authentication.ts'
import type { Config } from '../config/config.ts'
import { readConfig } from '../config/config.ts'
import type { RandomBytes } from '../crypto/random.ts'
import type { Secret } from '../crypto/secret.ts'
import { operatorAccess } from '../policy/system-access.ts'
import { createEntry } from '../resources/create.ts'
import { bindOwner, createOrganization, nameFault } from '../resources/iam/groups/organization.ts'
import { identities } from '../resources/iam/identities/table.ts'
import { identityOf } from '../resources/iam/people.ts'
import { openStore, prepareStore } from '../storage.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import type { Command } from './command.ts'
import { UsageError } from './command.ts'

export const bootstrap: Command = {
  usage: 'bootstrap --org NAME [--owner EMAIL] [--json]',
  about: 'Makes an organization with its owner and prints an access token. May be repeated.',
  async run(args) {
    const own = { org: { type: 'string' }, owner: { type: 'string' }, json: { type: 'boolean' } } as const
    const { config, flags } = readConfig(process.env, args, own)
    const { org, owner } = checked(flags)
    const store = openStore(config)
    try {
      const { keys, secret } = await prepareStore(config, store)
      const made = await makeOrganization(store, config, org, owner)
      const { authUrl, baseUrl } = config
      const deps = { store, secret, keys, authUrl, now: Date.now, random: randomBytes }
      const link = owner && (await firstPasswordLink(deps, owner))
      const token = await mintToken(deps, { identity: made.identity, audience: baseUrl })
      process.stdout.write(
        (flags.json ? asJson : asText)({ ...made, link: link || undefined }, org, token, config),
      )
      return 0
    } finally {
      await store.close()
    }
  },
}

type Made = { organization: string; identity: string }
/** `link` is where an owner who has none yet chooses a password. */
type Shown = Made & { link: string | undefined }

function checked({ org, owner }: Record<string, string | boolean | undefined>) {
  if (typeof org !== 'string')
    throw new UsageError('say how the organization is called: stemmad bootstrap --org NAME')
  const fault = nameFault(org)
  if (fault) throw new UsageError(`--org ${fault}`)
  if (owner !== undefined && !isEmail(String(owner)))
    throw new UsageError('--owner must be an e-mail address')
  return { org, owner: owner as string | undefined }
}

export function makeOrganization(
  store: Store,
  config: Config,
  name: string,
  email?: string,
  now = Date.now,
): Promise<Made> {
  const context = { access: operatorAccess, now, random: randomBytes }
  return store.write(function* () {
    const organization = yield* createOrganization(context, name)
    const identity =
      email === undefined
        ? yield* makeWorkload(organization, config, now())
        : yield* vouchFor(peopleOf(context), config.authUrl, email, now())
    yield* bindOwner(context, organization, identity)
    return { organization, identity }
  })
}

type LinkDependencies = {
  store: Store
  secret: Secret
  authUrl: string
  now(): number
  random: RandomBytes
}

/** A link for an owner without a password. */
function firstPasswordLink(deps: LinkDependencies, email: string): Promise<string | undefined> {
  return deps.store.write(function* () {
    const account = yield* findAccount(email)
    if (account?.password !== '') return undefined
    return yield* makePasswordLink({ ...deps, states: openExpiringStates(deps) }, account.identity)
  })
}

/** Without an address the owner lies in the organization and is known to our own issuer alone. */
function* makeWorkload(organization: string, { authUrl }: Config, now: number): Work<string> {
  const uid = newChildUid(organization, now, randomBytes)
  const owner = identityOf({ issuer: authUrl, subject: uid, name: 'owner' }, now)
  yield* createEntry(operatorAccess, identities, owner, { uid, now })
  yield sql`insert into founders (identity) values (${uid})`
  return uid
}

function asJson({ organization, identity, link }: Shown, name: string, token: string): string {
  const shown = { organization: { uid: organization, name }, identity: { uid: identity }, token }
  return `${JSON.stringify({ ...shown, ...(link && { passwordLink: link }) })}\n`
}

function asText({ organization, identity, link }: Shown, name: string, token: string, { baseUrl }: Config) {
  const password = link
    ? `\nThe owner chooses a password here, once, within ${passwordLinkHours} hours:\n\n  ${link}\n`
    : ''
  return `Organization ${name}
  uid    ${organization}
  owner  ${identity}
${password}
Access token, valid for one hour (stemmad token ${identity} makes another):

${token}

Try it:

  export TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups
`
}
