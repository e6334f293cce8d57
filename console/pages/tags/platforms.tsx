import { api } from '../../api/api.ts'
import type { Read } from '../../api/read.ts'
import { useRead } from '../../api/read.ts'
import type { Descriptor } from '../../api/registry.ts'
import { Link } from '../../router/link.tsx'
import type { PageProps } from '../../router/route.ts'
import { withQuery } from '../../router/router.ts'
import { Digest } from '../../ui/copy.tsx'
import { SizeBar } from '../../ui/size-bar.tsx'
import { sizeText } from '../repos/size.ts'
import { platformText } from './image.ts'

/** Indexes of more images exist, but nobody reads such a list. */
const maxPlatforms = 50

type PlatformsProps = PageProps & { repo: string; images: readonly Descriptor[]; chosen: string }

/** The images of an index. A click chooses the one that the page describes. */
export function Platforms({ place, repo, images, chosen }: PlatformsProps) {
  const shown = images.slice(0, maxPlatforms)
  const { data: sizes = [] } = useRead(readSizes(repo, shown))
  const max = Math.max(...sizes.map((size) => size ?? 0), 0)
  return (
    <section class="panel">
      <h2>Platforms</h2>
      <ul class="layers">
        {shown.map(({ digest, platform }, at) => (
          <li key={digest} class={digest === chosen ? 'chosen' : ''}>
            <Link
              to={withQuery(place, { platform: digest })}
              aria-current={digest === chosen ? 'true' : undefined}
            >
              {platformText(platform ?? {}) || 'unknown platform'}
            </Link>
            <SizeBar size={sizes[at] ?? 0} max={max} />
            <span class="number">{sizes[at] === undefined ? '' : sizeText(sizes[at])}</span>
            <Digest digest={digest} />
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
