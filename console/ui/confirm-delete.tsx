import type { ComponentChildren } from 'preact'
import type { Place } from '../router/route.ts'
import { closeDialog, Dialog } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Form } from './form.tsx'

export type ConfirmDeleteProps = {
  place: Place
  /** The same verb as in the link or menu entry that opens the dialog. Default: Delete. */
  verb?: 'Delete' | 'Remove' | 'Revoke'
  /** The kind and name of the thing, such as “group” and “platform”. Things without a name have only a kind. */
  kind: string
  name?: string
  isRunning: boolean
  error: unknown
  /** Whether the person must type the name, for things whose loss would be large. */
  mustTypeName?: boolean
  disabledReason?: string | undefined
  onConfirm(): void
  /** Says which other things are lost, or why it cannot be deleted. */
  children?: ComponentChildren
}

export const ConfirmDelete = ({
  place,
  verb = 'Delete',
  kind,
  name = '',
  mustTypeName,
  onConfirm,
  children,
  ...rest
}: ConfirmDeleteProps) => (
  <Dialog place={place} title={`${verb} ${name ? `${kind} ${name}` : kind}?`}>
    <Form
      {...rest}
      submit={`${verb} ${kind}`}
      tone="danger"
      onSubmit={onConfirm}
      onCancel={() => void closeDialog(place)}
    >
      {children}
      {mustTypeName && (
        <TextField
          name="confirmation"
          label={`Type ${name} to confirm`}
          required
          pattern={patternOf(name)}
          autofocus
        />
      )}
    </Form>
  </Dialog>
)

/** A pattern that only this text matches. */
const patternOf = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
