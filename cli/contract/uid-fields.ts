import type { DescField } from '@bufbuild/protobuf'
import { isScope, rulesOf } from '@stemma/api/method.ts'

export const isUid = (field: DescField): boolean =>
  rulesOf(field).uid || (isScope(field) && field.fieldKind === 'scalar')
