// The preview of retention rules: the tags and images that they would delete now.
import { useSignal } from '@preact/signals'
import type {
  PreviewRetentionResponseJson,
  RetentionJson,
} from '@stemma/api/json/platform/registry/v2beta1/repo'
import { useRef } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { Digest } from '../../ui/copy.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

const maxShown = 50

export function useRetentionPreview(uid: string) {
  const result = useSignal<PreviewRetentionResponseJson | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  /** Increases with each change of the form, so that a preview of earlier values is not shown. */
  const version = useRef(0)
  const drop = () => {
    version.current++
    result.value = undefined
  }
  const run = async (retention: RetentionJson) => {
    isRunning.value = true
    drop()
    error.value = undefined
    const previewed = version.current
    try {
      const response = await api.repos.previewRetention({ uid, retention })
      if (previewed === version.current) result.value = response
    } catch (caught) {
      if (previewed === version.current) error.value = caught
    } finally {
      isRunning.value = false
    }
  }
  return { result, error, isRunning, drop, run }
}

export function RetentionPreview({ result }: { result: PreviewRetentionResponseJson }) {
  const { decisions = [], deletedTags = 0, keptTags = 0, deletedManifests = 0 } = result
  const deleted = decisions.filter(({ action }) => action === 'RETENTION_ACTION_DELETE')
  return (
    <div class="preview">
      <p>
        <strong>
          {deletedTags + deletedManifests === 0
            ? 'Nothing would be deleted now.'
            : `${countText(deletedTags, 'tag')} and ${countText(deletedManifests, 'image')} would be deleted now.`}
        </strong>{' '}
        {countText(keptTags, 'tag')} would be kept.
      </p>
      {deleted.length > 0 && (
        <Table
          label="Would be deleted"
          rows={deleted.slice(0, maxShown).map((each, at) => ({ ...each, at }))}
          uidOf={({ at }) => String(at)}
          nameOf={({ tag, digest }) => tag ?? digest ?? ''}
          hasUids={false}
          columns={[
            { title: 'Tag', cell: ({ tag }) => tag ?? <span class="quiet">image without a tag</span> },
            {
              title: 'Digest',
              cell: ({ digest }) => digest && <Digest digest={digest} />,
              isSecondary: true,
            },
            { title: 'Age', cell: ({ time }) => <Time at={time} /> },
            { title: 'Reason', cell: ({ reason }) => reason, isSecondary: true },
          ]}
        />
      )}
      {deleted.length > maxShown && <p class="quiet small">The first {maxShown} are shown.</p>}
    </div>
  )
}

const countText = (count: number, noun: string) =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
