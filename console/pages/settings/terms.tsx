// The documents that a group and the groups above it have accepted.
import { api } from '../../api/api.ts'
import { violationOf } from '../../api/error-text.ts'
import { useDenial } from '../../api/permissions.ts'
import { read, useRead } from '../../api/read.ts'
import { useWrite } from '../../api/write.ts'
import type { PageProps } from '../../router/route.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Uid } from '../../ui/copy.tsx'
import { closeDialog, Dialog, dialogPath, isDialogOpen } from '../../ui/dialog.tsx'
import { TextArea } from '../../ui/field.tsx'
import { Form, Problem } from '../../ui/form.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

/** The largest page of the API. Servers have fewer documents. */
const maxAcceptances = 200

export function Terms({ place }: PageProps) {
  const denial = useDenial(place.group)
  const mayList = denial('terms.list') === undefined
  const { data, error } = useRead(
    read(api.terms.listTermsAcceptances, { group: place.group, pageSize: maxAcceptances }),
    mayList,
  )
  const { termsAcceptances = [] } = data ?? {}
  if (!mayList) return null
  return (
    <section class={termsAcceptances.length > 0 ? 'panel flush' : 'panel'}>
      <div class={termsAcceptances.length > 0 ? 'panel-header inset' : 'panel-header'}>
        <div>
          <h2>Terms</h2>
          <p class="quiet">Documents of the operator of this server that were accepted for this group.</p>
        </div>
        <div class="actions">
          <ButtonLink to={dialogPath(place, 'accept')} disabledReason={denial('terms.accept')}>
            Accept documents
          </ButtonLink>
        </div>
      </div>
      {error && <Problem error={error} />}
      {!data && !error && <Skeleton lines={1} />}
      {data && termsAcceptances.length === 0 && <p class="quiet">None so far.</p>}
      {termsAcceptances.length > 0 && (
        <Table
          label="Accepted documents"
          rows={termsAcceptances}
          hasUids={false}
          uidOf={({ docId = '', orgUid = '' }) => `${orgUid} ${docId}`}
          nameOf={({ docId = '' }) => docId}
          columns={[
            { title: 'Document', cell: ({ docId }) => docId },
            { title: 'By', cell: ({ acceptedBy = '' }) => <Uid uid={acceptedBy} />, isSecondary: true },
            {
              title: 'For',
              cell: ({ orgUid }) => (orgUid === place.group ? 'this group' : 'a group above'),
              isSecondary: true,
            },
            { title: 'Accepted', cell: ({ createTime }) => <Time at={createTime} /> },
          ]}
        />
      )}
      {isDialogOpen(place, 'accept') && <AcceptTerms place={place} />}
    </section>
  )
}

function AcceptTerms({ place }: PageProps) {
  const { run, isRunning, error } = useWrite(api.terms.acceptTerms, {
    ...{ done: 'Documents accepted', after: () => closeDialog(place) },
  })
  const accept = (values: FormData) => {
    const documentIds = String(values.get('documents'))
      .split(/\s+/)
      .filter((id) => id !== '')
    void run({ group: place.group, documentIds })
  }
  return (
    <Dialog place={place} title="Accept documents">
      <Form
        submit="Accept"
        isRunning={isRunning.value}
        error={error.value}
        onSubmit={accept}
        onCancel={() => void closeDialog(place)}
      >
        <TextArea
          label="Ids of the documents"
          name="documents"
          required
          placeholder="terms-of-use.v1"
          hint="One on each line, as the operator of the server names them. You accept them for this group and everything below it."
          problem={violationOf(error.value, 'document_ids')}
        />
      </Form>
    </Dialog>
  )
}
