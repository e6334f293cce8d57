// Long-lived credentials with which a cluster pulls images.
import { useSignal } from '@preact/signals'
import type { PullTokenJson } from '@stemma/api/json/platform/registry/v2beta1/pull_token'
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { isInGroup, parentOf, uidsOnPath } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CodeBlock, PageCommands } from '../../ui/code-block.tsx'
import { ConfirmDelete } from '../../ui/confirm-delete.tsx'
import { Uid } from '../../ui/copy.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Properties } from '../../ui/properties.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const readTokens = (place: Place) =>
  read(api.pullTokens.listPullTokens, { uidp: { descendantsOf: place.group }, ...pageOf(place) })

export const load = (place: Place) => [readTokens(place)]

export default function PullTokens({ place }: PageProps) {
  const { pullTokens = [], nextPageToken, totalCount } = useData(readTokens(place))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    pullTokens.map(({ uid = '' }) => parentOf(uid)),
    ['identity.delete', 'role_bindings.delete'],
  )
  const about = pullTokens.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title="Pull tokens"
        about="A user name and a password that can only pull, for clusters and programs without tokens of their own."
        actions={
          <ButtonLink
            to={dialogPath(place, 'create')}
            tone="primary"
            icon="plus"
            disabledReason={denial('identity.create') ?? denial('role_bindings.create')}
          >
            New pull token
          </ButtonLink>
        }
      />
      {pullTokens.length === 0 ? (
        <Empty icon="access" title="No pull tokens">
          A workload with tokens of its own issuer needs none: set it up as an identity.
        </Empty>
      ) : (
        <section class="panel flush">
          <Table
            label="Pull tokens"
            rows={pullTokens}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              {
                title: 'Name',
                cell: ({ uid, name }) => <Link to={dialogPath(place, 'show', uid)}>{name}</Link>,
              },
              {
                title: 'Expires',
                cell: ({ expirationTime, expired }) => (
                  <>
                    <Time at={expirationTime} /> {expired && <Badge tone="bad">expired</Badge>}
                  </>
                ),
              },
              {
                title: 'Last used',
                cell: ({ lastSeenTime }) => <Time at={lastSeenTime} />,
                isSecondary: true,
              },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Revoke',
                to: dialogPath(place, 'revoke', uid),
                disabledReason:
                  denialIn(parentOf(uid), 'identity.delete') ??
                  denialIn(parentOf(uid), 'role_bindings.delete'),
                isDanger: true,
              },
            ]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={pullTokens.length} />
      <PageCommands
        stemma={`stemma pull-tokens list --descendants-of ${place.group}`}
        curl={{ path: `/registry/v2beta1/pullTokens?uidp.descendants_of=${place.group}` }}
      />
      {isDialogOpen(place, 'show') && <ShowPullToken place={place} />}
      {isDialogOpen(place, 'create') && <CreatePullToken place={place} />}
      {isDialogOpen(place, 'revoke') && <RevokePullToken place={place} name={about?.name ?? ''} />}
    </>
  )
}

function ShowPullToken({ place }: PageProps) {
  const { data: token, error } = useRead(
    read(api.pullTokens.getPullToken, { uid: place.query.get('about') ?? '' }),
  )
  const { data: repo } = useRead(
    read(api.repos.getRepo, { uid: token?.repoUid ?? '' }),
    token?.repoUid !== undefined && token.repoUid !== '',
  )
  return (
    <Dialog place={place} title={`Pull token ${token?.name ?? ''}`}>
      {error ? (
        <Problem error={error} />
      ) : token ? (
        <Properties
          rows={[
            ['User name', <Uid key="username" uid={token.username ?? ''} />],
            [
              'Pulls from',
              token.repoUid ? (repo?.name ?? token.repoUid) : 'all repos in its group and below',
            ],
            ['Description', token.description],
            ['Expires', <Time key="expires" at={token.expirationTime} />],
            ['Last used', <Time key="used" at={token.lastSeenTime} />],
            ['Created', <Time key="created" at={token.createTime} />],
          ]}
        />
      ) : (
        <Skeleton />
      )}
    </Dialog>
  )
}

