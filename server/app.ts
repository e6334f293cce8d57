// The whole program put together: the only file that knows every room.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DescService, JsonObject } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Auth } from '@stemma/api/gen/platform/auth/auth_pb.ts'
import { AccountAssociationsService } from '@stemma/api/gen/platform/iam/v2beta1/account_association_pb.ts'
import { GroupAccessRequestsService } from '@stemma/api/gen/platform/iam/v2beta1/group_access_request_pb.ts'
import { GroupInvitesService } from '@stemma/api/gen/platform/iam/v2beta1/group_invite_pb.ts'
import { GroupsService } from '@stemma/api/gen/platform/iam/v2beta1/group_pb.ts'
import { IdentitiesService } from '@stemma/api/gen/platform/iam/v2beta1/identity_pb.ts'
import { IdentityProvidersService } from '@stemma/api/gen/platform/iam/v2beta1/identity_provider_pb.ts'
import { RoleBindingsService } from '@stemma/api/gen/platform/iam/v2beta1/role_binding_pb.ts'
import { RolesService } from '@stemma/api/gen/platform/iam/v2beta1/role_pb.ts'
import { SecurityTokenService } from '@stemma/api/gen/platform/oidc/sts_pb.ts'
import { Registry } from '@stemma/api/gen/platform/registry/registry_pb.ts'
import { ReposService } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { TagsService } from '@stemma/api/gen/platform/registry/v2beta1/tag_pb.ts'
import { Advisories } from '@stemma/api/gen/platform/vulnerabilities/v1/advisory_pb.ts'
import { AdvisoriesService } from '@stemma/api/gen/platform/vulnerabilities/v2beta1/advisory_pb.ts'
import { describeMethods } from '@stemma/api/method.ts'
import type { Registry as Figures } from 'prom-client'
import { issuerRuleOf } from './aip/issuer.ts'
import type { RandomBytes } from './aip/random.ts'
import { pooled } from './aip/random.ts'
import { keyPaths } from './auth/discovery.ts'
import type { KeyRing } from './auth/keys.ts'
import { openKeyRing, tendKeys } from './auth/keys.ts'
import { providerSecretPurpose } from './auth/login/provider-claims.ts'
import { makeSetUpLink } from './auth/login/set-up-link.ts'
import type { Secret } from './auth/secret.ts'
import { makeSecret, sealText, secretFile } from './auth/secret.ts'
import { openAuthenticator } from './auth/tokens.ts'
import type { Config } from './config.ts'
import { clientAddress } from './http/client-address.ts'
import type { PlainPaths } from './http/dispatch.ts'
import { dispatch } from './http/dispatch.ts'
import type { OnStray } from './http/door.ts'
import { openGrpc } from './http/grpc.ts'
import { listen } from './http/listen.ts'
import { openRest } from './http/rest/rest.ts'
import type { Identification, IdentificationOverrides } from './identification.ts'
import { openIdentification, tendStates } from './identification.ts'
import type { Log } from './log.ts'
import { authService } from './resources/auth/auth.ts'
import { accountAssociationsService } from './resources/iam/account-associations/account-associations.ts'
import { accountAssociations } from './resources/iam/account-associations/table.ts'
import { groupAccessRequestsService } from './resources/iam/group-access-requests/group-access-requests.ts'
import { groupAccessRequests } from './resources/iam/group-access-requests/table.ts'
import { groupInvitesService } from './resources/iam/group-invites/group-invites.ts'
import { groupInvites } from './resources/iam/group-invites/table.ts'
import { groupsService } from './resources/iam/groups/groups.ts'
import { groups } from './resources/iam/groups/table.ts'
import { identitiesService } from './resources/iam/identities/identities.ts'
import { identities } from './resources/iam/identities/table.ts'
import { identityProvidersService } from './resources/iam/identity-providers/identity-providers.ts'
import { identityProviders } from './resources/iam/identity-providers/table.ts'
import { roleBindingsService } from './resources/iam/role-bindings/role-bindings.ts'
import { roleBindings } from './resources/iam/role-bindings/table.ts'
import { seedRoles } from './resources/iam/roles/built-in.ts'
import { rolesService } from './resources/iam/roles/roles.ts'
import { roles } from './resources/iam/roles/table.ts'
import { reposService } from './resources/registry/repos/repos.ts'
import { repos } from './resources/registry/repos/table.ts'
import { tags } from './resources/registry/tags/table.ts'
import { tagsService } from './resources/registry/tags/tags.ts'
import { renderAgain } from './resources/render-again.ts'
import { spokenStore } from './resources/spoken-store.ts'
import type { Surroundings } from './resources/surroundings.ts'
import { registryOfV1 } from './resources/v1/registry/registry.ts'
import { advisoriesOfV1 } from './resources/v1/vulnerabilities/advisories.ts'
import type { Writers } from './resources/vulnerabilities/advisories/advisories.ts'
import { advisoriesService } from './resources/vulnerabilities/advisories/advisories.ts'
import { advisories } from './resources/vulnerabilities/advisories/table.ts'
import {
  createAdvisory,
  reviseAdvisory,
  withdrawAdvisory,
} from './resources/vulnerabilities/advisories/write.ts'
import { writeOpenVex } from './resources/vulnerabilities/formats/openvex.ts'
import { writeOsv } from './resources/vulnerabilities/formats/osv.ts'
import type { Endpoint, Handler } from './rpc/call.ts'
import { openCorridor } from './rpc/corridor.ts'
import { openReport } from './rpc/report.ts'
import type { Store } from './store/db.ts'
import { loadMigrations } from './store/migrate.ts'
import { openPostgres } from './store/postgres.ts'
import { sql } from './store/sql.ts'
import { openSqlite } from './store/sqlite.ts'

