// The settings of resources, from the configuration and the server's secret.
import type { JsonObject } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { providerSecretPurpose } from './auth/login/upstream/known-providers.ts'
import { issuerRuleOf } from './claims/issuer.ts'
import type { Config } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import type { Sealer, Secret } from './crypto/secret.ts'
import { sealText } from './crypto/secret.ts'
import { contentKind } from './limits/quota/content-limit.ts'
import { parseLimits } from './limits/quota/limit-names.ts'
import { resources } from './resource-list.ts'
import type { AdvisoryFormats, GroupLimits, Settings } from './resources/dependencies.ts'
import { writeOpenVex } from './resources/vulnerabilities/formats/write-openvex.ts'
import { writeOsv } from './resources/vulnerabilities/formats/write-osv.ts'
import { scimPath } from './scim/path.ts'

/** Throws a ConfigError if a default limit is not for a kind of resource. */
export function groupLimitsOf({ defaultLimits }: Config): GroupLimits {
  const kinds = [...resources.map(({ kind }) => kind.table.name), contentKind].sort()
  const { limits, faults } = parseLimits(defaultLimits, kinds)
  if (faults.length > 0)
    throw new ConfigError(
      faults.map(
        ({ name, fault }) => `STEMMA_DEFAULT_LIMITS (--default-limits): ${JSON.stringify(name)} ${fault}`,
      ),
    )
  return { kinds, defaults: limits }
}

export function settingsOf(config: Config, secret: Secret, limits: GroupLimits): Settings {
  const webhookSealer = webhookSecretSealer(secret)
  return {
    organizationCreation: config.organizationCreation,
    publicRepos: config.publicRepos,
    issuerRule: issuerRuleOf(config),
    baseUrl: config.baseUrl,
    authUrl: config.authUrl,
    scimUrl: `${config.baseUrl}${scimPath}`,
    sealSecret: (plain) => sealText(secret, providerSecretPurpose, plain),
    sealWebhookSecret: (plain) => sealText(webhookSealer, webhookSecretPurpose, plain),
    eventTypePrefix: config.eventTypePrefix,
    advisoryFormats: advisoryFormatsOf(config),
    limits,
    maxUploads: config.maxUploads,
    terms: config.terms,
    freshSignInMs: config.freshSignInMs,
    contentGraceMs: config.garbageCollection.graceMs,
  }
}

export const webhookSecretPurpose = 'secret of a subscription'

/** Has its own key (`sealerFor`), because callers decide how many secrets they create. */
export const webhookSecretSealer = (secret: Secret): Sealer => secret.sealerFor('webhook secrets')

const advisoryFormatsOf = ({ baseUrl }: Config): AdvisoryFormats => ({
  osv: (advisory, source) => writeOsv(advisory, source, source?.importTime) as JsonObject,
  openVex(advisory) {
    const { uid, author, events, updateTime } = advisory
    const id = `${baseUrl}/vulnerabilities/v2beta1/advisories/${uid}:openvex`
    const timestamp = updateTime ? timestampMs(updateTime) : 0
    const version = Math.max(1, events.length)
    return writeOpenVex([advisory], { id, author, timestamp, version }) as JsonObject
  },
})
