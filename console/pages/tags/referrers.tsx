import { errorText } from '../../api/error-text.ts'
import { queries } from '../../api/queries.ts'
import { getBlob, readManifest } from '../../api/registry.ts'
import { Badge } from '../../ui/badge.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { toast } from '../../ui/toast.ts'
import { sizeText } from '../repos/size.ts'
import type { Artifact } from './artifacts.ts'
import { contentOf } from './artifacts.ts'

/** A browser keeps the whole file in memory. */
const maxDownloadBytes = 64 * 2 ** 20

type ReferrersProps = { repo: string; artifacts: readonly Artifact[]; image: string }

/** Signatures, SBOMs and attestations of an image. */
export const Referrers = ({ repo, artifacts, image }: ReferrersProps) =>
  artifacts.length === 0 ? (
    <Empty
      icon="role"
      title="Nothing describes this image yet"
      action={<CodeBlock label="signing command" code={`cosign sign ${image}`} />}
    >
      Signatures, SBOMs and attestations that refer to this image are listed here. Sign it, for instance:
    </Empty>
  ) : (
    <Table
      label="Artifacts that describe the image"
      rows={artifacts}
      uidOf={({ reference }) => reference}
      nameOf={({ kind, reference }) => `${kind} ${reference.slice(0, 19)}`}
      hasUids={false}
      columns={[
        {
          title: 'Kind',
          cell: ({ kind }) => <Badge {...(kind === 'Signature' && { tone: 'good' })}>{kind}</Badge>,
        },
        { title: 'Content', cell: ({ type }) => type },
        {
          title: 'Digest',
          cell: ({ reference }) => (
            <span class="uid">
              <code title={reference}>{reference.slice(0, 19)}</code>
              <Copy text={reference} label={`Copy ${reference.slice(0, 19)}`} />
            </span>
          ),
          isSecondary: true,
        },
        {
          title: 'Created',
          cell: ({ created }) => (created ? <Time at={created} /> : ''),
          isSecondary: true,
        },
      ]}
      actions={(artifact) => [
        { label: 'Download content', onSelect: () => void download(repo, artifact) },
        { label: 'Download manifest', onSelect: () => void downloadManifest(repo, artifact) },
      ]}
    />
  )

const fileName = ({ kind, reference }: Artifact) =>
  `${kind.toLowerCase()}-${reference.replace(/[^a-z0-9.]+/gi, '-').slice(0, 40)}.json`

const download = (repo: string, artifact: Artifact) =>
  withErrorToast(async () => {
    const content = contentOf(await queries.ensureQueryData(readManifest(repo, artifact.reference)))
    if (!content) return toast('This artifact has no content besides its manifest', 'warning')
    if ((content.size ?? 0) > maxDownloadBytes)
      return toast(`The content has ${sizeText(content.size)}; pull it with a registry client`, 'error')
    saveFile(fileName(artifact), await getBlob(repo, content.digest, maxDownloadBytes), 'application/json')
  })

const downloadManifest = (repo: string, artifact: Artifact) =>
  withErrorToast(async () => {
    const manifest = await queries.ensureQueryData(readManifest(repo, artifact.reference))
    saveFile(fileName(artifact), `${JSON.stringify(manifest, undefined, 2)}\n`, 'application/json')
  })

async function withErrorToast(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    toast(errorText(error).text, 'error')
  }
}
