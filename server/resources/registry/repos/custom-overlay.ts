import { create } from '@bufbuild/protobuf'
import { FieldRulesSchema } from '@stemma/api/gen/platform/common/rules_pb.ts'
import type { CustomOverlay } from '@stemma/api/gen/platform/registry/v2beta1/repo_pb.ts'
import { invalidField } from '../../../aip/errors.ts'
import { stringCheck } from '../../../aip/string-rules.ts'
import { entryPath } from '../../../aip/validate.ts'

/** The rules of the contract apply to keys and values alike; keys must also be short and in one line. */
const checkName = stringCheck(create(FieldRulesSchema, { singleLine: true, maxLength: 255 }))

type NameRules = {
  /** Names with these beginnings are set by the builders of published images. */
  reserved: readonly string[]
  forbidden: RegExp
  hint: string
}

const environmentRules: NameRules = {
  reserved: ['CHAINGUARD_'],
  forbidden: /^$|=/,
  hint: 'must not be empty or contain =',
}
const annotationRules: NameRules = {
  reserved: ['dev.chainguard.', 'org.opencontainers.'],
  forbidden: /^$/,
  hint: 'must not be empty',
}

/** Throws if a variable or annotation has a name that is reserved, or that an image cannot have. */
export function requireValidOverlay({ environment, annotations }: CustomOverlay): void {
  requireValidNames('custom_overlay.environment', environment, environmentRules)
  requireValidNames('custom_overlay.annotations', annotations, annotationRules)
}

function requireValidNames(path: string, map: Record<string, string>, rules: NameRules): void {
  for (const name of Object.keys(map)) {
    const refuse = (rule: string): never => {
      throw invalidField(entryPath(path, name), `the key ${rule}`)
    }
    const broken = checkName(name)
    if (broken !== undefined) refuse(broken)
    if (rules.forbidden.test(name)) refuse(rules.hint)
    const prefix = rules.reserved.find((start) => name.startsWith(start))
    if (prefix !== undefined) refuse(`must not start with ${prefix}`)
  }
}
