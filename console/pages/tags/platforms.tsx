import { api } from '../../api/api.ts'
import type { Read } from '../../api/read.ts'
import { useRead } from '../../api/read.ts'
import type { Descriptor } from '../../api/registry.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps, Place } from '../../router/route.ts'
import { withQuery } from '../../router/router.ts'
import { Digest } from '../../ui/copy.tsx'
import { SizeBar } from '../../ui/size-bar.tsx'
import { sizeText } from '../repos/size.ts'
import { isIndex, platformText } from './image.ts'

/** Some indexes contain more images, but nobody reads such a long list. */
const maxPlatforms = 50

/** The digests chosen by the URL: of nested indexes, outermost first, and then of an image. */
export const chosenDigests = ({ query }: Place) => query.get('platform')?.split(',') ?? []

type PlatformsProps = PageProps & {
  repo: string
  images: readonly Descriptor[]
  /**
   * The digests of the indexes that lead to these images. The URL omits the first, because it is
   * the digest of the tag.
   */
  opened: readonly string[]
  chosen: string
}

/** The images of an index. A click chooses the one that the page describes. */
export function Platforms({ place, repo, images, opened, chosen }: PlatformsProps) {
  const [, ...above] = opened
  const shown = images.slice(0, maxPlatforms)
  const { data: sizes = [] } = useRead(readSizes(repo, shown))
  const max = Math.max(...sizes.map((size) => size ?? 0), 0)
  return (
    <section class="panel">
      <h2>{above.length === 0 ? 'Platforms' : 'Platforms in the chosen index'}</h2>
      <ul class="layers">
        {shown.map((image, at) => (
          <li key={image.digest} class={image.digest === chosen ? 'chosen' : ''}>
            <Link
              to={withQuery(place, { platform: [...above, image.digest].join(',') })}
              aria-current={image.digest === chosen ? 'true' : undefined}
            >
              {platformText(image.platform ?? {}) || (isIndex(image) ? 'index' : 'unknown platform')}
            </Link>
            <SizeBar size={sizes[at] ?? 0} max={max} />
            <span class="number">{sizes[at] === undefined ? '' : sizeText(sizes[at])}</span>
            <Digest digest={image.digest} />
          </li>
        ))}
      </ul>
      {images.length > maxPlatforms && (
        <p class="quiet small">
          The first {maxPlatforms} of {images.length} images.
        </p>
      )}
    </section>
  )
}

/** An index may list images that the repo does not have; they have no size. */
const readSizes = (repo: string, images: readonly Descriptor[]): Read<(number | undefined)[]> => ({
  queryKey: ['tags', 'sizes', repo, images.map(({ digest }) => digest)],
  queryFn: ({ signal }) =>
    Promise.all(
      images.map(({ digest }) =>
        api.images.getSize({ repoUid: repo, digest }, { signal }).then(
          ({ size }) => Number(size),
          () => undefined,
        ),
      ),
    ),
})
