// The packages of an image, as an SBOM that is attached to it lists them.
import { useRead } from '../../api/read.ts'
import { readJsonBlob, readManifest } from '../../api/registry.ts'
import type { PageProps } from '../../router/route.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, SearchFilter } from '../../ui/filter.tsx'
import { Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Table } from '../../ui/table.tsx'
import { sizeText } from '../repos/size.ts'
import type { Artifact } from './artifacts.ts'
import { contentOf, sbomsIn } from './artifacts.ts'
import type { Package } from './sbom.ts'
import { sbomOf } from './sbom.ts'

const maxSbomBytes = 16 * 2 ** 20
/** More rows would make the page slow; the search finds the others. */
const maxShown = 100

type PackagesProps = PageProps & {
  repo: string
  artifacts: readonly Artifact[]
  image: string
  /** Why the person may not read blobs. */
  denied: string | undefined
}

export function Packages({ place, repo, artifacts, image, denied }: PackagesProps) {
  const sboms = sbomsIn(artifacts)
  const chosen = sboms.find(({ reference }) => reference === place.query.get('sbom')) ?? sboms[0]
  if (!chosen)
    return (
      <Empty
        icon="repo"
        title="No SBOM is attached"
        action={
          <CodeBlock
            label="command that attaches an SBOM"
            code={`syft ${image} -o spdx-json > sbom.json\noras attach --artifact-type application/spdx+json ${image} sbom.json`}
          />
        }
      >
        An SBOM lists the packages of an image. Attach one in the format of SPDX, CycloneDX or Syft, and it is
        shown here:
      </Empty>
    )
  if (denied !== undefined) return <p class="inset quiet">{denied}</p>
  return (
    <>
      <div class="filters inset">
        <SearchFilter place={place} name="package" label="Search packages" />
        {sboms.length > 1 && (
          <ChoiceFilter
            place={place}
            name="sbom"
            label="SBOM"
            options={sboms.map(({ reference, type }, at) => ({
              value: at === 0 ? '' : reference,
              label: `${type} ${reference.slice(0, 19)}`,
            }))}
          />
        )}
      </div>
      <PackageList
        key={chosen.reference}
        repo={repo}
        reference={chosen.reference}
        search={place.query.get('package') ?? ''}
      />
    </>
  )
}

type PackageListProps = { repo: string; reference: string; search: string }

function PackageList({ repo, reference, search }: PackageListProps) {
  const manifest = useRead(readManifest(repo, reference))
  const content = manifest.data && contentOf(manifest.data)
  const isTooLarge = (content?.size ?? 0) > maxSbomBytes
  const shouldRead = content !== undefined && !isTooLarge
  const blob = useRead(readJsonBlob(repo, content?.digest ?? '', maxSbomBytes), shouldRead)
  if (manifest.error || blob.error) return <Problem error={manifest.error ?? blob.error} />
  if (isTooLarge)
    return (
      <p class="inset">The SBOM is too large ({sizeText(content?.size)}). Pull it with a registry client.</p>
    )
  if (!manifest.data || (shouldRead && blob.data === undefined)) return <Skeleton />
  const sbom = sbomOf(blob.data)
  if (!sbom) return <p class="inset">This artifact has no SBOM in the format of SPDX, CycloneDX or Syft.</p>
  const found = sbom.packages.filter((each) => matches(each, search.toLowerCase()))
  return (
    <>
      <Table
        label="Packages"
        rows={found.slice(0, maxShown).map((each, at) => ({ ...each, at }))}
        uidOf={({ at }) => String(at)}
        nameOf={({ name }) => name}
        hasUids={false}
        columns={[
          { title: 'Package', cell: ({ name }) => name },
          { title: 'Version', cell: ({ version }) => <code>{version}</code> },
          { title: 'License', cell: ({ license }) => license, isSecondary: true },
          { title: 'Type', cell: ({ type }) => type, isSecondary: true },
        ]}
      />
      <p class="inset quiet small">
        {sbom.format}.{' '}
        {found.length > maxShown
          ? `${maxShown} of ${found.length.toLocaleString('en')} packages are shown; search to find others.`
          : `${found.length.toLocaleString('en')} of ${sbom.packages.length.toLocaleString('en')} packages.`}
      </p>
    </>
  )
}

const matches = ({ name, version, license, type }: Package, wanted: string) =>
  `${name} ${version} ${license} ${type}`.toLowerCase().includes(wanted)
