// `--validate-only`: the server checks the call and changes nothing.
import { validateOnlyField } from '@stemma/api/validation.ts'
import type { CommandLine } from '../command-line.ts'

export const nothingChanged = 'Nothing was changed (--validate-only).'

export const validatesOnly = ({ fields }: Pick<CommandLine, 'fields'>): boolean =>
  fields.some(({ flag, texts }) => flag.field.name === validateOnlyField && texts.at(-1) === 'true')
