import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths, uidOf } from './paths.ts'

const group = 'aa/bb'

test('every page has one path', () => {
  const all = {
    home: paths.home(),
    account: paths.account(),
    group: paths.group(group),
    groups: paths.groups(group),
    identities: paths.identities(group),
    identity: paths.identity(group, 'aa/bb/cc'),
    newIdentity: paths.newIdentity(group),
    access: paths.access(group),
    why: paths.why(group),
    roles: paths.roles(group),
    role: paths.role(group, 'aa/dd'),
    invites: paths.invites(group),
    identityProviders: paths.identityProviders(group),
    identityProvider: paths.identityProvider(group, 'aa/22'),
    accountAssociations: paths.accountAssociations(group),
    settings: paths.settings(group),
    activity: paths.activity(group),
    auditEntry: paths.auditEntry(group, 'aa/77'),
    events: paths.events(group),
    subscription: paths.subscription(group, 'aa/ee'),
    usage: paths.usage(group),
    repos: paths.repos(group),
    repo: paths.repo(group, 'aa/ff'),
    tag: paths.tag(group, 'aa/ff/22'),
    pullTokens: paths.pullTokens(group),
    advisories: paths.advisories(group),
    advisory: paths.advisory(group, 'aa/11'),
    signIn: paths.signIn('/console/g/aa?page=x&y'),
    signedIn: paths.signedIn(),
    signInThrough: paths.signInThrough('aa/22'),
    token: paths.token(),
    signOut: paths.signOut(),
  }
  assert.deepEqual(Object.keys(all), Object.keys(paths), 'a path has no line in this test')
  assert.deepEqual(all, {
    home: '/console/',
    account: '/console/account',
    group: '/console/g/aa.bb',
    groups: '/console/g/aa.bb/groups',
    identities: '/console/g/aa.bb/identities',
    identity: '/console/g/aa.bb/identities/aa.bb.cc',
    newIdentity: '/console/g/aa.bb/new-identity',
    access: '/console/g/aa.bb/access',
    why: '/console/g/aa.bb/why',
    roles: '/console/g/aa.bb/roles',
    role: '/console/g/aa.bb/roles/aa.dd',
    invites: '/console/g/aa.bb/invites',
    identityProviders: '/console/g/aa.bb/identity-providers',
    identityProvider: '/console/g/aa.bb/identity-providers/aa.22',
    accountAssociations: '/console/g/aa.bb/account-associations',
    settings: '/console/g/aa.bb/settings',
    activity: '/console/g/aa.bb/activity',
    auditEntry: '/console/g/aa.bb/activity/aa.77',
    events: '/console/g/aa.bb/events',
    subscription: '/console/g/aa.bb/events/aa.ee',
    usage: '/console/g/aa.bb/usage',
    repos: '/console/g/aa.bb/repos',
    repo: '/console/g/aa.bb/repos/aa.ff',
    tag: '/console/g/aa.bb/tags/aa.ff.22',
    pullTokens: '/console/g/aa.bb/pull-tokens',
    advisories: '/console/g/aa.bb/advisories',
    advisory: '/console/g/aa.bb/advisories/aa.11',
    signIn: '/console/sign-in?to=%2Fconsole%2Fg%2Faa%3Fpage%3Dx%26y',
    signedIn: '/console/welcome-back',
    signInThrough: '/console/sign-in?idp_id=aa%2F22',
    token: '/console/token',
    signOut: '/console/sign-out',
  })
})

test('a uid is one segment of a path', () => {
  assert.equal(uidOf('aa.bb.cc'), 'aa/bb/cc')
})
