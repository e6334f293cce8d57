// One repo: its tags with digest, size and platforms, how to pull them, and its readme.
import type { RepoJson } from '@stemma/api/json/platform/registry/v2beta1/repo'
import type { TagJson } from '@stemma/api/json/platform/registry/v2beta1/tag'
import { api } from '../../api/api.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate } from '../../router/router.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Copy, Digest } from '../../ui/copy.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Pager, pageOf, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { CreateTag, DeleteTag } from '../tags/edit.tsx'
import { DeleteRepo } from './delete.tsx'
import { EditRepo } from './edit.tsx'
import { NoTags } from './first-push.tsx'
import { useImageName } from './image-name.ts'
import { EditRetention } from './retention.tsx'
import { retentionTexts } from './retention-text.ts'
import { sizeText } from './size.ts'

const uidIn = ({ uids }: Place) => uids.repo ?? ''
const readRepo = (place: Place) => read(api.repos.getRepo, { uid: uidIn(place) })
const readTags = (place: Place) =>
  read(api.tags.listTags, { uidp: { childrenOf: uidIn(place) }, orderBy: 'name', ...pageOf(place) })
const readReadme = (place: Place) => read(api.repos.getRepoReadme, { uid: uidIn(place) })

/** The group of the repo. `place.group` may be above it, where the person has fewer rights. */
const groupIn = (place: Place) => parentOf(uidIn(place))

export const load = (place: Place) => [readRepo(place), readTags(place), readPermissions(groupIn(place))]

export default function Repo({ place }: PageProps) {
  const repo = useData(readRepo(place))
  const { tags = [], nextPageToken, totalCount } = useData(readTags(place))
  const { data: readme, error: readmeError } = useRead(readReadme(place))
  const denial = useDenial(groupIn(place))
  const retention = retentionTexts(repo.retention ?? {})
  const about = tags.find(({ uid }) => uid === place.query.get('about'))
  return (
    <>
      <PageHeader
        title={repo.name}
        about={repo.description || `${sizeText(repo.size)} in total`}
        actions={
          <>
            <ButtonLink to={dialogPath(place, 'edit')} disabledReason={denial('repo.update')}>
              Change repo
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'delete-repo')} disabledReason={denial('repo.delete')}>
              Delete repo
            </ButtonLink>
            <ButtonLink
              to={dialogPath(place, 'create-tag')}
              icon="plus"
              disabledReason={denial('tag.create')}
            >
              New tag
            </ButtonLink>
          </>
        }
      />
      <section class="panel flush">
        <h2>Tags</h2>
        {tags.length === 0 ? <NoTags repo={repo} /> : <TagTable place={place} repo={repo} tags={tags} />}
      </section>
      <Pager place={place} nextPageToken={nextPageToken} total={totalCount} shown={tags.length} />
      <section class="panel">
        <div class="panel-header">
          <h2>Retention</h2>
          <ButtonLink
            to={dialogPath(place, 'retention')}
            disabledReason={denial('repo.update', 'tag.delete', 'manifest.delete')}
          >
            Change retention
          </ButtonLink>
        </div>
        {retention.length === 0 ? (
          <p class="quiet">All tags and images are kept.</p>
        ) : (
          <ul>
            {retention.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
      </section>
      {readme?.content && (
        <section class="panel">
          <h2>Readme</h2>
          <Markdown text={readme.content} />
        </section>
      )}
      <PageCommands
        stemma={`stemma tags list --children-of ${uidIn(place)}`}
        curl={{ path: `/registry/v2beta1/tags?uidp.children_of=${uidIn(place)}` }}
      />
      {isDialogOpen(place, 'edit') && <EditRepo {...{ place, repo, readme, readmeError }} />}
      {isDialogOpen(place, 'retention') && <EditRetention place={place} repo={repo} />}
      {isDialogOpen(place, 'delete-repo') && (
        <DeleteRepo
          place={place}
          repo={repo}
          after={() => navigate(paths.repos(place.group), { replace: true })}
        />
      )}
      {isDialogOpen(place, 'create-tag') && <CreateTag place={place} repo={uidIn(place)} />}
      {isDialogOpen(place, 'delete') && about && <DeleteTag place={place} tag={about} />}
    </>
  )
}

function TagTable({ place, repo, tags }: PageProps & { repo: RepoJson; tags: TagJson[] }) {
  const denial = useDenial(groupIn(place))
  const image = useImageName(repo)
  return (
    <Table
      label="Tags"
      rows={tags}
      uidOf={({ uid = '' }) => uid}
      nameOf={({ name = '' }) => name}
      columns={[
        {
          title: 'Tag',
          cell: ({ uid = '', name = '' }) => (
            <>
              <Link to={paths.tag(place.group, uid)}>{name}</Link>{' '}
              <Copy text={`docker pull ${image}:${name}`} label={`Copy the pull command of ${name}`} />
            </>
          ),
        },
        {
          title: 'Digest',
          cell: ({ digest }) => digest && <Digest digest={digest} />,
          isSecondary: true,
        },
        { title: 'Platforms', cell: ({ platforms = [] }) => platforms.join(', '), isSecondary: true },
        { title: 'Size', cell: ({ size }) => sizeText(size), isNumber: true },
        { title: 'Changed', cell: ({ updateTime }) => <Time at={updateTime} /> },
      ]}
      actions={({ uid }) => [
        {
          label: 'Delete',
          to: dialogPath(place, 'delete', uid),
          disabledReason: denial('tag.delete'),
          isDanger: true,
        },
      ]}
    />
  )
}
