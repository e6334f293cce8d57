// Resources as they might be, so that the reference shows something that works: a test sends and answers with them.
import type { JsonObject } from '@bufbuild/protobuf'

export const organizationUid = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b'
export const groupUid = `${organizationUid}/1f0e4c9a7b2d6538`
/** The same on every server. */
export const viewerUid = '63921b2c44617e3f2603851537be0123af4a57d7'
const childUid = `${groupUid}/c07d22e19a5b4f36`
const repoUid = `${groupUid}/88e1b0d4f7263ac5`
const digest = `sha256:${'4f53cda1'.repeat(8)}`

const created = '2026-01-31T09:30:00.000Z'
const updated = '2026-02-01T16:45:12.345Z'
const times = { createTime: created, updateTime: updated }
const viewer = { uid: viewerUid, name: 'viewer', description: 'Viewer Role (built-in)' }
const identity = {
  uid: childUid,
  name: 'ci',
  description: 'the build of the main branch',
  subject: 'repo:acme/app:ref:refs/heads/main',
  issuer: 'https://token.actions.githubusercontent.com',
}

const advisory = {
  artifactName: 'openssl',
  artifactType: 'apk',
  artifactArchitecture: 'all',
  componentName: 'openssl',
  componentLocation: '/usr/lib/libssl.so.3',
  componentType: 'apk',
  aliases: ['CVE-2026-12345'],
  author: 'security@acme.example',
}
const eventOfV1 = {
  id: `${childUid}/5d2f8b6c03a9e147`,
  timestamp: created,
  author: 'security@acme.example',
  pendingUpstreamFix: { note: 'reported to the makers' },
}
const recognition = { claimMatch: { issuer: identity.issuer, subject: identity.subject } }
const provider = {
  issuer: 'https://login.acme.example',
  clientId: 'stemma',
  clientSecret: 'a secret of the provider',
  additionalScopes: [],
  groupsClaim: '',
  correlationRule: 'CORRELATION_RULE_UNSPECIFIED',
  pkceEnabled: false,
}
const invite = { expiration: updated, keyId: '7d3b9f52c8e1a604' }
const group = { name: 'platform', description: 'keeps the lights on' }
const repo = { name: 'tools/static-base', description: 'what images are built on' }
const tag = { name: 'latest', digest, deprecated: false, bundles: ['base'] }

