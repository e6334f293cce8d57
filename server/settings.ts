// The settings of resources, from the configuration and the server's secret.
import type { JsonObject } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { providerSecretPurpose } from './auth/login/upstream/known-providers.ts'
import { issuerRuleOf } from './claims/issuer.ts'
import type { Config } from './config/config.ts'
import type { Secret } from './crypto/secret.ts'
import { sealText } from './crypto/secret.ts'
import type { AdvisoryFormats, Settings } from './resources/dependencies.ts'
import { writeOpenVex } from './resources/vulnerabilities/formats/write-openvex.ts'
import { writeOsv } from './resources/vulnerabilities/formats/write-osv.ts'

export const settingsOf = (config: Config, secret: Secret): Settings => ({
  organizationCreation: config.organizationCreation,
  issuerRule: issuerRuleOf(config),
  authUrl: config.authUrl,
  sealSecret: (plain) => sealText(secret, providerSecretPurpose, plain),
  advisoryFormats: advisoryFormatsOf(config),
})

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
