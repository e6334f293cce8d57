// The texts of the help, in its order. They are separate from the commands, so that the help loads no command.

/** The help of a command. */
export type HelpText = {
  /** The command line after `stemmad`. */
  usage: string
  /** One line for the list of commands. */
  summary: string
  /** Further lines for `stemmad COMMAND --help`. */
  details?: string
}

/** The kinds of organizations that stemmad verify can set. */
export const organizationKinds = ['starter', 'customer', 'dev', 'infra', 'aws-marketplace'] as const

export const helpTexts = {
  serve: {
    usage: 'serve',
    summary: 'Serves REST and gRPC on one port.',
    details: `Stops on SIGTERM, SIGINT (Ctrl-C) or SIGHUP, after it has answered running calls. A second signal stops it at once.`,
  },
  demo: {
    usage: 'demo',
    summary: 'Fills an empty store with an example organization.',
    details: `Creates groups, people, workloads, roles, repos with images, advisories, invites and an audit log of three weeks, and
prints a link where you choose the password of the owner. It refuses a store that contains an organization or person.`,
  },
  bootstrap: {
    usage: 'bootstrap --org NAME [--owner EMAIL] [--json]',
    summary: 'Creates an organization with an owner and prints an access token.',
    details: `With --owner, the owner is the person with this e-mail address, and the command prints a link to choose a password,
unless the person already has a password. If it is the first organization, this person also becomes an operator of the
server (stemmad operators). Without --owner, the owner is a new identity in the organization. The command can be repeated
for further organizations. --json prints JSON.`,
  },
  users: {
    usage:
      'users add|list|reset|reset-second-factors|sign-out|disable|enable|remove|disabled [EMAIL|IDENTITY_UID|TEXT] [--password-file FILE|-]',
    summary: 'Adds and lists people, resets passwords and second factors, disables and removes people.',
    details: `add and reset print a link where the person chooses a password. With --password-file, add and reset set
the password in the file or on standard input (-) instead. reset, reset-second-factors, sign-out and disable end all
sessions and tokens of the person at once. reset-second-factors removes passkeys, authenticator app and recovery codes. A
disabled person cannot sign in, neither with a password nor through a provider, until enable is run. remove deletes the
person with all role bindings; a person who signs in through a provider can come back, without roles. list prints at
most 1000 people: all, or those whose address or name contains TEXT. disabled lists only people who are disabled.`,
  },
  operators: {
    usage: 'operators add|remove|list [EMAIL|IDENTITY_UID]',
    summary: 'Lists, adds and removes the people who may administer the server in the console.',
    details: `An operator is a person with a password of this server, whose e-mail address was verified by the set-up or by a
command such as stemmad users add. Operators see all people and organizations, disable and remove people, set limits and
rotate keys, in the console and through the API. They get no role in any organization. The person who sets up the server
is the first one.`,
  },
  token: {
    usage: 'token IDENTITY_UID',
    summary: 'Prints an access token for an identity, valid for one hour.',
  },
  verify: {
    usage: 'verify ORGANIZATION_UID DOMAIN [--kind KIND] [--undo]',
    summary: 'Marks an organization as the owner of the domain it is named after.',
    details: `DOMAIN must be equal to the name of the organization. Its owners can change the name until it is verified, so DOMAIN makes sure that the domain you have checked is the one that is verified.
--kind also sets the kind of the organization: ${organizationKinds.join(', ')}. --undo removes the mark; DOMAIN is then optional.`,
  },
  limits: {
    usage: 'limits get|set|unset GROUP_UID [NAME=NUMBER|NAME]... [--json]',
    summary: 'Shows or sets how many resources an organization, or another group, may contain.',
    details: `A limit counts all resources of a kind in and below the group. set changes the limits that are named and
keeps the others; unset removes those that are named, or all of them (unset GROUP_UID all). Each command finally
prints the number of resources of each kind and the limit that applies; --json prints them as one line of JSON. A limit
below the current number deletes nothing: it only refuses new resources. Commands of stemmad, such as import, may exceed
limits.

Names: account_associations, advisories, external_group_role_mappings, group_access_requests, group_invites, groups,
identities, identity_providers (or idps), registry_mebibytes (content of repos in MiB), repos (or repositories),
role_bindings, roles, subscriptions, tags.

Examples:
  stemmad limits get 5f0c1b9a4d3e2f10a7b8c9d0e1f2a3b4c5d6e7f8
  stemmad limits set 5f0c1b9a4d3e2f10a7b8c9d0e1f2a3b4c5d6e7f8 groups=100 repos=1000
  stemmad limits unset 5f0c1b9a4d3e2f10a7b8c9d0e1f2a3b4c5d6e7f8 repos

STEMMA_DEFAULT_LIMITS sets limits for organizations that have no limit of their own on the same kind.`,
  },
  keys: {
    usage: 'keys rotate [--revoke]',
    summary: 'Creates new keys for signing tokens.',
    details: `The new keys come into use after ten minutes, and tokens signed with the old keys stay valid until they expire.
With --revoke, the new keys come into use at once and all tokens signed with the old keys are invalid.`,
  },
  import: {
    usage: 'import advisories|versions [--group UID] FILE|DIR|-',
    summary: 'Imports advisories or versions of packages from a file, folder, zip archive or standard input.',
    details: `advisories reads OSV records, Alpine-style security databases and OpenVEX documents into the group of --group.
versions reads JSON with the versions of packages and their ends of life, for the whole server (docs/package-versions.md).
An import that was interrupted can be started again: it skips records that are already stored.`,
  },
  backup: {
    usage: 'backup FILE|-',
    summary: 'Writes a snapshot of the store to a file or to standard output.',
    details:
      'Servers can use the store meanwhile. The backup does not contain the secret key, which a restored store needs, nor the blobs of the registry: copy the folder "content" of the data folder, or the bucket, after the backup, within the grace period (STEMMA_REGISTRY_GC_GRACE).',
  },
  restore: {
    usage: 'restore FILE|-',
    summary: 'Fills an empty store from a backup.',
    details: 'A backup of the embedded store can be restored to PostgreSQL and the other way round.',
  },
  migrate: {
    usage: 'migrate',
    summary: 'Applies the migrations of this version to the store.',
    details: 'stemmad serve also does this when it starts.',
  },
  gc: {
    usage: 'gc [--dry-run] [--unknown]',
    summary: 'Deletes content of the registry to which nothing refers.',
    details: `Servers can use the store meanwhile; they also collect garbage by themselves (STEMMA_REGISTRY_GC_INTERVAL).
Deletes blobs to which no manifest has referred for the grace period (STEMMA_REGISTRY_GC_GRACE), and unfinished uploads
to which nothing was written for a day, or for the grace period if that is longer. Manifests are kept, with or without
a tag.
--unknown also deletes blobs that the store does not know, such as those that were pushed after the backup from which it
was restored. Use it only if no other database has its content in the same folder, or in the same bucket and prefix.
--dry-run deletes nothing, and prints what would be deleted.`,
  },
  check: {
    usage: 'check [--repair] [--digests]',
    summary:
      'Reports wrong totals, sizes and queues, unsafe or unusable identities, a changed audit log, and missing content.',
    details:
      'It compares the totals of lists, the sizes of repos, the expiry of role bindings and the queues of deliveries with what they are computed from, and verifies the audit log like stemmad audit verify. With --repair, it also corrects all of these but the audit log, and adds the platforms of images that were pushed to an older version. Servers can use the store meanwhile. Identities with unsafe patterns are older than the rule that refuses these patterns; correct them with stemma identities update. Warnings name identities that nobody can assume, or that everybody with a token of the issuer can assume; they do not change the exit code. Every blob that a repo has is looked for in the storage; with --digests, its content is also read and compared with its digest, which takes as long as reading all blobs. --repair does not change blobs.',
  },
  audit: {
    usage: 'audit verify [--heads] [--compare FILE] | audit list [UID]',
    summary: 'Prints entries of the audit log, or verifies that none was changed, removed or added.',
    details: `list prints entries as JSON, one per line and the oldest first: those of the organization or person UID, or, without
UID, the commands of the operator that concern the whole server, such as keys rotate and backup.
verify: Each organization, each person and the server has a log, whose entries are chained by hashes. The command reads
all logs and names the first wrong entry of each; its exit code is 1 if there is one. Servers can use the store meanwhile.
Somebody who can write to the store can also compute a new chain, or remove the last entries and set the end of the
chain back. To notice this, keep the output of --heads, the last hash of each log, in another place. --compare reads such
a file later, and reports each log that no longer has the entry with this hash. Entries that retention has deleted cannot
be compared.`,
  },
} satisfies Record<string, HelpText>

export type CommandName = keyof typeof helpTexts
