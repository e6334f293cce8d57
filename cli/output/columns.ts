// What tables show of each resource: a title and where its value lies, the first of several that holds something.
// What begins with `+` is shown in wide tables only. The uid comes last, since it is long.

const titled: Record<string, string[]> = {
  groups: [
    'NAME name',
    'DESCRIPTION description',
    '+VERIFIED verified',
    'AGE createTime',
    '+UPDATED updateTime',
  ],
  identities: [
    'NAME name',
    'ISSUER claimMatch.issuer claimMatch.issuerPattern staticKeys.issuer awsIdentity.awsAccount',
    'SUBJECT claimMatch.subject claimMatch.subjectPattern staticKeys.subject awsIdentity.arn awsIdentity.arnPattern',
    '+EMAIL email emailUnverified',
    '+DESCRIPTION description',
    'SEEN lastSeenTime',
    '+AGE createTime',
  ],
  roles: ['NAME name', 'DESCRIPTION description', '+AGE createTime'],
  'role-bindings': [
    'IDENTITY identity.name identity.email',
    'ROLE role.name',
    'GROUP group.name',
    '+IDENTITY-UID identity.uid',
    '+ROLE-UID role.uid',
    'AGE createTime',
  ],
  'identity-providers': [
    'NAME name',
    'ISSUER oidc.issuer',
    '+CLIENT oidc.clientId',
    '+DEFAULT-ROLE defaultRole',
    '+DESCRIPTION description',
    'AGE createTime',
  ],
  'account-associations': [
    'NAME name',
    'AWS amazon.account',
    'GOOGLE google.projectId',
    'AZURE azure.tenantId',
    '+DESCRIPTION description',
    'AGE createTime',
  ],
  'group-invites': [
    'ROLE role.name',
    'EMAIL email',
    'EXPIRES expirationTime',
    'ONCE singleUse',
    '+KEY keyId',
    '+AGE createTime',
  ],
  'group-access-requests': ['NAME identity.name', 'EMAIL identity.email', 'AGE createTime'],
  repos: [
    'NAME name',
    'TIER catalogTier',
    'DESCRIPTION description',
    '+BUNDLES bundles',
    '+TAGS activeTags',
    'AGE createTime',
    '+UPDATED updateTime',
  ],
  tags: ['NAME name', 'DIGEST digest', '+DEPRECATED deprecated', '+BUNDLES bundles', 'UPDATED updateTime'],
  advisories: [
    'ID advisoryId',
    'ARTIFACT artifactName',
    'TYPE artifactType',
    'ALIASES aliases',
    '+COMPONENT componentName',
    '+AUTHOR author',
    'UPDATED updateTime',
  ],
  subscriptions: ['SINK sink', 'AGE createTime', '+UPDATED updateTime'],
}

export type Column = { title: string; paths: string[] }

export function columnsOf(resource: string, isWide: boolean): Column[] {
  const chosen = (titled[resource] ?? ['NAME name']).filter((line) => isWide || !line.startsWith('+'))
  return [...chosen, 'UID uid'].map((line) => {
    const [title = '', ...paths] = line.replace(/^\+/, '').split(' ')
    return { title: title.replaceAll('-', ' '), paths }
  })
}
