// Compares a token exchange with the two signature operations that it needs: verifying a signature and creating one.
// Everything runs in this process, without HTTP.
import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { IdentitySchema } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { openVerifyOwn } from '@stemma/server/auth/tokens/verify-own.ts'
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { newChildUid } from '../../server/aip/uid.ts'
import { openAssume } from '../../server/auth/exchange/assume.ts'
import { openExchange } from '../../server/auth/exchange/exchange.ts'
import { openIssuerKeys } from '../../server/auth/foreign-tokens/issuer-keys.ts'
import { mintToken } from '../../server/auth/tokens/mint.ts'
import { issuerRuleOf } from '../../server/claims/issuer.ts'
import { makeOrganization } from '../../server/commands/make-organization.ts'
import type { Config } from '../../server/config/config.ts'
import { readConfig } from '../../server/config/config.ts'
import { pooled } from '../../server/crypto/random.ts'
import { operatorAccess } from '../../server/policy/system-access.ts'
import { createEntry } from '../../server/resources/create.ts'
import { identities } from '../../server/resources/iam/identities/table.ts'
import { openStore, prepareStore } from '../../server/storage.ts'
import type { Store } from '../../server/store/db.ts'
import { alternate, median, ratioOf } from '../load/rounds.ts'
import type { Line } from '../report/report.ts'
import { temporarySettings } from '../stores/bench-server.ts'

const issuer = 'https://issuer.test'
const subject = 'robot'
const rounds = 21
const operationsPerRound = 200
const minRatio = 0.6

export async function benchExchange(): Promise<Line[]> {
  const { settings, remove } = await temporarySettings()
  const { config } = readConfig({}, settings)
  const store = openStore(config)
  try {
    const { keys } = await prepareStore(config, store)
    const identity = await createRobot(store, config)
    const { token, publicKey, fetchJson } = await issueToken(config.baseUrl)
    const { authUrl, baseUrl } = config
    const signer = { keys, authUrl, now: Date.now, random: pooled(randomBytes) }
    const assume = openAssume({
      ...{ store, authUrl, baseUrl, now: Date.now, ...unused },
      verifyOwn: openVerifyOwn({ store, keys, authUrl, audiences: [baseUrl, authUrl], now: Date.now }),
      issuerKeys: openIssuerKeys(fetchJson, issuerRuleOf(config), Date.now),
    })
    const exchange = openExchange({ ...signer, baseUrl, assume })

    const ours = () =>
      rateOf(() => exchange(token, { identity, identityProvider: '', audiences: [], limits: {} }))
    const baseline = () =>
      rateOf(async () => {
        await jwtVerify(token, publicKey)
        await mintToken(signer, { identity, audience: baseUrl })
      })
    for (let round = 0; round < 5; round++) await ours() // warm-up
    const samples = await alternate(rounds, ours, baseline)
    const ratio = ratioOf(samples.ours, samples.baseline)
    return [
      {
        label: 'Token exchanges against their two signature operations',
        measured: `${median(samples.ours).toFixed(0)}/cpu s`,
        baseline: `${median(samples.baseline).toFixed(0)}/cpu s`,
        ...{ ratio: ratio.toFixed(2), goal: minRatio.toFixed(2), isMet: ratio >= minRatio },
      },
    ]
  } finally {
    await store.close()
    await remove()
  }
}

/** Creates an identity that tokens of the issuer can assume. */
async function createRobot(store: Store, { authUrl }: Config): Promise<string> {
  const deps = { store, authUrl, now: Date.now, random: randomBytes }
  const { organization } = await makeOrganization(deps, 'bench')
  const uid = newChildUid(organization, Date.now(), randomBytes)
  const iss = { case: 'issuer', value: issuer } as const
  const sub = { case: 'subject', value: subject } as const
  const draft = create(IdentitySchema, {
    name: subject,
    relationship: { case: 'claimMatch', value: { iss, sub } },
  })
  await store.write(() => createEntry(operatorAccess, identities, draft, { uid, now: Date.now() }))
  return uid
}

/** A token of the issuer, its key, and a function that reads the documents of the issuer. */
async function issueToken(audience: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }
  const now = Math.floor(Date.now() / 1000)
  const token = await new SignJWT({ iss: issuer, sub: subject, aud: audience, iat: now, exp: now + 3600 })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .sign(privateKey)
  const documents = {
    '/keys': { keys: [jwk] },
    '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
  }
  const fetchJson = async (url: string) => documents[new URL(url).pathname as keyof typeof documents]
  return { token, publicKey, fetchJson }
}

/** The parts of an exchange that this one does not need. */
const unused = {
  people: {
    ensureProvided() {
      throw new Error('nobody signs in here')
    },
    refusingProviders() {
      throw new Error('nobody signs in here')
    },
  },
  admit() {},
  recordLastSeen() {},
  callAws: () => Promise.reject(new Error('AWS is not called here')),
  runMatch: () => Promise.reject(new Error('the identity has no patterns')),
}

/** Operations per second of CPU time. */
async function rateOf(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < operationsPerRound; at++) await act()
  const { user, system } = process.cpuUsage(before)
  return operationsPerRound / ((user + system) / 1e6)
}
