// The repos of a group and of the groups below it.
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial, useDenialIn } from '../../api/permissions.ts'
import { read, useData } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { useWrite } from '../../api/write.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { CodeBlock, PageCommands } from '../../ui/code-block.tsx'
import { commandOf, pathOf } from '../../ui/commands.ts'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { TextField } from '../../ui/field.tsx'
import { byName, SearchFilter } from '../../ui/filter.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { DeleteRepo } from './delete.tsx'
import { loginCommand, NoRepos } from './first-push.tsx'
import { sizeText } from './size.ts'

const readRepos = (place: Place) =>
  read(api.repos.listRepos, {
    uidp: { descendantsOf: place.group },
    ...byName(place),
    ...pageOf(place),
  })

export const load = (place: Place) => [readRepos(place)]

export default function Repos({ place }: PageProps) {
  const { repos = [], nextPageToken, totalCount } = useData(readRepos(place))
  const denial = useDenial(place.group)
  const denialIn = useDenialIn(
    place.group,
    repos.map(({ uid = '' }) => parentOf(uid)),
    ['repo.delete'],
  )
  const about = repos.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title="Repos"
        about="Images of this group and of the groups below it. Docker and other clients push and pull with the same access rules."
        actions={
          <ButtonLink
            to={dialogPath(place, 'create')}
            tone="primary"
            icon="plus"
            disabledReason={denial('repo.create')}
          >
            New repo
          </ButtonLink>
        }
      />
      <div class="filters">
        <SearchFilter place={place} name="name" label="Search repos by name" />
      </div>
      {repos.length === 0 ? (
        place.query.get('name') ? (
          <Empty icon="repo" title="No repo has such a name">
            The search finds parts of names, in this group and below it.
          </Empty>
        ) : (
          <NoRepos group={place.group} />
        )
      ) : (
        <section class="panel flush">
          <Table
            label="Repos"
            rows={repos}
            uidOf={({ uid = '' }) => uid}
            nameOf={({ name = '' }) => name}
            columns={[
              {
                title: 'Name',
                cell: ({ uid = '', name, public: isPublic }) => (
                  <>
                    <Link to={paths.repo(place.group, uid)}>{name}</Link>{' '}
                    {isPublic && <Badge tone="warning">public</Badge>}
                  </>
                ),
              },
              { title: 'Description', cell: ({ description }) => description, isSecondary: true },
              { title: 'Size', cell: ({ size }) => sizeText(size), isNumber: true },
              { title: 'Changed', cell: ({ updateTime }) => <Time at={updateTime} />, isSecondary: true },
            ]}
            actions={({ uid = '' }) => [
              {
                label: 'Delete',
                to: dialogPath(place, 'delete', uid),
                disabledReason: denialIn(parentOf(uid), 'repo.delete'),
                isDanger: true,
              },
            ]}
          />
        </section>
      )}
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={repos.length} />
      {repos.length > 0 && (
        <section class="panel">
          <h2>Sign in with docker</h2>
          <CodeBlock label="login command" code={loginCommand()} />
        </section>
      )}
      <PageCommands
        stemma={commandOf('stemma repos list', { descendantsOf: place.group, ...byName(place) })}
        curl={{
          path: pathOf('/registry/v2beta1/repos', { 'uidp.descendantsOf': place.group, ...byName(place) }),
        }}
      />
      {isDialogOpen(place, 'create') && <CreateRepo place={place} />}
      {isDialogOpen(place, 'delete') && about && <DeleteRepo place={place} repo={about} />}
    </>
  )
}

function CreateRepo({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.repos.createRepo, {
    done: 'Repo created',
    after: () => closeDialog(place),
  })
  const create = async (values: FormData) => {
    const repo = { name: String(values.get('name')), description: String(values.get('description')) }
    await run({ parent: place.group, repo })
  }
  return (
    <Dialog place={place} title="New repo">
      <Form
        submit="Create repo"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          label="Name"
          name="name"
          required
          hint="Lowercase letters, digits, dots, underscores, dashes and slashes."
          problem={violationOf(error.value, 'name')}
        />
        <TextField label="Description" name="description" problem={violationOf(error.value, 'description')} />
      </Form>
    </Dialog>
  )
}
