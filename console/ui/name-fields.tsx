import { violationOf } from '../api/error-text.ts'
import { TextField } from './field.tsx'

type NameFieldsProps = {
  error: unknown
  name?: string | undefined
  description?: string | undefined
  /** The rule for names, if not every text is allowed. */
  hint?: string
}

/** Name and description, which most kinds of resources have. */
export const NameFields = ({ error, name, description, hint }: NameFieldsProps) => (
  <>
    <TextField
      name="name"
      label="Name"
      required
      maxLength={255}
      defaultValue={name}
      hint={hint}
      problem={violationOf(error, 'name')}
    />
    <TextField
      name="description"
      label="Description"
      maxLength={512}
      defaultValue={description}
      problem={violationOf(error, 'description')}
    />
  </>
)