/** What may differ in tests. */
export type Overrides = IdentificationOverrides & { random?: RandomBytes; drainPatience?: number }

export function openStore(config: Config, log?: Log): Store {
  if (config.databaseUrl) {
    return openPostgres({
      url: config.databaseUrl,
      connections: config.databaseConnections,
      onIdleError: (err) => log?.warn({ err }, 'a connection to the store broke; it is replaced'),
    })
  }
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  return openSqlite(join(config.dataDir, 'stemma.db'))
}

/** Brings the store to the state that this program needs, and opens its keys. */
export async function prepareStore(
  config: Config,
  store: Store,
): Promise<{ keys: KeyRing; secret: Secret; applied: string[] }> {
  const applied = await store.migrate(await loadMigrations())
  for (const kind of kinds) await renderAgain(store, kind)
  await seedRoles(store)
  const secret = makeSecret(config.secretKey ?? secretFile(config.dataDir))
  return { keys: await openKeyRing(store, secret), secret, applied }
}

const kinds = [
  groups,
  identities,
  roles,
  roleBindings,
  identityProviders,
  accountAssociations,
  groupInvites,
  groupAccessRequests,
  repos,
  tags,
  advisories,
]

/** The kinds whose rows are tallied. */
export const talliedKinds = kinds.map(({ table }) => table.name)

/** Every service of the contract with what answers it: one line for each. */
function endpointsOf(
  surroundings: Surroundings,
  config: Config,
  secret: Secret,
  { sts, registration }: Pick<Identification, 'sts' | 'registration'>,
): Endpoint[] {
  const rule = issuerRuleOf(config)
  const seal = (plain: string) => sealText(secret, providerSecretPurpose, plain)
  return [
    serve(GroupsService, groupsService(surroundings, config)),
    serve(GroupAccessRequestsService, groupAccessRequestsService(surroundings)),
    serve(IdentitiesService, identitiesService(surroundings, rule)),
    serve(RolesService, rolesService(surroundings)),
    serve(RoleBindingsService, roleBindingsService(surroundings)),
    serve(IdentityProvidersService, identityProvidersService(surroundings, rule, seal)),
    serve(AccountAssociationsService, accountAssociationsService(surroundings)),
    serve(GroupInvitesService, groupInvitesService(surroundings)),
    serve(ReposService, reposService(surroundings)),
    serve(TagsService, tagsService(surroundings)),
    serve(Registry, registryOfV1(surroundings)),
    serve(AdvisoriesService, advisoriesService(surroundings, advisoryWriters(config))),
    serve(
      Advisories,
      advisoriesOfV1(surroundings, {
        create: (group, draft) => createAdvisory(surroundings, group, draft),
        revise: (uid, change) => reviseAdvisory(surroundings, uid, change),
        withdraw: (uid) => withdrawAdvisory(surroundings, uid),
      }),
    ),
    serve(SecurityTokenService, sts),
    serve(Auth, { ...authService(surroundings), ...registration }),
  ].flat()
}