/** The largest page of the API. For a repo that is not on it, people use the command line. */
const readRepos = (group: string) =>
  read(api.repos.listRepos, { uidp: { descendantsOf: group }, orderBy: 'name', pageSize: 200 })

const lifetimes = [30, 60, 90, 365].map((days) => ({ value: `${days * 86_400}s`, label: `${days} days` }))

/** The repos of a group and of the groups below it. Names are unique only within a group, so other groups are named. */
function useRepoOptions(group: string): { value: string; label: string }[] {
  const { data: { repos = [] } = {} } = useRead(readRepos(group))
  const groupsBelow = (uid: string) =>
    uidsOnPath(parentOf(uid)).filter((each) => each !== group && isInGroup(each, group))
  const ids = [...new Set(repos.flatMap(({ uid = '' }) => groupsBelow(uid)))]
  const { data } = useRead(read(api.groups.listGroups, { uidp: { ids }, pageSize: 200 }), ids.length > 0)
  const names = new Map(data?.groups?.map(({ uid, name }) => [uid, name]))
  return repos.map(({ uid = '', name = '' }) => {
    const path = groupsBelow(uid).map((each) => names.get(each) || each.slice(each.lastIndexOf('/') + 1))
    return { value: uid, label: path.length > 0 ? `${name} in ${path.join('/')}` : name }
  })
}

function CreatePullToken({ place }: PageProps) {
  const repoOptions = useRepoOptions(place.group)
  const made = useSignal<PullTokenJson | undefined>(undefined)
  const { run, isRunning, error } = useWrite(api.pullTokens.createPullToken, {
    ...{ done: 'Pull token created', also: ['identities', 'roleBindings'] },
  })
  const create = async (values: FormData) => {
    const text = (name: string) => String(values.get(name) ?? '')
    const pullToken = {
      ...{ name: text('name'), description: text('description'), ttl: text('ttl') },
      ...(text('repo') && { repoUid: text('repo') }),
    }
    made.value = await run({ parent: place.group, pullToken })
  }
  return (
    <Dialog place={place} title="New pull token">
      {made.value ? (
        <div class="form">
          <p>The password is not shown again.</p>
          <CodeBlock
            label="login command"
            code={`docker login ${location.host} --username ${made.value.username} --password ${made.value.password}`}
          />
          <p class="quiet">As a secret of Kubernetes, for imagePullSecrets:</p>
          <CodeBlock
            label="command for Kubernetes"
            code={`kubectl create secret docker-registry stemma --docker-server ${location.host} \\\n  --docker-username ${made.value.username} --docker-password ${made.value.password}`}
          />
          <footer>
            <Button tone="primary" onClick={() => void closeDialog(place)}>
              Done
            </Button>
          </footer>
        </div>
      ) : (
        <Form
          submit="Create pull token"
          isRunning={isRunning.value}
          error={error.value}
          onSubmit={create}
          onCancel={() => void closeDialog(place)}
        >
          <TextField label="Name" name="name" required problem={violationOf(error.value, 'name')} />
          <TextField
            label="Description"
            name="description"
            problem={violationOf(error.value, 'description')}
          />
          <Select
            label="Pulls from"
            name="repo"
            options={[{ value: '', label: 'All repos in this group and below' }, ...repoOptions]}
            problem={violationOf(error.value, 'repo_uid')}
          />
          <Select
            label="Valid for"
            name="ttl"
            options={lifetimes}
            problem={violationOf(error.value, 'ttl')}
          />
        </Form>
      )}
    </Dialog>
  )
}

function RevokePullToken({ place, name }: PageProps & { name: string }) {
  const { run, isRunning, error } = useWrite(api.pullTokens.deletePullToken, {
    ...{ done: 'Pull token revoked', also: ['identities', 'roleBindings'], after: () => closeDialog(place) },
  })
  const revoke = async () => {
    await run({ uid: place.query.get('about') ?? '' })
  }
  return (
    <ConfirmDelete
      place={place}
      verb="Revoke"
      kind="pull token"
      name={name}
      isRunning={isRunning.value}
      error={error.value}
      onConfirm={revoke}
    >
      <p>Clients that use it can no longer pull, from their next request on.</p>
    </ConfirmDelete>
  )
}
