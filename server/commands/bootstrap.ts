// The first organization: made by the operator, since nobody can sign in before there is one.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GroupSchema } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { newChildUid, newRootUid, userUid } from '../aip/uid.ts'
import { violationsOf } from '../aip/validate.ts'
import { openStore, prepareStore } from '../app.ts'
import { mintToken } from '../auth/tokens.ts'
import type { Config } from '../config.ts'
import { readConfig } from '../config.ts'
import { createEntry } from '../resources/create.ts'
import { makeOwner } from '../resources/iam/groups/organization.ts'
import { groups } from '../resources/iam/groups/table.ts'
import { identities } from '../resources/iam/identities/table.ts'
import type { Store } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Work } from '../store/work.ts'
import { first } from '../store/work.ts'
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
      const { keys } = await prepareStore(config, store)
      const made = await makeOrganization(store, config, org, owner)
      const parties = { issuer: config.authUrl, audience: config.baseUrl }
      const token = await mintToken(keys, parties, made.identity, Date.now())
      process.stdout.write(flags.json ? asJson(made, org, token) : asText(made, org, token, config))
      return 0
    } finally {
      await store.close()
    }
  },
}

type Made = { organization: string; identity: string }

function checked({ org, owner }: Record<string, string | boolean | undefined>) {
  if (typeof org !== 'string')
    throw new UsageError('say how the organization is called: stemmad bootstrap --org NAME')
  const [fault] = violationsOf(GroupSchema, create(GroupSchema, { name: org }))
  if (fault) throw new UsageError(`--org ${fault.description}`)
  if (owner !== undefined && !/^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u.test(String(owner))) {
    throw new UsageError('--owner must be an e-mail address')
  }
  return { org, owner: owner as string | undefined }
}

export function makeOrganization(
  store: Store,
  config: Config,
  name: string,
  email?: string,
  now = Date.now,
): Promise<Made> {
  const surroundings = { now, random: randomBytes }
  return store.write(function* () {
    const organization = newRootUid(randomBytes)
    yield* createEntry(groups, create(GroupSchema, { name }), { uid: organization, now: now() })
    const identity =
      email === undefined
        ? yield* makeWorkload(organization, config, now())
        : yield* findOrMakeUser(email, config, now())
    yield* makeOwner(surroundings, organization, identity)
    return { organization, identity }
  })
}

/** Without an address the owner lies in the organization and is known to our own issuer alone. */
function* makeWorkload(organization: string, { authUrl }: Config, now: number): Work<string> {
  const uid = newChildUid(organization, randomBytes)
  yield* createEntry(identities, identityOf('owner', authUrl, uid, now), { uid, now })
  yield sql`insert into founders (identity) values (${uid})`
  return uid
}

function* findOrMakeUser(email: string, { authUrl }: Config, now: number): Work<string> {
  const uid = userUid(authUrl, email)
  const known = yield* first(sql`select uid from identities where uid = ${uid}`)
  if (!known) {
    const user = { ...identityOf(email, authUrl, email, now), email }
    yield* createEntry(identities, user, { uid, now })
  }
  return uid
}

function identityOf(name: string, issuer: string, subject: string, now: number) {
  return create(IdentitySchema, {
    name,
    lastSeenTime: timestampFromMs(now),
    relationship: {
      case: 'claimMatch',
      value: { iss: { case: 'issuer', value: issuer }, sub: { case: 'subject', value: subject } },
    },
  })
}

function asJson({ organization, identity }: Made, name: string, token: string): string {
  return `${JSON.stringify({ organization: { uid: organization, name }, identity: { uid: identity }, token })}\n`
}

function asText({ organization, identity }: Made, name: string, token: string, { baseUrl }: Config): string {
  return `Organization ${name}
  uid    ${organization}
  owner  ${identity}

Access token, valid for one hour (stemmad token ${identity} makes another):

${token}

Try it:

  export TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" ${baseUrl}/iam/v2beta1/groups
`
}
