// One tag: how to pull its image, its history, and the platforms, layers, configuration, referrers
// and packages of the image.
import type { TagJson } from '@stemma/api/json/platform/registry/v2beta1/tag'
import { api } from '../../api/api.ts'
import { readPermissions, useDenial } from '../../api/permissions.ts'
import { read, useData, useRead } from '../../api/read.ts'
import type { Manifest } from '../../api/registry.ts'
import { readJsonBlob, readManifest } from '../../api/registry.ts'
import { parentOf } from '../../api/uids.ts'
import { paths } from '../../paths.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { navigate, withQuery } from '../../router/router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { PageCommands } from '../../ui/code-block.tsx'
import { Digest } from '../../ui/copy.tsx'
import { dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/form.tsx'
import { PageHeader } from '../../ui/page-header.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time } from '../../ui/time.tsx'
import { useImageName } from '../repos/image-name.ts'
import { sizeText } from '../repos/size.ts'
import { useArtifacts } from './artifacts.ts'
import { Configuration } from './configuration.tsx'
import { DeleteTag, EditTag } from './edit.tsx'
import { imageConfigOf, imagesIn, isIndex } from './image.ts'
import { Layers } from './layers.tsx'
import { Packages } from './packages.tsx'
import { chosenDigests, Platforms } from './platforms.tsx'
import { PullCommands } from './pull-commands.tsx'
import { Referrers } from './referrers.tsx'
import { TagHistory } from './tag-history.tsx'

const uidIn = ({ uids }: Place) => uids.tag ?? ''
const readTag = (place: Place) => read(api.tags.getTag, { uid: uidIn(place) })
const readRepo = (place: Place) => read(api.repos.getRepo, { uid: parentOf(uidIn(place)) })

/**
 * The group of the repo. `place.group` may be a group above it, in which the person may have fewer
 * rights.
 */
const groupIn = (place: Place) => parentOf(parentOf(uidIn(place)))

export const load = (place: Place) => [readTag(place), readRepo(place), readPermissions(groupIn(place))]

export default function Tag({ place }: PageProps) {
  const tag = useData(readTag(place))
  const repo = useData(readRepo(place))
  const denial = useDenial(groupIn(place))
  const image = useImageName(repo)
  const { uid = '', name = '', digest = '', size, mediaType, updateTime, deprecated } = tag
  return (
    <>
      <PageHeader
        title={`${repo.name}:${name}`}
        about={
          <>
            <Digest digest={digest} /> {size !== undefined && `${sizeText(size)} · `}
            changed <Time at={updateTime} /> {deprecated && <Badge tone="warning">deprecated</Badge>}
            <br />
            in the repo <Link to={paths.repo(place.group, repo.uid ?? '')}>{repo.name}</Link>
          </>
        }
        actions={
          <>
            <ButtonLink to={dialogPath(place, 'edit')} disabledReason={denial('tag.update')}>
              Move or change
            </ButtonLink>
            <ButtonLink to={dialogPath(place, 'delete')} disabledReason={denial('tag.delete')}>
              Delete
            </ButtonLink>
          </>
        }
      />
      <PullCommands place={place} image={image} tag={name} digest={digest} />
      {mediaType ? (
        <Content place={place} tag={tag} image={`${image}@${digest}`} opened={[digest]} />
      ) : (
        <section class="panel">
          <Empty icon="repo" title="The repo does not have this image">
            The tag was created with the API before the image was pushed. Push the image with this digest, and
            it is shown here.
          </Empty>
        </section>
      )}
      <PageCommands stemma={`stemma tags get ${uid}`} curl={{ path: `/registry/v2beta1/tags/${uid}` }} />
      {isDialogOpen(place, 'edit') && <EditTag place={place} tag={tag} />}
      {isDialogOpen(place, 'delete') && (
        <DeleteTag
          place={place}
          tag={tag}
          after={() => navigate(paths.repo(place.group, repo.uid ?? ''), { replace: true })}
        />
      )}
    </>
  )
}

type ContentProps = PageProps & { tag: TagJson; image: string }

/** Indexes inside of indexes are opened up to this depth. */
const maxDepth = 5

/**
 * Everything that the registry knows about the image. An entry of an index may be an index too: `opened` is the path of
 * digests from the manifest that the tag names to the manifest that is shown here.
 */
function Content({ opened, ...props }: ContentProps & { opened: readonly string[] }) {
  const { place, tag } = props
  const digest = opened.at(-1) ?? ''
  const repo = parentOf(tag.uid ?? '')
  const { data: manifest, error } = useRead(readManifest(repo, digest))
  if (error) return <Problem error={error} />
  if (!manifest) return <Skeleton lines={6} />
  if (!manifest.manifests) return <Views {...{ ...props, repo, opened, digest }} index={undefined} />
  const images = imagesIn(manifest)
  const wanted = chosenDigests(place)[opened.length - 1]
  const chosen = images.find((each) => each.digest === wanted) ?? images[0]
  return (
    <>
      {chosen && <Platforms {...{ place, repo, images, opened }} chosen={chosen.digest} />}
      {chosen && isIndex(chosen) && opened.length < maxDepth ? (
        <Content key={chosen.digest} {...props} opened={[...opened, chosen.digest]} />
      ) : (
        <Views {...{ ...props, repo, opened }} digest={chosen?.digest ?? digest} index={manifest} />
      )}
    </>
  )
}

type ViewsProps = ContentProps & {
  repo: string
  opened: readonly string[]
  digest: string
  index: Manifest | undefined
}

/** `digest` is that of the image of the chosen platform. */
function Views({ place, tag, repo, image, opened, digest, index }: ViewsProps) {
  const view = place.query.get('view') ?? 'layers'
  const denied = useDenial(groupIn(place))('repo.blobs.get')
  const { artifacts, error, more } = useArtifacts({ repo, opened, index, image: digest })
  const tab = (name: string, label: string, count?: string) => ({
    ...{ label, count, isCurrent: view === name },
    to: withQuery(place, { view: name === 'layers' ? undefined : name }),
  })
  const count = artifacts && `${artifacts.length}${more ? '+' : ''}`
  return (
    <>
      <Tabs
        label="Views of the image"
        tabs={[
          tab('layers', 'Layers'),
          tab('configuration', 'Configuration'),
          tab('history', 'History'),
          tab('referrers', 'Referrers', count),
          tab('packages', 'Packages'),
        ]}
      />
      {view === 'history' ? (
        <section class="panel flush">
          <TagHistory place={place} tag={tag} />
        </section>
      ) : view === 'referrers' || view === 'packages' ? (
        <section class="panel flush">
          {error ? (
            <Problem error={error} />
          ) : artifacts === undefined ? (
            <Skeleton />
          ) : view === 'referrers' ? (
            <Referrers repo={repo} artifacts={artifacts} image={image} />
          ) : (
            <Packages place={place} repo={repo} artifacts={artifacts} image={image} denied={denied} />
          )}
          {more && (
            <p class="inset">
              <Button onClick={more.load} isBusy={more.isLoading}>
                {view === 'referrers' ? 'Show more' : 'Look for more SBOMs'}
              </Button>
            </p>
          )}
        </section>
      ) : (
        <section class="panel">
          <Image repo={repo} digest={digest} view={view} denied={denied} />
        </section>
      )}
    </>
  )
}

/** Configurations that are larger are not shown. Those of real images have some kilobytes. */
const maxConfigBytes = 2 ** 20

const imageConfigTypes = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]

type ImageProps = { repo: string; digest: string; view: string; denied: string | undefined }

/** `denied` says why the person may not read blobs. The manifest is enough to show the layers. */
function Image({ repo, digest, view, denied }: ImageProps) {
  const manifest = useRead(readManifest(repo, digest))
  const { config, layers = [], manifests } = manifest.data ?? {}
  const isImage = config !== undefined && imageConfigTypes.includes(config.mediaType ?? '')
  const shouldRead = isImage && denied === undefined
  const blob = useRead(readJsonBlob(repo, config?.digest ?? '', maxConfigBytes), shouldRead)
  if (manifest.error) return <Problem error={manifest.error} />
  if (!manifest.data || (shouldRead && blob.isPending)) return <Skeleton lines={6} />
  if (manifests) return <p>This is an index of images. Pull it by its digest.</p>
  const parsed = imageConfigOf(blob.data)
  if (view !== 'configuration') return <Layers layers={layers} history={parsed.history} />
  if (denied !== undefined) return <p class="quiet">{denied}</p>
  if (blob.error) return <Problem error={blob.error} />
  if (!isImage) return <p>This is an artifact of the type {config?.mediaType}, not a container image.</p>
  return <Configuration config={parsed} />
}
