// Converts custom overlays between v1 and v2. They differ in the names and types of the fields of accounts.
import type {
  ApkoConfig_Accounts as V1Accounts,
  CustomOverlay as V1CustomOverlay,
} from '@stemma/api/gen/platform/registry/registry_pb.ts'
import type {
  CustomOverlay,
  CustomOverlay_Accounts,
} from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'

/** The parts that have the same fields in both versions. */
function sharedParts({ contents, environment, annotations, certificates }: V1CustomOverlay | CustomOverlay) {
  const filesOf = (files: readonly File[]) => files.map(({ name, content }) => ({ name, content }))
  return {
    ...{ environment, annotations },
    ...(contents && {
      contents: {
        packages: contents.packages,
        runtimeRepositories: contents.runtimeRepositories,
        runtimeKeyring: filesOf(contents.runtimeKeyring),
      },
    }),
    ...(certificates && {
      certificates: { additional: filesOf(certificates.additional), providers: certificates.providers },
    }),
  }
}

type File = { name: string; content: string }

export const overlayFromV1 = (overlay: V1CustomOverlay) => ({
  ...sharedParts(overlay),
  ...(overlay.accounts && { accounts: accountsFromV1(overlay.accounts) }),
})

export const overlayToV1 = (overlay: CustomOverlay) => ({
  ...sharedParts(overlay),
  ...(overlay.accounts && { accounts: accountsToV1(overlay.accounts) }),
})

const accountsFromV1 = ({ runAs, users, groups }: V1Accounts) => ({
  runAs,
  users: users.map(({ userName, uid, gid, groupName, shell, homeDir }) => ({
    ...{ username: userName, uid: toInt32(uid), groupName, shell, homeDir },
    ...(gid !== undefined && { gid: toInt32(gid) }),
  })),
  groups: groups.map(({ groupName, gid, members }) => ({
    ...{ groupname: groupName, gid: toInt32(gid), members },
  })),
})

const accountsToV1 = ({ runAs, users, groups }: CustomOverlay_Accounts) => ({
  runAs,
  users: users.map(({ username, uid, gid, groupName, shell, homeDir }) => ({
    ...{ userName: username, uid, groupName, shell, homeDir },
    ...(gid !== undefined && { gid }),
  })),
  groups: groups.map(({ groupname, gid, members }) => ({ ...{ groupName: groupname, gid, members } })),
})

/** A number that v2 cannot represent becomes one that v2 rejects. */
const toInt32 = (number: number) => (number > 0x7fff_ffff ? -1 : number)