/** Advisories as others read them. */
const advisoryWriters = ({ baseUrl }: Config): Writers => ({
  osv: (advisory, source) => writeOsv(advisory, source, source?.importTime) as JsonObject,
  openVex(advisory) {
    const { uid, author, events, updateTime } = advisory
    const id = `${baseUrl}/vulnerabilities/v2beta1/advisories/${uid}:openvex`
    const timestamp = updateTime ? timestampMs(updateTime) : 0
    return writeOpenVex([advisory], {
      id,
      author,
      timestamp,
      version: Math.max(1, events.length),
    }) as JsonObject
  },
})

type Methods<S extends DescService> = { [name in keyof S['method']]: Handler }

function serve<S extends DescService>(service: S, methods: Methods<S>): Endpoint[] {
  return describeMethods(service).map((method) => ({
    method,
    handler: methods[method.desc.localName as keyof S['method']],
  }))
}

export type App = {
  port: number
  /** Where the first organization is made, while there is none. */
  setUpLink: string | undefined
  endpoints: readonly Endpoint[]
  /** Ends without losing a call under way; at once if `isUrgent`. */
  stop(isUrgent?: boolean): Promise<void>
}

export async function startApp(config: Config, log: Log, overrides: Overrides = {}): Promise<App> {
  const store = openStore(config, log)
  try {
    return await openApp(config, log, store, overrides)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openApp(config: Config, log: Log, store: Store, overrides: Overrides): Promise<App> {
  const { now = Date.now, random = pooled(randomBytes), drainPatience = 30_000 } = overrides
  const { keys, secret } = await prepareStore(config, store)
  const surroundings = { store: spokenStore(store), pageKeys: keys.page, now, random }
  const identification = openIdentification(config, surroundings.store, keys, secret, log, overrides)
  const endpoints = endpointsOf(surroundings, config, secret, identification)
  const { report, registry } = openReport(log)
  const authenticate = openAuthenticator(keys, { issuer: config.authUrl, audience: config.baseUrl }, now)
  const corridor = openCorridor(authenticate, report)
  const onStray: OnStray = (requestId, error) =>
    log.info({ requestId, reason: error.message }, 'stray request')
  let isDraining = false

  const { errorDomain, baseUrl, corsOrigins, port, hosts, tls } = config
  const addressOf = clientAddress(config.trustedProxies)
  const grpc = openGrpc({ endpoints, corridor, errorDomain, addressOf, onStray })
  const rest = openRest({
    ...{ endpoints, corridor, errorDomain, baseUrl, corsOrigins, addressOf, onStray },
    isTls: tls !== undefined,
    isDraining: () => isDraining,
  })
  const plain = { ...plainPaths(store, registry, () => isDraining), ...keyPaths(config.authUrl, keys) }
  const stopTending = tendKeys(store, secret, keys, (err) =>
    log.warn({ err }, 'keys could not be read again'),
  )
  const stopForgetting = tendStates(store, now, log)
  const onRequest = dispatch(plain, identification.login, rest, addressOf)
  const listener = await listen({
    port,
    hosts,
    tls,
    errorDomain,
    onStray,
    onRequest,
    onHttp2: grpc.takeSocket,
  })

  return {
    port: listener.port,
    setUpLink: await makeSetUpLink(store, identification.states, config.authUrl),
    endpoints,
    async stop(isUrgent = false) {
      isDraining = true
      grpc.setServing(false)
      if (!isUrgent) await pause(config.drainDelay)
      const drained = Promise.all([listener.drain(), grpc.drain()])
      await Promise.race([drained, pause(drainPatience)])
      grpc.destroy()
      listener.destroy()
      stopTending()
      stopForgetting()
      await store.close()
    },
  }
}

function plainPaths(store: Store, registry: Figures, isDraining: () => boolean): PlainPaths {
  return {
    '/healthz': () => text(200, 'ok\n'),
    '/readyz': () => {
      if (isDraining()) return text(503, 'draining\n')
      return store.query(sql`select 1`).then(
        () => text(200, 'ok\n'),
        () => text(503, 'the store cannot be reached\n'),
      )
    },
    '/metrics': async () => ({ status: 200, type: registry.contentType, body: await registry.metrics() }),
  }
}

const text = (status: number, body: string) => ({ status, type: 'text/plain; charset=utf-8', body })

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, milliseconds).unref()
  })
