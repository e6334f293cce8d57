import type { AccessEntryJson } from '@stemma/api/json/platform/iam/v2beta1/access'
import { api } from '../api/api.ts'
import { violationOf } from '../api/error-text.ts'
import type { Read } from '../api/read.ts'
import { useData } from '../api/read.ts'
import { useWrite } from '../api/write.ts'
import { paths } from '../paths.ts'
import { Link } from '../router/link.tsx'
import type { PageProps } from '../router/route.ts'
import { navigate } from '../router/router.ts'
import { organizations } from '../shell/organizations.ts'
import { RequestAccess } from '../shell/request-access.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { PageCommands } from '../ui/code-block.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../ui/dialog.tsx'
import { Empty } from '../ui/empty.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { PageHeader } from '../ui/page-header.tsx'
import { Time } from '../ui/time.tsx'

/** Pages of 200 entries. An identity has at most 3000, see server/resources/iam/access/reach.ts. */
const maxPages = 15

/** All role bindings of the person and of the external groups that they are a member of. */
const reach: Read<AccessEntryJson[]> = {
  queryKey: ['access', 'reach of the person'],
  async queryFn({ signal }) {
    const all: AccessEntryJson[] = []
    let pageToken: string | undefined = ''
    for (let page = 0; page < maxPages && pageToken !== undefined; page++) {
      const request = { pageSize: 200, pageToken }
      const { entries = [], nextPageToken } = await api.access.listReach(request, { signal })
      all.push(...entries)
      pageToken = nextPageToken || undefined
    }
    return all
  },
}

export const load = () => [organizations, reach]

/** The organizations of the person, and the groups in other organizations that they have a role in. */
export default function Home({ place }: PageProps) {
  const { groups = [] } = useData(organizations)
  const entries = useData(reach)
  const shownUids = new Set(groups.map(({ uid }) => uid))
  const others = Map.groupBy(
    entries.filter(({ group }) => group?.uid && !shownUids.has(group.uid.split('/')[0])),
    ({ group }) => group?.uid ?? '',
  )
  return (
    <>
      <PageHeader
        title="Organizations"
        actions={
          <ButtonLink to={dialogPath(place, 'create')} icon="plus">
            New organization
          </ButtonLink>
        }
      />
      {groups.length + others.size === 0 && (
        <Empty icon="tree" title="You are in no organization yet">
          Open the link of an invite, or create an organization of your own.
        </Empty>
      )}
      <RequestAccess />
      <ul class="cards">
        {groups.map(({ uid = '', name, description, createTime }) => (
          <li key={uid}>
            <Link to={paths.group(uid)}>
              <strong dir="auto">{name}</strong>
              <span class="quiet" dir="auto">
                {description || 'Organization'}
              </span>
              <span class="quiet small">
                Created <Time at={createTime} />
              </span>
            </Link>
          </li>
        ))}
        {[...others].map(([uid, bindings]) => (
          <li key={uid}>
            <Link to={paths.group(uid)}>
              <strong dir="auto">{bindings[0]?.group?.name || uid}</strong>
              <span class="quiet">{rolesText(bindings)}</span>
            </Link>
          </li>
        ))}
      </ul>
      <PageCommands
        stemma="stemma groups list --in-root"
        curl={{ path: '/iam/v2beta1/groups?uidp.in_root=true' }}
      />
      {isDialogOpen(place, 'create') && <CreateOrganization place={place} />}
    </>
  )
}

/** A role can be bound several times, once to the person and once to each external group that they are a member of. */
function rolesText(bindings: readonly AccessEntryJson[]): string {
  const names = new Set(bindings.map(({ role }) => role?.name).filter(Boolean))
  if (names.size === 0) return 'Group'
  return `Group in which your ${names.size === 1 ? 'role is' : 'roles are'} ${[...names].sort().join(', ')}`
}

function CreateOrganization({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.groups.createGroup, { done: 'Organization created' })
  const create = async (values: FormData) => {
    const created = await run({ group: { name: String(values.get('name')) } })
    if (created?.uid) await navigate(paths.group(created.uid), { replace: true })
  }
  return (
    <Dialog place={place} title="New organization">
      <Form
        submit="Create organization"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={create}
        onCancel={() => void closeDialog(place)}
      >
        <TextField
          name="name"
          label="Name"
          required
          maxLength={255}
          hint="Lowercase letters, digits, spaces, dots, underscores and dashes. Often the domain of the organization."
          problem={violationOf(error.value, 'name')}
        />
      </Form>
    </Dialog>
  )
}