/** By the short name of the message, as it is answered, with what is only sent. */
export const examples: Readonly<Record<string, JsonObject>> = {
  'iam.v2beta1.Group': { uid: groupUid, ...group, resourceLimits: {}, verified: false, ...times },
  'iam.v2beta1.Identity': {
    uid: childUid,
    name: 'ci',
    description: 'the build of the main branch',
    ...recognition,
    lastSeenTime: created,
    ...times,
  },
  'iam.v2beta1.Role': {
    ...{ uid: childUid, name: 'group lister', description: 'may look around' },
    ...{ capabilities: ['CAP_IAM_GROUPS_LIST'], ...times },
  },
  'iam.v2beta1.RoleBinding': {
    uid: childUid,
    ...{ identityUid: childUid, roleUid: viewerUid },
    identity,
    group: { uid: groupUid, ...group },
    role: viewer,
    createTime: created,
  },
  'iam.v2beta1.IdentityProvider': {
    ...{ uid: childUid, name: 'sso', description: 'the sign-in of acme', defaultRole: viewerUid },
    oidc: provider,
    ...times,
  },
  'iam.v2beta1.AccountAssociation': {
    ...{ uid: groupUid, name: 'accounts', description: 'where the team runs' },
    ...{ amazon: { account: '123456789012' }, ...times },
  },
  'iam.v2beta1.GroupInvite': {
    ...{ uid: childUid, roleUid: viewerUid, email: '', ttl: '86400s', singleUse: true },
    ...{ expirationTime: updated, code: 'Zm9yIG9uZSBwZXJzb24gb25seQ', keyId: '7d3b9f52c8e1a604' },
    ...{ role: { ...viewer, capabilities: ['CAP_IAM_GROUPS_LIST'] }, ...times },
  },
  'iam.v2beta1.GroupAccessRequest': { uid: childUid, identity, ...times },
  'iam.v2beta1.CheckAccountAssociationRequest': { providerType: 'ACCOUNT_PROVIDER_TYPE_AMAZON' },
  'iam.v2beta1.BatchCreateRoleBindingsRequest': {
    parent: groupUid,
    requests: [{ roleBinding: { identityUid: childUid } }],
    roleUid: viewerUid,
  },
  'iam.Group': {
    ...{ id: groupUid, ...group, resourceLimits: {}, verified: false },
    ...{ kind: 'ORG_KIND_UNSPECIFIED', status: 'ORG_STATUS_UNSPECIFIED' },
  },
  'iam.Role': {
    id: viewerUid,
    name: viewer.name,
    description: viewer.description,
    capabilities: ['groups.list'],
  },
  'iam.Identity': {
    ...{ id: childUid, name: identity.name, description: identity.description },
    claimMatch: { ...recognition.claimMatch, claims: {}, claimPatterns: {} },
    ...{ createdAt: created, updatedAt: updated, lastSeen: updated },
  },
  'iam.IdentityProvider': {
    ...{
      id: childUid,
      name: 'sso',
      description: 'the sign-in of acme',
      defaultRole: viewerUid,
      oidc: provider,
    },
  },
  'iam.RoleBinding': { id: childUid, identity: childUid, group: groupUid, role: viewerUid },
  'iam.GroupInvite': { id: childUid, ...invite, code: 'Zm9yIG9uZSBwZXJzb24gb25seQ' },
  'iam.StoredGroupInvite': { id: childUid, ...invite, email: '', createdAt: created, singleUse: true },
  'iam.GroupInviteRequest': { group: groupUid, role: viewerUid, ttl: '86400s', singleUse: true },
  'iam.AccountAssociations': {
    ...{ group: groupUid, name: 'accounts', description: 'where the team runs' },
    amazon: { account: '123456789012' },
  },
  'registry.v2beta1.Repo': { uid: repoUid, ...repo, ...times },
  'registry.v2beta1.RepoReadme': { uid: repoUid, content: '# Static base\n\nNothing but what is needed.' },
  'registry.v2beta1.Tag': { uid: `${repoUid}/0a1b2c3d4e5f6071`, ...tag, ...times },
  'registry.Repo': {
    ...{ id: repoUid, ...repo, catalogTier: 'BASE', bundles: ['base'], readme: '' },
    ...{ aliases: [], createTime: created, activeTags: ['latest'] },
  },
  'registry.Tag': { id: `${repoUid}/0a1b2c3d4e5f6071`, ...tag, lastUpdated: updated },
  'registry.TagHistory': { updateTimestamp: updated, digest },
  'events.v2beta1.Subscription': { uid: childUid, sink: 'https://hooks.acme.example/events', ...times },
  'events.Subscription': { id: childUid, sink: 'https://hooks.acme.example/events' },
  'vulnerabilities.v2beta1.Advisory': {
    ...{ uid: childUid, advisoryId: 'CGA-2x4c-9fqv-m7wr', ...advisory, events: [], severities: [], ...times },
  },
  'vulnerabilities.v1.Advisory': {
    ...{ id: childUid, advisoryId: 'CGA-2x4c-9fqv-m7wr', ...advisory, events: [] },
    ...{ createdAt: created, updatedAt: updated },
  },
  'vulnerabilities.v1.AdvisoryEvent': { ...eventOfV1, findings: '', reviewer: '', status: 'PENDING' },
  'oidc.RawToken': { token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl', expiry: updated },
  'auth.RegistrationRequest': { code: 'Zm9yIG9uZSBwZXJzb24gb25seQ' },
  'ping.Response': { response: 'pong' },
  'ping.v2beta1.PingResponse': { response: 'pong' },
}

/** Values of fields in messages that have no example of their own, by JSON name. */
export const fieldExamples: Readonly<Record<string, string>> = {
  name: 'platform',
  email: 'ada@acme.example',
  issuer: identity.issuer,
  subject: identity.subject,
  aud: 'http://localhost:8080',
  identity: childUid,
  pageToken: 'BQ4uJ1mW',
  orderBy: 'name desc',
  updateMask: 'description',
  code: 'CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  uidp: groupUid,
}
