// The built-in roles as data. Their uids are the same on every install.
import { createHash } from 'node:crypto'

const registryPull = [
  'groups.list',
  'record_signatures.list',
  'sboms.list',
  'vuln_reports.list',
  'repo.blobs.get',
  'repo.list',
  'manifest.list',
  'tag.list',
  'manifest.metadata.list',
  'referrers.list',
]

const apkPull = ['groups.list', 'apk.list', 'apk.blobs.get']

const consoleViewer = [
  'groups.list',
  'group_invites.list',
  'roles.list',
  'role_bindings.list',
  'record_signatures.list',
  'sboms.list',
  'vuln_reports.list',
  'account_associations.list',
  'identity.list',
  'identity_providers.list',
  'subscriptions.list',
  'repo.list',
  'manifest.list',
  'tag.list',
  'manifest.metadata.list',
  'referrers.list',
  'apk.list',
  'version.list',
  'vuln_report.list',
  'build_report.list',
  'registry.entitlements.list',
  'registry.settings.list',
  'registry.overlays.list',
  'libraries.entitlements.list',
  'libraries.artifacts.list',
  'libraries.cache.list',
  'libraries.aws_marketplace.subscriptions.list',
  'libraries.request_groups.list',
  'libraries.remote_registries.list',
  'advisories.list',
  'registry.deployments.list',
  'policies.policy.list',
  'policies.binding.list',
  'policies.decision.list',
  'policies.override.list',
  'packages.entitlements.list',
  'guardener.entitlement.list',
  'guardener.scan.list',
  'guardener.scan.get',
  'skills.entitlements.list',
  'skills.list',
  'libraries.policy.list',
  'libraries.policy.binding.list',
  'libraries.policy.block_event.list',
  'actions.list',
]

const guardenerUser = [
  ...registryPull,
  'terms.list',
  'guardener.dfc.convert',
  'guardener.association.list',
  'guardener.actions.migrate',
  'guardener.scan.list',
  'guardener.scan.get',
]

const guardenerAdmin = [...guardenerUser, 'terms.accept', 'guardener.association.manage']

const viewer = [...consoleViewer, ...registryPull, ...apkPull, ...guardenerUser]

const registryEditor = [
  ...registryPull,
  'repo.create',
  'repo.update',
  'repo.delete',
  'registry.overlays.list',
  'registry.overlays.edit',
]

const editor = [
  ...viewer,
  ...registryEditor,
  'subscriptions.create',
  'subscriptions.update',
  'subscriptions.delete',
  'libraries.request_groups.create',
  'libraries.request_groups.update',
  'libraries.request_groups.delete',
  'libraries.request_groups.items.update',
]

const registryPush = [
  ...registryPull,
  'groups.create',
  'repo.create',
  'repo.update',
  'repo.delete',
  'manifest.create',
  'manifest.update',
  'manifest.delete',
  'tag.create',
  'tag.update',
  'tag.delete',
]

const apkPush = [...apkPull, 'apk.create', 'apk.delete']

const pullTokenCreator = ['groups.list', 'roles.list', 'role_bindings.create', 'identity.create']

const librariesPush = [
  'libraries.entitlements.list',
  ...['java', 'python', 'javascript', 'dotnet', 'go'].flatMap((language) => [
    `libraries.${language}.list`,
    `libraries.${language}.create`,
  ]),
]

const skillsPublish = [
  'terms.list',
  'skills.publish',
  'skills.entitlements.list',
  'skills.harden.read',
  'skills.harden.write',
  'skills.harden.cancel',
]

const advisoriesAdmin = [
  'advisories.create',
  'advisories.update',
  'advisories.list',
  'advisories.delete',
  'advisories.approve',
]

const owner = [
  ...editor,
  ...registryPush,
  ...apkPush,
  ...librariesPush,
  ...skillsPublish,
  ...guardenerAdmin,
  ...advisoriesAdmin,
  'groups.update',
  'groups.delete',
  'group_invites.create',
  'group_invites.delete',
  'roles.create',
  'roles.update',
  'roles.delete',
  'role_bindings.create',
  'role_bindings.update',
  'role_bindings.delete',
  'account_associations.create',
  'account_associations.update',
  'account_associations.delete',
  'identity.create',
  'identity.update',
  'identity.delete',
  'identity_providers.create',
  'identity_providers.update',
  'identity_providers.delete',
  'identity_providers.scim.manage',
  'vuln_report.create',
  'vuln.create',
  'registry.entitlements.images.add',
  'registry.entitlements.images.remove',
  'registry.entitlements.images.swap',
  'libraries.entitlements.create',
  'libraries.entitlements.delete',
  'libraries.cache.invalidate',
  'libraries.aws_marketplace.subscriptions.create',
  'libraries.aws_marketplace.subscriptions.update',
  'libraries.request_groups.submit',
  'libraries.remote_registries.create',
  'libraries.remote_registries.delete',
  'policies.policy.create',
  'policies.policy.update',
  'policies.policy.delete',
  'policies.binding.create',
  'policies.binding.update',
  'policies.binding.delete',
  'policies.override.create',
  'policies.override.delete',
  'repo.check_policies',
  'mcp.tool.call',
  'skills.entitlements.create',
  'skills.entitlements.delete',
  'libraries.policy.create',
  'libraries.policy.update',
  'libraries.policy.delete',
  'libraries.policy.binding.create',
  'libraries.policy.binding.update',
  'libraries.policy.binding.delete',
]

export type BuiltInRole = { uid: string; name: string; description: string; capabilities: readonly string[] }

const role = (name: string, description: string, capabilities: string[], uid = uidOf(name)): BuiltInRole => ({
  uid,
  name,
  description: `${description} (built-in)`,
  capabilities,
})

const uidOf = (name: string) =>
  createHash('sha256').update(`stemma built-in role ${name}`).digest('hex').slice(0, 40)

export const builtInRoles: readonly BuiltInRole[] = [
  role('owner', 'Owner Role', owner),
  role('editor', 'Editor Role', editor),
  // The one uid that is published; clients have it in their configuration.
  role('viewer', 'Viewer Role', viewer, '63921b2c44617e3f2603851537be0123af4a57d7'),
  role('console_viewer', 'Console Viewer Role', consoleViewer),
  role('registry.pull', 'Registry Pull Role', registryPull),
  role('registry.push', 'Registry Push Role', registryPush),
  role('registry.pull_token_creator', 'Registry Pull Token Creator Role', [
    ...pullTokenCreator,
    ...registryPull,
    ...apkPull,
  ]),
  role('apk.pull', 'APK Pull Role', apkPull),
]

export const builtInRole = (name: string): BuiltInRole => {
  const found = builtInRoles.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`there is no built-in role ${name}`)
  return found
}
