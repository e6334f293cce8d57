// What people do first, to learn from. A test reads every line as `stemma` would.

export const examples: Record<string, string[]> = {
  'groups list': [
    'stemma groups list',
    'stemma groups list --children-of acme --order-by "create_time desc"',
    'stemma groups list --descendants-of acme --all -o json > groups.json',
  ],
  'groups get': [
    'stemma groups get acme/platform',
    'stemma groups get acme/platform -o yaml > platform.yaml',
  ],
  'groups create': [
    'stemma groups create --parent acme --name platform --description "keeps the lights on"',
    'stemma groups create --name acme.example.com',
    'stemma groups create --parent acme -f platform.yaml --name another',
  ],
  'groups update': [
    'stemma groups update acme/platform --description "keeps the lights on"',
    'stemma groups update -f platform.yaml',
  ],
  'groups delete': ['stemma groups delete acme/platform', 'stemma groups delete acme/a acme/b --yes'],
  'groups tree': ['stemma groups tree', 'stemma groups tree acme/platform --depth 2 -o wide'],
  'groups request-access': ['stemma groups request-access acme.example.com'],
  'identities list': [
    'stemma identities list --children-of acme/platform',
    'stemma identities list --relationship-type claim-match --all -o uid',
  ],
  'identities create': [
    `stemma identities create --parent acme/platform --name ci \\
    --claim-match.issuer https://token.actions.githubusercontent.com \\
    --claim-match.subject-pattern "repo:acme/.*:ref:refs/heads/main"`,
    `stemma identities create --parent acme --name robot --static-keys.issuer https://robots.example.com \\
    --static-keys.subject robot --static-keys.issuer-keys @keys.json --static-keys.expiration-time 90d`,
  ],
  'identities get': ['stemma identities get acme/platform/ci'],
  'identities update': [
    'stemma identities update acme/platform/ci --claim-match.claims environment=production',
  ],
  'identities delete': ['stemma identities delete acme/platform/ci'],
  'identities lookup': ['stemma identities lookup --issuer https://login.example.com --subject 248289761001'],
  'roles list': ['stemma roles list', 'stemma roles list --children-of acme -o wide'],
  'roles create': [
    'stemma roles create --parent acme --name deployer --capabilities groups.list,repo.list,tag.create',
  ],
  'roles get': ['stemma roles get viewer'],
  'roles update': ['stemma roles update acme/deployer --capabilities groups.list,repo.list'],
  'role-bindings list': [
    'stemma role-bindings list --group acme/platform',
    'stemma role-bindings list --identity acme/platform/ci',
  ],
  'role-bindings create': ['stemma role-bindings create --parent acme/platform --identity ci --role viewer'],
  'role-bindings batch-create': [
    'stemma role-bindings batch-create --parent acme --role viewer -f people.yaml   # requests: [{roleBinding: {identityUid: …}}]',
  ],
  'identity-providers create': [
    `stemma identity-providers create --parent acme --name sso --default-role viewer \\
    --oidc.issuer https://login.example.com --oidc.client-id stemma --oidc.client-secret @secret.txt`,
  ],
  'identity-providers update': [
    'pass show sso | stemma identity-providers update acme/sso --oidc.client-secret @-',
  ],
  'account-associations create': [
    'stemma account-associations create --parent acme --name cloud --amazon.account 123456789012',
  ],
  'account-associations check': ['stemma account-associations check acme --provider-type amazon'],
  'group-invites create': [
    'stemma group-invites create --parent acme --role viewer --ttl 24h --single-use',
    'stemma group-invites create --parent acme --role editor --email ada@example.com -o json',
  ],
  'group-access-requests approve': ['stemma group-access-requests approve UID --role viewer'],
  'repos create': [
    'stemma repos create --parent acme --name tools/static --catalog-tier base --bundles fips',
  ],
  'repos list': ['stemma repos list --descendants-of acme'],
  'repos readme': ['stemma repos readme acme/tools/static > README.md'],
  'repos update-readme': ['stemma repos update-readme acme/tools/static --content @README.md'],
  'tags list': [
    'stemma tags list --children-of acme/tools/static',
    'stemma tags list --updated-since 24h --include-dates',
  ],
  'tags get': ['stemma tags get acme/tools/static:latest'],
  'tags create': ['stemma tags create --parent acme/tools/static --name latest --digest sha256:…'],
  'advisories list': [
    'stemma advisories list --query cve-2026 --latest-event-type fixed',
    'stemma advisories list --artifact-names openssl --event-types detection,fixed --all',
  ],
  'advisories osv': ['stemma advisories osv CGA-2222-3333-4444'],
  'advisories export-osv': ['stemma advisories export-osv --descendants-of acme > advisories.jsonl'],
  'subscriptions create': [
    'stemma subscriptions create --parent acme --sink https://hooks.example.com/stemma',
  ],
}
